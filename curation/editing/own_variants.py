"""Variants that reviewers write themselves."""

import uuid
from typing import NamedTuple

from sqlalchemy import select
from sqlalchemy.orm import Session
from sqlmodel import col

from curation.content_uids import variant_uid
from curation.decisions.shown_card import ShownCard, decision_on
from curation.decisions.storing import store_decisions
from curation.decisions.variant_rows import PERSON
from curation.diagnostics.measuring import measure_variants
from curation.editing.cues import checked_cue, choose_cue, filed_by_cue
from curation.editing.variants import check_differs, checked_text, current_text, find_text
from curation.splits import RANDOM_SALT, bucket
from curation.taxonomy.built_in import VariantType, known_type
from curation.taxonomy.project_types import list_types
from db.columns import now
from db.errors import HedgerowError
from db.models import Anchor, Decision, Status, Variant, Verdict

_WHAT_TO_DO = {
    Status.PENDING: "it is pending; accept it on its card",
    Status.ACCEPTED: "it is accepted",
    Status.REJECTED: "it was rejected; open its card to change that",
    Status.CONFLICT: "reviewers disagree about it; open its card to settle it",
    Status.SUPERSEDED: "an edit has replaced it; its card links to the new variant",
}


class AlreadyThere(HedgerowError):
    """The anchor already has a variant with this text and type: ``variant_id``."""

    def __init__(self, sentence: str, *, variant_id: int) -> None:
        super().__init__(sentence)
        self.variant_id = variant_id


class OwnVariant(NamedTuple):
    """A reviewer's own variant.

    Attributes:
        recorded: False if the action had already been done.
        remark: a sentence about a choice made automatically: the cue, or the type that follows from
            it; '' for none.
    """

    variant: Variant
    recorded: bool
    remark: str = ""


class Own(NamedTuple):
    """A reviewer's own variant before it is stored. ``remark`` is as in ``OwnVariant``."""

    entry: VariantType
    text: str
    cue: str | None
    remark: str


def plan_own(
    session: Session, anchor: Anchor, *, type_id: str, text: str, cue: str | None = None
) -> Own:
    """Compute the result of ``write_variant`` without storing it.

    Raises:
        HedgerowError: as ``write_variant``.
    """
    types = list_types(session)
    entry = known_type(types, type_id)
    clean = checked_text(text)
    _check(session, anchor, entry.id, clean)
    hedge = choose_cue(entry, types, anchor=current_text(session, anchor), text=clean, named=cue)
    if hedge.entry.id != entry.id:
        _check(session, anchor, hedge.entry.id, clean)
        return Own(hedge.entry, clean, hedge.cue, filed_by_cue(hedge))
    is_found = hedge.cue is not None and checked_cue(cue) is None
    return Own(entry, clean, hedge.cue, f"Its cue is '{hedge.cue}'." if is_found else "")


def write_variant(
    session: Session,
    *,
    anchor_id: int,
    type_id: str,
    text: str,
    reviewer_id: int,
    cue: str | None = None,
    action_id: str = "",
) -> OwnVariant:
    """Add a reviewer's own variant and accept it, as one action.

    An undo retracts the acceptance; the variant stays and is pending. Its distance and flags are
    measured at once, its cosine in the next diagnostics run.

    Args:
        text: at most ``edits.MAX_TEXT`` characters.
        cue: the hedge cue; with None, ``choose_cue`` chooses it if the type has cues.
        action_id: unique per form; a second action with the same id does nothing.

    Raises:
        AlreadyThere: the anchor already has a variant with this text and type.
        CueWanted: the text has no known cue, or several, and ``cue`` is None.
        HedgerowError: the text is the anchor's own, empty, too long or not plain text; the type is
            unknown; or the anchor is retired.
    """
    done = _done_before(session, action_id)
    if done is not None:
        return OwnVariant(done, False)
    anchor = session.get_one(
        Anchor, anchor_id, populate_existing=True, with_for_update={"read": True}
    )
    own = plan_own(session, anchor, type_id=type_id, text=text, cue=cue)
    uid = variant_uid(anchor_uid=anchor.uid, type_id=own.entry.id, text=own.text)
    variant = Variant(
        uid=uid,
        anchor_id=anchor_id,
        anchor_revision=anchor.revision,
        type_id=own.entry.id,
        text=own.text,
        cue=own.cue,
        provider=PERSON,
        author_id=reviewer_id,
        random_key=bucket(uid, salt=RANDOM_SALT),
    )
    session.add(variant)
    session.flush()
    _accept(session, variant, reviewer_id=reviewer_id, action_id=action_id)
    return OwnVariant(variant, True, own.remark)


def _done_before(session: Session, action_id: str) -> Variant | None:
    query = (
        select(Variant)
        .join(Decision, col(Decision.variant_id) == col(Variant.id))
        .where(col(Decision.action_id) == action_id)
    )
    return session.execute(query).scalar() if action_id else None


def _check(session: Session, anchor: Anchor, type_id: str, text: str) -> None:
    if anchor.retired_at is not None:
        raise HedgerowError("The anchor is retired; restore it before you write a variant.")
    check_differs(session, anchor, text)
    known = find_text(session, anchor.id, type_id, text)
    if known is not None:
        raise AlreadyThere(
            f"The anchor already has this text as the variant {known.uid}: "
            f"{_WHAT_TO_DO[known.status]}.",
            variant_id=known.id,
        )


def _accept(session: Session, variant: Variant, *, reviewer_id: int, action_id: str) -> None:
    card = ShownCard(variant.id, variant.version, action_id or str(uuid.uuid4()), now())
    row = decision_on(card, variant, reviewer_id=reviewer_id, verdict=Verdict.ACCEPT)
    store_decisions(session, [row])
    measure_variants(session, [variant.id])
