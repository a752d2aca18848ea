"""Requesting and executing finetuning runs of a small language model."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from sqlalchemy import Engine

from curation.release.question_pairs import QuestionPair
from db.engine import reading, writing
from db.execution import execute
from db.models import Run
from db.runs import get_run
from db.settings import Settings
from training.llm.finetuning import work
from training.llm.recipe import LanguageRecipe
from training.llm.request import KIND, questions_of, request_language_finetuning

TRAINED, HELD_OUT = 12, 4
"""Anchors of the release, each with four question pairs."""

WHOLE = {"modules_to_save": "embed_tokens,lm_head", "learning_rate": 1e-2}
"""Fully trained modules, so that a model with random weights learns. An adapter alone stays at
chance."""


def recipe(**values: Any) -> LanguageRecipe:
    return LanguageRecipe(**{"gradient_checkpointing": False, "epochs": 1.0, **values})


def ask(
    engine: Engine, base: Path | str, values: Mapping[str, Any] | None = None, **more: Any
) -> Run:
    """Store a finetuning by this recipe."""
    with writing(engine) as session:
        return request_language_finetuning(
            session, base=str(base), recipe=recipe(**values or {}), **more
        )


def carry_out(engine: Engine, settings: Settings, run: Run) -> Run:
    execute(engine, settings, run.id, {KIND: work})
    return stored(engine, run)


def stored(engine: Engine, run: Run) -> Run:
    with reading(engine) as session:
        return get_run(session, run.id)


def train_pairs(engine: Engine, run: Run) -> list[QuestionPair]:
    """The progress that a run shows."""
    with reading(engine) as session:
        return questions_of(session, 1, LanguageRecipe(), run.parameters["seed"]).train


def adapter(settings: Settings, run: Run) -> dict[str, Any]:
    """The weights of a run's adapter."""
    from safetensors.torch import load_file

    return load_file(settings.data_folder / run.result["model"] / "adapter_model.safetensors")


def share_answered_right(folder: Path, pairs: list[QuestionPair], *, base: str = "") -> float:
    """The embeddings of a saved model, or of the base with an adapter, loaded as usual."""
    from peft import PeftModel
    from transformers import AutoModelForCausalLM, AutoTokenizer

    from training.llm.answers import shares_right
    from training.llm.examples import Asker

    tokenizer = AutoTokenizer.from_pretrained(folder)
    model: Any = AutoModelForCausalLM.from_pretrained(base or folder)
    if base:
        model = PeftModel.from_pretrained(model, str(folder))
    choices = Asker(tokenizer, chat=tokenizer.chat_template is not None).choices(pairs)
    return shares_right(model.eval(), choices, pad=tokenizer.pad_token_id)["right"]
