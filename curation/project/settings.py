"""The project's shared settings, and their defaults."""

from typing import Any

from sqlalchemy import select
from sqlalchemy.orm import Session
from sqlmodel import col

from db.models import Encoder, Setting

DEFAULT_ENCODER = "all-MiniLM-L6-v2"
"""The encoder that is installed with Hedgerow, so that no model hub is needed."""

TRAINED_ENCODER = "hedgerow-minilm"
"""The default encoder after training with Hedgerow. It ships as an adapter."""

BUILT_IN = (DEFAULT_ENCODER, TRAINED_ENCODER)
"""Reserved names: a folder, a plug-in or a model on the Hub can't use them."""


LEVENSHTEIN_THRESHOLD = 60
"""In characters.

Variants farther from their anchor are dropped (section 3.1.3: about ten words), unless their type
is free-form.
"""

ACTIVE_ENCODER = "active_encoder"
THRESHOLD = "levenshtein_threshold"
PRICES = "prices"
ASSIGNMENT = "assignment"
"""The assignment plan; None for one person per variant."""
REORDER_AFTER = "reorder_after"
"""Id of the last variant sorted into the queues by the current settings; None if all are."""
GOLD_RATE = "gold_rate"
"""About one in this many cards is a gold item; 0 for none."""
PRACTISE_FIRST = "practise_first"
"""Whether new reviewers finish a practice round before they decide."""

DEFAULTS: dict[str, Any] = {
    ACTIVE_ENCODER: DEFAULT_ENCODER,
    THRESHOLD: LEVENSHTEIN_THRESHOLD,
    PRICES: {},
    REORDER_AFTER: None,
    ASSIGNMENT: None,
    GOLD_RATE: 0,
    PRACTISE_FIRST: False,
}


def get_setting(session: Session, key: str) -> Any:
    """The setting's value, or its default."""
    row = session.get(Setting, key)
    return DEFAULTS[key] if row is None else row.value


def put_setting(session: Session, key: str, value: Any) -> bool:
    """Store a setting, and return whether it changed; ``key`` is one of ``DEFAULTS``."""
    if value == get_setting(session, key):
        return False
    session.merge(Setting(key=key, value=value))
    return True


def active_encoder_id(session: Session) -> int | None:
    """The id of the active encoder's row; None before it has measured anything."""
    name = get_setting(session, ACTIVE_ENCODER)
    query = (
        select(col(Encoder.id)).where(col(Encoder.name) == name).order_by(col(Encoder.id).desc())
    )
    return session.execute(query.limit(1)).scalar_one_or_none()
