"""Loading text encoders, checking that they are safe to load, and fingerprinting them.

Torch and sentence-transformers are imported inside the functions that need them, so that pages and
commands without an encoder open at once.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from curation.encoders.checkpoint_files import (
    ADAPTER_CONFIG,
    ADAPTER_WEIGHTS,
    SENTENCE_TRANSFORMER,
    base_of,
    is_adapter,
    merge_into_transformer,
    require_encoder,
    require_encoder_config,
    writes_text,
)
from curation.encoders.model_folders import (
    DEFAULT_ENCODER,
    DEFAULT_PACKAGE,
    TRAINED_ENCODER,
    encoder_folder,
    hub_answers,
    is_plugged_in,
    load_plugged_in,
    loader_of,
    local_folder,
    plugged_in_fingerprint,
    resolve_encoder,
)
from db.errors import HedgerowError, first_line
from db.named_files import sha256_of

if TYPE_CHECKING:
    from sentence_transformers import SentenceTransformer

DEFAULT_WEIGHTS_SHA256 = "53aa51172d142c89d9012cce15ae4d6cc0ca6895895114379cacb4fab128d9db"
TRAINED_WEIGHTS_SHA256 = "6ab76edf007a04116d2b9d273c3e6e8ab4f0c876a3485e1c1656dc055ac294b0"

# Unpickling can run code.
PICKLE_PATTERNS = ("*.bin", "*.pt", "*.pth", "*.pkl")

LOOK_UP_SECONDS = 5
"""Seconds that a page or command waits for the Hub to describe a model."""

# The files besides the weights that affect an embedding: modules and pooling, maximum length,
# prompts, tokenizer. The model card and training notes don't.
FINGERPRINT_NAMES = frozenset(
    "modules.json config.json sentence_bert_config.json config_sentence_transformers.json "
    "tokenizer.json tokenizer_config.json special_tokens_map.json added_tokens.json "
    f"vocab.txt vocab.json merges.txt artifact.metadata {ADAPTER_CONFIG}".split()
)
CHAT_TEMPLATE = "chat_template.jinja"
FINGERPRINT_SUFFIXES = frozenset({".safetensors", ".model"})


def load_encoder(name: str, *, device: str | None = None) -> SentenceTransformer:
    """Load a built-in encoder, or one from a folder, the Hub or a plug-in, in evaluation mode.

    An adapter is merged into its base encoder.

    Only safetensors are read, and no code from the model folder runs (`trust_remote_code` is off).

    Args:
        name: one of `BUILT_IN`, a folder, a plug-in's name, or a Hub name such as
            `sentence-transformers/all-mpnet-base-v2`.
        device: 'cpu', 'cuda', 'mps' …; None for the best available one.

    Raises:
        HedgerowError: the model does not exist or is not a text encoder, the Hub can't be reached,
            the weights are not safetensors, a built-in encoder's weights have the wrong hash, or a
            plug-in fails.
    """
    model: SentenceTransformer
    if is_plugged_in(name):
        model = load_plugged_in(name, device=device).eval()
    else:
        model = load_model(name, SENTENCE_TRANSFORMER, device=device)
    if not model.supports("text"):
        raise HedgerowError(
            f"Expected a text encoder in {name!r}, found a model that does not read text; choose "
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
    if is_adapter(folder):
        if name == TRAINED_ENCODER:
            _check_weights(folder / ADAPTER_WEIGHTS, TRAINED_WEIGHTS_SHA256, package="hedgerow")
        check_only_safetensors(folder)
        model = load_model(base_of(folder), kind, device=device)
        merge_into_transformer(getattr(model[0], "model", None), folder)
        return model
    if name == DEFAULT_ENCODER:
        _check_weights(
            folder / "model.safetensors", DEFAULT_WEIGHTS_SHA256, package=DEFAULT_PACKAGE
        )
    elif kind == SENTENCE_TRANSFORMER:
        require_encoder(folder)
    check_only_safetensors(folder)

    import sentence_transformers

    try:
        with loading_logged():
            model = getattr(sentence_transformers, kind)(
                str(folder),
                device=device,
                trust_remote_code=False,
                local_files_only=True,
                model_kwargs={"use_safetensors": True},
            )
    except Exception as error:  # a third-party folder can fail in any way
        reason = first_line(error)
        raise HedgerowError(f"Could not load the encoder in {str(folder)!r}: {reason}") from error
    return model.eval()


def check_encoder(name: str, *, must_exist: bool = False) -> None:
    """Refuse anything known not to be a text encoder, without loading or downloading it.

    The Hub is asked about a Hub model that is not on this machine. If the Hub can't be reached, the
    model passes, and loading it will show.

    Args:
        name: as in `load_encoder`.
        must_exist: also refuse whatever can't be loaded right now: a folder without safetensors, a
            name unknown to the Hub, or any Hub name while the Hub can't be reached.

    Raises:
        HedgerowError: as in `resolve_encoder`; or it is a model of another kind, or a plug-in that
            can't be loaded.
    """
    if is_plugged_in(name):
        loader_of(name)
        return
    folder = local_folder(name)
    if folder is not None:
        if is_adapter(folder):
            check_encoder(base_of(folder), must_exist=must_exist)
        else:
            require_encoder(folder)
        if must_exist:
            check_only_safetensors(folder)
        return
    from huggingface_hub import HfApi  # noqa: PLC0415

    try:
        with hub_answers(name):
            found = HfApi().model_info(str(resolve_encoder(name)), timeout=LOOK_UP_SECONDS)
    except HedgerowError:
        if must_exist:
            raise
        return
    files = [file.rfilename for file in found.siblings or []]
    require_encoder_config(name, found.config, files)


def fingerprint(folder_or_name: Path | str) -> str:
    """SHA-256 (64 hex digits) over all files that affect an encoder's embeddings.

    These are the weights (every *.safetensors), modules.json, each module's configuration
    (including pooling), the prompts and the tokenizer's files, each with its relative path. The
    model card and other notes don't count. Equal fingerprints mean equal embeddings; equal
    embeddings need not mean equal fingerprints, since files are compared byte by byte. For an
    adapter, the base counts too; for a model that generates text, its chat template does. For a
    plug-in's encoder, the hash covers its name and its loader's version.

    Raises:
        HedgerowError: as in `encoder_folder`, or the folder contains no safetensors.
    """
    if is_plugged_in(str(folder_or_name)):
        return plugged_in_fingerprint(str(folder_or_name))
    folder = encoder_folder(str(folder_or_name))
    names = FINGERPRINT_NAMES | ({CHAT_TEMPLATE} if writes_text(folder) else set())
    counted = [
        path
        for path in folder.rglob("*")
        if path.is_file() and (path.name in names or path.suffix in FINGERPRINT_SUFFIXES)
    ]
    relative = {path.relative_to(folder): path for path in counted}
    files = sorted(
        (place.as_posix(), path)
        for place, path in relative.items()
        if not any(part.startswith(".") for part in place.parts)
    )
    if not any(name.endswith(".safetensors") for name, _ in files):
        raise HedgerowError(_no_safetensors(folder))
    digest = hashlib.sha256()
    if is_adapter(folder):
        base = base_of(folder)  # the weights of the default encoder are checked on loading
        identity = DEFAULT_WEIGHTS_SHA256 if base == DEFAULT_ENCODER else fingerprint(base)
        digest.update(f"{identity}\n".encode())
    for name, path in files:
        digest.update(f"{name}\0{sha256_of(path)}\n".encode())
    return digest.hexdigest()


def _check_weights(weights: Path, expected: str, *, package: str) -> None:
    """Refuse a built-in encoder whose weights have the wrong hash."""
    found = sha256_of(weights) if weights.is_file() else "no such file"
    if found != expected:
        raise HedgerowError(
            f"The built-in encoder's weights {str(weights)!r} should have SHA-256 {expected}, "
            f"found {found}; reinstall the package {package}."
        )


def check_only_safetensors(folder: Path) -> None:
    """Refuse a model if any part of it would be read from a pickle."""
    if not any(folder.rglob("*.safetensors")):
        raise HedgerowError(_no_safetensors(folder))
    for part in _module_folders(folder):
        pickles = [path for pattern in PICKLE_PATTERNS for path in part.glob(pattern)]
        if pickles and not any(part.glob("*.safetensors")):
            raise HedgerowError(
                f"Expected weights as safetensors, found a pickle ({str(pickles[0])!r}), which "
                "could run code; convert the model or choose another one."
            )


def _no_safetensors(folder: Path) -> str:
    return (
        f"Expected model weights as *.safetensors in {str(folder)!r}, found none; "
        "choose a model saved as safetensors."
    )


def _module_folders(folder: Path) -> list[Path]:
    """The folders of a model's modules, from its modules.json or else the model's own folder."""
    listing = folder / "modules.json"
    if not listing.is_file():
        return [folder]
    try:
        modules = json.loads(listing.read_text(encoding="utf-8"))
        return [folder / str(module["path"]) for module in modules]
    except (ValueError, TypeError, KeyError) as error:
        raise HedgerowError(f"Expected a list of modules in {str(listing)!r}: {error}") from error


# -- Redirects the messages that transformers prints while it loads a model -----------------------


@contextmanager
def loading_logged() -> Iterator[None]:
    """Within this context, messages about a model's weights go to the run's log, if there is one.

    By default transformers prints them over a progress bar or into a notebook's cell. This also
    turns off its progress bars for good, since they would fill the log.
    """
    from transformers.utils import logging

    logging.disable_progress_bar()
    logging.disable_default_handler()
    logging.enable_propagation()
    try:
        yield
    finally:
        logging.disable_propagation()
        logging.enable_default_handler()


class BareTransformer(NamedTuple):
    """A transformers model in evaluation mode, with its tokenizer."""

    model: Any
    tokenizer: Any


def load_transformer(name: str, kind: str) -> BareTransformer:
    """Load a model with one of transformers' classes onto the best available device.

    Only safetensors are read, and no code from the model folder runs. A LoRA adapter is merged into
    its base.

    Args:
        name: a folder, or a name on the Hub.
        kind: a class name such as 'T5ForConditionalGeneration'.

    Raises:
        HedgerowError: the model does not exist, the Hub can't be reached, the weights are not
            safetensors, or some weights are missing.
    """
    folder = named = encoder_folder(name)
    check_only_safetensors(named)
    if is_adapter(named):
        folder = encoder_folder(base_of(named))
        check_only_safetensors(folder)
    words = named if (named / "tokenizer_config.json").is_file() else folder

    import transformers
    from sentence_transformers.util import get_device_name

    device = get_device_name()
    try:
        with loading_logged():
            tokenizer = transformers.AutoTokenizer.from_pretrained(
                str(words), local_files_only=True, trust_remote_code=False
            )
            model, found = getattr(transformers, kind).from_pretrained(
                str(folder),
                local_files_only=True,
                trust_remote_code=False,
                use_safetensors=True,
                output_loading_info=True,
                # CPUs without 16-bit arithmetic are many times slower with 16-bit weights.
                dtype="auto" if device != "cpu" else "float32",
            )
    except Exception as error:  # a third-party folder can fail in any way
        reason = first_line(error)
        raise HedgerowError(f"Could not load the model in {str(folder)!r}: {reason}") from error
    if missing := sorted(found["missing_keys"]):
        raise HedgerowError(
            f"Expected all weights of a {kind} in {str(folder)!r}, found none for {missing[0]}; "
            "choose another model."
        )
    if folder != named:
        merge_into_transformer(model, named)
    return BareTransformer(model.to(device).eval(), tokenizer)
