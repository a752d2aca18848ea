"""Choosing tasks for general ability: mteb for encoders, lm_eval for language models."""

from collections.abc import Mapping
from pathlib import Path
from typing import NamedTuple

import streamlit as st

from db.errors import HedgerowError
from training.benchmarks.harness_names import KNOWN, own_names, require_harness
from training.benchmarks.tasks.general import KNOWN_TASKS, SUITES

SUITE_NOTES: Mapping[str, str] = {
    "quick": "the smallest of each kind",
    "lite": "the 16 data sets of HedgeTriple's Table 2",
    "nano": "retrieval with 50 queries each",
    "full": "the 56 data sets of its Table 1",
}

SUITE_TIMES: dict[str, str] = {
    "quick": "minutes",
    "nano": "about an hour",
    "lite": "hours",
    "full": "days",
}
"""With a small encoder on two CPU cores, shortest first."""


class General(NamedTuple):
    """The chosen tasks.

    Attributes:
        tasks: single mteb tasks that are not in a chosen suite.
        language_tasks: lm_eval tasks.
        tasks_folder: folder with the user's own tasks; '' for none.
    """

    suites: tuple[str, ...]
    tasks: tuple[str, ...]
    language_tasks: tuple[str, ...]
    tasks_folder: str

    @property
    def any(self) -> bool:
        """Whether there is something to measure."""
        return bool(self.number or self.language_tasks)

    @property
    def number(self) -> int:
        """Number of different mteb tasks."""
        return len({task for name in self.suites for task in SUITES[name]} | set(self.tasks))

    @property
    def takes(self) -> str:
        """A rough duration of the suites: that of the longest."""
        return next(
            (SUITE_TIMES[name] for name in reversed(SUITE_TIMES) if name in self.suites), ""
        )


def choose() -> General:
    """Draw the boxes."""
    suites, tasks = _of_encoders()
    language_tasks, folder = _of_language_models()
    return General(suites, tasks, language_tasks, folder)


def _of_encoders() -> tuple[tuple[str, ...], tuple[str, ...]]:
    """mteb suites and single tasks."""
    st.text(
        "For encoders: English tasks of the Massive Text Embedding Benchmark (mteb). Their data "
        "comes from the model hub or its local cache."
    )
    with st.container(horizontal=True, key="bench-general-fields"):
        suites: list[str] = st.multiselect(
            "Suites", list(SUITES), key="bench-suites", placeholder="None", persist_state="session"
        )
        typed: list[str] = st.multiselect(
            "Tasks",
            KNOWN_TASKS,
            key="bench-tasks",
            accept_new_options=True,
            persist_state="session",
            placeholder="None",
            help="Individual tasks of these suites. For any other English mteb task, type its "
            "exact name and press Enter.",
        )
    for name in suites:
        st.text(
            f"{name}: {len(SUITES[name])} tasks, {SUITE_NOTES[name]}. Takes {SUITE_TIMES[name]} "
            "with a small encoder on two CPU cores."
        )
    tasks = list(dict.fromkeys(name.strip() for name in typed if name.strip()))
    held = [name for name in tasks if any(name in SUITES[suite] for suite in suites)]
    if held:
        st.text(f"Already in a chosen suite, so run only once: {', '.join(held)}.")
    return tuple(suites), tuple(name for name in tasks if name not in held)


def _of_language_models() -> tuple[tuple[str, ...], str]:
    """lm_eval tasks, and the folder with the user's own tasks."""
    st.text(
        "For language models on this machine or on the model hub: the tasks of HedgeTriple's "
        "Table 3 with lm-evaluation-harness, or your own tasks."
    )
    try:
        require_harness()
    except HedgerowError as error:
        st.text(str(error))
        return (), ""
    with st.container(horizontal=True, key="bench-language-fields"):
        chosen: list[str] = st.multiselect(
            "Language model tasks",
            list(KNOWN),
            format_func=lambda name: KNOWN[name].title,
            key="bench-language-tasks",
            placeholder="None",
            persist_state="session",
        )
        folder = st.text_input(
            "Folder with your own tasks",
            key="bench-tasks-folder",
            placeholder="None",
            persist_state="session",
            help="YAML task files for lm-evaluation-harness, without Python code.",
        ).strip()
    for name in chosen:
        st.text(f"{KNOWN[name].title}: {KNOWN[name].items:,} {KNOWN[name].holds}.")
    if not folder:
        return tuple(chosen), ""
    own = _own(Path(folder).expanduser().absolute())
    return (*chosen, *own), str(Path(folder).expanduser().absolute()) if own else ""


def _own(folder: Path) -> list[str]:
    """The tasks of a folder; shows a message if the folder is not usable."""
    try:
        names = own_names(folder)
    except HedgerowError as error:
        st.text(str(error))
        return []
    return st.multiselect(
        "Your tasks",
        names,
        default=names,
        key=f"bench-own-tasks-{folder}",
        placeholder="None",
    )
