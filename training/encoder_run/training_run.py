"""Training runs (kind ``train``): requested, executed, and evaluated before and after."""

import shutil
import time
from collections.abc import Collection, Mapping, Sequence
from typing import Any, NamedTuple

from sqlalchemy import Engine, delete, select, update
from sqlalchemy.orm import Session
from sqlmodel import col

from curation.encoders.loading import check_encoder, fingerprint
from curation.encoders.model_folders import require_files
from curation.encoders.registered import register_encoder
from curation.release.freezing import create_release, get_release, list_releases
from db.engine import reading, writing
from db.errors import HedgerowError
from db.execution import RunContext
from db.models import Encoder, ProbeCosine, Release, Run, Split, VariantCosine
from db.runs import create_run, get_run, refuse_equal
from db.settings import Settings, load_settings
from training.benchmarks.contamination import compare, compare_bundled_texts
from training.data.families import composition_now, require_known_types, training_families
from training.evaluation.figures import Part, count_part, sample
from training.evaluation.probe_sets import BUNDLED, ensure_bundled
from training.evaluation.probes import measure_before_and_after
from training.finetune import checkpoints
from training.finetune.checkpoints import MODEL_FOLDER
from training.finetune.compute.devices import own_device
from training.finetune.compute.processes import ALONE, Group, agreed
from training.finetune.feasibility import left_by, measuring_steps, require_enough
from training.finetune.finetuning import LARGEST_SEED, Data, Trained, finetune
from training.finetune.inputs import input_hashes, located
from training.model_card import card_of, write_card
from training.models.known import MAX_ENCODER_NAME
from training.recipe.presets import preset_of
from training.recipe.schema import Recipe, recipe_of
from training.recipe.training_data import KIND, plan

DEFAULT_SEED = 42


def request_training(
    engine: Engine,
    *,
    release_number: int | None,
    recipe: Recipe,
    seed: int,
    requested_by: int | None,
) -> Run:
    """Store a run as ``store_training`` does; if there is no release yet, create one first.

    Raises:
        HedgerowError: as in ``store_training`` and ``create_release``. Nothing is stored.
    """
    with reading(engine) as session:
        is_first = release_number is None and not list_releases(session)
        if is_first:
            check_training(session, recipe, seed=seed)
            left_by(recipe, plan(session), composed=lambda: composition_now(session))
    if is_first:

        def check(session: Session, number: int) -> None:
            require_enough(session, plan(session, number), recipe, seed=seed)

        create_release(engine, author_id=requested_by, check=check)
    with writing(engine) as session:
        return store_training(
            session,
            release_number=release_number,
            recipe=recipe,
            seed=seed,
            requested_by=requested_by,
        )


def store_training(
    session: Session,
    *,
    release_number: int | None,
    recipe: Recipe,
    seed: int,
    requested_by: int | None,
    providers: Sequence[str] = (),
    group: str = "",
) -> Run:
    """Store a run that trains on a release; without a number, on the newest.

    All checks of the request are here; pages and commands have none of their own.

    Args:
        providers: train only on the variants of these providers, as in studies that compare
            writers; empty means all.
        group: the group of the study that the run is part of; such a run may repeat one in
            progress, because the study compares its own runs.

    Raises:
        HedgerowError: the release does not exist, its train split is too small for this recipe, a
            setting is not valid (see ``check_training``), or the same run is in progress.
    """
    release = get_release(session, release_number)
    files = check_training(session, recipe, seed=seed)
    whole = plan(session, release.number)
    require_enough(session, whole, recipe, seed=seed, providers=providers)
    preset = preset_of(recipe, whole)
    run = create_run(
        session,
        kind=KIND,
        parameters={
            "release": release.number,
            "preset": preset.id if preset else None,
            "recipe": recipe.model_dump(mode="json"),
            "seed": seed,
            **({"providers": list(providers)} if providers else {}),
        },
        inputs={"release": release.content_hash, "recipe": recipe.hash, **files},
        requested_by=requested_by,
        group=group,
    )
    if not group:
        change = "change the recipe, the release or the seed"
        refuse_equal(session, run, doing=f"training with the same settings; {change}")
    return run


def check_training(session: Session, recipe: Recipe, *, seed: int) -> dict[str, str]:
    """Check what doesn't depend on the release; return the hashes of the recipe's files.

    Raises:
        HedgerowError: the seed is out of range, the base is not a text encoder, a type is unknown,
            or a file cannot be used.
    """
    if not 0 <= seed <= LARGEST_SEED:
        raise HedgerowError(f"Expected a seed from 0 to {LARGEST_SEED}, found {seed}.")
    require_known_types(session, recipe)
    require_files(recipe.base_encoder)
    check_encoder(recipe.base_encoder, must_exist=True)
    return input_hashes(recipe, home=load_settings().home)


class _Task(NamedTuple):
    """The data of a training run and of its final evaluation."""

    release: Release
    recipe: Recipe
    seed: int
    data: Data
    parts: dict[Part, list[int]]
    sizes: dict[Part, int]

    @property
    def measuring_steps(self) -> int:
        """The duration of the final evaluation in training steps, roughly."""
        families = self.data.families
        texts = sum(map(len, families)) / len(families) if families else 1
        return measuring_steps(len(self.variant_ids), self.recipe.batch_size * texts)

    @property
    def variant_ids(self) -> list[int]:
        return [key for ids in self.parts.values() for key in ids]


def work(context: RunContext, group: Group = ALONE) -> dict[str, Any]:
    """Train and measure (run kind ``train``).

    Parameters of the run: ``release`` (its number), ``preset`` (its name, or None), ``recipe``,
    ``seed``, and optionally ``providers``. A second attempt continues from the newest checkpoint.

    Args:
        group: the processes that train together; this is the leading one.
    """
    with own_device(context):
        return _work(context, group)


def help_with(engine: Engine, settings: Settings, run_id: int, group: Group) -> None:
    """Compute as one of the processes of a training run that another process leads (`torchrun`).

    Reads the database and writes nothing.

    Raises:
        HedgerowError: training failed or was stopped in any process.
    """
    from training.finetune.progress import Progress

    with reading(engine) as session:
        run = get_run(session, run_id)
        task = _task(session, run, settings)
    finetune(
        task.data,
        recipe=task.recipe,
        seed=task.seed,
        folder=settings.data_folder / run.folder,
        progress=Progress(),
        group=group,
    )


def _work(context: RunContext, group: Group) -> dict[str, Any]:
    from training.finetune.progress import RunProgress

    started = time.monotonic()
    _clear_earlier_attempt(context)
    context.update(0, 0, "Reading the release.")
    with reading(context.engine) as session:
        task = _task(session, context.run, context.settings)
        shared = compare(session, context.settings.data_folder, task.release, report=context.update)
        bundled = (
            compare_bundled_texts(context.settings.data_folder, report=context.update)
            if task.recipe.retention
            else []
        )
    context.update(0, 0, "Looking for the encoder.")
    base = task.recipe.base_encoder
    base_hash = fingerprint(base)
    check_encoder(base)
    progress = RunProgress(context, measuring=task.measuring_steps)
    agreed(context.run.id, group)  # the other processes may begin
    trained = finetune(
        task.data,
        recipe=task.recipe,
        seed=task.seed,
        folder=context.folder,
        progress=progress,
        group=group,
        keep_checkpoint=True,
    )
    base_id = _register_base(context, base, base_hash)  # only now, because it was needed until here
    result = _result(context, task, trained) | {
        "overlap": [found.facts for found in shared],
        "bundled_overlap": [found.facts for found in bundled],
    }
    _write_card(context, trained, result)  # evaluation may fail, and the model needs a card
    encoder = _trained_encoder(context, task, base_id=base_id, hash_=fingerprint(trained.folder))
    encoder_id = measure_before_and_after(
        context.engine,
        context.settings,
        trained=encoder,
        base_id=base_id,
        base=base,
        variant_ids=task.variant_ids,
        report=progress.measured,
    )
    result |= {"encoder_id": encoder_id, "before_encoder_id": base_id}
    _write_card(context, trained, result)
    checkpoints.remove(
        context.folder
    )  # only now: an evaluation that is interrupted can be resumed, too
    return result | {"seconds": round(time.monotonic() - started, 1)}


def _write_card(context: RunContext, trained: Trained, result: Mapping[str, Any]) -> None:
    with reading(context.engine) as session:
        card = card_of(session, context.run, result)
    write_card(trained.folder, card)


def _result(context: RunContext, task: _Task, trained: Trained) -> dict[str, Any]:
    return {
        "run": context.run.id,
        "model": _model_path(context),
        "release": task.release.number,
        "preset": context.parameters.get("preset"),
        "triples": trained.triples,
        "steps": trained.outcome.steps,
        "kept_step": trained.outcome.kept,
        "anchors": trained.anchors,
        "held_out": {"before": trained.before, "after": trained.after, "of": trained.counts},
        "sampled": {
            part.value: {"measured": len(ids), "of": task.sizes[part]}
            for part, ids in task.parts.items()
        },
    }


def _task(session: Session, run: Run, settings: Settings) -> _Task:
    release = get_release(session, int(run.parameters["release"]))
    key = release.id
    recipe = recipe_of(run)
    return _Task(
        release=release,
        recipe=located(recipe, home=settings.home, expected=run.inputs),
        seed=int(run.parameters["seed"]),
        data=_data(session, key, recipe, run.parameters.get("providers", ())),
        parts={part: sample(session, key, part) for part in Part},
        sizes={part: count_part(session, key, part) for part in Part},
    )


def _data(
    session: Session, release_id: int, recipe: Recipe, providers: Collection[str] = ()
) -> Data:
    """The train split. Evaluations during training use the whole validation split."""
    everything = Recipe(base_encoder=recipe.base_encoder, sources={})
    return Data(
        training_families(
            session, release_id, split=Split.TRAIN, recipe=recipe, providers=providers
        ),
        training_families(session, release_id, split=Split.VALIDATION, recipe=everything),
    )


def _register_base(context: RunContext, name: str, hash_: str) -> int:
    """The row of the base encoder. Also stores the bundled probes."""
    with writing(context.engine) as session:
        for bundled in BUNDLED:
            ensure_bundled(session, bundled)
        return register_encoder(session, name=name[:MAX_ENCODER_NAME], hash_=hash_).id


def _model_path(context: RunContext) -> str:
    """The folder of the model, relative to the data folder."""
    return f"{context.run.folder}/{MODEL_FOLDER}"


def _trained_encoder(context: RunContext, task: _Task, *, base_id: int, hash_: str) -> Encoder:
    name = f"run {context.run.id}: {task.recipe.base_encoder}, release {task.release.number}"
    return Encoder(
        name=name[:MAX_ENCODER_NAME],
        fingerprint=hash_,
        path=_model_path(context),
        base_id=base_id,
        run_id=context.run.id,
        release_id=task.release.id,
    )


def _clear_earlier_attempt(context: RunContext) -> None:
    """Delete the results of an interrupted attempt: the model, and the encoder with its
    measurements."""
    shutil.rmtree(context.folder / MODEL_FOLDER, ignore_errors=True)
    with writing(context.engine) as session:
        query = select(col(Encoder.id)).where(col(Encoder.run_id) == context.run.id)
        for key in session.execute(query).scalars().all():
            for figures in (VariantCosine, ProbeCosine):
                session.execute(delete(figures).where(col(figures.encoder_id) == key))
            session.execute(update(Encoder).where(col(Encoder.base_id) == key).values(base_id=None))
            session.execute(delete(Encoder).where(col(Encoder.id) == key))
