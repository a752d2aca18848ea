"""Runs that finetune on NevIR's pairs: training, evaluation after each epoch, and saving."""

import hashlib
import json
import shutil
import tempfile
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any, NamedTuple

from curation.encoders.loading import fingerprint, load_encoder, load_model
from curation.encoders.model_folders import encoder_folder
from curation.encoders.registered import register_encoder
from db.engine import reading, writing
from db.errors import HedgerowError
from db.execution import RunContext
from db.models import Encoder
from training.benchmarks.scorers.architecture import KINDS, architecture_of, scorer_for
from training.benchmarks.scorers.embedding_models import BiEncoder, Cross
from training.data.sampling import random_sample
from training.finetune import checkpoints
from training.finetune.checkpoints import (
    MODEL_FOLDER,
    remove_partial,
    require_disk_space,
    save_model,
)
from training.finetune.compute.devices import own_device, repeatable
from training.finetune.curves import Evaluation
from training.finetune.finetuning import enough_memory
from training.model_card import write_card
from training.models.known import MAX_ENCODER_NAME, location_of, store_encoder
from training.ranking.card import ranking_card
from training.ranking.figures import RankingFigures, epochs_of
from training.ranking.pairs import PairsFile, Parts, parts_of, passages
from training.ranking.request import (
    RankingRequest,
    characters_read,
    files_of,
    request_of,
    require_trainable,
)


class _Task(NamedTuple):
    """The model and the data of a run.

    Attributes:
        place: the base model, as in `load_encoder`.
        base_hash: the fingerprint of its files.
        parts: the sampled training pairs and the evaluation pairs.
    """

    request: RankingRequest
    place: str
    base_hash: str
    architecture: str
    train: PairsFile
    validation: PairsFile | None
    parts: Parts

    @property
    def identity(self) -> str:
        """A hash of everything that determines the training."""
        content = [self.request.model_dump(mode="json"), self.base_hash, self.architecture]
        return hashlib.sha256(json.dumps([*content, self.train.hash]).encode()).hexdigest()


def work(context: RunContext) -> dict[str, Any]:
    """Finetune a model on pairs of passages (run kind ``finetune-ranker``).

    Parameters of the run: those of `RankingRequest`. A second attempt continues after the last
    complete epoch.

    Returns:
        ``run``, ``model`` (its folder), ``name``, ``architecture``, ``fingerprint``, ``base``,
        ``loss``, ``steps``, ``seconds``; ``pace``: characters per second (`time_needed`), unless
        the run was resumed; ``data`` and ``validation``: the training and the evaluation data;
        ``epochs``: the metrics of each epoch; ``before``, ``after``: the first and the last of
        these; for an encoder also ``encoder_id``.

    Raises:
        HedgerowError: a file or the base model is gone, training diverged, or memory or disk space
            ran out.
    """
    with own_device(context):
        return _work(context)


def _work(context: RunContext) -> dict[str, Any]:
    started = time.monotonic()
    shutil.rmtree(context.folder / MODEL_FOLDER, ignore_errors=True)  # from an earlier attempt
    context.update(0, 0, "Reading the pairs.")
    task = _task(context)
    context.update(0, 0, "Loading the model.")
    advice = f"{task.request.batch_size}; lower the batch size or the maximum length"
    try:
        with enough_memory(advice):
            trained = _train(context, task)
    finally:
        remove_partial(context.folder)
    context.beat()  # store the last metrics now
    with reading(context.engine) as session:
        epochs = epochs_of(session, context.run)
    result = _result(context, task, epochs) | trained
    write_card(context.folder / MODEL_FOLDER, ranking_card(context.run, result))
    if task.architecture == BiEncoder.architecture:
        with writing(context.engine) as session:
            base = register_encoder(session, name=task.request.base, hash_=task.base_hash)
            made = Encoder(
                name=result["name"],
                fingerprint=result["fingerprint"],
                path=result["model"],
                base_id=base.id,
                run_id=context.run.id,
            )
            row = store_encoder(session, context.settings, made)
            result |= {"encoder_id": row.id, "name": row.name}
    checkpoints.remove(context.folder)
    return result | {"seconds": round(time.monotonic() - started, 1)}


def _task(context: RunContext) -> _Task:
    request = request_of(context.run)
    with reading(context.engine) as session:
        place = location_of(session, context.settings, request.base)
    base_hash = place.checked()
    folder = encoder_folder(place.name)
    train, validation = files_of(context.settings.data_folder, request)
    parts = parts_of(train, validation)
    return _Task(
        request=request,
        place=place.name,
        base_hash=base_hash,
        architecture=require_trainable(folder, request.architecture, name=request.base),
        train=train,
        validation=validation,
        parts=parts._replace(
            train=random_sample(parts.train, request.max_pairs, seed=request.seed)
        ),
    )


def _train(context: RunContext, task: _Task) -> dict[str, Any]:
    """Train and save the model. Returns the number of steps, the library's name of the loss, and
    the pace."""
    from training.finetune.progress import RunProgress
    from training.ranking.trainers import TRAINERS, Fit

    model = load_base(task.place, task.architecture, seed=task.request.seed)
    require_disk_space(model, context.folder)
    progress = RunProgress(context)
    figures = RankingFigures(task.parts.held_out, check=progress.check)

    def measure() -> Mapping[str, float]:
        return figures.evaluate(scorer_for(model, task.architecture))

    fit = Fit(task.parts.train, task.request, measure, context.folder, task.identity, progress)
    trainer = TRAINERS[task.architecture](model, fit)
    started = time.monotonic()
    steps = trainer.finish()
    seconds = time.monotonic() - started
    context.check()
    save_model(model, context.folder)
    facts: dict[str, Any] = {"steps": steps, "loss": type(trainer).loss_class.__name__}
    if context.run.attempt > 1:  # it may have resumed from a checkpoint
        return facts
    read = characters_read(task.parts, task.request, task.architecture)
    return facts | {"pace": round(read / max(seconds, 0.001), 1)}


def _result(context: RunContext, task: _Task, epochs: Sequence[Evaluation]) -> dict[str, Any]:
    folder = context.folder / MODEL_FOLDER
    return {
        "run": context.run.id,
        "model": f"{context.run.folder}/{MODEL_FOLDER}",
        "name": f"run {context.run.id}: {task.request.base}, NevIR pairs"[:MAX_ENCODER_NAME],
        "architecture": task.architecture,
        "fingerprint": fingerprint(folder),
        "base": task.request.base,
        "data": _facts(task.train)
        | {
            "trained_on": len(task.parts.train),
            "passages": len(passages(task.parts.train)),
            "held_out": len(task.parts.held_out),
        },
        "validation": _facts(task.validation) if task.validation else {},
        "epochs": [{"epoch": e.epoch, "step": e.step, **e.figures} for e in epochs],
        "before": epochs[0].figures,
        "after": epochs[-1].figures,
    }


def _facts(file: PairsFile) -> dict[str, Any]:
    return {"name": file.name, "hash": file.hash, "pairs": len(file.pairs), "file": file.file}


# -- The base model of a finetuning run, optionally converted to another architecture -------------
#
# Torch and sentence-transformers are imported inside the functions that need them.


def load_base(name: str, architecture: str, *, seed: int) -> Any:
    """A model of sentence-transformers' class for an architecture.

    Args:
        name: as in `load_encoder`.
        architecture: one that `require_trainable` allows.
        seed: the seed of the random weights of a new layer.

    Raises:
        HedgerowError: it can't be loaded, or is a cross-encoder with several outputs.
    """
    from transformers import set_seed

    set_seed(seed)
    model = _loaded(name, architecture)
    if architecture == Cross.architecture and model.num_labels != 1:
        raise HedgerowError(
            f"Expected a cross-encoder with one output in {name!r}, found one with "
            f"{model.num_labels} classes; choose another one, or an encoder."
        )
    repeatable(model)
    return model


def _loaded(name: str, architecture: str) -> Any:
    if architecture == BiEncoder.architecture:
        return load_encoder(name)
    if architecture_of(encoder_folder(name)) == architecture:
        return load_model(name, KINDS[architecture])
    return _with_new_layer(name, architecture)


def _with_new_layer(name: str, architecture: str) -> Any:
    """An encoder's transformer with the library's layer for another architecture: one output for a
    cross-encoder, a projection to 128 dimensions for late interaction."""
    encoder = load_encoder(name)
    transformer = getattr(encoder[0], "model", None)
    if transformer is None or not hasattr(transformer, "save_pretrained"):
        raise HedgerowError(
            f"Expected an encoder with a transformer in {name!r}, found none; choose another model."
        )
    with tempfile.TemporaryDirectory() as folder, _new_weights_expected():
        transformer.save_pretrained(folder)
        encoder.tokenizer.save_pretrained(folder)
        return load_model(folder, KINDS[architecture])


@contextmanager
def _new_weights_expected() -> Iterator[None]:
    """Suppress transformers' warning about new weights."""
    from transformers.utils import logging

    before = logging.get_verbosity()
    logging.set_verbosity_error()
    try:
        yield
    finally:
        logging.set_verbosity(before)
