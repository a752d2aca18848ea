"""Diversity of the requested hedge cues and of the negators in the texts.

The paper found that the diversity of the data matters more than its quantity. Diversity is measured
by Shannon's entropy in bits, H = -Σ p log2 p over the shares p of the distinct values, and by
Pielou's evenness, H / log2 k for k distinct values: 1 if all are used equally often, near 0 if one
is used almost always.
"""

import math
from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import NamedTuple

from sqlalchemy import BigInteger, ColumnElement, cast, func, select
from sqlalchemy.orm import Session
from sqlmodel import col

from curation.anchors.revisions import of_current_revision
from curation.diagnostics.distributions import Scope
from curation.diagnostics.pair_analysis import PairAnalysis
from curation.language.negation import as_listed
from curation.taxonomy.cues import SPELLING
from db.columns import not_null
from db.models import Anchor, AnchorRevision, Status, Variant

_MULTIPLIER, _MODULUS = 2_654_435_761, 2**32
"""Knuth's multiplicative hash: spreads consecutive ids evenly over [0, 2^32)."""


class CueCount(NamedTuple):
    """How many variants of a type and status have this requested cue."""

    type_id: str
    status: Status
    cue: str
    number: int


@dataclass(frozen=True)
class Diversity:
    """How evenly a set of distinct values is used.

    Attributes:
        total: number of uses of all values.
        distinct: number of different values.
        entropy: in bits; 0 for at most one distinct value, at most log2(distinct).
        evenness: entropy / log2(distinct), in [0, 1]; None for fewer than two values.
    """

    total: int
    distinct: int
    entropy: float
    evenness: float | None


def diversity(counts: Mapping[str, int]) -> Diversity:
    """Return entropy and evenness of values with these counts; zero counts are ignored."""
    used = [number for number in counts.values() if number > 0]
    total = sum(used)
    # Written so that rounding can't make the sum negative.
    entropy = sum(number / total * math.log2(total / number) for number in used)
    evenness = min(1.0, entropy / math.log2(len(used))) if len(used) > 1 else None
    return Diversity(total, len(used), entropy, evenness)


def cue_counts(session: Session, source_id: int | None = None) -> list[CueCount]:
    """Count variants per cue, for all types with cues, of one source or of all."""
    group = (col(Variant.type_id), col(Variant.status), not_null(col(Variant.cue)))
    query = (
        select(*group, func.count())
        .where(
            Scope(source_id=source_id).condition(),
            col(Variant.cue).is_not(None),
            col(Variant.cue) != "",
        )
        .group_by(*group)
    )
    return [CueCount(*row) for row in session.execute(query)]


def cues_of(rows: Iterable[CueCount], scope: Scope, type_id: str) -> Counter[str]:
    """Count the variants of one type in the scope by cue."""
    found: Counter[str] = Counter()
    for row in rows:
        if row.type_id == type_id and scope.holds(row.type_id, row.status):
            found[row.cue] += row.number
    return found


class ListUse(NamedTuple):
    """How much of a list of cues is used: the paper's (appendix A), or a user-defined type's own.

    Attributes:
        used, unused: cues in the list, as printed and in its order.
        others: cues in use that are not in the list.
    """

    used: tuple[str, ...]
    unused: tuple[str, ...]
    others: tuple[str, ...]


def list_use(cues: Collection[str], listed: Sequence[str] | None) -> ListUse | None:
    """Compare ``cues`` with the type's list; None if there is no list.

    If the paper prints a cue with an obvious mistake, its correct spelling counts as the same cue,
    unless that is also in the list. Case makes no difference.
    """
    if listed is None:
        return None
    present = {cue.casefold() for cue in cues}
    printed = {cue.casefold() for cue in listed}
    spellings = {
        cue: {cue.casefold(), *({SPELLING.get(cue, cue).casefold()} - printed)} for cue in listed
    }
    known = set().union(*spellings.values())
    return ListUse(
        used=tuple(cue for cue in listed if spellings[cue] & present),
        unused=tuple(cue for cue in listed if not spellings[cue] & present),
        others=tuple(sorted(cue for cue in cues if cue.casefold() not in known)),
    )


def evenly(share: float) -> ColumnElement[bool]:
    """SQL: an evenly spread sample of about this share of the variants, always the same one.

    The id alone decides, so an index that contains the id is enough. A larger sample contains every
    smaller one.
    """
    place = cast(col(Variant.id), BigInteger) * _MULTIPLIER % _MODULUS
    return place < math.ceil(min(share, 1.0) * _MODULUS)


class NegatorSample(NamedTuple):
    """The negators in a sample of variants.

    Attributes:
        by_type: type → negator → number of variants that have it. A variant with two negators
            counts for each; '' counts variants with none.
        sampled: type → number of variants in the sample.
        of: number of variants that were sampled from.
    """

    by_type: dict[str, Counter[str]]
    sampled: Counter[str]
    of: int


def negators(
    session: Session, scope: Scope, *, type_ids: Sequence[str], sample: int
) -> NegatorSample:
    """Count the negators that texts of these types add to their anchors.

    This reads the texts, so it uses a sample of about ``sample`` variants.
    """
    conditions = [scope.condition(), col(Variant.type_id).in_(type_ids)]
    total = session.execute(select(func.count(col(Variant.id))).where(*conditions)).scalar_one()
    query = (
        select(col(Variant.type_id), col(AnchorRevision.text), col(Variant.text))
        .join(Anchor, col(Anchor.id) == col(Variant.anchor_id))
        .join(AnchorRevision, of_current_revision())
        .where(*conditions)
    )
    if total > sample:
        query = query.where(evenly(sample / total))
    by_type: dict[str, Counter[str]] = {}
    sampled: Counter[str] = Counter()
    for type_id, anchor, text in session.execute(query):
        by_type.setdefault(type_id, Counter()).update(new_negators(anchor, text) or [""])
        sampled[type_id] += 1
    return NegatorSample(by_type, sampled, total)


@lru_cache(maxsize=20_000)
def new_negators(anchor: str, text: str) -> frozenset[str]:
    """Return the negators and negative affixes that ``text`` adds to ``anchor``.

    Words are in lower case, with 'n't' as 'not'; a prefix is written 'un-', a suffix '-less'.
    """
    comparison = PairAnalysis(anchor=anchor, text=text)
    words = comparison.text.words
    found = {
        " ".join(words[negator.first : negator.last + 1])
        for negator in comparison.new_negators(main_clause=False)
    }
    found.update(
        as_listed(words[position], first, end)
        for position, first, end in comparison.new_affixes(main_clause=True)
    )
    return frozenset(found)
