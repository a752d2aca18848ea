"""The results of a study: a chart like the paper's, and a table of its runs."""

from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from typing import Any

import streamlit as st

from db.models import Run, RunState
from db.runs import UNFINISHED
from pages.components.shared import page_runs, scores, tables
from pages.components.shared.charts import plot
from pages.components.shared.shell import open_project
from pages.components.train import study_charts
from training.benchmarks.results.queries import of_run
from training.benchmarks.results.score_table import columns, lines
from training.evaluation.general_ability import RETRIEVAL, WHAT_IT_IS
from training.evaluation.held_out import DRIFT
from training.finetune.curves import GENERAL, SHARES
from training.studies.designs import Study
from training.studies.members import Trial, trials
from training.studies.outcomes import (
    NAMES,
    SHORT,
    TABLE_2,
    Against,
    FigureRow,
    differences,
    figure_rows,
    published_rows,
    trade_off,
)
from training.studies.study_run import benchmark_run, trained_names

RELATIVE, POINTS = "percent", "points"

_OF_FIGURE_2 = (
    "The paper tried 10,000 to 200,000 triples. About 150,000 balanced negation and general "
    "ability best."
)


def draw(run: Run) -> None:
    """The chart and the table of a study's finished runs."""
    found = open_project.ask(trials, run)
    rows = figure_rows(found)
    study = Study(run.parameters["study"])
    if not rows:
        st.text("No run of this study has finished its evaluation yet.")
    elif study is Study.TRIPLES:
        _growth(rows, run)
    else:
        _differences(study, rows, arms=[trial.label for trial in found], run=run)
    _table(run, found)
    if rows:
        tables.csv_button(
            lambda: (FigureRow._fields, [tuple(row) for row in rows]),
            f"hedgerow-study-{run.id}",
            key="study-csv",
            help="Every metric of every run, one per row.",
        )
    _benchmarks(study, run, found)
    for sentence in run.parameters["told"]:
        st.text(sentence)
    _rests_on(rows)


def _differences(study: Study, rows: Sequence[FigureRow], *, arms: Sequence[str], run: Run) -> None:
    with st.container(horizontal=True):
        against = st.segmented_control(
            "Baseline",
            list(Against),
            format_func=lambda to: f"the {to}",
            default=Against.BASE if study is Study.DATA else Against.FULL,
            required=True,
            key=f"study-against-{study}",
        )
        unit = st.segmented_control(
            "Unit",
            [POINTS, RELATIVE],
            default=POINTS,
            required=True,
            key="study-unit",
            help="Points are absolute differences times 100. Percentages of the baseline, as in "
            "the paper's Figure 3, say little when the baseline is near 0.",
        )
    relative = unit == RELATIVE
    shown = [*rows, *published_rows(study)]
    found = differences(shown, against=against, full=arms[0], relative=relative)
    if not any(not row.published for row in found):
        st.text(f"There is nothing to compare with the {against} yet.")
        return
    plot.chart_to_save(
        partial(
            study_charts.differences, found, arms=arms, relative=relative, against=str(against)
        ),
        name=f"study-{run.id}",
        alt_text=f"Difference from the {against} in each metric on the validation split, by run",
    )
    notes = ["Higher is better, except for drift."]
    if relative and against is Against.BASE:
        notes.append("Drift has no relative difference from the base encoder, whose drift is 0.")
    if any(row.published for row in found):
        notes.append(
            "Hollow bars: the paper's results for all-mpnet-base-v2, with other training data and "
            "tests. Compare the direction, not the size."
        )
    st.caption(" ".join(notes))


def _growth(rows: Sequence[FigureRow], run: Run) -> None:
    there = {row.figure for row in rows}
    plot.chart_to_save(
        partial(study_charts.growth, rows),
        name=f"study-{run.id}-growth",
        alt_text="Each metric on the validation split, by number of training triples",
    )
    st.caption("Dashed line: the base encoder. " + _OF_FIGURE_2)
    negation = st.segmented_control(
        "Negation metric",
        [name for name in SHARES if name in there],
        format_func=lambda name: SHARES[name],
        default=next(n for n in SHARES if n in there),
        required=True,
        key="study-negation",
    )
    general = next((name for name in reversed(GENERAL) if name in there), "")
    points = trade_off(rows, negation=negation, general=general)
    if len(points) < 2:
        return
    called = "1 − drift of unrelated sentences" if general == DRIFT else GENERAL[general]
    plot.chart_to_save(
        partial(study_charts.trade_off, points, negation=SHARES[negation], general=called),
        name=f"study-{run.id}-trade-off",
        alt_text="Negation against general ability as the number of triples grows",
    )
    st.caption(
        "Each point is an encoder, labelled with its number of triples. The upper right is best."
    )


def _table(run: Run, found: Sequence[Trial]) -> None:
    """The runs, with the base encoder above them."""
    rows = figure_rows(found)
    values = {(row.run, row.figure): row.value for row in rows}
    there = [figure for figure in NAMES if any(row.figure == figure for row in rows)]
    before = {row.figure: row.before for row in rows}
    base = {
        "Condition": "base encoder",
        "Results": None,
        "State": None,
        "Triples": None,
        "Steps": None,
        "Minutes": None,
    }
    table: list[dict[str, Any]] = [
        {
            "Condition": trial.label,
            "Results": f"/train?step=Results&run={trial.run.id}",
            "State": _state(run, trial.run),
            "Triples": trial.run.result.get("triples"),
            "Steps": trial.run.result.get("steps"),
            "Minutes": trial.run.result["seconds"] / 60 if "seconds" in trial.run.result else None,
            **{SHORT[figure]: values.get((trial.run.id, figure)) for figure in there},
        }
        for trial in found
    ]
    if rows:
        table.insert(0, base | {SHORT[figure]: before[figure] for figure in there})
    st.dataframe(
        table,
        hide_index=True,
        key="study-table",
        placeholder="–",
        column_config={
            "Results": st.column_config.LinkColumn(
                "Run",
                display_text=r"run=(\d+)",
                width=50,
                help="Opens the results of the run in another tab.",
            ),
            **tables.counts(("Triples", "Steps")),
            "Minutes": st.column_config.NumberColumn(format="%.1f"),
            **{
                SHORT[figure]: st.column_config.NumberColumn(format="%.3f", help=NAMES[figure])
                for figure in there
            },
        },
    )
    for trial in found:
        if trial.run.state == RunState.FAILED:
            st.text(f"Run {trial.run.id} ({trial.label}) failed: {trial.run.message}")


def _benchmarks(study: Study, run: Run, found: Sequence[Trial]) -> None:
    """Benchmark scores, and below them the paper's for the same comparison."""
    number = benchmark_run(run)
    rows = [] if number is None else open_project.ask(of_run, number)
    if not rows:
        return
    st.header("Benchmarks", anchor=False)
    arms = open_project.ask(trained_names, found)
    shown = columns(rows)
    made = [
        replace(line, model=arms.get(line.model, line.model))
        for line in lines(rows, trained_from={})
        if not line.published or (study is Study.DATA and line.source == TABLE_2)
    ]
    scores.score_table(made, shown, name=f"hedgerow-study-{run.id}-benchmarks")


def _state(study: Run, run: Run) -> str:
    """The state of a run; after its study stopped, a run is no longer waiting."""
    if run.state == RunState.QUEUED and study.state not in UNFINISHED:
        return "not started"
    return page_runs.STATES[run.state]


def _rests_on(rows: Sequence[FigureRow]) -> None:
    """The number of items behind the metrics; the validation split is the same for all runs."""
    counts = {NAMES[row.figure]: row.n for row in rows if row.n}
    if counts:
        counted_anchors = ", ".join(f"{name}: n = {count:,}" for name, count in counts.items())
        retrieval = f" {WHAT_IT_IS}" if NAMES[RETRIEVAL] in counts else ""
        st.caption(
            "Evaluated on the validation split of the release. "
            f"{counted_anchors[0].upper()}{counted_anchors[1:]}.{retrieval}"
        )
