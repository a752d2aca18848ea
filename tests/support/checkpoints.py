"""Tiny checkpoints with random weights, in the formats of other projects: encoders and others."""

from __future__ import annotations

import shutil
import string
from pathlib import Path
from typing import Any

from curation.encoders.model_folders import DEFAULT_ENCODER, resolve_encoder

WORDS = 30522
"""The size of MiniLM's vocabulary. They use its tokenizer."""

ENCODERS = ("T5EncoderModel", "BertForMaskedLM", "Qwen2Model")

_BERT = {
    "hidden_size": 16,
    "intermediate_size": 32,
    "num_hidden_layers": 1,
    "num_attention_heads": 2,
    "num_key_value_heads": 2,
    "vocab_size": WORDS,
}
_T5 = {"d_model": 16, "d_kv": 8, "d_ff": 32, "num_layers": 1, "num_heads": 2, "vocab_size": WORDS}


def checkpoint(architecture: str, folder: Path) -> Path:
    """A folder with a model of this class and its tokenizer, as saved by transformers."""
    import torch
    import transformers

    torch.manual_seed(5)
    kind: Any = getattr(transformers, architecture)
    values = _T5 if architecture.startswith("T5") else _BERT
    kind(kind.config_class(**values)).save_pretrained(folder)
    minilm = resolve_encoder(DEFAULT_ENCODER)
    assert isinstance(minilm, Path)
    for name in ("tokenizer.json", "tokenizer_config.json", "special_tokens_map.json"):
        if (minilm / name).is_file():
            shutil.copy(minilm / name, folder / name)
    return folder


def monot5(folder: Path) -> Path:
    """A T5 that generates text, with T5's own kind of tokenizer: word pieces of letters, and some
    words."""
    import torch
    from transformers import T5Config, T5ForConditionalGeneration, T5Tokenizer

    special = [("<pad>", 0.0), ("</s>", 0.0), ("<unk>", 0.0), ("▁", -9.0)]
    letters = [(letter, -9.0) for letter in string.ascii_letters + string.digits + ":.,?'"]
    words = [(f"▁{word}", -3.0) for word in "true false not no the is was cold warm".split()]
    tokenizer = T5Tokenizer(vocab=[*special, *letters, *words], extra_ids=0)
    torch.manual_seed(6)
    config = T5Config(**_T5 | {"vocab_size": len(tokenizer)}, decoder_start_token_id=0)
    model = T5ForConditionalGeneration(config)
    with torch.no_grad():  # random weights hardly distinguish texts
        model.lm_head.weight.mul_(30.0)
    model.save_pretrained(folder)
    tokenizer.save_pretrained(folder)
    return folder


def dpr(folder: Path) -> tuple[Path, Path]:
    """The two encoders of a DPR model."""
    halves = folder / "question", folder / "context"
    for architecture, half in zip(("DPRQuestionEncoder", "DPRContextEncoder"), halves, strict=True):
        checkpoint(architecture, half)
    return halves


def packaged(architecture: str, folder: Path) -> Path:
    """The same as saved by sentence-transformers, with modules.json."""
    from sentence_transformers import SentenceTransformer
    from sentence_transformers.sentence_transformer.modules import Pooling, Transformer

    transformer = Transformer(str(checkpoint(architecture, folder / "bare")))
    model = SentenceTransformer(modules=[transformer, Pooling(16)], device="cpu")
    model.save_pretrained(str(folder / "whole"), create_model_card=False)
    return folder / "whole"
