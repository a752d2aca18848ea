"""The results of a study as tidy rows, for charts like the paper's Figures 2 and 3.

No encoder is needed here, so a page opens at once.
"""

from collections.abc import Mapping, Sequence
from enum import StrEnum
from typing import NamedTuple

from db.models import Run, RunState
from training.benchmarks.definition import POINTS
from training.benchmarks.results.paper_tables import GENERAL as GENERAL_ABILITY
from training.benchmarks.results.paper_tables import NEGATION, published
from training.evaluation.general_ability import RETRIEVAL
from training.evaluation.held_out import DRIFT, FAMILIES, QUESTIONS, RANKED, STS
from training.finetune.curves import GENERAL, SHARES
from training.studies.designs import Study
from training.studies.members import Trial

NAMES: Mapping[str, str] = SHARES | GENERAL
"""The label of each metric on the held-out part. All except the first ones are general ability."""

SHORT: Mapping[str, str] = {
    RANKED: "Ranked",
    FAMILIES: "Anchors",
    QUESTIONS: "Questions",
    DRIFT: "Drift",
    STS: "STS",
    RETRIEVAL: "Retrieval",
}
"""Short labels for table headers."""


TABLE_2 = "HedgeTriple, Table 2"
"""The name of the paper's table in lines of scores (`training.benchmarks.results.paper_tables`)."""

_TABLE = "hedgetriple_table_2"
"""The paper's table with the same comparison. Its Figure 3 shows the relative differences."""

_PAPER_BASE = "MPNet"
_PAPER_ARMS = {
    "All": "HedgeMPNet",
    "Only negation": "Only negation",
    "Only hedging": "Only hedging",
}
"""The label of a run in a study → its label in the table."""

_PAPER_FIGURES = {
    NEGATION: "Mean of four negation tests",
    "nevir": "NevIR",
    GENERAL_ABILITY: "Mean of 16 general tests",
    f"{GENERAL_ABILITY}:STS": "MTEB STS",
}


class FigureRow(NamedTuple):
    """One metric of one training run.

    Attributes:
        arm: its difference from the other runs of the study.
        run: its number; None for a published result.
        triples: the number of its training triples; None for a published result.
        figure: its name in `training.evaluation.held_out`, or in the paper.
        before: the value of the base encoder.
        value: the value after training: a share, a correlation or a distance of cosines.
        n: the number of triples, anchors, questions, sentences or pairs behind it; None if unknown.
    """

    arm: str
    run: int | None
    triples: int | None
    figure: str
    before: float
    value: float
    n: int | None

    @property
    def published(self) -> bool:
        """Whether the paper measured it, on its own tests."""
        return self.run is None


class Against(StrEnum):
    """The baseline of a study."""

    BASE = "base encoder"
    FULL = "run on all data"


class DifferenceRow(NamedTuple):
    """The difference between a metric of a run and the baseline.

    Attributes:
        difference: in percent of the reference, or in points (hundredths of the metric's unit).
    """

    arm: str
    run: int | None
    figure: str
    reference: float
    value: float
    difference: float
    n: int | None

    @property
    def published(self) -> bool:
        """Whether the paper measured it, on its own tests."""
        return self.run is None


def held_out(run: Run) -> tuple[dict[str, float], dict[str, float], dict[str, int]]:
    """The metrics of a run before and after, and their numbers of items; {} if not evaluated."""
    found = run.result.get("held_out") or {}
    return found.get("before") or {}, found.get("after") or {}, found.get("of") or {}


def figure_rows(trials: Sequence[Trial]) -> list[FigureRow]:
    """The metrics of the finished runs, in the order of the study."""
    rows = []
    for label, run in trials:
        if run.state != RunState.DONE:
            continue
        before, after, counts = held_out(run)
        rows += [
            FigureRow(
                label,
                run.id,
                run.result["triples"],
                figure,
                before[figure],
                after[figure],
                counts.get(figure),
            )
            for figure in NAMES
            if figure in before and figure in after
        ]
    return rows


def published_rows(study: Study) -> list[FigureRow]:
    """The paper's results for the same comparison, on its own tests, data and encoder."""
    if study is not Study.DATA:
        return []
    scores = {
        (number.benchmark, number.model): number.score / POINTS
        for number in published()
        if number.table == _TABLE
    }
    return [
        FigureRow(arm, None, None, title, scores[name, _PAPER_BASE], scores[name, model], None)
        for name, title in _PAPER_FIGURES.items()
        for arm, model in _PAPER_ARMS.items()
    ]


def differences(
    rows: Sequence[FigureRow], *, against: Against, full: str, relative: bool
) -> list[DifferenceRow]:
    """The difference of each metric from the base encoder's, or from that of the run on all data.

    There is no row if a relative difference has the reference 0, or if the run on all data is not
    finished.

    Args:
        rows: of one study.
        full: the label of the run on all data, which is not compared with itself.
        relative: in percent of the reference, as in the paper's Figure 3; otherwise in points.
    """
    of_full = {(row.published, row.figure): row.value for row in rows if row.arm == full}
    found = []
    for row in rows:
        reference: float | None = row.before
        if against is Against.FULL:
            reference = of_full.get((row.published, row.figure)) if row.arm != full else None
        if reference is None or (relative and not reference):
            continue
        difference = (row.value - reference) * 100 / (abs(reference) if relative else 1)
        found.append(
            DifferenceRow(row.arm, row.run, row.figure, reference, row.value, difference, row.n)
        )
    return found


class TradeOffRow(NamedTuple):
    """A point of the paper's Figure 2: an encoder's negation and general score.

    Attributes:
        triples: the number of training triples; 0 for the base encoder.
        general: the value of the chosen metric; for the drift, 1 - drift.
    """

    triples: int
    negation: float
    general: float
    run: int | None


def trade_off(rows: Sequence[FigureRow], *, negation: str, general: str) -> list[TradeOffRow]:
    """Negation against general ability as the number of triples grows, the base encoder first.

    Args:
        rows: the rows of a study on the number of triples.
        negation, general: the names of the metrics; for the drift, the value is 1 - drift.
    """
    by_run: dict[int, dict[str, FigureRow]] = {}
    for row in rows:
        if row.run is not None:
            by_run.setdefault(row.run, {})[row.figure] = row
    pairs = [
        (found[negation], found[general])
        for found in by_run.values()
        if negation in found and general in found
    ]
    if not pairs:
        return []
    first, second = pairs[0]
    points = [TradeOffRow(0, first.before, _upwards(general, second.before), None)]
    points += [
        TradeOffRow(first.triples or 0, first.value, _upwards(general, second.value), first.run)
        for first, second in pairs
    ]
    return sorted(points, key=lambda point: point.triples)


def _upwards(figure: str, value: float) -> float:
    """The metric, converted so that higher is better."""
    return 1 - value if figure == DRIFT else value
