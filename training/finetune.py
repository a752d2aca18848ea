"""Finetune an encoder on triples, as in the paper (§3.2), with sentence-transformers' own trainer.

Torch and sentence-transformers are imported inside the functions that train.
"""

from __future__ import annotations

import logging
import random
import shutil
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

import yaml
from safetensors import SafetensorError

from curation.encoders import DEFAULT_ENCODER, HUB_ORGANISATION, load_encoder, resolve_encoder
from db.errors import HedgerowError
from training.recipe import Recipe

if TYPE_CHECKING:
    import torch
    from datasets import Dataset
    from sentence_transformers import SentenceTransformer, SentenceTransformerTrainer
    from sentence_transformers.base.sampler import DefaultBatchSampler
    from transformers import TrainerCallback

MODEL_FOLDER = "model"
PARTIAL_FOLDER = "model.partial"
"""A model is written here and then renamed, so that a half-written one is never taken for one."""
TRAINER_FOLDER = "trainer"

LARGEST_SEED = 2**32 - 1
"""NumPy takes no larger one."""

LOGS_PER_RUN = 100
MOST_STEPS_BETWEEN_LOGS = 10

BATCHES_PER_GROUP = 8
"""Of a group that is sorted by length; more would save little padding and cost randomness."""

MOST_PASSES = 4
"""Through the triples to fill one epoch's batches; only few anchors need more than two."""

logger = logging.getLogger(__name__)

Triple = tuple[str, str, str]
"""(anchor, positive, negative)"""


class Progress(Protocol):
    """What a training tells the outside, and how it hears that it shall stop."""

    def update(self, step: int, total: int, message: str) -> None:
        """So many of all steps are done; step 0 while the training is being prepared."""

    def metric(self, step: int, name: str, value: float) -> None:
        """A point of a curve: 'loss', 'learning_rate' or 'samples_per_second'."""

    def check(self) -> None:
        """Called several times a step; raises db.errors.RunCancelled to stop the training."""


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
        _require_disk_space(model, folder)
        _train(model, rows, recipe=recipe, seed=seed, folder=folder, progress=progress)
        progress.check()
        _save(model, folder, card=_model_card(recipe, seed=seed, triples=len(rows)))
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
    _watch(trainer, recipe=recipe, progress=progress)
    progress.check()
    progress.update(0, total, "training")
    trainer.train()
    if trainer.state.global_step == 0:
        raise HedgerowError(
            f"No batch of {recipe.batch_size} triples without a common text could be made; lower "
            "batch_size."
        )
    if not _all_finite(model):
        raise HedgerowError(_diverged(trainer.state.global_step, recipe))
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
            """No card with training texts and Hub look-ups: see _model_card."""

    arguments = SentenceTransformerTrainingArguments(
        output_dir=str(folder / TRAINER_FOLDER),
        max_steps=total,
        per_device_train_batch_size=recipe.batch_size,
        batch_sampler=_batches_of_one_length,
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


def _batches_of_one_length(
    dataset: Dataset,
    *,
    batch_size: int,
    generator: torch.Generator,
    seed: int,
    **options: Any,
) -> DefaultBatchSampler:
    """Random batches without a common text, each of triples of about the same length.

    Anchors recur in many triples, and a text that occurs twice in a batch would be a false
    negative. The library's sampler draws groups without a common text; a group is sorted by
    length and cut into batches. On the starter corpus this leaves 78 tokens to compute a triple
    where random batches have 147, of which 62 are not padding.
    """
    import torch
    from sentence_transformers.base.sampler import DefaultBatchSampler, NoDuplicatesBatchSampler

    groups = NoDuplicatesBatchSampler(
        dataset,
        batch_size=batch_size * BATCHES_PER_GROUP,
        drop_last=False,
        generator=generator,
        seed=seed,
    )
    lengths = [max(map(len, row.values())) for row in dataset]

    class BatchesOfOneLength(DefaultBatchSampler):
        def __iter__(self) -> Iterator[list[int]]:
            wanted = len(self)
            for again in range(MOST_PASSES):  # what doesn't fit into one pass comes in the next
                groups.set_epoch(self.epoch * MOST_PASSES + again)
                for group in groups:
                    whole = group[: len(group) // batch_size * batch_size]
                    ranked = sorted(whole, key=lengths.__getitem__)
                    starts = torch.arange(0, len(whole), batch_size)
                    for place in torch.randperm(len(starts), generator=generator):
                        start = int(starts[place])
                        yield ranked[start : start + batch_size]
                        wanted -= 1
                        if not wanted:
                            return

    return BatchesOfOneLength(
        dataset, batch_size=batch_size, generator=generator, seed=seed, **options
    )


def _watch(trainer: SentenceTransformerTrainer, *, recipe: Recipe, progress: Progress) -> None:
    """Have `progress` told of each step and asked within each, and bad losses noticed at once."""

    def check(*_: object) -> None:
        progress.check()

    def check_loss(_module: object, _inputs: object, loss: torch.Tensor) -> None:
        progress.check()
        if not loss.isfinite():
            raise HedgerowError(_diverged(trainer.state.global_step, recipe))

    # The anchors and the other texts are two passes through the model: three looks a step here,
    # one more after the backward pass.
    trainer.model.register_forward_pre_hook(check)
    trainer.loss.register_forward_hook(check_loss)
    trainer.add_callback(_reporter(recipe, progress))


def _reporter(recipe: Recipe, progress: Progress) -> TrainerCallback:
    from transformers import TrainerCallback, TrainerControl, TrainerState, TrainingArguments

    class Reporter(TrainerCallback):
        """Passes on the trainer's steps and logs. A class in here, since its base needs torch."""

        def __init__(self) -> None:
            self.logged = (0, time.monotonic())

        def on_pre_optimizer_step(self, *_: object, **__: object) -> None:
            progress.check()

        def on_step_end(
            self, args: TrainingArguments, state: TrainerState, control: TrainerControl, **_: object
        ) -> None:
            progress.check()
            progress.update(state.global_step, state.max_steps, "training")

        def on_log(
            self,
            args: TrainingArguments,
            state: TrainerState,
            control: TrainerControl,
            logs: dict[str, float] | None = None,
            **_: object,
        ) -> None:
            if not logs or "loss" not in logs:  # the summary at the end
                return
            step, now = state.global_step, time.monotonic()
            steps, seconds = step - self.logged[0], now - self.logged[1]
            self.logged = (step, now)
            values = {
                "loss": logs["loss"],
                "learning_rate": logs["learning_rate"],
                "samples_per_second": steps * recipe.batch_size / max(seconds, 1e-9),
            }
            for name, value in values.items():
                progress.metric(step, name, value)
            logger.info(
                "step %d of %d: loss %.4f, learning rate %.2e, %.1f triples a second",
                step, state.max_steps, *values.values(),
            )  # fmt: skip

    return Reporter()


def _diverged(step: int, recipe: Recipe) -> str:
    return (
        f"The training diverged after step {step} (a loss or weight is not a finite number); "
        f"lower learning_rate, now {recipe.learning_rate:g}, in the recipe."
    )


def _all_finite(model: SentenceTransformer) -> bool:
    return all(bool(weights.isfinite().all()) for weights in model.parameters())


def _save(model: SentenceTransformer, folder: Path, *, card: str) -> None:
    """Write the model beside its place, then put it there by one rename."""
    partial = folder / PARTIAL_FOLDER
    shutil.rmtree(partial, ignore_errors=True)
    try:
        model.save_pretrained(str(partial), create_model_card=False)
        (partial / "README.md").write_text(card, encoding="utf-8")
        partial.rename(folder / MODEL_FOLDER)
    except (OSError, SafetensorError) as error:  # the latter where Rust meets a full disk
        raise HedgerowError(
            f"Could not save the model in {str(folder)!r} ({error}); free some disk space and "
            "train again."
        ) from error


def _require_disk_space(model: SentenceTransformer, folder: Path) -> None:
    """Fail before a long training rather than after it."""
    needed = sum(weights.numel() * weights.element_size() for weights in model.parameters())
    free = shutil.disk_usage(folder).free
    if free < needed:
        raise HedgerowError(
            f"The model needs {needed / 1e6:.0f} MB of disk space at {str(folder)!r}, found "
            f"{free / 1e6:.0f} MB; free some."
        )


def _is_out_of_memory(error: Exception) -> bool:
    """Whether an error means that: CUDA has a class for it, the CPU and MPS only a message."""
    import torch

    return isinstance(error, (MemoryError, torch.OutOfMemoryError)) or any(
        sign in str(error) for sign in ("can't allocate memory", "out of memory")
    )


def _model_card(recipe: Recipe, *, seed: int, triples: int) -> str:
    """A README with how the model was made; no path of this machine and no text of the triples."""
    if recipe.base_encoder == DEFAULT_ENCODER:
        base = f"{HUB_ORGANISATION}/{DEFAULT_ENCODER}"
    else:
        found = resolve_encoder(recipe.base_encoder)
        base = found if isinstance(found, str) else ""
    header: dict[str, object] = {
        "library_name": "sentence-transformers",
        "pipeline_tag": "sentence-similarity",
        "tags": ["sentence-transformers", "negation", "hedging"],
    }
    if base:
        header["base_model"] = base
    public = recipe.model_copy(update={"base_encoder": base or "a local model"})
    return f"""---
{yaml.safe_dump(header, sort_keys=False).strip()}
---

# An encoder finetuned on negation and hedging

Trained with Hedgerow on {triples} triples of an affirmative sentence, a hedged variant or
paraphrase (positive) and a negated variant (negative), after *Learning Robust Negation Text
Representations*, section 3.2. Open it with `SentenceTransformer(path)` and compare embeddings by
cosine similarity.

Seed: {seed}. Recipe:

```yaml
{public.to_yaml().strip()}
```
"""
