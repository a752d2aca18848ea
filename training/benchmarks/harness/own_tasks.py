"""The user's own tasks: a folder with one YAML file per task in the harness's format, no code.

The harness would run Python code that a file names. Hedgerow only accepts files that say where the
data is and how an item becomes a prompt. Their templates run in Jinja's sandbox.
"""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from db.errors import HedgerowError, first_line
from training.benchmarks.harness.names import KNOWN

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

LARGEST = 1_000_000
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
        if path.stat().st_size > LARGEST:
            raise HedgerowError(
                f"Expected a task of at most {LARGEST:,} bytes in {path.name!r}, found more; "
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
