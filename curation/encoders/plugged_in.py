"""Encoders that other packages provide: plug-ins in the group ``hedgerow.encoders``."""

from __future__ import annotations

import hashlib
import os
from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, ClassVar

import numpy as np

from curation.plug_ins import PlugInGroup, failures_of
from curation.project.settings import BUILT_IN
from db.errors import HedgerowError

if TYPE_CHECKING:
    from sentence_transformers import SentenceTransformer

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
