"""Negation against general ability along the line from the base encoder to the finetuned one.

The paper's Figure 2 trains again for each point. Here the weights of a finished training run are
mixed with the base encoder's (`training.encoder_run.weight_changes`), and each mixture is
evaluated on the release's validation split and on retrieval. The curve is the result of a run of
kind ``tradeoff``.
"""

import time
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Any, NamedTuple

from pydantic import BeforeValidator, Field
from sqlalchemy import func, select
from sqlalchemy.orm import Session
from sqlmodel import col

from curation.actions import Action, OpenProject, Request
from curation.encoders import embeddings
from curation.release.freezing import get_release
from db import LARGEST_NUMBER
from db.engine import reading, writing
from db.errors import HedgerowError
from db.execution import RunContext
from db.models import ReleaseItem, Run, RunState, Split
from db.named_files import read_bytes
from db.runs import UNFINISHED, create_run, get_run, metrics
from db.settings import Settings
from training.data.families import training_families
from training.encoder_run.tradeoff_curve import KIND, SharePoint, group_of, measured_run, newest
from training.encoder_run.weight_changes import Mixture, ends_of, load
from training.evaluation.general_ability import (
    LARGEST_STS_FILE,
    StsPair,
    read_sts,
    retrieval_characters,
    retrieval_counts,
    retrieval_figures,
)
from training.evaluation.held_out import MOST_FAMILIES, HeldOut
from training.finetune import feasibility
from training.finetune.compute.devices import own_device
from training.finetune.curves import PACE
from training.finetune.inputs import keep_file
from training.losses.families import Family
from training.recipe.schema import Recipe
from training.recipe.training_data import KIND as TRAINING

SHARES = tuple(tenth / 10 for tenth in range(11))
"""Shares of the finetuned weights to measure, in addition to that of the run's own model."""

FEWEST_ANCHORS = 2
"""Minimum number of held-out anchors, so that there is a cosine between anchors that can drift."""


class StsFile(NamedTuple):
    """A user's STS file, with its original name."""

    name: str
    content: bytes


def read_sts_file(path: Path) -> StsFile:
    """An STS file of this machine.

    Raises:
        HedgerowError: the file can't be read, is too large, or is not an STS file.
    """
    read_sts(path)
    return StsFile(path.name, read_bytes(path, kind="an STS file", largest=LARGEST_STS_FILE))


def training_sts(run: Run) -> Path | None:
    """The STS file of a training run, if it had one that still exists."""
    named = run.parameters["recipe"].get("sts_file")
    path = Path(named) if named else None
    return path if path is not None and path.is_file() else None


def _sts(given: Any) -> Any:
    return read_sts_file(Path(given)) if isinstance(given, str | Path) else given


class MeasureTradeoff(Request):
    """Which training run to measure, and how."""

    training: int = Field(ge=1, le=LARGEST_NUMBER)
    """The number of a training run."""

    share: float | None = Field(default=None, ge=0, le=1)
    """Share of the finetuned weights to show, measured if new."""

    sts: Annotated[StsFile | None, BeforeValidator(_sts)] = None
    """One score and two sentences per line, separated by tabs; another measure of general ability
    next to retrieval and drift."""


def store(project: OpenProject, request: MeasureTradeoff) -> Run:
    """Store a run that measures the trade-off of a finetuned model, at `SHARES` and the request's.

    It replaces an earlier one, and also measures that run's shares and STS file. Without a file in
    either, the training run's is used.

    Raises:
        HedgerowError: the training run does not exist, is not finished, has no model any more or
            too little held-out data, the STS file has another format, or the trade-off is already
            being measured.
    """
    settings, training = project.settings, request.training
    with writing(project.engine) as session:
        run = finished_training(session, training)
        own_share = ends_of(session, settings, run).own_share
        _require_validation(session, run)
        require_no_other(session, kind=KIND, training=training)
        earlier = measured_run(session, training)
        sts = request.sts or _known_sts(settings, run, earlier)
        kept = keep_file(settings.data_folder, sts.content, read=read_sts) if sts else None
        shares = {*SHARES, own_share, *(earlier.parameters["shares"] if earlier else ())}
        if request.share is not None:
            shares.add(request.share)
        return create_run(
            session,
            kind=KIND,
            group=group_of(training),
            requested_by=project.author(session),
            parameters={
                "training": training,
                "shares": sorted(shares),
                "sts": kept.relative_to(settings.data_folder).as_posix() if kept else "",
                "sts_name": sts.name if sts else "",
            },
        )


MEASURE_TRADEOFF = Action("measure a trade-off", MeasureTradeoff, store)


def _known_sts(settings: Settings, run: Run, earlier: Run | None) -> StsFile | None:
    """The STS file of the earlier trade-off, or else of the training run, if it still exists."""
    if earlier is not None and earlier.parameters["sts"]:
        path = settings.data_folder / earlier.parameters["sts"]
        if path.is_file():
            return StsFile(earlier.parameters["sts_name"], path.read_bytes())
    path = training_sts(run)
    return read_sts_file(path) if path else None


def finished_training(session: Session, number: int) -> Run:
    """A finished training run with a model.

    Raises:
        HedgerowError: there is no such run, it is not a training run, or it is not finished.
    """
    run = get_run(session, number)
    if run.kind != TRAINING:
        raise HedgerowError(f"Expected the number of a training run, but run {number} is not one.")
    if run.state != RunState.DONE:
        raise HedgerowError(
            f"Run {number} has no model, because it is {run.state}; wait until it is done."
        )
    return run


def require_no_other(session: Session, *, kind: str, training: int) -> None:
    """Refuse a second run of a kind for the same training run.

    Raises:
        HedgerowError: one is waiting or in progress.
    """
    other = newest(session, training, kind=kind)
    if other is not None and other.state in UNFINISHED:
        raise HedgerowError(f"Run {other.id} is already doing this; wait until it has ended.")


def _require_validation(session: Session, run: Run) -> dict[str, int]:
    """The counts of the validation split, which must contain something to measure."""
    number = int(run.parameters["release"])
    part = get_release(session, number).summary["splits"].get(Split.VALIDATION, {})
    if part.get("anchors", 0) - part.get("without_triples", 0) < FEWEST_ANCHORS:
        raise HedgerowError(
            f"The validation split of release {number} has fewer than {FEWEST_ANCHORS} anchors "
            "with a negation and a hedge or paraphrase; accept more variants, then train on a "
            "new release."
        )
    return dict(part)


def estimate(session: Session, run: Run) -> float:
    """The estimated seconds for measuring the trade-off, without an STS file.

    Raises:
        HedgerowError: too little is held out.
    """
    part = _require_validation(session, run)
    used = min(1.0, MOST_FAMILIES / part["anchors"])
    texts = used * (part["anchors"] + part["variants"])
    read = texts * embeddings.length(_letters(session, int(run.parameters["release"])))
    read += retrieval_characters()
    paces = [pace for _, pace in metrics(session, run.id, name=PACE)]
    pace = sum(paces) / len(paces) if paces else feasibility.CHARACTERS_PER_SECOND
    return feasibility.PREPARING + len(SHARES) * read / (feasibility.forward_only() * pace)


def _letters(session: Session, number: int) -> float:
    """The mean length of a variant in the validation split, in characters."""
    mean = select(func.avg(func.length(col(ReleaseItem.text)))).where(
        col(ReleaseItem.release_id) == get_release(session, number).id,
        col(ReleaseItem.split) == Split.VALIDATION,
    )
    return float(session.execute(mean).scalar() or 0.0)


def seconds_to_measure(session: Session, settings: Settings, run: Run) -> float:
    """Like ``estimate``, for a training run whose models still exist.

    Raises:
        HedgerowError: a model is gone, or too little is held out.
    """
    ends_of(session, settings, run)
    return estimate(session, run)


def work(context: RunContext) -> dict[str, Any]:
    """Measure the trade-off of a training run (run kind ``tradeoff``).

    Parameters of the run: ``training`` (the number of the training run), ``shares``, ``sts`` (the
    STS file, relative to the data folder, or "") and ``sts_name`` (its original name).
    """
    with own_device(context):
        return _work(context)


def _work(context: RunContext) -> dict[str, Any]:
    started = time.monotonic()
    asked = context.parameters
    with reading(context.engine) as session:
        run = finished_training(session, int(asked["training"]))
        ends = ends_of(session, context.settings, run)
        families = _held_out(session, run)
    sts = read_sts(context.settings.data_folder / asked["sts"]) if asked["sts"] else []
    context.update(0, 0, "Loading both encoders.")
    shares = [float(share) for share in asked["shares"]]
    points, counts = _measure(context, load(ends), families, shares=shares, sts=sts)
    return {
        "run": context.run.id,
        "training": run.id,
        "release": run.result["release"],
        "own_share": ends.own_share,
        "points": [point._asdict() for point in points],
        "counts": counts,
        "sts": asked["sts_name"],
        "seconds": round(time.monotonic() - started, 1),
    }


def _held_out(session: Session, run: Run) -> list[Family]:
    """The whole validation split, without the recipe's limits."""
    release = get_release(session, int(run.parameters["release"]))
    return training_families(session, release.id, split=Split.VALIDATION, recipe=Recipe())


def _measure(
    context: RunContext,
    mixture: Mixture,
    families: Sequence[Family],
    *,
    shares: Sequence[float],
    sts: Sequence[StsPair],
) -> tuple[list[SharePoint], dict[str, int]]:
    """The metrics for each share, from 0 on, and the number of items behind each metric."""

    def say(done: int) -> None:
        context.update(done, len(shares), f"Evaluating share {shares[done]:g}.")

    say(0)
    held_out = HeldOut(mixture.set_share(shares[0]), families, sts=sts, check=context.check)
    points = []
    for done, share in enumerate(shares):
        say(done)
        model = mixture.set_share(share)
        figures = held_out.figures(model) if done else held_out.before
        retrieval = retrieval_figures(model, check=context.check)
        points.append(SharePoint(share, figures | retrieval))
    return points, held_out.counts | retrieval_counts()
