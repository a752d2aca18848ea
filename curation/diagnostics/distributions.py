"""Distributions of the measures over the variants, counted in the database by type and status.

One query counts a measure for all types and statuses, for one source or all: a few thousand rows
even for hundreds of thousands of variants. Pages sum these rows for a scope and a threshold.
Retired variants and replaced revisions are never counted.
"""

from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from sqlalchemy import ColumnElement, Integer, Select, String, and_, case, cast, func, select
from sqlalchemy.orm import Mapped, Session
from sqlmodel import col

from curation.decisions.reviewers import person_id_now
from curation.diagnostics.measures import Flag
from curation.project.settings import ACTIVE_ENCODER, THRESHOLD, active_encoder_id, get_setting
from curation.taxonomy.project_types import select_types_version
from db.columns import Columns, limited_to, whole
from db.models import (
    Anchor,
    AnchorRevision,
    CueCorrection,
    Decision,
    Diagnostic,
    Reviewer,
    Run,
    Status,
    Variant,
    VariantCosine,
)

COSINE_BINS = 100
"""Number of equal bins for cosines in [-1, 1]; each is 0.02 wide."""

STATUSES = (Status.PENDING, Status.ACCEPTED, Status.REJECTED, Status.CONFLICT)
"""The statuses of variants in use. A superseded variant is not in use."""


_Values = Select[str, Status, str | None]
"""Type, status, and the values of its variants, joined by commas; None if no variant has one."""


class Count(NamedTuple):
    """How many variants of a type and status have this value."""

    type_id: str
    status: Status
    value: int
    number: int


class PairCount(NamedTuple):
    """How many variants of a type and status have this distance and cosine bin."""

    type_id: str
    status: Status
    levenshtein: int
    cosine_bin: int
    number: int


@dataclass(frozen=True)
class Scope:
    """Which variants to include.

    Attributes:
        types: ids of the types; empty means all types.
        status: only variants with this status; None means all in use.
        source_id: only variants of this source's anchors; None means all sources.
    """

    types: tuple[str, ...] = ()
    status: Status | None = None
    source_id: int | None = None

    def holds(self, type_id: str, status: Status) -> bool:
        """Whether variants of its source with this type and status are in the scope."""
        return (not self.types or type_id in self.types) and self.status in (None, status)

    def condition(self) -> ColumnElement[bool]:
        """The same condition in SQL, over ``Variant``."""
        wanted: list[ColumnElement[bool]] = (
            # These match most variants, and keep SQLite from looking up each one in an index.
            [col(Variant.retired).is_not(True), col(Variant.status) != Status.SUPERSEDED]
            if self.status is None
            else [col(Variant.retired).is_(False), col(Variant.status) == self.status]
        )
        return and_(
            *wanted,
            limited_to(col(Variant.type_id), self.types or None),
            limited_to(col(Variant.source_id), self.source_id),
        )


EVERYTHING = Scope()


def data_version(session: Session) -> tuple[Any, ...]:
    """Return a value that changes whenever a count may have changed.

    It comes from the ends of indexes and from small tables, in about a millisecond for 100,000
    variants.
    """
    newest = [func.max(col(table.id)) for table in (Decision, Variant, CueCorrection, Run)]
    latest = session.execute(select(*(select(value).scalar_subquery() for value in newest))).one()
    runs = select(func.sum(col(Run.step)), func.max(col(Run.finished_at)))
    retired = select(func.count(), func.max(col(Anchor.retired_at))).where(
        col(Anchor.retired_at).is_not(None)
    )
    revisions = select(func.count()).select_from(AnchorRevision)
    reviewers = select(func.sum(cast(col(Reviewer.counts), Integer)), func.sum(person_id_now()))
    queries = (runs, retired, revisions, reviewers, select_types_version())
    parts = [session.execute(query).one() for query in queries]
    settings = [get_setting(session, key) for key in (THRESHOLD, ACTIVE_ENCODER)]
    return (tuple(latest), *(tuple(part) for part in parts), *settings)


class DataState(NamedTuple):
    """The state of the data behind the counts.

    Attributes:
        version: changes whenever a count may have changed.
        newest_variant: the highest variant id; 0 if there are no variants.
    """

    version: tuple[Any, ...]
    newest_variant: int


def data_state(session: Session) -> DataState:
    """Return the current state of the data."""
    newest = session.execute(select(func.max(col(Variant.id)))).scalar()
    return DataState(data_version(session), newest or 0)


def levenshtein_counts(session: Session, source_id: int | None = None) -> list[Count]:
    """Count variants by Levenshtein distance, in characters."""
    query = with_diagnostic(_values(col(Diagnostic.levenshtein), source_id))
    return list(_counts(session, query))


def flag_counts(session: Session, source_id: int | None = None) -> list[Count]:
    """Count variants by combination of flags (``Flag`` as a number)."""
    return list(_counts(session, with_diagnostic(_values(col(Diagnostic.flags), source_id))))


def cosine_counts(session: Session, source_id: int | None = None) -> list[Count]:
    """Count variants by cosine bin (one of ``COSINE_BINS``) under the active encoder.

    Bin b holds cosines from b / 50 - 1 up to, but not including, (b + 1) / 50 - 1. The last bin
    includes 1.
    """
    return list(_counts_with_cosine(session, _with_active_cosine(session, source_id), cosine_bin()))


def pair_counts(session: Session, source_id: int | None = None) -> list[PairCount]:
    """Count variants by Levenshtein distance and cosine bin.

    Only variants with both measures count. Bins are as in ``cosine_counts``, under the active
    encoder.
    """
    both = col(Diagnostic.levenshtein) * COSINE_BINS + cosine_bin()
    query = _with_active_cosine(session, source_id)
    query = query.join(Diagnostic, col(Diagnostic.variant_id) == col(Variant.id))
    return [
        PairCount(type_id, status, *divmod(value, COSINE_BINS), number)
        for type_id, status, value, number in _counts_with_cosine(session, query, both)
    ]


def cosine_bin() -> ColumnElement[int]:
    """SQL: a variant's cosine bin, over ``VariantCosine``."""
    place = whole((col(VariantCosine.cosine) + 1.0) * (COSINE_BINS / 2))
    # A cosine of 1 belongs in the last bin, and rounding can put one slightly outside [-1, 1].
    return case((place >= COSINE_BINS, COSINE_BINS - 1), (place < 0, 0), else_=place)


def cosine_bounds(first: int, last: int) -> tuple[float, float]:
    """Return the lower and upper bound of the cosines in these bins, first to last."""
    return round(first * 2 / COSINE_BINS - 1, 4), round((last + 1) * 2 / COSINE_BINS - 1, 4)


def with_diagnostic(query: Select[*Columns]) -> Select[*Columns]:
    """Join ``query`` over variants with their measures; NULL if they are not measured."""
    return query.outerjoin(Diagnostic, col(Diagnostic.variant_id) == col(Variant.id))


def with_cosine(session: Session, query: Select[*Columns]) -> Select[*Columns]:
    """Join ``query`` over variants with their cosine under the active encoder; NULL if they have
    none.
    """
    of_variant = col(VariantCosine.variant_id) == col(Variant.id)
    active = col(VariantCosine.encoder_id) == active_encoder_id(session)
    return query.outerjoin(VariantCosine, of_variant & active)


def _values(measure: ColumnElement[int] | Mapped[int], source_id: int | None) -> _Values:
    """Return the values of all variants in one text, by type and status.

    Grouping by value as well would make SQLite sort all variants. These groups come in the order of
    ``ix_variant_status``, which takes half the time.
    """
    text = func.aggregate_strings(cast(measure, String), ",")
    return (
        select(col(Variant.type_id), col(Variant.status), text)
        .select_from(Variant)
        .where(Scope(source_id=source_id).condition())
        .group_by(col(Variant.status), col(Variant.retired), col(Variant.type_id))
    )


def _counts(session: Session, values: _Values) -> Iterator[Count]:
    for type_id, status, text in session.execute(values):
        for value, number in Counter(text.split(",") if text else ()).items():
            yield Count(type_id, status, int(value), number)


def _with_active_cosine(session: Session, source_id: int | None) -> Select[*tuple[()]]:
    """SQL: the variants with a cosine under the active encoder, without columns.

    Cosines are read in the order of variants, which is the fastest one for finding the variants.
    """
    active = col(VariantCosine.encoder_id) == active_encoder_id(session)
    return (
        select()
        .select_from(VariantCosine)
        .join(Variant, col(Variant.id) == col(VariantCosine.variant_id))
        .where(active, Scope(source_id=source_id).condition())
    )


def _counts_with_cosine(
    session: Session, variants: Select[*tuple[()]], measure: ColumnElement[int]
) -> Iterator[Count]:
    """Count the variants by type, status and value, all in one text.

    In the order of variants, SQLite would have to sort them for any groups.
    """
    row = col(Variant.type_id) + " " + cast(Variant.status, String) + " " + cast(measure, String)
    text = session.execute(variants.add_columns(func.aggregate_strings(row, ","))).scalar()
    for value, number in Counter(text.split(",") if text else ()).items():
        type_id, status, measured = value.split(" ")
        yield Count(type_id, Status(status), int(measured), number)


def by_type(rows: Iterable[Count], scope: Scope) -> dict[str, dict[int, int]]:
    """Count the variants in the scope by type and value."""
    found: dict[str, Counter[int]] = {}
    for type_id, status, value, number in rows:
        if scope.holds(type_id, status):
            found.setdefault(type_id, Counter())[value] += number
    return dict(found)


def totals(rows: Iterable[Count], scope: Scope) -> dict[str, int]:
    """Count the variants in the scope that have the measure, by type."""
    return {type_id: sum(values.values()) for type_id, values in by_type(rows, scope).items()}


def over(rows: Iterable[Count], scope: Scope, threshold: int) -> dict[str, int]:
    """Count the variants in the scope above the Levenshtein threshold, by type."""
    return totals((row for row in rows if row.value > threshold), scope)


class FlagRow(NamedTuple):
    """How many of a type's measured variants have a flag, and how many were measured."""

    type_id: str
    flag: Flag
    number: int
    of: int

    @property
    def share(self) -> float:
        """The share of variants with the flag, between 0 and 1."""
        return self.number / self.of if self.of else 0.0


def flags_by_type(
    rows: Collection[Count], scope: Scope, *, type_ids: Sequence[str]
) -> list[FlagRow]:
    """Return a row for every flag of every type that has measured variants in the scope."""
    found = by_type(rows, scope)
    return [
        FlagRow(
            type_id,
            flag,
            sum(number for value, number in found[type_id].items() if value & flag),
            sum(found[type_id].values()),
        )
        for type_id in type_ids
        if type_id in found
        for flag in Flag
    ]
