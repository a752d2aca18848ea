"""Adapters of trained models: their content, how they are read, and their cards."""

from __future__ import annotations

import json
import shutil
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
from sqlalchemy import Engine

from curation.encoders.checkpoint_files import ADAPTER_CONFIG, ADAPTER_WEIGHTS
from curation.encoders.embeddings import encode_distinct
from curation.encoders.loading import load_encoder
from curation.encoders.model_folders import DEFAULT_ENCODER, resolve_encoder
from db.engine import reading, writing
from db.errors import HedgerowError
from db.execution import execute
from db.models import Split
from db.runs import get_run
from db.settings import Settings
from tests.curation.support.families import add_plain_family
from tests.support.databases import Copies, opened
from tests.training.support.trainings import (
    add_families,
    ask,
    perform,
    read,
    tiny_recipe,
    train,
)
from training.encoder_run import tradeoff, tradeoff_save
from training.encoder_run.tradeoff import MEASURE_TRADEOFF, MeasureTradeoff
from training.encoder_run.tradeoff_save import SAVE_POINT, SavePoint
from training.hub import adapter_export
from training.hub.adapter_export import Written, source_in, source_of, write_adapter
from training.recipe.schema import Recipe

pytestmark = pytest.mark.slow
TEXTS = ["The kettle is old.", "The kettle is not old.", "I think the kettle is new.", "It rains."]
LORA, FULL = 1, 2
"""The numbers of the finished trainings."""


@pytest.fixture(scope="module")
def recipe(tiny_encoder: Path) -> Recipe:
    return tiny_recipe(tiny_encoder).with_overrides(["learning_rate=0.05"])


@pytest.fixture(scope="module")
def settings(tmp_path_factory: pytest.TempPathFactory) -> Settings:
    """Those of a project that all tests share."""
    home = tmp_path_factory.mktemp("adapters")
    return Settings(home=home, database_url="", training_lock=str(home / "lock"))


@pytest.fixture(scope="module")
def project(settings: Settings, recipe: Recipe, copies: Copies) -> Iterator[Engine]:
    """With two finished trainings."""
    with opened(copies.migrated(settings.home / "hedgerow.db")) as engine:
        with writing(engine) as session:
            add_families(session)
            for number in range(50, 53):
                add_plain_family(session, number, split=Split.VALIDATION)
        for number, rank in ((LORA, 3), (FULL, None)):
            asked = ask(engine, recipe.model_copy(update={"lora_rank": rank}))
            assert train(engine, settings, asked).id == number
        yield engine


def written(
    engine: Engine, settings: Settings, number: int, folder: Path, **how: object
) -> Written:
    return write_adapter(read(engine, source_of, settings, number), folder, **how)


def model_of(engine: Engine, settings: Settings, number: int) -> Path:
    return settings.data_folder / read(engine, get_run, number).result["model"]


def far(one: str | Path, other: str | Path) -> float:
    """The largest difference between the embeddings of two models."""
    rows = [encode_distinct(load_encoder(str(name), device="cpu"), TEXTS) for name in (one, other)]
    return float(np.abs(rows[0] - rows[1]).max())


def test_the_adapter_of_a_lora_training_equals_the_model(
    project: Engine, settings: Settings, tiny_encoder: Path, tmp_path: Path
) -> None:
    made = written(project, settings, LORA, tmp_path / "adapter")
    assert made.rank == 3 and made.share > 0.999
    assert far(tmp_path / "adapter", model_of(project, settings, LORA)) < 1e-3
    assert far(tmp_path / "adapter", tiny_encoder) > 0.01
    assert sorted(path.name for path in made.folder.iterdir()) == [
        "README.md",
        ADAPTER_CONFIG,
        ADAPTER_WEIGHTS,
    ]
    assert (made.folder / ADAPTER_WEIGHTS).stat().st_size == made.size


def test_a_higher_rank_contains_more_of_the_change_and_only_linear_layers(
    project: Engine, settings: Settings, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    low, high, whole = (
        written(project, settings, FULL, tmp_path / f"at {rank}", rank=rank) for rank in (1, 8, 500)
    )
    assert low.share_of_layers < high.share_of_layers < whole.share_of_layers
    assert whole.rank == 32 and whole.share_of_layers > 0.999
    assert whole.share < 0.999  # word embeddings and biases have changed, too
    monkeypatch.setattr(adapter_export, "LARGEST", 16_000)  # decides about the rank
    made = written(project, settings, FULL, tmp_path / "adapter")
    assert 12_000 < made.size <= 16_000 and made.rank > 1


def test_sentence_transformers_reads_the_adapter_as_the_card_says(
    project: Engine, settings: Settings, recipe: Recipe, tiny_encoder: Path, tmp_path: Path
) -> None:
    """The card has the adapter's own figures only."""
    from huggingface_hub import ModelCard
    from sentence_transformers import SentenceTransformer

    results, folder = tmp_path / "results.jsonl", tmp_path / "adapter"
    result = {"benchmark": "SemAntoNeg", "metric": "accuracy", "n": 3152}
    lines = [
        result | {"model": recipe.base_encoder, "score": 1.94},
        result | {"model": "/home/ada/adapter", "score": 80.25},
    ]
    results.write_text("\n".join(map(json.dumps, lines)), encoding="utf-8")
    written(project, settings, FULL, folder, rank=5, figures=results)
    model = SentenceTransformer(str(tiny_encoder), device="cpu")
    model.load_adapter(str(folder))
    ours = load_encoder(str(folder), device="cpu")
    assert np.abs(encode_distinct(model, TEXTS) - encode_distinct(ours, TEXTS)).max() < 1e-5
    config = json.loads((folder / ADAPTER_CONFIG).read_text("utf-8"))
    assert config["base_model_name_or_path"] == str(tiny_encoder)
    card = (folder / "README.md").read_text("utf-8")
    data = ModelCard(card).data.to_dict()
    assert (data["library_name"], "lora" in data["tags"]) == ("peft", True)
    assert f"hedgerow adapter DIR --model {FULL} --rank 5" in card and "model.load_adapter(" in card
    assert "| SemAntoNeg | accuracy | 3,152 | 1.9 | 80.2 |" in card
    assert read(project, get_run, FULL).inputs["release"] in card
    assert "| seed | 1 |" in card and "learning_rate: 0.05" in card
    assert "triples ranked correctly" not in card and "Figure 1" not in card  # of the whole model
    assert "/home/ada" not in card and str(tmp_path) not in card and str(settings.home) not in card


@pytest.mark.parametrize(
    ("lines", "sentence"),
    [
        ("nonsense", "line 1 "),
        ('{"benchmark": "B", "metric": "m", "n": 1, "model": "x", "score": "high"}', "line 1 "),
        ("", " 0 "),
    ],
)
def test_a_file_without_figures_is_refused_before_anything_is_loaded(
    lines: str, sentence: str, tmp_path: Path
) -> None:
    (tmp_path / "figures").write_text(lines)
    with pytest.raises(HedgerowError, match=sentence):
        write_adapter(source_in(str(tmp_path)), tmp_path / "adapter", figures=tmp_path / "figures")
    assert not (tmp_path / "adapter").exists()


def test_a_saved_point_of_a_trade_off_has_its_own_adapter(
    project: Engine, settings: Settings, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(tradeoff, "SHARES", (0.0, 0.5, 1.0))
    work = {tradeoff.KIND: tradeoff.work, tradeoff_save.KIND: tradeoff_save.work}
    measuring = perform(project, MEASURE_TRADEOFF, MeasureTradeoff(training=LORA), settings).id
    execute(project, settings, measuring, work)
    saving = perform(project, SAVE_POINT, SavePoint(training=LORA, share=0.5), settings).id
    point = execute(project, settings, saving, work)
    written(project, settings, saving, tmp_path / "adapter")
    assert far(tmp_path / "adapter", settings.data_folder / point["model"]) < 1e-3
    assert "0.5 times" in (tmp_path / "adapter" / "README.md").read_text("utf-8")


def test_a_model_that_is_not_a_change_of_its_bases_weights_is_refused(
    project: Engine, settings: Settings, recipe: Recipe, tiny_encoder: Path, tmp_path: Path
) -> None:
    target = tmp_path / "adapter"
    pooled = recipe.model_copy(update={"pooling": "cls"})
    trained = train(project, settings, ask(project, pooled))
    with pytest.raises(HedgerowError, match=f"run {trained.id} .*pooling"):
        written(project, settings, trained.id, target)
    copy = shutil.copytree(resolve_encoder(DEFAULT_ENCODER), tmp_path / "copy")
    for folder, fact in ((tiny_encoder, "do not match"), (copy, "empty")):
        with pytest.raises(HedgerowError, match=fact):
            write_adapter(source_in(str(folder)), target)
    assert not target.exists() and not list(tmp_path.glob(".adapter*"))


def test_a_run_without_a_model_and_a_folder_that_is_there_are_refused(
    project: Engine, settings: Settings, recipe: Recipe, tiny_encoder: Path, tmp_path: Path
) -> None:
    waiting = ask(project, recipe, seed=2)
    with reading(project) as session:
        for number, fact in ((waiting, f"run {waiting} "), (99, "no run 99")):
            with pytest.raises(HedgerowError, match=fact):
                source_of(session, settings, number)
    for name, fact in (("/no/such/folder", "no model folder"), ("ada/encoder", "a model folder")):
        with pytest.raises(HedgerowError, match=fact):
            source_in(name)
    with pytest.raises(HedgerowError, match="already exists"):
        write_adapter(source_in(str(tiny_encoder)), tmp_path)


def test_changed_files_and_an_adapter_as_the_base_are_refused(
    project: Engine, settings: Settings, recipe: Recipe, tmp_path: Path
) -> None:
    written(project, settings, FULL, tmp_path / "first", rank=2)
    again = recipe.model_copy(update={"base_encoder": str(tmp_path / "first")})
    trained = train(project, settings, ask(project, again))
    with pytest.raises(HedgerowError, match="an adapter"):
        written(project, settings, trained.id, tmp_path / "second")
    modules = model_of(project, settings, FULL) / "modules.json"
    whole = modules.read_text("utf-8")
    modules.write_text(whole + "\n", encoding="utf-8")
    with pytest.raises(HedgerowError, match="not those of the model that was trained there"):
        written(project, settings, FULL, tmp_path / "changed")
    modules.write_text(whole, encoding="utf-8")


def test_a_full_disk_leaves_no_folder(
    project: Engine, settings: Settings, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(self: Path, *_: object, **how: object) -> int:
        raise OSError(28, "No space left on device")

    with monkeypatch.context() as patch:
        patch.setattr(Path, "write_text", full)
        with pytest.raises(HedgerowError, match="No space left"):
            written(project, settings, LORA, tmp_path / "adapter")
    assert list(tmp_path.glob("*adapter*")) == []
