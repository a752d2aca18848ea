"""Overview: the state of the data per type, and what to do next."""

from collections.abc import Collection, Sequence
from typing import Any

import streamlit as st

from curation.anchors.revisions import sources_in_use
from curation.formatting import counted
from curation.importing.corpora import load_first
from curation.overview.funnel import Funnel, FunnelRow, surplus
from curation.overview.next_steps import NextStep, StepKind, progress
from curation.release.contents import CountsByType
from curation.review.queue import Queue
from db.execution import DONE
from db.models import Run, RunState, TeamRole
from db.runs import UNFINISHED
from pages.components.overview import funnel_chart
from pages.components.shared import links, page_runs, tables
from pages.components.shared.shell import current_user, frame, open_project
from training.runs.kinds import kind_of

RUNS, INSPECTED = 8, 50  # the newest runs: listed below, and searched for unfinished ones


def _welcome() -> None:
    with st.container(border=True, key="welcome"):
        st.write(
            "This project has no sentences yet. The starter corpus has 1,369 affirmative "
            "sentences in several genres, each with negated, hedged and paraphrased variants "
            "written by language models. It comes with 819 passages whose meaning hinges on one "
            "clause, and 212 search queries that exclude something. Models have reviewed four "
            "fifths of the variants; their verdicts count until you decide otherwise. The last "
            "fifth is left for you to review."
        )
        if current_user.only_leads("load corpora") and st.button(
            "Load the starter corpus", type="primary", key="load-starter"
        ):
            with st.spinner("Loading the corpora. This takes about 15 seconds."):
                open_project.tell(load_first)
                page_runs.measure()
            st.rerun()
    with st.container(horizontal=True):
        st.page_link(
            "pages/anchors.py",
            label="Browse the other corpora",
            icon=":material/library_books:",
            query_params={"part": "Corpora"},
        )
        st.page_link(
            "pages/anchors.py",
            label="Add your own anchors",
            icon=":material/notes:",
            query_params={"part": "Add"},
        )


def _next(steps: Sequence[NextStep], labels: dict[str, str], source: str | None) -> None:
    """Show what to do next, one line per step; the types to review share one step.

    Args:
        source: name of the source that the steps are about; None for all sources.
    """
    st.header("What to do next", anchor=False)
    pending = [step for step in steps if step.kind is StepKind.REVIEW]
    shown = [step for step in steps if step.kind is not StepKind.REVIEW or step is pending[0]]
    of_source = "" if source is None else " of this source"
    with st.container(border=True, key="next-steps"):
        if not shown:
            st.text(
                "Nothing left to do." if source is None else "Nothing left to do for this source."
            )
        for step in shown:
            key = f"next-step-{step.kind}"
            with st.container(horizontal=True, vertical_alignment="center", key=key):
                with st.container(width=170):
                    _action(step, source)
                st.text(_sentence(step, pending, labels, of_source), width="stretch")


def _sentence(
    step: NextStep, pending: Sequence[NextStep], labels: dict[str, str], of_source: str
) -> str:
    match step.kind:
        case StepKind.WRITE:
            subject = "1 anchor has" if step.count == 1 else f"{step.count:,} anchors have"
            return (
                f"{subject} no variants yet. A language model or the built-in rules can write them."
            )
        case StepKind.MEASURE:
            return (
                f"{_are(step.count)} not measured yet. The review queue uses distances, "
                "similarities and flags to show the most doubtful variants first."
            )
        case StepKind.SETTLE:
            return (
                f"{_are(step.count)} in conflict: reviewers disagree. A release leaves such "
                "variants out until somebody settles them."
            )
        case StepKind.REVIEW:
            by_type = ", ".join(f"{labels[s.type_id]} {s.count:,}" for s in pending)
            return f"{_are(sum(s.count for s in pending))} pending: {by_type}."
        case StepKind.RELEASE if step.release is None:
            return (
                f"{_are(step.count)} accepted. A release freezes them as a numbered data set that "
                "you can train on and others can cite."
            )
        case StepKind.RELEASE:
            changes = [f"lacks {counted(step.count, 'accepted variant')}"] if step.count else []
            changes += [f"includes {step.gone:,} that are no longer accepted"] if step.gone else []
            return f"Release {step.release} {' and '.join(changes)}."
        case StepKind.TRAIN:
            return (
                f"No encoder has been trained on release {step.release} yet. Its training split "
                f"has {counted(step.count, 'triple')}{of_source}."
            )
    held = f"{counted(step.count, 'variant')}{of_source}"
    return f"Release {step.release} has {held}. Download it to share it."


def _are(count: int) -> str:
    return f"{counted(count, 'variant')} {'is' if count == 1 else 'are'}"


def _action(step: NextStep, source: str | None) -> None:
    match step.kind:
        case StepKind.WRITE:
            st.page_link("pages/generate.py", label="Generate", icon=":material/edit_note:")
        case StepKind.MEASURE:
            if current_user.may(TeamRole.LEAD) and st.button(
                "Measure", key="measure", icon=":material/straighten:"
            ):
                page_runs.measure()
                st.rerun()
        case StepKind.SETTLE:
            links.to_review("Settle", queue=Queue.CONFLICT, source=source, icon=":material/gavel:")
        case StepKind.REVIEW:
            links.to_review("Review", source=source, icon=":material/rate_review:")
        case StepKind.TRAIN:
            st.page_link("pages/train.py", label="Train", icon=":material/model_training:")
        case _:
            label = "Freeze a release" if step.kind is StepKind.RELEASE else "Download"
            st.page_link("pages/release.py", label=label, icon=":material/inventory_2:")


def _way(state: Funnel) -> None:
    st.header("From anchors to a model", anchor=False)
    if state.rows:
        chart = funnel_chart(state, dark=st.context.theme.type == "dark")
        st.vega_lite_chart(chart, width="stretch", alt=_in_words(state.total), key="funnel")
        st.caption(_end_of_the_way(state))
    _table(state)


def _in_words(total: FunnelRow) -> str:
    return (
        f"One row of bars per type. All types together: {total.anchors} anchors, {total.variants} "
        f"variants, {total.diagnosed} measured, {total.decided} decided, {total.accepted} "
        f"accepted, {total.released} in the newest release, {total.triples} triples, "
        f"{total.trained} trained on. The table below lists all numbers."
    )


_SCALE = "All bars share one scale, except those for triples."


def _end_of_the_way(state: Funnel) -> str:
    release = (
        f"Release {state.newest.number} is the newest release"
        if state.newest
        else "There is no release yet"
    )
    if not state.models:
        return f"{release}. No encoder has been trained yet. {_SCALE}"
    encoders = f"{counted(state.models, 'encoder')} {'has' if state.models == 1 else 'have'}"
    newest = "" if state.models == 1 else "the newest "
    number = state.trained_release
    data = "not on a release of this project" if number is None else f"on release {number}"
    return f"{release}. {encoders} been trained, {newest}{data}. {_SCALE}"


def _table(state: Funnel) -> None:
    rows = [
        {
            "Type": row.label,
            "Anchors": row.anchors,
            "Variants": row.variants,
            "Measured": row.diagnosed,
            "Pending": row.pending,
            "Accepted": row.accepted,
            "Rejected": row.rejected,
            "Conflict": row.conflict,
            "Acceptance": row.accepted / row.decided if row.decided else None,
            "Released": row.released,
            "Triples": row.triples,
            "Trained on": row.trained,
        }
        for row in (*state.rows, state.total)
    ]
    numbers = [name for name, value in rows[0].items() if isinstance(value, int)]
    columns = tables.counts(numbers) | {
        "Type": st.column_config.TextColumn(pinned=True, width=175),
        "Acceptance": st.column_config.NumberColumn(
            help="Share of decided variants that are accepted."
        ),
    }
    st.dataframe(
        tables.percentages(rows, "Acceptance"),
        hide_index=True,
        key="by-type",
        height="content",
        column_config=columns,
    )


def _recent(runs: Collection[Run]) -> None:
    st.header("Recent runs", anchor=False)
    rows = [
        {
            "Run": f"{kind_of(run.kind).address(run)}#run-{run.id:06d}",  # sorts like a number
            "Task": kind_of(run.kind).title,
            "State": page_runs.STATES[run.state],
            "Started": run.started_at or run.created_at,
            "Message": _outcome(run),
        }
        for run in runs
    ]
    number = st.column_config.LinkColumn(
        display_text=r"#run-0*(\d+)", width=60, pinned=True, help="Opens the run in a new tab."
    )
    st.dataframe(
        rows,
        hide_index=True,
        key="runs",
        column_config={
            "Run": number,
            "Started": tables.times(),
            "Message": st.column_config.TextColumn(width=560),
        },
    )


def _outcome(run: Run) -> str:
    """The message of a finished run and a summary of its result."""
    if run.state in UNFINISHED:
        return ""
    if run.state != RunState.DONE:
        return run.message
    brought = kind_of(run.kind).sum_up(run.result)
    return f"{run.message} {brought}".removeprefix(f"{DONE} ") if brought else run.message


@st.cache_data(show_spinner=False, max_entries=2)
def _surplus(version: tuple[Any, ...]) -> CountsByType:
    """Count what is new since the newest release: slow, and unaffected by decisions."""
    return open_project.ask(surplus)


frame.begin("Overview", "Your progress from sentences to a trained model, and what to do next.")
sources = open_project.ask(sources_in_use)
source_id = links.source_menu(sources)
last_runs, current, todo = open_project.ask(
    progress,
    looked_at=INSPECTED,
    step_of=lambda kind: kind_of(kind).step,
    known=_surplus,
    source_id=source_id,
)
page_runs.take_up_measuring(last_runs)
for run in reversed(last_runs):
    if run.state in UNFINISHED:
        page_runs.follow(run)
if todo == [NextStep(StepKind.LOAD)]:
    _welcome()
else:
    source = None if source_id is None else sources[source_id]
    _next(todo, {row.type_id: row.label for row in current.rows}, source)
    _way(current)
if last_runs:
    _recent(last_runs[:RUNS])
