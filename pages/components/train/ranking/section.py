"""The NevIR section: the next run, those in progress, and the results."""

from collections.abc import Sequence

import streamlit as st

from db.models import Run, RunState
from db.runs import STOPPED, UNFINISHED
from pages.components.shared.formatting import clock
from pages.components.shared.runs import background, progress_view
from pages.components.shared.shell import error_messages, open_project
from pages.components.train.ranking import charts, curves_view, form
from training.finetune import checkpoints
from training.models.display_names import short_name
from training.ranking.epochs import with_epochs
from training.ranking.request import list_finetunings, pair_counts, request_of

HASH_WIDTH = 110
"""Width in pixels of a column that shows about 12 characters of a hash."""

_PROBLEM = "nevir_again_problem"

_IDEA = (
    "A NevIR pair has two documents that differ in a negation. Each comes with a query that "
    "only that document answers. Train a bi-encoder, a cross-encoder or a late-interaction "
    "model on such pairs, as in section 6 of the paper. After each epoch, the charts show what "
    "the model gains on NevIR and what it loses in retrieval."
)


def show() -> None:
    """Draw the section."""
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
    """The base model and the pairs of a run."""
    request = request_of(run)
    architecture = run.result.get("architecture") or request.architecture
    kind = f" ({architecture})" if architecture else ""
    return f"{short_name(request.base)}{kind} on {request.data_name}"


def _with_pairs(run: Run) -> str:
    """The base model and the pairs of a run, with the number of pairs."""
    counts = pair_counts(open_project.settings().data_folder, run)
    return f"{title(run)}, {counts.description}" if counts else title(run)


def _stopped(run: Run) -> None:
    reached = checkpoints.step_reached(open_project.settings().data_folder / run.folder)
    label = f"Continue from step {reached:,}" if reached else "Start again"
    progress_view.stopped(run, again=lambda: _again(run), label=label)


def _again(run: Run) -> None:
    with error_messages.kept_for(_PROBLEM):
        background.start_again(run)


def _results(ended: Sequence[Run]) -> None:
    """Several runs together: their settings, and their figures by epoch."""
    found = [one for one in open_project.ask(with_epochs, ended) if one.epochs]
    if not found:
        return
    st.header("Results", anchor=False)
    by_id = {one.run.id: one for one in found}
    newest = next((one.run for one in found if one.run.state == RunState.DONE), found[0].run)
    chosen = st.multiselect(
        "Runs",
        list(by_id),
        default=[newest.id],
        format_func=lambda key: _named(by_id[key].run),
        key=f"nevir-runs-{max(by_id)}",  # a new widget when the choices change
        max_selections=charts.MOST,
    )
    if not chosen:
        st.text("Choose at least one run.")
        return
    picked = [by_id[key] for key in chosen]
    labels = {one.run.id: _label(one.run) for one in picked}
    curves_view.show(picked, labels)
    _taught([one.run for one in picked if one.run.state == RunState.DONE])


def _named(run: Run) -> str:
    when = f"{clock.local(run.created_at):%Y-%m-%d %H:%M}"
    return f"Run {run.id}: {title(run)}, {when}, {progress_view.STATES[run.state]}"


def _label(run: Run) -> str:
    """A run's name in charts."""
    architecture = run.result.get("architecture") or request_of(run).architecture
    return f"run {run.id}: {architecture}" if architecture else f"run {run.id}"


def _taught(runs: Sequence[Run]) -> None:
    """The training and evaluation data of each model, and its folder."""
    if not runs:
        return
    st.markdown("**Models and their training data**")
    digest = st.column_config.TextColumn(
        width=HASH_WIDTH, help="Hash of the training pairs. Double-click a cell to see all of it."
    )
    st.dataframe(
        [_facts(run) for run in runs],
        hide_index=True,
        key="nevir-taught",
        column_config={"SHA-256": digest},
    )
    st.page_link(
        "pages/benchmarks.py",
        label="Compare with other models",
        icon=":material/leaderboard:",
    )


def _facts(run: Run) -> dict[str, object]:
    result, request = run.result, request_of(run)
    data, validation = result["data"], result["validation"]
    return {
        "Model": result["name"],
        "Architecture": result["architecture"],
        "Training data": data["name"],
        "Pairs": data["trained_on"],
        "Source passages": data["passages"],
        "Evaluated on": validation.get("name") or "held-out pairs",
        "Held-out pairs": data["held_out"],
        "Loss": result["loss"],
        "Epochs": request.epochs,
        "Learning rate": request.learning_rate,
        "SHA-256": data["hash"],
        "Folder": str(open_project.settings().data_folder / result["model"]),
    }
