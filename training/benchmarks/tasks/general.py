"""General ability: tasks of the Massive Text Embedding Benchmark.

The ``mteb`` package runs them. Results are stored in its format (a folder per model and revision, a
JSON file per task), so that they can be compared with published ones. Importing mteb takes seconds,
so only the functions that need it do so.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from curation.encoders.model_folders import NO_HUB, unreachable
from db.errors import HedgerowError, RunCancelled
from db.extras import require_package
from training.benchmarks.definition import POINTS
from training.benchmarks.file_reading import asked_once, in_cache

if TYPE_CHECKING:
    from mteb.abstasks.abstask import AbsTask


ENGLISH = "MTEB(eng, v1)"
"""The 56 data sets of HedgeTriple's Table 1, by mteb's names."""

QUICK = (
    "STSBenchmark",
    "SICK-R",
    "NanoSciFactRetrieval",
    "NanoNFCorpusRetrieval",
    "AskUbuntuDupQuestions",
    "TwentyNewsgroupsClustering.v2",
    "Banking77Classification",
    "SummEval",
)
"""The smallest task of each kind, some minutes on two cores. Its average cannot be compared with
published ones."""

LITE = (
    "SciFact",
    "ArguAna",
    "NFCorpus",
    "StackOverflowDupQuestions",
    "SciDocsRR",
    "BiorxivClusteringS2S",
    "MedrxivClusteringS2S",
    "TwentyNewsgroupsClustering",
    "SprintDuplicateQuestions",
    "Banking77Classification",
    "EmotionClassification",
    "MassiveIntentClassification",
    "STS17",
    "SICK-R",
    "STSBenchmark",
    "SummEval",
)
"""The 16 data sets of HedgeTriple's Table 2: the 15 of LLM2Vec (BehnamGhader et al., 2024), cited
by the paper, and one for summaries."""

NANO = (
    "NanoArguAnaRetrieval",
    "NanoClimateFeverRetrieval",
    "NanoDBPediaRetrieval",
    "NanoFEVERRetrieval",
    "NanoFiQA2018Retrieval",
    "NanoHotpotQARetrieval",
    "NanoMSMARCORetrieval",
    "NanoNFCorpusRetrieval",
    "NanoNQRetrieval",
    "NanoQuoraRetrieval",
    "NanoSCIDOCSRetrieval",
    "NanoSciFactRetrieval",
    "NanoTouche2020Retrieval",
)
"""Retrieval with 50 queries per data set instead of millions of documents."""

FULL = (
    "AmazonCounterfactualClassification",
    "AmazonPolarityClassification",
    "AmazonReviewsClassification",
    "Banking77Classification",
    "EmotionClassification",
    "ImdbClassification",
    "MTOPDomainClassification",
    "MTOPIntentClassification",
    "MassiveIntentClassification",
    "MassiveScenarioClassification",
    "ToxicConversationsClassification",
    "TweetSentimentExtractionClassification",
    "SprintDuplicateQuestions",
    "TwitterSemEval2015",
    "TwitterURLCorpus",
    "AskUbuntuDupQuestions",
    "MindSmallReranking",
    "SciDocsRR",
    "StackOverflowDupQuestions",
    "ArxivClusteringP2P",
    "ArxivClusteringS2S",
    "BiorxivClusteringP2P",
    "BiorxivClusteringS2S",
    "MedrxivClusteringP2P",
    "MedrxivClusteringS2S",
    "RedditClustering",
    "RedditClusteringP2P",
    "StackExchangeClustering",
    "StackExchangeClusteringP2P",
    "TwentyNewsgroupsClustering",
    "ArguAna",
    "CQADupstackRetrieval",
    "ClimateFEVER",
    "DBPedia",
    "FEVER",
    "FiQA2018",
    "HotpotQA",
    "MSMARCO",
    "NFCorpus",
    "NQ",
    "QuoraRetrieval",
    "SCIDOCS",
    "SciFact",
    "TRECCOVID",
    "Touche2020",
    "BIOSSES",
    "SICK-R",
    "STS12",
    "STS13",
    "STS14",
    "STS15",
    "STS16",
    "STS17",
    "STS22",
    "STSBenchmark",
    "SummEval",
)
"""All of `ENGLISH`. Its retrieval tasks need a GPU or several days."""

SUITES: Mapping[str, tuple[str, ...]] = {"quick": QUICK, "lite": LITE, "nano": NANO, "full": FULL}

Progress = Callable[[int, int, str], None]
"""Called with (tasks done, total tasks, the next task's name). May raise to cancel."""


class TaskScore(NamedTuple):
    """A model's result in a task.

    Attributes:
        kind: the kind of task: 'STS', 'Retrieval', 'Clustering' …
        score: mteb's main score of the English test data, in points.
        seconds: the duration, as measured by mteb when the task ran; None if it did not run.
    """

    task: str
    kind: str
    score: float
    seconds: float | None = None


class TaskFacts(NamedTuple):
    """The properties of a task.

    Attributes:
        type: as in `TaskScore.kind`.
        metric: mteb's name for its main score.
        data: the name of its data set on the model hub.
        revision: the revision of the data set.
        version: the version of the installed mteb.
    """

    name: str
    type: str
    metric: str
    data: str
    revision: str
    version: str


def facts(task: AbsTask) -> TaskFacts:
    """The properties of a task in the installed mteb."""
    about = task.metadata
    data = about.dataset
    return TaskFacts(
        about.name,
        str(about.type),
        about.main_score,
        str(data["path"]),
        str(data.get("revision", "")),
        _mteb().__version__,
    )


def tasks(names: Sequence[str]) -> list[AbsTask]:
    """These tasks. Tasks of `ENGLISH` use its splits.

    Raises:
        HedgerowError: the installed mteb lacks one of them, or it has no English texts.
    """
    mteb = _mteb()
    english = {task.metadata.name: task for task in mteb.get_benchmark(ENGLISH).tasks}
    return [english[name] if name in english else single_task(name) for name in names]


def single_task(name: str) -> AbsTask:
    """The task with this name in mteb, with its English data.

    Raises:
        HedgerowError: as in `tasks`.
    """
    mteb = _mteb()
    task: AbsTask | None = None
    with suppress(ValueError):  # it has no English data
        try:
            task = mteb.get_task(name, languages=["eng"])
        except KeyError as error:
            raise HedgerowError(
                f"Expected a task of mteb {mteb.__version__}, found {name[:60]!r}{_like(error)}; "
                "write its name as mteb does."
            ) from None
    if task is None or task.metadata.modalities != ["text"]:
        raise HedgerowError(
            f"Expected a task with English texts, found {name[:60]!r}, which is in other "
            "languages; choose another one."
        )
    return task


def _like(error: Exception) -> str:
    """The name that mteb suggests for an unknown one."""
    found = re.search(r"Did you mean: '([^']{1,80})'", str(error))
    return f" (is it {found[1]!r}?)" if found else ""


def require_data(task: AbsTask, *, name: str, revision: str, folder: Path) -> None:
    """Refuse a task whose data set is not on this machine while the model hub can't be reached.

    A task with a result needs no data. This check is fast, but loading a model may take minutes.

    Args:
        name, revision, folder: as in `run_tasks`.

    Raises:
        HedgerowError: the data set is needed and missing.
    """
    about = task.metadata
    where = str(about.dataset["path"])
    if _mteb().ResultCache(cache_path=folder).load_task_result(about.name, name, revision) is None:
        with asked_once() as reached:
            if not reached and not in_cache(where):
                raise HedgerowError(_not_here(about.name))


def _not_here(task: str) -> str:
    return f"The data set of {task} {NO_HUB}; connect to the network and run the benchmark again."


def run_tasks(
    model: Any,
    chosen: Sequence[AbsTask],
    *,
    name: str,
    revision: str,
    folder: Path,
    on_progress: Progress | None = None,
) -> list[TaskScore]:
    """Run the tasks that have no result in the folder yet. Each result is stored immediately.

    Args:
        model: an instance of any of sentence-transformers' classes.
        name, revision: the model's name, and the fingerprint of its files, which distinguishes
            models with the same name.
        folder: the folder with mteb's results.

    Raises:
        HedgerowError: a task's data can't be loaded, or the model can't do the task.
    """
    mteb = _mteb()
    cache = mteb.ResultCache(cache_path=folder)
    scores = []
    for number, task in enumerate(chosen):
        title = task.metadata.name
        if on_progress:
            on_progress(number, len(chosen), title)
        result = cache.load_task_result(title, name, revision)
        if result is None:
            result = _result(mteb, model, task)
            cache.save_to_cache(result, name, revision)
        scores.append(_score(result, task))
    return scores


def _result(mteb: Any, model: Any, task: AbsTask) -> Any:
    try:
        with asked_once():
            found = mteb.evaluate(
                model,
                task,
                cache=None,
                co2_tracker=False,
                show_progress_bar=False,
            )
    except (HedgerowError, RunCancelled):
        raise
    except Exception as error:  # data sets, the hub and a model can fail in any way
        if unreachable(error):
            raise HedgerowError(_not_here(task.metadata.name)) from error
        reason = (str(error).strip().splitlines() or [type(error).__name__])[0][:200]
        raise HedgerowError(
            f"Could not run {task.metadata.name} ({type(error).__name__}: {reason}); its data "
            "comes from the model hub, or from the cache of an earlier run."
        ) from error
    return found.task_results[0]


def _score(result: Any, task: AbsTask) -> TaskScore:
    try:
        score = result.validate_and_filter_scores(task).get_score()
    except Exception as error:
        raise HedgerowError(
            f"Expected English test scores in the result of {task.metadata.name}, found none."
        ) from error
    about = task.metadata
    return TaskScore(about.name, str(about.type), POINTS * float(score), result.evaluation_time)


def by_kind(scores: Sequence[TaskScore]) -> dict[str, float]:
    """The mean of each kind of task, in points."""
    kinds: dict[str, list[float]] = {}
    for score in scores:
        kinds.setdefault(score.kind, []).append(score.score)
    return {kind: sum(values) / len(values) for kind, values in sorted(kinds.items())}


def average(scores: Sequence[TaskScore]) -> float | None:
    """The mean over the kinds of tasks, in points; None if there are none.

    HedgeTriple's "average (56 datasets)" and "(16 datasets)" are means of its seven lines, not of
    the data sets. Only this reproduces its numbers.
    """
    kinds = by_kind(scores)
    return sum(kinds.values()) / len(kinds) if kinds else None


def _mteb() -> Any:
    """The package ``mteb``.

    Raises:
        HedgerowError: it is not installed.
    """
    require_package("mteb", by="These tasks")
    import mteb

    return mteb


# -- The mteb tasks that are offered, and a check of other names ----------------------------------


KNOWN_TASKS = tuple(sorted({task for suite in SUITES.values() for task in suite}))
"""Single tasks of the suites, by name."""


def require_tasks(names: Sequence[str]) -> None:
    """Check that these tasks exist. mteb is only loaded for names outside `KNOWN_TASKS`.

    Raises:
        HedgerowError: as in `tasks`, or a name is empty.
    """
    for name in names:
        if name not in KNOWN_TASKS:
            _require_task(name)


@lru_cache(maxsize=64)
def _require_task(name: str) -> None:
    if not name.strip():
        raise HedgerowError("Expected the name of an mteb task, found an empty one; remove it.")
    single_task(name)


def names_of(suites: Sequence[str], tasks: Sequence[str]) -> list[str]:
    """The tasks of these suites and these single tasks, without duplicates."""
    return list(dict.fromkeys([*(name for suite in suites for name in SUITES[suite]), *tasks]))
