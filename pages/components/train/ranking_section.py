"""The NevIR section: the form that starts a run, the runs in progress, and the results."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import streamlit as st

from curation.encoders.model_folders import DEFAULT_ENCODER
from curation.formatting import duration
from curation.validation import checked
from db.errors import HedgerowError
from db.models import Run, RunState
from db.runs import STOPPED, UNFINISHED
from pages.components.shared import model_choice, page_runs
from pages.components.shared.shell import current_user, error_messages, open_project
from pages.components.train import curve_charts, curves_view, ranking_pairs, training_runs
from training.finetune.feasibility import TimeEstimate
from training.finetune.finetuning import LARGEST_SEED
from training.models.display_names import short_name
from training.models.known import list_models
from training.ranking.figures import with_epochs
from training.ranking.pairs import PairCounts
from training.ranking.request import (
    ARCHITECTURES,
    FINETUNE_ON_PAIRS,
    RankingRequest,
    list_finetunings,
    pair_counts,
    parts_asked,
    request_of,
    time_needed,
)

HASH_WIDTH = 110
"""Width in pixels of a column that shows about 12 characters of a hash."""


def show() -> None:
    """Draw the section."""
    st.text(
        "A NevIR pair has two documents that differ in a negation. Each comes with a query that "
        "only that document answers. Train a bi-encoder, a cross-encoder or a late-interaction "
        "model on such pairs, as in section 6 of the paper. After each epoch, the charts show "
        "what the model gains on NevIR and what it loses in retrieval."
    )
    runs = open_project.ask(list_finetunings)
    active = [run for run in reversed(runs) if run.state in UNFINISHED]
    for run in active:
        page_runs.follow(run, title=_with_pairs(run), more=curves_view.live_nevir)
    if runs and runs[0].state in STOPPED:
        training_runs.stopped(runs[0], section=training_runs.NEVIR)
    form_box(busy=bool(active))
    _results([run for run in runs if run.state not in UNFINISHED])


def _architecture(run: Run) -> str:
    return run.result.get("architecture") or request_of(run).architecture


def title(run: Run) -> str:
    """The base model and the pairs of a run."""
    request, kind = request_of(run), _architecture(run)
    return f"{short_name(request.base)}{f' ({kind})' if kind else ''} on {request.data_name}"


def _with_pairs(run: Run) -> str:
    """The base model and the pairs of a run, with the number of pairs."""
    counts = pair_counts(open_project.settings().data_folder, run)
    return f"{title(run)}, {counts.description}" if counts else title(run)


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
        format_func=lambda key: page_runs.named(by_id[key].run, title(by_id[key].run)),
        key=f"nevir-runs-{max(by_id)}",  # a new widget when the choices change
        max_selections=curve_charts.MOST,
    )
    if not chosen:
        st.text("Choose at least one run.")
        return
    picked = [by_id[key] for key in chosen]
    labels = {
        one.run.id: f"run {one.run.id}{f': {kind}' if (kind := _architecture(one.run)) else ''}"
        for one in picked
    }
    curves_view.show_nevir(picked, labels)
    _taught([one.run for one in picked if one.run.state == RunState.DONE])


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


# -- The form that starts finetuning on NevIR's pairs ---------------------------------------------


PLANNED_SECONDS = 60.0
"""Seconds for which an estimate is cached: reading thousands of pairs takes one second."""

_PROBLEM = "nevir_problem"

_DEFAULT = RankingRequest(data="-")


@current_user.for_leads("start training runs")
def form_box(*, busy: bool) -> None:
    """The pairs, the model, the settings and the button.

    Args:
        busy: whether another finetuning is in progress; the next one waits for it.
    """
    with st.container(border=True, key="nevir-start-box"):
        files, obstacle = ranking_pairs.choose()
        _model()
        with st.expander("Settings", icon=":material/tune:", key="nevir-settings"):
            _settings()
        with st.container(horizontal=True, vertical_alignment="center"):
            st.button(
                "Finetune",
                key="nevir-start",
                type="primary",
                icon=":material/model_training:",
                disabled=not files or bool(obstacle),
                on_click=_start,
                args=(files,),
            )
            summary = "" if obstacle else _plan_text(files, busy=busy)
            st.text(summary, width="stretch")
        error_messages.show_kept(_PROBLEM)


def _plan_text(files: dict[str, Any], *, busy: bool) -> str:
    if not files:
        return "Add a file of pairs first."
    try:
        request = checked(RankingRequest, files | _chosen())
        counts, guess = _forecast(
            str(open_project.settings().data_folder), request, request.model_dump_json()
        )
    except HedgerowError as error:
        return str(error)
    pace = f"judging by run {guess.by_run}" if guess.by_run else "on two idle CPU cores"
    wait = " This run starts when the current one has ended." if busy else ""
    return (
        f"{counts.description}. Takes {duration(guess.seconds)}, {pace}. The model "
        "is evaluated on NevIR and retrieval before training and after each epoch. You can close "
        f"the browser.{wait}"
    )


@st.cache_data(show_spinner=False, ttl=PLANNED_SECONDS, max_entries=20)
def _forecast(
    data_folder: str, _request: RankingRequest, key: str
) -> tuple[PairCounts, TimeEstimate]:
    parts = parts_asked(Path(data_folder), _request)
    return parts.counts, open_project.ask(time_needed, open_project.settings(), _request, parts)


def _model() -> None:
    with st.container(horizontal=True, vertical_alignment="bottom"):
        st.selectbox(
            "Base model",
            open_project.ask(list_models),
            key=_key("base"),
            accept_new_options=True,
            help=model_choice.ANY_MODEL,
            persist_state="session",
        )
        st.selectbox(
            "Architecture",
            [model_choice.AS_ITS_FILES_SAY, *ARCHITECTURES],
            key=_key("architecture"),
            help="An encoder can also become a cross-encoder or a late-interaction model; its new "
            "layer starts with random weights.",
            persist_state="session",
        )


def _settings() -> None:
    with st.container(horizontal=True, key="train-fields-nevir"):
        _number("Epochs", "epochs", 1, 200, "The paper uses 20.")
        st.number_input(
            "Learning rate",
            1e-7,
            1.0,
            _DEFAULT.learning_rate,
            1e-6,
            format="%g",
            key=_key("learning_rate"),
            persist_state="session",
            help="The peak value. The rate rises over the first tenth of the steps, then falls "
            "linearly.",
        )
        _number(
            "Batch size",
            "batch_size",
            1,
            1024,
            "Triples per step; for a cross-encoder, pairs of query and document.",
        )
    with st.container(horizontal=True, vertical_alignment="bottom", key="train-fields-nevir-data"):
        _number(
            "Maximum length (tokens)",
            "max_length",
            8,
            8192,
            "Longer texts are truncated during training.",
        )
        _number(
            "Seed",
            "seed",
            0,
            LARGEST_SEED,
            "Determines the order of the data, the dropout and the initial values of new weights.",
        )
        st.number_input(
            "Maximum pairs",
            min_value=1,
            value=None,
            placeholder="all",
            key=_key("max_pairs"),
            persist_state="session",
            help="Trains on a random sample of this many pairs.",
        )


def _number(label: str, field: str, least: int, most: int, help_text: str) -> None:
    value = int(getattr(_DEFAULT, field))
    st.number_input(
        label, least, most, value, key=_key(field), help=help_text, persist_state="session"
    )


def _key(field: str) -> str:
    """Widget key for a field of the request."""
    return f"nevir-{field}"


def _chosen() -> dict[str, Any]:
    """The current values of the boxes; the page may not have been redrawn since the last change."""
    fields = ("base", "architecture", "epochs", "learning_rate", "batch_size", "max_length")
    found = {name: st.session_state[_key(name)] for name in (*fields, "seed", "max_pairs")}
    found["base"] = found["base"] or DEFAULT_ENCODER
    if found["architecture"] == model_choice.AS_ITS_FILES_SAY:
        found["architecture"] = ""
    return found


def _start(files: dict[str, Any]) -> None:
    """Store the run and start its process; a problem is shown next to the button."""
    with error_messages.kept_for(_PROBLEM):
        request = checked(RankingRequest, files | _chosen())
        page_runs.begin(FINETUNE_ON_PAIRS, request)
