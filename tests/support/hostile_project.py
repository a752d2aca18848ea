"""A project in which every user-defined text is hostile."""

from datetime import timedelta

from sqlalchemy import select
from sqlalchemy.orm import Session
from sqlmodel import col

from curation.content_uids import anchor_uid, variant_uid
from curation.decisions.notes import add_note
from curation.diagnostics.cosines import save_cosines
from curation.diagnostics.measuring import measure_variants
from curation.encoders.model_folders import DEFAULT_ENCODER
from curation.generation.answers import AnswerProblem
from curation.generation.prompts import prompt_versions, save_copy, seed_prompts
from curation.generation.request import GenerationRequest
from curation.project.settings import ACTIVE_ENCODER, put_setting
from curation.release.selection import Selection
from curation.review import deciding
from curation.review.deciding import MAX_NOTE
from curation.review.gold.items import mark
from curation.splits import split_of
from curation.taxonomy.built_in import TAXONOMY
from curation.taxonomy.project_types import seed_taxonomy
from db.columns import now
from db.models import (
    Anchor,
    AnchorRevision,
    Answer,
    CallState,
    Encoder,
    GoldUse,
    ModelCall,
    Run,
    RunState,
    Source,
    Split,
    Status,
    Variant,
    Verdict,
)
from db.runs import create_run
from tests.support.factories import freeze, person
from tests.support.hostile import HUGE, stored
from training.encoder_run.training_run import store_training
from training.evaluation.figures import Part
from training.evaluation.probe_sets import FIGURE_1_SET, ensure_bundled
from training.evaluation.probes import add_own_probe, own_probes, save_probe_cosines
from training.recipe.schema import Recipe

TYPES = [entry.id for entry in TAXONOMY]
FAMILY = 24
"""Number of variants per anchor."""

DISPUTED = 12
"""Number of variants that two people disagree about."""


def fill(session: Session) -> None:
    """An anchor for every text. Three of them have variants with all of the texts.

    Each variant has a hostile cue, writer and note, and is accepted by a person with a hostile
    name. Its anchor has a hostile source, licence and genre. A second person disagrees on a few
    variants. One variant is longer than any that a person may write. A few are gold items. There
    are a release, failed runs, generation runs and a finished training run with hostile messages,
    models, answers, prompts and probes.
    """
    seed_taxonomy(session)
    texts = list(stored().values())
    anchors = [_anchor(session, text) for text in texts]
    session.flush()
    shifted = texts[FAMILY:] + texts[:FAMILY]  # so that a variant is not its anchor
    for number, text in enumerate(shifted):
        anchor = anchors[number // FAMILY]
        variant = _variant(session, anchor, TYPES[number % len(TYPES)], text)
        _judge(session, variant, text)
    measure_variants(session, session.execute(select(col(Variant.id))).scalars().all())
    huge = _variant(session, anchors[-1], "verbal", HUGE)
    measure_variants(session, [huge.id])
    freeze(session, name=texts[0][:200], author_id=person(session), selection=Selection())
    _disagree(session, texts)
    _gold(session, texts)
    _runs(session, texts)
    _generation(session, anchors, texts)
    _training(session, texts)


def _gold(session: Session, texts: list[str]) -> None:
    """Gold items for both uses, with hostile explanations and people."""
    undisputed = select(col(Variant.uid)).where(col(Variant.status) == Status.ACCEPTED)
    uids = session.execute(undisputed.order_by(col(Variant.id).desc()).limit(6)).scalars()
    for number, uid in enumerate(uids):
        mark(
            session,
            uid,
            Verdict.ACCEPT if number % 3 else Verdict.REJECT,
            reviewer_id=person(session, texts[number][:80]),
            reason="" if number % 3 else "wrong_scope",
            explanation=texts[number][:MAX_NOTE],
            use=GoldUse.TRAINING if number % 2 else GoldUse.MIXED,
        )


def _anchor(session: Session, text: str) -> Anchor:
    source = Source(name=text[:200], licence=text[:200], url=text[:2000], note=text)
    session.add(source)
    session.flush()
    uid = anchor_uid(text)
    anchor = Anchor(
        uid=uid, source_id=source.id, genre=text[:80].strip(), split=Split(split_of(uid))
    )
    session.add(anchor)
    session.flush()
    session.add(AnchorRevision(anchor_id=anchor.id, text=text, text_uid=uid))
    return anchor


def _variant(session: Session, anchor: Anchor, type_id: str, text: str) -> Variant:
    variant = Variant(
        uid=variant_uid(anchor_uid=anchor.uid, type_id=type_id, text=text),
        anchor_id=anchor.id,
        type_id=type_id,
        text=text,
        cue=text[:200].strip() if type_id in ("word", "phrase") else None,
        provider=text[:80],
        model=text[:200],
    )
    session.add(variant)
    session.flush()
    return variant


def _judge(session: Session, variant: Variant, text: str) -> None:
    reviewer = person(session, text[:80])
    add_note(session, variant.id, reviewer_id=reviewer, text=text[:MAX_NOTE])
    deciding.accept(session, deciding.shown(variant), reviewer_id=reviewer, note=text[:MAX_NOTE])
    session.refresh(variant)
    assert variant.status == Status.ACCEPTED


def _disagree(session: Session, texts: list[str]) -> None:
    for number, text in enumerate(texts[:DISPUTED]):
        variant = session.execute(select(Variant).where(col(Variant.text) == text)).scalar_one()
        card = deciding.shown(variant)
        reviewer = person(session, texts[number + 1][:80])
        deciding.reject(session, card, reviewer_id=reviewer, reason="other", note=text[:MAX_NOTE])


def _runs(session: Session, texts: list[str]) -> None:
    for text in (texts[0], texts[2], texts[15], texts[16]):
        run = create_run(session, kind="diagnose", parameters={})
        _ended(run, RunState.FAILED, text)


def _generation(session: Session, anchors: list[Anchor], texts: list[str]) -> None:
    """A hostile prompt, and a done and a paused run with hostile models and answers."""
    seed_prompts(session)
    installed = prompt_versions(session, "hedge")[0]
    edited = f"{installed.template}\n{texts[0]}\n{texts[21]}"
    prompt = save_copy(session, installed, edited, author_id=person(session, texts[0][:80]))
    for state, name in ((RunState.DONE, texts[0]), (RunState.PAUSED, texts[2])):
        parameters = GenerationRequest(model=name[:200]).model_dump(mode="json")
        run = create_run(session, kind="generate", parameters=parameters)
        for anchor, text in zip(anchors, texts, strict=True):
            call = ModelCall(
                run_id=run.id,
                key=f"{anchor.uid}-hedge",
                role="hedge",
                anchor_id=anchor.id,
                anchor_revision=1,
                prompt_version_id=prompt.id,
                type_ids=["word", "phrase"],
                cues={"word": text[:80]},
                attempts=1,
                state=CallState.FAILED,
                problem=AnswerProblem.UNREADABLE.value,
            )
            session.add(call)
            session.flush()
            session.add(
                Answer(
                    run_id=run.id,
                    call_id=call.id,
                    anchor_id=anchor.id,
                    anchor_revision=1,
                    prompt_version_id=prompt.id,
                    raw=text,
                    error=f"{AnswerProblem.UNREADABLE.value}: {text}",
                    cost=0.001,
                )
            )
        _ended(run, state, texts[15])


def _ended(run: Run, state: RunState, message: str) -> None:
    moment = now()
    run.state, run.message, run.attempt = state, message, 1
    run.started_at, run.finished_at = moment - timedelta(minutes=2), moment
    run.heartbeat_at, run.lease_until = moment, moment


def _training(session: Session, texts: list[str]) -> None:
    """A finished training run with metrics for all variants and for pairs of these texts."""
    recipe = Recipe(batch_size=2)  # so few families have both sides
    run = store_training(session, release_number=1, recipe=recipe, seed=1, requested_by=None)
    named = run.parameters["recipe"] | {"base_encoder": texts[2]}  # such a folder may vanish
    run.parameters = run.parameters | {"recipe": named}
    _ended(run, RunState.DONE, "Done.")
    names = [texts[0], texts[1], DEFAULT_ENCODER]  # Compare begins with the last two
    encoders = [Encoder(name=name[:300], fingerprint=name[:64]) for name in names]
    session.add_all(encoders)
    session.flush()
    put_setting(session, ACTIVE_ENCODER, encoders[0].name)  # so that nothing is left to measure
    trained = encoders[1]
    trained.base_id, trained.run_id, trained.path = encoders[0].id, run.id, f"{run.folder}/model"
    for first, second in zip(texts[:20], texts[20:40], strict=True):
        add_own_probe(session, anchor=first, text=second)
    probes = [probe.id for probe in ensure_bundled(session, FIGURE_1_SET) + own_probes(session)]
    variants = session.execute(select(col(Variant.id))).scalars().all()
    for encoder, cosine in zip(encoders, (0.9, 0.4, 0.8), strict=True):
        save_probe_cosines(session, dict.fromkeys(probes, cosine), encoder_id=encoder.id)
        values = {key or 0: cosine - key / 1000 for key in variants if key}
        save_cosines(session, values, encoder_id=encoder.id)
    run.result = {
        "run": run.id,
        "model": f"{run.folder}/model",
        "release": 1,
        "triples": 18,
        "steps": 3,
        "seconds": 61.0,
        "before_encoder_id": encoders[0].id,
        "encoder_id": encoders[1].id,
        "sampled": {part.value: {"measured": 27, "of": 9_000} for part in Part},
    }
