"""Freezes the accepted variants as a release with a number and a content hash.

A release has its own rows. Later changes to a variant do not affect them, and the database refuses
to change or delete them. The hash covers what a reader of the data set sees (anchor, text, type,
cue and split), not ids, names or times, so that equal content has the same hash in every database.
"""

import hashlib
import json
from collections.abc import Callable, Iterable, Iterator, Mapping
from itertools import groupby
from operator import attrgetter
from typing import Any, NamedTuple

from sqlalchemy import (
    ColumnElement,
    Connection,
    Engine,
    Row,
    Select,
    delete,
    func,
    insert,
    inspect,
    select,
    text,
)
from sqlalchemy.orm import Session, aliased
from sqlmodel import col

from curation.anchors.revisions import of_current_revision, source_in_use
from curation.content_uids import at_most, canonical
from curation.decisions.roles import require
from curation.decisions.status import Vote, live
from curation.decisions.storing import RULE, counts_still
from curation.decisions.unfinished import is_gone, this_process
from curation.diagnostics.measuring import measure_variants
from curation.release.contents import LAST_DECISION, count_accepted, last_decision
from curation.release.selection import SELECTION, Selection, default_selection
from curation.release.summary import Tally, release_summary, taxonomy_snapshot
from db.engine import reading, write_in_pieces, writing
from db.errors import HedgerowError
from db.models import (
    Anchor,
    AnchorRevision,
    Decision,
    Diagnostic,
    PromptVersion,
    Release,
    ReleaseItem,
    Reviewer,
    ReviewerKind,
    Source,
    Status,
    TeamRole,
    TypeRow,
    Variant,
    Verdict,
)

MAX_NAME = 200
"""Maximum length of a release name in characters."""

_IDS = ("id", "release_id")


DECIDED_BY_RULE = "rule"
"""Provenance value for variants that a person accepted by a rule, without reading them."""

BATCH = 5_000
"""Rows per batch when reading and writing."""

_encode = json.JSONEncoder(ensure_ascii=False, separators=(",", ":")).encode


class Created(NamedTuple):
    """A release, and whether it is new. If not, it is the newest release with the same content."""

    release: Release
    created: bool


def create_release(
    engine: Engine,
    *,
    name: str = "",
    author_id: int | None = None,
    selection: Selection | None = None,
    check: Callable[[Session, int], object] | None = None,
) -> Created:
    """Freeze the accepted variants of anchors in use as the newest release.

    The items are read from one moment's state and written in pieces, while others keep working.
    Until the last step, the release has a negative number and is not listed; what an interrupted
    call has left is removed by the next.

    If the newest release already has the same rows, including provenance and taxonomy, it is
    returned unchanged and the name is not stored. Equal texts with a different provenance (for
    example, decided by people since then) make a new release with the same hash.

    Args:
        name: at most 200 characters. It does not identify a release; the number and the hash do.
        selection: which accepted variants to include; default: `default_selection`. It is stored in
            the summary; the hash depends only on the contents.
        check: takes the release's number for now, and may raise before it is published; then
            nothing is left of it.

    Raises:
        HedgerowError: there is no such source, no accepted variant is selected, or the name is too
            long or not plain text; or the user is not a lead.
    """
    require(TeamRole.LEAD)
    clean = at_most(MAX_NAME, canonical(name), "a release name")
    with reading(engine) as session:
        selection = selection or default_selection(session)
        for source in selection.sources:
            source_in_use(session, source)
        unmeasured = _unmeasured(session) if selection.max_distance is not None else []
    write_in_pieces(engine, unmeasured, measure_variants)
    _remove_abandoned(engine)
    release_id = _begin(engine, name=clean, author_id=author_id)
    try:
        values = _write(engine, release_id, selection)
        if check is not None:
            with reading(engine) as session:
                check(session, session.get_one(Release, release_id).number)
        return _publish(engine, release_id, values)
    except BaseException:
        _remove(engine, release_id)
        raise


def _unmeasured(session: Session) -> list[int]:
    """Return the ids of accepted variants whose distance from the anchor is not measured yet."""
    query = (
        select(col(Variant.id))
        .outerjoin(Diagnostic, col(Diagnostic.variant_id) == Variant.id)
        .where(
            col(Variant.status) == Status.ACCEPTED,
            col(Variant.retired).is_(False),
            col(Diagnostic.variant_id).is_(None),
        )
    )
    return list(session.execute(query).scalars())


def _lock(connection: Connection) -> None:
    """Prevent others from numbering a release in this transaction (SQLite has one writer)."""
    if connection.dialect.name == "postgresql":
        connection.execute(text('LOCK TABLE "release" IN SHARE ROW EXCLUSIVE MODE'))


def _newest() -> Select[Release]:
    return published().order_by(col(Release.number).desc()).limit(1)


def _begin(engine: Engine, *, name: str, author_id: int | None) -> int:
    """Store a release that is not published yet; return its id."""
    with writing(engine) as session:
        connection = session.connection()
        _lock(connection)
        lowest = connection.execute(select(func.min(Release.number))).scalar() or 0
        values = {
            "number": min(lowest, 0) - 1,
            "name": name,
            "author_id": author_id,
            "content_hash": "",
            "summary": this_process(),
        }
        stored = insert(Release).values(**values).returning(col(Release.id))
        return connection.execute(stored).scalar_one()


def _write(engine: Engine, release_id: int, selection: Selection) -> dict[str, Any]:
    """Store the items; return the hash, the summary and the taxonomy."""
    with reading(engine) as session:
        connection = session.connection()
        seen = last_decision(connection)
        rows = connection.execute(
            _accepted(selection.takes(session)), execution_options={"yield_per": BATCH}
        )
        tally, lines = Tally(), []

        def items() -> Iterator[dict[str, Any]]:
            for item in _items(rows, release_id):
                tally.add(item)
                lines.append(content_line(item))
                yield item

        write_in_pieces(engine, items(), _insert)
        accepted = count_accepted(session, Selection(selection.sources))
        if not tally.variants:
            raise HedgerowError(nothing_to_release(selection, accepted))
        values: dict[str, Any] = {
            "content_hash": content_hash(lines),
            "summary": release_summary(connection, tally, selection.sources)
            | {
                LAST_DECISION: seen,
                SELECTION: selection.as_json(),
                "left_out": accepted - tally.variants,
            },
            "taxonomy": taxonomy_snapshot(connection),
        }
    process = {"summary": values["summary"] | this_process()}
    with writing(engine) as session:
        session.get_one(Release, release_id).sqlmodel_update(values | process)
    return values


def _insert(session: Session, items: list[dict[str, Any]]) -> None:
    session.connection().execute(insert(ReleaseItem), items)


def _publish(engine: Engine, release_id: int, values: dict[str, Any]) -> Created:
    """Give the release its number, unless the newest one has the same rows."""
    while True:
        with reading(engine) as session:
            newest = session.execute(_newest()).scalar()
            if newest is not None and _same(session.connection(), newest, release_id, values):
                break
        with writing(engine) as session:
            _lock(session.connection())
            now_newest = session.execute(_newest()).scalar()
            if newest != now_newest:
                continue  # somebody else has published one meanwhile
            release = session.get_one(Release, release_id)
            release.sqlmodel_update(values | {"number": newest.number + 1 if newest else 1})
            return Created(release, True)
    _remove(engine, release_id)
    return Created(newest, False)


def _same(
    connection: Connection, newest: Release, release_id: int, values: Mapping[str, Any]
) -> bool:
    """Whether two releases have equal rows (except ids) and the same taxonomy."""
    if any(getattr(newest, name) != values[name] for name in ("content_hash", "taxonomy")):
        return False
    columns = [column for column in inspect(ReleaseItem).columns if column.name not in _IDS]
    rows = [
        select(*columns).where(col(ReleaseItem.release_id) == id_)
        for id_ in (newest.id, release_id)
    ]
    # The hashes agree, so both have the same number of rows, and one direction suffices.
    return connection.execute(rows[0].except_(rows[1]).limit(1)).first() is None


def _remove(engine: Engine, release_id: int) -> None:
    """Remove a release that is not published."""
    with reading(engine) as session:
        query = select(col(ReleaseItem.id)).where(col(ReleaseItem.release_id) == release_id)
        ids = session.execute(query).scalars().all()

    def remove(session: Session, some: list[int]) -> None:
        session.execute(delete(ReleaseItem).where(col(ReleaseItem.id).in_(some)))

    write_in_pieces(engine, ids, remove)
    with writing(engine) as session:
        session.execute(delete(Release).where(col(Release.id) == release_id))


def _remove_abandoned(engine: Engine) -> None:
    """Remove releases whose process has ended before it published them."""
    with reading(engine) as session:
        begun = session.execute(select(Release).where(col(Release.number) < 0)).scalars().all()
    for release in begun:
        if is_gone(release.summary):
            _remove(engine, release.id)


def nothing_to_release(selection: Selection, accepted: int) -> str:
    """Why a release would contain nothing, in a sentence or two.

    Args:
        accepted: the number of accepted variants.
    """
    if not accepted:
        return (
            "There is nothing to release: no variant is accepted. Accept some first, for example "
            "on the Review page."
        )
    left_out = "in incomplete families" if selection.complete else "too far from their anchors"
    return (
        f"There is nothing to release: all accepted variants ({accepted:,}) are {left_out}. Leave "
        "out less, or accept more."
    )


def _accepted(takes: ColumnElement[bool]) -> Select[*tuple[Any, ...]]:
    """Yield every accepted variant of a release, one row per decision on its current state."""
    parent, author, decider = aliased(Variant), aliased(Reviewer), aliased(Reviewer)
    return (
        select(
            col(Variant.id),
            col(Variant.uid),
            col(Variant.text),
            col(Variant.type_id),
            col(Variant.cue),
            col(Variant.provider),
            col(Variant.model),
            col(Variant.run_id),
            col(Variant.anchor_revision),
            col(TypeRow.polarity),
            col(Anchor.split),
            col(Anchor.genre),
            col(Anchor.language),
            col(Anchor.document_id),
            col(Anchor.row_id),
            col(Anchor.uid).label("anchor_uid"),
            col(AnchorRevision.text).label("anchor"),
            col(Source.name).label("source"),
            col(Source.licence),
            col(PromptVersion.name).label("prompt"),
            col(PromptVersion.version).label("prompt_number"),
            col(parent.uid).label("parent_uid"),
            col(author.name).label("author"),
            col(author.kind).label("author_kind"),
            col(Decision.id).label("decision_id"),
            col(Decision.note),
            func.coalesce(decider.merged_into_id, decider.id).label("reviewer_id"),
            col(Decision.verdict),
            col(Decision.adjudicates),
            col(Decision.child_id),
            col(Decision.retracts_id),
            col(decider.kind),
            col(decider.counts),
        )
        .select_from(Variant)
        .join(Anchor, col(Anchor.id) == Variant.anchor_id)
        .join(AnchorRevision, of_current_revision())
        .join(Source, col(Source.id) == Anchor.source_id)
        .join(TypeRow, col(TypeRow.id) == Variant.type_id)
        .outerjoin(PromptVersion, col(PromptVersion.id) == Variant.prompt_version_id)
        .outerjoin(parent, col(parent.id) == Variant.parent_id)
        .outerjoin(author, col(author.id) == Variant.author_id)
        .outerjoin(Decision, (col(Decision.variant_id) == Variant.id) & counts_still())
        .outerjoin(decider, col(decider.id) == Decision.reviewer_id)
        .where(
            col(Variant.status) == Status.ACCEPTED,
            col(Variant.retired).is_(False),
            col(Anchor.retired_at).is_(None),
            takes,
        )
        .order_by(col(Variant.id), col(Decision.id))
    )


def _items(rows: Iterable[Row[*tuple[Any, ...]]], release_id: int) -> Iterator[dict[str, Any]]:
    for _, decided in groupby(rows, key=attrgetter("id")):
        of_variant = list(decided)
        row = of_variant[0]
        yield {
            "release_id": release_id,
            "anchor_uid": row.anchor_uid,
            "variant_uid": row.uid,
            "anchor": row.anchor,
            "text": row.text,
            "type_id": row.type_id,
            "polarity": row.polarity,
            "cue": row.cue,
            "split": row.split,
            "genre": row.genre,
            "language": row.language,
            "source": row.source,
            "licence": row.licence,
            "document_id": row.document_id,
            "row_id": row.row_id,
            "provenance": _provenance(row) | _deciders(of_variant),
        }


def _provenance(row: Row[*tuple[Any, ...]]) -> dict[str, Any]:
    """Return the text's provenance. ``author`` edited or wrote it; None if it is as generated."""
    return {
        "provider": row.provider,
        "model": row.model,
        "prompt": None if row.prompt is None else f"{row.prompt} v{row.prompt_number}",
        "run": row.run_id,
        "parent_uid": row.parent_uid,
        "anchor_revision": row.anchor_revision,
        "author": row.author,
        "author_kind": row.author_kind,
    }


def _deciders(rows: list[Row[*tuple[Any, ...]]]) -> dict[str, Any]:
    """Return the number of people and models, whose verdict counted, and if it was adjudicated.

    As in ``curation.decisions.status``, an adjudication outranks people, and people outrank models.
    Variants that people accepted only by a rule count as accepted by the rule, since nobody read
    them.
    """
    standing = live(_vote(row) for row in rows if row.decision_id is not None)
    latest = {vote.reviewer_id: vote for vote in standing if vote.is_person or vote.counts}
    accepting = [vote for vote in latest.values() if vote.verdict == Verdict.ACCEPT]
    by_rule = {row.decision_id for row in rows if row.note and row.note.startswith(RULE)}
    persons = [vote for vote in accepting if vote.is_person]
    readers = sum(vote.id not in by_rule for vote in persons)
    adjudicated = any(vote.adjudicates and vote.is_person for vote in standing)
    if adjudicated or readers:
        kind = ReviewerKind.PERSON.value
    else:
        kind = DECIDED_BY_RULE if persons else ReviewerKind.MODEL.value
    return {
        "decided_by": kind if accepting or adjudicated else None,
        "persons": readers,
        "models": len(accepting) - len(persons),
        "adjudicated": adjudicated,
    }


def _vote(row: Row[*tuple[Any, ...]]) -> Vote:
    return Vote(
        id=row.decision_id,
        reviewer_id=row.reviewer_id,
        verdict=row.verdict,
        is_person=row.kind == ReviewerKind.PERSON,
        counts=row.counts,
        adjudicates=row.adjudicates,
        child_id=row.child_id,
        retracts_id=row.retracts_id,
    )


def content_line(item: dict[str, Any]) -> str:
    """Return the part of an item that the content hash covers, as one line of JSON."""
    cue = item["cue"]
    return _encode(
        [
            canonical(item["anchor"]),
            canonical(item["text"]),
            item["type_id"],
            None if cue is None else canonical(cue),
            item["split"],
        ]
    )


def content_hash(lines: Iterable[str]) -> str:
    """Return the SHA-256, in hexadecimal, of the sorted lines, each ending with a line feed."""
    digest = hashlib.sha256()
    for line in sorted(lines):
        digest.update(line.encode() + b"\n")
    return digest.hexdigest()


class NoSuchRelease(HedgerowError):
    """No release has this number, or there is no release at all."""


def published() -> Select[Release]:
    """The releases. One that is being written has a negative number."""
    return select(Release).where(col(Release.number) > 0)


def get_release(session: Session, number: int | None = None) -> Release:
    """Return the release with this number, even if it is not published; default: the newest.

    Raises:
        NoSuchRelease: there is no such release.
    """
    query = _newest() if number is None else select(Release).where(col(Release.number) == number)
    release = session.execute(query).scalar()
    if release is not None:
        return release
    last = release_numbers(session)
    if not last:
        raise NoSuchRelease(
            "There is no release yet; create one first ('hedgerow release create')."
        )
    raise NoSuchRelease(f"There is no release {number}; the newest is release {last[0]}.")


def list_releases(session: Session) -> list[Release]:
    """Return all releases, newest first."""
    return list(session.execute(published().order_by(col(Release.number).desc())).scalars())


def release_numbers(session: Session) -> list[int]:
    """Return the numbers of all releases, newest first."""
    query = published().with_only_columns(col(Release.number))
    return list(session.execute(query.order_by(col(Release.number).desc())).scalars())
