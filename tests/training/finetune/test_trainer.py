"""The trainer: learning rate, curves, early stopping, and continuing after an interruption."""

from __future__ import annotations

import gc
import json
import logging
import shutil
from collections.abc import Iterator
from contextlib import suppress
from functools import partialmethod
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from db.errors import RunCancelled
from tests.training.support.trainings import FAMILIES, HELD_OUT, fitted, recorder, run, weights
from training.finetune import checkpoints, setup
from training.finetune.compute import devices
from training.finetune.setup import Outcome
from training.recipe.schema import Recipe

TRAINER = "training.finetune.trainer"


@pytest.fixture(scope="module")
def recipe(tiny_encoder: Path) -> Recipe:
    return Recipe(
        base_encoder=str(tiny_encoder),
        batch_size=6,
        learning_rate=1e-3,
        max_steps=6,
        epochs=20,
        retention=0,
        dropout=None,
        soup=1,
    )


@pytest.fixture(scope="module", autouse=True)
def _a_checkpoint_every_two_steps() -> Iterator[None]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(f"{TRAINER}.CHECKPOINT_EVERY", 2)
        yield


def evaluated_every(monkeypatch: pytest.MonkeyPatch, steps: int, *, patience: int = 9) -> None:
    """Evaluate the held-out part every this many steps."""
    monkeypatch.setattr(setup, "steps_between_evaluations", lambda *_, **__: steps)
    monkeypatch.setattr(f"{TRAINER}.PATIENCE", patience)


def cut_off(
    folder: Path, recipe: Recipe, *, after: int, metrics: dict[str, dict[int, float]] | None = None
) -> None:
    """Interrupt training within the step after this one."""
    cut = recorder(cut_after=after, metrics=metrics)
    with pytest.raises(RunCancelled):
        run(folder, recipe, held_out=HELD_OUT, progress=cut)


def test_the_learning_rate_rises_and_falls_over_all_epochs(
    tmp_path: Path, recipe: Recipe, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("training.finetune.weights.WARMUP", 0.5)
    seen = recorder()
    run(tmp_path / "run", recipe.with_overrides(["epochs=3.5", "max_steps=none"]), progress=seen)
    assert seen.updates[-1] == (7, 7)
    rates = list(seen.metrics["learning_rate"].values())
    assert rates.index(max(rates)) in (3, 4) and max(rates) == pytest.approx(1e-3)


@pytest.mark.slow
@pytest.mark.parametrize(
    "changes",
    [
        ["loss=family", "document_prompt=passage:", "early_stopping=ranked"],
        ["loss=symmetric", "retention=1", "types=word:0.5"],
        ["loss=triples", "lora_rank=2", "interpolation=0.5"],
        ["soup=2", "max_steps=none", "epochs=1.5", "retention=1"],
    ],
)
def test_a_training_that_was_interrupted_ends_like_an_uninterrupted_one(
    tmp_path: Path, recipe: Recipe, changes: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Dropout is on, and the points of the curves do not coincide with the checkpoints."""
    monkeypatch.setattr(f"{TRAINER}.LOGS_PER_RUN", 2)
    monkeypatch.setattr(devices, "uses_bf16", lambda _: "loss=family" in changes)
    if "early_stopping=ranked" in changes:
        evaluated_every(monkeypatch, 1)
    recipe = recipe.with_overrides(changes)
    unbroken, broken = recorder(), recorder()
    expected = run(tmp_path / "unbroken", recipe, held_out=HELD_OUT, progress=unbroken)
    assert list(unbroken.metrics["loss"]) == [3, 6]
    folder = tmp_path / "broken"
    for step in (1, 5):  # without a checkpoint, and after the second
        cut_off(folder, recipe, after=step, metrics=broken.metrics)
        assert checkpoints.step_reached(folder) == step - 1
    assert weights(run(folder, recipe, held_out=HELD_OUT, progress=broken)) == weights(expected)
    assert broken.updates[1] == (4, 6)
    for curves in (unbroken.metrics, broken.metrics):
        curves["characters_per_second"] = dict.fromkeys(curves["characters_per_second"], 0.0)
    assert broken.metrics == unbroken.metrics
    assert [child.name for child in folder.iterdir()] == ["model"]


@pytest.mark.parametrize(
    ("changes", "outcome", "updates"),
    [
        (["max_steps=5"], Outcome(steps=5, kept=5), [(0, 5), (5, 5)]),
        (
            ["max_steps=20", "early_stopping=ranked"],
            Outcome(steps=8, kept=4),
            [(0, 20), (8, 20)],
        ),
    ],
)
def test_a_kept_checkpoint_gives_the_same_model_without_another_step(
    tmp_path: Path,
    recipe: Recipe,
    changes: list[str],
    outcome: Outcome,
    updates: list[tuple[int, int]],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """A training may be interrupted while its model is saved or measured."""
    evaluated_every(monkeypatch, 2, patience=2)
    recipe, folder = recipe.with_overrides(changes), tmp_path / "run"
    scores(monkeypatch, 0.2, 0.6, 0.5, 0.4, 0.4)
    first = fitted(folder, recipe, held_out=HELD_OUT, keep_checkpoint=True)
    before = weights(first.folder)
    shutil.rmtree(first.folder)
    scores(monkeypatch, 0.9, 0.9, 0.9)
    seen = recorder()
    again = fitted(folder, recipe, held_out=HELD_OUT, progress=seen, keep_checkpoint=True)
    assert first.outcome == again.outcome == outcome and weights(again.folder) == before
    assert seen.updates == updates


def test_a_training_leaves_its_optimizer_s_memory_free(tmp_path: Path, recipe: Recipe) -> None:
    """It takes twice the memory of the weights, and the encoders that are measured next need it."""
    import torch

    run(tmp_path / "run", recipe)
    assert not [found for found in gc.get_objects() if isinstance(found, torch.optim.Optimizer)]


def scores(monkeypatch: pytest.MonkeyPatch, *values: float) -> None:
    """Make the evaluations find these shares of ranked triples."""
    left = iter(values)
    monkeypatch.setattr(
        "training.evaluation.held_out.HeldOut.figures", lambda *_: {"ranked": next(left)}
    )


def test_early_stopping_keeps_the_best_state(
    tmp_path: Path, recipe: Recipe, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The third evaluation is not better than the second. With a patience of two, the fourth ends
    the run."""
    evaluated_every(monkeypatch, 2, patience=2)
    recipe = recipe.with_overrides(["max_steps=20", "early_stopping=ranked"])
    states: dict[int, bytes] = {}
    save_best = checkpoints.save_best

    def noting(folder: Path, model: object, *, step: int, **how: object) -> None:
        save_best(folder, model, step=step, **how)
        states[step] = (folder / f"best-{step}.safetensors").read_bytes()

    monkeypatch.setattr(checkpoints, "save_best", noting)
    scores(monkeypatch, 0.2, 0.6, 0.6, 0.5, 0.6)
    found = fitted(tmp_path / "run", recipe, held_out=HELD_OUT)
    assert found.outcome == Outcome(steps=8, kept=4) and list(states) == [2, 4]

    kept = recipe.with_overrides(["early_stopping=none"])
    scores(monkeypatch, *[0.1] * 30)
    four = fitted(tmp_path / "four", kept, held_out=HELD_OUT, progress=recorder(end_after=4))
    assert weights(found.folder) == weights(four.folder)


def test_the_best_state_takes_the_disk_space_of_its_weights_alone(
    tmp_path: Path, recipe: Recipe, monkeypatch: pytest.MonkeyPatch
) -> None:
    evaluated_every(monkeypatch, 1)
    monkeypatch.setattr(f"{TRAINER}.CHECKPOINT_EVERY", 100)
    recipe = recipe.with_overrides(["max_steps=4", "early_stopping=ranked"])
    folder, found = tmp_path / "run", []
    scores(monkeypatch, 0.2, 0.3, 0.2, 0.2, 0.2)

    def note(step: int) -> None:
        if folder.exists():
            found.append({path.name for path in folder.iterdir()})

    fitted(folder, recipe, held_out=HELD_OUT, progress=recorder(on_update=note))
    assert found[-3:] == [{f"best-{step}.safetensors"} for step in (1, 2, 2)]


def test_early_stopping_continues_if_it_was_interrupted(
    tmp_path: Path, recipe: Recipe, monkeypatch: pytest.MonkeyPatch
) -> None:
    evaluated_every(monkeypatch, 1, patience=3)
    recipe = recipe.with_overrides(["max_steps=20", "early_stopping=ranked"])
    folder = tmp_path / "run"
    # The evaluation at step 3 finds the best state. The checkpoint after step 2 knows that of step
    # 1.
    scores(monkeypatch, 0.5, 0.3, 0.6)
    cut_off(folder, recipe, after=3)
    assert {path.name for path in folder.glob("best-*")} == {
        "best-1.safetensors",
        "best-3.safetensors",
    }
    scores(monkeypatch, 0.3, 0.3, 0.4)
    found = fitted(folder, recipe, held_out=HELD_OUT)
    assert found.outcome == Outcome(steps=4, kept=1)
    assert [child.name for child in folder.iterdir()] == ["model"]


def test_a_training_whose_folder_was_moved_keeps_its_best_state(
    tmp_path: Path, recipe: Recipe, monkeypatch: pytest.MonkeyPatch
) -> None:
    evaluated_every(monkeypatch, 2)
    recipe = recipe.with_overrides(["max_steps=4", "early_stopping=ranked"])
    scores(monkeypatch, 0.6, 0.5, 0.5)
    expected = fitted(tmp_path / "unbroken", recipe, held_out=HELD_OUT)
    scores(monkeypatch, 0.6)
    cut_off(tmp_path / "before", recipe, after=3)
    (tmp_path / "before").rename(tmp_path / "after")
    scores(monkeypatch, 0.5, 0.5)
    found = fitted(tmp_path / "after", recipe, held_out=HELD_OUT)
    assert found.outcome == expected.outcome == Outcome(steps=4, kept=2)
    assert weights(found.folder) == weights(expected.folder)


def test_the_library_calls_the_private_methods_that_ours_replaces(
    tmp_path: Path, recipe: Recipe, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The private methods of transformers 5.23 and sentence-transformers 6.2. The model is left
    alone."""
    from training.finetune import trainer

    called: dict[str, list[Any]] = {}
    for name in ("_save_checkpoint", "_load_from_checkpoint", "_clip_grad_norm"):

        def noted(self: Any, *given: Any, name: str = name, real: Any = None) -> Any:
            called.setdefault(name, []).append(given[0])
            return real(self, *given)

        real = getattr(trainer.FamilyTrainer, name)
        monkeypatch.setattr(trainer.FamilyTrainer, name, partialmethod(noted, real=real))
    folder = tmp_path / "run"
    cut_off(folder, recipe, after=3)
    run(folder, recipe, held_out=HELD_OUT)
    assert called["_load_from_checkpoint"] == [str(folder / "checkpoint-2")]
    assert len(called["_save_checkpoint"]) == 3  # after steps 2, 4 and 6
    assert len(called["_clip_grad_norm"]) == 3 + 4  # steps 1 to 3 and 3 to 6
    for name in ("_save_checkpoint", "_clip_grad_norm"):
        assert all(isinstance(model, trainer.StepLoss) for model in called[name])


@pytest.mark.slow
def test_the_library_leaves_the_choice_of_a_gpu_to_us(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """`torchrun` gives each process its own GPU. The library creates arguments itself, too."""
    import torch

    from training.finetune import trainer

    chosen: list[Any] = []
    monkeypatch.setattr(torch.cuda, "is_available", lambda: True)
    monkeypatch.setattr(torch.cuda, "device_count", lambda: 2)
    monkeypatch.setattr(torch.cuda, "set_device", chosen.append)
    args = trainer.FamilyTrainer.training_args_class(output_dir=str(tmp_path))
    assert (args.device.type, args.n_gpu, args.world_size) == ("cpu", 0, 1) and chosen == []


class CutTwice(NamedTuple):
    """A run that was interrupted after its first checkpoint, and again after its second."""

    recipe: Recipe
    once: Path
    twice: Path


@pytest.fixture(scope="module")
def cut_twice(recipe: Recipe, tmp_path_factory: pytest.TempPathFactory) -> CutTwice:
    """Copy it, do not change it."""
    recipe = recipe.with_overrides(["early_stopping=ranked"])
    folder = tmp_path_factory.mktemp("cut")
    cut = CutTwice(recipe, folder / "once", folder / "twice")
    cut_off(cut.twice, recipe, after=3)
    shutil.copytree(cut.twice, cut.once)
    cut_off(cut.twice, recipe, after=5)
    return cut


@pytest.mark.parametrize("damage", ["cut", "bits", "weights gone", "place", "other", "best"])
def test_an_unusable_checkpoint_is_skipped(
    tmp_path: Path, cut_twice: CutTwice, damage: str, caplog: pytest.LogCaptureFixture
) -> None:
    recipe, folder = cut_twice.recipe, tmp_path / "run"
    shutil.copytree(cut_twice.twice, folder)
    spoil(folder, damage)
    if damage != "best":  # the process died before it removed the previous one
        shutil.copytree(cut_twice.once, folder, dirs_exist_ok=True)
    left: list[set[str]] = []
    seen = recorder(
        on_update=lambda step: left.append({path.name for path in folder.glob("checkpoint-*")})
    )
    with caplog.at_level(logging.INFO):
        found = fitted(folder, recipe, held_out=HELD_OUT, progress=seen)
    first, kept = (0, set()) if damage == "best" else (2, {"checkpoint-2"})
    assert (seen.updates[1], left[1]) == ((first, 6), kept) and "'checkpoint-4'" in caplog.text
    assert found.outcome.steps == 6 and [child.name for child in folder.iterdir()] == ["model"]


def spoil(folder: Path, damage: str) -> None:
    newest = folder / "checkpoint-4"
    state, place = newest / "optimizer.pt", newest / "place.json"
    content, middle = bytearray(state.read_bytes()), state.stat().st_size // 2
    content[middle] ^= damage == "bits"
    {
        "cut": lambda: state.write_bytes(content[:middle]),
        "bits": lambda: state.write_bytes(content),
        "weights gone": (newest / "model.safetensors").unlink,
        "place": lambda: place.write_text("[]"),
        "other": lambda: place.write_text(
            json.dumps(json.loads(place.read_text()) | {"of": "another"})
        ),
        "best": lambda: [best.write_bytes(b"half") for best in folder.glob("best-*")],
    }[damage]()


@pytest.mark.parametrize(
    "change",
    [{"seed": 2}, {"scale": 7.0}, {"families": FAMILIES[1:]}, {"held_out": HELD_OUT[1:]}],
    ids=["seed", "recipe", "families", "held out"],
)
def test_the_checkpoint_of_another_training_is_not_used(
    tmp_path: Path, cut_twice: CutTwice, change: dict[str, Any]
) -> None:
    how = {"held_out": HELD_OUT} | change
    other = cut_twice.recipe.model_copy(update={"scale": how.pop("scale", cut_twice.recipe.scale)})
    shutil.copytree(cut_twice.once, tmp_path / "run")
    seen = recorder(cancel_at_check=30)
    with suppress(RunCancelled):
        run(tmp_path / "run", other, progress=seen, **how)
    assert seen.updates[1] == (0, 6)
