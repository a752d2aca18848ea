"""Tiny models of each architecture with random weights, saved as safetensors."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Any

import pytest

from tests.support.generating import Serve as Serve
from tests.support.generating import serve_chat as serve_chat
from tests.training.conftest import TOKENIZER_FILES


def tiny_config(**more: Any) -> Any:
    from transformers import BertConfig

    return BertConfig(
        hidden_size=16,
        intermediate_size=32,
        num_hidden_layers=1,
        num_attention_heads=2,
        max_position_embeddings=64,
        **more,
    )


def saved(model: Any, folder: Path, tokenizer: Path) -> Path:
    model.save_pretrained(folder)
    for name in TOKENIZER_FILES:
        if (tokenizer / name).is_file():
            shutil.copy(tokenizer / name, folder / name)
    return folder


@pytest.fixture(scope="session")
def tokenizer(tiny_encoder: Path) -> Path:
    """The folder with a tokenizer."""
    return tiny_encoder


@pytest.fixture(scope="session")
def tiny_cross(tmp_path_factory: pytest.TempPathFactory, tokenizer: Path) -> Path:
    """A cross-encoder with one output."""
    import torch
    from transformers import BertForSequenceClassification

    torch.manual_seed(1)
    model = BertForSequenceClassification(tiny_config(num_labels=1))
    return saved(model, tmp_path_factory.mktemp("cross"), tokenizer)


@pytest.fixture(scope="session")
def tiny_nli(tmp_path_factory: pytest.TempPathFactory, tokenizer: Path) -> Path:
    """A cross-encoder for inference, with three classes."""
    import torch
    from transformers import BertForSequenceClassification

    torch.manual_seed(2)
    names = {0: "contradiction", 1: "Entailment", 2: "neutral"}
    model = BertForSequenceClassification(tiny_config(id2label=names))
    return saved(model, tmp_path_factory.mktemp("nli"), tokenizer)


@pytest.fixture(scope="session")
def tiny_splade(tmp_path_factory: pytest.TempPathFactory, tokenizer: Path) -> Path:
    """A masked language model, which is all that SPLADE needs."""
    import torch
    from transformers import BertForMaskedLM

    torch.manual_seed(3)
    return saved(BertForMaskedLM(tiny_config()), tmp_path_factory.mktemp("mlm"), tokenizer)


@pytest.fixture(scope="session")
def tiny_colbert(tmp_path_factory: pytest.TempPathFactory, tokenizer: Path) -> Path:
    """A late-interaction model that skips full stops in documents."""
    import torch
    from sentence_transformers import MultiVectorEncoder
    from sentence_transformers.base.modules import Normalize, Transformer
    from sentence_transformers.multi_vector_encoder.modules import MultiVectorMask
    from transformers import BertModel

    torch.manual_seed(4)
    folder = tmp_path_factory.mktemp("colbert")
    bert = saved(BertModel(tiny_config()), folder / "bert", tokenizer)
    transformer = Transformer(str(bert), max_seq_length=48)
    mask = MultiVectorMask(skiplist_words=["."])
    model = MultiVectorEncoder(
        modules=[transformer, mask, Normalize(module_input_name="token_embeddings")], device="cpu"
    )
    model.save_pretrained(str(folder / "model"), create_model_card=False)
    return folder / "model"
