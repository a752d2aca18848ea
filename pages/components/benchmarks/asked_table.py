"""How language models answered: position bias and missing answers."""

from collections.abc import Sequence

import streamlit as st

from curation.generation.run_report import listed
from pages.components.benchmarks.prompts_section import LABELS
from training.benchmarks.catalogue import all_benchmarks
from training.benchmarks.results.queries import Scored

_HELP = {
    "First chosen (%)": "Share of answers that choose the first position. Each text is shown in "
    "each position, so 50 of two positions, or 33 of three, means no position bias.",
    "Order-dependent (%)": "Share of questions whose chosen text changes with the order.",
    "Unanswered": "Items without a usable answer. They do not count as correct, and are counted "
    "separately from wrong answers.",
    "Problems": "Why prompts have no usable answer, with the number of prompts.",
    "Removed from answers": "What is no part of the answers, with the number of answers.",
}


def draw(rows: Sequence[Scored]) -> None:
    """One row per result of a prompted model; nothing without any."""
    asked = [row for row in rows if row.asked]
    if not asked:
        return
    titles = {entry.id: entry.title for entry in all_benchmarks()}
    st.header("Language models: order and missing answers", anchor=False)
    st.dataframe(
        [
            {
                "Model": row.title,
                "Benchmark": titles.get(row.benchmark, row.benchmark),
                "Prompt": _prompt(row),
                "First chosen (%)": _points(row.asked.get("first_share")),
                "Order-dependent (%)": _points(row.asked.get("changed_share")),
                "Unanswered": row.unanswered,
                "Unanswered (%)": _points(row.unanswered_share),
                "Problems": listed(row.asked.get("problems", {})),
                "Removed from answers": listed(row.asked.get("removed", {})),
            }
            for row in asked
        ],
        hide_index=True,
        key="bench-asked",
        placeholder="–",
        column_config={
            name: st.column_config.Column(help=help_text) for name, help_text in _HELP.items()
        },
    )


def _prompt(row: Scored) -> str:
    label = next((title for name, title in LABELS.items() if name == row.asked["prompt"]), "")
    version = row.asked["version"]
    return f"{label}, version {version}" if version else label


def _points(value: float | None) -> float | None:
    return None if value is None else round(value, 1)
