"""Runs that measure any sentences with any encoders (kind ``compare``).

Results are stored under the encoder's fingerprint: cosines of probes in the database, those of free
sentences as a matrix in the run's folder. Showing them again needs no encoder.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from sqlalchemy import select
from sqlalchemy.orm import Session
from sqlmodel import col

from curation.actions import Action, OpenProject, Request
from curation.encoders.embeddings import encode_distinct, pair_cosines
from curation.encoders.loading import load_encoder
from curation.encoders.registered import is_registered, register_encoder
from db.engine import reading, writing
from db.errors import HedgerowError
from db.execution import RunContext
from db.models import Encoder, Run, RunState
from db.runs import create_run, refuse_a_second
from db.settings import Settings
from training.evaluation.probe_sets import (
    BUNDLED,
    MAX_SENTENCES,
    SetKind,
    StoredProbe,
    ensure_bundled,
    open_set,
)
from training.evaluation.probes import probe_cosines, save_probe_cosines
from training.models.known import clean_name, location_of, require_known_encoder

if TYPE_CHECKING:
    from sentence_transformers import SentenceTransformer

KIND = "compare"

_BUNDLED = Path(__file__).parent / "bundled_cosines.json"

KEPT_RUNS = 20
"""Number of newest runs over the same sentences that are searched for a matrix."""


class Compare(Request):
    """What to measure with which models."""

    models: tuple[str, ...]
    """Names, as in `clean_name`."""

    set_name: str = ""
    """A probe set."""

    sentences: tuple[str, ...] = ()
    """2 to 200 different sentences, if no set is named."""


def store(project: OpenProject, request: Compare) -> Run:
    """Store a run that measures a probe set or some sentences with each of these models.

    Raises:
        HedgerowError: there is no model, a model is not a text encoder, a set or model folder does
            not exist, there are too few or too many sentences, or another such run is in progress.
    """
    sentences: Sequence[str] = () if request.set_name else request.sentences
    with writing(project.engine) as session:
        refuse_a_second(session, KIND)
        names = list(dict.fromkeys(clean_name(session, name) for name in request.models))
        for name in names:
            require_known_encoder(session, name)
        if not names:
            raise HedgerowError("Expected at least one model to measure, found none.")
        if request.set_name:
            opened = open_set(session, request.set_name)
            sentences = opened.sentences if opened.kind is SetKind.SENTENCES else ()
        if sentences or not request.set_name:
            check_sentences(sentences)
        return create_run(
            session,
            kind=KIND,
            parameters={"models": names, "set": request.set_name, "sentences": list(sentences)},
            group=sentences_key(sentences) if sentences else "",
            requested_by=project.author(session),
        )


COMPARE = Action("compare similarities", Compare, store)


def check_sentences(sentences: Sequence[str]) -> None:
    """Check the number of sentences.

    Raises:
        HedgerowError: there are not 2 to `MAX_SENTENCES` different ones.
    """
    if not 2 <= len(set(sentences)) <= MAX_SENTENCES or len(set(sentences)) < len(sentences):
        raise HedgerowError(
            f"Expected 2 to {MAX_SENTENCES} different sentences, one per line, but found "
            f"{len(set(sentences))}."
        )


def sentences_key(sentences: Sequence[str]) -> str:
    """The key of a list of sentences. It depends on their order."""
    data = json.dumps(list(sentences), ensure_ascii=False).encode()
    return f"sentences-{hashlib.sha256(data).hexdigest()[:32]}"


def set_cosines(
    session: Session, encoder: Encoder | None, probes: Sequence[StoredProbe]
) -> list[float] | None:
    """The cosines of a set's pairs under an encoder, in their order; None if one is missing."""
    if encoder is None or not probes:
        return None
    known = probe_cosines(session, encoder.id, [stored.id for stored in probes])
    if any(stored.id not in known for stored in probes):
        return None
    return [known[stored.id] for stored in probes]


def store_bundled(session: Session) -> None:
    """Store the cosines of the bundled probe sets under the bundled encoders.

    They come with Hedgerow, so that the first figure needs no encoder.
    """
    for name, known in json.loads(_BUNDLED.read_text("utf-8")).items():
        encoder = register_encoder(session, name=name, hash_=known["fingerprint"])
        for set_name, cosines in known["cosines"].items():
            ids = [stored.id for stored in ensure_bundled(session, set_name)]
            values = dict(zip(ids, cosines, strict=True))
            save_probe_cosines(session, values, encoder_id=encoder.id)


def sentence_matrix(
    session: Session, settings: Settings, encoder: Encoder | None, sentences: Sequence[str]
) -> np.ndarray | None:
    """The cosine of every pair of these sentences under an encoder, if a run has measured it.

    Returns:
        Shape (len(sentences), len(sentences)), float32, in [-1, 1], symmetric, ones on the
        diagonal.
    """
    if encoder is None:
        return None
    query = (
        select(col(Run.folder))
        .where(col(Run.kind) == KIND, col(Run.group) == sentences_key(sentences))
        .where(col(Run.state) == RunState.DONE)
        .order_by(col(Run.id).desc())
        .limit(KEPT_RUNS)
    )
    for folder in session.execute(query).scalars():
        matrix = _read_matrix(settings.data_folder / folder / _matrix_file(encoder.fingerprint))
        if matrix is not None and matrix.shape == (len(sentences), len(sentences)):
            return matrix
    return None


def _matrix_file(hash_: str) -> str:
    return f"cosines-{hash_[:16]}.npy"


def _read_matrix(path: Path) -> np.ndarray | None:
    """The matrix in a file; None if it is gone or damaged, since it can be measured again."""
    try:
        return np.load(path, allow_pickle=False)
    except (OSError, ValueError):
        return None


def work(context: RunContext) -> dict[str, Any]:
    """Measure everything that is missing for each model (run kind ``compare``).

    Parameters of the run: ``models``, and ``set`` (a probe set's name) or ``sentences``. The
    results of one model are kept even if the next one cannot be loaded.
    """
    models = [str(name) for name in context.parameters["models"]]
    task = _task(context)
    measured: dict[str, int] = {}
    for number, name in enumerate(models):
        measured[name] = _measure(context, task, name, progress=_Progress(context, number, models))
    return {"run": context.run.id, "measured": measured, "of": task.size}


class _Task(NamedTuple):
    """The task: stored pairs or sentences."""

    probes: list[StoredProbe]
    sentences: list[str]

    @property
    def size(self) -> int:
        return len(self.sentences or self.probes)


def _task(context: RunContext) -> _Task:
    if sentences := [str(sentence) for sentence in context.parameters.get("sentences", ())]:
        return _Task([], sentences)
    name = str(context.parameters["set"])
    if name in BUNDLED:
        with writing(context.engine) as session:
            return _Task(ensure_bundled(session, name), [])
    with reading(context.engine) as session:
        return _Task(open_set(session, name).probes, [])


class _Progress:
    """Reports the progress of one model as a share of the whole run."""

    def __init__(self, context: RunContext, number: int, models: Sequence[str]) -> None:
        self._context = context
        self._number = number
        self._models = models
        self._total = 0

    def say(self, doing: str) -> None:
        self._context.update(self._number, len(self._models), f"{doing} {self._name}.")

    def texts(self, done: int, total: int) -> None:
        self._context.update(
            self._number * total + done,
            len(self._models) * total,
            f"Measuring with {self._name}: text {done} of {total}.",
        )

    @property
    def _name(self) -> str:
        return self._models[self._number]


@dataclass
class _Loader:
    """Loads the model once, and only if it is new or there is something to measure."""

    place: str
    progress: _Progress

    @cached_property
    def model(self) -> SentenceTransformer:
        self.progress.say("Loading")
        return load_encoder(self.place)


def _measure(context: RunContext, task: _Task, name: str, *, progress: _Progress) -> int:
    """Measure a task with one model and store the result. Returns the number of new cosines or
    texts."""
    progress.say("Looking for")
    with reading(context.engine) as session:
        place = location_of(session, context.settings, name)
    hash_ = place.checked()
    load = _Loader(place.name, progress)
    with reading(context.engine) as session:
        known = is_registered(session, hash_)
    if not known:
        _ = load.model  # a model that can't be loaded remains unknown
    with writing(context.engine) as session:
        encoder = register_encoder(session, name=name, hash_=hash_)
    measure = _measure_sentences if task.sentences else _measure_probes
    return measure(context, task, encoder, load=load)


def _measure_probes(context: RunContext, task: _Task, encoder: Encoder, *, load: _Loader) -> int:
    """Store the cosines of the pairs that are not measured yet."""
    encoder_id = encoder.id
    with reading(context.engine) as session:
        known = probe_cosines(session, encoder_id, [stored.id for stored in task.probes])
    fresh = [stored for stored in task.probes if stored.id not in known]
    if fresh:
        pairs = [(stored.probe.anchor, stored.probe.text) for stored in fresh]
        cosines = pair_cosines(load.model, pairs, on_progress=load.progress.texts)
        ids = [stored.id for stored in fresh]
        with writing(context.engine) as session:
            found = dict(zip(ids, map(float, cosines), strict=True))
            save_probe_cosines(session, found, encoder_id=encoder_id)
    return len(fresh)


def _measure_sentences(context: RunContext, task: _Task, encoder: Encoder, *, load: _Loader) -> int:
    """Store the matrix of the sentences, copied from an earlier run if possible."""
    sentences = task.sentences
    with reading(context.engine) as session:
        matrix = sentence_matrix(session, context.settings, encoder, sentences)
    fresh = 0 if matrix is not None else len(sentences)
    if matrix is None:
        rows = encode_distinct(load.model, sentences, on_progress=load.progress.texts)
        matrix = np.clip(rows @ rows.T, -1.0, 1.0)
        np.fill_diagonal(matrix, 1.0)
    np.save(context.folder / _matrix_file(encoder.fingerprint), matrix, allow_pickle=False)
    return fresh
