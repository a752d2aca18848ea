"""Choosing tasks of general ability: mteb's suites, and single tasks by name."""

from collections.abc import Mapping
from typing import NamedTuple

import streamlit as st

from training.benchmarks.tasks.general import SUITES
from training.benchmarks.tasks.general_names import KNOWN_TASKS

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
"""With a small encoder on two cores, from the shortest on."""


class General(NamedTuple):
    """What is chosen.

    Attributes:
        tasks: single ones, those of the suites left out.
    """

    suites: tuple[str, ...]
    tasks: tuple[str, ...]

    @property
    def number(self) -> int:
        """Different tasks in all."""
        return len({task for name in self.suites for task in SUITES[name]} | set(self.tasks))

    @property
    def takes(self) -> str:
        """How long the suites take, as far as that can be said before: the longest counts."""
        return next(
            (SUITE_TIMES[name] for name in reversed(SUITE_TIMES) if name in self.suites), ""
        )


def choose() -> General:
    """Draw the boxes."""
    st.text(
        "Tasks of the Massive Text Embedding Benchmark (English) by the mteb package; their data "
        "come from the model hub, or from its cache."
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
            help="Single tasks of these suites, or any other of mteb's for English: type its name, "
            "as mteb writes it, and press Enter.",
        )
    for name in suites:
        st.text(
            f"{name}: {len(SUITES[name])} tasks, {SUITE_NOTES[name]}; takes {SUITE_TIMES[name]} "
            "with a small encoder on two cores."
        )
    tasks = list(dict.fromkeys(name.strip() for name in typed if name.strip()))
    held = [name for name in tasks if any(name in SUITES[suite] for suite in suites)]
    if held:
        st.text(f"{', '.join(held)}: in a chosen suite already; measured once.")
    return General(tuple(suites), tuple(name for name in tasks if name not in held))
