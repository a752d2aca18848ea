"""How far a judge agrees with people on a sample, and for which types it can be trusted.

A judge or a person either takes a variant as it stands or does not: an edit counts like a
rejection, but for the table of verdicts, which tells the three apart.
"""

from collections import Counter
from collections.abc import Mapping
from typing import NamedTuple

from sqlalchemy.orm import Session

from curation.review.agreement.estimates import CONFIDENCE, Estimate, Estimates, with_kappa
from curation.review.calibration.blind_verdicts import (
    JudgeSays,
    PeopleSay,
    blind_verdicts,
    opinions_on,
    types_of,
)
from curation.review.calibration.certainty import Reliability, reliability
from curation.review.calibration.sample import Sample, get_sample, variant_ids
from curation.review.opinions.stored import judges
from db.models import Verdict

PRECISION = 0.95
"""Of a judge's 'accept', at least, for a type to be accepted without a person."""

FEWEST = 50
"""Blind items that the judge accepts, at least, for a recommendation."""

ALL = "all"
"""In place of a type: all types together."""

Cells = Mapping[tuple[Verdict, Verdict], int]
"""(judge's verdict, people's) → items."""


class TypeFigures(NamedTuple):
    """A judge against people, on the items of one type that both have judged.

    Attributes:
        items: of these.
        cells: how often which verdict met which.
        base_rate: the share of the items that people accept, in [0, 1]; None without any.
        agreement: the share on which both take the variant as it stands, or neither does.
        kappa: Cohen's, of taking the variant as it stands or not.
        by_chance: the agreement that chance alone would give.
        accepted: items that the judge accepts.
        precision: the share of these that people accept, too, with its exact interval
            (Clopper and Pearson).
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
        """Whether what the judge accepts of this type can be accepted without a person.

        It can where the lower limit of the 95% interval of the precision reaches what is wanted,
        on ``FEWEST`` items or more that the judge accepts.
        """
        low = self.precision.low
        return self.accepted >= FEWEST and low is not None and low >= precision


class JudgeFigures(NamedTuple):
    """A judge on a sample.

    Attributes:
        id, name, counts: of the judge (see ``Judge``).
        judged: items of the sample on which it has given its opinion.
        types: in the taxonomy's order.
        together: all types.
    """

    id: int
    name: str
    counts: bool
    judged: int
    types: tuple[TypeFigures, ...]
    together: TypeFigures
    reliability: Reliability

    def trusted(self, precision: float = PRECISION) -> tuple[str, ...]:
        """The types whose variants can be accepted where this judge accepts them."""
        return tuple(row.type_id for row in self.types if row.is_trusted(precision))


class Calibration(NamedTuple):
    """What a sample tells.

    Attributes:
        drawn: variants by type, in the taxonomy's order; those that are gone left out.
        decided: those on which a person has decided blind, by type.
        disagree: decided ones on which people gave different verdicts; the strictest counts.
        judges: those with an opinion on any of them, the highest kappa first.
    """

    sample: Sample
    sampled: Mapping[str, int]
    decided: Mapping[str, int]
    disagree: int
    judges: tuple[JudgeFigures, ...]

    def judge(self, name: str) -> JudgeFigures | None:
        """The judge of this name."""
        return next((one for one in self.judges if one.name == name), None)


def calibration(session: Session, number: int | None = None) -> Calibration:
    """The figures of all judges on a sample, by default on the newest.

    Raises:
        HedgerowError: there is no such sample.
    """
    sample = get_sample(session, number)
    ids = variant_ids(session, sample)
    types = types_of(session, ids)
    people = blind_verdicts(session, ids)
    found = []
    for one in judges(session):
        said = opinions_on(session, ids, one.id)
        if said:
            found.append(
                JudgeFigures(
                    one.id, one.name, one.counts, len(said), *_against(types, said, people)
                )
            )
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


def _against(
    types: Mapping[int, str], said: Mapping[int, JudgeSays], people: Mapping[int, PeopleSay]
) -> tuple[tuple[TypeFigures, ...], TypeFigures, Reliability]:
    """By type, all together, and how certain the judge was."""
    cells: dict[str, Counter[tuple[Verdict, Verdict]]] = {}
    certain = []
    for key, type_id in types.items():
        if key in said and key in people:
            one, theirs = said[key], people[key].verdict
            cells.setdefault(type_id, Counter())[one.verdict, theirs] += 1
            certain.append((one.certainty, _takes(one.verdict) == _takes(theirs)))
    together = sum(cells.values(), Counter[tuple[Verdict, Verdict]]())
    rows = tuple(type_figures(type_id, counts) for type_id, counts in cells.items())
    return rows, type_figures(ALL, together), reliability(certain)


def _takes(verdict: Verdict) -> bool:
    return verdict is Verdict.ACCEPT


def type_figures(type_id: str, cells: Cells) -> TypeFigures:
    """The figures of these counts."""
    items = sum(cells.values())
    counts: Counter[tuple[int, ...]] = Counter()
    for (judge, people), number in cells.items():
        counts[int(_takes(judge)), int(_takes(people))] += number
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
    """A share with its exact 95% interval, after Clopper and Pearson (1934)."""
    if not of:
        return Estimate()
    from scipy.special import betaincinv  # noqa: PLC0415  (pages without figures don't wait for it)

    tail = (1 - CONFIDENCE) / 2
    low = float(betaincinv(number, of - number + 1, tail)) if number else 0.0
    high = float(betaincinv(number + 1, of - number, 1 - tail)) if number < of else 1.0
    return Estimate(number / of, low, high)
