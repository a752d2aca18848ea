"""Progress of a generation run: pace, cost and problems; resuming a stopped run."""

import streamlit as st

from curation.formatting import counted
from curation.generation.answer_texts import Removed
from curation.generation.answers import AnswerProblem
from curation.generation.calls import can_go_on
from curation.generation.prices import dollars, spent
from curation.generation.request import KIND, OPENAI, Budget
from curation.generation.run import check_alone
from curation.generation.run_report import (
    AttemptCounts,
    Spent,
    Trouble,
    in_words,
    last_troubles,
    listed,
    progress,
)
from db.models import Run, RunState
from db.runs import UNFINISHED, request_cancel
from pages.components.generate.run_names import title as title
from pages.components.shared.chat_models import provider_key
from pages.components.shared.runs import background, progress_view, spending_caps
from pages.components.shared.shell import count_cache, error_messages, open_project, rights

_PROBLEM = "generate_resume_problem"


def figures(run: Run) -> None:
    """Pace and cost so far, and the count of each problem."""
    found = _progress(run)
    _pace(run, found.spent)
    _troubles(run, found)


def troubles(run: Run) -> None:
    """The count of each problem and removal, with the last raw texts of one."""
    _troubles(run, _progress(run))


def _progress(run: Run) -> AttemptCounts:
    """Counted from the answers; cached for a run that is not running."""
    if run.state in UNFINISHED:
        return open_project.ask(progress, run.id)
    return _last_progress(run.id, run.attempt)


@st.cache_data(max_entries=100, show_spinner=False)
def _last_progress(run_id: int, attempt: int) -> AttemptCounts:
    return open_project.ask(progress, run_id)


def _pace(run: Run, so_far: Spent) -> None:
    """Calls, tokens and cost so far; for a running run also calls per minute."""
    if not so_far.attempts:
        return
    parts = [f"{counted(so_far.attempts, 'request')} sent"]
    if run.state == RunState.RUNNING:
        parts.append(f"{so_far.per_minute:,} in the last minute")
    if so_far.prompt_tokens:
        tokens = f"{so_far.prompt_tokens:,} input and {so_far.completion_tokens:,} output"
        parts.append(f"{tokens} tokens")
    parts.append(f"{spent(so_far.cost, is_estimate=so_far.is_estimate)}{_of_the_budget(run)}")
    st.text(" · ".join(parts))


def _of_the_budget(run: Run) -> str:
    money = run.parameters["budget"]["money"]
    return f" of the {dollars(money)} limit" if money else ""


def _troubles(run: Run, found: AttemptCounts) -> None:
    """Show the count of each problem and removal, and the last raw texts of the chosen one."""
    if found.problems:
        st.text(f"Problems, including incomplete answers: {listed(found.problems)}.")
    if found.removed:
        st.text(in_words(found.removed))
    # Labels have no counts, which change during the run: Streamlit keeps a choice by its label.
    labels = [problem.value for problem in AnswerProblem if problem in found.problems]
    labels += [kind.note for kind in Removed if kind in found.removed]
    if not labels:
        return
    picked = st.pills(
        "Show the latest answers with this problem or removal",
        labels,
        key=f"generate-problem-{run.id}",
        help="Problems that a retry solved do not affect the variants.",
    )
    if picked is None:
        return
    for trouble in open_project.ask(last_troubles, run.id, picked):
        _trouble(trouble)


def _trouble(trouble: Trouble) -> None:
    with st.container(border=True):
        st.text(f"{trouble.anchor}\nAttempt {trouble.attempt}: {trouble.error}")
        if trouble.raw:
            st.code(trouble.raw, language=None, wrap_lines=True)


def stopped(run: Run) -> None:
    """Show a run that stopped early or failed: why, and how to resume it if possible."""
    with st.container(border=True, key=f"generate-stopped-{run.id}"):
        st.text(f"Run {run.id}: {title(run)}")
        found = _progress(run)
        if run.state == RunState.FAILED and not _can_go_on(run):
            st.text(f"Failed: {run.message}")
            _pace(run, found.spent)
        else:
            st.text(_why(run))
            _pace(run, found.spent)
            _way_on(run)
        _troubles(run, found)
        progress_view.log(run, opened=run.state == RunState.FAILED)


def _can_go_on(run: Run) -> bool:
    """Whether resuming the run would make any calls."""
    return open_project.ask(can_go_on, run.id)


@rights.for_leads()
def _way_on(run: Run) -> None:
    """The budget of a stopped run, and the buttons that resume or cancel it."""
    other = background.active(run.kind)
    budget = spending_caps.boxes(run)
    if run.parameters["provider"] == OPENAI:
        provider_key.draw(run.parameters["base_url"], f"-{run.id}")
    with st.container(horizontal=True):
        st.button(
            "Resume",
            key=f"generate-resume-{run.id}",
            type="primary",
            disabled=other is not None,
            on_click=_resume,
            args=(run, budget),
            icon=":material/play_arrow:",
        )
        if run.state not in (RunState.CANCELLED, RunState.FAILED):  # they have ended
            st.button("Cancel", key=f"generate-cancel-{run.id}", on_click=_cancel, args=(run.id,))
    if other is not None:
        st.text(f"Run {other.id} is still running. You can resume this run when it has finished.")
    error_messages.show_kept(_PROBLEM)


def _why(run: Run) -> str:
    stored = "All answers so far are stored. Resume to make the remaining calls."
    if run.state == RunState.FAILED:
        return f"Failed: {run.message} {stored}"
    if run.state == RunState.CANCELLED:
        return f"Cancelled. {stored}"
    if run.state == RunState.INTERRUPTED:
        return f"Interrupted: the process ended before the run was complete. {stored}"
    if run.message in (None, "", "Paused."):
        return f"Paused. {stored}"
    return run.message  # it says how to continue


def _resume(run: Run, budget: Budget) -> None:
    """Resume a run with the latest values of its fields."""
    with error_messages.kept_for(_PROBLEM):
        spending_caps.apply(run, budget)
        if run.kind == KIND:
            open_project.ask(check_alone, run.id)
        count_cache.forget()  # the number of variants left to generate changes
        background.start_again(run, provider_key.environment(run.parameters["base_url"]))


def _cancel(run_id: int) -> None:
    open_project.tell(request_cancel, run_id)
