"""Second opinions: have a chat model judge variants, and show its agreement with people."""

from typing import Any

import streamlit as st

from curation.diagnostics.model_verdicts import verdict_counts
from curation.diagnostics.opinions import judges
from curation.formatting import counted, duration
from curation.generation.estimate import RunEstimate
from curation.generation.judging.opinion_calls import count_wanted, estimate_judging
from curation.generation.judging.opinion_request import (
    KIND,
    MAX_REPEATS,
    JudgeRequest,
    JudgeSelection,
)
from curation.generation.judging.opinion_run import JUDGE_VARIANTS
from curation.generation.prices import dollars, spent_by
from curation.generation.prompts import JUDGE, prompt_ids
from curation.generation.request import MAX_CONCURRENCY
from curation.review.calibration.consistency import TEMPERATURE, of_sample
from curation.review.calibration.sample import list_samples
from curation.validation import checked
from db.errors import HedgerowError
from db.models import Run, Status, Verdict
from db.runs import STOPPED, UNFINISHED, list_runs
from pages.components.generate import live_run
from pages.components.shared import formatting, links, model_choice, page_runs, run_cost, scores
from pages.components.shared.shell import count_cache, current_user, error_messages, open_project

NAME = "Second opinions"
"""Name of this section of the Generate page."""

SAMPLE = "opinion-sample"
"""Key of the field that chooses a sample to judge."""

MATCHING = 0
"""Used instead of a sample number: the filters below apply. Streamlit would not keep None."""

ONCE = 1

TRIAL = 10
"""Variants per trial."""

STATUSES: dict[Status | None, str] = {
    Status.PENDING: "Pending",
    Status.ACCEPTED: "Accepted",
    Status.REJECTED: "Rejected",
    Status.CONFLICT: "In conflict",
    None: "All except superseded",
}
_PROBLEM = "opinion_problem"


def draw() -> None:
    """Show the running or stopped run, the next run, and the agreement of models with people."""
    st.caption(
        "A chat model judges variants as a separate reviewer. Its opinions let you review "
        "doubtful variants first. Press J on a card to see them. They do not decide anything "
        "unless you switch the model on in Settings. A person's verdict always outranks them."
    )
    runs = open_project.ask(list_runs, kind=KIND, limit=1)
    counts = count_cache.CachedCounts()
    if counts.empty:
        links.no_variants()
        return
    active = next((run for run in runs if run.state in UNFINISHED), None)
    if active is not None:
        page_runs.follow(active, title=live_run.title(active), more=live_run.figures, pausable=True)
    else:
        if runs and runs[0].state in STOPPED:
            live_run.stopped(runs[0])
        elif runs:
            _done(runs[0])
        _box(counts)
    _agreement(counts)
    counts.follow()


def _done(run: Run) -> None:
    """Show the counts of the last run; the opinions themselves are shown in Review."""
    result = run.result or {}
    done, failed, calls = (int(result.get(key, 0)) for key in ("done", "failed", "calls"))
    again = " The next run repeats the failed calls." if failed else ""
    with st.container(border=True, key=f"opinion-done-{run.id}"):
        st.text(f"Run {run.id}: {live_run.title(run)}, {page_runs.STATES[run.state]}")
        judged = f"{done:,} variants judged"
        if run.parameters.get("repeats"):
            judged, again = f"{done:,} repeated answers", ""
        st.text(
            f"{judged}, {failed:,} calls failed.{again}\n"
            f"{counted(calls, 'request')} sent, {spent_by(result)}."
        )
        if calls > done or result.get("removed"):
            live_run.troubles(run)
        st.page_link(
            "pages/review.py",
            label="Review doubtful variants first",
            icon=":material/rate_review:",
            query_params={"order": "Doubtful"},
        )


@current_user.for_leads("ask for second opinions")
def _box(counts: count_cache.CachedCounts) -> None:
    with st.container(border=True, key="opinion-what"):
        st.header("Variants to judge", anchor=False)
        selection, times = _what()
    with st.container(border=True, key="opinion-who"):
        st.header("Judge", anchor=False)
        values = model_choice.model() | {"prompt": _prompt()}
        model_choice.key_field(values["base_url"])
        values |= _fine_points()
        if times > ONCE:
            values |= {"repeats": times, "temperature": TEMPERATURE}
    with st.container(border=True, key="opinion-cost"):
        st.header("Cost and time", anchor=False)
        if values["model"]:
            _cost(values | {"selection": selection}, counts)
        else:
            st.text("Choose a model to see the cost.")


def _what() -> tuple[JudgeSelection, int]:
    """Ask which variants to judge (a sample or a filter), and how often to ask about each."""
    samples = {sample.id: sample for sample in open_project.ask(list_samples)}
    if not samples:
        return _selection(), ONCE
    left, right = st.columns([2, 1], vertical_alignment="bottom")
    chosen = left.selectbox(
        "Variants",
        [MATCHING, *samples],
        format_func=lambda key: f"Sample {key}" if key else "Chosen by the filters below",
        key=SAMPLE,
        persist_state="session",
        help="Create samples under Judges to measure how reliable models are.",
    )
    if chosen == MATCHING:
        return _selection(), ONCE
    times = right.number_input(
        "Times",
        ONCE,
        MAX_REPEATS,
        ONCE,
        key="opinion-times",
        persist_state="session",
        help="Once asks for an opinion. Repeated calls at a temperature above 0 measure how "
        "consistent the model is. Their answers are not stored as opinions.",
    )
    return of_sample(samples[chosen]), int(times)


def _selection() -> JudgeSelection:
    labels = {entry.id: formatting.plain(entry.label) for entry in open_project.types()}
    types = st.pills(
        "Types",
        list(labels),
        selection_mode="multi",
        format_func=lambda key: labels[key],
        key="opinion-types",
        help="Leave empty for all types.",
        persist_state="session",
    )
    left, middle, right = st.columns(3, vertical_alignment="bottom")
    status = left.selectbox(
        "Status",
        list(STATUSES),
        format_func=lambda status: STATUSES[status],
        key="opinion-status",
        persist_state="session",
        help="Include decided variants to measure the agreement with people.",
    )
    limit = middle.number_input(
        "Sample size",
        1,
        value=None,
        step=100,
        placeholder="All",
        key="opinion-limit",
        help="Takes the first variants in Review's random order.",
        persist_state="session",
    )
    flagged = right.checkbox("Flagged only", key="opinion-flagged", persist_state="session")
    return JudgeSelection(types=tuple(types or ()), status=status, flagged=flagged, limit=limit)


def _prompt() -> int | None:
    """The prompt version; only asked for if there are several."""
    versions = open_project.ask(prompt_ids, JUDGE)
    if len(versions) < 2:
        return next(iter(versions.values()), None)
    version = st.selectbox(
        "Prompt",
        list(versions),
        format_func=lambda number: f"Version {number}",
        key="opinion-prompt",
        persist_state="session",
        help="A model counts as a different reviewer with each prompt version.",
    )
    return versions[version]


def _fine_points() -> dict[str, Any]:
    """Options for slow servers and for models that reason before they answer."""
    with st.expander("Concurrency, answer length, timeout", icon=":material/tune:"):
        first, second, third = st.columns(3, vertical_alignment="bottom")
        return {
            "concurrency": int(
                first.number_input(
                    "Concurrent calls",
                    1,
                    MAX_CONCURRENCY,
                    16,
                    key="opinion-concurrency",
                    persist_state="session",
                )
            ),
            "max_tokens": int(
                second.number_input(
                    "Maximum answer length (tokens)",
                    16,
                    32_000,
                    500,
                    100,
                    key="opinion-tokens",
                    persist_state="session",
                    help="Raise this if the model reasons before it answers or if answers are cut "
                    "off.",
                )
            ),
            "timeout": float(
                third.number_input(
                    "Timeout (seconds)",
                    1,
                    3600,
                    120,
                    key="opinion-timeout",
                    persist_state="session",
                )
            ),
        }


def _cost(values: dict[str, Any], counts: count_cache.CachedCounts) -> None:
    price, budget = run_cost.price(values["model"]), run_cost.budget()
    try:
        request = checked(JudgeRequest, values | {"price": price, "budget": budget})
        # Only the fields that determine the variants: counts are cached by them.
        of = request.model_dump(include={"model", "prompt", "selection", "repeats", "temperature"})
        wanted = counts.get(count_wanted, JudgeRequest(**of))
        if wanted is None:
            return
        found = open_project.ask(estimate_judging, request, wanted)
    except HedgerowError as error:
        error_messages.show(str(error), key="opinion-request")
        return
    for line in _in_words(found, request):
        st.text(line)
    lacks_key = model_choice.lacks_key(request.base_url)
    if lacks_key:
        st.text("OpenAI needs an API key. Enter one, or enter the address of another server.")
    _buttons(request, disabled=lacks_key or not found.total_calls, known=found.cost is not None)
    error_messages.show_kept(_PROBLEM)


def _in_words(found: RunEstimate, request: JudgeRequest) -> list[str]:
    if not found.total_calls:
        return ["Nothing to judge: the model has judged all selected variants."]
    each = f"{request.repeats} calls" if request.repeats else "one call"
    variants = found.total_calls // max(1, request.repeats)
    judged = f"{counted(variants, 'variant')} of {counted(found.anchors, 'anchor')}"
    lines = [f"{judged}, {each} per variant."]
    if found.cost is None or found.seconds is None:
        return [
            *lines,
            "Tokens, cost and time are not known yet. Try the model on a few variants to estimate "
            "them.",
        ]
    return [
        *lines,
        f"Expected cost: {dollars(found.cost)}, based on {found.based_on:,} answered calls. Takes "
        f"{duration(found.seconds)} with {request.concurrency} concurrent calls.",
    ]


def _buttons(request: JudgeRequest, *, disabled: bool, known: bool) -> None:
    few = request.selection.model_copy(
        update={"limit": min(TRIAL, request.selection.limit or TRIAL)}
    )
    with st.container(horizontal=True):
        st.button(
            f"Try on {TRIAL} variants",
            key="opinion-try",
            disabled=disabled,
            type="secondary" if known else "primary",
            icon=":material/science:",
            on_click=_start,
            args=(request.model_copy(update={"selection": few}),),
        )
        st.button(
            "Start",
            key="opinion-start",
            disabled=disabled,
            icon=":material/play_arrow:",
            type="primary" if known else "secondary",
            on_click=_start,
            args=(request,),
        )


def _start(request: JudgeRequest) -> None:
    """Store a run with its calls and start its process; problems are shown next to the buttons."""
    with error_messages.kept_for(_PROBLEM):
        page_runs.begin(JUDGE_VARIANTS, request, model_choice.key_environment(request.base_url))


def _agreement(counts: count_cache.CachedCounts) -> None:
    """Show each model that has given opinions, and its agreement with people."""
    found = open_project.ask(judges)
    if not found:
        return
    st.header("Agreement with people", anchor=False)
    for judge in found:
        state = "switched on" if judge.counts else "switched off"
        verdicts = counts.get(verdict_counts, judge.id) or {}
        accepts, edits, rejects = (
            f"{verdict} {verdicts.get(verdict, 0):,}"
            for verdict in (Verdict.ACCEPT, Verdict.EDIT, Verdict.REJECT)
        )
        st.text(
            f"{judge.name} · {counted(judge.decisions, 'opinion')} · {state}"
            + (f"\nIt would {accepts}, {edits} and {rejects}." if verdicts else "")
        )
        scores.agreement_table(counts, judge.id, key=f"agreement-{judge.id}")
    st.caption(
        "Based on all variants that both people and models have judged. For a less biased "
        "estimate, review a random sample blind under Judges."
    )
    st.page_link("pages/settings.py", label="Switch a model on or off in Settings")
