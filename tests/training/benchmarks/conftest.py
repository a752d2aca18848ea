"""Tiny models of each architecture with random weights, saved as safetensors."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Any

import pytest

from tests.support.generating import Serve as Serve
from tests.support.generating import serve_chat as serve_chat
from tests.training.conftest import TOKENIZER_FILES

CLASSIFIER = "BertForSequenceClassification"


def saved(kind: str, folder: Path, tokenizer: Path, *, seed: int, **config: Any) -> Path:
    import torch
    import transformers

    torch.manual_seed(seed)
    size = {"hidden_size": 16, "intermediate_size": 32, "max_position_embeddings": 64}
    layers = {"num_hidden_layers": 1, "num_attention_heads": 2}
    how = transformers.BertConfig(**size, **layers, **config)
    getattr(transformers, kind)(how).save_pretrained(folder)
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
    return saved(CLASSIFIER, tmp_path_factory.mktemp("cross"), tokenizer, seed=1, num_labels=1)


@pytest.fixture(scope="session")
def tiny_nli(tmp_path_factory: pytest.TempPathFactory, tokenizer: Path) -> Path:
    """A cross-encoder for inference, with three classes."""
    names = {0: "contradiction", 1: "Entailment", 2: "neutral"}
    return saved(CLASSIFIER, tmp_path_factory.mktemp("nli"), tokenizer, seed=2, id2label=names)


@pytest.fixture(scope="session")
def tiny_splade(tmp_path_factory: pytest.TempPathFactory, tokenizer: Path) -> Path:
    """A masked language model, which is all that SPLADE needs."""
    return saved("BertForMaskedLM", tmp_path_factory.mktemp("mlm"), tokenizer, seed=3)


@pytest.fixture(scope="session")
def tiny_colbert(tmp_path_factory: pytest.TempPathFactory, tokenizer: Path) -> Path:
    """A late-interaction model that skips full stops in documents."""
    from sentence_transformers import MultiVectorEncoder
    from sentence_transformers.base.modules import Normalize, Transformer
    from sentence_transformers.multi_vector_encoder.modules import MultiVectorMask

    folder = tmp_path_factory.mktemp("colbert")
    bert = saved("BertModel", folder / "bert", tokenizer, seed=4)
    transformer = Transformer(str(bert), max_seq_length=48)
    mask = MultiVectorMask(skiplist_words=["."])
    normalize = Normalize(module_input_name="token_embeddings")
    model = MultiVectorEncoder(modules=[transformer, mask, normalize], device="cpu")
    model.save_pretrained(str(folder / "model"), create_model_card=False)
    return folder / "model"
