"""Finetuning a language model on question pairs, compared with a plain script for trl's SFTTrainer.

    python -m bench.llm [--model FOLDER] [--pairs 200] [--epochs 1] [--rounds 5]

Hedgerow executes a stored run as `hedgerow llm train` does: it stores progress, curves and
checkpoints, and checks at each step whether the run has been cancelled. The baseline is the script
from trl's guide, with the same model, adapter, pairs, batches and precision. Without --model, both
train a Llama with a million random weights. The time excludes loading, and neither evaluates. The
two alternate. The bench prints the tokens per second in the fastest round (because other work on
the machine can only slow a round down), and their ratio, which should be at least 0.95.
"""

import argparse
import tempfile
import time
from pathlib import Path
from typing import Any

from datasets import Dataset
from sqlalchemy import update

from curation.corpora.corpus import STARTER
from curation.importing.corpora import load
from curation.overview.project_settings import open_project
from curation.release.freezing import create_release
from db.engine import reading, writing
from db.execution import execute
from db.models import Anchor, Split
from db.settings import Settings
from tests.support.small_llama import save_small_llama
from training.finetune.compute.devices import uses_bf16
from training.llm.base import load_base
from training.llm.examples import Asker
from training.llm.finetuning import work
from training.llm.recipe import LanguageRecipe
from training.llm.request import (
    LanguageTraining,
    checked_request,
    questions_of,
    request_language_finetuning,
)
from training.models.finetuned import LANGUAGE_MODEL_KIND

LIMIT, SEED = 0.95, 42


def small_model(folder: Path) -> Path:
    """A Llama large enough that computation dominates the time of a step."""
    return save_small_llama(folder, hidden=128, layers=4, vocabulary=2_000)


def ours(settings: Settings, engine: Any, base: Path, recipe: LanguageRecipe) -> float:
    """The seconds of a run's steps, from the pace that the run stores."""
    with writing(engine) as session:
        wanted = LanguageTraining(base=str(base), seed=SEED)
        request = checked_request(session, wanted, recipe)
        run = request_language_finetuning(session, request, requested_by=None)
    result = execute(engine, settings, run.id, {LANGUAGE_MODEL_KIND: work})
    return float(recipe.epochs * result["pairs"]["train"] / result["pace"])


def plain(base: Path, recipe: LanguageRecipe, rows: list[dict[str, Any]]) -> tuple[float, int]:
    """The seconds of the script's steps, and the number of tokens."""
    from peft import LoraConfig
    from trl import SFTConfig, SFTTrainer

    loaded = load_base(base)
    with tempfile.TemporaryDirectory() as folder:
        trainer = SFTTrainer(
            model=loaded.model,
            args=SFTConfig(
                output_dir=folder,
                num_train_epochs=recipe.epochs,
                per_device_train_batch_size=recipe.batch_size,
                learning_rate=recipe.learning_rate,
                bf16=uses_bf16(loaded.model),
                use_cpu=loaded.model.device.type == "cpu",
                seed=SEED,
                report_to="none",
                disable_tqdm=True,
            ),
            train_dataset=Dataset.from_list(rows),
            processing_class=loaded.tokenizer,
            peft_config=LoraConfig(
                task_type="CAUSAL_LM",
                r=recipe.rank,
                lora_alpha=recipe.alpha,
                target_modules=list(recipe.targets),
            ),
        )
        start = time.perf_counter()
        trainer.train()
        return time.perf_counter() - start, _tokens(trainer.state.log_history)


def _tokens(history: list[dict[str, float]]) -> int:
    return int(max(entry.get("num_tokens", 0) for entry in history))


def main() -> None:
    """Measure, and print the fastest rounds and their ratio."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--model", type=Path)
    parser.add_argument("--pairs", type=int, default=200)
    parser.add_argument("--epochs", type=float, default=1.0)
    parser.add_argument("--rounds", type=int, default=5)
    options = parser.parse_args()
    seconds: dict[str, list[float]] = {"hedgerow": [], "SFTTrainer": []}
    with tempfile.TemporaryDirectory() as folder:
        settings = Settings(home=Path(folder), database_url="")
        base = options.model or small_model(Path(folder) / "llama")
        recipe = LanguageRecipe(epochs=options.epochs, max_pairs=options.pairs)
        engine = open_project(settings)
        with writing(engine) as session:
            load(session, STARTER)
            session.execute(update(Anchor).values(split=Split.TRAIN))  # no split to evaluate on
        release = create_release(engine)
        with reading(engine) as session:
            pairs = questions_of(session, release.release.id, recipe, SEED).train
        rows = Asker(load_base(base).tokenizer, chat=recipe.chat_template).rows(pairs)
        for _ in range(options.rounds):
            seconds["hedgerow"].append(ours(settings, engine, base, recipe))
            taken, tokens = plain(base, recipe, rows)
            seconds["SFTTrainer"].append(taken)
        engine.dispose()
    print(f"{len(pairs):,} question pairs, {tokens:,} tokens in {options.epochs:g} epochs")
    fastest = {name: min(times) for name, times in seconds.items()}
    for name, best in fastest.items():
        print(f"{name:11} {tokens / best:9,.0f} tokens/s {best:7.1f} s")
    ratio = fastest["SFTTrainer"] / fastest["hedgerow"]
    print(f"hedgerow / SFTTrainer  {ratio:.2f} (at least {LIMIT})")


if __name__ == "__main__":
    main()
