"""The figures of agreement, over all variants and by group. An edit counts as a rejection."""

from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Mapping
from enum import StrEnum
from itertools import combinations
from typing import Any, NamedTuple, TypeAlias

from curation.review.agreement.estimates import Counts, Estimate, with_alpha, with_kappa
from curation.review.agreement.overlap import Overlap, Pattern, Votes
from db.models import Verdict


class By(StrEnum):
    """How variants are grouped; ``pair``: any two people who decided on the same variant."""

    TYPE = "type"
    PAIR = "pair"
    CUE = "cue"
    SOURCE = "source"


Group: TypeAlias = Any
"""The id of a type or a source, a cue, or the ids of two people."""


class Figures(NamedTuple):
    """The figures for some variants.

    Attributes:
        variants: the number of variants with verdicts of at least two people.
        verdicts: the number of these verdicts.
        accepted: the share of verdicts that are acceptances; None without verdicts.
        agreement: the share of pairs of verdicts on a variant that agree. With more than two
            verdicts on a variant, each verdict counts once.
        alpha: Krippendorff's alpha.
        kappa: Cohen's kappa; undefined for more than two people.
        by_chance: the agreement expected by chance, as in alpha.
    """

    variants: int = 0
    verdicts: int = 0
    accepted: float | None = None
    agreement: Estimate = Estimate()
    alpha: Estimate = Estimate()
    kappa: Estimate = Estimate()
    by_chance: float | None = None

    def facts(self) -> dict[str, Any]:
        """The figures for JSON without ``by_chance``; each interval is two values."""
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
    """The figures for all variants."""
    votes: Counter[Votes] = Counter()
    for pattern in found.patterns:
        votes[pattern.votes] += pattern.variants
    return _figures(votes)


def figures_by(found: Overlap, by: By) -> dict[Group, Figures]:
    """The figures by group, the largest first. Variants without a cue are in no cue group."""
    groups: defaultdict[Group, Counter[Votes]] = defaultdict(Counter)
    for pattern in found.patterns:
        for group, votes in _groups(pattern, by):
            groups[group][votes] += pattern.variants
    made = {group: _figures(votes) for group, votes in groups.items()}
    return dict(sorted(made.items(), key=lambda item: (-item[1].variants, item[0])))


def in_group(found: Overlap, by: By, group: Group) -> Overlap:
    """The variants of a group."""
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
    return _filtered(found, lambda votes: len({vote.accepts for vote in votes}) > 1)


def confusion(found: Overlap) -> Mapping[tuple[Verdict, Verdict], int]:
    """How often each combination of two people's verdicts occurs.

    Args:
        found: variants of a pair. The person with the smaller id comes first.
    """
    cells: Counter[tuple[Verdict, Verdict]] = Counter()
    for pattern in found.patterns:
        one, other = pattern.votes
        cells[one.verdict, other.verdict] += pattern.variants
    return cells


def in_cell(found: Overlap, cell: tuple[Verdict, Verdict]) -> Overlap:
    """The variants in a cell of `confusion`."""
    return _filtered(found, lambda votes: tuple(vote.verdict for vote in votes) == cell)


def _filtered(found: Overlap, wanted: Callable[[Votes], bool]) -> Overlap:
    return Overlap(tuple(pattern for pattern in found.patterns if wanted(pattern.votes)))


def _figures(votes: Mapping[Votes, int]) -> Figures:
    if not votes:
        return Figures()
    verdicts = sum(len(each) * variants for each, variants in votes.items())
    accepting = sum(
        sum(vote.accepts for vote in each) * variants for each, variants in votes.items()
    )
    found = with_alpha(_counted(votes, _accepted_or_not))
    people = {vote.person for each in votes for vote in each}
    two = with_kappa(_counted(votes, _by_person)) if len(people) == 2 else None
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


def _accepted_or_not(votes: Votes) -> tuple[int, ...]:
    accepted = sum(vote.accepts for vote in votes)
    return accepted, len(votes) - accepted


def _by_person(votes: Votes) -> tuple[int, ...]:
    return tuple(int(vote.accepts) for vote in votes)
