"""Language models in runs: lm_eval tasks are measured, described and stored next to encoders."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import Engine

from db.engine import create_engine, reading
from db.errors import HedgerowError
from db.models import RunState
from db.runs import get_run
from db.settings import Settings
from tests.support.databases import Copies
from tests.support.harness_tasks import save_own_tasks
from tests.support.small_llama import save_small_llama
from tests.training.benchmarks.support.running import carried_out, ran, requested, semantoneg
from training.benchmarks.results.queries import Scored, full_result, newest, paired
from training.benchmarks.runs import lifecycle
from training.benchmarks.runs.measured_models import ModelChoice

pytestmark = pytest.mark.slow

TF_IDF = ModelChoice(architecture="tf-idf")


@pytest.fixture
def engine(home: Path, copies: Copies) -> Engine:
    return create_engine(copies.migrated(home / "hedgerow.db"))


@pytest.fixture
def own(tmp_path: Path) -> dict[str, Any]:
    """A request for both of the user's tasks."""
    folder = save_own_tasks(tmp_path / "tasks")
    return {"language_tasks": ("opposites", "sums"), "tasks_folder": str(folder)}


def results(engine: Engine) -> dict[tuple[str, str], Scored]:
    with reading(engine) as session:
        return {(row.model, row.benchmark): row for row in newest(session)}


def adapter_of(base: Path, folder: Path) -> Path:
    """A LoRA adapter of this model, as saved by peft, that changes its answers."""
    import torch
    from peft import LoraConfig, get_peft_model
    from transformers import AutoModelForCausalLM

    model = AutoModelForCausalLM.from_pretrained(base)
    changed = get_peft_model(model, LoraConfig(target_modules=["q_proj"], task_type="CAUSAL_LM"))
    with torch.no_grad():
        for name, values in changed.named_parameters():
            if "lora_" in name:
                values.normal_(generator=torch.manual_seed(3))
    changed.save_pretrained(folder)
    return folder


def test_a_model_and_its_adapter_are_measured_item_by_item(
    engine: Engine, settings: Settings, small_llama: Path, tmp_path: Path, own: dict[str, Any]
) -> None:
    adapter = adapter_of(small_llama, tmp_path / "adapter")
    models = [ModelChoice(name=str(folder)) for folder in (small_llama, adapter)]
    data = (semantoneg(settings),)
    done = ran(engine, settings, *models, TF_IDF, benchmarks=data, **own)
    assert done["measured"] == 2 * 3 + 1 and done["left_out"] == ["TF-IDF"]
    rows = results(engine)
    base, changed = (rows[str(name), "lm_eval:opposites"] for name in (small_llama, adapter))
    assert (base.kind, base.architecture, base.n) == ("general", "causal-lm", 4)
    assert base.model_hash != changed.model_hash and base.data_hash == changed.data_hash
    assert base.summary["seconds"] > 0 and base.summary["cost"] is None
    first, second = (full_result(settings.data_folder, row) for row in (base, changed))
    assert first.score == base.score and len(first.rows) == 4
    assert [row.scores for row in first.rows] != [row.scores for row in second.rows]
    test = paired(settings.data_folder, base, changed)
    assert test.comparison.difference == changed.score - base.score


def test_one_task_that_fails_leaves_the_others_alone(
    engine: Engine, settings: Settings, small_llama: Path, own: dict[str, Any]
) -> None:
    own["language_tasks"] = ("opposites", "gsm8k", "sums")
    run = requested(engine, settings, ModelChoice(name=str(small_llama)), **own)
    with pytest.raises(
        HedgerowError, match=r"2 results stored.*The data set of GSM8K .* cannot be"
    ):
        carried_out(engine, settings, run)
    assert {benchmark for _, benchmark in results(engine)} == {
        "lm_eval:opposites",
        "lm_eval:sums",
    }


def test_missing_data_is_reported_before_a_model_is_loaded(
    engine: Engine, settings: Settings, small_llama: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def never(*_: Any, **__: Any) -> Any:
        raise AssertionError

    monkeypatch.setattr(lifecycle, "scorer_of", never)
    monkeypatch.setattr(lifecycle, "device_to_oneself", never)
    llama = ModelChoice(name=str(small_llama))
    for task in ("mmlu", "hellaswag", "gsm8k"):
        with pytest.raises(HedgerowError, match="is not on this machine, and the model hub"):
            ran(engine, settings, llama, language_tasks=(task,))
    with pytest.raises(HedgerowError, match="The data set of STS12 is not on this machine"):
        ran(engine, settings, ModelChoice(name="all-MiniLM-L6-v2"), tasks=("STS12",))


def test_a_run_stops_between_requests_and_continues(
    engine: Engine,
    settings: Settings,
    small_llama: Path,
    own: dict[str, Any],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    run = requested(engine, settings, ModelChoice(name=str(small_llama)), **own)
    asked = 0

    def stopped_in(name: str) -> Callable[[Any], dict[str, Any]]:
        def work(context: Any) -> dict[str, Any]:
            update = context.update

            def watched(step: int, total: int, message: str) -> None:
                nonlocal asked
                if message.endswith(f"{name}: 1 of 3."):
                    asked += 1
                    context.interrupt(RunState.INTERRUPTED)
                update(step, total, message)

            monkeypatch.setattr(context, "update", watched)
            return lifecycle.work(context)

        return work

    with pytest.raises(HedgerowError):
        carried_out(engine, settings, run, stopped_in("sums"))
    assert asked == 1 and {name for _, name in results(engine)} == {"lm_eval:opposites"}
    with reading(engine) as session:
        assert get_run(session, run.id).state == RunState.INTERRUPTED
    before = results(engine)
    assert carried_out(engine, settings, run)["measured"] == 2
    after = results(engine)
    assert (
        after[str(small_llama), "lm_eval:opposites"]
        == (before[str(small_llama), "lm_eval:opposites"])
    ), "not measured twice"


def test_models_that_write_nothing(
    engine: Engine, settings: Settings, tiny_encoder: Path, own: dict[str, Any]
) -> None:
    with pytest.raises(HedgerowError, match="Expected a language model .causal-lm. for lm_eval"):
        requested(engine, settings, TF_IDF, **own)
    encoder = ModelChoice(name=str(tiny_encoder))
    with pytest.raises(HedgerowError, match="lm_eval tasks language models; choose others"):
        ran(engine, settings, encoder, **own)


def test_weights_that_are_pickles_are_refused(
    engine: Engine, settings: Settings, tmp_path: Path, own: dict[str, Any]
) -> None:
    folder = save_small_llama(tmp_path / "pickled")
    (folder / "model.safetensors").rename(folder / "pytorch_model.bin")
    with pytest.raises(HedgerowError, match="safetensors"):
        ran(engine, settings, ModelChoice(name=str(folder)), **own)
