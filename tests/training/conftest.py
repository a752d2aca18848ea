"""A tiny encoder with random weights, so that training is tested for real in a second."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from curation.encoders import DEFAULT_ENCODER, resolve_encoder

TOKENIZER_FILES = ("tokenizer.json", "tokenizer_config.json", "special_tokens_map.json")


@pytest.fixture(scope="session")
def tiny_encoder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of a two-layer encoder of 32 dimensions with MiniLM's tokenizer."""
    import torch
    from sentence_transformers import SentenceTransformer
    from sentence_transformers.sentence_transformer.modules import Pooling, Transformer
    from transformers import BertConfig, BertModel

    folder = tmp_path_factory.mktemp("tiny")
    config = BertConfig(
        hidden_size=32,
        intermediate_size=64,
        num_hidden_layers=2,
        num_attention_heads=2,
        max_position_embeddings=64,
    )
    torch.manual_seed(7)
    BertModel(config).save_pretrained(folder / "bert")
    minilm = resolve_encoder(DEFAULT_ENCODER)
    assert isinstance(minilm, Path)
    for name in TOKENIZER_FILES:
        shutil.copy(minilm / name, folder / "bert" / name)
    transformer = Transformer(str(folder / "bert"), max_seq_length=48)
    model = SentenceTransformer(modules=[transformer, Pooling(32)], device="cpu")
    model.save_pretrained(str(folder / "encoder"), create_model_card=False)
    return folder / "encoder"
