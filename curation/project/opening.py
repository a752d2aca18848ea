"""Open the project's database, and read its shared settings."""

import threading
from pathlib import Path
from typing import Any

from sqlalchemy import Engine, select
from sqlalchemy.orm import Session
from sqlmodel import col

from curation.diagnostics.measures import LEVENSHTEIN_THRESHOLD
from curation.encoders.model_folders import DEFAULT_ENCODER
from curation.review.people.roles import guard
from curation.taxonomy.project_types import needs_seeding, seed_taxonomy
from db.engine import create_engine, one_at_a_time, reading, writing
from db.migrate import require_tables, upgrade
from db.models import Encoder, Setting
from db.run_folders import make_folder
from db.settings import Settings

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


def put_setting(session: Session, key: str, value: Any) -> None:
    """Store a setting; ``key`` is one of ``DEFAULTS``."""
    if key not in DEFAULTS:
        raise KeyError(key)
    session.merge(Setting(key=key, value=value))


def active_encoder_id(session: Session) -> int | None:
    """The id of the active encoder's row; None before it has measured anything."""
    name = get_setting(session, ACTIVE_ENCODER)
    query = (
        select(col(Encoder.id)).where(col(Encoder.name) == name).order_by(col(Encoder.id).desc())
    )
    return session.execute(query.limit(1)).scalar_one_or_none()


_opening = threading.Lock()
"""Alembic keeps global state, and two threads would both upgrade an old database."""


def open_project(settings: Settings, *, create: bool = True) -> Engine:
    """Open the project's database; create it if it is missing, and upgrade it if it is older.

    Args:
        create: create it if it is missing or empty.

    Raises:
        HedgerowError: the database cannot be created, read or upgraded, or is missing or empty
            without ``create``. Nothing is changed.
    """
    with _opening:
        if settings.url.get_backend_name() == "sqlite" and settings.url.database:
            make_folder(Path(settings.url.database).parent)
        engine = create_engine(settings.url, create=create)
        with one_at_a_time(engine):
            if not create:
                require_tables(engine)
            upgrade(engine)
            with reading(engine) as session:
                outdated = needs_seeding(session)
            if outdated:
                with writing(engine) as session:
                    seed_taxonomy(session)
        guard(engine)
        return engine
