"""How often gold items come, and whether new reviewers practise first: the same for everybody."""

from sqlalchemy.orm import Session

from curation.project.opening import GOLD_RATE, PRACTISE_FIRST, get_setting, put_setting
from db.errors import HedgerowError

LARGEST_RATE = 1000


def change_rate(session: Session, rate: int) -> bool:
    """Have one in so many cards be a gold item, or none for 0.

    Returns:
        Whether this is another rate than before.

    Raises:
        HedgerowError: it is out of range.
    """
    if rate and not 2 <= rate <= LARGEST_RATE:
        raise HedgerowError(
            f"Expected 0 (no gold items) or one in 2 to {LARGEST_RATE:,} cards, found {rate}."
        )
    return _change(session, GOLD_RATE, rate)


def change_practise_first(session: Session, first: bool) -> bool:
    """Have new reviewers finish a practice round before they decide; whether that is a change."""
    return _change(session, PRACTISE_FIRST, first)


def _change(session: Session, key: str, value: int | bool) -> bool:
    if value == get_setting(session, key):
        return False
    put_setting(session, key, value)
    return True
