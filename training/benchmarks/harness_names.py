"""The names of the harness's tasks, with their settings in HedgeTriple's Table 3, and own tasks."""

import os
import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from db.errors import HedgerowError, first_line
from db.extras import require_package

# -- The names of the harness's tasks, and their settings in HedgeTriple's Table 3 ----------------


LM_EVAL = "lm_eval:"
"""The prefix of a task's name in commands and in the ids of results."""


class KnownTask(NamedTuple):
    """A task of Table 3.

    Attributes:
        name: the harness's name for it.
        title: the paper's name for it.
        folder: the folder with its definition, inside the harness's folder of tasks.
        shots: the number of solved examples in the prompt.
        metric, filter: the metric used as the score; the filter extracts the answer from the
            model's output.
        data: the name of its data set on the model hub.
        items: the number of items in this data set.
        holds: a description of the items, for people.
    """

    name: str
    title: str
    folder: str
    shots: int
    metric: str
    filter: str
    data: str
    items: int
    holds: str


KNOWN: Mapping[str, KnownTask] = {
    task.name: task
    for task in (
        KnownTask(
            *("mmlu", "MMLU (5-shot)", "mmlu/default", 5, "acc", "none"),
            *("cais/mmlu", 14_042, "questions on 57 subjects, each with four choices"),
        ),
        KnownTask(
            *("hellaswag", "HellaSwag (0-shot)", "hellaswag", 0, "acc_norm", "none"),
            *("Rowan/hellaswag", 10_042, "text beginnings, each with four endings"),
        ),
        KnownTask(
            *("gsm8k", "GSM8K (5-shot, CoT)", "gsm8k", 5, "exact_match", "strict-match"),
            *("openai/gsm8k", 1_319, "math problems that the model solves in writing"),
        ),
    )
}
"""The paper takes the harness's defaults (§5.2) and names no metrics. These are the ones that the
Open LLM Leaderboard reported."""

TABLE_3 = "table3"

LANGUAGE_SUITES: Mapping[str, tuple[str, ...]] = {TABLE_3: tuple(KNOWN)}


def title_of(benchmark: str) -> str:
    """The title of a task, from the benchmark id of its results; '' for any other id."""
    if not benchmark.startswith(LM_EVAL):
        return ""
    name = benchmark.removeprefix(LM_EVAL)
    return KNOWN[name].title if name in KNOWN else name


def tasks_of(name: str) -> tuple[str, ...]:
    """The tasks behind a name: those of a suite, or the single task."""
    return LANGUAGE_SUITES.get(name, (name,))


def require_harness() -> None:
    """Fail if the package is not installed.

    Raises:
        HedgerowError: it is not installed.
    """
    require_package("lm_eval", by="These tasks")


def require_known(names: Sequence[str]) -> None:
    """Check that these tasks are in Table 3.

    Raises:
        HedgerowError: one is not.
    """
    for name in names:
        if name not in KNOWN:
            raise HedgerowError(
                f"Expected a task of lm_eval ({', '.join(KNOWN)}) or the suite {TABLE_3}, found "
                f"{name[:60]!r}; for your own task, also give its folder."
            )


# -- own tasks ------------------------------------------------------------------------------------
#
# The user's own tasks: a folder with one YAML file per task in the harness's format, no code.
#
# The harness would run Python code that a file names. Hedgerow only accepts files that say where
# the data is and how an item becomes a prompt. Their templates run in Jinja's sandbox.


METRICS: Mapping[str, tuple[str, ...]] = {
    "multiple_choice": ("acc", "acc_norm"),
    "generate_until": ("exact_match",),
}
"""By ``output_type``: the metrics that mark an item as right or wrong; the first is the default."""

FIELDS = frozenset(
    {
        *("task", "task_alias", "tag", "metadata", "output_type", "num_fewshot", "repeats"),
        *("dataset_path", "dataset_name", "dataset_kwargs"),
        *("training_split", "validation_split", "test_split", "fewshot_split", "fewshot_config"),
        *("description", "doc_to_text", "doc_to_target", "doc_to_choice", "gen_prefix"),
        *("target_delimiter", "fewshot_delimiter"),
        *("metric_list", "filter_list", "generation_kwargs"),
    }
)
"""The allowed keys in a task's file. Other keys name code, other files, or pictures and sound."""

METRIC_FIELDS = frozenset(
    {
        *("metric", "aggregation", "higher_is_better"),
        *("ignore_case", "ignore_punctuation", "ignore_numbers", "regexes_to_ignore"),
    }
)

FORMATS = ("json", "csv", "parquet", "text")
"""The allowed values of ``dataset_path`` for data in files."""

WHERE = frozenset({"data_files", "revision"})
"""The allowed keys of ``dataset_kwargs``."""

_ON_THE_HUB = re.compile(r"[\w.-]+/[\w.-]+")

LARGEST_TASK = 1_000_000
"""Maximum size of a task's file in bytes."""


def own_task(folder: Path, name: str) -> dict[str, Any]:
    """The definition of a task in the harness's format. Paths of its data are relative to its
    folder.

    Raises:
        HedgerowError: the folder or task does not exist, a file can't be read, or a task contains
            code or an unknown key.
    """
    found = _by_name(folder)
    if name not in found:
        known = ", ".join(sorted(found))[:200] or "none"
        raise HedgerowError(
            f"Expected the task {name[:60]!r} in {str(folder)[:200]!r}, found {known}; a task's "
            "name is in its file, after 'task:'."
        )
    path, values = found[name]
    return _checked(path, values)


def own_names(folder: Path) -> list[str]:
    """The tasks in a folder, except those with the name of a task in Table 3.

    Raises:
        HedgerowError: the folder does not exist, or a file can't be read or contains code.
    """
    return sorted(name for name in _by_name(folder) if name not in KNOWN)


def _by_name(folder: Path) -> dict[str, tuple[Path, dict[str, Any]]]:
    """The tasks in a folder with their files. A task is a mapping with a name."""
    if not os.path.isdir(folder):
        raise HedgerowError(
            "Expected a folder with lm_eval tasks (YAML files), found none at "
            f"{str(folder)[:200]!r}; check the path."
        )
    paths = sorted({*folder.glob("*.yaml"), *folder.glob("*.yml")})
    read = [(path, _read(path)) for path in paths]
    return {
        str(values["task"]): (path, values)
        for path, values in read
        if isinstance(values, dict) and "task" in values
    }


def _read(path: Path) -> Any:
    import yaml  # noqa: PLC0415  (the harness needs it, too)

    try:
        if path.stat().st_size > LARGEST_TASK:
            raise HedgerowError(
                f"Expected a task of at most {LARGEST_TASK:,} bytes in {path.name!r}, found more; "
                "move the data to a separate file."
            )
        return yaml.safe_load(path.read_text(encoding="utf-8"))
    except yaml.constructor.ConstructorError as error:
        raise HedgerowError(
            f"Expected a task without code in {path.name!r}, found {str(error.problem)[:120]!r}; "
            "Hedgerow does not run Python code of tasks."
        ) from error
    except (OSError, ValueError, yaml.YAMLError) as error:
        raise HedgerowError(
            f"Expected a YAML task in {path.name!r}, found {first_line(error)}; correct it."
        ) from error


def _checked(path: Path, values: dict[str, Any]) -> dict[str, Any]:
    if odd := sorted(str(name) for name in values if name not in FIELDS):
        raise _wrong(path, f"only keys for data and prompts, found {odd[0][:60]!r}")
    kind = values.get("output_type", "generate_until")
    if kind not in METRICS:
        raise _wrong(path, f"the output_type {' or '.join(METRICS)}, found {str(kind)[:60]!r}")
    metrics = values.get("metric_list") or [{"metric": METRICS[kind][0]}]
    for metric in metrics:
        name = metric.get("metric") if isinstance(metric, dict) else metric
        if name not in METRICS[kind] or not set(metric) <= METRIC_FIELDS:
            raise _wrong(path, f"a metric ({', '.join(METRICS[kind])}), found {str(name)[:60]!r}")
    marked = [metric | {"aggregation": "mean", "higher_is_better": True} for metric in metrics]
    return values | {"output_type": kind, "metric_list": marked} | _data(path, values)


def _data(path: Path, values: Mapping[str, Any]) -> dict[str, Any]:
    """The location of the data: files, or a data set on the hub."""
    source, how = str(values.get("dataset_path")), values.get("dataset_kwargs") or {}
    if not isinstance(how, dict) or not how.keys() <= WHERE:
        raise _wrong(
            path, f"only {' and '.join(sorted(WHERE))} in dataset_kwargs, found other keys"
        )
    if source in FORMATS:
        files = how.get("data_files")
        return {"dataset_kwargs": how | {"data_files": _here(path.parent, files)}}
    if not _ON_THE_HUB.fullmatch(source) or os.path.exists(source):
        raise _wrong(
            path,
            f"the dataset_path {', '.join(FORMATS)} or a data set on the model hub, found "
            f"{source[:60]!r}",
        )
    return {}


def _here(folder: Path, files: Any) -> Any:
    """File names as paths."""
    if isinstance(files, dict):
        return {split: _here(folder, names) for split, names in files.items()}
    if isinstance(files, list):
        return [_here(folder, name) for name in files]
    return str(folder / str(files))


def _wrong(path: Path, expected: str) -> HedgerowError:
    return HedgerowError(f"In the task {path.name!r}: expected {expected}; correct the file.")
