"""Finetune an encoder on triples, as in the paper (§3.2), with sentence-transformers' own trainer.

Torch and sentence-transformers are imported inside the functions that train.
"""

from __future__ import annotations

import random
import shutil
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from curation.encoders import load_encoder
from db.errors import HedgerowError
from training.batches import batches_of_one_length
from training.recipe import Recipe
from training.saving import (
    MODEL_FOLDER,
    PARTIAL_FOLDER,
    model_card,
    require_disk_space,
    save_model,
)
from training.watching import Progress, require_finite, watch

if TYPE_CHECKING:
    from sentence_transformers import SentenceTransformer, SentenceTransformerTrainer

TRAINER_FOLDER = "trainer"

LARGEST_SEED = 2**32 - 1
"""NumPy takes no larger one."""

LOGS_PER_RUN = 100
MOST_STEPS_BETWEEN_LOGS = 10

Triple = tuple[str, str, str]
"""(anchor, positive, negative)"""


def finetune(
    *, triples: Sequence[Triple], recipe: Recipe, seed: int, folder: Path, progress: Progress
) -> Path:
    """Train the recipe's encoder and return the folder of the saved model, `folder`/model.

    The order of the triples and repeated ones don't matter; equal triples, recipe, seed and base
    encoder give equal weights on one machine with one number of threads. Nothing is written
    outside `folder`, and nothing is left in it but a whole model.

    Args:
        triples: (anchor, positive, negative) texts.
        recipe: how to train.
        seed: 0 to 4,294,967,295; decides the draw of triples, their order and the dropout.
        folder: the run's own folder; made if it is not there.
        progress: is told each step, and may stop the training within one by raising.

    Raises:
        HedgerowError: too few triples for a batch, no such encoder, a loss that is not finite,
            no memory or no disk space left.
        RunCancelled: out of `progress.check`; no model is saved.
    """
    rows = _chosen(triples, recipe=recipe, seed=seed)
    _prepare_folder(folder)
    progress.check()
    progress.update(0, 0, "loading the encoder")
    try:
        model = _seeded_encoder(recipe, seed=seed)
        progress.check()
        require_disk_space(model, folder)
        _train(model, rows, recipe=recipe, seed=seed, folder=folder, progress=progress)
        progress.check()
        save_model(model, folder, card=model_card(recipe, seed=seed, triples=len(rows)))
    except (MemoryError, RuntimeError) as error:
        if not _is_out_of_memory(error):
            raise
        raise HedgerowError(
            f"The memory is not enough for batches of {recipe.batch_size} triples; lower "
            "batch_size or max_seq_length in the recipe."
        ) from error
    finally:
        for leftover in (PARTIAL_FOLDER, TRAINER_FOLDER):
            shutil.rmtree(folder / leftover, ignore_errors=True)
    return folder / MODEL_FOLDER


def _chosen(triples: Sequence[Triple], *, recipe: Recipe, seed: int) -> list[Triple]:
    """The distinct triples to train on, in an order that depends on their texts alone."""
    if not 0 <= seed <= LARGEST_SEED:
        raise HedgerowError(f"Expected a seed from 0 to {LARGEST_SEED}, found {seed}.")
    rows = sorted({(anchor, positive, negative) for anchor, positive, negative in triples})
    if not rows:
        raise HedgerowError(
            "There are no triples to train on; accept at least one hedge or paraphrase and one "
            "negation of the same anchor."
        )
    if recipe.max_triples is not None and recipe.max_triples < len(rows):
        rows = sorted(random.Random(seed).sample(rows, recipe.max_triples))
    anchors = len({anchor for anchor, _, _ in rows})
    if anchors < recipe.batch_size:  # no two triples of a batch may share a text
        raise HedgerowError(
            f"A batch of {recipe.batch_size} needs triples of as many anchors, found {len(rows)} "
            f"triples of {anchors}; lower batch_size or accept variants of more anchors."
        )
    return rows


def _prepare_folder(folder: Path) -> None:
    if (folder / MODEL_FOLDER).exists():
        raise HedgerowError(f"{str(folder)!r} already holds a model; train into a new folder.")
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise HedgerowError(f"Could not make {str(folder)!r}: {error.strerror}.") from error


def _seeded_encoder(recipe: Recipe, *, seed: int) -> SentenceTransformer:
    """The base encoder; seeded before, since an unusual one may start with random weights."""
    import torch
    from transformers import set_seed

    set_seed(seed)
    model = load_encoder(recipe.base_encoder)
    if model.device.type != "cpu":  # where some operations add up in any order
        torch.use_deterministic_algorithms(True, warn_only=True)
    return model


def _train(
    model: SentenceTransformer,
    rows: list[Triple],
    *,
    recipe: Recipe,
    seed: int,
    folder: Path,
    progress: Progress,
) -> None:
    own_limit = model.max_seq_length
    if recipe.max_seq_length is not None:
        model.max_seq_length = min(recipe.max_seq_length, own_limit or recipe.max_seq_length)
    total = recipe.steps(len(rows))
    trainer = _trainer(model, rows, recipe=recipe, seed=seed, folder=folder, total=total)
    watch(trainer, recipe=recipe, progress=progress)
    progress.check()
    progress.update(0, total, "training")
    trainer.train()
    if trainer.state.global_step == 0:
        raise HedgerowError(
            f"No batch of {recipe.batch_size} triples without a common text could be made; lower "
            "batch_size."
        )
    require_finite(model, step=trainer.state.global_step, recipe=recipe)
    model.max_seq_length = own_limit
    model.eval()


def _trainer(
    model: SentenceTransformer,
    rows: list[Triple],
    *,
    recipe: Recipe,
    seed: int,
    folder: Path,
    total: int,
) -> SentenceTransformerTrainer:
    from datasets import Dataset  # noqa: PLC0415  (loading it takes seconds)
    from sentence_transformers import (
        SentenceTransformerTrainer,
        SentenceTransformerTrainingArguments,
    )
    from sentence_transformers.sentence_transformer.losses import MultipleNegativesRankingLoss
    from transformers import PrinterCallback

    class Trainer(SentenceTransformerTrainer):
        def add_model_card_callback(self, default_args_dict: dict[str, object]) -> None:
            """No card with training texts and Hub look-ups: see model_card."""

    arguments = SentenceTransformerTrainingArguments(
        output_dir=str(folder / TRAINER_FOLDER),
        max_steps=total,
        per_device_train_batch_size=recipe.batch_size,
        batch_sampler=batches_of_one_length,
        dataloader_drop_last=True,
        learning_rate=recipe.learning_rate,
        warmup_steps=round(recipe.warmup_ratio * total),
        weight_decay=recipe.weight_decay,
        bf16=recipe.precision == "bf16",
        use_cpu=model.device.type == "cpu",
        dataloader_pin_memory=model.device.type == "cuda",
        seed=seed,
        logging_steps=max(1, min(MOST_STEPS_BETWEEN_LOGS, total // LOGS_PER_RUN)),
        logging_nan_inf_filter=False,
        save_strategy="no",
        report_to="none",
        disable_tqdm=True,
    )
    anchors, positives, negatives = zip(*rows, strict=True)
    columns = {"anchor": anchors, "positive": positives, "negative": negatives}
    trainer = Trainer(
        model=model,
        args=arguments,
        train_dataset=Dataset.from_dict({name: list(texts) for name, texts in columns.items()}),
        loss=MultipleNegativesRankingLoss(model, scale=recipe.scale),
    )
    trainer.remove_callback(PrinterCallback)  # it prints to standard output
    return trainer


def _is_out_of_memory(error: Exception) -> bool:
    """Whether an error means that: CUDA has a class for it, the CPU and MPS only a message."""
    import torch

    return isinstance(error, (MemoryError, torch.OutOfMemoryError)) or any(
        sign in str(error) for sign in ("can't allocate memory", "out of memory")
    )
