"""Correcting, describing, retiring and restoring anchors."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from typing import NamedTuple

from sqlalchemy.orm import Session

from curation.editing.anchors import (
    SuspiciousText,
    correct_anchor,
    get_anchor,
    restore_anchors,
    retire_anchors,
)
from curation.editing.attributes import set_facts as set_attributes
from curation.editing.carry_over import carry_over, proposals
from db.engine import writing
from db.errors import HedgerowError
from db.models import Status
from hedgerow.asked import uid as one_uid
from hedgerow.asked import uids as all_uids
from hedgerow.home import Home, reviewer_id


class Changed(NamedTuple):
    """The uids of the anchors that a change affected.

    Attributes:
        changed: the anchors that changed.
        unchanged: the anchors that already had the requested values or state.
    """

    changed: list[str]
    unchanged: list[str]


class NewText(NamedTuple):
    """An accepted variant, and its text after the correction of its anchor."""

    uid: str
    text: str


class Corrected(NamedTuple):
    """The result of a correction.

    Attributes:
        uid: the anchor's uid, which stays the same.
        revision: the number of the new revision.
        second_looks: the number of decided variants that are pending again.
        carried: the accepted variants to which the same change was made.
        left: the accepted variants to which the same change could be made; without
            ``carry_over``, they are pending again.
    """

    uid: str
    revision: int
    second_looks: int
    carried: list[NewText]
    left: list[NewText]


def correct(
    home: Home,
    uid: str,
    text: str,
    *,
    reviewer: str,
    carry: bool,
    force: bool,
    forced_by: str = "force=True",
) -> Corrected:
    """See `Anchors.correct` of `hedgerow.data.anchors`.

    Args:
        forced_by: the name of the argument ``force`` in messages.
    """
    with writing(home.engine) as session:
        anchor = get_anchor(session, one_uid(uid))
        who = reviewer_id(session, home.settings, reviewer)
        try:
            done = correct_anchor(
                session,
                anchor.id,
                text,
                expected_revision=anchor.revision,
                reviewer_id=who,
                insist=force,
            )
        except SuspiciousText as suspicious:
            raise HedgerowError(
                f"Nothing was changed. {suspicious} Rephrase the text, or confirm it with "
                f"{forced_by}."
            ) from None
        found = [p for p in proposals(session, anchor.id) if p.was is Status.ACCEPTED]
        texts = [NewText(proposal.uid, proposal.new_text) for proposal in found]
        if not carry:
            return Corrected(uid, done.revision, done.second_looks, [], texts)
        chosen = {proposal.variant_id: proposal.new_text for proposal in found}
        carry_over(session, anchor.id, chosen, reviewer_id=who)
        return Corrected(uid, done.revision, done.second_looks - len(found), texts, [])


def set_facts(
    home: Home, uids: Iterable[str], *, genre: str | None, language: str | None
) -> Changed:
    """See `Anchors.set` of `hedgerow.data.anchors`."""
    with writing(home.engine) as session:
        ids = _ids_of(session, uids)
        return _changed(ids, set_attributes(session, ids.values(), genre=genre, language=language))


def set_retired(home: Home, uids: Iterable[str], *, retired: bool) -> Changed:
    """See `Anchors.retire` and `Anchors.restore` of `hedgerow.data.anchors`."""
    with writing(home.engine) as session:
        ids = _ids_of(session, uids)
        change = retire_anchors if retired else restore_anchors
        return _changed(ids, change(session, ids.values()))


def _ids_of(session: Session, uids: Iterable[str]) -> dict[str, int]:
    return {uid: get_anchor(session, uid).id for uid in all_uids(uids)}


def _changed(ids: dict[str, int], changed: Collection[int]) -> Changed:
    found = set(changed)
    return Changed(
        [uid for uid, anchor_id in ids.items() if anchor_id in found],
        [uid for uid, anchor_id in ids.items() if anchor_id not in found],
    )
