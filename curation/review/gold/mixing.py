"""Gold items in the review queue, which look like pending cards.

Until a reviewer has decided on a gold item, they see it as a pending variant: without its
settlement, other people's verdicts and other people's notes. Its maker sees it as it is.
"""

from collections.abc import Collection, Iterable
from dataclasses import replace

from sqlalchemy import func, select
from sqlalchemy.orm import Session
from sqlmodel import col

from curation.decisions.history import not_retracted
from curation.decisions.notes import count_notes
from curation.decisions.reviewers import is_by, person_id_now
from curation.decisions.storing import counts_still, rows_with
from curation.project.settings import GOLD_RATE, PRACTISE_FIRST, get_setting, put_setting
from curation.review.cards import Card
from curation.review.gold.items import gold_items
from curation.splits import bucket
from db.errors import HedgerowError
from db.models import Decision, GoldUse, Reviewer, Status, Variant

_SALT = "gold"
_ROWS_OF_A_CARD = 12
"""Decisions to read per card: rejecting a family stores one for each of its variants."""


def due(
    session: Session,
    reviewer_id: int,
    *,
    type_ids: Collection[str],
    source_id: int | None,
    passed: Collection[int],
) -> int | None:
    """The gold item to show in place of the next pending card, if one is due.

    The number of cards between two gold items is uniformly distributed, so that nobody can predict
    the next one. It is a hash of the reviewer and the last gold item that they decided on, so that
    a restart does not change it.

    Args:
        type_ids, source_id: the types and the source under review; None for all sources.
        passed: variants to skip.
    """
    rate = get_setting(session, GOLD_RATE)
    if not rate:
        return None
    mixed = gold_items(session, use=GoldUse.MIXED)
    answered = _last_answers(session, reviewer_id, [item.variant_id for item in mixed])
    last = max(answered.values(), default=0)
    if not _has_decided(session, reviewer_id, since=last, cards=_gap(reviewer_id, last, rate)):
        return None
    left = [
        item.variant_id
        for item in mixed
        if item.maker_id != reviewer_id
        and item.type_id in type_ids
        and source_id in (None, item.source_id)
        and item.variant_id not in answered
        and item.variant_id not in passed
    ]
    return min(left, key=lambda key: bucket(f"{reviewer_id} {key}", salt=_SALT), default=None)


def _gap(reviewer_id: int, last: int, rate: int) -> int:
    """Cards between two gold items: 0 to 2 * (rate - 1), rate - 1 on average."""
    return int(bucket(f"{reviewer_id} after {last}", salt=_SALT) * (2 * rate - 1))


def _last_answers(session: Session, reviewer_id: int, ids: Collection[int]) -> dict[int, int]:
    """By variant, the id of the reviewer's last current decision."""
    # Not ``is_by``: SQLite would read all of the reviewer's decisions.
    query = (
        select(col(Decision.variant_id), func.max(col(Decision.id)))
        .join(Reviewer, col(Reviewer.id) == col(Decision.reviewer_id))
        .join(Variant, col(Variant.id) == col(Decision.variant_id))
        .where(person_id_now() == reviewer_id, not_retracted(), counts_still())
        .group_by(col(Decision.variant_id))
    )
    return dict(rows_with(session, query, col(Decision.variant_id), ids))


def _has_decided(session: Session, reviewer_id: int, *, since: int, cards: int) -> bool:
    """Whether the reviewer has decided on at least ``cards`` cards after this decision."""
    if not cards:
        return True
    query = (
        select(col(Decision.action_id), col(Decision.shown_at))
        .where(
            is_by(session, Decision.reviewer_id, reviewer_id),
            col(Decision.id) > since,
            not_retracted(),
        )
        .order_by(col(Decision.id).desc())
        .limit(cards * _ROWS_OF_A_CARD)
    )
    shown = {action for action, shown_at in session.execute(query) if shown_at is not None}
    return len(shown) >= cards


def undecided(session: Session, reviewer_id: int, variant_ids: Iterable[int]) -> frozenset[int]:
    """The gold items among these variants that this reviewer must see as pending."""
    mixed = gold_items(session, use=GoldUse.MIXED, of=variant_ids)
    ids = [item.variant_id for item in mixed if item.maker_id != reviewer_id]
    return frozenset(ids).difference(_last_answers(session, reviewer_id, ids))


def known_gold(session: Session, variants: Iterable[Variant]) -> frozenset[int]:
    """The gold items among these variants. Reviewers' verdicts don't change their status."""
    found = gold_items(session, of=[variant.id for variant in variants])
    return frozenset(item.variant_id for item in found)


def as_pending(session: Session, shown: Card, reviewer_id: int) -> Card:
    """The card as a pending variant without verdicts, and only with the reviewer's own notes."""
    values = shown.variant.model_dump() | {"status": Status.PENDING, "model_only": False}
    notes = count_notes(session, shown.variant.id, reviewer_id=reviewer_id)
    return replace(shown, variant=Variant(**values), notes=notes)


# -- settings -------------------------------------------------------------------------------------


LARGEST_RATE = 1000


def change_rate(session: Session, rate: int) -> bool:
    """Make about one in ``rate`` cards of the queue a gold item; 0 for none.

    Returns:
        Whether the rate changed.

    Raises:
        HedgerowError: the rate is out of range.
    """
    if rate and not 2 <= rate <= LARGEST_RATE:
        raise HedgerowError(
            f"Expected 0 (no gold items), or one in 2 to {LARGEST_RATE:,} cards, found {rate}."
        )
    return put_setting(session, GOLD_RATE, rate)


def change_practise_first(session: Session, first: bool) -> bool:
    """Choose whether new reviewers finish a practice round first; returns whether that changed."""
    return put_setting(session, PRACTISE_FIRST, first)
