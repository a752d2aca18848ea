"""The section NevIR: the next finetuning, what is under way, and what came out."""

from collections.abc import Sequence

import streamlit as st

from db.models import Run, RunState
from db.runs import STOPPED, UNFINISHED
from pages.components.shared.formatting import clock
from pages.components.shared.runs import background, progress_view
from pages.components.shared.shell import error_messages, open_project
from pages.components.train.ranking import charts, curves_view, form
from training.finetune import checkpoints
from training.ranking.epochs import with_epochs
from training.ranking.request import list_finetunings, pair_counts, request_of

_PROBLEM = "nevir_again_problem"

_IDEA = (
    "NevIR's pairs are two passages that differ in a negation, each with a query that only it "
    "answers. Here a bi-encoder, a cross-encoder or a late-interaction model learns from such "
    "pairs, as in section 6 of the paper. After each epoch you see what it gains on NevIR and "
    "what that costs in retrieval."
)


def show() -> None:
    """All of the section."""
    st.text(_IDEA)
    runs = open_project.ask(list_finetunings)
    active = [run for run in reversed(runs) if run.state in UNFINISHED]
    for run in active:
        progress_view.follow(run, title=_with_pairs(run), more=curves_view.live)
    if runs and runs[0].state in STOPPED:
        _stopped(runs[0])
    error_messages.show_kept(_PROBLEM)
    form.box(busy=bool(active))
    _results([run for run in runs if run.state not in UNFINISHED])


def title(run: Run) -> str:
    """What a run trains; it holds names of a model and a file."""
    request = request_of(run)
    architecture = run.result.get("architecture") or request.architecture
    kind = f" ({architecture})" if architecture else ""
    return f"{request.base}{kind} on {request.data_name}"


def _with_pairs(run: Run) -> str:
    """What a run trains, and on how many pairs."""
    counts = pair_counts(open_project.settings().data_folder, run)
    return f"{title(run)}, {counts.told}" if counts else title(run)


def _stopped(run: Run) -> None:
    reached = checkpoints.step_reached(open_project.settings().data_folder / run.folder)
    label = f"Continue from step {reached:,}" if reached else "Start it again"
    progress_view.stopped(run, again=lambda: _again(run), label=label)


def _again(run: Run) -> None:
    with error_messages.kept_for(_PROBLEM):
        background.start_again(run)


def _results(ended: Sequence[Run]) -> None:
    """Some runs together: what each was taught, and its figures by epoch."""
    found = [one for one in open_project.ask(with_epochs, ended) if one.epochs]
    if not found:
        return
    st.header("What came out", anchor=False)
    by_id = {one.run.id: one for one in found}
    newest = next((one.run for one in found if one.run.state == RunState.DONE), found[0].run)
    chosen = st.multiselect(
        "Runs",
        list(by_id),
        default=[newest.id],
        format_func=lambda key: _named(by_id[key].run),
        key=f"nevir-runs-{max(by_id)}",  # a new widget where there are others to choose from
        max_selections=charts.MOST,
    )
    if not chosen:
        st.text("Choose a run.")
        return
    picked = [by_id[key] for key in chosen]
    labels = {one.run.id: _label(one.run) for one in picked}
    curves_view.show(picked, labels)
    _taught([one.run for one in picked if one.run.state == RunState.DONE])


def _named(run: Run) -> str:
    when = f"{clock.local(run.created_at):%Y-%m-%d %H:%M}"
    return f"Run {run.id}: {title(run)}, {when}, {progress_view.STATES[run.state]}"


def _label(run: Run) -> str:
    """What a run is called in charts."""
    architecture = run.result.get("architecture") or request_of(run).architecture
    return f"run {run.id}: {architecture}" if architecture else f"run {run.id}"


def _taught(runs: Sequence[Run]) -> None:
    """What each model was trained on and measured on, and where it is."""
    if not runs:
        return
    st.markdown("**What each model was taught**")
    st.dataframe([_facts(run) for run in runs], hide_index=True, key="nevir-taught")
    st.page_link(
        "pages/benchmarks.py",
        label="Compare them with other models in the benchmarks",
        icon=":material/leaderboard:",
    )


def _facts(run: Run) -> dict[str, object]:
    result, request = run.result, request_of(run)
    data, validation = result["data"], result["validation"]
    return {
        "Model": result["name"],
        "Architecture": result["architecture"],
        "Trained on": data["name"],
        "SHA-256": data["hash"],
        "Pairs": data["trained_on"],
        "Passages": data["passages"],
        "Measured on": validation.get("name") or "pairs held out",
        "Held-out pairs": data["held_out"],
        "Loss": result["loss"],
        "Epochs": request.epochs,
        "Learning rate": request.learning_rate,
        "Folder": str(open_project.settings().data_folder / result["model"]),
    }
