"""The contents of releases, and the changes since a release.

A release's contents are counted when it is created. Only decisions, corrections and retirements
since then are examined, so that changes show at once even in large projects.
"""

from collections import Counter
from collections.abc import Mapping
from datetime import datetime, timedelta
from typing import Any, NamedTuple

from sqlalchemy import (
    ColumnElement,
    CompoundSelect,
    Connection,
    Subquery,
    and_,
    case,
    func,
    literal,
    select,
    union,
)
from sqlalchemy.orm import Session
from sqlmodel import col

from curation.anchors.revisions import of_current_revision, of_sources
from curation.release.selection import Selection, selection_of
from db.columns import limited_to, now
from db.models import (
    Anchor,
    AnchorRevision,
    Decision,
    Polarity,
    Release,
    ReleaseItem,
    Split,
    Status,
    Variant,
)

MARGIN = timedelta(minutes=1)
"""Decisions up to this much older than a release are also examined: longer than a writer waits."""

LAST_DECISION = "last_decision"
"""Key of `last_decision` in a release's summary; missing in releases of early Hedgerow versions."""

CountsByType = Mapping[str, int]
"""Maps types to counts."""


class Changes(NamedTuple):
    """Variants accepted since a release, and released variants no longer accepted, per type."""

    added: CountsByType
    gone: CountsByType


class Contents(NamedTuple):
    """The contents of a release: type → split → variants, and triples per split."""

    variants: int
    anchors: int
    triples: int
    types_by_split: Mapping[str, CountsByType]
    triples_by_split: CountsByType


def release_facts(release: Release) -> dict[str, Any]:
    """The facts about a release for the command line's ``--json`` and the HTTP interface."""
    return {
        "release": release.number,
        "name": release.name,
        "hash": release.content_hash,
        "summary": release.summary,
        "created_at": release.created_at.isoformat(),
    }


def contents_of(release: Release) -> Contents:
    """Return the contents of a release."""
    summary = release.summary
    return Contents(
        variants=summary["variants"],
        anchors=summary["anchors"],
        triples=summary["triples"],
        types_by_split=summary["types_by_split"],
        triples_by_split={split: counts["triples"] for split, counts in summary["splits"].items()},
    )


def changes_since(session: Session, release: Release, source: str | None = None) -> Changes:
    """Count variants accepted since a release, and released variants no longer accepted.

    An accepted variant whose anchor or cue has been corrected since then is counted as both,
    because the release has its earlier text. Only variants within the release's selection count
    (``curation.release.selection``).

    Args:
        source: name of the source to count, even if the release excludes it; None for all sources
            of the release.
    """
    selection = selection_of(release)
    if source is not None:
        selection = selection._replace(sources=(source,))
    touched = touched_since(session, release)
    held = in_release(release) & of_sources(selection.sources)
    as_it_is = in_release(
        release,
        col(ReleaseItem.anchor) == col(AnchorRevision.text),
        col(ReleaseItem.cue).is_not_distinct_from(col(Variant.cue)),
    )
    usable = and_(
        col(Variant.status) == Status.ACCEPTED,
        col(Variant.retired).is_(False),
        col(Anchor.retired_at).is_(None),
        selection.takes(session),
    )
    # Only the joins: with another condition, SQLite would scan all accepted variants.
    query = (
        select(
            col(Variant.type_id),
            number_of(usable & ~as_it_is),
            number_of(~(usable & as_it_is) & held),
        )
        .select_from(touched)
        .join(Variant, col(Variant.id) == touched.c.id)
        .join(Anchor, col(Anchor.id) == col(Variant.anchor_id))
        .join(AnchorRevision, of_current_revision())
        .group_by(col(Variant.type_id))
    )
    rows = session.execute(query).all()
    added = Counter({type_id: number for type_id, number, _ in rows})
    gone = Counter({type_id: number for type_id, _, number in rows})
    # A restored anchor only shows as a difference between the counts and the rows.
    counted = accepted_by_type(session, selection)
    if source is None:
        released = release.summary["types"]
    else:
        released = types_of_source(session, release, source)
    for type_id in {*counted, *released}:
        more = counted.get(type_id, 0) - released.get(type_id, 0) - added[type_id] + gone[type_id]
        (added if more > 0 else gone)[type_id] += abs(more)
    return Changes(added=dict(+added), gone=dict(+gone))


def touched_since(session: Session, release: Release) -> Subquery:
    """SQL: ids of variants affected by decisions, corrections and retirements since then."""
    moment = release.created_at - MARGIN
    after = release.summary.get(LAST_DECISION)
    if after is None:
        after = _last_before(session.connection(), moment)
    anchors: CompoundSelect[int] = union(
        select(col(AnchorRevision.anchor_id)).where(
            col(AnchorRevision.revision) > 1, col(AnchorRevision.created_at) >= moment
        ),
        select(col(Anchor.id)).where(col(Anchor.retired_at) >= moment),
    )
    return union(
        select(col(Decision.variant_id).label("id")).where(col(Decision.id) > after),
        select(col(Decision.child_id)).where(
            col(Decision.id) > after, col(Decision.child_id).is_not(None)
        ),
        select(col(Variant.id)).where(col(Variant.anchor_id).in_(anchors)),
    ).subquery()


def last_decision(connection: Connection) -> int:
    """Return the newest decision that a release in this transaction is sure to include; 0 if none.

    SQLite has one writer, so this is the newest decision. On PostgreSQL, others may still store
    decisions with smaller ids.
    """
    if connection.dialect.name == "sqlite":
        return connection.execute(select(func.max(col(Decision.id)))).scalar() or 0
    return _last_before(connection, now() - MARGIN)


def _last_before(connection: Connection, moment: datetime) -> int:
    query = (
        select(col(Decision.id))
        .where(col(Decision.decided_at) < moment)
        .order_by(col(Decision.id).desc())
        .limit(1)
    )
    return connection.execute(query).scalar() or 0


def in_release(release: Release, *conditions: ColumnElement[bool]) -> ColumnElement[bool]:
    """SQL: the release has the variant in a matching item."""
    return (
        select(col(ReleaseItem.id))
        .where(
            col(ReleaseItem.variant_uid) == col(Variant.uid),
            col(ReleaseItem.release_id) == release.id,
            *conditions,
        )
        .correlate(Variant, AnchorRevision)
        .exists()
    )


def accepted_by_type(session: Session, selection: Selection) -> CountsByType:
    """Count the accepted variants that a release created now would include, by type."""
    query = (
        select(col(Variant.type_id), func.count())
        .where(
            col(Variant.status) == Status.ACCEPTED,
            col(Variant.retired).is_(False),
            selection.takes(session),
        )
        .group_by(col(Variant.type_id))
    )
    return dict(session.execute(query).all())


def count_accepted(session: Session, selection: Selection) -> int:
    """Count the variants that a release created now would include."""
    takes = selection.takes(session)
    accepted = (col(Variant.status) == Status.ACCEPTED, col(Variant.retired).is_(False), takes)
    retired = select(col(Anchor.id)).where(col(Anchor.retired_at).is_not(None))
    # Looking up every anchor takes thirty times as long as looking up the few retired ones.
    out_of_use = (
        select(func.sum(case((and_(*accepted), 1), else_=0)))
        .select_from(Variant)
        .where(col(Variant.anchor_id).in_(retired))
    )
    everything = select(func.count()).select_from(Variant).where(*accepted)
    return session.execute(everything).scalar_one() - (session.execute(out_of_use).scalar() or 0)


def triples_by_type(session: Session, release: Release) -> CountsByType:
    """Count the release's triples that contain a variant of each type."""
    kept: CountsByType | None = release.summary.get("triples_by_type")
    return dict(kept) if kept is not None else count_triples_by_type(session, release)


def types_of_source(
    session: Session, release: Release, source: str, split: Split | None = None
) -> CountsByType:
    """Count the variants of a release, or of one split, from this source's anchors, by type."""
    query = select(col(ReleaseItem.type_id), func.count()).where(
        col(ReleaseItem.release_id) == release.id,
        col(ReleaseItem.source) == source,
        limited_to(col(ReleaseItem.split), split),
    )
    return dict(session.execute(query.group_by(col(ReleaseItem.type_id))).all())


def count_triples_by_type(
    session: Session, release: Release, source: str | None = None, split: Split | None = None
) -> CountsByType:
    """Like ``triples_by_type``, but computed from the rows, for one source or split or for all.

    Releases of early Hedgerow versions have no total in their summary. This takes about a second
    per 350,000 variants.
    """
    polarities = {key: entry["polarity"] for key, entry in release.taxonomy.items()}
    types = list(release.summary["types"])
    families = (
        select(
            number_of(col(ReleaseItem.polarity) == Polarity.POSITIVE).label("positives"),
            number_of(col(ReleaseItem.polarity) == Polarity.NEGATIVE).label("negatives"),
            *(
                number_of(col(ReleaseItem.type_id) == type_id).label(f"type_{at}")
                for at, type_id in enumerate(types)
            ),
        )
        .where(
            col(ReleaseItem.release_id) == release.id,
            limited_to(col(ReleaseItem.source), source),
            limited_to(col(ReleaseItem.split), split),
        )
        .group_by(col(ReleaseItem.anchor_uid))
        .subquery()
    )
    sums = []
    for at, type_id in enumerate(types):
        partners = {
            Polarity.POSITIVE: families.c.negatives,
            Polarity.NEGATIVE: families.c.positives,
        }
        other = partners.get(polarities[type_id], literal(0))
        sums.append(func.sum(families.c[f"type_{at}"] * other))
    found = session.execute(select(*sums)).one() if sums else ()
    return {type_id: int(number or 0) for type_id, number in zip(types, found, strict=True)}


def number_of(condition: ColumnElement[bool]) -> ColumnElement[int]:
    """SQL: number of rows in a group that meet the condition."""
    return func.sum(case((condition, 1), else_=0))
