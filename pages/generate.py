"""Generate: variants by a language model, their cost known beforehand, nothing lost."""

import streamlit as st

from curation.generation.request import KIND
from db.engine import reading
from db.models import Run, RunState
from db.runs import STOPPED, UNFINISHED, list_runs
from pages.components import (
    frame,
    generate_live,
    generate_look,
    generate_prompts,
    generate_results,
    generate_start,
    opinion_start,
    project,
    run_view,
)
from pages.components.generate_results import RESULTS, SECTION, SETUP
from pages.components.kept import Counts

SHOWN_RUNS = 50
PROMPTS, OPINIONS = "Prompts", "Second opinions"
SECTIONS = (SETUP, PROMPTS, RESULTS, OPINIONS)


def _runs() -> list[Run]:
    with reading(project.engine()) as session:
        return list_runs(session, kind=KIND, limit=SHOWN_RUNS)


def _set_up(runs: list[Run], counts: Counts) -> None:
    """What is at work or has stopped, and, where nothing is at work, the next run."""
    active = next((run for run in runs if run.state in UNFINISHED), None)
    if active is not None:
        run_view.follow(
            active, title=generate_live.title(active), more=generate_live.figures, pausable=True
        )
        return
    waiting = [run for run in runs if run.state in STOPPED and run.state != RunState.CANCELLED]
    if trial := generate_look.newest_trial(runs):
        generate_look.draw(trial)
    elif runs and runs[0] in waiting:
        generate_live.stopped(waiting.pop(0))
    elif runs and runs[0].state in (RunState.DONE, RunState.CANCELLED):
        generate_results.mention(runs[0])
    for run in waiting:
        generate_results.mention(run)
    generate_start.box(counts)


frame.begin(
    "Generate",
    "Have a language model, or rules, write variants of your anchors; what it costs is said first.",
)
generate_prompts.ensure()
section = st.segmented_control(
    "Section",
    SECTIONS,
    key=SECTION,
    default=SETUP,
    required=True,
    bind="query-params",
    label_visibility="collapsed",
)
found, counts = _runs(), Counts()
match section:
    case "Prompts":
        generate_prompts.draw(counts)
    case "Results":
        generate_results.draw([run for run in found if run.state not in UNFINISHED], counts)
    case "Second opinions":
        opinion_start.draw()
    case _:
        _set_up(found, counts)
counts.follow()
