"""Finetuning an encoder on families or flat triples, and saving it completely or not at all.

Torch and sentence-transformers are imported inside the functions that train.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from curation.encoders.loading import load_encoder
from db.errors import HedgerowError
from training.data.sampling import count_triples, rows_in_an_epoch
from training.evaluation.general_ability import retrieval_counts, retrieval_figures
from training.finetune import checkpoints
from training.finetune.checkpoints import (
    MODEL_FOLDER,
    remove_partial,
    require_disk_space,
    save_model,
)
from training.finetune.compute.devices import free_memory, repeatable
from training.finetune.compute.processes import ALONE, Group
from training.finetune.setup import (
    Course,
    Outcome,
    course_of,
    held_out_of,
    identity_of,
    require_finite,
    rows_of,
    set_dropout,
    set_pooling,
    set_prompts,
)
from training.losses.families import Family
from training.recipe.schema import Recipe
from training.retention.distillation import UPPER_SHARE, interpolate

if TYPE_CHECKING:
    from sentence_transformers import SentenceTransformer
    from torch import Tensor

    from training.finetune.progress import Progress

LARGEST_SEED = 2**32 - 1
"""The largest seed that NumPy accepts."""


class Data(NamedTuple):
    """The data of a training run, and of the evaluations during training."""

    families: Sequence[Family]
    held_out: Sequence[Family] = ()


class Trained(NamedTuple):
    """The model of a training run, and facts about the training.

    Attributes:
        folder: the folder of the saved model.
        outcome: the steps done, and the step whose state was kept.
        triples: the number of training triples, or of those that its families give.
        anchors: the number of their anchors.
        before, after: the metrics on the held-out part and for retrieval, for the base encoder and
            the saved model; empty if no part was held out.
        counts: the number of items behind each of these metrics.
    """

    folder: Path
    outcome: Outcome
    triples: int
    anchors: int
    before: dict[str, float]
    after: dict[str, float]
    counts: dict[str, int]


def finetune(
    data: Data,
    *,
    recipe: Recipe,
    seed: int,
    folder: Path,
    progress: Progress,
    group: Group = ALONE,
    keep_checkpoint: bool = False,
) -> Trained:
    """Train the recipe's encoder and save it as `folder`/model.

    The order of the families doesn't matter. Equal families, recipe, seed and base encoder give
    equal weights on one machine with one number of threads. Nothing is written outside `folder`. At
    the end it only contains a complete model, or after an interruption, the checkpoint to continue
    from.

    Args:
        data: families from `training.data.families`.
        recipe: how to train.
        seed: 0 to 4,294,967,295; determines the sample of triples, their order and the dropout.
        folder: the run's own folder; created if it does not exist.
        progress: receives each step, and may raise to stop the training at any time.
        group: the processes that train together; the leading one saves.
        keep_checkpoint: whether to keep the last checkpoint next to the model; `checkpoints.remove`
            removes it.

    Raises:
        HedgerowError: there are too few rows for a batch, an encoder or file does not exist, the
            loss is not finite, early stopping has no held-out data, or memory or disk space ran
            out.
        RunCancelled: raised by `progress.check`; no model is saved.
    """
    if not 0 <= seed <= LARGEST_SEED:
        raise HedgerowError(f"Expected a seed from 0 to {LARGEST_SEED}, found {seed}.")
    rows = rows_of(data.families, recipe=recipe, seed=seed)
    if group.leads:
        _prepare_folder(folder)
    progress.check()
    steps = recipe.total_steps(rows_in_an_epoch(rows, recipe.sources))
    progress.update(0, steps, "loading the encoder")
    advice = f"{recipe.batch_size} {recipe.rows}; lower batch_size or max_seq_length in the recipe"
    try:
        with enough_memory(advice):
            model = _seeded_encoder(recipe, seed=seed)
            progress.check()
            if group.leads:
                require_disk_space(model, folder)
            base = _copy(model) if recipe.interpolation < 1 else {}
            set_prompts(model, recipe)
            held_out = held_out_of(model, data.held_out, recipe, progress) if group.leads else None
            before = _with_retrieval(held_out.before, model, progress) if held_out else {}
            set_pooling(model, recipe)  # after the evaluation of the encoder as published
            set_dropout(model, recipe)
            course = course_of(model, rows, held_out, recipe, seed, progress)
            identity = identity_of(rows, data.held_out, recipe, seed=seed)
            outcome = _train(model, course, recipe, seed, folder, identity, progress, group)
            progress.check()
            if recipe.interpolation < 1:
                share = recipe.interpolation
                interpolate(model, base, model.state_dict(), share, upper=UPPER_SHARE)
            after = _with_retrieval(held_out.figures(model), model, progress) if held_out else {}
            if group.leads:
                save_model(model, folder)
                if not keep_checkpoint:
                    checkpoints.remove(folder)
    finally:
        if group.leads:
            remove_partial(folder)
    return Trained(
        folder / MODEL_FOLDER,
        outcome,
        triples=len(rows) if recipe.loss == "triples" else sum(map(count_triples, rows)),
        anchors=len({anchor.text for anchor, *_ in rows}),
        before=before,
        after=after,
        counts=held_out.counts | retrieval_counts() if held_out else {},
    )


def _with_retrieval(
    figures: Mapping[str, float], model: SentenceTransformer, progress: Progress
) -> dict[str, float]:
    """Metrics on the held-out part, and metrics that take too long to compute during training."""
    return dict(figures) | retrieval_figures(model, check=progress.check)


def _prepare_folder(folder: Path) -> None:
    if (folder / MODEL_FOLDER).exists():
        raise HedgerowError(f"{str(folder)!r} already contains a model; train into a new folder.")
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise HedgerowError(f"Could not create {str(folder)!r}: {error.strerror}.") from error


def _seeded_encoder(recipe: Recipe, *, seed: int) -> SentenceTransformer:
    """The base encoder. The seed is set first, because an unusual one may have random weights."""
    from transformers import set_seed

    set_seed(seed)
    model = load_encoder(recipe.base_encoder)
    repeatable(model)
    return model


def _copy(model: SentenceTransformer) -> dict[str, Tensor]:
    return {name: value.clone() for name, value in model.state_dict().items()}


def _train(
    model: SentenceTransformer,
    course: Course,
    recipe: Recipe,
    seed: int,
    folder: Path,
    identity: str,
    progress: Progress,
    group: Group,
) -> Outcome:
    from training.finetune.trainer import FamilyTrainer
    from training.finetune.weights import add_adapter, merge_adapter

    own_limit = model.max_seq_length
    if recipe.max_seq_length is not None:
        model.max_seq_length = min(recipe.max_seq_length, own_limit or recipe.max_seq_length)
    if recipe.lora_rank is not None:
        add_adapter(model, rank=recipe.lora_rank, seed=seed)
    outcome = FamilyTrainer(
        model,
        course,
        recipe=recipe,
        folder=folder,
        identity=identity,
        progress=progress,
        group=group,
    ).finish()
    free_memory()  # memory of the trainer, whose parts refer to each other
    if recipe.lora_rank is not None:
        merge_adapter(model)
    require_finite(model, step=outcome.steps, recipe=recipe)
    model.max_seq_length = own_limit
    model.eval()
    return outcome


@contextmanager
def enough_memory(batches: str) -> Iterator[None]:
    """A context in which memory may run out. CUDA has a class for this, CPU and MPS only a message.

    Args:
        batches: the size of a batch and what to do, for the message.

    Raises:
        HedgerowError: memory ran out.
    """
    import torch

    try:
        yield
    except (MemoryError, RuntimeError) as error:
        signs = ("can't allocate memory", "out of memory", "CUBLAS_STATUS_ALLOC_FAILED")
        known = isinstance(error, (MemoryError, torch.OutOfMemoryError))
        if not known and not any(sign in str(error) for sign in signs):
            raise
        raise HedgerowError(f"There is not enough memory for batches of {batches}.") from error
