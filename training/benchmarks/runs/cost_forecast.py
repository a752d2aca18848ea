"""Estimates for a benchmark run before it starts: texts, prompts, time and cost.

Time is estimated from earlier results on this machine. For a new model, the estimate comes from
another model of the same architecture or from the built-in encoder, scaled by their sizes. There is
no estimate for a model that is not on this machine yet.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import NamedTuple

from sqlalchemy.orm import Session

from curation.generation.request import Price
from curation.token_estimate import tokens
from db.errors import HedgerowError
from db.settings import Settings
from training.benchmarks.catalogue import benchmark
from training.benchmarks.data.sizes import Size, size
from training.benchmarks.data.sources import DataChoice
from training.benchmarks.runs.measured_models import CHAT, ModelChoice, clean_model
from training.benchmarks.runs.paces import RunPace, pace_of, paces, units
from training.benchmarks.scorers.architecture import architecture_of
from training.benchmarks.scorers.embedding_models import BiEncoder
from training.benchmarks.scorers.prompted.wording import (
    NEWEST_PROMPTS,
    PromptVersions,
    Wording,
    wording_of,
)
from training.models.known import folder_of
from training.models.size import weight_of

LOADING = 10.0
"""Seconds until a model starts to compute."""

SHORTEST_ANSWER = 5.0
"""Tokens of a short answer, such as '1' or '0.85'."""


class Chats(NamedTuple):
    """The prompts of a chat model, and their cost.

    Attributes:
        tokens_in, tokens_out: the approximate numbers of tokens.
        cost: US dollars for these tokens; None without a price.
        most: US dollars if every answer has the maximum length; None without a price, or if earlier
            answers show their usual length.
    """

    prompts: int
    tokens_in: float
    tokens_out: float
    cost: float | None
    most: float | None


class ModelPlan(NamedTuple):
    """The estimate for one model; ``seconds`` is None if it is unknown."""

    name: str
    seconds: float | None
    chats: Chats | None = None


class BenchmarkPlan(NamedTuple):
    """The estimate for a run.

    Attributes:
        texts: the number of distinct texts of each benchmark.
        unknown: titles of benchmarks whose data is not downloaded yet or can't be read.
    """

    items: int
    questions: int
    texts: int
    unknown: tuple[str, ...]
    models: tuple[ModelPlan, ...]


def plan_benchmarks(
    session: Session,
    settings: Settings,
    models: Sequence[ModelChoice],
    data: Iterable[DataChoice],
    *,
    asked_with: PromptVersions = NEWEST_PROMPTS,
) -> BenchmarkPlan:
    """The estimate for measuring these models with these benchmarks, without mteb tasks.

    Args:
        asked_with: the versions of the prompts for language models.

    Raises:
        HedgerowError: there is no such version.
    """
    wording = wording_of(session, asked_with)
    sizes: list[Size] = []
    unknown = []
    for choice in data:
        found = _size(session, settings.data_folder, choice)
        if found is None:
            unknown.append(benchmark(choice.benchmark).title)
        else:
            sizes.append(found)
    earlier = paces(session) if sizes else []
    return BenchmarkPlan(
        items=sum(one.items for one in sizes),
        questions=sum(one.questions for one in sizes),
        texts=sum(one.texts for one in sizes),
        unknown=tuple(unknown),
        models=tuple(_model(session, settings, model, sizes, earlier, wording) for model in models),
    )


def _size(session: Session, data_folder: Path, choice: DataChoice) -> Size | None:
    try:
        return size(session, data_folder, choice)
    except HedgerowError:  # the run reports it
        return None


def _model(
    session: Session,
    settings: Settings,
    choice: ModelChoice,
    sizes: Sequence[Size],
    earlier: Sequence[RunPace],
    wording: Wording,
) -> ModelPlan:
    try:
        choice = clean_model(session, choice)
    except HedgerowError:  # the run reports it
        return ModelPlan(choice.name, None)
    if choice.architecture == CHAT:
        return _chat(choice, sizes, earlier, wording)
    if choice.takes == "nothing":
        return ModelPlan(choice.name, 0.0)
    architecture, weight = _here(session, settings, choice)
    work = sum(units(one, architecture) for one in sizes)
    pace = pace_of(earlier, choice.name, architecture, weight)
    return ModelPlan(choice.name, LOADING + work / pace if pace else None)


def _chat(
    choice: ModelChoice, sizes: Sequence[Size], earlier: Sequence[RunPace], wording: Wording
) -> ModelPlan:
    prompts = sum(one.prompts for one in sizes)
    before = next((p for p in earlier if (p.model, p.architecture) == (choice.name, CHAT)), None)
    each = before.tokens_out / before.units if before else 0.0
    tokens_in = tokens(sum(one.letters_asked(wording) for one in sizes))
    tokens_out = prompts * (each or SHORTEST_ANSWER)
    cost = most = None
    if choice.price != Price():
        cost = choice.price.cost(tokens_in, round(tokens_out))
        most = None if each else choice.price.cost(tokens_in, prompts * choice.max_tokens)
    seconds = prompts * before.seconds / before.units if before else None
    return ModelPlan(choice.name, seconds, Chats(prompts, tokens_in, tokens_out, cost, most))


def _here(session: Session, settings: Settings, choice: ModelChoice) -> tuple[str, float]:
    """The architecture and the weight of a model, if its files are on this machine."""
    if choice.takes == "name":
        return choice.architecture, 0.0
    try:
        folder = folder_of(session, settings, choice.parts[0])
        architecture = choice.architecture or (
            architecture_of(folder) if folder else BiEncoder.architecture
        )
    except HedgerowError:
        return choice.architecture or BiEncoder.architecture, 0.0
    return architecture, weight_of(folder) if folder else 0.0
