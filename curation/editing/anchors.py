"""Correct, retire and restore anchors, and apply a correction to the anchor's variants."""

import uuid
from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

from sqlalchemy import ColumnElement, Engine, delete, func, select, update
from sqlalchemy.orm import Session
from sqlmodel import col

from curation.anchors.checks import Finding, suspicions
from curation.anchors.revisions import checked_anchor_text, of_current_revision
from curation.content_uids import anchor_uid, words_of
from curation.decisions.reviewers import shown_name
from curation.decisions.roles import require
from curation.decisions.shown_card import ShownCard
from curation.decisions.storing import (
    StatusChange,
    chunks,
    forget_kept,
    refresh_status,
    status_ever,
)
from curation.diagnostics.measuring import measure_variants
from curation.editing.variants import Edit, carry_out, plan_edit
from curation.language.word_changes import carry
from curation.taxonomy.project_types import types_in_use
from db.columns import now
from db.engine import write_in_pieces
from db.errors import HedgerowError
from db.models import Anchor, AnchorRevision, Reviewer, Status, TeamRole, Variant, VariantCosine

_DECIDED = (Status.ACCEPTED, Status.REJECTED, Status.CONFLICT)


class Correction(NamedTuple):
    """The result of a correction.

    Attributes:
        revision: the number of the new revision.
        second_looks: number of decided variants that are pending again.
        changes: every variant of the anchor with its status before and after.
    """

    revision: int
    second_looks: int
    changes: tuple[StatusChange, ...]


class SuspiciousText(HedgerowError):
    """A text that is suspicious as an anchor; ``findings`` say why."""

    def __init__(self, findings: Sequence[Finding]) -> None:
        super().__init__(" ".join(finding.sentence for finding in findings))
        self.findings = tuple(findings)


def get_anchor(session: Session, uid: str) -> Anchor:
    """The anchor with this uid.

    Raises:
        HedgerowError: there is none.
    """
    anchor = session.execute(select(Anchor).where(col(Anchor.uid) == uid)).scalar()
    if anchor is None:
        raise HedgerowError(f"There is no anchor '{uid}'; a uid has 16 hexadecimal digits.")
    return anchor


def count_second_looks(session: Session, anchor_id: int) -> int:
    """How many decided variants a correction of the anchor would bring back for a second look."""
    query = (
        select(func.count())
        .select_from(Variant)
        .where(col(Variant.anchor_id) == anchor_id, col(Variant.status).in_(_DECIDED))
    )
    return session.execute(query).scalar_one()


def correct_anchor(
    session: Session,
    anchor_id: int,
    text: str,
    *,
    reviewer_id: int,
    expected_revision: int,
    insist: bool = False,
) -> Correction:
    """Correct the anchor's text; its decided variants are pending again.

    Decisions are kept, but only later ones count. The distances and flags of the variants are
    measured at once, their cosines in the next diagnostics run. The anchor's uid and split do not
    change. A correction can restore an earlier text of the same anchor.

    Args:
        expected_revision: the number of the revision that the reviewer saw.
        insist: accept a text that an import would leave out as suspicious.

    Raises:
        SuspiciousText: the text is negated, a single word or the like, and ``insist`` is false.
        HedgerowError: the text is unchanged, empty, too long, not plain text or that of another
            anchor, or somebody has corrected the anchor meanwhile. Nothing is changed then.
    """
    anchor = _lock(session, anchor_id)
    clean = checked_anchor_text(text)
    if anchor.revision != expected_revision:
        raise HedgerowError(_corrected_meanwhile(session, anchor))
    current = session.get_one(AnchorRevision, (anchor_id, anchor.revision))
    if clean == current.text:
        raise HedgerowError("Expected a corrected text, found the current one.")
    text_uid = anchor_uid(clean)
    _refuse_anothers(session, anchor_id, text_uid)
    found = suspicions(clean, words_of(clean), language=anchor.language)
    if found and not insist:
        raise SuspiciousText(found)
    anchor.revision += 1
    session.add(
        AnchorRevision(
            anchor_id=anchor_id,
            revision=anchor.revision,
            text=clean,
            text_uid=text_uid,
            author_id=reviewer_id,
        )
    )
    session.flush()
    changes = _reopen(session, anchor_id)
    second_looks = sum(c.before in _DECIDED and c.after is Status.PENDING for c in changes)
    return Correction(anchor.revision, second_looks, tuple(changes))


def _lock(session: Session, anchor_id: int) -> Anchor:
    """The anchor, locked until this transaction ends."""
    return session.get_one(Anchor, anchor_id, populate_existing=True, with_for_update=True)


def _corrected_meanwhile(session: Session, anchor: Anchor) -> str:
    author = session.execute(
        select(shown_name())
        .select_from(Reviewer)
        .join(AnchorRevision, col(AnchorRevision.author_id) == col(Reviewer.id))
        .where(
            col(AnchorRevision.anchor_id) == anchor.id,
            col(AnchorRevision.revision) == anchor.revision,
        )
    ).scalar()
    by = f" by {author}" if author else ""
    return f"The anchor was corrected{by} meanwhile. Nothing was changed; check the anchor again."


def _refuse_anothers(session: Session, anchor_id: int, text_uid: str) -> None:
    """Refuse a duplicate: two anchors with the same text could be in different splits."""
    others = (
        select(col(Anchor.uid)).where(col(Anchor.uid) == text_uid, col(Anchor.id) != anchor_id),
        select(col(Anchor.uid))
        .join(AnchorRevision, of_current_revision())
        .where(col(AnchorRevision.text_uid) == text_uid, col(Anchor.id) != anchor_id),
    )
    for query in others:
        found = session.execute(query.limit(1)).scalar()
        if found is not None:
            raise HedgerowError(
                f"The anchor {found} already has this text. Retire one of them, or use another "
                "text."
            )


def _reopen(session: Session, anchor_id: int) -> list[StatusChange]:
    """Reset the variants to pending and measure them against the current text."""
    of_anchor = col(Variant.anchor_id) == anchor_id
    # All code locks rows in the order of their ids.
    locked = select(col(Variant.id)).where(of_anchor).order_by(col(Variant.id))
    ids = session.execute(locked.with_for_update(key_share=True)).scalars().all()
    session.flush()
    # The refresh sets the version to the same number.
    session.connection().execute(
        update(Variant).where(of_anchor).values(since_version=Variant.version + 1)
    )
    for some in chunks(ids):
        session.connection().execute(
            delete(VariantCosine).where(col(VariantCosine.variant_id).in_(some))
        )
    changes = refresh_status(session, ids)
    measure_variants(session, ids)
    return changes


def retire_anchor(session: Session, anchor_id: int) -> bool:
    """Retire the anchor and its variants from queues and releases; return whether it was in use.

    Decisions are kept, and existing releases do not change.
    """
    return bool(_set_retired(session, [anchor_id], retired=True))


def restore_anchor(session: Session, anchor_id: int) -> bool:
    """Restore a retired anchor; return whether it was retired.

    Variants of a retired type come back when the type is restored.
    """
    return bool(_set_retired(session, [anchor_id], retired=False))


def retire_anchors(engine: Engine, anchor_ids: Iterable[int]) -> list[int]:
    """Retire many anchors, in pieces. Returns those that were in use."""
    return _set_all_retired(engine, anchor_ids, retired=True)


def restore_anchors(engine: Engine, anchor_ids: Iterable[int]) -> list[int]:
    """Restore many anchors, in pieces. Returns those that were retired."""
    return _set_all_retired(engine, anchor_ids, retired=False)


def _set_all_retired(engine: Engine, anchor_ids: Iterable[int], *, retired: bool) -> list[int]:
    require(TeamRole.LEAD)
    changed: list[int] = []

    def change(session: Session, some: list[int]) -> None:
        changed.extend(_set_retired(session, some, retired=retired))

    write_in_pieces(engine, anchor_ids, change)
    return changed


def _set_retired(session: Session, anchor_ids: Iterable[int], *, retired: bool) -> list[int]:
    changed: list[int] = []
    types = types_in_use(session)
    for ids in chunks(anchor_ids):
        since = col(Anchor.retired_at)
        to_change = since.is_(None) if retired else since.is_not(None)
        # All code locks rows in the order of their ids.
        query = select(col(Anchor.id)).where(col(Anchor.id).in_(ids), to_change)
        locked = query.order_by(col(Anchor.id)).with_for_update()
        some = session.execute(locked).scalars().all()
        session.flush()
        session.connection().execute(
            update(Anchor)
            .where(col(Anchor.id).in_(some))
            .values(retired_at=now() if retired else None)
        )
        which: ColumnElement[bool] = col(Variant.anchor_id).in_(some)
        if not retired:
            which &= col(Variant.type_id).in_(types)
        session.connection().execute(update(Variant).where(which).values(retired=retired))
        changed += some
    for row in list(session.identity_map.values()):
        if isinstance(row, Anchor):
            session.expire(row, ["retired_at"])
    forget_kept(session)
    return changed


# -- applying a correction to the anchor's variants -----------------------------------------------
#
# The words that changed between the revision a variant was made for and the current revision are
# also changed in the variant, if it contains exactly these words. A person checks each new text,
# which is then stored as an edit.


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
