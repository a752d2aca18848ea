"""Checks of the database: damage, missing rows, and derived columns."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any, NamedTuple

from sqlalchemy import ColumnElement, and_, func, or_, select, text, update
from sqlalchemy.orm import Session
from sqlmodel import col

from curation.decisions.status import Standing
from curation.decisions.storing import CHUNK, compute_standing, kept_columns, refresh_status
from curation.release.freezing import content_hash, content_line, list_releases
from db.models import Anchor, Decision, GoldItem, Release, ReleaseItem, TypeRow, Variant
from db.settings import Settings
from db.trigrams import TABLES, rebuild

# -- The definition of a check: how to find problems, and how to repair them ----------------------


class Found(NamedTuple):
    """The number of problems, and one of them.

    Attributes:
        ids: the ids of the rows, if a repair needs them.
    """

    number: int = 0
    example: str = ""
    ids: tuple[int, ...] = ()


Find = Callable[[Session, Settings], Found]
Repair = Callable[[Session, Found], object]


@dataclass(frozen=True, kw_only=True)
class Check:
    """One check.

    Attributes:
        id: the name for scripts.
        title: what is checked, for people.
        find: finds problems without changing anything.
        repair: repairs all problems; None if only a person can.
        advice: what that person has to do.
        harmless: whether the findings are not problems.
    """

    id: str
    title: str
    find: Find
    repair: Repair | None = None
    advice: str = ""
    harmless: bool = False


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
        for release in reversed(list_releases(session))
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
    Check(
        id="status",
        title="Status of variants",
        find=_status,
        repair=lambda session, found: refresh_status(session, found.ids),
    ),
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


# -- Checks of the database itself: damage, and references to missing rows ------------------------


_MOST = 100
"""Maximum number of problems that SQLite reports."""


def _is_sqlite(session: Session) -> bool:
    return session.get_bind().dialect.name == "sqlite"


def _damage(session: Session, settings: Settings) -> Found:
    if not _is_sqlite(session):
        return Found()
    lines = list(session.execute(text(f"PRAGMA integrity_check({_MOST})")).scalars())
    return Found() if lines == ["ok"] else Found(len(lines), lines[0])


def _references(session: Session, settings: Settings) -> Found:
    if not _is_sqlite(session):
        return Found()
    rows = session.execute(text("PRAGMA foreign_key_check")).all()
    if not rows:
        return Found()
    table, number, parent, _ = rows[0]
    return Found(len(rows), f"row {number} of {table}, which refers to a missing row of {parent}")


def _unsearchable(session: Session, settings: Settings) -> Found:
    """Texts missing from the search index, and entries of the index without a text."""
    if not _is_sqlite(session):
        return Found()
    total, example = 0, ""
    for table, key in TABLES.items():
        indexed = f"SELECT id FROM {table}_search_docsize"
        stored = f"SELECT {key} FROM {table}"
        for one, other in ((stored, indexed), (indexed, stored)):
            query = f"WITH b(a) AS ({one} EXCEPT {other}) SELECT count(*), min(a) FROM b"
            count, first = session.execute(text(query)).one()
            if count:
                total, example = total + count, example or f"row {first} of {table}"
    return Found(total, example)


DAMAGE = (
    Check(
        id="integrity",
        title="Database file",
        find=_damage,
        advice="The file is damaged. Stop Hedgerow, and replace the file with a backup.",
    ),
    Check(
        id="references",
        title="References between rows",
        find=_references,
        advice="Another program has changed the database. Restore an earlier backup.",
    ),
    Check(
        id="search",
        title="Search index",
        find=_unsearchable,
        repair=lambda session, _: rebuild(session),
    ),
)
