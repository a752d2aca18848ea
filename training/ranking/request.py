"""Requests for finetuning on NevIR's pairs: their checks, and an estimate of the time."""

from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path

from pydantic import Field, field_validator
from sqlalchemy.orm import Session

from curation.actions import Action, OpenProject, Request
from curation.encoders.embeddings import MARKS, characters
from curation.encoders.loading import check_encoder
from curation.encoders.model_folders import DEFAULT_ENCODER, require_files
from db.engine import writing
from db.errors import HedgerowError
from db.models import Run, RunState
from db.runs import create_run, list_runs, refuse_equal
from db.settings import Settings
from training.benchmarks.scorers.architecture import architecture_of, fitting
from training.benchmarks.scorers.embedding_models import BiEncoder, Cross
from training.benchmarks.scorers.late_interaction import LateInteraction
from training.benchmarks.tasks.nevir import DocumentPair
from training.data.sampling import random_sample
from training.evaluation.general_ability import retrieval_characters, retrieval_items
from training.finetune.feasibility import (
    PREPARING,
    TimeEstimate,
    forward_only,
    heavier,
    of_this_host,
    pace_of,
)
from training.finetune.finetuning import LARGEST_SEED
from training.models.finetuned import RANKER_KIND
from training.models.known import MAX_ENCODER_NAME, clean_name, folder_of
from training.ranking.figures import CANDIDATES
from training.ranking.pairs import (
    PairCounts,
    PairsFile,
    Parts,
    parts_of,
    read_pairs,
    require_untested,
)
from training.recipe.schema import Recipe

ARCHITECTURES = (BiEncoder.architecture, Cross.architecture, LateInteraction.architecture)
"""The architectures that can be finetuned on NevIR's pairs. The paper's §6 has one of each."""


class RankingRequest(Request):
    """Everything that determines a finetuning run.

    Attributes:
        base: the model to start from, as in `clean_name`.
        architecture: one of `ARCHITECTURES`; '' means that of the base model. An encoder can become
            a cross-encoder or a late-interaction model by adding a layer with random weights.
        data, validation: stored files of pairs, relative to the data folder. Without a validation
            file, a fifth of the data is held out.
        data_name, validation_name: the names of the files for people.
        epochs: the number of passes over the pairs; 20 in the paper.
        batch_size: triples per step; for a cross-encoder, pairs of a query and a document.
        max_length: maximum number of tokens of a text in training; for a cross-encoder, of both
            texts together.
        max_pairs: the size of a random sample of training pairs; None for all pairs.
    """

    data: str = Field(max_length=500)
    data_name: str = Field(default="", max_length=200)
    validation: str = Field(default="", max_length=500)
    validation_name: str = Field(default="", max_length=200)
    base: str = Field(default=DEFAULT_ENCODER, min_length=1, max_length=MAX_ENCODER_NAME)
    architecture: str = ""
    epochs: int = Field(default=20, ge=1, le=200)
    learning_rate: float = Field(default=2e-5, gt=0, le=1)
    batch_size: int = Field(default=16, ge=1, le=1024)
    max_length: int = Field(default=256, ge=8, le=8192)
    seed: int = Field(default=42, ge=0, le=LARGEST_SEED)
    max_pairs: int | None = Field(default=None, ge=1)

    @field_validator("architecture")
    @classmethod
    def _known(cls, value: str) -> str:
        if value and value not in ARCHITECTURES:
            raise ValueError(f"expected one of {', '.join(ARCHITECTURES)}")
        return value


def store(project: OpenProject, request: RankingRequest) -> Run:
    """Store a run that finetunes a model on NevIR's pairs.

    Raises:
        HedgerowError: a file or model does not exist, the data shares a passage with a test or has
            too few passages, the model can't have the architecture, or the same run is in progress.
    """
    settings = project.settings
    with writing(project.engine) as session:
        request = request.model_copy(update={"base": clean_name(session, request.base)})
        if folder := folder_of(session, settings, request.base):
            require_trainable(folder, request.architecture, name=request.base)
        else:
            require_files(request.base)
            check_encoder(request.base)
        train, held_out = files_of(settings.data_folder, request)
        require_untested(settings.data_folder, train)
        parts_of(train, held_out)
        run = create_run(
            session,
            kind=RANKER_KIND,
            parameters=request.model_dump(mode="json"),
            inputs={"data": train.hash, **({"validation": held_out.hash} if held_out else {})},
            requested_by=project.author(session),
        )
        same = "training with the same settings; change the model, the pairs or a setting"
        refuse_equal(session, run, doing=same)
        return run


FINETUNE_ON_PAIRS = Action("finetune on NevIR's pairs", RankingRequest, store)


def files_of(data_folder: Path, request: RankingRequest) -> tuple[PairsFile, PairsFile | None]:
    """The file for training, and the file for evaluation if there is one.

    Raises:
        HedgerowError: a file is missing or damaged.
    """
    train = read_pairs(data_folder, request.data, name=request.data_name)
    if not request.validation:
        return train, None
    return train, read_pairs(data_folder, request.validation, name=request.validation_name)


def parts_asked(data_folder: Path, request: RankingRequest) -> Parts:
    """The training pairs of a request, at most `max_pairs`, and its evaluation pairs.

    Raises:
        HedgerowError: as in `files_of` and `parts_of`.
    """
    parts = parts_of(*files_of(data_folder, request))
    return parts._replace(train=random_sample(parts.train, request.max_pairs, seed=request.seed))


def pair_counts(data_folder: Path, run: Run) -> PairCounts | None:
    """The numbers of training and evaluation pairs of a run; None if its files are missing."""
    if data := run.result.get("data"):
        return PairCounts(data["trained_on"], data["held_out"])
    with suppress(HedgerowError):
        return parts_asked(data_folder, request_of(run)).counts
    return None


def require_trainable(folder: Path, architecture: str, *, name: str) -> str:
    """The architecture for finetuning a base model.

    Args:
        architecture: the requested architecture; '' means the model's own.
        name: the model's name for people.

    Raises:
        HedgerowError: the model can't have this architecture.
    """
    found = architecture_of(folder)
    wanted = architecture or found
    if wanted not in ARCHITECTURES:
        raise HedgerowError(
            f"Expected a model that can be finetuned here ({', '.join(ARCHITECTURES)}) in "
            f"{name!r}, found one that is {found}; choose another model."
        )
    if found == BiEncoder.architecture:
        return wanted
    return fitting(folder, wanted, name=name)


def list_finetunings(session: Session) -> list[Run]:
    """The finetuning runs on NevIR's pairs, newest first."""
    return list_runs(session, kind=RANKER_KIND, limit=100)


def request_of(run: Run) -> RankingRequest:
    """The request of a run."""
    return RankingRequest.model_validate(run.parameters)


# -- An estimate of the time to finetune on NevIR's pairs on this machine -------------------------
#
# As for other training runs (`training.finetune.feasibility`), the unit is characters: those that
# the steps pass forward and backward, and those that evaluations only pass forward. The pace comes
# from the last finetuning run on this machine, or before the first one, from other training runs.


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


def time_needed(
    session: Session, settings: Settings, request: RankingRequest, parts: Parts
) -> TimeEstimate:
    """The estimated time, and the run that it is based on, if any.

    Args:
        parts: as in `characters_read`.
    """
    architecture = request.architecture or _own_architecture(session, settings, request.base)
    wanted = characters_read(parts, request, architecture)
    for run in of_this_host(list_runs(session, kind=RANKER_KIND)):
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
