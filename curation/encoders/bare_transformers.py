"""Models loaded with transformers itself, because sentence-transformers has no class for them."""

from __future__ import annotations

from typing import Any, NamedTuple

from curation.encoders.adapter_folders import base_of, is_adapter, merge_into_transformer
from curation.encoders.loading import check_only_safetensors, loading_logged
from curation.encoders.model_folders import encoder_folder
from db.errors import HedgerowError, first_line


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
