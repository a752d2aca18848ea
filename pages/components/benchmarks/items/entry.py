"""The Items section: a benchmark, one or two models, their errors, and single items."""

from collections.abc import Sequence
from typing import Any

import streamlit as st

from curation.formatting import counted
from db.errors import HedgerowError
from pages.components.benchmarks import scores_section
from pages.components.benchmarks.items import error_outcomes, error_table, shared_errors
from pages.components.benchmarks.items.error_outcomes import BenchmarkSide, ResultSummary
from pages.components.shared.shell import error_messages, open_project
from training.benchmarks.catalogue import benchmark
from training.benchmarks.definition import Benchmark
from training.benchmarks.results.prompting_text import prompting_description, unanswered_description
from training.benchmarks.results.queries import (
    NEGATION,
    Scored,
    bases,
    by_column,
    full_result,
    newest,
)
from training.benchmarks.results.score_file import titles
from training.benchmarks.results.score_table import columns
from training.benchmarks.runs.measured_models import BASELINES

MOST_MODELS = 12
"""Most models in the chart of outcomes: the chosen ones, then the newest."""

OF, FIRST, SECOND = "of", "a", "b"
"""Names in the URL."""


def draw() -> None:
    """Everything about one benchmark."""
    rows = [row for row in open_project.ask(newest, kind=NEGATION) if row.file]
    rows.sort(key=lambda row: row.architecture in BASELINES)  # baselines come last
    if not rows:
        scores_section.nothing()
        return
    chosen = _choose(rows)
    if not chosen:
        return
    try:
        kind = benchmark(chosen[0].benchmark)
    except HedgerowError as error:  # its plug-in is not installed
        error_messages.show(str(error), key="bench-gone")
        return
    others = [row for row in by_column(rows, chosen[0].column).values() if row not in chosen]
    sides = _sides(chosen)
    if not sides:
        return
    st.text(_in_words(kind, chosen[0]))
    every = [_summary(row) for row in [*chosen, *others][:MOST_MODELS]]
    error_outcomes.show(kind, every, chosen=sides)
    if kind.kind == "share":
        shared_errors.draw([*chosen, *others])
    error_table.draw(kind, sides, key="-".join(str(row.id) for row in chosen))


def _summary(row: Scored) -> ResultSummary:
    return ResultSummary(row.title, row.summary["outcomes"], row.summary["figures"])


def _choose(rows: Sequence[Scored]) -> list[Scored]:
    """The results of one or two models in a benchmark."""
    names = {title: key for key, title in titles(columns(rows)).items()}
    names = {title: key for title, key in names.items() if by_column(rows, key)}
    with st.container(horizontal=True, vertical_alignment="bottom", key="bench-look"):
        of = st.selectbox("Benchmark", list(names), key=OF, bind="query-params")
        models = {row.title: row for row in by_column(rows, names[of]).values()}
        first = st.selectbox("Model A", list(models), key=FIRST, bind="query-params")
        others = [name for name in models if name != first]
        second = st.selectbox(
            "Model B",
            others,
            index=_base(rows, models[first], others),
            key=SECOND,
            bind="query-params",
            placeholder="None",
        )
    return [models[name] for name in (first, second) if name in models]


def _base(rows: Sequence[Scored], row: Scored, others: Sequence[str]) -> int | None:
    """The index of a trained model's base model; None without one."""
    key = open_project.ask(bases, open_project.settings().data_folder, rows).get(row.model_key)
    title = next((other.title for other in rows if other.model_key == key), "")
    return others.index(title) if title in others else None


def _sides(rows: Sequence[Scored]) -> list[BenchmarkSide]:
    """The results with their items; reports missing or damaged ones and leaves them out."""
    found = []
    for row in rows:
        try:
            result = full_result(open_project.settings().data_folder, row)
        except HedgerowError as error:
            error_messages.show(f"{row.title}: {error}", key=f"bench-result-{row.id}")
            continue
        side = BenchmarkSide(row.title, result, row.model, row.architecture, row.prompts)
        found.append(side)
    return found


def _in_words(kind: type[Benchmark[Any]], row: Scored) -> str:
    """The benchmark's source, and how ties and missing answers count."""
    paper = f" {kind.paper[0].upper()}{kind.paper[1:]}." if kind.paper else ""
    parts = [f"{kind.measures}{paper} {counted(row.n, 'item')} of {row.data}."]
    if row.ties:
        parts.append(f"{row.title} has {row.ties:,} ties, which count as wrong.")
    parts += [prompting_description(row.asked), unanswered_description(row)]
    return " ".join(filter(None, parts))
