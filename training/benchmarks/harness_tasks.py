"""Tasks of the harness: their data, and a language model measured with one."""

from __future__ import annotations

import hashlib
import io
import json
import logging
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import ExitStack, contextmanager, redirect_stdout
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from typing import Any
from unittest.mock import patch

from curation.encoders.model_folders import NO_HUB, unreachable
from db.errors import HedgerowError, RunCancelled, first_line
from training.benchmarks.definition import (
    POINTS,
    RIGHT,
    WRONG,
    ItemResult,
    PartMark,
    Result,
    result_of,
)
from training.benchmarks.file_reading import asked_once
from training.benchmarks.harness_names import (
    KNOWN,
    LM_EVAL,
    KnownTask,
    own_task,
    require_harness,
    require_known,
)

FEWSHOT_SEED = 1234
"""The harness's own seed for choosing the solved examples."""


@dataclass(frozen=True)
class LoadedTask:
    """A task or a group of tasks for measuring a language model.

    Attributes:
        id: the benchmark id of its results.
        title: for people.
        metric, filter: the metric used as the score.
        data: the source of its items, for people.
        parts: the harness's tasks by name: 57 subjects for MMLU, otherwise one task.
        loaded: the input of the harness's ``evaluate``.
        data_hash: SHA-256 (64 hex digits) of the items and their prompts.
    """

    id: str
    title: str
    metric: str
    filter: str
    data: str
    parts: dict[str, Any]
    loaded: dict[str, Any]
    data_hash: str

    @property
    def items(self) -> int:
        """The number of items in all parts."""
        return sum(len(part.eval_docs) for part in self.parts.values())


def require_task(name: str, folder: Path | None) -> None:
    """Check that a task exists, without loading anything.

    Raises:
        HedgerowError: as in `own_task`, or the harness is not installed.
    """
    require_harness()
    if folder is None:
        require_known([name])
    elif name not in KNOWN:
        own_task(folder, name)


def load_task(name: str, folder: Path | None = None) -> LoadedTask:
    """A task with its data, from the model hub or its cache.

    Args:
        name: a name in ``harness_names.KNOWN``, or a task in the folder.
        folder: the folder with the user's own tasks, if any.

    Raises:
        HedgerowError: as in `own_task`, or the harness is not installed, or the data can't be
            loaded.
    """
    require_task(name, folder)
    known = KNOWN.get(name)
    own = own_task(folder, name) if folder and not known else None
    title = known.title if known else name
    with asked_once(), sandboxed():
        try:
            loaded = _loaded(known, own)
            return _task(name, title, known, loaded)
        except HedgerowError:
            raise
        except Exception as error:  # data sets, the hub and templates can fail in any way
            if unreachable(error):
                raise HedgerowError(
                    f"The data set of {title} {NO_HUB}; connect to the network and run the "
                    "benchmark again."
                ) from error
            raise HedgerowError(
                f"Could not load {title} ({type(error).__name__}: {first_line(error)[:200]}); "
                "correct the task or its data."
            ) from error


def _loaded(known: KnownTask | None, own: dict[str, Any] | None) -> dict[str, Any]:
    import datasets  # noqa: PLC0415
    from lm_eval import tasks

    datasets.disable_progress_bars()
    if known is None:
        found = tasks.TaskManager(include_defaults=False).load([own])
    else:  # reading the definitions of all its tasks takes ten seconds
        folder = Path(tasks.__file__).parent / known.folder
        found = tasks.TaskManager(include_path=folder, include_defaults=False).load([known.name])
    for part in found["tasks"].values():
        _ask_as_the_paper(part, known.shots if known else None)
    return dict(found)


def _ask_as_the_paper(part: Any, shots: int | None) -> None:
    """Set the number of examples. None keeps a task's own number, or sets 0 if it has none."""
    if shots is None:
        shots = part.get_config("num_fewshot") or 0
    part.set_config(key="num_fewshot", value=shots)
    part.set_fewshot_seed(seed=FEWSHOT_SEED)


def _task(name: str, title: str, known: KnownTask | None, loaded: dict[str, Any]) -> LoadedTask:
    import lm_eval

    parts = dict(sorted(loaded["tasks"].items()))
    first = next(iter(parts.values()))
    filters = first.config.filter_list
    return LoadedTask(
        id=f"{LM_EVAL}{name}",
        title=title,
        metric=known.metric if known else first.config.metric_list[0]["metric"],
        filter=known.filter if known else (filters[0]["name"] if filters else "none"),
        data=f"{known.data if known else 'own task'}, lm_eval {lm_eval.__version__}",
        parts=parts,
        loaded=loaded,
        data_hash=_hash(parts),
    )


def _hash(parts: dict[str, Any]) -> str:
    """The SHA-256 of the items and their prompts, without the location of the data."""
    digest = hashlib.sha256()
    for name, part in parts.items():
        asked = part.dump_config()
        asked = {key: asked[key] for key in asked if key not in ("metadata", "dataset_kwargs")}
        digest.update(f"{name}\n{_json(asked)}\n".encode())
        for doc in part.eval_docs:
            digest.update(f"{_json(doc)}\n".encode())
    return digest.hexdigest()


def _json(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False, sort_keys=True, default=_name)


def _name(value: Any) -> str:
    """The description of a function without its address, which differs in every process."""
    return str(getattr(value, "__qualname__", value))


@contextmanager
def sandboxed() -> Iterator[None]:
    """A context in which the templates of tasks can read an item but run no code."""
    from jinja2.sandbox import ImmutableSandboxedEnvironment  # noqa: PLC0415
    from lm_eval import utils

    usual = utils.env
    safe = ImmutableSandboxedEnvironment(
        undefined=usual.undefined, keep_trailing_newline=usual.keep_trailing_newline
    )
    safe.filters.update(usual.filters)
    utils.env = safe
    try:
        yield
    finally:
        utils.env = usual


# -- A language model measured with a task: every item right or wrong, with its texts -------------


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
