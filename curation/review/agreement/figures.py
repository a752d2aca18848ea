"""The figures of agreement, over all variants and by group. An edit counts as a rejection."""

from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Mapping
from enum import StrEnum
from itertools import combinations
from typing import Any, NamedTuple, TypeAlias

from curation.decisions.coefficients import FEWEST, Counts, Estimate, with_alpha, with_kappa
from curation.formatting import decimal, percent
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


# -- The interpretation of figures of agreement, in sentences -------------------------------------


RELIABLE, TENTATIVE = 0.8, 0.667
"""Krippendorff's thresholds for alpha (Content Analysis, 2004, section 11.4.2)."""

LANDIS_KOCH = {
    0.8: "almost perfect",
    0.6: "substantial",
    0.4: "moderate",
    0.2: "fair",
    0.0: "slight",
}
"""Names for kappa above these values (Landis and Koch, 1977)."""

EXTREME = 0.9
"""If this share of verdicts is the same, alpha and kappa are unstable."""


def sentences(found: Figures) -> list[str]:
    """The interpretation, with the share of acceptances; empty without figures."""
    if found.accepted is None:
        return []
    lines = []
    if found.variants < FEWEST:
        lines.append(f"There are too few variants for an interval, which needs at least {FEWEST}.")
    if found.alpha.value is None:
        lines.append("All verdicts are the same, so alpha and kappa are not defined.")
    else:
        lines.append(_alpha(found.alpha.value, found.alpha))
    if found.kappa.value is not None:
        scale = next(
            (name for above, name in LANDIS_KOCH.items() if found.kappa.value > above), "poor"
        )
        lines.append(f"Landis and Koch call a kappa of {number(found.kappa.value)} {scale}.")
    lines.append(_base_rate(found.accepted, found.by_chance))
    return lines


def _alpha(value: float, estimate: Estimate) -> str:
    if value >= RELIABLE:
        meaning = f"is at least {RELIABLE:.3f}, which Krippendorff calls reliable"
    elif value >= TENTATIVE:
        meaning = (
            f"is between {TENTATIVE:.3f} and {RELIABLE:.3f}, which is enough for tentative "
            "conclusions only (Krippendorff)"
        )
    else:
        meaning = (
            f"is below {TENTATIVE:.3f}, the minimum that Krippendorff requires even for tentative "
            "conclusions"
        )
    crossed = [
        limit
        for limit in (TENTATIVE, RELIABLE)
        if estimate.low is not None
        and estimate.high is not None
        and estimate.low < limit <= estimate.high
    ]
    unsure = ""
    if crossed:
        unsure = (
            f" The interval includes {' and '.join(f'{limit:.3f}' for limit in crossed)}. More "
            "variants with verdicts from several people would narrow it."
        )
    return f"An alpha of {number(value)} {meaning}.{unsure}"


def _base_rate(accepted: float, by_chance: float | None) -> str:
    share = f"{percent(accepted)} of the verdicts are acceptances"
    if EXTREME > accepted > 1 - EXTREME or by_chance is None:
        return f"{share}."
    return (
        f"{share}, so chance alone gives {percent(by_chance)} agreement, and a few disagreements "
        "change alpha and kappa a lot. Read them together with the raw agreement."
    )


def as_text(estimate: Estimate, *, as_percent: bool = False) -> str:
    """The figure with its interval, such as '0.54 (0.51 to 0.57)'; '–' if it is undefined."""
    if estimate.value is None:
        return "–"
    value = number(estimate.value, as_percent=as_percent)
    limits = interval_text(estimate, as_percent=as_percent)
    return f"{value} ({limits})" if limits else value


def interval_text(estimate: Estimate, *, as_percent: bool = False) -> str:
    """The 95% interval, such as '0.51 to 0.57'; '' if there is none."""
    if estimate.low is None or estimate.high is None:
        return ""
    low, high = (number(limit, as_percent=as_percent) for limit in (estimate.low, estimate.high))
    return f"{low} to {high}"


def number(value: float, *, as_percent: bool = False) -> str:
    """A figure with two decimal places, or as a percentage."""
    return percent(value) if as_percent else decimal(value, 2)
