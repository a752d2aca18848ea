"""An estimate of the time to finetune on NevIR's pairs on this machine.

As for other training runs (`training.recipe.time_estimate`), the unit is characters: those that the
steps pass forward and backward, and those that evaluations only pass forward. The pace comes from
the last finetuning run on this machine, or before the first one, from other training runs.
"""

from __future__ import annotations

from collections.abc import Sequence

from sqlalchemy.orm import Session

from curation.encoders.embeddings import MARKS, characters
from db.errors import HedgerowError
from db.models import RunState
from db.runs import list_runs
from db.settings import Settings
from training.benchmarks.scorers.architecture import architecture_of
from training.benchmarks.scorers.embedding_models import BiEncoder, Cross
from training.benchmarks.tasks.nevir import DocumentPair
from training.evaluation.retrieval import retrieval_characters, retrieval_items
from training.models.known import folder_of
from training.models.rankers import KIND
from training.ranking.pairs import Parts
from training.ranking.request import RankingRequest, request_of
from training.ranking.reranking import CANDIDATES
from training.recipe.schema import Recipe
from training.recipe.time_estimate import (
    PREPARING,
    TimeEstimate,
    forward_only,
    heavier,
    of_this_host,
    pace_of,
)


def characters_read(parts: Parts, request: RankingRequest, architecture: str) -> float:
    """The amount of text to read, in characters that are passed forward and backward.

    Args:
        parts: the sampled training pairs and the evaluation pairs.
        architecture: the architecture of the trained model.
    """
    crosses = architecture == Cross.architecture
    longest = request.max_length
    # Two triples a pair read each query once; four rows of a cross-encoder read it twice.
    trained = _read(parts.train, 2 if crosses else 1, 2, longest=longest)
    measured = _read(parts.held_out, *((2, 2) if crosses else (1, 1)))
    measured += _candidates() if crosses else retrieval_characters()
    return request.epochs * trained + (request.epochs + 1) * measured / forward_only()


def _read(
    pairs: Sequence[DocumentPair], queries: int, documents: int, *, longest: int | None = None
) -> float:
    """Characters of the pairs, if each query and each document is read this many times."""
    return queries * characters(
        (query for pair in pairs for query in pair.queries), longest=longest
    ) + documents * characters((text for pair in pairs for text in pair.documents), longest=longest)


def _candidates() -> float:
    """Characters of all questions with each of their candidates. Candidates are assumed to have the
    mean length of passages, because finding them takes a second."""
    items = retrieval_items()
    questions = sum(len(item.question) + MARKS for item in items)
    texts = sum(1 + len(item.near_misses) for item in items)
    passage = (retrieval_characters() - questions) / texts
    return CANDIDATES * (questions + len(items) * passage)


def estimate(
    session: Session, settings: Settings, request: RankingRequest, parts: Parts
) -> TimeEstimate:
    """The estimated time, and the run that it is based on, if any.

    Args:
        parts: as in `characters_read`.
    """
    architecture = request.architecture or _own_architecture(session, settings, request.base)
    wanted = characters_read(parts, request, architecture)
    for run in of_this_host(list_runs(session, kind=KIND)):
        if run.state != RunState.DONE or run.result.get("architecture") != architecture:
            continue
        factor = heavier(request_of(run).base, than=request.base)
        if factor and (pace := run.result.get("pace")):
            return TimeEstimate(PREPARING + wanted / (factor * pace), run.id)
    pace, by_run = pace_of(session, Recipe(base_encoder=request.base))
    return TimeEstimate(PREPARING + wanted / pace, by_run)


def _own_architecture(session: Session, settings: Settings, base: str) -> str:
    """The architecture in a model's files; an encoder if they are not on this machine."""
    try:
        folder = folder_of(session, settings, base)
    except HedgerowError:
        return BiEncoder.architecture
    return architecture_of(folder) if folder else BiEncoder.architecture
