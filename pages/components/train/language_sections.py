"""The sections for language models: the next run, the results, and the comparison of arms."""

from functools import partial
from typing import Any

import streamlit as st

from curation.formatting import counted, duration
from curation.release.freezing import release_numbers
from db.models import Run, RunState
from db.runs import STOPPED, UNFINISHED
from pages.components.shared import formatting, links, page_runs, tables
from pages.components.shared.shell import frame, open_project
from pages.components.train import curves_view, language_form, language_provider, training_runs
from training.llm.card import FIGURE_NAMES, HELD_OUT_LOSS, RIGHT, SHARES, SHORT_NAMES, shown
from training.llm.request import request_of
from training.models.display_names import short_name
from training.models.finetuned import list_language_finetunings
from training.studies.language_study import ArmRow, arm_rows, list_language_studies
from training.studies.members import trials


def language_sections() -> str:
    """Draw the chosen section and return its name."""
    section = frame.section(SECTIONS, key=SECTION)
    {RESULTS: _run_results, ARMS: _ablation, PROVIDER: language_provider.show}.get(
        section, _next_run
    )()
    return section


# -- The names of the sections for language models, and links to the results of a run -------------


SECTION = "part"
"""Key of the section choice, and its name in the URL."""

TRAIN, RESULTS, ARMS, PROVIDER = SECTIONS = ("Train", "Results", "Ablation", "Provider")


def title(run: Run) -> str:
    """The base model, the release and the arm of a run."""
    request = request_of(run)
    about = language_form.ARM_LABELS[request.recipe.arm]
    return f"{short_name(request.base)} on release {request.release}, {about}"


# -- The next run for a language model, the runs in progress, and the latest one ------------------


def _next_run() -> None:
    """Draw the section."""
    st.text(
        "Hedgerow turns a release into questions: do two sentences have opposite meanings? The "
        "answer is Yes for a sentence and its negation, and No for a sentence and its hedge. A "
        "causal language model learns the answers with LoRA, as in section 5.2 of the paper."
    )
    runs = open_project.ask(list_language_finetunings)
    studies = [run for run in open_project.ask(list_language_studies) if run.state in UNFINISHED]
    active = [
        run
        for run in reversed(runs)
        if run.state == RunState.RUNNING or (run.state in UNFINISHED and not run.group)
    ]
    for study in studies:
        st.text(f"Run {study.id} is an ablation. Its training runs take turns with others.")
    for run in active:
        page_runs.follow(run, title=title(run), more=partial(curves_view.language, live=True))
    if not active and runs and runs[0].state not in UNFINISHED:
        _ended(runs[0])
    if numbers := open_project.ask(release_numbers):
        language_form.box(numbers, busy=bool(active or studies))
    else:
        links.no_release("The questions are made from a release, but there is none yet.")


def _ended(run: Run) -> None:
    """The outcome of the newest run, with a button to its results or to continue it."""
    if run.state in STOPPED and not run.group:
        _stopped(run)
    if run.state != RunState.DONE:
        return
    with st.container(horizontal=True, vertical_alignment="center", border=True, key="llm-ended"):
        st.text(f"Run {run.id} is done. {outcome(run)}", width="stretch")
        st.button(
            "Show results",
            key=f"llm-show-{run.id}",
            on_click=training_runs.show_run,
            args=(run.id, SECTION, RESULTS),
        )


def outcome(run: Run) -> str:
    """How many questions a finished run answers correctly."""
    before, after = run.result["before"], run.result["after"]
    if not after:
        return "It was not evaluated, because its release has no validation split."
    return (
        f"The model answers {after['right']:.1%} of the validation questions correctly; its base "
        f"model answers {before['right']:.1%}."
    )


def _stopped(run: Run) -> None:
    training_runs.stopped(run, key=SECTION, section=TRAIN, alone=not run.group)


# -- Results of finetuning language models: one run in full, and a table of all -------------------


def _run_results() -> None:
    """The chosen run, then all of them."""
    runs = open_project.ask(list_language_finetunings)
    ended = [run for run in runs if run.state not in UNFINISHED]
    if not ended:
        links.no_results(
            "No language model has been finetuned yet. Start a run under Train.",
            section=TRAIN,
            key=SECTION,
        )
        return
    run = training_runs.choose_run({run.id: run for run in ended}, title=title)
    if run.state == RunState.DONE:
        _outcome(run)
    else:
        _stopped(run)
    st.header("Training curves", anchor=False)
    curves_view.language(run)
    _model(run)
    page_runs.log(run)
    done = [run for run in ended if run.state == RunState.DONE]
    if len(done) < 2:
        return
    st.header("All runs", anchor=False)
    st.dataframe(
        tables.percentages([_line(run) for run in done], "Correct before", "Correct after"),
        hide_index=True,
        key="llm-runs",
        column_config={"When": st.column_config.DatetimeColumn(format="YYYY-MM-DD HH:mm")},
    )


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
        f"{duration(result['seconds'])} on {result['device']}. "
        f"{outcome(run)}"
        if result["after"]
        else f"Finetuned on {counted(pairs['train'], 'question pair')}. {outcome(run)}"
    )
    if result["after"]:
        st.dataframe(
            [
                {
                    "Metric": title[0].upper() + title[1:],
                    "Before": shown(name, result["before"][name]),
                    "After": shown(name, result["after"][name]),
                }
                for name, title in FIGURE_NAMES.items()
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


def _line(run: Run) -> dict[str, Any]:
    request, result = request_of(run), run.result
    return {
        "Run": run.id,
        "When": formatting.local(run.created_at).replace(tzinfo=None),
        "Base": short_name(request.base),
        "Release": request.release,
        "Questions about": language_form.ARM_LABELS[request.recipe.arm],
        "Pairs": result["pairs"]["train"],
        "Epochs": request.recipe.epochs,
        "Steps": result["steps"],
        "Correct before": result["before"].get(RIGHT),
        "Correct after": result["after"].get(RIGHT),
        "Minutes": round(result["seconds"] / 60, 1),
    }


# -- Comparison of the arms: all, only negation, only hedging (the paper's Table 3) ---------------


def _ablation() -> None:
    """The study in progress, and the results of the chosen one."""
    st.text(
        "What does each half of the data teach? A study finetunes the same model on all of the "
        "paper's types, on negation only, and on hedging only. All three models answer the same "
        "validation questions, about negations and hedges of any type."
    )
    runs = open_project.ask(list_language_studies)
    for run in runs:
        if run.state in UNFINISHED:
            page_runs.follow(run, title=_title(run), more=training_runs.states)
    if not runs:
        links.no_results(
            "There is no study yet. Under Train, choose a model and press “Run the ablation”.",
            section=TRAIN,
            key=SECTION,
        )
        return
    chosen = training_runs.choose_among("Study", runs, _title, key="llm-study")
    if chosen.state not in (*UNFINISHED, RunState.DONE):
        page_runs.stopped(chosen, again=partial(page_runs.start_again, chosen), label="Continue")
    _table(chosen)


def _title(run: Run) -> str:
    base = short_name(run.parameters["base"])
    return f"ablation of {base} on release {run.parameters['release']}"


def _table(run: Run) -> None:
    rows = arm_rows(open_project.ask(trials, run))
    columns: dict[str, dict[str, Any]] = {
        row.label: {
            **{SHORT_NAMES[name]: _change(row, name) for name in (*SHARES, HELD_OUT_LOSS)},
            "Pairs": None if row.pairs is None else f"{row.pairs:,}",
            "Steps": None if row.steps is None else f"{row.steps:,}",
            "Run": str(row.run.id),
            "State": page_runs.STATES[row.run.state],
        }
        for row in rows
    }
    names = list(dict.fromkeys(name for column in columns.values() for name in column))
    st.dataframe(
        [{"": name} | {label: of[name] for label, of in columns.items()} for name in names],
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


def _change(row: ArmRow, name: str) -> str | None:
    """A metric before and after training."""
    if name not in row.after:
        return None
    before, after = shown(name, row.before[name]), shown(name, row.after[name])
    return f"{before.removesuffix('%')} → {after}"
