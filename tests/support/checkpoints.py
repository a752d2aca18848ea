"""Tiny checkpoints with random weights, as other projects save theirs: encoders and others."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Any

from curation.encoders.model_folders import DEFAULT_ENCODER, resolve_encoder

WORDS = 30522
"""Of MiniLM's vocabulary, whose tokenizer they have."""

NO_ENCODERS = (
    "T5ForConditionalGeneration",
    "T5Model",
    "LlamaForCausalLM",
    "BertForSequenceClassification",
    "DPRQuestionEncoder",
    "DPRContextEncoder",
)
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
    """A folder as transformers saves a model of this class, with its tokenizer."""
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


def packaged(architecture: str, folder: Path) -> Path:
    """The same as sentence-transformers saves it: with modules.json."""
    from sentence_transformers import SentenceTransformer
    from sentence_transformers.sentence_transformer.modules import Pooling, Transformer

    transformer = Transformer(str(checkpoint(architecture, folder / "bare")))
    model = SentenceTransformer(modules=[transformer, Pooling(16)], device="cpu")
    model.save_pretrained(str(folder / "whole"), create_model_card=False)
    return folder / "whole"
