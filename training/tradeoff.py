"""Negation against general ability along the line from the base encoder to the finetuned one.

The paper's Figure 2 trains anew for each point; here the weights of a finished training are mixed
with the base encoder's (`training.mixture`), and each mixture is measured on the release's
validation split. The measured curve is the result of a run of the kind ``tradeoff``.
"""

from __future__ import annotations

import math
import tempfile
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from sqlalchemy import select
from sqlmodel import Session, col

from curation.release import get_release
from db.engine import reading
from db.errors import HedgerowError
from db.execution import RunContext
from db.models import Run, RunState, Split
from db.runs import UNFINISHED, create_run, get_run, metrics, run_folder
from db.settings import Settings
from training import plan
from training.devices import device_to_oneself, share_the_processor
from training.family_data import training_families
from training.held_out import (
    DRIFT,
    FAMILIES,
    MOST_FAMILIES,
    MOST_UNRELATED,
    QUESTIONS,
    RANKED,
    STS,
    HeldOut,
)
from training.losses import Family
from training.mixture import Mixture, ends_of, load
from training.recipe import Recipe
from training.sts import LARGEST_FILE, ScoredPair, read_sts
from training.watching import PACE

KIND = "tradeoff"

SHARES = tuple(tenth / 10 for tenth in range(11))
"""Of the finetuned weights; measured are these and the share of the training's own model."""

NEGATION = (QUESTIONS, FAMILIES, RANKED)
"""Figures of how well negation is understood, the first that is there being the hardest."""

KEPT = "kept"
"""1 - drift: how far cosines of unrelated sentences are where the base encoder has them."""

GENERAL = (STS, KEPT)
"""Figures of general ability, the first that is there being the more telling."""

STS_FILE = "sts.tsv"
"""A copy of the STS file, in the run's folder."""

FEWEST_ANCHORS = 2
"""Held out; of one, no two anchors have a cosine that could drift."""


class Point(NamedTuple):
    """What was measured with a share of the finetuned weights: figures as of `HeldOut`."""

    share: float
    figures: dict[str, float]

    def value(self, name: str) -> float:
        """A figure of `NEGATION` or `GENERAL`."""
        return 1 - self.figures[DRIFT] if name == KEPT else self.figures[name]

    def has(self, name: str) -> bool:
        """Whether it was measured."""
        return (DRIFT if name == KEPT else name) in self.figures


class Curve(NamedTuple):
    """A measured trade-off.

    Attributes:
        run: the number of the run that measured it.
        training: the number of the training.
        points: from the share 0 (the base encoder) to 1, at least two.
        own_share: of the training's own model; one of the points'.
        counts: how many questions, anchors, … each figure rests on.
        sts: the name of the STS file; "" without one. Somebody's text.
    """

    run: int
    training: int
    points: list[Point]
    own_share: float
    counts: dict[str, int]
    sts: str

    def at(self, share: float) -> Point | None:
        """The point that was measured with this share."""
        near = (point for point in self.points if math.isclose(point.share, share, abs_tol=1e-9))
        return next(near, None)

    def measured(self, names: Sequence[str]) -> list[str]:
        """Those of the figures that are known at every point."""
        return [name for name in names if all(point.has(name) for point in self.points)]


class StsFile(NamedTuple):
    """An STS file that somebody gave, with the name that it had there."""

    name: str
    content: bytes


def read_sts_file(path: Path) -> StsFile:
    """An STS file of this machine.

    Raises:
        HedgerowError: it can't be read, is too large, or is no STS file.
    """
    read_sts(path)
    return StsFile(path.name, path.read_bytes())


def training_sts(run: Run) -> Path | None:
    """The STS file that a training was measured by, if it had one that is still there."""
    named = run.parameters["recipe"].get("sts_file")
    path = Path(named) if named else None
    return path if path is not None and path.is_file() else None


def request_tradeoff(
    session: Session,
    settings: Settings,
    *,
    training: int,
    sts: StsFile | None = None,
    more_shares: Sequence[float] = (),
    requested_by: int | None = None,
) -> Run:
    """Store a run that measures the trade-off of a finished training; it replaces an earlier one.

    Args:
        training: the number of its run.
        sts: what general ability is measured by, beside the drift; otherwise the file that the
            training had.
        more_shares: from 0 to 1; measured beside `SHARES`.

    Raises:
        HedgerowError: no such training, it is not finished, its model is gone, too little is held
            out, the STS file is none, or the trade-off is being measured already.
    """
    run = finished_training(session, training)
    own_share = ends_of(session, settings, run).own_share
    _require_validation(session, run)
    for share in more_shares:
        if not 0 <= share <= 1:
            raise HedgerowError(f"Expected a share from 0 to 1, found {share:g}.")
    require_no_other(session, kind=KIND, training=training)
    if sts is None and (path := training_sts(run)):
        sts = read_sts_file(path)
    elif sts is not None:
        _check_sts(sts)
    made = create_run(
        session, kind=KIND, group=group_of(training), requested_by=requested_by,
        parameters={
            "training": training, "sts": sts.name if sts else "",
            "shares": sorted({*SHARES, own_share, *more_shares}),
        },
    )  # fmt: skip
    if sts is not None:
        (run_folder(settings, made) / STS_FILE).write_bytes(sts.content)
    return made


def finished_training(session: Session, number: int) -> Run:
    """A training that has ended with a model.

    Raises:
        HedgerowError: there is no such run, it is none, or it did not.
    """
    run = get_run(session, number)
    if run.kind != plan.KIND:
        raise HedgerowError(f"Expected the number of a training, but run {number} is none.")
    if run.state != RunState.DONE:
        raise HedgerowError(f"Run {number} has no model: it is {run.state}; wait for its end.")
    return run


def require_no_other(session: Session, *, kind: str, training: int) -> None:
    """Refuse a second run of a kind at the same training.

    Raises:
        HedgerowError: one is waiting or at work.
    """
    other = newest(session, training, kind=kind)
    if other is not None and other.state in UNFINISHED:
        raise HedgerowError(f"Run {other.id} is at work on it already; wait for its end.")


def group_of(training: int) -> str:
    """What all runs that rest on a training are known by."""
    return f"training-{training}"


def newest(session: Session, training: int, *, kind: str = KIND) -> Run | None:
    """The newest run of a kind at this training, in whatever state."""
    query = select(col(Run.id)).where(col(Run.kind) == kind, col(Run.group) == group_of(training))
    number = session.execute(query.order_by(col(Run.id).desc()).limit(1)).scalar()
    return None if number is None else get_run(session, number)


def curve_of(session: Session, training: int) -> Curve | None:
    """The trade-off of a training as it was last measured; None before."""
    query = select(Run).where(col(Run.kind) == KIND, col(Run.group) == group_of(training))
    query = query.where(col(Run.state) == RunState.DONE).order_by(col(Run.id).desc()).limit(1)
    run = session.execute(query).scalar()
    if run is None:
        return None
    found = run.result
    points = [Point(point["share"], point["figures"]) for point in found["points"]]
    return Curve(
        run.id or 0, training, points, found["own_share"], found["counts"], found["sts"]
    )


def _check_sts(sts: StsFile) -> None:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / STS_FILE
        path.write_bytes(sts.content[: LARGEST_FILE + 1])
        try:
            read_sts(path)
        except HedgerowError as error:
            raise HedgerowError(str(error).replace(repr(str(path)), repr(sts.name))) from error


def _require_validation(session: Session, run: Run) -> dict[str, int]:
    """Counts of the validation split, which has to hold something to measure."""
    number = int(run.parameters["release"])
    part = get_release(session, number).summary["splits"].get(Split.VALIDATION, {})
    if part.get("anchors", 0) - part.get("without_triples", 0) < FEWEST_ANCHORS:
        raise HedgerowError(
            f"The validation split of release {number} holds fewer than {FEWEST_ANCHORS} anchors "
            "with a negation and a hedge or paraphrase; accept more, then train on a new release."
        )
    return dict(part)


def estimate(session: Session, run: Run) -> float:
    """About how many seconds measuring a training's trade-off takes, without an STS file.

    Raises:
        HedgerowError: too little is held out.
    """
    part = _require_validation(session, run)
    used = min(1.0, MOST_FAMILIES / part["anchors"])
    texts = used * (part["anchors"] + part["variants"]) + min(MOST_UNRELATED, part["anchors"])
    paces = [pace for _, pace in metrics(session, run.id or 0, name=PACE)]
    pace = sum(paces) / len(paces) if paces else plan.TEXTS_PER_SECOND
    return plan.PREPARING + len(SHARES) * texts / (plan.FORWARD_ONLY * pace)


def suggested(curve: Curve, *, general: str, negation: str) -> float:
    """The share that gives up least: the point farthest above the line between the ends.

    Each figure counts by where it lies between its lowest and its highest value on the curve; of
    equal points, the one with the larger share. Where a figure is the same everywhere, it is the
    other that counts, and where both are, the training's own share is as good as any.

    Args:
        general, negation: figures that are measured at every point.
    """
    across, up = (
        _scaled([point.value(name) for point in curve.points]) for name in (general, negation)
    )
    sums = [round(x + y, 6) for x, y in zip(across, up, strict=True)]
    if not any(sums):
        return curve.own_share
    best = max(range(len(sums)), key=lambda place: (sums[place], place))
    return curve.points[best].share


def _scaled(values: Sequence[float]) -> list[float]:
    low, high = min(values), max(values)
    return [(value - low) / (high - low) if high > low else 0.0 for value in values]


def work(context: RunContext) -> dict[str, Any]:
    """Measure the trade-off of a training (run kind ``tradeoff``).

    Parameters of the run: ``training`` (the number of its run), ``shares``, and ``sts`` (the name
    of the STS file in the run's folder, or "").
    """
    share_the_processor()

    def wait() -> None:
        context.update(0, 0, "Waiting for a training on this machine to end.")

    with device_to_oneself(wait):
        return _work(context)


def _work(context: RunContext) -> dict[str, Any]:
    started = time.monotonic()
    training = int(context.parameters["training"])
    sts = read_sts(context.folder / STS_FILE) if context.parameters["sts"] else []
    with reading(context.engine) as session:
        run = finished_training(session, training)
        ends = ends_of(session, context.settings, run)
        families = _held_out(session, run)
    context.update(0, 0, "Loading both encoders.")
    mixture = load(ends)
    shares = [float(share) for share in context.parameters["shares"]]
    points, counts = measure(
        mixture, families, shares=shares, sts=sts, report=context.update, check=context.check
    )
    return {
        "run": context.run.id,
        "training": training,
        "release": run.result["release"],
        "own_share": ends.own_share,
        "points": [point._asdict() for point in points],
        "counts": counts,
        "sts": context.parameters["sts"],
        "seconds": round(time.monotonic() - started, 1),
    }


def _held_out(session: Session, run: Run) -> list[Family]:
    """The whole validation split, whatever the recipe leaves out."""
    release = get_release(session, int(run.parameters["release"]))
    return training_families(
        session, release.id or 0, split=Split.VALIDATION, recipe=Recipe()
    )


def measure(
    mixture: Mixture,
    families: Sequence[Family],
    *,
    shares: Sequence[float],
    sts: Sequence[ScoredPair],
    report: Callable[[int, int, str], None],
    check: Callable[[], None],
) -> tuple[list[Point], dict[str, int]]:
    """The figures with each share of the finetuned weights, and how much each figure rests on.

    Args:
        shares: ascending from 0, to which the drift is measured.
        report: is told the shares that are done, how many there are, and what is going on.
        check: is called before each batch of texts, and may raise to stop.
    """

    def say(done: int) -> None:
        report(done, len(shares), f"Measuring with the share {shares[done]:g}.")

    mixture.model.register_forward_pre_hook(lambda *_: check())
    say(0)
    held_out = HeldOut(mixture.set_share(shares[0]), families, sts=sts)
    points = [Point(shares[0], held_out.before)]
    for done, share in enumerate(shares[1:], start=1):
        say(done)
        points.append(Point(share, held_out.figures(mixture.set_share(share))))
    return points, held_out.counts
