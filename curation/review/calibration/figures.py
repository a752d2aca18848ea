"""How far a judge agrees with people on a sample, and for which types it can be trusted.

An edit counts as a rejection, except in the table of verdicts, which lists all three.
"""

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import NamedTuple

from sqlalchemy import Engine
from sqlalchemy.orm import Session

from curation.decisions.coefficients import CONFIDENCE, Estimate, Estimates, with_kappa
from curation.diagnostics.opinions import judges
from curation.review.calibration.sample import (
    JudgeSays,
    PeopleSay,
    Sample,
    blind_verdicts,
    get_sample,
    opinions_on,
    types_of,
    variant_ids,
)
from curation.review.rules import Applied, BulkRule, apply_rule, find_matches, opinion_rule
from db.errors import HedgerowError
from db.models import Verdict

# -- The expected calibration error of a judge's certainty, and its bins --------------------------


BINS = 10


class Bin(NamedTuple):
    """Opinions of about the same certainty.

    Attributes:
        low, high: the limits; a certainty is in (low, high], and 0 is in the first bin.
        items: the number of opinions.
        certainty: the mean certainty, in [0, 1].
        right: the share of opinions that agree with people, in [0, 1].
    """

    low: float
    high: float
    items: int
    certainty: float
    right: float


class Reliability(NamedTuple):
    """How well a judge's certainty predicts that it is right.

    Attributes:
        error: the expected calibration error, in [0, 1]; None without a stated certainty.
        bins: the bins that are not empty.
        unnamed: the number of opinions without a certainty, which are left out.
    """

    error: float | None
    bins: tuple[Bin, ...]
    unnamed: int


def reliability(opinions: Sequence[tuple[float | None, bool]]) -> Reliability:
    """The reliability of opinions, given as (certainty or None, whether it agrees with people)."""
    named = [(certainty, right) for certainty, right in opinions if certainty is not None]
    bins = []
    for number in range(BINS):
        low, high = number / BINS, (number + 1) / BINS
        within = [
            (certainty, right)
            for certainty, right in named
            if low < certainty <= high or (number == 0 and certainty == 0)
        ]
        if within:
            size = len(within)
            mean = sum(certainty for certainty, _ in within) / size
            bins.append(Bin(low, high, size, mean, sum(right for _, right in within) / size))
    gaps = sum(one.items * abs(one.certainty - one.right) for one in bins)
    error = gaps / len(named) if named else None
    return Reliability(error, tuple(bins), len(opinions) - len(named))


PRECISION = 0.95
"""Minimum precision of a judge's 'accept' for accepting a type without human review."""

FEWEST = 50
"""Minimum number of blind items that the judge accepts, for a recommendation."""

ALL = "all"
"""Used in place of a type for all types."""

Cells = Mapping[tuple[Verdict, Verdict], int]
"""(judge's verdict, people's verdict) → number of items."""


class TypeFigures(NamedTuple):
    """A judge compared with people, on the items of one type that both have judged.

    Attributes:
        items: the number of these items.
        cells: how often each pair of verdicts occurs.
        base_rate: the share of items that people accept, in [0, 1]; None without items.
        agreement: the share of items that both accept or both do not accept.
        kappa: Cohen's kappa for accepting or not.
        by_chance: the agreement expected by chance.
        accepted: the number of items that the judge accepts.
        precision: the share of these that people accept, with its exact (Clopper–Pearson) interval.
    """

    type_id: str
    items: int
    cells: Cells
    base_rate: float | None
    agreement: Estimate
    kappa: Estimate
    by_chance: float | None
    accepted: int
    precision: Estimate

    def is_trusted(self, precision: float = PRECISION) -> bool:
        """Whether the variants of this type that the judge accepts need no human review.

        The lower limit of the 95% interval of the precision must reach the argument, and the judge
        must accept at least ``FEWEST`` items.
        """
        low = self.precision.low
        return self.accepted >= FEWEST and low is not None and low >= precision


class JudgeFigures(NamedTuple):
    """The figures of a judge on a sample.

    Attributes:
        id, name, counts: those of the judge (see ``ModelReviewer``).
        judged: the number of items with an opinion of the judge.
        types: the figures by type, in taxonomy order.
        together: the figures for all types.
    """

    id: int
    name: str
    counts: bool
    judged: int
    types: tuple[TypeFigures, ...]
    together: TypeFigures
    reliability: Reliability

    def trusted(self, precision: float = PRECISION) -> tuple[str, ...]:
        """The types for which this judge's 'accept' needs no human review."""
        return tuple(row.type_id for row in self.types if row.is_trusted(precision))


class Calibration(NamedTuple):
    """The results on a sample.

    Attributes:
        sampled: the number of variants by type, in taxonomy order, without deleted ones.
        decided: the number of variants with a blind decision of a person, by type.
        disagree: how many of these got different verdicts; the strictest verdict counts.
        judges: the judges with an opinion on any of them, the highest kappa first.
    """

    sample: Sample
    sampled: Mapping[str, int]
    decided: Mapping[str, int]
    disagree: int
    judges: tuple[JudgeFigures, ...]

    def judge(self, name: str) -> JudgeFigures | None:
        """The judge with this name, if there is one."""
        return next((one for one in self.judges if one.name == name), None)


def calibration(session: Session, number: int | None = None) -> Calibration:
    """The figures of all judges on a sample. Without a number, on the newest one.

    Raises:
        HedgerowError: there is no such sample.
    """
    sample = get_sample(session, number)
    ids = variant_ids(session, sample)
    types = types_of(session, ids)
    people = blind_verdicts(session, ids)
    found = []
    for one in judges(session):
        opinions = opinions_on(session, ids, one.id)
        if opinions:
            compared = _compared(types, opinions, people)
            found.append(JudgeFigures(one.id, one.name, one.counts, len(opinions), *compared))
    found.sort(key=lambda figures: -_rank(figures.together.kappa))
    return Calibration(
        sample,
        Counter(types.values()),
        Counter(type_id for key, type_id in types.items() if key in people),
        sum(say.disagree for say in people.values()),
        tuple(found),
    )


def _rank(kappa: Estimate) -> float:
    return -2.0 if kappa.value is None else kappa.value


def _compared(
    types: Mapping[int, str], opinions: Mapping[int, JudgeSays], people: Mapping[int, PeopleSay]
) -> tuple[tuple[TypeFigures, ...], TypeFigures, Reliability]:
    """The figures by type and for all types, and the reliability of the certainty."""
    cells: dict[str, Counter[tuple[Verdict, Verdict]]] = {}
    certainties = []
    for key, type_id in types.items():
        if key in opinions and key in people:
            opinion, verdict = opinions[key], people[key].verdict
            cells.setdefault(type_id, Counter())[opinion.verdict, verdict] += 1
            certainties.append((opinion.certainty, _accepts(opinion.verdict) == _accepts(verdict)))
    together = sum(cells.values(), Counter[tuple[Verdict, Verdict]]())
    rows = tuple(type_figures(type_id, counts) for type_id, counts in cells.items())
    return rows, type_figures(ALL, together), reliability(certainties)


def _accepts(verdict: Verdict) -> bool:
    return verdict is Verdict.ACCEPT


def type_figures(type_id: str, cells: Cells) -> TypeFigures:
    """The figures for these counts."""
    items = sum(cells.values())
    counts: Counter[tuple[int, ...]] = Counter()
    for (judge, people), number in cells.items():
        counts[int(_accepts(judge)), int(_accepts(people))] += number
    found = with_kappa(tuple(sorted(counts.items()))) if items else Estimates()
    accepted = counts[1, 0] + counts[1, 1]
    return TypeFigures(
        type_id,
        items,
        dict(cells),
        (counts[0, 1] + counts[1, 1]) / items if items else None,
        found.agreement,
        found.beyond_chance,
        found.by_chance,
        accepted,
        exact_share(counts[1, 1], accepted),
    )


def exact_share(number: int, of: int) -> Estimate:
    """A share with its exact 95% interval (Clopper and Pearson, 1934)."""
    if not of:
        return Estimate()
    from scipy.special import betaincinv  # noqa: PLC0415  (slow to import)

    tail = (1 - CONFIDENCE) / 2
    low = float(betaincinv(number, of - number + 1, tail)) if number else 0.0
    high = float(betaincinv(number + 1, of - number, 1 - tail)) if number < of else 1.0
    return Estimate(number / of, low, high)


# -- accepting what a judge accepts without human review, for types where it can be trusted ------


ACCEPTED = "accepted"


class Trust(NamedTuple):
    """Which variants can be accepted, and why.

    Attributes:
        rule: the rule that selects them.
        types: the ids of their types.
        why: a sentence for the note of every decision.
    """

    rule: BulkRule
    types: tuple[str, ...]
    why: str


def trust(
    session: Session,
    judge: str,
    *,
    sample: int | None = None,
    types: Sequence[str] = (),
    precision: float = PRECISION,
) -> Trust:
    """The rule that accepts what a judge accepts.

    Args:
        sample: the number of the sample to measure it on; None for the newest.
        types: only these; empty for all types that qualify.

    Raises:
        HedgerowError: the judge has no opinion on the sample, no type qualifies, or one of
            ``types`` does not.
    """
    found = calibration(session, sample)
    figures = found.judge(judge)
    if figures is None:
        known = ", ".join(f"'{one.name}'" for one in found.judges) or "there is none yet"
        raise HedgerowError(
            f"Expected the name of a judge of sample {found.sample.id} ({known}), found "
            f"{judge[:100]!r}."
        )
    trusted = figures.trusted(precision)
    if not trusted:
        raise HedgerowError(
            f"No type qualifies for '{figures.name}'. 'hedgerow review calibration show "
            f"{found.sample.id}' shows why."
        )
    if refused := [name for name in types if name not in trusted]:
        raise HedgerowError(
            f"Expected types that qualify for '{figures.name}' ({', '.join(trusted)}), "
            f"found {refused[0][:100]!r}."
        )
    wanted = tuple(name for name in trusted if not types or name in types)
    return Trust(opinion_rule(ACCEPTED, figures.name), wanted, _why(found, figures, wanted))


def _why(found: Calibration, figures: JudgeFigures, types: Sequence[str]) -> str:
    facts = [
        f"{row.type_id} {row.precision.value:.1%} right (at least {row.precision.low:.1%}) on "
        f"{row.accepted} accepted items"
        for row in figures.types
        if row.type_id in types and row.precision.low is not None
    ]
    return f"Blind sample {found.sample.id}: {'; '.join(facts)}."


def accept_trusted(engine: Engine, found: Trust, *, reviewer_id: int) -> Applied:
    """Accept every pending variant that the rule matches. One undo takes this back.

    Raises:
        HedgerowError: as in ``curation.review.rules.apply_rule``.
    """
    return apply_rule(
        engine,
        found.rule,
        verdict=Verdict.ACCEPT,
        reviewer_id=reviewer_id,
        note=found.why,
        types=found.types,
    )


def count_trusted(session: Session, found: Trust) -> dict[str, int]:
    """The number of pending variants that the rule matches now, by type."""
    return find_matches(session, found.rule, types=found.types).by_type
