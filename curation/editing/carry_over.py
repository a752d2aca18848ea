"""Apply the correction of an anchor to its variants.

The words that changed between the revision a variant was made for and the current revision are also
changed in the variant, if it contains exactly these words. A person checks each new text, which is
then stored as an edit.
"""

import uuid
from collections.abc import Mapping
from typing import NamedTuple

from sqlalchemy import select
from sqlalchemy.orm import Session
from sqlmodel import col

from curation.decisions.shown_card import ShownCard
from curation.decisions.storing import chunks, status_ever
from curation.editing.variants import Edit, carry_out, plan_edit
from curation.language.word_changes import carry
from db.errors import HedgerowError
from db.models import Anchor, AnchorRevision, Status, Variant


class Carried(NamedTuple):
    """A variant that contains the corrected words, with its new text.

    Attributes:
        was: its status before the correction.
    """

    variant_id: int
    uid: str
    type_id: str
    text: str
    new_text: str
    was: Status


class CarriedOver(NamedTuple):
    """What was stored; ``action_id`` is None if nothing was."""

    action_id: str | None
    children: tuple[int, ...]


def proposals(session: Session, anchor_id: int) -> list[Carried]:
    """The pending variants of an anchor to which a correction can be applied.

    Leaves out variants that had been rejected, and those whose new text an edit would refuse.
    """
    return [carried for carried, _ in _planned(session, anchor_id)]


def _planned(session: Session, anchor_id: int) -> list[tuple[Carried, Edit]]:
    anchor = session.get_one(Anchor, anchor_id)
    query = select(Variant).where(
        col(Variant.anchor_id) == anchor_id,
        col(Variant.status) == Status.PENDING,
        col(Variant.anchor_revision) < anchor.revision,
        col(Variant.retired).is_(False),
    )
    variants = session.execute(query.order_by(col(Variant.id))).scalars().all()
    texts = _texts(session, anchor_id)
    was: dict[int, Status] = {}
    for ids in chunks(variant.id for variant in variants):
        was |= status_ever(session, ids)
    found: list[tuple[Carried, Edit]] = []
    for variant in variants:
        key = variant.id
        new_text = carry(
            variant.text, old=texts[variant.anchor_revision], new=texts[anchor.revision]
        )
        if was[key] is Status.REJECTED or new_text is None or new_text == variant.text:
            continue
        try:
            planned = plan_edit(session, variant, text=new_text, cue=variant.cue)
        except HedgerowError:
            continue  # equal to the anchor, or without its cue
        carried = Carried(key, variant.uid, variant.type_id, variant.text, new_text, was[key])
        found.append((carried, planned))
    return found


def _texts(session: Session, anchor_id: int) -> dict[int, str]:
    query = select(col(AnchorRevision.revision), col(AnchorRevision.text)).where(
        col(AnchorRevision.anchor_id) == anchor_id
    )
    return dict(session.execute(query).all())


def carry_over(
    session: Session, anchor_id: int, chosen: Mapping[int, str], *, reviewer_id: int
) -> CarriedOver:
    """Store the new texts of these variants as edits, in one action that can be undone.

    Args:
        chosen: variant id → the new text that the person saw.

    Raises:
        HedgerowError: the new text of a variant is no longer valid, because somebody has decided on
            the variant or corrected the anchor meanwhile. Nothing is changed then.
    """
    # Prevent corrections of the anchor until this transaction ends.
    session.get_one(Anchor, anchor_id, populate_existing=True, with_for_update={"read": True})
    planned = {
        carried.variant_id: (carried, edit) for carried, edit in _planned(session, anchor_id)
    }
    for variant_id, text in chosen.items():
        if variant_id not in planned or planned[variant_id][0].new_text != text:
            raise HedgerowError(
                "Somebody has decided on one of these variants or corrected the anchor "
                "meanwhile. Nothing was changed; check the variants again."
            )
    if not chosen:
        return CarriedOver(None, ())
    action_id = str(uuid.uuid4())
    children: list[int] = []
    for variant_id in sorted(chosen):
        variant = session.get_one(Variant, variant_id)
        card = ShownCard(variant_id, variant.version, action_id)
        edit = planned[variant_id][1]
        done = carry_out(session, card, variant, edit, reviewer_id=reviewer_id)
        children.append(done.child_id or variant_id)
    return CarriedOver(action_id, tuple(children))
