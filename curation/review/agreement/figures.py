"""The figures of agreement: over all variants, and by what they have in common.

Each verdict either takes a variant as it stands or does not: an edit counts like a rejection.
"""

from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Mapping
from enum import StrEnum
from itertools import combinations
from typing import Any, NamedTuple, TypeAlias

from curation.review.agreement.estimates import Counts, Estimate, with_alpha, with_kappa
from curation.review.agreement.overlap import Overlap, Pattern, Votes
from db.models import Verdict


class By(StrEnum):
    """What variants are grouped by; ``pair``: any two people who have decided on the same one."""

    TYPE = "type"
    PAIR = "pair"
    CUE = "cue"
    SOURCE = "source"


Group: TypeAlias = Any
"""The id of a type or a source, a cue, or the ids of two people."""


class Figures(NamedTuple):
    """How far people agree on some variants.

    Attributes:
        variants: on which at least two people have decided.
        verdicts: those people's.
        accepted: the share of the verdicts that take the variant as it stands; None without any.
        agreement: the share of the pairs of verdicts on a variant that agree; where there are more
            than two, each verdict counts once.
        alpha: Krippendorff's.
        kappa: Cohen's; undefined where more than two people have decided.
        by_chance: the agreement that alpha takes chance alone to give.
    """

    variants: int = 0
    verdicts: int = 0
    accepted: float | None = None
    agreement: Estimate = Estimate()
    alpha: Estimate = Estimate()
    kappa: Estimate = Estimate()
    by_chance: float | None = None

    def facts(self) -> dict[str, Any]:
        """The same as JSON has it, but for what chance gives; each interval is two values."""
        found: dict[str, Any] = {
            "variants": self.variants,
            "verdicts": self.verdicts,
            "accepted": self.accepted,
        }
        estimates = {"agreement": self.agreement, "alpha": self.alpha, "kappa": self.kappa}
        for name, (value, low, high) in estimates.items():
            found |= {name: value, f"{name}_low": low, f"{name}_high": high}
        return found


def figures(found: Overlap) -> Figures:
    """Over all the variants."""
    votes: Counter[Votes] = Counter()
    for pattern in found.patterns:
        votes[pattern.votes] += pattern.variants
    return _figures(votes)


def figures_by(found: Overlap, by: By) -> dict[Group, Figures]:
    """Of each group, the one with most variants first; a variant without a cue is in none."""
    groups: defaultdict[Group, Counter[Votes]] = defaultdict(Counter)
    for pattern in found.patterns:
        for group, votes in _groups(pattern, by):
            groups[group][votes] += pattern.variants
    made = {group: _figures(votes) for group, votes in groups.items()}
    return dict(sorted(made.items(), key=lambda item: (-item[1].variants, item[0])))


def in_group(found: Overlap, by: By, group: Group) -> Overlap:
    """The variants that a group's figures are of."""
    return Overlap(
        tuple(
            pattern._replace(votes=votes)
            for pattern in found.patterns
            for its_group, votes in _groups(pattern, by)
            if its_group == group
        )
    )


def _groups(pattern: Pattern, by: By) -> Iterable[tuple[Group, Votes]]:
    if by is By.PAIR:
        pairs = combinations(pattern.votes, 2)
        return [((one.person, other.person), (one, other)) for one, other in pairs]
    group = {By.TYPE: pattern.type_id, By.CUE: pattern.cue, By.SOURCE: pattern.source_id}[by]
    return [(group, pattern.votes)] if group not in (None, "") else []


def differing(found: Overlap) -> Overlap:
    """The variants on which people disagree."""
    return _those(found, lambda votes: len({vote.accepts for vote in votes}) > 1)


def confusion(found: Overlap) -> Mapping[tuple[Verdict, Verdict], int]:
    """How often the one of two people gave which verdict and the other which.

    Args:
        found: narrowed to a pair; the one is whose id is smaller.
    """
    cells: Counter[tuple[Verdict, Verdict]] = Counter()
    for pattern in found.patterns:
        one, other = pattern.votes
        cells[one.verdict, other.verdict] += pattern.variants
    return cells


def in_cell(found: Overlap, cell: tuple[Verdict, Verdict]) -> Overlap:
    """The variants of a cell of `confusion`."""
    return _those(found, lambda votes: tuple(vote.verdict for vote in votes) == cell)


def _those(found: Overlap, wanted: Callable[[Votes], bool]) -> Overlap:
    return Overlap(tuple(pattern for pattern in found.patterns if wanted(pattern.votes)))


def _figures(votes: Mapping[Votes, int]) -> Figures:
    if not votes:
        return Figures()
    verdicts = sum(len(each) * variants for each, variants in votes.items())
    accepting = sum(
        sum(vote.accepts for vote in each) * variants for each, variants in votes.items()
    )
    found = with_alpha(_counted(votes, _taken_or_not))
    people = {vote.person for each in votes for vote in each}
    two = with_kappa(_counted(votes, _one_and_other)) if len(people) == 2 else None
    return Figures(
        variants=sum(votes.values()),
        verdicts=verdicts,
        accepted=accepting / verdicts,
        agreement=found.agreement,
        alpha=found.beyond_chance,
        kappa=two.beyond_chance if two else Estimate(),
        by_chance=found.by_chance,
    )


def _counted(votes: Mapping[Votes, int], key: Callable[[Votes], tuple[int, ...]]) -> Counts:
    counts: Counter[tuple[int, ...]] = Counter()
    for each, variants in votes.items():
        counts[key(each)] += variants
    return tuple(sorted(counts.items()))


def _taken_or_not(votes: Votes) -> tuple[int, ...]:
    taken = sum(vote.accepts for vote in votes)
    return taken, len(votes) - taken


def _one_and_other(votes: Votes) -> tuple[int, ...]:
    return tuple(int(vote.accepts) for vote in votes)
