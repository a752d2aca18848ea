"""Check the derived columns of variants, releases and gold items."""

from collections.abc import Iterator
from typing import Any

from sqlalchemy import ColumnElement, and_, func, or_, select, update
from sqlalchemy.orm import Session
from sqlmodel import col

from curation.release.freezing import content_hash, content_line
from curation.review.decisions import CHUNK, compute_standing, kept_columns, refresh_status
from curation.review.status import Standing
from curation.upkeep.found import Check, Found
from db.models import Anchor, Decision, GoldItem, Release, ReleaseItem, TypeRow, Variant
from db.settings import Settings


def _wrong_standing(session: Session) -> Iterator[tuple[int, str]]:
    """Variants whose stored status does not follow from their decisions: id and description."""
    last = 0
    while True:
        rows = session.execute(
            select(col(Variant.id), col(Variant.uid), *kept_columns())
            .where(col(Variant.id) > last)
            .order_by(col(Variant.id))
            .limit(CHUNK)
        ).all()
        if not rows:
            return
        standings = compute_standing(session, [row[0] for row in rows])
        for number, uid, *kept in rows:
            if (standing := standings[number]) != Standing(*kept):
                yield number, f"{uid} ({kept[0]}, but {standing.status} by its decisions)"
        last = rows[-1][0]


def _status(session: Session, settings: Settings) -> Found:
    wrong = dict(_wrong_standing(session))
    return Found(len(wrong), next(iter(wrong.values()), ""), tuple(wrong))


def _recompute(session: Session, found: Found) -> None:
    refresh_status(session, found.ids)


_SOURCE_OF_ANCHOR: Any = (
    select(col(Anchor.source_id)).where(col(Anchor.id) == Variant.anchor_id).scalar_subquery()
)
_OUT_OF_USE: ColumnElement[bool] = or_(
    select(1)
    .where(col(Anchor.id) == Variant.anchor_id, col(Anchor.retired_at).is_not(None))
    .exists(),
    select(1)
    .where(col(TypeRow.id) == Variant.type_id, col(TypeRow.retired_at).is_not(None))
    .exists(),
)


def _differing(column: Any, derived: Any) -> tuple[Any, Any]:
    """The check of one derived column, and its repair."""

    def find(session: Session, settings: Settings) -> Found:
        query = select(func.count(), func.min(col(Variant.uid))).where(column != derived)
        count, example = session.execute(query).one()
        return Found(count, example or "")

    def repair(session: Session, found: Found) -> None:
        session.connection().execute(
            update(Variant).where(column != derived).values({column: derived})
        )

    return find, repair


def _releases(session: Session, settings: Settings) -> Found:
    """Releases whose items no longer match the stored hash."""
    wrong = [
        release.number
        for release in session.execute(select(Release).order_by(col(Release.number))).scalars()
        if _hash_of(session, release) != release.content_hash
    ]
    return Found(len(wrong), f"release {wrong[0]}" if wrong else "")


def _gold(session: Session, settings: Settings) -> Found:
    """Gold items without a settlement of their variant."""
    is_its = and_(col(Decision.variant_id) == GoldItem.variant_id, col(Decision.adjudicates))
    query = (
        select(func.count(), func.min(col(Variant.uid)))
        .select_from(GoldItem)
        .join(Decision, col(Decision.id) == GoldItem.decision_id)
        .join(Variant, col(Variant.id) == GoldItem.variant_id)
        .where(~is_its, col(GoldItem.removed_at).is_(None))
    )
    count, example = session.execute(query).one()
    return Found(count, example or "")


def _hash_of(session: Session, release: Release) -> str:
    names = ("anchor", "text", "type_id", "cue", "split")
    query = select(*(col(getattr(ReleaseItem, name)) for name in names)).where(
        col(ReleaseItem.release_id) == release.id
    )
    rows = session.execute(query, execution_options={"yield_per": 5_000})
    return content_hash(content_line(dict(zip(names, row, strict=True))) for row in rows)


_find_sources, _repair_sources = _differing(col(Variant.source_id), _SOURCE_OF_ANCHOR)
_find_retired, _repair_retired = _differing(col(Variant.retired), _OUT_OF_USE)

CHECKS = (
    Check(id="status", title="Status of variants", find=_status, repair=_recompute),
    Check(id="sources", title="Sources of variants", find=_find_sources, repair=_repair_sources),
    Check(id="retired", title="Retired variants", find=_find_retired, repair=_repair_retired),
    Check(
        id="releases",
        title="Hashes of releases",
        find=_releases,
        advice="The release was changed after it was frozen. Restore an earlier backup.",
    ),
    Check(
        id="gold",
        title="Gold items",
        find=_gold,
        advice="Remove it ('hedgerow review gold remove UID'), and add it again.",
    ),
)
