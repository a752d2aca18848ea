"""A language model measured with a task of the harness: every item right or wrong."""

from __future__ import annotations

import io
import logging
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import ExitStack, contextmanager, redirect_stdout
from importlib import import_module
from typing import Any
from unittest.mock import patch

from db.errors import HedgerowError, RunCancelled, first_line
from training.benchmarks.definition import (
    POINTS,
    ItemResult,
    PartMark,
    Result,
    result_of,
)
from training.benchmarks.harness_tasks import LoadedTask, sandboxed

# -- A language model measured with a task: every item right or wrong, with its texts -------------


RIGHT, WRONG = "right", "wrong"

PART = "part"
"""The breakdown of a group, such as MMLU's subjects."""

UNREAD = "[invalid]"
"""The value that the harness's filters give if they find no answer in a model's output."""

METRIC_NAMES = {
    "acc": "accuracy",
    "acc_norm": "normalized accuracy",
    "exact_match": "exact match",
}


def measure(model: Any, tokenizer: Any, task: LoadedTask, *, on_progress: Progress) -> Result:
    """Have the model answer all requests of a task, without a chat template, as in the paper.

    Args:
        model: a causal language model of transformers.

    Raises:
        HedgerowError: the model can't do the task.
    """
    from lm_eval import evaluate
    from lm_eval.models.huggingface import HFLM

    try:
        with reported(on_progress), sandboxed():
            batch = "auto" if model.device.type == "cuda" else 1
            harness = HFLM(pretrained=model, tokenizer=tokenizer, batch_size=batch)
            found = evaluate(harness, task.loaded, bootstrap_iters=0, log_samples=True)
    except (HedgerowError, RunCancelled):
        raise
    except Exception as error:  # a model and a task can disagree in any way
        raise HedgerowError(
            f"Could not run {task.title} ({type(error).__name__}: {first_line(error)[:200]}); "
            "check the model and its maximum length."
        ) from error
    return _result(task, found)


def _result(task: LoadedTask, found: Any) -> Result:
    rows = tuple(row for name in task.parts for row in _rows(task, name, found["samples"][name]))
    return result_of(
        rows,
        benchmark=task.id,
        metric=METRIC_NAMES[task.metric],
        kind="share",
        outcomes=(RIGHT, WRONG),
        figures=_figures(found),
        data_hash=task.data_hash,
    )


def _figures(found: Any) -> dict[str, float]:
    """All metrics of the harness, in points; for a group, those of its subgroups.

    A metric's name includes its filter, if it has one.
    """
    results: Mapping[str, Mapping[str, Any]] = found.get("groups") or found["results"]
    figures: dict[str, float] = {}
    for of, values in results.items():
        for name, value in values.items():
            metric, _, read = name.partition(",")
            if read and not metric.endswith("_stderr") and isinstance(value, int | float):
                figure = metric if read == "none" else f"{metric}, {read}"
                figures[f"{of}: {figure}" if len(results) > 1 else figure] = POINTS * float(value)
    return figures


def _rows(task: LoadedTask, name: str, samples: Any) -> Iterator[ItemResult]:
    part = task.parts[name]
    several = len(task.parts) > 1
    for sample in sorted(samples, key=lambda sample: int(sample["doc_id"])):
        if sample["filter"] != task.filter:
            continue
        right = bool(sample[task.metric])
        texts, scores = _answers(part, sample, by_length=task.metric == "acc_norm")
        yield ItemResult(
            key=f"{name}/{sample['doc_id']}" if several else str(sample["doc_id"]),
            outcome=RIGHT if right else WRONG,
            right=right,
            tied=False,
            answered=sample["filtered_resps"][0] != UNREAD,
            scores=scores,
            marks=(PartMark(PART, name, right),) if several else (),
            texts=texts,
        )


def _answers(
    part: Any, sample: Mapping[str, Any], *, by_length: bool
) -> tuple[dict[str, str], tuple[float, ...]]:
    """The question, the correct answer, the model's answer, and the scores of the choices."""
    doc = sample["doc"]
    target = sample["target"]
    texts = {"question": str(part.doc_to_text(doc))}
    if part.OUTPUT_TYPE != "multiple_choice":
        return texts | {"right answer": str(target), "answer": str(sample["resps"][0][0])}, ()
    choices = [str(choice) for choice in part.doc_to_choice(doc)]
    scores = tuple(float(likelihood) for likelihood, _ in sample["filtered_resps"])
    ranked = [
        score / max(len(choice), 1) if by_length else score
        for score, choice in zip(scores, choices, strict=True)
    ]
    gold = choices[target] if isinstance(target, int) and target < len(choices) else str(target)
    picked = choices[ranked.index(max(ranked))]
    return texts | {"right answer": gold, "answer": picked}, scores


# -- The harness's progress bars and messages, passed on to a run instead of the terminal ---------


Progress = Callable[[int, int], None]
"""Called with (requests done, total requests). May raise to cancel."""

MODULES = ("lm_eval.api.model", "lm_eval.api.task", "lm_eval.models.huggingface")
"""The modules whose ``tqdm`` is replaced."""


@contextmanager
def reported(on_progress: Progress) -> Iterator[None]:
    """A context that reports every prompt that is built and every request that is answered."""

    def bar(items: Iterable[Any] | None = None, *, total: int = 0, **_: Any) -> _Bar:
        return _Bar(items, total, on_progress)

    logger = logging.getLogger("lm_eval")
    level = logger.level
    with ExitStack() as stack:
        logger.setLevel(logging.ERROR)  # it prints one line per subject of MMLU
        stack.callback(logger.setLevel, level)
        for name in MODULES:
            stack.enter_context(patch.object(import_module(name), "tqdm", bar))
        stack.enter_context(redirect_stdout(io.StringIO()))
        yield


class _Bar:
    """Replaces tqdm's class and counts requests. Iterated items are prompts, which take no time."""

    def __init__(self, items: Iterable[Any] | None, total: int, on_progress: Progress) -> None:
        self._items, self._total, self._report = items, total, on_progress
        self._done = 0

    def __iter__(self) -> Iterator[Any]:
        for item in self._items or ():
            self._report(0, 1)
            yield item

    def update(self, number: int = 1) -> None:
        self._done += number
        self._report(self._done, self._total)

    def close(self) -> None:
        """Does nothing."""
