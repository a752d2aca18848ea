"""The next run for a language model, the runs in progress, and the latest one."""

import streamlit as st

from curation.release.freezing import release_numbers
from db.models import Run, RunState
from db.runs import STOPPED, UNFINISHED
from pages.components.shared.runs import background, progress_view
from pages.components.shared.shell import error_messages, open_project
from pages.components.train.language import curves_view, form, section_choice
from training.finetune import checkpoints
from training.llm.request import list_language_finetunings
from training.llm.study import list_language_studies

_PROBLEM = "llm_again_problem"

_IDEA = (
    "Hedgerow turns a release into questions: do two sentences have opposite meanings? The "
    "answer is Yes for a sentence and its negation, and No for a sentence and its hedge. A causal "
    "language model learns the answers with LoRA, as in section 5.2 of the paper."
)


def show() -> None:
    """Draw the section."""
    st.text(_IDEA)
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
        progress_view.follow(run, title=section_choice.title(run), more=curves_view.live)
    if not active and runs and runs[0].state not in UNFINISHED:
        _ended(runs[0])
    error_messages.show_kept(_PROBLEM)
    if numbers := open_project.ask(release_numbers):
        form.box(numbers, busy=bool(active or studies))
    else:
        st.text("The questions are made from a release, but there is none yet.")
        st.page_link("pages/release.py", label="Create a release", icon=":material/inventory_2:")


def _ended(run: Run) -> None:
    """The outcome of the newest run, with a button to its results or to continue it."""
    if run.state in STOPPED and not run.group:
        stopped(run)
        return
    if run.state != RunState.DONE:
        return
    with st.container(horizontal=True, vertical_alignment="center", border=True, key="llm-ended"):
        st.text(f"Run {run.id} is done. {outcome(run)}", width="stretch")
        st.button(
            "Show results",
            key=f"llm-show-{run.id}",
            on_click=section_choice.show_run,
            args=(run.id,),
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


def stopped(run: Run) -> None:
    """A run that stopped early: the reason, and a button to continue it."""
    reached = checkpoints.step_reached(open_project.settings().data_folder / run.folder)
    label = f"Continue from step {reached:,}" if reached else "Start again"
    again = None if run.group else lambda: _again(run)
    progress_view.stopped(run, again=again, label=label)


def _again(run: Run) -> None:
    st.session_state[section_choice.SECTION] = section_choice.TRAIN
    with error_messages.kept_for(_PROBLEM):
        background.start_again(run)
