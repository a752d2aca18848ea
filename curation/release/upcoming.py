"""What a release made now would hold.

In a large project, the newest release's own counts are carried on: only the anchors that something
has happened to since then are counted anew, which takes a fraction of counting all.
"""

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from sqlalchemy import ColumnElement, Subquery, and_, func, select, true
from sqlalchemy.orm import Session
from sqlmodel import col

from curation.release.contents import (
    Changes,
    Contents,
    accepted_by_type,
    changes_since,
    contents_of,
    in_release,
    number_of,
    touched_since,
)
from curation.release.freezing import list_releases
from curation.release.selection import Selection, default_selection, selection_of
from curation.review.people.reviewers import reviewer_names
from db.models import Anchor, Polarity, Release, ReleaseItem, Status, TypeRow, Variant

COUNTED_AGAIN = 20_000
"""Variants in a release up to which everything is counted: in some 50 ms."""

CARRIED_ON = 10_000
"""Changed anchors up to which a release's counts are carried on; the databases take a list of so
many."""

_ACCEPTED = (col(Variant.status) == Status.ACCEPTED, col(Variant.retired).is_(False))


class ReleaseState(NamedTuple):
    """The releases there are, and what another one would hold.

    Attributes:
        releases: the newest first.
        authors: the name of each reviewer by id.
        now: what a release made now would hold.
        changes: since the newest release; None without one, or with nothing to freeze.
    """

    releases: list[Release]
    authors: dict[int | None, str]
    now: Contents
    changes: Changes | None


def release_state(session: Session) -> ReleaseState:
    """The releases and what has changed since the newest."""
    releases, now = list_releases(session), contents_now(session)
    changes = changes_since(session, releases[0]) if releases and now.variants else None
    return ReleaseState(releases, reviewer_names(session), now, changes)


def contents_now(session: Session, selection: Selection | None = None) -> Contents:
    """What a release made now would hold; without a selection, by the default one."""
    selection = selection or default_selection(session)
    takes = selection.takes(session)
    polarity = dict(session.execute(select(col(TypeRow.id), col(TypeRow.polarity))).all())
    query = select(Release).order_by(col(Release.number).desc()).limit(1)
    newest = session.execute(query).scalar()
    if (
        newest is not None
        and newest.summary["variants"] > COUNTED_AGAIN
        and selection_of(newest) == selection
        and not selection.complete  # one variant more or less changes what is taken of others
    ):
        carried_on = _carried_on(session, newest, polarity, takes)
        # A restored anchor or a model switched off leaves no trace but the numbers.
        if carried_on and _by_type(carried_on) == accepted_by_type(session, selection):
            return carried_on
    return _contents(session, polarity, _accepted_families(polarity, takes))


def _carried_on(
    session: Session,
    release: Release,
    polarity: Mapping[str, Polarity],
    takes: ColumnElement[bool],
) -> Contents | None:
    """The release's contents, those of every changed anchor replaced; None where many changed."""
    changed = _changed_anchors(session, release, takes)
    if len(changed) > CARRIED_ON:
        return None
    gone, come = (
        _contents(session, polarity, families)
        for families in (
            _families_released(polarity, changed, release),
            _families_of(polarity, changed, takes),
        )
    )
    return _replaced(contents_of(release), gone, come)


def _changed_anchors(session: Session, release: Release, takes: ColumnElement[bool]) -> list[int]:
    """Anchors of which more or less is accepted than the release holds."""
    touched = touched_since(session, release)
    usable = and_(*_ACCEPTED, col(Anchor.retired_at).is_(None), takes)
    # No condition but the joins: SQLite would rather walk through everything that is accepted.
    query = (
        select(col(Anchor.id), number_of(usable != in_release(release)))
        .select_from(touched)
        .join(Variant, col(Variant.id) == touched.c.id)
        .join(Anchor, col(Anchor.id) == col(Variant.anchor_id))
        .group_by(col(Anchor.id))
    )
    return [anchor_id for anchor_id, differ in session.execute(query) if differ]


def _by_type(contents: Contents) -> dict[str, int]:
    return {type_id: sum(splits.values()) for type_id, splits in contents.types_by_split.items()}


def _replaced(contents: Contents, gone: Contents, come: Contents) -> Contents:
    """The contents without what is gone and with what has come."""
    by_split: dict[str, dict[str, int]] = {}
    for type_id in {*contents.types_by_split, *come.types_by_split}:
        splits = Counter(contents.types_by_split.get(type_id, {}))
        splits.update(come.types_by_split.get(type_id, {}))
        splits.subtract(gone.types_by_split.get(type_id, {}))
        if +splits:
            by_split[type_id] = dict(+splits)
    triples = Counter(contents.triples_by_split)
    triples.update(come.triples_by_split)
    triples.subtract(gone.triples_by_split)
    left = {split for splits in by_split.values() for split in splits}
    return Contents(
        variants=contents.variants - gone.variants + come.variants,
        anchors=contents.anchors - gone.anchors + come.anchors,
        triples=triples.total(),
        types_by_split=by_split,
        triples_by_split={split: triples[split] for split in left},
    )


def _contents(session: Session, polarity: Mapping[str, Polarity], families: Subquery) -> Contents:
    """The families added up; an anchor of which nothing is accepted does not count."""
    types = sorted(polarity)
    query = (
        select(
            families.c.split,
            func.count(),
            func.sum(families.c.positives * families.c.negatives),
            *(func.sum(families.c[f"type_{at}"]) for at in range(len(types))),
        )
        .where(families.c.variants > 0)
        .group_by(families.c.split)
    )
    anchors, triples = 0, {}
    by_split: dict[str, dict[str, int]] = {}
    for split, its_anchors, its_triples, *numbers in session.execute(query):
        anchors += its_anchors
        triples[split.value] = int(its_triples)
        for type_id, number in zip(types, numbers, strict=True):
            if number:
                by_split.setdefault(type_id, {})[split.value] = int(number)
    variants = sum(sum(splits.values()) for splits in by_split.values())
    return Contents(variants, anchors, sum(triples.values()), by_split, triples)


def _numbers(
    polarity: Mapping[str, Polarity], type_id: Any, counted: ColumnElement[bool]
) -> list[Any]:
    """SQL: what is counted of a family, by polarity and by type, in order of the id."""
    sides = {side: [known for known, its in polarity.items() if its == side] for side in Polarity}
    return [
        number_of(counted).label("variants"),
        number_of(type_id.in_(sides[Polarity.POSITIVE]) & counted).label("positives"),
        number_of(type_id.in_(sides[Polarity.NEGATIVE]) & counted).label("negatives"),
        *(
            number_of((type_id == known) & counted).label(f"type_{at}")
            for at, known in enumerate(sorted(polarity))
        ),
    ]


def _accepted_families(polarity: Mapping[str, Polarity], takes: ColumnElement[bool]) -> Subquery:
    """All that is accepted and taken, per anchor."""
    families = (
        select(col(Variant.anchor_id), *_numbers(polarity, col(Variant.type_id), true()))
        .where(*_ACCEPTED, takes)
        .group_by(col(Variant.anchor_id))
        .subquery()
    )
    return (
        select(col(Anchor.split), families)
        .join(families, families.c.anchor_id == col(Anchor.id))
        .where(col(Anchor.retired_at).is_(None))
        .subquery()
    )


def _families_of(
    polarity: Mapping[str, Polarity], anchors: Sequence[int], takes: ColumnElement[bool]
) -> Subquery:
    """The same of some anchors."""
    # What is accepted is no condition: SQLite would rather walk through all of that.
    accepted = and_(*_ACCEPTED, col(Anchor.retired_at).is_(None), takes)
    return (
        select(col(Anchor.split), *_numbers(polarity, col(Variant.type_id), accepted))
        .join(Variant, col(Variant.anchor_id) == col(Anchor.id))
        .where(col(Anchor.id).in_(anchors))
        .group_by(col(Anchor.id), col(Anchor.split))
        .subquery()
    )


def _families_released(
    polarity: Mapping[str, Polarity], anchors: Sequence[int], release: Release
) -> Subquery:
    """What the release holds of some anchors."""
    its = col(ReleaseItem.release_id) == release.id
    return (
        select(col(ReleaseItem.split), *_numbers(polarity, col(ReleaseItem.type_id), its))
        .join(Variant, col(Variant.uid) == col(ReleaseItem.variant_uid))
        .where(col(Variant.anchor_id).in_(anchors))
        .group_by(col(Variant.anchor_id), col(ReleaseItem.split))
        .subquery()
    )
