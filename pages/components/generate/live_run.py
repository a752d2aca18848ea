"""A generation run: its name, pace, cost and problems, resuming it, and the results of a trial."""

from collections.abc import Mapping, Sequence
from itertools import groupby

import streamlit as st
from markupsafe import Markup

from curation.decisions.roles import for_the_project
from curation.formatting import counted
from curation.generation.answer_texts import Removed
from curation.generation.answers import AnswerProblem
from curation.generation.calls import can_go_on
from curation.generation.estimate import TRIAL, is_trial
from curation.generation.judging.opinion_request import KIND as JUDGE_KIND
from curation.generation.prices import dollars, spent
from curation.generation.request import KIND, OPENAI, Budget
from curation.generation.run import check_alone
from curation.generation.run_report import (
    AttemptCounts,
    ShownCall,
    Spent,
    calls_in_full,
    in_words,
    is_measured,
    last_troubles,
    listed,
    progress,
    variant_ids,
)
from curation.taxonomy.surface_check import ROLES, role_name
from db.models import Run, RunState
from db.runs import UNFINISHED, request_cancel
from pages.components.shared import formatting, links, model_choice, page_runs, run_cost
from pages.components.shared.shell import count_cache, current_user, error_messages, open_project

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
    money = run.parameters["budget"]["money"]
    limit = f" of the {dollars(money)} limit" if money else ""
    parts.append(f"{spent(so_far.cost, is_estimate=so_far.is_estimate)}{limit}")
    st.text(" · ".join(parts))


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
        with st.container(border=True):
            st.text(f"{trouble.anchor}\nAttempt {trouble.attempt}: {trouble.error}")
            if trouble.raw:
                st.code(trouble.raw, language=None, wrap_lines=True)


def stopped(run: Run) -> None:
    """Show a run that stopped early or failed: why, and how to resume it if possible."""
    with st.container(border=True, key=f"generate-stopped-{run.id}"):
        st.text(f"Run {run.id}: {title(run)}")
        found = _progress(run)
        if run.state == RunState.FAILED and not open_project.ask(can_go_on, run.id):
            st.text(f"Failed: {run.message}")
            _pace(run, found.spent)
        else:
            st.text(_why(run))
            _pace(run, found.spent)
            _way_on(run)
        _troubles(run, found)
        page_runs.log(run, opened=run.state == RunState.FAILED)


@current_user.for_leads()
def _way_on(run: Run) -> None:
    """The budget of a stopped run, and the buttons that resume or cancel it."""
    other = page_runs.active(run.kind)
    budget = run_cost.cap_boxes(run)
    if run.parameters["provider"] == OPENAI:
        model_choice.key_field(run.parameters["base_url"], f"-{run.id}")
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
            st.button(
                "Cancel",
                key=f"generate-cancel-{run.id}",
                on_click=open_project.tell,
                args=(request_cancel, run.id),
            )
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
        run_cost.apply_caps(run, budget)
        if run.kind == KIND:
            open_project.ask(check_alone, run.id)
        count_cache.forget()  # the number of variants left to generate changes
        page_runs.start_again(run, model_choice.key_environment(run.parameters["base_url"]))


# -- Readable names of generation runs ------------------------------------------------------------


def title(run: Run) -> str:
    """A run's request as text; includes the model name, which is user text."""
    who = run.parameters["model"] or run.parameters["provider"]
    limit = run.parameters["selection"]["limit"]
    what, each = ("opinions", "variants") if run.kind == JUDGE_KIND else ("variants", "anchors")
    return f"{what} by {who}" + (f", {limit:,} {each}" if limit else "")


def named(run: Run) -> str:
    """A run as a list entry: number, request, time and state."""
    return page_runs.named(run, title(run))


# -- Results of a trial: the variants of each anchor, and the raw answers -------------------------


IN_REVIEW = 5000
"""Maximum number of a run's variants to open in Review at once."""


def newest_trial(runs: Sequence[Run]) -> Run | None:
    """The newest run, if it is a finished trial."""
    newest = runs[0] if runs else None
    ended = newest is not None and newest.state == RunState.DONE and is_trial(newest)
    return newest if ended else None


def trial_results(run: Run) -> None:
    """Show each anchor of the trial with its variants, and the raw answers collapsed."""
    shown = open_project.ask(calls_in_full, run.id, limit=TRIAL * len(ROLES))
    if not open_project.ask(is_measured, run.id):  # a trial does not wait for the count
        with for_the_project():
            page_runs.measure()
    labels = {entry.id: entry.label for entry in open_project.types()}
    with st.container(border=True, key=f"generate-look-{run.id}"):
        st.header("Trial", anchor=False)
        st.text(f"Run {run.id}: {title(run)}. Read the results before you start the full run.")
        for _, calls in groupby(shown, key=lambda call: call.anchor):
            formatting.emit(_family(list(calls), labels))
        figures(run)
        if any(call.raw for call in shown):
            with st.expander("Raw answers", icon=":material/data_object:"):
                for call in shown:
                    st.text(f"{role_name(call.role)}: {call.anchor}")
                    st.code(call.raw or "No answer.", language=None, wrap_lines=True)
        review_button(run)


def _family(calls: Sequence[ShownCall], labels: Mapping[str, str]) -> Markup:
    """One anchor with its new variants; changed words are marked."""
    rows = [
        _row("Anchor", Markup('<span class="hg-text"><b>{}</b></span>').format(calls[0].anchor))
    ]
    for call in calls:
        for type_id, text in call.variants:
            cue = call.cues.get(type_id)
            label = labels.get(type_id, type_id) + (f" · {cue}" if cue else "")
            rows.append(_row(label, formatting.diff(call.anchor, text)[1]))
        if not call.variants or call.problems:
            rows.append(_row(role_name(call.role), call.problems or "no variants"))
    return Markup('<div class="hg-card hg-siblings">{}</div>').format(formatting.join(rows))


def _row(label: str, text: str | Markup) -> Markup:
    return Markup('<div class="hg-row"><span class="hg-label">{}</span><div>{}</div></div>').format(
        label, text
    )


def review_button(run: Run) -> None:
    """Link to review the variants of a run."""
    if st.button("Review variants", key=f"generate-review-{run.id}", icon=":material/rate_review:"):
        ids = open_project.ask(variant_ids, run.id, limit=IN_REVIEW)
        links.open_in_review(ids, f"run {run.id}")
