"""Loss, collator and sampler in sentence-transformers' own trainer, and the example script."""

from __future__ import annotations

import doctest
import os
import re
import subprocess
import sys
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from sqlalchemy import Engine

from curation.release.export import card_sections
from curation.release.export.release_folder import export_release
from db.engine import writing
from db.models import Split
from tests.curation.support.families import add_family
from tests.hedgerow.support.rows import row, rows
from tests.support.checkout import ROOT
from tests.support.factories import freeze
from tests.training.support.lazily import Lazily
from tests.training.support.trainings import THINGS
from training.losses.contrastive import BIBTEX

if TYPE_CHECKING:
    from datasets import Dataset
    from sentence_transformers import SentenceTransformer, SentenceTransformerTrainer

pytestmark = pytest.mark.slow
torch = Lazily("torch")

EXAMPLE = ROOT / "docs" / "examples" / "finetune_own_encoder.py"


@pytest.fixture(scope="module")
def families() -> Dataset:
    """Twelve rows, as in an export."""
    from datasets import Dataset

    return Dataset.from_list(rows())


def trainer(
    encoder: Path,
    train: Any,
    folder: Path,
    *,
    prompts: Any = None,
    evaluated: Any = None,
    **arguments: Any,
) -> SentenceTransformerTrainer:
    from sentence_transformers import (
        SentenceTransformer,
        SentenceTransformerTrainer,
        SentenceTransformerTrainingArguments,
    )

    from hedgerow.losses import FamilyBatchSampler, FamilyCollator, FamilyLoss

    model = SentenceTransformer(str(encoder), device="cpu")
    given: dict[str, Any] = {
        "per_device_train_batch_size": 4,
        "per_device_eval_batch_size": 4,
        "learning_rate": 1e-3,
        "report_to": "none",
        "use_cpu": True,
        "disable_tqdm": True,
        "save_strategy": "no",
        "batch_sampler": FamilyBatchSampler,
        "prompts": prompts,
    }
    return SentenceTransformerTrainer(
        model=model,
        args=SentenceTransformerTrainingArguments(output_dir=str(folder), **given | arguments),
        train_dataset=train,
        eval_dataset=evaluated,
        loss=FamilyLoss(model),
        data_collator=FamilyCollator(model.preprocess, prompts=prompts),
    )


def weights(trained: SentenceTransformerTrainer) -> torch.Tensor:
    return torch.cat([p.detach().flatten() for p in trained.model.parameters()])


def contrast(model: SentenceTransformer, given: list[dict[str, Any]], prompt: str = "") -> float:
    """How much farther the nearest negation is from its anchor than the mean hedge."""
    found = []
    for one in given:
        texts = [one["anchor"], *one["hedges"], *one["negations"]]
        anchor, *others = model.encode([prompt + text for text in texts], convert_to_tensor=True)
        cosines = torch.stack([torch.cosine_similarity(anchor, other, dim=0) for other in others])
        hedges = len(one["hedges"])
        found.append(cosines[:hedges].mean() - cosines[hedges:].max())
    return float(torch.stack(found).mean())


HELD_OUT = rows(["candle", "barrel", "window", "basket"])


@pytest.mark.parametrize(
    ("prompts", "arguments"),
    [
        ({"anchor": "query: ", "text": "query: "}, {"gradient_accumulation_steps": 2}),
        (None, {"dataloader_drop_last": True, "per_device_train_batch_size": 5, "bf16": True}),
    ],
)
def test_an_encoder_learns(
    tiny_encoder: Path, families: Dataset, tmp_path: Path, prompts: Any, arguments: dict[str, Any]
) -> None:
    training = trainer(
        tiny_encoder,
        families,
        tmp_path,
        prompts=prompts,
        max_steps=40,
        learning_rate=5e-3,
        **arguments,
    )
    prompt = "query: " if prompts else ""
    before = contrast(training.model, HELD_OUT, prompt)
    training.train()
    assert training.state.global_step == 40
    assert contrast(training.model, HELD_OUT, prompt) > before + 0.05


def test_an_epoch_counts_families_and_equal_seeds_give_equal_weights(
    tiny_encoder: Path, families: Dataset, tmp_path: Path
) -> None:
    found = []
    for seed, drop_last, steps in ((1, False, 3), (1, False, 3), (2, False, 3), (1, True, 2)):
        training = trainer(
            *(tiny_encoder, families, tmp_path),
            num_train_epochs=1,
            per_device_train_batch_size=5,
            dataloader_drop_last=drop_last,
            seed=seed,
        )
        training.train()
        assert training.state.global_step == steps
        found.append(weights(training))
    assert torch.equal(found[0], found[1]) and not torch.equal(found[0], found[2])


def test_an_evaluation_is_the_mean_over_the_families(
    tiny_encoder: Path, families: Dataset, tmp_path: Path
) -> None:
    """The last batch may be smaller, and the trainer also evaluates during training."""
    from hedgerow.losses import FamilyLoss

    eight = families.select(range(8))
    values = []
    for size in (3, 8):
        training = trainer(
            *(tiny_encoder, families, tmp_path),
            evaluated=eight,
            per_device_eval_batch_size=size,
            eval_strategy="steps",
            eval_steps=1,
            max_steps=2,
        )
        training.loss = FamilyLoss(training.model, order_weight=0.0)
        values.append(training.evaluate()["eval_loss"])
    assert values[0] == pytest.approx(values[1], rel=1e-4)
    training.train()
    logged = [one["step"] for one in training.state.log_history if "eval_loss" in one]
    assert logged == [1, 2]


def test_a_training_continues_from_the_trainers_checkpoint(
    tiny_encoder: Path, families: Dataset, tmp_path: Path
) -> None:
    """The result is that of an uninterrupted run, also in the middle of an epoch of three steps."""
    saved = {"save_strategy": "steps", "save_steps": 2, "max_steps": 6}
    unbroken = trainer(tiny_encoder, families, tmp_path, **saved)
    unbroken.train()
    for step in (2, 4):
        resumed = trainer(tiny_encoder, families, tmp_path, **saved)
        resumed.train(resume_from_checkpoint=str(tmp_path / f"checkpoint-{step}"))
        torch.testing.assert_close(weights(resumed), weights(unbroken), atol=1e-7, rtol=0)


def test_several_data_sets_and_the_card_of_the_model(
    tiny_encoder: Path, families: Dataset, tmp_path: Path
) -> None:
    """With the user's own prompts, which the trainer's arguments must name, too."""
    parts = {"first": families.select(range(5)), "second": families.select(range(5, 12))}
    prompts = {"first": {"anchor": "query: "}, "second": {}}
    training = trainer(
        *(tiny_encoder, parts, tmp_path),
        evaluated=parts,
        num_train_epochs=1,
        eval_strategy="epoch",
        prompts=prompts,
    )
    training.train()
    assert training.state.global_step == 2 + 2
    logged = {name for entry in training.state.log_history for name in entry}
    assert {"eval_first_loss", "eval_second_loss"} <= logged
    training.model.save_pretrained(str(tmp_path / "model"))
    card = (tmp_path / "model" / "README.md").read_text(encoding="utf-8")
    assert "FamilyLoss" in card and '"negation_margin": 0.12' in card
    assert BIBTEX in card and BIBTEX == card_sections.BIBTEX


def test_without_the_sampler_a_row_that_lacks_something_is_refused(
    tiny_encoder: Path, tmp_path: Path
) -> None:
    from datasets import Dataset
    from sentence_transformers.sentence_transformer.training_args import BatchSamplers

    given = Dataset.from_list([row("kettle"), row("ladder", negations=[])])
    training = trainer(
        tiny_encoder, given, tmp_path, max_steps=1, batch_sampler=BatchSamplers.BATCH_SAMPLER
    )
    with pytest.raises(ValueError, match="batch_sampler=FamilyBatchSampler"):
        training.train()


@pytest.fixture
def exported(engine: Engine, tmp_path: Path) -> Path:
    """A folder with an export, ``release/``: twelve families for training and three held out."""
    with writing(engine) as session:
        for number, thing in enumerate([*THINGS, "candle", "barrel", "window"]):
            one = row(thing)
            texts = {
                "negated_antonym": one["paraphrases"],
                "word": one["hedges"][:1],
                "phrase": one["hedges"][1:],
                "verbal": one["negations"][:1],
                "lexical": one["negations"][1:],
            }
            split = Split.TRAIN if number < len(THINGS) else Split.TEST
            add_family(session, one["anchor"], texts, split=split)
        release = freeze(session).release
        export_release(session, release, tmp_path / "release", format="jsonl")
    return tmp_path


def carried_out(folder: Path, *arguments: str) -> str:
    """The output of a separate Python process in this folder."""
    done = subprocess.run(
        [sys.executable, *arguments],
        cwd=folder,
        env={**os.environ, "PYTHONPATH": str(ROOT), "HF_HOME": str(folder / "cache")},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_the_example_script_trains_on_an_exported_release(
    exported: Path, tiny_encoder: Path
) -> None:
    given = ["release/families.jsonl", str(tiny_encoder), "trained"]
    options = ["--steps=60", "--batch-size=4", "--learning-rate=3e-3"]
    printed = carried_out(exported, str(EXAMPLE), *given, *options)
    found = {
        kind: (float(before), float(after))
        for kind, before, after in re.findall(r"held-out (\w+): (\S+) before, (\S+) after", printed)
    }
    gained = [found["hedges"][when] - found["negations"][when] for when in (0, 1)]
    assert gained[1] > gained[0] + 0.05 and (exported / "trained" / "model.safetensors").exists()


def test_the_script_in_the_guide_runs(exported: Path, tiny_encoder: Path) -> None:
    guide = (ROOT / "docs" / "training.md").read_text(encoding="utf-8")
    section = guide.partition("## In a training script of your own")[2]
    (script,) = re.findall("```python\n(.*?)```", section.partition("\n## ")[0], re.DOTALL)
    (exported / "path" / "to" / "your").mkdir(parents=True)
    (exported / "path" / "to" / "your" / "encoder").symlink_to(tiny_encoder)
    assert "train_loss" in carried_out(exported, "-c", script)


@pytest.mark.parametrize("module", ["batches", "family_loss"])
def test_the_examples_of_the_docstrings_run(module: str, tiny_encoder: Path, home: Path) -> None:
    (home / "your-encoder").symlink_to(tiny_encoder)
    found = doctest.testmod(import_module(f"training.losses.{module}"))
    assert found.attempted > 0 and found.failed == 0
