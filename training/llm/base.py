"""Causal language models to start from: finding, checking and loading them.

Only safetensors are read, and no code in a model folder is executed (`trust_remote_code` is off).
Torch and transformers are imported inside the functions that need them.
"""

import importlib.util
from pathlib import Path
from typing import Any, NamedTuple

from curation.encoders.checkpoint_files import (
    ADAPTER_CONFIG,
    MODULES,
    architectures,
    is_causal,
    read_json,
    read_text,
)
from curation.encoders.loading import check_only_safetensors
from curation.encoders.model_folders import (
    HUB_FILES,
    HUB_FILES_LEFT_OUT,
    hub_answers,
    resolve_encoder,
)
from db.errors import HedgerowError, first_line

PAPER_BASE = "meta-llama/Meta-Llama-3-8B-Instruct"
"""The paper's base model. Access on the model hub is gated."""

WHAT = "language model"

LOOK_UP_SECONDS = 10
"""Seconds to wait for the Hub's description of a model."""

MAX_NAME = 300
"""Maximum number of characters of a name or path."""


class LanguageModel(NamedTuple):
    """A causal language model and its tokenizer, both from transformers."""

    model: Any
    tokenizer: Any


def clean_base(name: str) -> str:
    """The name in its stored form: a folder becomes an absolute path.

    Raises:
        HedgerowError: the name is empty or too long, or means a file, a missing folder, or a folder
            without a causal language model in safetensors files.
    """
    found = _resolved(name)
    if isinstance(found, Path):
        require_causal(found)
        found = str(found.resolve())
    if len(found) > MAX_NAME:
        raise HedgerowError(
            f"Expected a model name of at most {MAX_NAME} characters, found {len(found)}; move "
            "its folder to a shorter path."
        )
    return found


def local_base(name: str) -> Path | None:
    """The folder with a model's files, without network access; None if they are not on this
    machine.

    Raises:
        HedgerowError: as in `clean_base`, except that the folder's content is not checked.
    """
    found = _resolved(name)
    if isinstance(found, Path):
        return found
    from huggingface_hub.errors import HFValidationError, LocalEntryNotFoundError  # noqa: PLC0415

    try:
        return _snapshot(found, local_files_only=True)
    except (LocalEntryNotFoundError, HFValidationError):
        return None


def base_folder(name: str) -> Path:
    """The folder on this machine with a model's files; downloads a Hub model first.

    Raises:
        HedgerowError: as in `clean_base`, or the model is not on the Hub, or it has not been
            downloaded and the Hub can't be reached.
    """
    found = _resolved(name)
    if isinstance(found, str):
        with hub_answers(found, what=WHAT):
            found = _snapshot(found, local_files_only=False)
    require_causal(found)
    return found


def _resolved(name: str) -> Path | str:
    """A folder, or the name of a model on the Hub."""
    name = name.strip()
    if not name:
        raise HedgerowError(
            "Expected the folder or name of a language model, found nothing; the paper uses "
            f"{PAPER_BASE!r}."
        )
    found = resolve_encoder(name)
    return name if isinstance(found, str) else found  # only encoders may lack their owner


def _snapshot(name: str, *, local_files_only: bool) -> Path:
    # Loading the hub's client takes half a second, and only a model from there needs it.
    from huggingface_hub import snapshot_download  # noqa: PLC0415

    return Path(
        snapshot_download(
            name,
            allow_patterns=HUB_FILES,
            ignore_patterns=HUB_FILES_LEFT_OUT,
            local_files_only=local_files_only,
        )
    )


def check_base(name: str, *, chat_template: bool) -> None:
    """Check a base model as far as possible without loading or downloading it.

    Args:
        name: the result of `clean_base`.
        chat_template: whether its tokenizer needs a chat template.

    Raises:
        HedgerowError: as in `require_causal` and `require_chat_template`, or the model is neither
            on this machine nor on the Hub, or the Hub can't be reached.
    """
    if folder := local_base(name):
        require_causal(folder)
        if chat_template:
            require_chat_template(folder, name=name)
        return
    from huggingface_hub import HfApi  # noqa: PLC0415

    with hub_answers(name, what=WHAT):
        found = HfApi().model_info(name, timeout=LOOK_UP_SECONDS)
    files = [file.rfilename for file in found.siblings or []]
    if not any(file.endswith(".safetensors") for file in files):
        raise HedgerowError(
            f"Expected model weights as *.safetensors in {name!r}, found none; choose a model "
            "saved as safetensors."
        )
    _require_class(name, found.config)


def require_causal(folder: Path) -> None:
    """Check that a folder contains a causal language model in safetensors files.

    Raises:
        HedgerowError: the folder has no model, a model of another kind, or weights in another
            format.
    """
    if (folder / MODULES).is_file():
        raise _refusal(folder, "a sentence-transformers model")
    if (folder / ADAPTER_CONFIG).is_file():
        raise HedgerowError(
            f"Expected a whole language model in {str(folder)!r}, found an adapter; use the "
            "folder of the merged model (--merge creates one)."
        )
    _require_class(folder, read_json(folder / "config.json"))
    check_only_safetensors(folder)


def _require_class(place: Path | str, config: Any) -> None:
    if not is_causal(config):
        raise _refusal(
            place, ", ".join(architectures(config)) or "no config.json that names a model"
        )


def _refusal(place: Path | str, found: str) -> HedgerowError:
    return HedgerowError(
        f"Expected a causal language model in {str(place)!r}, found {found}; use the folder of "
        "one that transformers can load, such as a Llama."
    )


def has_chat_template(folder: Path) -> bool:
    """Whether a tokenizer has a chat template, in any of the files that transformers uses for it.

    Raises:
        HedgerowError: a file can't be read.
    """
    places = ("tokenizer_config.json", "chat_template.json")
    return bool(read_text(folder / "chat_template.jinja").strip()) or any(
        read_json(folder / place).get("chat_template") for place in places
    )


def require_chat_template(folder: Path, *, name: str) -> None:
    """Check that the tokenizer has a chat template, if the questions use one.

    Raises:
        HedgerowError: it has none.
    """
    if not has_chat_template(folder):
        raise HedgerowError(
            f"The tokenizer of {name!r} has no chat template; set chat_template=false to train "
            "on plain questions, or choose an instruction-tuned model."
        )


def require_four_bit() -> None:
    """Check that this machine can load 4-bit weights.

    Raises:
        HedgerowError: bitsandbytes is not installed, or there is no GPU for it.
    """
    if importlib.util.find_spec("bitsandbytes") is None:
        raise HedgerowError(
            "four_bit needs the package bitsandbytes, which is not installed; run 'pip install "
            "bitsandbytes', or set four_bit=false."
        )
    import torch

    if not torch.cuda.is_available():
        raise HedgerowError("four_bit needs a CUDA GPU, found none; set four_bit=false.")


def load_base(folder: Path, *, four_bit: bool = False) -> LanguageModel:
    """Load a model and its tokenizer on the best device here. On a GPU with bfloat16 support, the
    weights are in bfloat16.

    Raises:
        HedgerowError: it can't be loaded, lacks weights, or its tokenizer has no end-of-text token.
    """
    if four_bit:
        require_four_bit()
    import torch
    from sentence_transformers.util import get_device_name
    from transformers import AutoModelForCausalLM, AutoTokenizer
    from transformers.utils import logging as transformers_logging

    transformers_logging.disable_progress_bar()  # it would write into a run's log
    half = torch.cuda.is_available() and torch.cuda.is_bf16_supported(including_emulation=False)
    options: dict[str, Any] = {"dtype": torch.bfloat16 if half else torch.float32}
    if four_bit:
        options |= _in_four_bits(options["dtype"])
    try:
        tokenizer = AutoTokenizer.from_pretrained(
            str(folder), local_files_only=True, trust_remote_code=False
        )
        model, found = AutoModelForCausalLM.from_pretrained(
            str(folder),
            local_files_only=True,
            trust_remote_code=False,
            use_safetensors=True,
            output_loading_info=True,
            **options,
        )
    except Exception as error:  # unknown files can fail in any way
        reason = first_line(error)
        raise HedgerowError(f"Could not load the model in {str(folder)!r}: {reason}") from error
    if missing := sorted(found["missing_keys"]):
        raise HedgerowError(
            f"Expected all weights of a language model in {str(folder)!r}, found none for "
            f"{missing[0]}; choose another model."
        )
    if tokenizer.eos_token is None:
        raise HedgerowError(
            f"The tokenizer in {str(folder)!r} has no end-of-text token (eos_token), which "
            "answers need; set one in its tokenizer_config.json."
        )
    return LanguageModel(model if four_bit else model.to(get_device_name()), tokenizer)


def _in_four_bits(dtype: Any) -> dict[str, Any]:
    """The quantization of QLoRA (Dettmers et al. 2023)."""
    from transformers import BitsAndBytesConfig

    config = BitsAndBytesConfig(
        load_in_4bit=True,
        bnb_4bit_quant_type="nf4",
        bnb_4bit_use_double_quant=True,
        bnb_4bit_compute_dtype=dtype,
    )
    return {"quantization_config": config, "device_map": {"": 0}}
