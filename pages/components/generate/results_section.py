"""Results of runs: calls, costs, cues and retries."""

from collections.abc import Mapping, Sequence
from typing import Any, TypeVar

import streamlit as st

from curation.generation.budget import CostRow, cost_rows
from curation.generation.estimate import is_trial
from curation.generation.missing_variants import has_failures
from curation.generation.request import Which
from curation.generation.run import calls_by_state
from curation.generation.run_report import CueRow, cue_rows, missing_types
from curation.review.agreement.figures import as_text
from curation.review.calibration.consistency import PromptAcceptance, acceptance_by_prompt
from curation.taxonomy.built_in import VariantType
from curation.taxonomy.cues import cue_list
from db.models import CallState, Run, RunState
from db.runs import STOPPED
from pages.components.generate import live_run, start_form
from pages.components.shared import links, page_runs
from pages.components.shared.shell import count_cache, open_project

Row = TypeVar("Row", CostRow, CueRow, PromptAcceptance)

RESULTS = "Results"
_ALL = "all"
_CHOSEN = "generate-result"
CUES_HEIGHT = 280
"""Height of the cue table in pixels."""


def draw(runs: list[Run], counts: count_cache.CachedCounts) -> None:
    """Show costs and cues of one run or all runs, and what to do next."""
    if not runs:
        st.text("No run has finished yet.")
        st.button(
            "Set up a run",
            key="generate-set-up",
            icon=":material/edit_note:",
            on_click=st.session_state.update,
            args=({links.GENERATE_SECTION: links.SET_UP},),
        )
        return
    by_id: dict[Any, Run] = {run.id: run for run in runs}
    names = {key: live_run.named(run) for key, run in by_id.items()} | {_ALL: "All runs"}
    chosen = st.selectbox("Run", [*by_id, _ALL], format_func=lambda key: names[key], key=_CHOSEN)
    run = by_id.get(chosen)
    if run is not None:
        _one(run, counts)
    _acceptance(counts)
    _costs(counts, None if run is None else run.id)
    _cues(counts, None if run is None else run.id)


def _one(run: Run, counts: count_cache.CachedCounts) -> None:
    calls = open_project.ask(calls_by_state, run.id)
    done, failed, still = (calls[s] for s in (CallState.DONE, CallState.FAILED, CallState.OPEN))
    open_ones = f", {still:,} not made" if still else ""
    st.text(f"{done:,} calls answered, {failed:,} failed{open_ones}.")
    if missing := counts.get(missing_types, run.id):
        labels = {entry.id: entry.label for entry in open_project.types()}
        named = (f"{labels.get(key, key)} {number:,}" for key, number in missing.items())
        st.text(f"Missing from answers: {', '.join(named)}.")
    if run.state in STOPPED:
        live_run.stopped(run)
    elif not is_trial(run):
        live_run.figures(run)
    with st.container(horizontal=True, vertical_alignment="center"):
        if not is_trial(run) or run.state in STOPPED:
            live_run.review_button(run)
        st.button(
            "Retry failed calls",
            key="generate-retry",
            icon=":material/replay:",
            on_click=st.session_state.update,
            args=(
                {
                    links.GENERATE_WHICH: Which.FAILED,
                    start_form.RUN: run.id,
                    links.GENERATE_SECTION: links.SET_UP,
                },
            ),
            disabled=not counts.get(has_failures, run.id),
            help="Sets up a run that repeats failed calls and asks for missing variants.",
        )
        st.page_link(
            "pages/diagnostics.py",
            label="Diagnostics",
            icon=":material/bar_chart:",
        )
    if is_trial(run) and run.state not in STOPPED:
        live_run.trial_results(run)


def mention(run: Run) -> None:
    """One line about a run that has finished or stopped with calls left, with a link to it."""
    calls = open_project.ask(calls_by_state, run.id)
    if run.state != RunState.DONE and not calls[CallState.OPEN]:
        return
    with st.container(
        horizontal=True, vertical_alignment="center", key=f"generate-mention-{run.id}"
    ):
        st.text(_in_short(run, calls), width="content")
        st.button(
            "Show run",
            key=f"generate-show-{run.id}",
            type="tertiary",
            on_click=st.session_state.update,
            args=({_CHOSEN: run.id, links.GENERATE_SECTION: RESULTS},),
        )


def _in_short(run: Run, calls: Mapping[CallState, int]) -> str:
    left = f"{calls[CallState.OPEN]:,} calls not made yet"
    if run.state == RunState.DONE:
        done, failed = calls[CallState.DONE], calls[CallState.FAILED]
        missing = sum((run.result or {}).get("missing", {}).values())
        lacking = f", {missing:,} variants missing from answers" if missing else ""
        return f"Run {run.id} is done: {done:,} calls answered, {failed:,} failed{lacking}."
    if run.state == RunState.CANCELLED:
        return f"Run {run.id} was cancelled with {left}."
    return f"Run {run.id} ({page_runs.STATES[run.state]}) has {left}."


def _acceptance(counts: count_cache.CachedCounts) -> None:
    """Compare acceptance by prompt version, once there are two versions."""
    rows = counts.get(acceptance_by_prompt)
    if not rows or len({(row.type_id, row.version) for row in rows}) == len(
        {row.type_id for row in rows}
    ):
        return
    st.header("Acceptance by prompt version", anchor=False)
    labels = open_project.type_names()
    st.dataframe(
        [
            {
                "Type": labels.get(row.type_id, row.type_id),
                "Model": row.model,
                "Prompt": f"version {row.version}",
                "Examples": row.examples,
                "Acceptance": as_text(row.acceptance, as_percent=True),
                "As written": as_text(row.as_written, as_percent=True),
                "Decided": row.outcomes.decided,
                "Accepted": row.outcomes.accepted,
                "Edited": row.outcomes.edited,
                "Rejected": row.outcomes.rejected,
                "In conflict": row.outcomes.conflict,
                "Pending": row.outcomes.pending,
            }
            for row in _in_order(rows, labels)
        ],
        hide_index=True,
        key="generate-acceptance",
        column_config={"Accepted": "Accepted as written"},
    )
    st.caption(
        "Includes all runs. Acceptance is the share of decided variants that were accepted as "
        "written or after an edit, with a 95% interval. Compare versions only if anchors and "
        "decisions were chosen in the same way, such as two samples reviewed in random order."
    )


def _costs(counts: count_cache.CachedCounts, run_id: int | None) -> None:
    st.header("Costs", anchor=False)
    rows = counts.get(cost_rows, run_id=run_id)
    if rows is None:
        return
    if not rows:
        st.text("No call has been answered.")
        return
    labels = {entry.id: entry.label for entry in open_project.types()}
    total, each = (st.column_config.NumberColumn(format=f"$ %.{digits}f") for digits in (4, 6))
    st.dataframe(
        [
            {
                "Type": labels.get(row.type_id, row.type_id),
                "Prompt": f"version {row.version}",
                "Model": row.model or row.provider,
                "Calls": row.calls,
                "Variants": row.variants,
                "Accepted": row.accepted,
                "Cost": row.cost,
                "Per variant": row.per_variant,
                "Per accepted variant": row.per_accepted,
            }
            for row in _in_order(rows, labels)
        ],
        hide_index=True,
        key="generate-costs",
        placeholder="–",
        column_config={"Cost": total, "Per variant": each, "Per accepted variant": each},
    )
    estimates = (
        " Some costs are estimates because the server does not report usable token counts."
        if any(row.is_estimate for row in rows)
        else ""
    )
    st.caption(
        "The cost of a call, including failed attempts, is divided equally among the types it "
        "asked for. Accepted variants include edited ones." + estimates
    )


def _in_order(rows: Sequence[Row], labels: Mapping[str, str]) -> list[Row]:
    """The rows ordered by type as in the taxonomy; the order within a type is kept."""
    places = {type_id: place for place, type_id in enumerate(labels)}
    return sorted(rows, key=lambda row: places.get(row.type_id, len(places)))


def _cues(counts: count_cache.CachedCounts, run_id: int | None) -> None:
    """Show how often each cue was requested, and how many of the paper's cues were."""
    rows = counts.get(cue_rows, run_id)
    if not rows:
        return
    types = {entry.id: entry for entry in open_project.types()}
    names = {type_id: entry.label for type_id, entry in types.items()}
    rows = _in_order(rows, names)
    labels = {row.type_id: names.get(row.type_id, row.type_id) for row in rows}
    st.header("Cues", anchor=False)
    used = ", ".join(_coverage(rows, type_id, types, labels) for type_id in labels)
    st.text(f"Cues used: {used}.")
    st.dataframe(
        [
            {
                "Type": labels[row.type_id],
                "Cue": row.cue,
                "Calls": row.used,
                "Paper's spelling": row.printed if row.printed != row.cue else "",
            }
            for row in rows
        ],
        hide_index=True,
        key="generate-cues",
        width="content",
        height=CUES_HEIGHT,
    )
    st.caption(
        "Prompts use the correct spelling of cues that the paper misspells. The cues "
        "themselves are stored as printed in the paper."
    )


def _coverage(
    rows: Sequence[CueRow], type_id: str, types: Mapping[str, VariantType], labels: dict[str, str]
) -> str:
    used = len({row.printed for row in rows if row.type_id == type_id})
    if type_id not in types or not types[type_id].needs_cue:
        return f"{used} ({labels[type_id]})"
    return f"{used} of {len(cue_list(types[type_id]))} ({labels[type_id]})"
