"""Finetuning: it learns, is reproducible, stops within a step, and leaves nothing incomplete."""

from __future__ import annotations

import itertools
import resource
import shutil
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

from curation.encoders.embeddings import encode_distinct, retrieval_prompts
from curation.encoders.loading import load_encoder
from db.errors import HedgerowError, RunCancelled
from hedgerow.losses.families import Family
from tests.support.disks import disk_of
from tests.training.support.recorder import Recorder
from tests.training.support.trainings import FAMILIES, HELD_OUT, assert_nothing_left, run, weights
from training.data.sampling import as_triples
from training.evaluation import retrieval
from training.evaluation.retrieval import RETRIEVAL, retrieval_figures
from training.finetune import setup, trainer
from training.finetune.compute import devices
from training.finetune.fitting import Data, finetune
from training.recipe.schema import Recipe

LOSSES = ["family", "symmetric", "triples"]


@pytest.fixture
def recipe(tiny_encoder: Path) -> Recipe:
    return Recipe(
        base_encoder=str(tiny_encoder),
        batch_size=6,
        learning_rate=1e-3,
        max_steps=4,
        epochs=20,
        retention=0,
        scale=20,
        order_weight=0,
        interpolation=1,
        dropout=None,
        soup=1,
        lora_rank=None,
    )


@pytest.mark.parametrize("loss", LOSSES)
def test_training_moves_negations_away_and_the_loss_falls(
    tmp_path: Path, recipe: Recipe, loss: str
) -> None:
    seen = Recorder()
    recipe = recipe.with_overrides(["max_steps=50", "learning_rate=3e-3", f"loss={loss}"])
    model = load_encoder(str(run(tmp_path / "run", recipe, progress=seen)), device="cpu")

    texts = [member.text for triple in as_triples(FAMILIES) for member in triple]
    anchor, positive, negative = encode_distinct(model, texts).reshape(-1, 3, 32).swapaxes(0, 1)
    nearer = (anchor * positive).sum(axis=1) > (anchor * negative).sum(axis=1)
    assert nearer.mean() > 0.95
    losses = list(seen.metrics["loss"].values())
    assert np.mean(losses[-10:]) < 0.7 * np.mean(losses[:10])


@pytest.mark.parametrize("loss", LOSSES)
def test_equal_families_recipe_and_seed_give_equal_weights(
    tmp_path: Path, recipe: Recipe, loss: str
) -> None:
    recipe = recipe.with_overrides([f"loss={loss}", "retention=1", "query_prompt=query:"])
    recipe = recipe.model_copy(update={"types": {} if loss == "triples" else {"word": 0.5}})
    turned = [[family[0], *family[:0:-1]] for family in FAMILIES[::-1]]
    first = weights(run(tmp_path / "a", recipe))
    assert first == weights(run(tmp_path / "b", recipe, families=turned))
    assert first != weights(run(tmp_path / "c", recipe, seed=2))
    assert first != weights(Path(recipe.base_encoder))


def test_evaluations_during_training_do_not_change_the_weights(
    tmp_path: Path, recipe: Recipe, monkeypatch: pytest.MonkeyPatch
) -> None:
    plain = weights(run(tmp_path / "a", recipe))
    monkeypatch.setattr(setup, "steps_between_evaluations", lambda *_, **__: 1)
    monkeypatch.setattr(trainer, "CHECKPOINT_EVERY", 1)
    assert weights(run(tmp_path / "b", recipe, held_out=HELD_OUT)) == plain


def test_the_saved_model_opens_whole_and_keeps_the_base_limit(
    tmp_path: Path, recipe: Recipe
) -> None:
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


def test_prompts_are_trained_with_and_saved(tmp_path: Path, recipe: Recipe) -> None:
    prompts = ["query_prompt=query:", "document_prompt=passage:"]
    path = run(tmp_path / "run", recipe.with_overrides(prompts))
    model = load_encoder(str(path), device="cpu")
    assert retrieval_prompts(model) == ("query: ", "passage: ")
    assert weights(path) != weights(run(tmp_path / "plain", recipe))


def test_another_pooling_is_trained_and_saved(tmp_path: Path, recipe: Recipe) -> None:
    path = run(tmp_path / "run", recipe.with_overrides(["pooling=cls"]))
    pooling = load_encoder(str(path), device="cpu")[1]
    assert pooling.pooling_mode == "cls"
    assert weights(path) != weights(run(tmp_path / "mean", recipe))


def test_each_step_is_reported_and_checked_several_times(tmp_path: Path, recipe: Recipe) -> None:
    seen = Recorder()
    run(tmp_path / "run", recipe, progress=seen)
    assert seen.updates == [(0, 4), (0, 4), (1, 4), (2, 4), (3, 4), (4, 4)]
    assert set(seen.metrics) == {"loss", "learning_rate", "characters_per_second"}
    assert all(list(points) == [1, 2, 3, 4] for points in seen.metrics.values())
    assert all(value > 0 for value in seen.metrics["characters_per_second"].values())


def test_a_step_has_checks_before_and_after_the_encoder_and_the_gradients(
    tmp_path: Path, recipe: Recipe
) -> None:
    """At most a fraction of a step passes between two checks, so a cancel does not wait for a
    step."""
    looks: list[int] = []
    seen = Recorder(on_update=lambda step: looks.append(seen.checks))
    run(tmp_path / "run", recipe, progress=seen)
    assert all(after - before >= 3 for before, after in itertools.pairwise(looks[1:]))


@pytest.mark.parametrize("look", [1, 2, 3, 5, 8, 12, 15])
def test_a_cancelled_training_stops_at_once_and_leaves_nothing(
    tmp_path: Path, recipe: Recipe, look: int
) -> None:
    seen = Recorder(cancel_at_check=look)
    with pytest.raises(RunCancelled):
        run(tmp_path / "run", recipe, progress=seen)
    assert seen.checks == look
    assert_nothing_left(tmp_path / "run")


def test_retrieval_is_measured_at_the_ends_of_a_training_and_has_no_curve(
    tmp_path: Path, recipe: Recipe
) -> None:
    seen = Recorder()
    data = Data(FAMILIES, HELD_OUT)
    found = finetune(data, recipe=recipe, seed=1, folder=tmp_path / "run", progress=seen)
    assert found.counts[RETRIEVAL] == len(retrieval.retrieval_items())
    for folder, figures in ((recipe.base_encoder, found.before), (found.folder, found.after)):
        again = retrieval_figures(load_encoder(str(folder), device="cpu"))
        assert figures[RETRIEVAL] == pytest.approx(again[RETRIEVAL])
    assert "drift" in seen.metrics and RETRIEVAL not in seen.metrics


def test_an_evaluation_of_the_held_out_part_can_be_cancelled(
    tmp_path: Path, recipe: Recipe
) -> None:
    seen = Recorder(cancel_at_check=4)  # before the first step
    with pytest.raises(RunCancelled):
        run(tmp_path / "run", recipe, held_out=HELD_OUT, progress=seen)
    assert seen.updates == [(0, 4)]


@pytest.mark.parametrize(
    ("families", "changes", "sentence"),
    [
        ([], [], "There are no triples"),
        (FAMILIES[:5], [], "A batch needs 6 anchors, found 5"),
        (FAMILIES[:5], ["loss=triples"], "A batch needs 6 anchors, found 5"),
        (FAMILIES, ["base_encoder=./nowhere"], "no model folder"),
        (
            FAMILIES,
            ["early_stopping=ranked"],
            "no items for the early stopping metric 'ranked'",
        ),
    ],
)
def test_a_model_that_cannot_be_trained_is_refused_with_one_sentence(
    tmp_path: Path, recipe: Recipe, families: list[Family], changes: list[str], sentence: str
) -> None:
    with pytest.raises(HedgerowError, match=sentence) as caught:
        run(tmp_path / "run", recipe.with_overrides(changes), families=families)
    assert "\n" not in str(caught.value)
    assert_nothing_left(tmp_path / "run")


@pytest.mark.parametrize("seed", [-1, 2**32])
def test_a_seed_out_of_range_is_refused(tmp_path: Path, recipe: Recipe, seed: int) -> None:
    with pytest.raises(HedgerowError, match="seed from 0 to 4294967295"):
        run(tmp_path / "run", recipe, seed=seed)


def test_a_finished_model_is_not_trained_over(tmp_path: Path, recipe: Recipe) -> None:
    path = run(tmp_path / "run", recipe)
    before = weights(path)
    with pytest.raises(HedgerowError, match="already contains a model"):
        run(tmp_path / "run", recipe, seed=2)
    assert weights(path) == before


def test_the_remains_of_a_killed_training_are_no_obstacle(tmp_path: Path, recipe: Recipe) -> None:
    folder = tmp_path / "run"
    for name in ("model.partial", "checkpoint.partial"):
        (folder / name).mkdir(parents=True)
        (folder / name / "model.safetensors").write_bytes(b"half")
    (folder / "best-3.partial").write_bytes(b"half")
    assert weights(run(folder, recipe)) == weights(run(tmp_path / "fresh", recipe))
    assert [child.name for child in folder.iterdir()] == ["model"]


def test_a_diverging_training_stops_with_a_sentence(
    tmp_path: Path, recipe: Recipe, tiny_encoder: Path
) -> None:
    """Weights near the largest float make the first loss infinite."""
    damaged = tmp_path / "damaged"
    shutil.copytree(tiny_encoder, damaged)
    model = load_encoder(str(damaged), device="cpu")
    for parameter in model.parameters():
        parameter.data.fill_(3e38)
    model.save_pretrained(str(damaged), create_model_card=False)

    seen = Recorder()
    with pytest.raises(HedgerowError, match="diverged after step 1 .* lower learning_rate"):
        run(tmp_path / "run", recipe.with_overrides([f"base_encoder={damaged}"]), progress=seen)
    assert seen.updates[-1] == (0, 4)
    assert_nothing_left(tmp_path / "run")


def test_a_full_disk_is_reported_before_the_training(
    tmp_path: Path, recipe: Recipe, monkeypatch: pytest.MonkeyPatch
) -> None:
    usage = shutil.disk_usage(tmp_path)
    monkeypatch.setattr(shutil, "disk_usage", lambda path: usage._replace(free=1000))
    seen = Recorder()
    with pytest.raises(HedgerowError, match="needs 4 MB of disk space"):
        run(tmp_path / "run", recipe, progress=seen)
    assert seen.updates == [(0, 4)]


@pytest.mark.parametrize(
    ("changes", "checkpoint_every", "sentence"),
    [
        ([], 100, "Could not save the model"),
        ([], 3, "Could not save a checkpoint .* resume the run"),
        (["early_stopping=ranked"], 100, "Could not save a checkpoint"),
    ],
)
def test_a_full_disk_leaves_no_partial_file(
    tmp_path: Path,
    recipe: Recipe,
    changes: list[str],
    checkpoint_every: int,
    sentence: str,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """A limit on the size of files replaces the full disk."""
    monkeypatch.setattr(trainer, "CHECKPOINT_EVERY", checkpoint_every)
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)

    def fill(step: int) -> None:
        if step == 1:
            resource.setrlimit(resource.RLIMIT_FSIZE, (500_000, hard))

    try:
        with pytest.raises(HedgerowError, match=sentence) as caught:
            run(
                tmp_path / "run",
                recipe.with_overrides(changes),
                held_out=HELD_OUT,
                progress=Recorder(on_update=fill),
            )
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
    assert "\n" not in str(caught.value)
    assert_nothing_left(tmp_path / "run")


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    """A disk with space for the tiny model, but not for a checkpoint."""
    with disk_of("6m", tmp_path / "disk") as folder:
        yield folder


@pytest.mark.parametrize("other", [0, 2_500_000])
def test_a_disk_too_small_for_a_checkpoint_gives_one_sentence(
    small_disk: Path, recipe: Recipe, other: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The disk is full when PyTorch writes the optimizer's state, or safetensors the weights."""
    monkeypatch.setattr(trainer, "CHECKPOINT_EVERY", 3)
    folder = small_disk / "run"

    def fill(step: int) -> None:
        if step == 2:
            (small_disk / "other").write_bytes(b"x" * other)

    with pytest.raises(HedgerowError, match="Could not save a checkpoint") as caught:
        run(folder, recipe, progress=Recorder(on_update=fill))
    assert "\n" not in str(caught.value)
    assert_nothing_left(folder)


def test_no_memory_gives_one_sentence(tmp_path: Path, recipe: Recipe) -> None:
    """A real allocation that no machine can make, in the middle of training."""
    import torch

    def hoard(step: int) -> None:
        if step == 2:
            torch.empty(2**52)

    with pytest.raises(HedgerowError, match="not enough memory .* lower batch_size"):
        run(tmp_path / "run", recipe, progress=Recorder(on_update=hoard))
    assert_nothing_left(tmp_path / "run")


def test_bf16_trains_on_a_processor_and_keeps_weights_of_full_precision(
    tmp_path: Path, recipe: Recipe, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(devices, "uses_bf16", lambda _: True)
    path = run(tmp_path / "run", recipe)
    monkeypatch.setattr(devices, "uses_bf16", lambda _: False)
    fp32 = run(tmp_path / "fp32", recipe)
    assert weights(path) != weights(fp32) and len(weights(path)) == len(weights(fp32))


def test_interpolation_stays_between_base_and_finetuned_model(
    tmp_path: Path, recipe: Recipe
) -> None:
    def values(path: Path) -> np.ndarray:
        model = load_encoder(str(path), device="cpu")
        return np.concatenate([p.detach().numpy().ravel() for p in model.parameters()])

    base, tuned = values(Path(recipe.base_encoder)), values(run(tmp_path / "a", recipe))
    mixed = values(run(tmp_path / "b", recipe.with_overrides(["interpolation=0.25"])))
    np.testing.assert_allclose(mixed, 0.75 * base + 0.25 * tuned, atol=1e-6)


def test_the_figures_after_are_those_of_the_saved_model(tmp_path: Path, recipe: Recipe) -> None:
    recipe = recipe.with_overrides(["interpolation=0.5", "lora_rank=2"])
    seen = Recorder()
    trained = finetune(
        Data(FAMILIES, HELD_OUT), recipe=recipe, seed=1, folder=tmp_path / "run", progress=seen
    )
    looked_at = {
        name: points[0] for name, points in seen.metrics.items() if 0 in points and name != "epoch"
    }
    assert trained.before == looked_at | {RETRIEVAL: trained.before[RETRIEVAL]}
    again = finetune(
        Data(FAMILIES, HELD_OUT),
        recipe=recipe.with_overrides([f"base_encoder={trained.folder}", "lora_rank=none"]),
        seed=1,
        folder=tmp_path / "again",
        progress=Recorder(),
    )
    for name in ("ranked", "families", "cosine:negation"):
        assert again.before[name] == pytest.approx(trained.after[name], abs=1e-5)
    assert trained.after["cosine:negation"] != trained.before["cosine:negation"]
    assert (trained.triples, trained.anchors) == (6 * len(FAMILIES), len(FAMILIES))


def test_nothing_is_printed_and_nothing_written_elsewhere(
    tmp_path: Path, recipe: Recipe, home: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    run(tmp_path / "run", recipe.with_overrides(["loss=triples", "lora_rank=2"]))
    assert capfd.readouterr().out == ""
    assert list(home.iterdir()) == []
