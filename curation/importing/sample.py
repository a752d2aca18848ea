"""Lengths of anchors compared with the paper's, and samples that keep the proportions.

The paper (3.1.1): about half of its anchors have fewer than 15 words, about a tenth more than 30.
"""

from collections import defaultdict
from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from typing import NamedTuple, TypeVar

from curation.splits import bucket
from db.errors import HedgerowError

SHORT, LONG = 15, 30
"""Words: fewer than the first number is short, more than the second is long."""

PAPER_SHORT, PAPER_LONG = 0.5, 0.1
"""Shares of short and long anchors in the paper."""

_BAND_ENDS = (7, 14, 22, 30)
"""Upper ends in words of the length bands of a sample; the last band is open."""

SAMPLE_SALT = "hedgerow/sample/1:"

Key = TypeVar("Key", bound=Hashable)
Item = TypeVar("Item")


class Lengths(NamedTuple):
    """Counts of all, short, medium and long texts."""

    n: int
    short: int
    middle: int
    long: int
    median: int

    def share(self, count: int) -> float:
        """The share of this count, in [0, 1]; 0 if there are no texts."""
        return count / self.n if self.n else 0.0


def words_in(text: str) -> int:
    """Number of words in a canonical text, separated by white space."""
    return text.count(" ") + 1


def lengths(texts: Iterable[str]) -> Lengths:
    """The lengths of canonical texts in words."""
    counts = sorted(words_in(text) for text in texts)
    short = sum(count < SHORT for count in counts)
    long = sum(count > LONG for count in counts)
    median = counts[len(counts) // 2] if counts else 0
    return Lengths(len(counts), short, len(counts) - short - long, long, median)


def length_band(text: str) -> int:
    """The band of a canonical text's length in words: 0 to 4."""
    count = words_in(text)
    return sum(count > end for end in _BAND_ENDS)


def allocate(sizes: Mapping[Key, int], total: int) -> dict[Key, int]:
    """Allocate `total` to strata in proportion to their sizes, by largest remainder.

    The shares add up to `total`, none exceeds its stratum, and each differs by less than one from
    its exact proportion. Equal remainders go to the stratum listed first.

    Raises:
        HedgerowError: `total` is negative or larger than all strata together.
    """
    everything = sum(sizes.values())
    if not 0 <= total <= everything:
        raise HedgerowError(
            f"Expected a sample of at most {everything:,} anchors, as many as can be added, found "
            f"{total:,}; ask for fewer, or leave the sample out."
        )
    if not total:
        return dict.fromkeys(sizes, 0)
    shares = {key: size * total // everything for key, size in sizes.items()}
    remainders = {key: size * total % everything for key, size in sizes.items()}
    missing = total - sum(shares.values())
    for key in sorted(sizes, key=lambda key: -remainders[key])[:missing]:
        shares[key] += 1
    return shares


def stratified_sample(
    items: Sequence[Item],
    size: int,
    *,
    stratum: Callable[[Item], Hashable],
    uid: Callable[[Item], str],
    seed: int = 0,
) -> list[Item]:
    """A sample of exactly `size` items that has the proportions of the strata, in their order.

    The items chosen from a stratum depend only on the seed and the uids, not on their order in the
    file.

    Raises:
        HedgerowError: there are fewer items.
    """
    strata: dict[Hashable, list[Item]] = defaultdict(list)
    for item in items:
        strata[stratum(item)].append(item)
    ordered = {key: strata[key] for key in sorted(strata, key=repr)}
    shares = allocate({key: len(members) for key, members in ordered.items()}, size)
    salt = f"{SAMPLE_SALT}{seed}:"
    taken: set[str] = set()
    for key, members in ordered.items():
        sampled = sorted(members, key=lambda item: bucket(uid(item), salt=salt))
        taken.update(uid(item) for item in sampled[: shares[key]])
    return [item for item in items if uid(item) in taken]
