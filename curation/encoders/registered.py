"""The encoders that the project knows, with their rows and where each is loaded from."""

from collections.abc import Sequence
from pathlib import Path

from sqlalchemy import select
from sqlalchemy.orm import Session
from sqlmodel import col

from curation.encoders.loading import check_encoder
from curation.encoders.model_folders import BUILT_IN, LOADERS, resolve_encoder
from curation.project.settings import ACTIVE_ENCODER, get_setting
from db.columns import now
from db.engine import insert_new
from db.errors import HedgerowError
from db.models import Encoder
from db.settings import Settings

MAX_NAME = 300
"""Maximum length of an encoder's name, in characters."""


def register_encoder(session: Session, *, name: str, hash_: str) -> Encoder:
    """Return the row of the encoder with this fingerprint; create it if there is none.

    Register an encoder only after loading it, so that the project lists only encoders that work. An
    encoder registered under another name keeps that name.
    """
    insert_new(
        session, Encoder, [{"name": name, "fingerprint": hash_, "path": "", "created_at": now()}]
    )
    return session.execute(select(Encoder).where(col(Encoder.fingerprint) == hash_)).scalar_one()


def is_registered(session: Session, hash_: str) -> bool:
    """Whether a row exists for this fingerprint."""
    query = select(col(Encoder.id)).where(col(Encoder.fingerprint) == hash_)
    return session.execute(query).first() is not None


def list_encoders(session: Session) -> Sequence[Encoder]:
    """All encoders that have measured something in this project, in order of registration."""
    return session.execute(select(Encoder).order_by(col(Encoder.id))).scalars().all()


def known_encoders(session: Session) -> list[str]:
    """The encoders to offer: active, built-in, the project's (newest first), plug-ins."""
    rows = session.execute(select(col(Encoder.name)).order_by(col(Encoder.id).desc())).scalars()
    first = [get_setting(session, ACTIVE_ENCODER), *BUILT_IN]
    return list(dict.fromkeys([*first, *rows, *LOADERS.names()]))


def encoder_source(session: Session, settings: Settings, name: str) -> str:
    """Return what ``load_encoder`` needs for this name; for a trained encoder, its folder."""
    query = select(col(Encoder.path)).where(col(Encoder.name) == name, col(Encoder.path) != "")
    path = session.execute(query.order_by(col(Encoder.id).desc()).limit(1)).scalar()
    return str(settings.data_folder / path) if path else name


def encoder_name(session: Session, settings: Settings, typed: str) -> str:
    """Return the name under which the project knows, or will know, the encoder that somebody typed.

    A folder becomes its full path, so that it is found from any working directory; the folder of a
    trained encoder becomes that encoder's name. The encoder's files are inspected but not loaded.
    An encoder that the project already knows passes even if its files are gone, because its
    measurements are stored.

    Raises:
        HedgerowError: it can't be a text encoder, its folder is gone, or the name is unknown.
    """
    name = typed.strip()
    source = encoder_source(session, settings, name)
    check_encoder(source, must_exist=name not in known_encoders(session))
    found = resolve_encoder(source)
    if isinstance(found, Path) and name not in known_encoders(session):
        name = _name_of_folder(session, settings, found.resolve())
    if len(name) > MAX_NAME:
        raise HedgerowError(
            f"Expected an encoder's name of at most {MAX_NAME} characters, found {len(name)}."
        )
    return name


def _name_of_folder(session: Session, settings: Settings, folder: Path) -> str:
    trained = select(col(Encoder.name), col(Encoder.path)).where(col(Encoder.path) != "")
    for name, path in session.execute(trained):
        if (settings.data_folder / path).resolve() == folder:
            return name
    return str(folder)
