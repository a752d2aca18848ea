"""Runs that finetune a language model: training, evaluation after each epoch, and saving."""

from __future__ import annotations

import hashlib
import json
import os
import shutil
import time
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from curation.encoders.loading import fingerprint
from curation.release.freezing import get_release
from db.engine import reading
from db.errors import HedgerowError
from db.execution import RunContext
from db.models import Release
from training.finetune import checkpoints
from training.finetune.checkpoints import (
    MODEL_FOLDER,
    remove_partial,
    require_space,
    save_whole,
    size_of,
)
from training.finetune.compute.devices import (
    free_memory,
    own_device,
    uses_bf16,
)
from training.finetune.finetuning import enough_memory
from training.llm.base import LanguageModel, base_folder, load_base, require_chat_template
from training.llm.card import evaluations_of, language_card
from training.llm.examples import Asker
from training.llm.recipe import LanguageRecipe
from training.llm.request import LanguageRequest, Questions, questions_of, request_of
from training.model_card import write_card

if TYPE_CHECKING:
    from training.llm.trainer import QuestionTrainer

MERGED_FOLDER = "merged"

COPIES = 8
"""The required disk space as a multiple of the trained parameters: two checkpoints with the
optimizer's two averages each, the adapter itself, and one in reserve."""


class _Task(NamedTuple):
    """The model and the data of a run.

    Attributes:
        folder: the folder with the base model's files.
        base_hash: the fingerprint of these files.
    """

    request: LanguageRequest
    folder: Path
    base_hash: str
    release: Release
    questions: Questions

    @property
    def identity(self) -> str:
        """A hash of everything that determines the training. Merging afterwards does not."""
        request = self.request.model_dump(mode="json", exclude={"merge", "base"})
        asked = [[pair.prompt, pair.answer] for part in self.questions for pair in part]
        content = json.dumps([request, self.base_hash, asked])
        return hashlib.sha256(content.encode()).hexdigest()


def work(context: RunContext) -> dict[str, Any]:
    """Finetune a language model on question pairs (run kind ``finetune-llm``).

    Parameters of the run: those of `LanguageRequest`. A second attempt continues from the newest
    checkpoint.

    Returns:
        ``run``, ``model`` (the adapter's folder), ``merged`` (the folder of the merged model, or
        ''), ``base``, ``base_fingerprint``, ``release``, ``arm``; ``pairs``: the numbers of
        training pairs, evaluated pairs, and pairs that were too long; ``steps``, ``seconds``,
        ``trainable`` (the number of the adapter's parameters), ``device``, ``bf16``; ``pace``,
        ``measuring_pace``: pairs per second in training and evaluation, unless the run was resumed;
        ``looks``: the evaluations after each epoch; ``before``, ``after``: the first and last
        metrics, {} if nothing was measured.

    Raises:
        HedgerowError: the release or the base model is gone, no pair is short enough, the adapter
            does not fit, training diverged, or memory or disk space ran out.
    """
    with own_device(context), _one_gpu(), warnings.catch_warnings():
        warnings.simplefilter("ignore", FutureWarning)  # warnings between the libraries
        return _work(context)


@contextmanager
def _one_gpu() -> Iterator[None]:
    """Use only the first GPU unless the user chose one: trl refuses several GPUs in one process.

    PyTorch reads the variable when it first uses a GPU, and so does the queue of training runs.
    """
    name = "CUDA_VISIBLE_DEVICES"
    chosen = name in os.environ
    os.environ.setdefault(name, "0")
    try:
        yield
    finally:
        if not chosen:
            del os.environ[name]


def _work(context: RunContext) -> dict[str, Any]:
    started = time.monotonic()
    for name in (MODEL_FOLDER, MERGED_FOLDER):  # from an earlier attempt
        shutil.rmtree(context.folder / name, ignore_errors=True)
    task = _task(context)
    advice = (
        f"{task.request.recipe.batch_size} question pairs; lower batch_size and raise "
        "gradient_accumulation in the recipe, and keep gradient_checkpointing on"
    )
    try:
        with enough_memory(advice):
            result = _train(context, task)
    finally:
        remove_partial(context.folder)
        free_memory()
    context.beat()  # store the last metrics now
    with reading(context.engine) as session:
        evaluations = evaluations_of(session, context.run)
        result |= {
            "looks": [
                {"epoch": evaluation.epoch, "step": evaluation.step, **evaluation.figures}
                for evaluation in evaluations
            ],
            "before": evaluations[0].figures if evaluations else {},
            "after": evaluations[-1].figures if evaluations else {},
        }
        card = language_card(session, context.run, task.release, result)
    for name in (MODEL_FOLDER, MERGED_FOLDER):
        if (context.folder / name).is_dir():
            write_card(context.folder / name, card)
    checkpoints.remove(context.folder)
    return result | {"seconds": round(time.monotonic() - started, 1)}


def _task(context: RunContext) -> _Task:
    request = request_of(context.run)
    context.update(0, 0, "Reading the release.")
    with reading(context.engine) as session:
        release = get_release(session, request.release)
        questions = questions_of(session, release.id, request.recipe, request.seed)
    context.update(0, 0, "Looking for the model.")
    folder = base_folder(request.base)
    if request.recipe.chat_template:
        require_chat_template(folder, name=request.base)
    return _Task(request, folder, fingerprint(folder), release, questions)


def _train(context: RunContext, task: _Task) -> dict[str, Any]:
    """Train and save the model. Returns the facts of the run without the metrics."""
    from training.llm.trainer import Fit, LanguageProgress, QuestionTrainer

    request = task.request
    context.update(0, 0, "Loading the model.")
    loaded = load_base(task.folder, four_bit=request.recipe.four_bit)
    progress = LanguageProgress(context)
    short, too_long = _short_enough(task, loaded)
    context.update(0, 0, "Preparing the question pairs.")
    bf16 = uses_bf16(loaded.model)
    fit = Fit(*short, request.recipe, request.seed, context.folder, task.identity, bf16, progress)
    trainer = QuestionTrainer(loaded, fit)
    trained = [weights for weights in trainer.model.parameters() if weights.requires_grad]
    whole = size_of(trainer.model.parameters()) if request.merge else 0
    require_space(COPIES * size_of(trained) + whole, context.folder)
    device = trainer.args.device.type
    started = time.monotonic()
    steps = trainer.finish()
    seconds = time.monotonic() - started
    context.check()
    context.progress(steps, steps, "Saving the model.")
    _save(context.folder, trainer, loaded, request)
    facts: dict[str, Any] = {
        "run": context.run.id,
        "model": f"{context.run.folder}/{MODEL_FOLDER}",
        "merged": f"{context.run.folder}/{MERGED_FOLDER}" if request.merge else "",
        "base": request.base,
        "base_fingerprint": task.base_hash,
        "release": task.release.number,
        "arm": request.recipe.arm,
        "pairs": {
            "train": len(short.train),
            "validation": len(short.validation),
            "too_long": too_long,
        },
        "steps": steps,
        "trainable": sum(weights.numel() for weights in trained),
        "device": device,
        "bf16": bf16,
    }
    if context.run.attempt > 1:  # it may have resumed from a checkpoint
        return facts
    return facts | _paces(trainer, short, request.recipe, seconds)


def _paces(
    trainer: QuestionTrainer, questions: Questions, recipe: LanguageRecipe, seconds: float
) -> dict[str, float]:
    """The number of training pairs and of evaluated pairs per second.

    Args:
        seconds: the total time of both.
    """
    measuring = trainer.measuring_seconds
    trained = recipe.epochs * len(questions.train)
    measured = trainer.measurings * len(questions.validation)
    return {
        "pace": round(trained / max(seconds - measuring, 1e-3), 3),
        "measuring_pace": round(measured / max(measuring, 1e-3), 3),
    }


def _short_enough(task: _Task, loaded: LanguageModel) -> tuple[Questions, int]:
    """The question pairs that are not too long, and the number of those that are.

    Raises:
        HedgerowError: no pair is left for training.
    """
    recipe = task.request.recipe
    asker = Asker(loaded.tokenizer, chat=recipe.chat_template)
    kept = Questions(*(asker.fitting(part, longest=recipe.max_length) for part in task.questions))
    if not kept.train:
        raise HedgerowError(
            f"All {len(task.questions.train):,} question pairs have more than "
            f"{recipe.max_length} tokens; raise max_length in the recipe."
        )
    return kept, sum(map(len, task.questions)) - sum(map(len, kept))


def _save(
    folder: Path, trainer: QuestionTrainer, loaded: LanguageModel, request: LanguageRequest
) -> None:
    """Save the adapter and, on request, the merged model."""
    model: Any = trainer.model
    for config in model.peft_config.values():
        config.base_model_name_or_path = request.base  # not the hub's cache on this machine

    def write(place: Path) -> None:
        # Fully trained modules are saved anyway; otherwise peft would ask the Hub.
        model.save_pretrained(str(place), save_embedding_layers=False)
        loaded.tokenizer.save_pretrained(str(place))

    def write_merged(place: Path) -> None:
        model.merge_and_unload().save_pretrained(str(place))
        loaded.tokenizer.save_pretrained(str(place))

    save_whole(write, folder, MODEL_FOLDER)
    if request.merge:
        save_whole(write_merged, folder, MERGED_FOLDER)
