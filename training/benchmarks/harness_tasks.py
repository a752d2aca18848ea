"""Tasks of the harness with their data, before a model is loaded."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from curation.encoders.model_folders import NO_HUB, unreachable
from db.errors import HedgerowError, first_line
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
