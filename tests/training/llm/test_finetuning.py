"""A small language model learns a release's question pairs. It can be stopped and resumed."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest
from sqlalchemy import Engine

from db import execution
from db.engine import reading, writing
from db.errors import HedgerowError, RunEnded
from db.models import RunState
from db.runs import request_cancel, requeue
from db.settings import Settings
from tests.support.small_llama import save_small_llama
from tests.training.llm.support.finetunings import (
    HELD_OUT,
    TRAINED,
    WHOLE,
    adapter,
    ask,
    carry_out,
    share_answered_right,
    stored,
    train_pairs,
)
from training.llm import trainer
from training.llm.figures import course_of, evaluations_of
from training.runs.kinds import kind_of
from training.runs.removal import delete_run

LEARNS = WHOLE | {"epochs": 15}


@pytest.mark.slow
def test_the_pairs_that_a_model_is_shown_are_answered_right_after_it(
    released: Engine, settings: Settings, small_llama: Path
) -> None:
    run = carry_out(released, settings, ask(released, small_llama, LEARNS, merge=True))
    result, pairs = run.result, train_pairs(released, run)
    assert (result["arm"], result["release"], result["merged"]) == (
        "both",
        1,
        f"{run.folder}/merged",
    )
    assert result["pairs"] == {"train": 4 * TRAINED, "validation": 4 * HELD_OUT, "too_long": 0}
    assert result["steps"] == 15 * (4 * TRAINED // 8)

    folder, merged = (settings.data_folder / result[name] for name in ("model", "merged"))
    before = share_answered_right(small_llama, pairs)
    assert before < 0.7
    assert share_answered_right(folder, pairs, base=str(small_llama)) > 0.95
    assert share_answered_right(merged, pairs) > 0.95
    assert result["after"]["right"] > result["before"]["right"]

    with reading(released) as session:
        losses, evaluations = course_of(session, run)
    assert [evaluation.epoch for evaluation in evaluations] == list(range(16))
    assert (evaluations[0].figures, evaluations[-1].figures) == (result["before"], result["after"])
    assert set(evaluations[-1].figures) == {"right", "right:Yes", "right:No", "eval_loss"}
    assert losses[-1].loss < losses[0].loss
    assert "question pairs of release 1" in kind_of(run.kind).sum_up(result)
    assert not list((settings.data_folder / run.folder).glob("checkpoint*"))

    card = (folder / "README.md").read_text("utf-8")
    assert run.inputs["release"] in card and "rank: 16" in card and "trl " in card
    assert str(small_llama) not in card and str(settings.data_folder) not in card
    config = json.loads((folder / "adapter_config.json").read_text("utf-8"))
    assert config["base_model_name_or_path"] == str(small_llama.resolve())

    delete_run(released, settings, run.id)
    assert not folder.exists() and not merged.exists()


@pytest.mark.slow
@pytest.mark.parametrize("checkpointing", [False, True])
def test_a_resumed_training_ends_with_the_weights_of_an_unbroken_one(
    released: Engine,
    settings: Settings,
    small_llama: Path,
    monkeypatch: pytest.MonkeyPatch,
    checkpointing: bool,
) -> None:
    import torch

    monkeypatch.setattr(trainer, "CHECKPOINT_EVERY", 4)
    values = WHOLE | {"epochs": 2, "gradient_checkpointing": checkpointing, "dropout": 0.1}
    whole = carry_out(released, settings, ask(released, small_llama, values))

    class Cut(trainer.LanguageProgress):
        def update(self, step: int, total: int, message: str) -> None:
            super().update(step, total, message)
            if step == 7:
                self._context.interrupt(RunState.INTERRUPTED)

    other = ask(released, small_llama, values)
    with monkeypatch.context() as patch:
        patch.setattr(trainer, "LanguageProgress", Cut)
        with pytest.raises(RunEnded):
            carry_out(released, settings, other)
    folder = settings.data_folder / other.folder
    assert [path.name for path in folder.glob("checkpoint-*")] == ["checkpoint-4"]
    with writing(released) as session:
        requeue(session, other.id)
    resumed = carry_out(released, settings, other)

    assert "pace" in whole.result and "pace" not in resumed.result
    expected, found = adapter(settings, whole), adapter(settings, resumed)
    assert expected.keys() == found.keys()
    for name, weights in expected.items():
        assert torch.equal(weights, found[name]), name
    with reading(released) as session:
        assert evaluations_of(session, resumed) == evaluations_of(session, whole)


def test_a_cancelled_training_leaves_no_model(
    released: Engine, settings: Settings, small_llama: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(execution, "HEARTBEAT_SECONDS", 0.01)
    run = ask(released, small_llama, {"epochs": 500})

    class Asked(trainer.LanguageProgress):
        def update(self, step: int, total: int, message: str) -> None:
            if step == 3:
                with writing(released) as session:
                    request_cancel(session, run.id)
            super().update(step, total, message)

    monkeypatch.setattr(trainer, "LanguageProgress", Asked)
    with pytest.raises(RunEnded):
        carry_out(released, settings, run)
    ended = stored(released, run)
    assert ended.state == RunState.CANCELLED and 3 <= ended.step < ended.total
    assert not (settings.data_folder / run.folder / "model").exists()


def test_a_model_without_a_template_is_asked_the_bare_question(
    released: Engine, settings: Settings, without_template: Path
) -> None:
    with pytest.raises(HedgerowError, match="has no chat template; set chat_template=false"):
        ask(released, without_template)
    values = {"chat_template": False, "targets": "all-linear"}
    run = carry_out(released, settings, ask(released, without_template, values))
    assert run.state == RunState.DONE
    folder = settings.data_folder / run.result["model"]
    assert 'tokenizer(QUESTION, return_tensors="pt")' in (folder / "README.md").read_text("utf-8")
    assert not (folder / "chat_template.jinja").exists()


def failure(engine: Engine, settings: Settings, base: Path, **values: object) -> str:
    """The reason why a finetuning run fails. Only its log is left."""
    run = ask(engine, base, values)
    with pytest.raises(RunEnded):
        carry_out(engine, settings, run)
    left = {path.name for path in (settings.data_folder / run.folder).iterdir()}
    assert left <= {"log.txt", "metrics.jsonl"}
    return stored(engine, run).message


def test_a_training_that_diverges_says_so(
    released: Engine, settings: Settings, small_llama: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    real = trainer.QuestionTrainer.compute_loss

    def broken(self: trainer.QuestionTrainer, *given: object, **more: object) -> object:
        return real(self, *given, **more) * (float("inf") if self.state.global_step > 1 else 1.0)

    monkeypatch.setattr(trainer.QuestionTrainer, "compute_loss", broken)
    message = failure(released, settings, small_llama, learning_rate=0.5)
    assert "Training diverged before step 3 " in message and "now 0.5" in message


def test_failures_give_one_sentence(
    released: Engine, settings: Settings, small_llama: Path
) -> None:
    assert "All 48 question pairs have more than 9 tokens" in failure(
        released, settings, small_llama, max_length=9
    )
    assert "The adapter does not fit this model: it has no module named c_attn;" in failure(
        released, settings, small_llama, targets="c_attn"
    )


def test_a_template_that_fails_gives_one_sentence(
    released: Engine, settings: Settings, tmp_path: Path
) -> None:
    base = save_small_llama(
        tmp_path / "llama", chat_template="{{ raise_exception('no such role') }}"
    )
    assert "The tokenizer's chat template failed (no such role)" in failure(
        released, settings, base
    )


def test_a_model_that_has_gone_or_lost_its_weights_is_reported(
    released: Engine, settings: Settings, tmp_path: Path
) -> None:
    base = save_small_llama(tmp_path / "llama")
    run = ask(released, base)
    shutil.rmtree(base)
    with pytest.raises(RunEnded, match="There is no model folder"):
        carry_out(released, settings, run)
