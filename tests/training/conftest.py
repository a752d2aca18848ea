"""A tiny encoder with random weights, so that real training takes a second, and projects."""

from __future__ import annotations

import gc
import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest
from sqlalchemy import Engine

from curation.encoders.model_folders import DEFAULT_ENCODER, resolve_encoder
from db.engine import writing
from db.models import Split
from db.settings import Settings, load_settings
from tests.curation.support.families import add_plain_family
from tests.support.databases import Copies, Fill, opened, sqlite
from tests.training.support.shared import made_once, shared_folder
from tests.training.support.trainings import add_families, ask, tiny_recipe, train
from training.recipe.schema import Recipe

TOKENIZER_FILES = ("tokenizer.json", "tokenizer_config.json", "special_tokens_map.json")


@pytest.fixture(scope="session")
def tiny_encoder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of a two-layer encoder of 32 dimensions with MiniLM's tokenizer."""
    return made_once(shared_folder(tmp_path_factory), "tiny", _save_tiny) / "encoder"


def _save_tiny(folder: Path) -> None:
    import torch
    from sentence_transformers import SentenceTransformer
    from sentence_transformers.sentence_transformer.modules import Pooling, Transformer
    from transformers import BertConfig, BertModel

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
    gc.freeze()  # the libraries above add a million objects to scan


@pytest.fixture
def settings() -> Settings:
    return load_settings()


@pytest.fixture
def recipe(tiny_encoder: Path) -> Recipe:
    return tiny_recipe(tiny_encoder)


@pytest.fixture
def project(engine: Engine, fill: Fill) -> Engine:
    """Nine families for training, one held out, and one that nobody has decided on."""
    fill(engine, add_families)
    return engine


@pytest.fixture
def finished(
    home: Path, tiny_encoder: Path, copies: Copies, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Engine]:
    """``project`` with a family for evaluations, and with a finished training as its run 1."""

    def train_once(folder: Path) -> None:
        settings = Settings(home=folder, database_url="", training_lock=str(folder / "lock"))
        with opened(copies.migrated(folder / "hedgerow.db")) as engine:
            with writing(engine) as session:
                add_families(session)
                add_plain_family(session, 50, split=Split.VALIDATION)
            train(engine, settings, ask(engine, tiny_recipe(tiny_encoder)))

    made = made_once(shared_folder(tmp_path_factory), "finished", train_once)
    shutil.copytree(made, home, dirs_exist_ok=True)
    with opened(sqlite(home / "hedgerow.db")) as engine:
        yield engine
