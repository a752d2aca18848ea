"""The rate of gold items, and whether new reviewers practise first, for the whole project."""

from sqlalchemy.orm import Session

from curation.project.opening import GOLD_RATE, PRACTISE_FIRST, get_setting, put_setting
from db.errors import HedgerowError

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
    return _change(session, GOLD_RATE, rate)


def change_practise_first(session: Session, first: bool) -> bool:
    """Choose whether new reviewers finish a practice round first; returns whether that changed."""
    return _change(session, PRACTISE_FIRST, first)


def _change(session: Session, key: str, value: int | bool) -> bool:
    if value == get_setting(session, key):
        return False
    put_setting(session, key, value)
    return True
