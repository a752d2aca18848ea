"""Results of finetuning language models: one run in full, and a table of all."""

from collections.abc import Sequence
from typing import Any

import streamlit as st

from curation.formatting import counted
from db.models import Run, RunState
from db.runs import UNFINISHED
from pages.components.shared.formatting import clock
from pages.components.shared.formatting.decimals import percentages
from pages.components.shared.runs import no_results, progress_view
from pages.components.shared.shell import open_project
from pages.components.train.language import curves_view, section_choice, train_view
from pages.components.train.language.arms import LABELS
from pages.components.train.section_choice import choose_run
from training.llm.card import shown
from training.llm.figures import NAMES, RIGHT
from training.llm.request import list_language_finetunings, request_of
from training.models.display_names import short_name


def show() -> None:
    """The chosen run, then all of them."""
    runs = open_project.ask(list_language_finetunings)
    ended = [run for run in runs if run.state not in UNFINISHED]
    if not ended:
        no_results.box(
            "No language model has been finetuned yet. Start a run under Train.",
            section=section_choice.TRAIN,
            key=section_choice.SECTION,
        )
        return
    run = choose_run({run.id: run for run in ended}, named=section_choice.named)
    if run.state == RunState.DONE:
        _outcome(run)
    else:
        train_view.stopped(run)
    st.header("Training curves", anchor=False)
    curves_view.show(run)
    _model(run)
    progress_view.log(run)
    _all([run for run in ended if run.state == RunState.DONE])


def _outcome(run: Run) -> None:
    result, pairs = run.result, run.result["pairs"]
    left = (
        f" (left out as too long: {counted(pairs['too_long'], 'pair')})"
        if pairs["too_long"]
        else ""
    )
    st.text(
        f"Finetuned on {counted(pairs['train'], 'question pair')}{left} of release "
        f"{result['release']} in {counted(result['steps'], 'step')}. With evaluation, this took "
        f"{progress_view.duration(result['seconds'])} on {result['device']}. "
        f"{train_view.outcome(run)}"
        if result["after"]
        else f"Finetuned on {counted(pairs['train'], 'question pair')}. {train_view.outcome(run)}"
    )
    if result["after"]:
        st.dataframe(
            [
                {
                    "Metric": title[0].upper() + title[1:],
                    "Before": shown(name, result["before"][name]),
                    "After": shown(name, result["after"][name]),
                }
                for name, title in NAMES.items()
                if name in result["after"]
            ],
            hide_index=True,
            key="llm-figures",
        )


def _model(run: Run) -> None:
    """The adapter's folder and recipe."""
    folder = open_project.settings().data_folder
    if run.state == RunState.DONE:
        st.header("The model", anchor=False)
        st.text("Adapter:")
        st.code(str(folder / run.result["model"]), language=None)
        if run.result["merged"]:
            st.text("Merged model:")
            st.code(str(folder / run.result["merged"]), language=None)
    with st.expander("Recipe", icon=":material/tune:"):
        st.code(request_of(run).recipe.to_yaml(), language=None)


def _all(done: Sequence[Run]) -> None:
    """Every finished run, newest first."""
    if len(done) < 2:
        return
    st.header("All runs", anchor=False)
    st.dataframe(
        percentages([_line(run) for run in done], "Correct before", "Correct after"),
        hide_index=True,
        key="llm-runs",
        column_config={"When": st.column_config.DatetimeColumn(format="YYYY-MM-DD HH:mm")},
    )


def _line(run: Run) -> dict[str, Any]:
    request, result = request_of(run), run.result
    return {
        "Run": run.id,
        "When": clock.local(run.created_at).replace(tzinfo=None),
        "Base": short_name(request.base),
        "Release": request.release,
        "Questions about": LABELS[request.recipe.arm],
        "Pairs": result["pairs"]["train"],
        "Epochs": request.recipe.epochs,
        "Steps": result["steps"],
        "Correct before": result["before"].get(RIGHT),
        "Correct after": result["after"].get(RIGHT),
        "Minutes": round(result["seconds"] / 60, 1),
    }
