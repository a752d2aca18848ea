"""Finding the encoder with a given name: built-in, trained here, in a folder, or on the hub.

Nothing here loads a model. The files of a folder are hashed at most once, until they change.
"""

import json
from functools import lru_cache
from pathlib import Path
from typing import Any, NamedTuple

from sqlalchemy import select
from sqlalchemy.orm import Session
from sqlmodel import col

from curation.encoders.checkpoint_files import ADAPTER_CONFIG, base_folder
from curation.encoders.loading import check_encoder, fingerprint
from curation.encoders.model_folders import (
    BUILT_IN,
    DEFAULT_ENCODER,
    LOADERS,
    TRAINED_ENCODER,
    local_folder,
    resolve_encoder,
)
from db.errors import HedgerowError
from db.models import Encoder
from db.settings import Settings
from training.models.finetuned import find_ranker, trained_rankers

MAX_ENCODER_NAME = 300
"""Maximum number of characters in the database."""

SHOWN = 100
"""Number of newest encoders in menus. Any other name can be typed."""

_SIGNS = ("modules.json", "config.json", ADAPTER_CONFIG)
"""A model's folder contains at least one of these files."""


def list_encoders(session: Session) -> list[str]:
    """Names to choose from: the default encoder, those trained here (newest first), the trained one
    that comes with Hedgerow, other encoders, and those of plug-ins."""
    query = select(Encoder).order_by(*_trained_last()).limit(SHOWN)
    rows = list(session.execute(query).scalars())
    trained = [row.name for row in rows if row.path]
    others = [row.name for row in rows if not row.path]
    return list(
        dict.fromkeys([DEFAULT_ENCODER, *trained, TRAINED_ENCODER, *others, *LOADERS.names()])
    )


def list_models(session: Session) -> list[str]:
    """The same for models that rank documents, including finetuned rerankers."""
    rankers = [ranker.name for ranker in trained_rankers(session)[:SHOWN]]
    default, *others = list_encoders(session)
    return [default, *rankers, *others]


def newest_trained(session: Session) -> str | None:
    """The name of the encoder that was trained last; None before the first training."""
    query = select(col(Encoder.name)).where(col(Encoder.path) != "").order_by(*_trained_last())
    return session.execute(query.limit(1)).scalar()


def _trained_last() -> tuple[Any, ...]:
    """The order in which the newest encoder comes first: the highest number of a run, as wherever
    runs are listed. A run that was requested earlier can end later."""
    return col(Encoder.run_id).desc().nulls_last(), col(Encoder.id).desc()


class EncoderChoice(NamedTuple):
    """The encoders to choose from. ``trained`` is the newest one trained here, or None."""

    names: list[str]
    trained: str | None

    @property
    def after(self) -> str:
        """The model to compare with the default encoder: the newest, or the bundled one."""
        return self.trained or TRAINED_ENCODER


def encoder_choice(session: Session) -> EncoderChoice:
    """The encoders to choose from, and the one that was trained last."""
    return EncoderChoice(list_encoders(session), newest_trained(session))


def model_choice(session: Session) -> EncoderChoice:
    """The same, including models that are not encoders."""
    return EncoderChoice(list_models(session), newest_trained(session))


def clean_name(session: Session, name: str) -> str:
    """The name in the form that is looked up and stored: a folder becomes its absolute path.

    Raises:
        HedgerowError: the name is empty or too long, or means a file, a missing folder, or a folder
            without a model.
    """
    name = name.strip()
    if _trained(session, name) is not None or find_ranker(session, name) is not None:
        return name
    found = resolve_encoder(name)
    if isinstance(found, Path) and name not in BUILT_IN:
        _check_model_folder(found)
        name = str(found.resolve())
    if len(name) > MAX_ENCODER_NAME:
        raise HedgerowError(
            f"Expected an encoder name of at most {MAX_ENCODER_NAME} characters, found "
            f"{len(name)}; move its folder to a shorter path."
        )
    return name


def require_known_encoder(session: Session, name: str) -> None:
    """Check that a model is a text encoder. Models that were trained on a release always are.

    Args:
        name: as in `clean_name`.

    Raises:
        HedgerowError: as in `check_encoder`.
    """
    if find_ranker(session, name) is not None:
        raise HedgerowError(
            f"Expected a text encoder, found {name!r}, which is a cross-encoder or a "
            "late-interaction model; choose an encoder."
        )
    if _trained(session, name) is None:
        check_encoder(name)


def _check_model_folder(folder: Path) -> None:
    """Refuse a folder without a model before all its files are read."""
    if not any((folder / name).is_file() for name in _SIGNS):
        raise HedgerowError(
            f"Expected a model in {str(folder)!r}, found neither modules.json nor config.json; "
            "use the folder of a model."
        )


def _trained(session: Session, name: str) -> Encoder | None:
    return _newest(session, (col(Encoder.name) == name) & (col(Encoder.path) != ""))


def find_encoder(session: Session, name: str) -> Encoder | None:
    """The row of the encoder that a name currently means; None if nothing was measured with it.

    An encoder is identified by its files, so a model that was saved again in the same folder is a
    different one. Without local files, it is identified by its name.

    Args:
        name: as in `clean_name`.

    Raises:
        HedgerowError: the folder is missing or cannot be read.
    """
    if trained := _trained(session, name):
        return trained
    by_name = _newest(session, col(Encoder.name) == name)
    if name == DEFAULT_ENCODER and by_name is not None:
        return by_name  # its weights are checked when it is loaded, and never change
    folder = local_folder(name)
    if folder is None or base_folder(folder) is None:
        return by_name
    return _newest(session, col(Encoder.fingerprint) == folder_fingerprint(folder))


class NamedEncoder(NamedTuple):
    """An encoder's clean name and its row; None if nothing was measured with it."""

    name: str
    row: Encoder | None


def named_encoder(session: Session, name: str) -> NamedEncoder:
    """The encoder with a name as typed by a user.

    Raises:
        HedgerowError: as in `clean_name` and `find_encoder`.
    """
    clean = clean_name(session, name)
    return NamedEncoder(clean, find_encoder(session, clean))


def _newest(session: Session, condition: Any) -> Encoder | None:
    query = select(Encoder).where(condition).order_by(col(Encoder.id).desc())
    return session.execute(query.limit(1)).scalar()


def folder_of(session: Session, settings: Settings, name: str) -> Path | None:
    """The folder with a model's files, without network access; None if they are not on this
    machine.

    Raises:
        HedgerowError: the folder is missing.
    """
    place = location_of(session, settings, name)
    return Path(place.name) if place.fingerprint else local_folder(name)


def folder_fingerprint(folder: Path) -> str:
    """The fingerprint of a model folder. It is computed again only when a file has changed."""
    folders = dict.fromkeys([folder, base_folder(folder) or folder])
    try:
        files = sorted(path for part in folders for path in part.rglob("*") if path.is_file())
        state = tuple((str(f), f.stat().st_size, f.stat().st_mtime_ns) for f in files)
    except OSError as error:
        raise HedgerowError(f"Could not read {str(folder)!r}: {error.strerror}.") from error
    return _fingerprint(str(folder), state)


@lru_cache(maxsize=32)
def _fingerprint(folder: str, state: tuple[tuple[str, int, int], ...]) -> str:
    return fingerprint(folder)


class ModelLocation(NamedTuple):
    """The location of a model, and its expected fingerprint; "" if it was not trained here."""

    name: str
    """The name or path for `load_encoder`."""
    fingerprint: str

    def checked(self) -> str:
        """The fingerprint of the existing files. Downloads a Hub model first.

        Raises:
            HedgerowError: as in `fingerprint`, or the files are not those of the trained model.
        """
        found = fingerprint(self.name)
        if self.fingerprint not in ("", found):
            raise HedgerowError(
                f"The files in {self.name} are not those of the model that was trained there; "
                "restore them, or use the folder's path."
            )
        return found


def location_of(session: Session, settings: Settings, name: str) -> ModelLocation:
    """The location of the model with this name.

    Raises:
        HedgerowError: the folder of a model that was trained here no longer exists.
    """
    trained = _trained(session, name) or find_ranker(session, name)
    if trained is None:
        return ModelLocation(name, "")
    folder = settings.data_folder / trained.path
    if not folder.is_dir():
        raise HedgerowError(
            f"The model {name!r} is no longer at {folder}; put it back, or choose another."
        )
    return ModelLocation(str(folder), trained.fingerprint)


def store_encoder(session: Session, settings: Settings, made: Encoder) -> Encoder:
    """The row of a model that a run has made. An earlier attempt of the run, or an equal model,
    may already have one; the latter gets this folder if its own is gone.

    Args:
        made: the row to store, with a path.
    """
    same = col(Encoder.fingerprint) == made.fingerprint
    query = select(Encoder).where(same | (col(Encoder.run_id) == made.run_id)).order_by(~same)
    row: Encoder | None = session.execute(query).scalars().first()
    if row is None:
        session.add(row := made)
    elif row.run_id == made.run_id or (
        row.id != made.base_id and not (row.path and (settings.data_folder / row.path).is_dir())
    ):
        row.name, row.path, row.fingerprint = made.name, made.path, made.fingerprint
        row.base_id, row.run_id, row.release_id = made.base_id, made.run_id, made.release_id
    session.flush()
    return row


# -- size -----------------------------------------------------------------------------------------
#
# The weight of an encoder from its configuration, for estimating its pace from another one.


BUILT_IN_WEIGHT = 6.0 * 384**2
"""The weight of the built-in encoder, as in `weight_of`."""

_LAYERS = ("num_hidden_layers", "n_layers", "num_layers")
_WIDTH = ("hidden_size", "dim", "d_model")
"""The keys in the configurations of BERT, DistilBERT and T5."""


def weight_of(folder: Path) -> float:
    """The number of layers times the square of their width, from a model's configuration; 0 if
    unknown.

    The time that a transformer takes for a text is roughly proportional to it.
    """
    folder = base_folder(folder) or folder
    for file in (folder / "config.json", folder / "0_Transformer" / "config.json"):
        if file.is_file():
            return _weight(file, file.stat().st_mtime_ns)
    return 0.0


@lru_cache(maxsize=64)
def _weight(file: Path, _changed: int) -> float:
    try:
        config: dict[str, Any] = json.loads(file.read_text(encoding="utf-8"))
        layers = next((config[name] for name in _LAYERS if config.get(name)), 0)
        width = next((config[name] for name in _WIDTH if config.get(name)), 0)
        return float(layers) * float(width) ** 2
    except (OSError, ValueError, TypeError, AttributeError):
        return 0.0
