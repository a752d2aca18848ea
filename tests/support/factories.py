"""Rows for tests, created in the same way as in the program."""

from typing import Any, cast

from sqlalchemy import Engine, select
from sqlalchemy.orm import Session
from sqlmodel import col

from curation.content_uids import anchor_uid, canonical, variant_uid
from curation.decisions.reviewers import ensure_reviewer
from curation.diagnostics.opinions import NewOpinion, ensure_judge, store_opinions
from curation.generation.prompts import JUDGE, prompt_versions, seed_prompts
from curation.release.freezing import Created, create_release
from curation.review.calibration.sample import (
    Sample,
    SampleRequest,
    pick_sample,
    store_sample,
)
from curation.splits import split_of
from curation.taxonomy.project_types import seed_taxonomy
from db.models import (
    Anchor,
    AnchorRevision,
    Answer,
    ReviewerKind,
    Run,
    Source,
    Split,
    TypeRow,
    Variant,
    Verdict,
)

ANCHOR = "The bridge is safe."
TEXTS = {
    "verbal": "The bridge is not safe.",
    "absolute": "No part of the bridge is safe.",
    "affixal": "The bridge is unsafe.",
    "lexical": "The bridge is dangerous.",
    "word": "The bridge is probably safe.",
    "phrase": "I'm not entirely sure, but the bridge seems safe.",
    "negated_antonym": "The bridge is not dangerous.",
}
CUES = {"word": "probably", "phrase": "not entirely sure"}


def add_anchor(
    session: Session,
    text: str = ANCHOR,
    *,
    split: Split | None = None,
    source: str = "",
    licence: str = "CC BY 4.0",
) -> Anchor:
    """An anchor of the source with this name, or of the first source, or of a new source 'test'.

    Also seeds the taxonomy.
    """
    if session.get(TypeRow, "verbal") is None:
        seed_taxonomy(session)
    wanted = col(Source.name) == source if source else col(Source.id) == 1
    origin = session.execute(select(Source).where(wanted)).scalar()
    if origin is None:
        origin = Source(name=source or "test", licence=licence)
        session.add(origin)
        session.flush()
    uid = anchor_uid(text)
    anchor = Anchor(uid=uid, source_id=origin.id, genre="test", split=split or Split(split_of(uid)))
    session.add(anchor)
    session.flush()
    session.add(AnchorRevision(anchor_id=anchor.id, text=canonical(text), text_uid=uid))
    session.flush()
    return anchor


def add_variant(
    session: Session, anchor: Anchor, type_id: str = "verbal", text: str | None = None
) -> Variant:
    """A pending variant of the anchor."""
    variant = _variant(anchor, type_id, TEXTS[type_id] if text is None else text)
    session.add(variant)
    session.flush()
    return variant


def _variant(anchor: Anchor, type_id: str, text: str) -> Variant:
    uid = variant_uid(anchor_uid=anchor.uid, type_id=type_id, text=text)
    return Variant(uid=uid, anchor_id=anchor.id, type_id=type_id, text=text, cue=CUES.get(type_id))


def add_family(
    session: Session, text: str = ANCHOR, *, subject: str = "bridge", source: str = ""
) -> dict[str, Variant]:
    """An anchor with one variant of every type, about its own subject if one is given."""
    anchor = add_anchor(session, text, source=source)
    family = {
        type_id: _variant(anchor, type_id, wording.replace("bridge", subject))
        for type_id, wording in TEXTS.items()
    }
    session.add_all(family.values())
    session.flush()
    return family


def person(session: Session, name: str = "Ada") -> int:
    """The id of a person who reviews."""
    return ensure_reviewer(session, name).id


def model(session: Session, name: str = "llm") -> int:
    """The id of a model that reviews."""
    return ensure_reviewer(session, name, kind=ReviewerKind.MODEL).id


def judge(session: Session, name: str = "fake") -> int:
    """The id of a chat model that gives second opinions. Its opinions do not count yet."""
    seed_prompts(session)
    return ensure_judge(session, name, 1).id


def add_opinion(
    session: Session,
    variant: Variant,
    verdict: Verdict = Verdict.ACCEPT,
    *,
    reviewer_id: int,
    certainty: float | None = 0.8,
    suggestion: str = "",
) -> bool:
    """An opinion as stored by a run. Returns whether it was stored."""
    run = Run(kind="judge", parameters={})
    session.add(run)
    session.flush()
    answer = Answer(
        run_id=run.id,
        anchor_id=variant.anchor_id,
        anchor_revision=variant.anchor_revision,
        prompt_version_id=prompt_versions(session, JUDGE)[0].id,
    )
    session.add(answer)
    session.flush()
    given = NewOpinion(
        variant.id,
        variant.version,
        variant.since_version,
        verdict,
        "" if verdict is Verdict.ACCEPT else "wrong_scope",
        "Because.",
        suggestion,
        certainty,
        answer.id,
    )
    return store_opinions(session, [given], reviewer_id=reviewer_id) == 1


def draw_sample(session: Session, request: SampleRequest) -> Sample:
    """A sample for judges, created and stored like on the page."""
    return store_sample(session, request, pick_sample(session, request))


def engine_of(session: Session) -> Engine:
    """The session's database, for functions with transactions of their own, after a commit."""
    session.commit()
    return cast(Engine, session.get_bind())


def freeze(session: Session, **more: Any) -> Created:
    """Create a release of everything in the session, which is committed first."""
    return create_release(engine_of(session), **more)
