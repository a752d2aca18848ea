"""The contents of a release if one were created now.

In a large project, this updates the newest release's counts: only anchors that have changed since
are counted again, which takes a fraction of the time.
"""

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

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
from db.models import Anchor, Polarity, Release, ReleaseItem, Status, TypeRow, Variant

COUNTED_AGAIN = 20_000
"""Up to this many variants in a release, everything is counted: in about 50 ms."""

CARRIED_ON = 10_000
"""Up to this many changed anchors, a release's counts are updated. They are passed as one list."""

_ACCEPTED = (col(Variant.status) == Status.ACCEPTED, col(Variant.retired).is_(False))


def changes_since_newest(session: Session) -> Changes | None:
    """The changes since the newest release; None if there is no release."""
    releases = list_releases(session)
    return changes_since(session, releases[0]) if releases else None


def contents_now(session: Session, selection: Selection | None = None) -> Contents:
    """Return the contents of a release created now; by default, with the default selection."""
    selection = selection or default_selection(session)
    takes = selection.takes(session)
    polarity = dict(session.execute(select(col(TypeRow.id), col(TypeRow.polarity))).all())
    newest = next(iter(list_releases(session)), None)
    if (
        newest is not None
        and newest.summary["variants"] > COUNTED_AGAIN
        and selection_of(newest) == selection
        and not selection.complete  # one variant more or less changes which others are included
    ):
        carried_on = _carried_on(session, newest, polarity, takes)
        # Restoring an anchor or switching off a model only shows in the numbers.
        if carried_on and _by_type(carried_on) == accepted_by_type(session, selection):
            return carried_on
    return _contents(session, polarity, _accepted_families(polarity, takes))


def _carried_on(
    session: Session,
    release: Release,
    polarity: Mapping[str, Polarity],
    takes: ColumnElement[bool],
) -> Contents | None:
    """Update the release's contents for every changed anchor; None if too many have changed."""
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
    """Return the anchors with more or fewer accepted variants than in the release."""
    touched = touched_since(session, release)
    usable = and_(*_ACCEPTED, col(Anchor.retired_at).is_(None), takes)
    # Only the joins: with another condition, SQLite would scan all accepted variants.
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
    """Replace the outdated families in the contents with the current ones."""
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
    """Sum the families; an anchor without accepted variants does not count."""
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
    """SQL: the counts per family, by polarity and by type, in id order."""
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
    """Count everything that is accepted and included, per anchor."""
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
    """The same for some anchors."""
    # Acceptance is not a condition here: SQLite would scan all accepted variants.
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
    """Return the release's families of some anchors."""
    its = col(ReleaseItem.release_id) == release.id
    return (
        select(col(ReleaseItem.split), *_numbers(polarity, col(ReleaseItem.type_id), its))
        .join(Variant, col(Variant.uid) == col(ReleaseItem.variant_uid))
        .where(col(Variant.anchor_id).in_(anchors))
        .group_by(col(Variant.anchor_id), col(ReleaseItem.split))
        .subquery()
    )
