"""Generate: have a language model write variants, with a cost estimate before each run."""

from curation.generation.request import KIND
from db.models import Run, RunState
from db.runs import STOPPED, UNFINISHED, list_runs
from pages.components.generate import judges_section as judges
from pages.components.generate import (
    live_run,
    opinions_section,
    prompts_section,
    results_section,
    start_form,
)
from pages.components.shared import links, page_runs, prompt_editor
from pages.components.shared.shell import count_cache, frame, open_project

SHOWN_RUNS = 50
PROMPTS, JUDGES = "Prompts", "Judges"
SECTIONS = (links.SET_UP, PROMPTS, results_section.RESULTS, opinions_section.NAME, JUDGES)


def _set_up(runs: list[Run], counts: count_cache.CachedCounts) -> None:
    """Show the running or stopped run, and the form for the next run if none is running."""
    active = next((run for run in runs if run.state in UNFINISHED), None)
    if active is not None:
        page_runs.follow(active, title=live_run.title(active), more=live_run.figures, pausable=True)
        return
    waiting = [run for run in runs if run.state in STOPPED and run.state != RunState.CANCELLED]
    if trial := live_run.newest_trial(runs):
        live_run.trial_results(trial)
    elif runs and runs[0] in waiting:
        live_run.stopped(waiting.pop(0))
    elif runs and runs[0].state in (RunState.DONE, RunState.CANCELLED):
        results_section.mention(runs[0])
    for run in waiting:
        results_section.mention(run)
    start_form.box(counts)


frame.begin(
    "Generate",
    "Have a language model or the built-in rules write variants of your anchors. You see the "
    "cost before you start.",
)
prompt_editor.ensure()
section = frame.section(SECTIONS, key=links.GENERATE_SECTION)
found, counts = open_project.ask(list_runs, kind=KIND, limit=SHOWN_RUNS), count_cache.CachedCounts()
match section:
    case "Prompts":
        prompts_section.draw(counts)
    case "Results":
        results_section.draw([run for run in found if run.state not in UNFINISHED], counts)
    case "Second opinions":
        opinions_section.draw()
    case "Judges":
        judges.draw(counts)
    case _:
        _set_up(found, counts)
counts.follow()
