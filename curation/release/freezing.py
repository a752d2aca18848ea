"""Freezes the accepted variants as a release with a number and a content hash.

A release has its own rows. Later changes to a variant do not affect them, and the database refuses
to change or delete them. The hash covers what a reader of the data set sees (anchor, text, type,
cue and split), not ids, names or times, so that equal content has the same hash in every database.
"""

import hashlib
import json
from collections.abc import Iterable, Iterator
from itertools import groupby, islice
from operator import attrgetter
from typing import Any, NamedTuple

from sqlalchemy import (
    ColumnElement,
    Connection,
    Row,
    Select,
    func,
    insert,
    inspect,
    select,
    text,
    update,
)
from sqlalchemy.orm import Session, aliased
from sqlmodel import col

from curation.anchors.revisions import of_current_revision, source_in_use
from curation.content_uids import at_most, canonical
from curation.decisions.status import Vote, live
from curation.decisions.storing import RULE, counts_still
from curation.diagnostics.measuring import measure_variants
from curation.release.contents import LAST_DECISION, count_accepted, last_decision
from curation.release.selection import SELECTION, Selection, default_selection
from curation.release.summary import Tally, release_summary, taxonomy_snapshot
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
    session: Session,
    *,
    name: str = "",
    author_id: int | None = None,
    selection: Selection | None = None,
) -> Created:
    """Freeze the accepted variants of anchors in use as the newest release.

    If the newest release already has the same rows, including provenance and taxonomy, it is
    returned unchanged and the name is not stored. Equal texts with a different provenance (for
    example, decided by people since then) make a new release with the same hash.

    Args:
        session: a writing session; unflushed changes are included.
        name: at most 200 characters. It does not identify a release; the number and the hash do.
        selection: which accepted variants to include; default: `default_selection`. It is stored in
            the summary; the hash depends only on the contents.

    Raises:
        HedgerowError: there is no such source, no accepted variant is selected, or the name is too
            long or not plain text.
    """
    clean = at_most(MAX_NAME, canonical(name), "a release name")
    session.flush()
    selection = selection or default_selection(session)
    for source in selection.sources:
        source_in_use(session, source)
    if selection.max_distance is not None:
        measure_variants(session, _unmeasured(session))
        session.flush()
    connection = session.connection()
    _lock(connection)
    newest = session.execute(_newest()).scalar()
    number = newest.number + 1 if newest else 1
    head = {"number": number, "name": clean, "author_id": author_id}
    # A savepoint: the rows are rolled back if they turn out to be the same as the newest release.
    with connection.begin_nested() as attempt:
        release_id = _write(session, head, selection)
        release = session.get_one(Release, release_id)
        if newest is None or not _same(connection, newest, release):
            return Created(release, True)
        session.expunge(release)
        attempt.rollback()
    return Created(newest, False)


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
    return select(Release).order_by(col(Release.number).desc()).limit(1)


def _same(connection: Connection, one: Release, other: Release) -> bool:
    """Whether two releases have equal rows (except ids) and the same taxonomy."""
    if one.content_hash != other.content_hash or one.taxonomy != other.taxonomy:
        return False
    columns = [column for column in inspect(ReleaseItem).columns if column.name not in _IDS]
    rows = [select(*columns).where(col(ReleaseItem.release_id) == r.id) for r in (one, other)]
    # The hashes agree, so both have the same number of rows, and one direction suffices.
    return connection.execute(rows[0].except_(rows[1]).limit(1)).first() is None


def _write(session: Session, head: dict[str, Any], selection: Selection) -> int:
    """Store the release and its items; return its id."""
    connection = session.connection()
    release_id = connection.execute(
        insert(Release).values(**head, content_hash="").returning(col(Release.id))
    ).scalar_one()
    seen = last_decision(connection)  # before freezing, which may take a while
    digest, tally = _freeze(connection, release_id, selection.takes(session))
    accepted = count_accepted(session, Selection(selection.sources))
    if not tally.variants:
        raise HedgerowError(_nothing(selection, accepted))
    summary = release_summary(connection, tally, selection.sources) | {
        LAST_DECISION: seen,
        SELECTION: selection.as_json(),
        "left_out": accepted - tally.variants,
    }
    values = {
        "content_hash": digest,
        "summary": summary,
        "taxonomy": taxonomy_snapshot(connection),
    }
    connection.execute(update(Release).where(col(Release.id) == release_id).values(**values))
    return release_id


def _nothing(selection: Selection, accepted: int) -> str:
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


def _freeze(
    connection: Connection, release_id: int, takes: ColumnElement[bool]
) -> tuple[str, Tally]:
    """Store the items; return the content hash and the counts."""
    rows = connection.execute(_accepted(takes), execution_options={"yield_per": BATCH})
    items = _items(rows, release_id)
    tally = Tally()
    lines: list[str] = []
    while batch := list(islice(items, BATCH)):
        for item in batch:
            tally.add(item)
            lines.append(content_line(item))
        connection.execute(insert(ReleaseItem), batch)
    return content_hash(lines), tally


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


def get_release(session: Session, number: int | None = None) -> Release:
    """Return the release with this number; default: the newest.

    Raises:
        NoSuchRelease: there is no such release.
    """
    query = _newest() if number is None else select(Release).where(col(Release.number) == number)
    release = session.execute(query).scalar()
    if release is not None:
        return release
    last = session.execute(select(func.max(Release.number))).scalar()
    if last is None:
        raise NoSuchRelease(
            "There is no release yet; create one first ('hedgerow release create')."
        )
    raise NoSuchRelease(f"There is no release {number}; the newest is release {last}.")


def list_releases(session: Session) -> list[Release]:
    """Return all releases, newest first."""
    return list(session.execute(select(Release).order_by(col(Release.number).desc())).scalars())


def release_numbers(session: Session) -> list[int]:
    """Return the numbers of all releases, newest first."""
    query = select(col(Release.number)).order_by(col(Release.number).desc())
    return list(session.execute(query).scalars())
