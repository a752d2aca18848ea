"""Correct, retire and restore anchors."""

from collections.abc import Iterable, Sequence
from typing import NamedTuple

from sqlalchemy import ColumnElement, delete, func, select, update
from sqlalchemy.orm import Session
from sqlmodel import col

from curation.anchors.checks import Finding, suspicions
from curation.anchors.revisions import checked_anchor_text, of_current_revision
from curation.content_uids import anchor_uid, words_of
from curation.decisions.reviewers import shown_name
from curation.decisions.storing import StatusChange, chunks, forget_kept, refresh_status
from curation.diagnostics.measuring import measure_variants
from curation.taxonomy.project_types import types_in_use
from db.columns import now
from db.errors import HedgerowError
from db.models import Anchor, AnchorRevision, Reviewer, Status, Variant, VariantCosine

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
    return bool(retire_anchors(session, [anchor_id]))


def restore_anchor(session: Session, anchor_id: int) -> bool:
    """Restore a retired anchor; return whether it was retired.

    Variants of a retired type come back when the type is restored.
    """
    return bool(restore_anchors(session, [anchor_id]))


def retire_anchors(session: Session, anchor_ids: Iterable[int]) -> list[int]:
    """Retire several anchors, all or none; return the ids of those that were in use."""
    return _set_retired(session, anchor_ids, retired=True)


def restore_anchors(session: Session, anchor_ids: Iterable[int]) -> list[int]:
    """Restore several anchors, all or none; return the ids of those that were retired."""
    return _set_retired(session, anchor_ids, retired=False)


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
