"""The project: opening its database, and the settings that are the same for all who work in it."""

from pathlib import Path
from typing import Any

from sqlalchemy import Engine
from sqlmodel import Session

from curation.encoders import DEFAULT_ENCODER
from curation.measures import LEVENSHTEIN_THRESHOLD
from curation.types import list_types, seed_taxonomy
from db.engine import create_engine, reading, writing
from db.migrate import upgrade
from db.models import Setting
from db.settings import Settings

ACTIVE_ENCODER = "active_encoder"
THRESHOLD = "levenshtein_threshold"

DEFAULTS: dict[str, Any] = {
    ACTIVE_ENCODER: DEFAULT_ENCODER,
    THRESHOLD: LEVENSHTEIN_THRESHOLD,
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


def open_project(settings: Settings) -> Engine:
    """Open the project's database: made if it is not there, upgraded if it is older.

    Raises:
        HedgerowError: the database cannot be made, read or upgraded; nothing was changed then.
    """
    if settings.url.get_backend_name() == "sqlite" and settings.url.database:
        Path(settings.url.database).parent.mkdir(parents=True, exist_ok=True)
    engine = create_engine(settings.url)
    upgrade(engine)
    with reading(engine) as session:
        seeded = len(list_types(session)) > 0
    if not seeded:
        with writing(engine) as session:
            seed_taxonomy(session)
    return engine
