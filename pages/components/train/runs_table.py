"""Tables of finished runs: all of them, a few side by side, and one's metrics before and after."""

from collections.abc import Mapping, Sequence
from typing import Any

import pandas as pd
import streamlit as st

from db.models import Run
from pages.components.shared import formatting, links, tables
from pages.components.shared.charts import plot
from pages.components.shared.charts.palette import palette
from pages.components.shared.shell import open_project
from pages.components.train import training_runs
from training.evaluation.general_ability import RETRIEVAL, WHAT_IT_IS
from training.evaluation.held_out import COSINE, DRIFT, FAMILIES, QUESTIONS, RANKED, STS
from training.losses.families import Role
from training.recipe.presets import changes, nearest
from training.studies.comparison_table import (
    MOST,
    TrainingRow,
    alike,
    as_table,
    differing,
    figures,
    finished,
    in_words,
    settings_of,
    writers,
)

MOST_COMPARED = 8
"""Largest number of runs side by side."""

_FIGURES = {
    "Ranked": RANKED,
    "Questions": QUESTIONS,
    "Drift": DRIFT,
    "STS": STS,
    "Retrieval": RETRIEVAL,
}
"""The scores after training that the table shows. Few enough to be in view together."""

PRESET, FIRST = "the closest preset", "the first selected run"

_COMPARED, _AGAINST = "runs", "runs-against"


def show_runs() -> None:
    """The table, the choice, and the comparison."""
    rows = open_project.ask(finished)
    if not rows:
        links.no_results(
            "No training run has finished yet. Start one under Train.",
            section=training_runs.TRAIN,
            key=training_runs.SECTION,
        )
        return
    _overview(rows)
    _compare(rows)


def _overview(rows: Sequence[TrainingRow]) -> None:
    """Every run, newest first; a click on a header sorts."""
    with st.container(
        horizontal=True, vertical_alignment="center", horizontal_alignment="distribute"
    ):
        number = f"The newest {MOST:,}" if len(rows) == MOST else f"{len(rows):,}"
        st.text(f"{number} finished run{'' if len(rows) == 1 else 's'}.", width="content")
        tables.csv_button(
            lambda: as_table(rows),
            "hedgerow-runs",
            key="runs-csv",
            help="All runs, with every recipe key and every metric.",
        )
    st.dataframe(
        [_line(row) for row in rows],
        hide_index=True,
        key="runs-table",
        placeholder="–",
        column_config={
            "Run": st.column_config.LinkColumn(
                display_text=r"run=0*(\d+)",
                pinned=True,
                width=60,
                help="Opens its results in another tab.",
            ),
            "Recipe": st.column_config.TextColumn(
                width=260, help="The closest preset, and how the recipe differs from it."
            ),
            **{name: st.column_config.NumberColumn(format="%.3f") for name in _FIGURES},
            "Minutes": st.column_config.NumberColumn(format="%.1f"),
            "When": st.column_config.DatetimeColumn(format="YYYY-MM-DD HH:mm"),
        },
        height="auto" if len(rows) < 11 else 400,
    )
    st.caption(
        "Evaluated on the validation split of the release. Ranked: triples ranked correctly. "
        "Questions: SemAntoNeg-style questions answered correctly. Drift: change of the "
        f"cosines between unrelated sentences; lower is better. {WHAT_IT_IS} Choose runs below to "
        "see their scores before training, Figure 1, triples and steps."
    )


def _line(row: TrainingRow) -> dict[str, Any]:
    return {
        "Run": f"/train?step=Results&run={row.run:06d}",  # as a text, it sorts like a number
        "Recipe": _recipe(row),
        **{column: row.after.get(figure) for column, figure in _FIGURES.items()},
        "Release": row.release,
        "Study": row.study,
        "Minutes": row.minutes,
        "When": formatting.local(row.when).replace(tzinfo=None),
    }


def _recipe(row: TrainingRow) -> str:
    """The closest preset, and how the recipe differs from it."""
    preset = nearest([row.recipe])
    only = {"variants by": writers(row)} if row.providers else {}
    other = in_words(changes(row.recipe, preset) | only)
    return f"{preset.id}, but {other}" if other else preset.id


def _compare(rows: Sequence[TrainingRow]) -> None:
    """The chosen runs side by side: their differences and results."""
    st.header("Side by side", anchor=False)
    by_run = {row.run: row for row in rows}
    chosen = st.multiselect(
        "Runs",
        list(by_run),
        default=list(by_run)[:2],
        format_func=lambda run: f"Run {run}",
        key=f"{_COMPARED}-{rows[0].run}",
        max_selections=MOST_COMPARED,
        placeholder="Choose runs to compare",
    )
    if not chosen:
        st.text("Choose the runs to compare.")
        return
    found = [by_run[run] for run in chosen]
    against = st.segmented_control(
        "Highlight differences from",
        [PRESET, FIRST],
        default=PRESET,
        required=True,
        key=_AGAINST,
    )
    _recipes(found, against)
    _figures(found)


def _recipes(rows: Sequence[TrainingRow], against: str) -> None:
    preset = nearest([row.recipe for row in rows])
    to_preset = against == PRESET
    reference = preset.recipe.model_dump(mode="json") if to_preset else settings_of(rows[0])
    found = differing(rows, reference)
    common = alike(rows, preset)
    if not found:
        st.text("Their recipes, releases and seeds are equal.")
    else:
        names = [f"Run {row.run}" for row in rows]
        lines = [
            {"Key": line.key}
            | ({f"“{preset.id}” preset": line.reference} if to_preset else {})
            | {
                name: f"≠ {value}" if differs else value
                for name, value, differs in zip(names, line.values, line.differs, strict=True)
            }
            for line in found
        ]
        st.dataframe(_marked(lines), hide_index=True, key="runs-recipes")
    if common:
        st.text(
            f"The same in all runs, but different from the “{preset.id}” preset: "
            f"{in_words(common)}."
        )


def _marked(lines: list[dict[str, str]]) -> Any:
    """The table with differing cells in colour, and a sign that repeats the colour."""
    colour = palette(dark=plot.is_dark())
    mark = f"background-color: {colour.add}; color: {colour.ink}"
    return pd.DataFrame(lines).style.map(lambda value: mark if str(value).startswith("≠ ") else "")


def _figures(rows: Sequence[TrainingRow]) -> None:
    columns = [f"Run {row.run}" for row in rows]
    every = [figures(row) for row in rows]
    names = list(dict.fromkeys(name for of_run in every for name in of_run))
    st.dataframe(
        [
            {"Metric": name}
            | {run: of_run.get(name) for run, of_run in zip(columns, every, strict=True)}
            for name in names
        ],
        hide_index=True,
        key="runs-figures",
        placeholder="–",
        height="content",
        column_config=dict.fromkeys(columns, st.column_config.NumberColumn(format="%.3f")),
    )
    effort: dict[str, list[float | None]] = {
        "triples": [float(row.triples) for row in rows],
        "steps": [float(row.steps) for row in rows],
        "minutes": [None if row.minutes is None else round(row.minutes, 1) for row in rows],
    }
    st.dataframe(
        [
            {"Training": name} | dict(zip(columns, values, strict=True))
            for name, values in effort.items()
        ],
        hide_index=True,
        key="runs-effort",
        placeholder="–",
        column_config=tables.counts(columns),
    )


# -- figures table --------------------------------------------------------------------------------


SHARE, COSINES = "{:.1%}", "{:.3f}"

FIGURES: Mapping[str, tuple[str, str, str, str]] = {
    RANKED: (
        "Triples ranked correctly",
        SHARE,
        "triples",
        "The positive is closer to the anchor than the negative.",
    ),
    FAMILIES: (
        "Anchors ranked correctly",
        SHARE,
        "anchors",
        "All positives of the anchor are closer to it than all its negatives.",
    ),
    QUESTIONS: (
        "Questions answered correctly",
        SHARE,
        "questions",
        "As in SemAntoNeg: of three candidates, the paraphrase is closest. Chance: 33%.",
    ),
    COSINE[Role.NEGATION]: (
        "Mean cosine, negations",
        COSINES,
        "variants",
        "Should fall: they say the opposite.",
    ),
    COSINE[Role.UNSUPPORTED]: (
        "Mean cosine, unsupported",
        COSINES,
        "variants",
        "Should be between hedges and negations: they leave the claim open.",
    ),
    COSINE[Role.HEDGE]: (
        "Mean cosine, hedges",
        COSINES,
        "variants",
        "Should not change: they make the same claim with less certainty.",
    ),
    COSINE[Role.PARAPHRASE]: (
        "Mean cosine, paraphrases",
        COSINES,
        "variants",
        "Should rise: they say the same thing.",
    ),
    STS: (
        "STS, Spearman",
        COSINES,
        "pairs",
        "General ability: correlation of cosines with human scores. Should not change.",
    ),
    RETRIEVAL: ("Retrieval, MRR@10", COSINES, "questions", f"Should not change. {WHAT_IT_IS}"),
    DRIFT: (
        "Drift",
        COSINES,
        "sentences",
        "Root-mean-square change in the cosines between unrelated sentences. 0: nothing "
        "was forgotten.",
    ),
}
"""Name of a metric → its label, its format, what it counts, and what it means."""


def show_figures(run: Run) -> None:
    """The table; runs of older versions may lack some or all metrics."""
    st.header("On the validation split", anchor=False)
    held_out = run.result.get("held_out") or {}
    before, after = held_out.get("before") or {}, held_out.get("after") or {}
    rows = _rows(before, after, held_out.get("of") or {})
    if not rows:
        st.text("This run has no evaluation on held-out anchors. The release may have none.")
        return
    general = " General ability is measured on other texts." if RETRIEVAL in after else ""
    st.text("The anchors of the release's validation split were not used for training." + general)
    st.table(rows, hide_index=True)


def _rows(
    before: Mapping[str, float], after: Mapping[str, float], of: Mapping[str, int]
) -> list[dict[str, str]]:
    return [
        {
            "Metric": name,
            "Before": form.format(before[key]),
            "After": form.format(after[key]),
            "Items": f"{of[key]:,} {things}" if key in of else "",
            "What it means": meaning,
        }
        for key, (name, form, things, meaning) in FIGURES.items()
        if key in before and key in after
    ]
