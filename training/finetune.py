"""Finetune an encoder on families or flat triples, and save it whole or not at all.

Torch and sentence-transformers are imported inside the functions that train.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from curation.encoders import fingerprint, load_encoder
from db.errors import HedgerowError
from training import checkpoints
from training.adapters import add_adapter, merge_adapter
from training.batches import (
    Batches,
    FamilyBatches,
    InContext,
    TripleBatches,
    as_triples,
    count_triples,
)
from training.devices import repeatable, uses_bf16
from training.family_data import drawn
from training.held_out import HeldOut
from training.inputs import content_hashes
from training.loop import Course, Outcome, train
from training.losses import Family
from training.processes import ALONE, Group
from training.recipe import Recipe
from training.retention import Distillation, interpolate, read_sentences
from training.saving import MODEL_FOLDER, remove_partial, require_disk_space, save_model
from training.sts import read_sts
from training.watching import EPOCH, Progress, require_finite

if TYPE_CHECKING:
    from sentence_transformers import SentenceTransformer
    from torch import Tensor

LARGEST_SEED = 2**32 - 1
"""NumPy takes no larger one."""


class Data(NamedTuple):
    """What a training learns from, and what it is measured on meanwhile."""

    families: Sequence[Family]
    held_out: Sequence[Family] = ()


class Trained(NamedTuple):
    """A training's model and how it came about.

    Attributes:
        folder: of the saved model.
        outcome: the steps done, and the step whose state was kept.
        triples: that were trained on, or that its families give.
        anchors: that those are of.
        before, after: the figures of the held-out part, of the base encoder and of the saved
            model; empty where it was not measured.
        counts: how much each of these figures rests on.
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

    The order of the families doesn't matter; equal families, recipe, seed and base encoder give
    equal weights on one machine with one number of threads. Nothing is written outside `folder`,
    and nothing is left in it but a whole model, or, where the training is cut off, the checkpoint
    that it goes on from.

    Args:
        data: families as `training.family_data` makes them.
        recipe: how to train.
        seed: 0 to 4,294,967,295; decides the draw of triples, their order and the dropout.
        folder: the run's own folder; made if it is not there.
        progress: is told each step, and may stop the training within one by raising.
        group: the processes that train together; the leading one saves.
        keep_checkpoint: whether to leave the last one beside the model; `checkpoints.remove`
            removes it.

    Raises:
        HedgerowError: too few rows for a batch, no such encoder or file, a loss that is not
            finite, nothing held out to stop early by, no memory or no disk space left.
        RunCancelled: out of `progress.check`; no model is saved.
    """
    rows = _rows(data.families, recipe=recipe, seed=seed)
    if group.leads:
        _prepare_folder(folder)
    progress.check()
    progress.update(0, 0, "loading the encoder")
    try:
        model = _seeded_encoder(recipe, seed=seed)
        progress.check()
        if group.leads:
            require_disk_space(model, folder)
        base = _copy(model) if recipe.interpolation < 1 else {}
        _set_pooling(model, recipe)
        held_out = _held_out(model, data, recipe, progress) if group.leads else None
        course = _course(model, rows, held_out, recipe, seed, progress)
        identity = _identity(rows, data.held_out, recipe, seed)
        outcome = _train(model, course, recipe, seed, folder, identity, progress, group)
        progress.check()
        if recipe.interpolation < 1:
            interpolate(model, base, model.state_dict(), recipe.interpolation)
        after = held_out.figures(model) if held_out else {}
        if group.leads:
            save_model(model, folder)
            if not keep_checkpoint:
                checkpoints.remove(folder)
    except (MemoryError, RuntimeError) as error:
        if not _is_out_of_memory(error):
            raise
        raise HedgerowError(
            f"The memory is not enough for batches of {recipe.batch_size} {recipe.rows}; lower "
            "batch_size or max_seq_length in the recipe."
        ) from error
    finally:
        if group.leads:
            remove_partial(folder)
    return Trained(
        folder / MODEL_FOLDER, outcome,
        triples=len(rows) if recipe.loss == "triples" else sum(map(count_triples, rows)),
        anchors=len({anchor.text for anchor, *_ in rows}),
        before=held_out.before if held_out else {}, after=after,
        counts=held_out.counts if held_out else {},
    )  # fmt: skip


def _rows(families: Sequence[Family], *, recipe: Recipe, seed: int) -> list[Family]:
    """What is trained on, in an order that depends on its texts alone."""
    if not 0 <= seed <= LARGEST_SEED:
        raise HedgerowError(f"Expected a seed from 0 to {LARGEST_SEED}, found {seed}.")
    canonical = sorted((family[0], *sorted(set(family[1:]))) for family in families)
    rows = as_triples(canonical) if recipe.loss == "triples" else canonical
    chosen = drawn(rows, max_triples=recipe.max_triples, seed=seed)
    if not chosen:
        raise HedgerowError(
            "There are no triples to train on; accept at least one hedge or paraphrase and one "
            "negation of the same anchor."
        )
    anchors = len({anchor.text for anchor, *_ in chosen})
    if anchors < recipe.batch_size:  # no two triples of a batch may share an anchor
        raise HedgerowError(
            f"A batch of {recipe.batch_size} needs as many anchors, found {anchors}; lower "
            "batch_size or accept variants of more anchors."
        )
    return chosen


def _prepare_folder(folder: Path) -> None:
    if (folder / MODEL_FOLDER).exists():
        raise HedgerowError(f"{str(folder)!r} already holds a model; train into a new folder.")
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise HedgerowError(f"Could not make {str(folder)!r}: {error.strerror}.") from error


def _seeded_encoder(recipe: Recipe, *, seed: int) -> SentenceTransformer:
    """The base encoder; seeded before, since an unusual one may start with random weights."""
    from transformers import set_seed

    set_seed(seed)
    model = load_encoder(recipe.base_encoder)
    repeatable(model)
    return model


def _copy(model: SentenceTransformer) -> dict[str, Tensor]:
    return {name: value.clone() for name, value in model.state_dict().items()}


def _course(
    model: SentenceTransformer,
    rows: list[Family],
    held_out: HeldOut | None,
    recipe: Recipe,
    seed: int,
    progress: Progress,
) -> Course:
    steps_per_epoch = max(1, len(rows) // recipe.batch_size)
    every = recipe.measure_every

    def tell(step: int, figures: Mapping[str, float]) -> None:
        progress.metric(step, EPOCH, step / steps_per_epoch)
        for name, value in figures.items():
            progress.metric(step, name, value)

    def observe(step: int) -> float:
        figures = held_out.figures(model) if held_out else {}
        tell(step, figures)
        return figures[recipe.early_stopping] if recipe.early_stopping else 0.0

    if held_out:
        tell(0, held_out.before)
    return Course(
        _batches(rows, recipe, seed),
        recipe.steps(len(rows)),
        seed=seed,
        bf16=uses_bf16(model, recipe.precision),
        distillation=_distillation(model, rows, recipe, seed, progress),
        in_context=_in_context(rows, recipe, seed),
        observe=None if every is None else observe,
        observe_every=max(1, round((every or 1) * steps_per_epoch)),
    )


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
    own_limit = model.max_seq_length
    if recipe.max_seq_length is not None:
        model.max_seq_length = min(recipe.max_seq_length, own_limit or recipe.max_seq_length)
    if recipe.lora_rank is not None:
        add_adapter(model, rank=recipe.lora_rank, seed=seed)
    outcome = train(
        model, course, recipe=recipe, folder=folder, identity=identity, progress=progress,
        group=group,
    )  # fmt: skip
    if recipe.lora_rank is not None:
        merge_adapter(model)
    require_finite(model, step=outcome.steps, recipe=recipe)
    model.max_seq_length = own_limit
    model.eval()
    return outcome


def _set_pooling(model: SentenceTransformer, recipe: Recipe) -> None:
    if recipe.pooling == "as_base":
        return
    from sentence_transformers.sentence_transformer.modules import Pooling

    places = [number for number, module in enumerate(model) if isinstance(module, Pooling)]
    if not places:
        raise HedgerowError(
            f"The encoder {recipe.base_encoder!r} has no pooling that could be another; leave "
            "pooling out of the recipe."
        )
    old = model[places[0]]
    model[places[0]] = Pooling(old.embedding_dimension, recipe.pooling)


def _batches(rows: list[Family], recipe: Recipe, seed: int) -> Batches:
    kind = TripleBatches if recipe.loss == "triples" else FamilyBatches
    return kind(rows, size=recipe.batch_size, seed=seed)


def _in_context(rows: list[Family], recipe: Recipe, seed: int) -> InContext | None:
    if not recipe.context:
        return None
    return InContext(rows, probability=recipe.context, seed=seed)


def _held_out(
    model: SentenceTransformer, data: Data, recipe: Recipe, progress: Progress
) -> HeldOut | None:
    """What is measured on the way; None where nothing is."""
    if recipe.measure_every is None or not (data.held_out or recipe.sts_file):
        found = None
    else:
        sts = read_sts(Path(recipe.sts_file)) if recipe.sts_file else ()
        found = HeldOut(model, data.held_out, sts=sts, check=progress.check)
    watched = recipe.early_stopping
    if watched and (found is None or watched not in found.before):
        raise HedgerowError(
            f"The held-out part has nothing to measure the figure {watched!r} on; choose another "
            "early_stopping in the recipe, or none."
        )
    return found


def _distillation(
    model: SentenceTransformer, rows: list[Family], recipe: Recipe, seed: int, progress: Progress
) -> Distillation | None:
    if not recipe.distillation:
        return None
    texts = [family[0].text for family in rows]
    if recipe.distillation_file:
        texts += read_sentences(Path(recipe.distillation_file))
    return Distillation(
        model, texts, weight=recipe.distillation, texts_a_step=recipe.batch_size,
        steps=recipe.steps(len(rows)), seed=seed, check=progress.check,
    )  # fmt: skip


def _identity(rows: Sequence[Family], held_out: Sequence[Family], recipe: Recipe, seed: int) -> str:
    """A hash of all that determines a training: a checkpoint of another one is of no use to it."""
    content = [
        _texts(rows), _texts(held_out) if recipe.early_stopping else [], content_hashes(recipe),
        fingerprint(recipe.base_encoder), seed,
    ]  # fmt: skip
    return hashlib.sha256(json.dumps(content).encode()).hexdigest()


def _texts(families: Sequence[Family]) -> list[list[tuple[str, int]]]:
    return [[(member.text, int(member.role)) for member in family] for family in families]


def _is_out_of_memory(error: Exception) -> bool:
    """Whether an error means that: CUDA has a class for it, the CPU and MPS only a message."""
    import torch

    return isinstance(error, (MemoryError, torch.OutOfMemoryError)) or any(
        sign in str(error)
        for sign in ("can't allocate memory", "out of memory", "CUBLAS_STATUS_ALLOC_FAILED")
    )
