"""The Items section: one or two models, their errors, and the errors that models share."""

from collections.abc import Sequence
from typing import Any

import streamlit as st

from curation.formatting import counted
from db.errors import HedgerowError
from pages.components.benchmarks import error_outcomes, error_table, scores_section, single_item
from pages.components.benchmarks.names import BREAKDOWNS
from pages.components.shared import tables
from pages.components.shared.shell import error_messages, open_project
from training.benchmarks.catalogue import benchmark
from training.benchmarks.definition import Benchmark
from training.benchmarks.results.common_errors import CommonErrors, common_errors
from training.benchmarks.results.common_errors import error_table as common_error_table
from training.benchmarks.results.queries import (
    NEGATION,
    Scored,
    bases,
    by_column,
    full_result,
    newest,
    prompting_description,
    unanswered_description,
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
    error_outcomes.show(kind, [*chosen, *others][:MOST_MODELS], chosen=sides)
    if kind.kind == "share":
        shared_errors([*chosen, *others])
    error_table.draw(kind, sides, key="-".join(str(row.id) for row in chosen))


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


def _sides(rows: Sequence[Scored]) -> list[error_outcomes.BenchmarkSide]:
    """The results with their items; reports missing or damaged ones and leaves them out."""
    found = []
    for row in rows:
        try:
            result = full_result(open_project.settings().data_folder, row)
        except HedgerowError as error:
            error_messages.show(f"{row.title}: {error}", key=f"bench-result-{row.id}")
            continue
        found.append(error_outcomes.BenchmarkSide(row, result))
    return found


def _in_words(kind: type[Benchmark[Any]], row: Scored) -> str:
    """The benchmark's source, and how ties and missing answers count."""
    paper = f" {kind.paper[0].upper()}{kind.paper[1:]}." if kind.paper else ""
    parts = [f"{kind.measures}{paper} {counted(row.n, 'item')} of {row.data}."]
    if row.ties:
        parts.append(f"{row.title} has {row.ties:,} ties, which count as wrong.")
    parts += [prompting_description(row.asked), unanswered_description(row)]
    return " ".join(filter(None, parts))


# -- Shared errors: the items that all models, or most of them, get wrong -------------------------


MOST_SHARING = 12
"""Models that are chosen by default."""

SHOWN = 200
"""Most items in the list; the file has all."""


def shared_errors(rows: Sequence[Scored]) -> None:
    """The models, the smallest number of wrong ones, the items, and the parts they belong to.

    Args:
        rows: all results on the same items of a benchmark with right and wrong items.
    """
    if len(rows) < 2:
        return
    st.header("Shared errors", anchor=False)
    by_title = {row.title: row for row in rows}
    column = rows[0].column
    with st.container(horizontal=True, vertical_alignment="bottom", key="bench-common"):
        chosen = st.multiselect(
            "Models",
            list(by_title),
            default=list(by_title)[:MOST_SHARING],
            key=f"bench-common-models-{column}-{len(rows)}",
            placeholder="Choose at least two models",
        )
        if len(chosen) < 2:
            st.text("Choose at least two models.")
            return
        least = st.number_input(
            "Wrong in at least",
            1,
            len(chosen),
            len(chosen),
            key=f"bench-common-least-{column}-{len(chosen)}",
            help="The smallest number of these models that get the item wrong.",
            width=170,
        )
    try:
        with st.spinner("Reading the results."):
            folder = open_project.settings().data_folder
            results = {title: full_result(folder, by_title[title]) for title in chosen}
        found = common_errors(results, least=int(least))
    except HedgerowError as error:
        error_messages.show(str(error), key="bench-common")
        return
    _show(found)


def _show(found: CommonErrors) -> None:
    number = counted(len(found.errors), "item")
    shown = f"; the list shows the first {SHOWN}" if len(found.errors) > SHOWN else ""
    with st.container(
        horizontal=True, vertical_alignment="center", horizontal_alignment="distribute"
    ):
        st.text(
            f"{number} of {found.items:,} wrong in at least {found.least} of {len(found.models)} "
            f"models{shown}.",
            width="content",
        )
        tables.csv_button(
            lambda: common_error_table(found),
            "hedgerow-common-errors",
            key="bench-common-csv",
            disabled=not found.errors,
        )
    if not found.errors:
        return
    st.dataframe(
        [
            {
                "Item": error.row.key,
                "Models wrong": len(error.wrong),
                **{
                    single_item.LABELS.get(name, name): text
                    for name, text in error.row.texts.items()
                },
            }
            for error in found.errors[:SHOWN]
        ],
        hide_index=True,
        key="bench-common-items",
        height="auto" if len(found.errors) < 11 else 400,
    )
    parts = [part for part in found.parts if part.breakdown in BREAKDOWNS]
    if parts:
        st.dataframe(
            [{"Part": part.part, "Errors": part.errors, "Items": part.items} for part in parts],
            hide_index=True,
            key="bench-common-parts",
            height="auto" if len(parts) < 9 else 320,
        )
        st.caption("How many items of each part are among these errors.")
