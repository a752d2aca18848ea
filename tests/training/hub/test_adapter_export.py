"""Adapters of trained models: their content, how they are read, and their cards."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import numpy as np
import pytest
from huggingface_hub import ModelCard
from sentence_transformers import SentenceTransformer
from sqlalchemy import Engine

from curation.encoders.adapter_folders import ADAPTER_CONFIG, ADAPTER_WEIGHTS
from curation.encoders.embeddings import encode_distinct
from curation.encoders.loading import load_encoder
from curation.encoders.model_folders import DEFAULT_ENCODER, resolve_encoder
from db.engine import reading, writing
from db.errors import HedgerowError
from db.execution import execute
from db.models import Run, Split
from db.settings import Settings
from tests.curation.support.families import add_plain_family
from tests.training.support.trainings import ask, train
from training.hub import adapter_export
from training.hub.adapter_export import Written, source_in, source_of, write_adapter
from training.recipe.schema import Recipe
from training.retention import tradeoff, tradeoff_save
from training.retention.tradeoff import request_tradeoff
from training.retention.tradeoff_save import request_save

TEXTS = ["The kettle is old.", "The kettle is not old.", "I think the kettle is new.", "It rains."]


@pytest.fixture
def recipe(recipe: Recipe) -> Recipe:
    return recipe.model_copy(
        update={"distillation": 0.0, "learning_rate": 0.05, "warmup_ratio": 0.0}
    )


def written(
    engine: Engine, settings: Settings, number: int, folder: Path, **how: object
) -> Written:
    with reading(engine) as session:
        return write_adapter(source_of(session, settings, number), folder, **how)  # type: ignore[arg-type]


def model_of(settings: Settings, run: Run) -> str:
    return str(settings.data_folder / run.result["model"])


def far(one: str | Path, other: str | Path) -> float:
    """The largest difference between the embeddings of two models."""
    rows = [encode_distinct(load_encoder(str(name), device="cpu"), TEXTS) for name in (one, other)]
    return float(np.abs(rows[0] - rows[1]).max())


def test_the_adapter_of_a_lora_training_equals_the_model(
    project: Engine, settings: Settings, recipe: Recipe, tiny_encoder: Path, tmp_path: Path
) -> None:
    lora = recipe.model_copy(update={"lora_rank": 3})
    trained = train(project, settings, ask(project, lora))
    made = written(project, settings, trained.id, tmp_path / "adapter")
    assert made.rank == 3 and made.share > 0.999
    assert far(tmp_path / "adapter", model_of(settings, trained)) < 1e-3
    assert far(tmp_path / "adapter", tiny_encoder) > 0.01
    assert sorted(path.name for path in made.folder.iterdir()) == [
        "README.md",
        ADAPTER_CONFIG,
        ADAPTER_WEIGHTS,
    ]
    assert (made.folder / ADAPTER_WEIGHTS).stat().st_size == made.size


def test_a_higher_rank_contains_more_of_the_change_and_only_linear_layers(
    project: Engine, settings: Settings, recipe: Recipe, tmp_path: Path
) -> None:
    trained = train(project, settings, ask(project, recipe))
    low, high, whole = (
        written(project, settings, trained.id, tmp_path / f"at {rank}", rank=rank)
        for rank in (1, 8, 500)
    )
    assert low.share_of_layers < high.share_of_layers < whole.share_of_layers
    assert whole.rank == 32 and whole.share_of_layers > 0.999
    assert whole.share < 0.999  # word embeddings and biases have changed, too


def test_without_a_rank_the_weights_fit_into_the_file(
    project: Engine,
    settings: Settings,
    recipe: Recipe,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(adapter_export, "LARGEST", 16_000)
    trained = train(project, settings, ask(project, recipe))
    made = written(project, settings, trained.id, tmp_path / "adapter")
    assert 12_000 < made.size <= 16_000 and made.rank > 1


def test_sentence_transformers_reads_the_adapter_as_the_card_says(
    project: Engine, settings: Settings, recipe: Recipe, tiny_encoder: Path, tmp_path: Path
) -> None:
    trained = train(project, settings, ask(project, recipe))
    written(project, settings, trained.id, tmp_path / "adapter", rank=5)
    model = SentenceTransformer(str(tiny_encoder), device="cpu")
    model.load_adapter(str(tmp_path / "adapter"))
    ours = load_encoder(str(tmp_path / "adapter"), device="cpu")
    assert np.abs(encode_distinct(model, TEXTS) - encode_distinct(ours, TEXTS)).max() < 1e-5
    config = json.loads((tmp_path / "adapter" / ADAPTER_CONFIG).read_text("utf-8"))
    assert config["base_model_name_or_path"] == str(tiny_encoder)


def test_the_card_says_how_the_adapter_was_made_and_holds_its_own_figures_only(
    project: Engine, settings: Settings, recipe: Recipe, tmp_path: Path
) -> None:
    with writing(project) as session:
        add_plain_family(session, 50, split=Split.VALIDATION)
    trained = train(project, settings, ask(project, recipe))
    results = tmp_path / "results.jsonl"
    result = {"benchmark": "SemAntoNeg", "metric": "accuracy", "n": 3152}
    lines = [
        result | {"model": recipe.base_encoder, "score": 1.94},
        result | {"model": "/home/ada/adapter", "score": 80.25},
    ]
    results.write_text("\n".join(map(json.dumps, lines)), encoding="utf-8")
    written(project, settings, trained.id, tmp_path / "adapter", rank=2, figures=results)
    card = (tmp_path / "adapter" / "README.md").read_text("utf-8")
    data = ModelCard(card).data.to_dict()
    assert (data["library_name"], "lora" in data["tags"]) == ("peft", True)
    assert f"`hedgerow adapter DIR --model {trained.id} --rank 2` created this adapter" in card
    assert "model.load_adapter(" in card
    assert "| SemAntoNeg | accuracy | 3,152 | 1.9 | 80.2 |" in card
    assert "| seed | 1 |" in card and trained.inputs["release"] in card
    assert "learning_rate: 0.05" in card
    assert "triples ranked correctly" not in card and "Figure 1" not in card  # of the whole model
    assert "/home/ada" not in card and str(tmp_path) not in card and str(settings.home) not in card


@pytest.mark.parametrize(
    ("lines", "sentence"),
    [
        ("nonsense", "in line 1 of .* found something else"),
        ('{"benchmark": "B", "metric": "m", "n": 1, "model": "x", "score": "high"}', "in line 1"),
        ("", "found those of 0 other models"),
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
    project: Engine,
    settings: Settings,
    recipe: Recipe,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(tradeoff, "SHARES", (0.0, 0.5, 1.0))
    with writing(project) as session:
        for number in range(50, 53):
            add_plain_family(session, number, split=Split.VALIDATION)
    lora = recipe.model_copy(update={"lora_rank": 3})
    trained = train(project, settings, ask(project, lora))
    work = {tradeoff.KIND: tradeoff.work, tradeoff_save.KIND: tradeoff_save.work}
    with writing(project) as session:
        measuring = request_tradeoff(session, settings, training=trained.id).id
    execute(project, settings, measuring, work)
    with writing(project) as session:
        saving = request_save(session, settings, training=trained.id, share=0.5).id
    point = execute(project, settings, saving, work)
    written(project, settings, saving, tmp_path / "adapter")
    assert far(tmp_path / "adapter", settings.data_folder / point["model"]) < 1e-3
    assert "0.5 times the finetuned ones" in (tmp_path / "adapter" / "README.md").read_text("utf-8")


def test_a_model_that_is_not_a_change_of_its_bases_weights_is_refused(
    project: Engine, settings: Settings, recipe: Recipe, tiny_encoder: Path, tmp_path: Path
) -> None:
    target = tmp_path / "adapter"
    pooled = recipe.model_copy(update={"pooling": "cls"})
    trained = train(project, settings, ask(project, pooled))
    with pytest.raises(HedgerowError, match=f"run {trained.id} differs .* for example in pooling"):
        written(project, settings, trained.id, target)
    with pytest.raises(HedgerowError, match="do not match those of the model in"):
        write_adapter(source_in(str(tiny_encoder)), target)
    copy = shutil.copytree(resolve_encoder(DEFAULT_ENCODER), tmp_path / "copy")
    with pytest.raises(HedgerowError, match="adapter would be empty"):
        write_adapter(source_in(str(copy)), target)
    assert not target.exists() and not list(tmp_path.glob(".adapter*"))


def test_a_run_without_a_model_and_a_folder_that_is_there_are_refused(
    project: Engine, settings: Settings, recipe: Recipe, tiny_encoder: Path, tmp_path: Path
) -> None:
    waiting = ask(project, recipe)
    with reading(project) as session:
        with pytest.raises(HedgerowError, match=f"run {waiting} .* has no model"):
            source_of(session, settings, waiting)
        with pytest.raises(HedgerowError, match="no run 99"):
            source_of(session, settings, 99)
    with pytest.raises(HedgerowError, match="no model folder"):
        source_in("/no/such/folder")
    with pytest.raises(HedgerowError, match="run's number or a model folder"):
        source_in("ada/encoder")
    with pytest.raises(HedgerowError, match="already exists; choose a new folder"):
        write_adapter(source_in(str(tiny_encoder)), tmp_path)


def test_changed_files_and_an_adapter_as_the_base_are_refused(
    project: Engine, settings: Settings, recipe: Recipe, tmp_path: Path
) -> None:
    trained = train(project, settings, ask(project, recipe))
    written(project, settings, trained.id, tmp_path / "first", rank=2)
    modules = Path(model_of(settings, trained)) / "modules.json"
    modules.write_text(modules.read_text("utf-8") + "\n", encoding="utf-8")
    with pytest.raises(HedgerowError, match="not those of the model that was trained there"):
        written(project, settings, trained.id, tmp_path / "changed")
    again = recipe.model_copy(update={"base_encoder": str(tmp_path / "first")})
    trained = train(project, settings, ask(project, again))
    with pytest.raises(HedgerowError, match="is itself an adapter"):
        written(project, settings, trained.id, tmp_path / "second")


def test_a_full_disk_leaves_no_folder(
    project: Engine,
    settings: Settings,
    recipe: Recipe,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    trained = train(project, settings, ask(project, recipe))

    def full(self: Path, *_: object, **how: object) -> int:
        raise OSError(28, "No space left on device")

    with monkeypatch.context() as patch:
        patch.setattr(Path, "write_text", full)
        with pytest.raises(HedgerowError, match="No space left"):
            written(project, settings, trained.id, tmp_path / "adapter")
    assert list(tmp_path.glob("*adapter*")) == []
