"""Finetuning: it learns, repeats itself exactly, stops within a step, and leaves nothing half."""

from __future__ import annotations

import itertools
import resource
import shutil
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from curation.embeddings import encode_distinct
from curation.encoders import load_encoder
from db.errors import HedgerowError, RunCancelled
from tests.training.trainings import TRIPLES
from training import finetune as finetune_module
from training.finetune import finetune
from training.recipe import Recipe


class Recorder:
    """Notes what a training tells; may raise at a given look or step."""

    def __init__(self, *, cancel_at_check: int = 0, on_update: Callable[[int], None] | None = None):
        self.cancel_at_check = cancel_at_check
        self.on_update = on_update
        self.checks = 0
        self.updates: list[tuple[int, int]] = []
        self.metrics: dict[str, list[tuple[int, float]]] = {}

    def update(self, step: int, total: int, message: str) -> None:
        self.updates.append((step, total))
        if self.on_update:
            self.on_update(step)

    def metric(self, step: int, name: str, value: float) -> None:
        self.metrics.setdefault(name, []).append((step, value))

    def check(self) -> None:
        self.checks += 1
        if self.checks == self.cancel_at_check:
            raise RunCancelled


@pytest.fixture
def recipe(tiny_encoder: Path) -> Recipe:
    return Recipe(
        base_encoder=str(tiny_encoder), batch_size=6, learning_rate=1e-3, max_steps=4, epochs=20
    )


def weights(folder: Path) -> bytes:
    return (folder / "model.safetensors").read_bytes()


def run(folder: Path, recipe: Recipe, *, seed: int = 1, triples=TRIPLES, progress=None) -> Path:
    return finetune(
        triples=triples,
        recipe=recipe,
        seed=seed,
        folder=folder,
        progress=progress or Recorder(),
    )


def assert_nothing_left(folder: Path) -> None:
    assert not folder.exists() or list(folder.iterdir()) == []


def test_training_moves_negations_away_and_the_loss_falls(tmp_path, recipe):
    recipe = recipe.with_overrides(["max_steps=60", "warmup_ratio=0"])
    seen = Recorder()
    model = load_encoder(str(run(tmp_path / "run", recipe, progress=seen)), device="cpu")

    texts = [text for triple in TRIPLES for text in triple]
    anchor, positive, negative = encode_distinct(model, texts).reshape(-1, 3, 32).swapaxes(0, 1)
    nearer = (anchor * positive).sum(axis=1) > (anchor * negative).sum(axis=1)
    assert nearer.mean() > 0.95
    losses = [value for _, value in seen.metrics["loss"]]
    assert np.mean(losses[-10:]) < 0.7 * np.mean(losses[:10])


def test_equal_triples_recipe_and_seed_give_equal_weights(tmp_path, recipe):
    first = weights(run(tmp_path / "a", recipe))
    same = weights(run(tmp_path / "b", recipe, triples=[*TRIPLES[::-1], TRIPLES[3]]))
    other_seed = weights(run(tmp_path / "c", recipe, seed=2))
    assert first == same
    assert first != other_seed
    assert first != weights(Path(recipe.base_encoder))


def test_the_saved_model_opens_whole_and_keeps_the_base_limit(tmp_path, recipe):
    folder = tmp_path / "run"
    path = run(folder, recipe.with_overrides(["max_seq_length=8"]))
    assert path == folder / "model"
    assert [child.name for child in folder.iterdir()] == ["model"]
    assert list(path.rglob("*.bin")) == []

    model = load_encoder(str(path), device="cpu")
    assert model.max_seq_length == 48
    long = "old " * 20
    longer, cut = encode_distinct(model, [long + "kettle", long + "mirror"])
    assert not np.allclose(longer, cut)


def test_each_step_is_told_and_asked_several_times(tmp_path, recipe):
    seen = Recorder()
    run(tmp_path / "run", recipe, progress=seen)
    assert seen.updates == [(0, 0), (0, 4), (1, 4), (2, 4), (3, 4), (4, 4)]
    assert seen.checks >= 4 * 4
    assert {name: len(points) for name, points in seen.metrics.items()} == {
        "loss": 4,
        "learning_rate": 4,
        "samples_per_second": 4,
    }
    assert all(value > 0 for _, value in seen.metrics["samples_per_second"])


def test_the_learning_rate_rises_and_falls(tmp_path, recipe):
    seen = Recorder()
    recipe = recipe.with_overrides(["max_steps=8", "warmup_ratio=0.5"])
    run(tmp_path / "run", recipe, progress=seen)
    rates = [value for _, value in seen.metrics["learning_rate"]]
    assert rates.index(max(rates)) in (3, 4)
    assert max(rates) == pytest.approx(1e-3)


def test_more_than_one_epoch_runs_to_the_end(tmp_path, recipe):
    seen = Recorder()
    run(tmp_path / "run", recipe.with_overrides(["epochs=1.5", "max_steps=none"]), progress=seen)
    assert seen.updates[-1] == (12, 12)


@pytest.mark.parametrize("look", [1, 2, 3, 4, 5, 6, 7, 8, 10, 12, 15])
def test_a_cancelled_training_stops_at_once_and_leaves_nothing(tmp_path, recipe, look):
    seen = Recorder(cancel_at_check=look)
    with pytest.raises(RunCancelled):
        run(tmp_path / "run", recipe, progress=seen)
    assert seen.checks == look
    assert_nothing_left(tmp_path / "run")


def test_within_a_step_there_are_looks_before_and_after_the_encoder_and_the_gradients(
    tmp_path, recipe
):
    """At most a fraction of a step passes between two looks: a cancel needn't wait for a step."""
    looks: list[int] = []
    seen = Recorder(on_update=lambda step: looks.append(seen.checks))
    run(tmp_path / "run", recipe, progress=seen)
    assert all(after - before >= 4 for before, after in itertools.pairwise(looks[1:]))


@pytest.mark.parametrize(
    ("triples", "changes", "sentence"),
    [
        ([], [], "There are no triples"),
        (TRIPLES[:5], [], "A batch of 6 needs triples of as many anchors, found 5 triples of 2"),
        (TRIPLES, ["batch_size=13"], "found 48 triples of 12"),
        (TRIPLES, ["base_encoder=./nowhere"], "no model folder"),
    ],
)
def test_what_cannot_be_trained_is_refused_in_one_sentence(
    tmp_path, recipe, triples, changes, sentence
):
    with pytest.raises(HedgerowError, match=sentence) as caught:
        run(tmp_path / "run", recipe.with_overrides(changes), triples=triples)
    assert "\n" not in str(caught.value)
    assert_nothing_left(tmp_path / "run")


@pytest.mark.parametrize("seed", [-1, 2**32])
def test_a_seed_out_of_range_is_refused(tmp_path, recipe, seed):
    with pytest.raises(HedgerowError, match="seed from 0 to 4294967295"):
        run(tmp_path / "run", recipe, seed=seed)


def test_a_finished_model_is_not_trained_over(tmp_path, recipe):
    path = run(tmp_path / "run", recipe)
    before = weights(path)
    with pytest.raises(HedgerowError, match="already holds a model"):
        run(tmp_path / "run", recipe, seed=2)
    assert weights(path) == before


def test_what_a_killed_training_left_is_no_hindrance(tmp_path, recipe):
    folder = tmp_path / "run"
    (folder / "model.partial").mkdir(parents=True)
    (folder / "model.partial" / "model.safetensors").write_bytes(b"half")
    assert weights(run(folder, recipe)) == weights(run(tmp_path / "fresh", recipe))
    assert [child.name for child in folder.iterdir()] == ["model"]


def test_a_diverging_training_stops_with_a_sentence(tmp_path, recipe, tiny_encoder):
    """Weights near the largest float make the first loss infinite."""
    damaged = tmp_path / "damaged"
    shutil.copytree(tiny_encoder, damaged)
    model = load_encoder(str(damaged), device="cpu")
    for parameter in model.parameters():
        parameter.data.fill_(3e38)
    model.save_pretrained(str(damaged), create_model_card=False)

    seen = Recorder()
    with pytest.raises(HedgerowError, match="diverged after step 0 .* lower learning_rate"):
        run(tmp_path / "run", recipe.with_overrides([f"base_encoder={damaged}"]), progress=seen)
    assert seen.updates[-1] == (0, 4)
    assert_nothing_left(tmp_path / "run")


def test_a_full_disk_is_told_before_the_training(tmp_path, recipe, monkeypatch):
    usage = shutil.disk_usage(tmp_path)
    monkeypatch.setattr(shutil, "disk_usage", lambda path: usage._replace(free=1000))
    seen = Recorder()
    with pytest.raises(HedgerowError, match="needs 4 MB of disk space"):
        run(tmp_path / "run", recipe, progress=seen)
    assert seen.updates == [(0, 0)]


def test_a_disk_that_fills_while_saving_leaves_no_half_model(tmp_path, recipe):
    """A limit on the size of files stands in for the full disk."""
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)

    def fill_at_the_last_step(step: int) -> None:
        if step == 4:
            resource.setrlimit(resource.RLIMIT_FSIZE, (500_000, hard))

    try:
        with pytest.raises(HedgerowError, match="Could not save the model"):
            run(tmp_path / "run", recipe, progress=Recorder(on_update=fill_at_the_last_step))
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
    assert_nothing_left(tmp_path / "run")


def test_no_memory_is_told_in_one_sentence(tmp_path, recipe):
    """A real allocation that no machine can make, in the middle of the training."""
    import torch

    def hoard(step: int) -> None:
        if step == 2:
            torch.empty(2**52)

    with pytest.raises(HedgerowError, match="memory is not enough .* lower batch_size"):
        run(tmp_path / "run", recipe, progress=Recorder(on_update=hoard))
    assert_nothing_left(tmp_path / "run")


def test_max_triples_draws_by_the_seed(recipe):
    few = recipe.with_overrides(["max_triples=30"])
    draw = [finetune_module._chosen(TRIPLES, recipe=few, seed=seed) for seed in (1, 1, 2)]
    assert draw[0] == draw[1] != draw[2]
    assert len(draw[0]) == len(set(draw[0])) == 30
    assert set(draw[0]) <= set(TRIPLES)


def test_bf16_trains(tmp_path, recipe):
    path = run(tmp_path / "run", recipe.with_overrides(["precision=bf16"]))
    assert weights(path) != weights(run(tmp_path / "fp32", recipe))


def test_nothing_is_printed_and_nothing_written_elsewhere(tmp_path, recipe, home, capfd):
    run(tmp_path / "run", recipe)
    assert capfd.readouterr().out == ""
    assert list(home.iterdir()) == []


def test_the_model_card_tells_how_but_no_path_and_no_training_text(tmp_path, recipe):
    path = run(tmp_path / "run", recipe)
    card = (path / "README.md").read_text(encoding="utf-8")
    assert "48 triples" in card and "learning_rate: 0.001" in card
    for file in path.rglob("*.*"):
        if file.suffix in {".md", ".json"} and file.name != "tokenizer.json":
            content = file.read_text(encoding="utf-8")
            assert str(tmp_path) not in content and recipe.base_encoder not in content
            assert "kettle" not in content
