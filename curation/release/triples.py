"""Triples: every accepted positive with every accepted negative of an anchor.

The order depends only on content uids, so that equal releases give equal triples in every database.
One anchor is in memory at a time.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import groupby, product
from operator import itemgetter
from typing import Literal, NamedTuple

from sqlalchemy import select
from sqlalchemy.orm import Session
from sqlalchemy.sql.elements import ColumnElement
from sqlmodel import col

from curation.editing.own_types import CONTRADICTION, ENTAILMENT
from curation.release.selection import OF_PAPER
from curation.taxonomy.surface_check import Role, role_of
from db.columns import limited_to
from db.models import Polarity, ReleaseItem, Split

BATCH = 5_000
"""Rows fetched from the database at a time."""


class Triple(NamedTuple):
    """An anchor, a sentence that makes the same claim, and one that contradicts it."""

    anchor: str
    positive: str
    negative: str


class TripleRow(NamedTuple):
    """A triple with the types, cue and uids of its sentences, as in exports."""

    anchor: str
    positive: str
    negative: str
    positive_type: str
    negative_type: str
    positive_cue: str | None
    split: Split
    anchor_uid: str
    positive_uid: str
    negative_uid: str

    @property
    def triple(self) -> Triple:
        """The three texts."""
        return Triple(self.anchor, self.positive, self.negative)


class FamilyVariant(NamedTuple):
    """An accepted variant of a family."""

    polarity: Polarity
    uid: str
    text: str
    type_id: str
    cue: str | None
    provider: str | None


class Family(NamedTuple):
    """An anchor at the time of the release, with its accepted variants, by uid.

    Attributes:
        source: the name of the anchor's source.
    """

    anchor_uid: str
    anchor: str
    split: Split
    source: str
    variants: list[FamilyVariant]

    @property
    def positives(self) -> list[FamilyVariant]:
        """The variants that make the same claim."""
        return [one for one in self.variants if one.polarity == Polarity.POSITIVE]

    @property
    def negatives(self) -> list[FamilyVariant]:
        """The variants that contradict the anchor."""
        return [one for one in self.variants if one.polarity == Polarity.NEGATIVE]


def uid_order(session: Session) -> list[ColumnElement[str]]:
    """SQL: order by anchor uid and variant uid, byte by byte whatever the database's locale."""
    binary = "C" if session.get_bind().dialect.name == "postgresql" else "BINARY"
    return [
        col(ReleaseItem.anchor_uid).collate(binary),
        col(ReleaseItem.variant_uid).collate(binary),
    ]


def families(
    session: Session,
    release_id: int,
    *,
    split: Split | None = None,
    ids: Sequence[int] | None = None,
) -> Iterator[Family]:
    """Yield the families of a release, of one of its splits, or of these items, by anchor uid.

    Families without a positive or without a negative are included.
    """
    columns = (
        col(ReleaseItem.anchor_uid),
        col(ReleaseItem.anchor),
        col(ReleaseItem.split),
        col(ReleaseItem.source),
        col(ReleaseItem.polarity),
        col(ReleaseItem.variant_uid),
        col(ReleaseItem.text),
        col(ReleaseItem.type_id),
        col(ReleaseItem.cue),
        col(ReleaseItem.provenance)["provider"].as_string(),
    )
    query = (
        select(*columns)
        .where(
            col(ReleaseItem.release_id) == release_id,
            limited_to(col(ReleaseItem.split), split),
            limited_to(col(ReleaseItem.id), ids),
        )
        .order_by(*uid_order(session))
        .execution_options(yield_per=BATCH)
    )
    for _, rows in groupby(session.execute(query), key=itemgetter(0)):
        of_anchor = list(rows)
        anchor_uid, anchor, its_split, source, *_ = of_anchor[0]
        members = [FamilyVariant(*member) for _, _, _, _, *member in of_anchor]
        yield Family(anchor_uid, anchor, its_split, source, members)


def triple_rows(
    session: Session, release_id: int, *, split: Split | None = None
) -> Iterator[TripleRow]:
    """Yield the triples of a release or one of its splits by anchor, positive and negative uid.

    A family without a positive or without a negative has none; the release's summary counts those
    families (``without_triples``).
    """
    for family in families(session, release_id, split=split):
        yield from triples_of(family)


def triples_of(family: Family) -> Iterator[TripleRow]:
    """Yield the triples of a family, by positive and negative uid."""
    for good, bad in product(family.positives, family.negatives):
        yield TripleRow(
            anchor=family.anchor,
            positive=good.text,
            negative=bad.text,
            positive_type=good.type_id,
            negative_type=bad.type_id,
            positive_cue=good.cue,
            split=family.split,
            anchor_uid=family.anchor_uid,
            positive_uid=good.uid,
            negative_uid=bad.uid,
        )


# -- The data portions of the paper's Table 2: which variants of an anchor are used ---------------


Portion = Literal["all", "paper", "negation", "hedging"]
"""The choices of data.

'all': every type. 'paper': the paper's four negations and two hedges. 'negation': the paper's
negations, with the original entailment as the positive, or with the anchor's paraphrases if it has
none. 'hedging': the paper's hedges, with the original contradiction as the negative.
"""


def portion_of(
    variants: Iterable[FamilyVariant], portion: Portion, *, roles: Mapping[str, str]
) -> list[FamilyVariant]:
    """Return the variants of an anchor that are used, in order.

    Args:
        roles: the role of each type, by id.
    """
    given = [(one, role_of(one.polarity, roles.get(one.type_id))) for one in variants]
    entailed = any(one.type_id == ENTAILMENT for one, _ in given)
    return [one for one, role in given if _is_in(portion, one.type_id, role, entailed=entailed)]


def _is_in(portion: Portion, type_id: str, role: Role, *, entailed: bool) -> bool:
    """Whether a variant is used, given whether its anchor has an original entailment."""
    of_paper = type_id in OF_PAPER
    if portion == "negation":
        if role == "paraphrase":
            return type_id == ENTAILMENT or not entailed
        return of_paper and role == "negation"
    if portion == "hedging":
        return type_id == CONTRADICTION or (of_paper and role == "hedge")
    return of_paper or portion == "all"
