"""Variants looked up by their measures: a rectangle of a chart, a flag, one over a threshold."""

from dataclasses import dataclass
from enum import StrEnum
from typing import Any, NamedTuple

from sqlalchemy import ColumnElement, Select, func, select
from sqlmodel import Session, col

from curation.cue_use import evenly
from curation.distributions import EVERYTHING, Scope
from curation.measures import Flag
from curation.project import active_encoder_id
from curation.wording import current_wording
from db.models import Anchor, AnchorRevision, Diagnostic, Status, Variant, VariantCosine


class First(StrEnum):
    """Which of the found variants come first (see ``curation.measures``)."""

    HARDEST = "hardness"
    SUSPICIOUS = "suspicion"


@dataclass(frozen=True)
class Wanted:
    """What to look for; every condition that is set must hold.

    Attributes:
        levenshtein: least and greatest distance in characters, both included.
        cosine: least and greatest cosine under the active encoder, both included.
        flag: one that has to be set.
    """

    scope: Scope = EVERYTHING
    levenshtein: tuple[int, int] | None = None
    cosine: tuple[float, float] | None = None
    flag: Flag | None = None
    first: First = First.HARDEST


class Found(NamedTuple):
    """How many variants there are in all, and the ids of the first of them."""

    total: int
    ids: tuple[int, ...]


class Row(NamedTuple):
    """A variant as a table shows it; measures are None where they are not stored."""

    id: int
    uid: str
    anchor: str
    text: str
    type_id: str
    cue: str | None
    status: Status
    levenshtein: int | None
    cosine: float | None
    flags: Flag


class Point(NamedTuple):
    """A variant of the sample, by its two measures."""

    type_id: str
    status: Status
    levenshtein: int
    cosine: float


class Sample(NamedTuple):
    """Variants to draw, and how many they stand for."""

    points: list[Point]
    of: int


def find(session: Session, wanted: Wanted, *, limit: int) -> Found:
    """Count the variants wanted, and name the first ``limit`` of them."""
    conditions = _conditions(wanted)
    total = session.execute(_measured(session, select(func.count())).where(*conditions))
    key = col(getattr(Variant, wanted.first.value))
    query = _measured(session, select(col(Variant.id))).where(*conditions)
    ids = session.execute(query.order_by(key.desc(), col(Variant.id)).limit(limit)).scalars()
    return Found(total.scalar_one(), tuple(ids))


def rows(session: Session, ids: tuple[int, ...]) -> list[Row]:
    """The variants with these ids, in this order, at most some hundreds; unknown ids are left
    out."""
    query = (
        _measured(
            session,
            select(
                col(Variant.id), col(Variant.uid), col(AnchorRevision.text), col(Variant.text),
                col(Variant.type_id), col(Variant.cue), col(Variant.status),
                col(Diagnostic.levenshtein), col(VariantCosine.cosine), col(Diagnostic.flags),
            ),
        )
        .join(Anchor, col(Anchor.id) == col(Variant.anchor_id))
        .join(AnchorRevision, current_wording())
        .where(col(Variant.id).in_(ids))
    )  # fmt: skip
    found = {row[0]: Row._make((*row[:-1], Flag(row[-1] or 0))) for row in session.execute(query)}
    return [found[key] for key in ids if key in found]


def sample(session: Session, scope: Scope, *, size: int) -> Sample:
    """About ``size`` variants that have both measures, spread evenly and always the same ones.

    All of them where there are no more than that.
    """
    in_scope = select(func.count(col(Variant.id))).where(scope.condition())
    total = session.execute(in_scope).scalar_one()
    columns = (col(Variant.type_id), col(Variant.status), col(Diagnostic.levenshtein))
    query = _measured(session, select(*columns, col(VariantCosine.cosine))).where(
        scope.condition(),
        col(Diagnostic.variant_id).is_not(None),
        col(VariantCosine.variant_id).is_not(None),
    )
    if total > size:
        query = query.where(evenly(size / total))
    points = [Point(*row) for row in session.execute(query.order_by(col(Variant.id)))]
    return Sample(points, total if total > size else len(points))


def _measured(session: Session, query: Any) -> Select[Any]:
    """``query`` over variants, their measures and their cosine under the active encoder."""
    return (
        query.select_from(Variant)
        .outerjoin(Diagnostic, col(Diagnostic.variant_id) == col(Variant.id))
        .outerjoin(
            VariantCosine,
            (col(VariantCosine.variant_id) == col(Variant.id))
            & (col(VariantCosine.encoder_id) == active_encoder_id(session)),
        )
    )


def _conditions(wanted: Wanted) -> list[ColumnElement[bool]]:
    conditions = [wanted.scope.condition()]
    if wanted.levenshtein is not None:
        conditions.append(col(Diagnostic.levenshtein).between(*wanted.levenshtein))
    if wanted.cosine is not None:
        conditions.append(col(VariantCosine.cosine).between(*wanted.cosine))
    if wanted.flag is not None:
        conditions.append(col(Diagnostic.flags).bitwise_and(int(wanted.flag)) != 0)
    return conditions
