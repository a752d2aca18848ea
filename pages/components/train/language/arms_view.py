"""Comparison of the arms: all, only negation, only hedging (the paper's Table 3)."""

import streamlit as st

from db.models import Run, RunState
from db.runs import UNFINISHED
from pages.components.shared.formatting import clock
from pages.components.shared.runs import background, no_results, progress_view
from pages.components.shared.shell import error_messages, open_project
from pages.components.train.language import section_choice
from training.llm.card import shown
from training.llm.figures import HELD_OUT_LOSS, SHARES, SHORT
from training.llm.study import ArmRow, arm_rows, list_language_studies
from training.models.display_names import short_name
from training.studies.members import trials

_PROBLEM = "llm_arms_problem"

_IDEA = (
    "What does each half of the data teach? A study finetunes the same model on all of the "
    "paper's types, on negation only, and on hedging only. All three models answer the same "
    "validation questions, about negations and hedges of any type."
)


def show() -> None:
    """The study in progress, and the results of the chosen one."""
    st.text(_IDEA)
    runs = open_project.ask(list_language_studies)
    for run in runs:
        if run.state in UNFINISHED:
            progress_view.follow(run, title=_title(run), more=_states)
    error_messages.show_kept(_PROBLEM)
    if not runs:
        no_results.box(
            "There is no study yet. Under Train, choose a model and press “Run the ablation”.",
            section=section_choice.TRAIN,
            key=section_choice.SECTION,
        )
        return
    by_id = {run.id: run for run in runs}
    chosen = by_id[
        st.selectbox(
            "Study",
            list(by_id),
            format_func=lambda key: _named(by_id[key]),
            key=f"llm-study-{max(by_id)}",  # a new widget when the choices change
        )
    ]
    if chosen.state not in (*UNFINISHED, RunState.DONE):
        progress_view.stopped(chosen, again=lambda: _again(chosen), label="Continue")
    _table(chosen)


def _title(run: Run) -> str:
    base = short_name(run.parameters["base"])
    return f"ablation of {base} on release {run.parameters['release']}"


def _named(run: Run) -> str:
    when = f"{clock.local(run.created_at):%Y-%m-%d %H:%M}"
    return f"Run {run.id}: {_title(run)}, {when}, {progress_view.STATES[run.state]}"


def _states(run: Run) -> None:
    """The state of each run of a study in progress."""
    st.text(
        "\n".join(
            f"{trial.label}: {progress_view.STATES[trial.run.state]} (run {trial.run.id})"
            for trial in open_project.ask(trials, run)
        )
    )


def _table(run: Run) -> None:
    rows = arm_rows(open_project.ask(trials, run))
    columns = {row.label: _column(row) for row in rows}
    names = list(dict.fromkeys(name for column in columns.values() for name in column))
    table: list[dict[str, str | None]] = [
        {"": name, **{label: column[name] for label, column in columns.items()}} for name in names
    ]
    st.dataframe(
        table,
        hide_index=True,
        key="llm-arms",
        placeholder="–",
    )
    st.caption(
        "Values before → after training. The first three rows are the shares of validation "
        "questions answered correctly: all, those about negations (Yes), and those about hedges "
        "and paraphrases (No). The loss is averaged over the answers to all of them."
    )
    for sentence in run.parameters["told"]:
        st.text(sentence)


def _column(row: ArmRow) -> dict[str, str | None]:
    """The results of an arm. Arms are columns, so that the table fits a narrow window."""
    return {
        **{SHORT[name]: _change(row, name) for name in (*SHARES, HELD_OUT_LOSS)},
        "Pairs": None if row.pairs is None else f"{row.pairs:,}",
        "Steps": None if row.steps is None else f"{row.steps:,}",
        "Run": str(row.run.id),
        "State": progress_view.STATES[row.run.state],
    }


def _change(row: ArmRow, name: str) -> str | None:
    """A metric before and after training."""
    if name not in row.after:
        return None
    before, after = shown(name, row.before[name]), shown(name, row.after[name])
    return f"{before.removesuffix('%')} → {after}"


def _again(run: Run) -> None:
    """Continue a study that stopped; its finished runs are kept."""
    with error_messages.kept_for(_PROBLEM):
        background.start_again(run)
