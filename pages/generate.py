"""Generate: variants by a language model, their cost known beforehand, nothing lost."""

import streamlit as st

from curation.generation.request import KIND
from db.engine import reading
from db.models import Run, RunState
from db.runs import STOPPED, UNFINISHED, list_runs
from pages.components import (
    frame,
    generate_live,
    generate_prompts,
    generate_results,
    generate_start,
    opinion_start,
    project,
    run_view,
)
from pages.components.generate_results import SECTION, SETUP

SHOWN_RUNS = 50
PROMPTS, RESULTS, OPINIONS = "Prompts", "Results", "Second opinions"
SECTIONS = (SETUP, PROMPTS, RESULTS, OPINIONS)


def _runs() -> list[Run]:
    with reading(project.engine()) as session:
        return list_runs(session, kind=KIND, limit=SHOWN_RUNS)


def _set_up(runs: list[Run]) -> None:
    """What is at work or has stopped, and, where nothing is at work, the next run."""
    active = next((run for run in runs if run.state in UNFINISHED), None)
    if active is not None:
        run_view.follow(
            active, title=generate_live.title(active), more=generate_live.figures, pausable=True
        )
    elif runs and runs[0].state == RunState.CANCELLED:
        st.text(f"Run {runs[0].id} was cancelled; Results has what it brought, and can resume it.")
    elif runs and runs[0].state in STOPPED:
        generate_live.stopped(runs[0])
    elif trial := generate_results.newest_trial(runs):
        generate_results.look(trial)
    if active is None:
        generate_start.box()


frame.begin(
    "Generate",
    "Have a language model, or rules, write variants of your anchors; what it costs is said first.",
)
generate_prompts.ensure()
section = st.segmented_control(
    "Section", SECTIONS, key=SECTION, default=SETUP, required=True, bind="query-params",
    label_visibility="collapsed",
)  # fmt: skip
found = _runs()
match section:
    case "Prompts":
        generate_prompts.draw()
    case "Results":
        generate_results.draw([run for run in found if run.state not in UNFINISHED])
    case "Second opinions":
        opinion_start.draw()
    case _:
        _set_up(found)
