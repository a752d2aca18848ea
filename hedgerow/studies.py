"""Studies, which compare training runs that differ in one respect."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from db.engine import reading
from db.runs import get_run
from db.settings import Settings
from hedgerow import arguments
from hedgerow.benchmarks import Score, score_of
from hedgerow.home import Home, acting
from hedgerow.progress import quietly
from hedgerow.running import carry_out, located
from training.benchmarks.results.queries import Scored, of_run
from training.encoder_run.tradeoff import MEASURE_TRADEOFF, MeasureTradeoff, finished_training
from training.encoder_run.tradeoff_curve import GENERAL, NEGATION, Curve, axes, curve_of, suggested
from training.encoder_run.tradeoff_save import SAVE_POINT, SavePoint
from training.studies.members import Trial
from training.studies.members import trials as trials_of
from training.studies.outcomes import FigureRow, figure_rows
from training.studies.study_run import benchmark_run

if TYPE_CHECKING:
    import pandas as pd

    from hedgerow.trained import TrainedEncoder


KEPT = ("triples", "steps", "held_out", "model")
"""The values of a run's result that a study shows."""


@dataclass(frozen=True)
class StudyResult:
    """The results of a study.

    Attributes:
        study: the name of the study.
        release, seed: the number of the release and the seed of all training runs.
        run: the number of the study's run.
        notes: sentences about the design of the study and the interpretation of its results.
        scores: the benchmark scores of the base encoder and the models, if requested.
    """

    study: str
    release: int
    seed: int
    run: int
    notes: Sequence[str]
    scores: Sequence[Score]
    _members: Sequence[Mapping[str, Any]]
    _rows: Sequence[FigureRow]

    @property
    def trainings(self) -> pd.DataFrame:
        """The training runs of the study.

        Returns:
            One row per run: run (its number), label, state, message, triples, steps, model (the
            folder).
        """
        import pandas as pd

        columns = ["run", "label", "state", "message", "triples", "steps", "model"]
        return pd.DataFrame(list(self._members), columns=columns)

    @property
    def figures(self) -> pd.DataFrame:
        """The figures of every training run on held-out families, as in `TrainedEncoder.figures`.

        Returns:
            One row per training run and figure: label, run (its number), figure, before (the value
            of the base encoder), after, n (the number of items that were measured).
        """
        import pandas as pd

        rows = [(r.arm, r.run, r.figure, r.before, r.value, r.n) for r in self._rows]
        return pd.DataFrame(rows, columns=["label", "run", "figure", "before", "after", "n"])

    def __repr__(self) -> str:
        return f"<Study {self.study!r} of release {self.release}: {len(self._members)} runs>"


def outcome(home: Home, number: int) -> tuple[list[Trial], list[Scored]]:
    """The current training runs of a study, and its benchmark results, newest result first."""
    with reading(home.engine) as session:
        run = get_run(session, number)
        measured = benchmark_run(run)
        return trials_of(session, run), [] if measured is None else of_run(session, measured)


def study_result(home: Home, number: int) -> StudyResult:
    """The results of a finished study."""
    trials, scored = outcome(home, number)
    with reading(home.engine) as session:
        given = get_run(session, number).parameters
    return StudyResult(
        study=given["study"],
        release=given["release"],
        seed=given["seed"],
        run=number,
        notes=tuple(given["told"]),
        scores=tuple(score_of(row, home.settings.data_folder) for row in reversed(scored)),
        _members=[facts_of(home.settings, trial) for trial in trials],
        _rows=figure_rows(trials),
    )


def facts_of(settings: Settings, trial: Trial) -> dict[str, Any]:
    """A training run of a study, ready for JSON, with absolute paths."""
    result = located(settings, trial.run.result)
    return {
        "run": trial.run.id,
        "label": trial.label,
        "state": trial.run.state.value,
        "message": trial.run.message,
        **{key: result[key] for key in KEPT if key in result},
    }


# -- The trade-off of a training run ---------------------------------------------------------------


@dataclass(frozen=True, repr=False)
class Tradeoff:
    """The trade-off between negation and general ability, measured for a training run.

    Attributes:
        training: the number of the training run.
        run: the number of the run that measured the trade-off.
        own_share: the share of the finetuned weights in the model that the training run saved.
        suggested: the share of the finetuned weights that Hedgerow suggests.
    """

    training: int
    run: int
    own_share: float
    suggested: float
    _home: Home
    _curve: Curve

    @property
    def points(self) -> pd.DataFrame:
        """The figures for each share of the finetuned weights.

        Returns:
            One row per share: share (from 0 for the base encoder to 1), the figures of negation in
            [0, 1], and of general ability retrieval and sts, if they were measured, and kept (1
            minus the drift).
        """
        import pandas as pd

        names = figure_names(self._curve)
        rows = [(p.share, *(p.value(name) for name in names)) for p in self._curve.points]
        return pd.DataFrame(rows, columns=["share", *names])

    def save(self, share: float) -> TrainedEncoder:
        """Save the model with this share of the finetuned weights, and load it.

        Raises:
            HedgerowError: the share was not measured, or a model with these weights already exists.
        """
        request = arguments.request(SavePoint, {"training": self.training, "share": share})
        return loaded(save_point(self._home, request))

    def __repr__(self) -> str:
        return f"<Tradeoff of run {self.training}: {len(self._curve.points)} points>"


def tradeoff(home: Home, request: MeasureTradeoff) -> Tradeoff:
    """See `hedgerow.Project.tradeoff`."""
    curve = measured_curve(home, request)
    best = suggested_share(curve)
    return Tradeoff(request.training, curve.run, curve.own_share, best, home, curve)


def measured_curve(home: Home, request: MeasureTradeoff) -> Curve:
    """The trade-off of a training run. It is measured if a required point is missing.

    Raises:
        HedgerowError: as in `training.encoder_run.tradeoff.store`.
    """
    training, share = request.training, request.share
    with reading(home.engine) as session:
        finished_training(session, training)
        curve = curve_of(session, training)
    if curve is not None and request.sts is None and (share is None or curve.at(share) is not None):
        return curve
    carry_out(*home, MEASURE_TRADEOFF.perform(acting(home), request).id)
    with reading(home.engine) as session:
        curve = curve_of(session, training)
    assert curve is not None  # the run has just stored it
    return curve


def save_point(home: Home, request: SavePoint) -> dict[str, Any]:
    """Save a measured point as a model, and return the run's result with the model's folder.

    Raises:
        HedgerowError: as in `training.encoder_run.tradeoff_save.store`.
    """
    return carry_out(*home, SAVE_POINT.perform(acting(home), request).id)


def figure_names(curve: Curve) -> list[str]:
    """The figures that were measured at every point: negation first, then general ability."""
    return [*curve.measured(NEGATION), *curve.measured(GENERAL)]


def suggested_share(curve: Curve) -> float:
    """The suggested share, based on the most informative metrics that were measured."""
    general, negation = axes(curve)
    return suggested(curve, general=general[0], negation=negation[0])


def loaded(result: Mapping[str, Any]) -> TrainedEncoder:
    """Load the model of a finished run, without printing library warnings."""
    with quietly():
        from hedgerow.trained import load_trained

        return load_trained(result)
