"""Finetuning: it learns, is reproducible, stops within a step, and leaves nothing incomplete."""

from __future__ import annotations

import itertools
import resource
import shutil
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
import pytest

from curation.encoders.embeddings import encode_distinct, retrieval_prompts
from curation.encoders.loading import load_encoder
from db.errors import HedgerowError, RunCancelled
from tests.training.support.trainings import (
    FAMILIES,
    HELD_OUT,
    assert_nothing_left,
    fitted,
    recorder,
    run,
    weights,
)
from training.data.sampling import as_triples
from training.evaluation import general_ability
from training.evaluation.general_ability import RETRIEVAL, retrieval_figures
from training.evaluation.held_out import HeldOut
from training.finetune import setup
from training.finetune.compute import devices
from training.finetune.setup import MOST_EVALUATIONS, set_dropout, steps_between_evaluations
from training.losses.families import Family
from training.recipe.schema import Recipe

if TYPE_CHECKING:
    from tests.training.support.recorder import Recorder

LOSSES = ["family", "symmetric", "triples"]
CHECKPOINT_EVERY = "training.finetune.trainer.CHECKPOINT_EVERY"


@pytest.fixture(scope="module")
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


class Plain(NamedTuple):
    """A finished training with this recipe."""

    model: Path
    seen: Recorder


@pytest.fixture(scope="module")
def plain(recipe: Recipe, tmp_path_factory: pytest.TempPathFactory) -> Plain:
    """Do not change it."""
    seen = recorder()
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(devices, "uses_bf16", lambda _: False)
        return Plain(run(tmp_path_factory.mktemp("plain") / "run", recipe, progress=seen), seen)


@pytest.fixture(autouse=True)
def _full_precision(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(devices, "uses_bf16", lambda _: False)


@pytest.mark.slow
@pytest.mark.parametrize("loss", LOSSES)
def test_training_moves_negations_away_and_the_loss_falls(
    tmp_path: Path, recipe: Recipe, loss: str
) -> None:
    seen = recorder()
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
    assert first != weights(Path(recipe.base_encoder))
    if loss == "family":
        assert first != weights(run(tmp_path / "c", recipe, seed=2))


def test_evaluations_during_training_do_not_change_the_weights(
    tmp_path: Path, recipe: Recipe, plain: Plain, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Retrieval is only measured at the ends, and has no curve."""
    monkeypatch.setattr(setup, "steps_between_evaluations", lambda *_, **__: 1)
    monkeypatch.setattr(CHECKPOINT_EVERY, 1)
    seen = recorder()
    found = fitted(tmp_path / "run", recipe, held_out=HELD_OUT, progress=seen)
    assert weights(found.folder) == weights(plain.model)
    assert found.counts[RETRIEVAL] == len(general_ability.retrieval_items())
    for folder, figures in ((recipe.base_encoder, found.before), (found.folder, found.after)):
        again = retrieval_figures(load_encoder(str(folder), device="cpu"))
        assert figures[RETRIEVAL] == pytest.approx(again[RETRIEVAL])
    assert "drift" in seen.metrics and RETRIEVAL not in seen.metrics
    first = {name: of[0] for name, of in seen.metrics.items() if 0 in of and name != "epoch"}
    assert found.before == first | {RETRIEVAL: found.before[RETRIEVAL]}
    assert (found.triples, found.anchors) == (6 * len(FAMILIES), len(FAMILIES))


def test_evaluations_use_whole_texts_even_if_training_texts_are_cut(
    tmp_path: Path, recipe: Recipe
) -> None:
    end = " after all the years in the garden behind the old house"
    held_out = [[one._replace(text=one.text[:-1] + end) for one in family] for family in FAMILIES]
    seen = recorder()
    cut = recipe.with_overrides(["max_seq_length=8"])
    trained = fitted(tmp_path / "run", cut, held_out=held_out, progress=seen)
    measured = seen.metrics["cosine:negation"]
    assert measured[max(measured)] == pytest.approx(trained.after["cosine:negation"], abs=1e-6)


@pytest.mark.parametrize(
    ("changes", "prompts", "pooling"),
    [
        (["max_seq_length=8"], ("", ""), "mean"),
        (["query_prompt=query:", "document_prompt=passage:"], ("query: ", "passage: "), "mean"),
        (["pooling=cls"], ("", ""), "cls"),
    ],
)
def test_the_saved_model_has_what_it_was_trained_with_but_the_base_s_limit(
    tmp_path: Path,
    recipe: Recipe,
    plain: Plain,
    changes: list[str],
    prompts: tuple[str, str],
    pooling: str,
) -> None:
    folder = tmp_path / "run"
    path = run(folder, recipe.with_overrides(changes))
    assert path == folder / "model" and [child.name for child in folder.iterdir()] == ["model"]
    assert list(path.rglob("*.bin")) == [] and weights(path) != weights(plain.model)
    model = load_encoder(str(path), device="cpu")
    assert model.max_seq_length == 48
    assert (retrieval_prompts(model), model[1].pooling_mode) == (prompts, pooling)
    longer, cut = encode_distinct(model, ["old " * 20 + "kettle", "old " * 20 + "mirror"])
    assert not np.allclose(longer, cut)


def test_each_step_is_reported_and_checked_several_times(plain: Plain) -> None:
    """At most a fraction of a step passes between two checks."""
    assert plain.seen.updates == [(0, 4), (0, 4), (1, 4), (2, 4), (3, 4), (4, 4)]
    assert set(plain.seen.metrics) == {"loss", "learning_rate", "characters_per_second"}
    assert all(list(points) == [1, 2, 3, 4] for points in plain.seen.metrics.values())
    assert all(value > 0 for value in plain.seen.metrics["characters_per_second"].values())
    checks = itertools.pairwise(plain.seen.checks_before[1:])
    assert all(after - before >= 3 for before, after in checks)


@pytest.mark.parametrize(
    ("look", "held_out"), [(1, []), (2, []), (3, []), (4, HELD_OUT), (8, []), (15, [])]
)
def test_a_cancelled_training_stops_at_once_and_leaves_nothing(
    tmp_path: Path, recipe: Recipe, look: int, held_out: list[Family]
) -> None:
    seen = recorder(cancel_at_check=look)
    with pytest.raises(RunCancelled):
        run(tmp_path / "run", recipe, held_out=held_out, progress=seen)
    assert seen.checks == look
    assert seen.updates == [(0, 4)] or not held_out  # within the first evaluation
    assert_nothing_left(tmp_path / "run")


@pytest.mark.parametrize(
    ("families", "changes", "seed", "fact"),
    [
        ([], [], 1, "no triples"),
        (FAMILIES[:5], [], 1, "6 anchors, found 5"),
        (FAMILIES[:5], ["loss=triples"], 1, "6 anchors, found 5"),
        (FAMILIES, ["base_encoder=./nowhere"], 1, "no model folder"),
        (FAMILIES, ["early_stopping=ranked"], 1, "'ranked'"),
        (FAMILIES, [], -1, "4294967295"),
        (FAMILIES, [], 2**32, "4294967295"),
    ],
)
def test_a_model_that_cannot_be_trained_is_refused(
    tmp_path: Path,
    recipe: Recipe,
    families: list[Family],
    changes: list[str],
    seed: int,
    fact: str,
) -> None:
    with pytest.raises(HedgerowError, match=fact) as caught:
        run(tmp_path / "run", recipe.with_overrides(changes), families=families, seed=seed)
    assert "\n" not in str(caught.value)
    assert_nothing_left(tmp_path / "run")


def test_a_finished_model_is_not_trained_over(recipe: Recipe, plain: Plain) -> None:
    before = weights(plain.model)
    with pytest.raises(HedgerowError, match="already contains a model"):
        run(plain.model.parent, recipe, seed=2)
    assert weights(plain.model) == before


def test_the_remains_of_a_killed_training_are_no_obstacle(
    tmp_path: Path, recipe: Recipe, plain: Plain
) -> None:
    folder = tmp_path / "run"
    for name in ("model.partial", "checkpoint.partial"):
        (folder / name).mkdir(parents=True)
        (folder / name / "model.safetensors").write_bytes(b"half")
    (folder / "best-3.partial").write_bytes(b"half")
    assert weights(run(folder, recipe)) == weights(plain.model)
    assert [child.name for child in folder.iterdir()] == ["model"]


def test_a_diverging_training_stops(tmp_path: Path, recipe: Recipe, tiny_encoder: Path) -> None:
    """Weights near the largest float make the first loss infinite."""
    damaged = tmp_path / "damaged"
    shutil.copytree(tiny_encoder, damaged)
    model = load_encoder(str(damaged), device="cpu")
    for parameter in model.parameters():
        parameter.data.fill_(3e38)
    model.save_pretrained(str(damaged), create_model_card=False)
    seen = recorder()
    with pytest.raises(HedgerowError, match="after step 1 .*learning_rate"):
        run(tmp_path / "run", recipe.with_overrides([f"base_encoder={damaged}"]), progress=seen)
    assert seen.updates[-1] == (0, 4)
    assert_nothing_left(tmp_path / "run")


def test_a_full_disk_is_reported_before_the_training(
    tmp_path: Path, recipe: Recipe, monkeypatch: pytest.MonkeyPatch
) -> None:
    usage = shutil.disk_usage(tmp_path)
    monkeypatch.setattr(shutil, "disk_usage", lambda path: usage._replace(free=1000))
    seen = recorder()
    with pytest.raises(HedgerowError, match="4 MB"):
        run(tmp_path / "run", recipe, progress=seen)
    assert seen.updates == [(0, 4)]


@pytest.mark.parametrize(
    ("changes", "checkpoint_every", "size", "fact"),
    [
        ([], 100, 500_000, "the model"),
        ([], 3, 500_000, "a checkpoint .* resume"),  # safetensors cannot write the weights
        ([], 3, 5_000_000, "a checkpoint .* resume"),  # PyTorch cannot write the optimizer's state
        (["early_stopping=ranked"], 100, 500_000, "a checkpoint"),
    ],
)
def test_a_full_disk_leaves_no_partial_file(
    tmp_path: Path,
    recipe: Recipe,
    changes: list[str],
    checkpoint_every: int,
    size: int,
    fact: str,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """A limit on the size of files replaces the full disk."""
    monkeypatch.setattr(CHECKPOINT_EVERY, checkpoint_every)
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)

    def fill(step: int) -> None:
        if step == 1:
            resource.setrlimit(resource.RLIMIT_FSIZE, (size, hard))

    how = {"held_out": HELD_OUT, "progress": recorder(on_update=fill)}
    try:
        with pytest.raises(HedgerowError, match=fact) as caught:
            run(tmp_path / "run", recipe.with_overrides(changes), **how)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
    assert "\n" not in str(caught.value)
    assert_nothing_left(tmp_path / "run")


def test_no_memory_leaves_nothing(tmp_path: Path, recipe: Recipe) -> None:
    """A real allocation that no machine can make, in the middle of training."""
    import torch

    def hoard(step: int) -> None:
        if step == 2:
            torch.empty(2**52)

    with pytest.raises(HedgerowError, match="batch_size"):
        run(tmp_path / "run", recipe, progress=recorder(on_update=hoard))
    assert_nothing_left(tmp_path / "run")


def test_bf16_trains_on_a_processor_and_keeps_weights_of_full_precision(
    tmp_path: Path, recipe: Recipe, plain: Plain, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(devices, "uses_bf16", lambda _: True)
    half, full = weights(run(tmp_path / "run", recipe)), weights(plain.model)
    assert half != full and len(half) == len(full)


def test_the_saved_model_is_the_mix_of_base_and_finetuned_model_that_was_measured(
    tmp_path: Path, recipe: Recipe, home: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    """Nothing is printed, and nothing written elsewhere."""

    def values(path: Path) -> np.ndarray:
        model = load_encoder(str(path), device="cpu")
        return np.concatenate([p.detach().numpy().ravel() for p in model.parameters()])

    recipe = recipe.with_overrides(["loss=triples", "lora_rank=2", "learning_rate=1e-2"])
    path = run(tmp_path / "a", recipe)
    base, tuned = values(Path(recipe.base_encoder)), values(path)
    assert list(path.rglob("adapter*")) == [] and not np.allclose(base, tuned)
    assert capfd.readouterr().out == "" and list(home.iterdir()) == []
    share = recipe.with_overrides(["interpolation=0.25"])
    mixed = fitted(tmp_path / "b", share, held_out=HELD_OUT)
    np.testing.assert_allclose(values(mixed.folder), 0.75 * base + 0.25 * tuned, atol=1e-6)
    again = HeldOut(load_encoder(str(mixed.folder), device="cpu"), HELD_OUT).before
    for name in ("ranked", "families", "cosine:negation"):
        assert again[name] == pytest.approx(mixed.after[name], abs=1e-5)
    assert mixed.after["cosine:negation"] != mixed.before["cosine:negation"]


@pytest.mark.parametrize("epochs", [1, 3, 10, 11, 40])
def test_the_held_out_part_is_evaluated_each_epoch_but_ten_times_at_most(epochs: int) -> None:
    steps = 7
    every = steps_between_evaluations(steps, all_steps=epochs * steps)
    assert every == steps if epochs <= MOST_EVALUATIONS else every > steps
    assert len({*range(every, epochs * steps, every), epochs * steps}) <= MOST_EVALUATIONS


def test_the_recipe_decides_the_dropout(tiny_encoder: Path) -> None:
    """The tiny encoder's files set 0.1."""
    from torch.nn import Dropout

    for asked, expected in ((None, 0.1), (0.3, 0.3), (0.0, 0.0)):
        model = load_encoder(str(tiny_encoder))
        set_dropout(model, Recipe(dropout=asked))
        found = {module.p for module in model.modules() if isinstance(module, Dropout)}
        assert found == {expected}
