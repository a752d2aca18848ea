"""The names of the harness's tasks, and their settings in HedgeTriple's Table 3."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from importlib.util import find_spec
from typing import NamedTuple

from db.errors import HedgerowError

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
    if find_spec("lm_eval") is None:
        raise HedgerowError(
            "These tasks need the package lm_eval, which is not installed; run: pip install "
            "'hedgerow[lm-eval]'"
        )


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
