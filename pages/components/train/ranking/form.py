"""The form that starts finetuning on NevIR's pairs."""

from pathlib import Path
from typing import Any

import streamlit as st

from curation.encoders.model_folders import DEFAULT_ENCODER
from curation.validation import checked
from db.errors import HedgerowError
from pages.components.shared.runs import background, progress_view
from pages.components.shared.shell import error_messages, open_project, rights, signin
from pages.components.train.ranking import pairs_choice
from training.finetune.fitting import LARGEST_SEED
from training.models.known import list_models
from training.ranking.pairs import PairCounts
from training.ranking.request import (
    ARCHITECTURES,
    RankingRequest,
    parts_asked,
    request_finetuning,
)
from training.ranking.time_needed import estimate
from training.recipe.time_estimate import TimeEstimate

AS_ITS_FILES_SAY = "as in the model's files"

PLANNED_SECONDS = 60.0
"""Seconds for which an estimate is cached: reading thousands of pairs takes one second."""

_PROBLEM = "nevir_problem"

_DEFAULT = RankingRequest(data="-")

_MODEL_HELP = (
    "Choose a model of this project. For any other, type the folder of a sentence-transformers "
    "model or its name on the model hub and press Enter."
)

_ARCHITECTURE_HELP = (
    "An encoder can also become a cross-encoder or a late-interaction model; its new layer "
    "starts with random weights."
)


@rights.for_leads("start training runs")
def box(*, busy: bool) -> None:
    """The pairs, the model, the settings and the button.

    Args:
        busy: whether another finetuning is in progress; the next one waits for it.
    """
    with st.container(border=True, key="nevir-start-box"):
        files, obstacle = pairs_choice.choose()
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
        f"{counts.description}. Takes {progress_view.duration(guess.seconds)}, {pace}. The model "
        "is evaluated on NevIR and retrieval before training and after each epoch. You can close "
        f"the browser.{wait}"
    )


@st.cache_data(show_spinner=False, ttl=PLANNED_SECONDS, max_entries=20)
def _forecast(
    data_folder: str, _request: RankingRequest, key: str
) -> tuple[PairCounts, TimeEstimate]:
    parts = parts_asked(Path(data_folder), _request)
    return parts.counts, open_project.ask(estimate, open_project.settings(), _request, parts)


def _model() -> None:
    with st.container(horizontal=True, vertical_alignment="bottom"):
        st.selectbox(
            "Base model",
            open_project.ask(list_models),
            key=_key("base"),
            accept_new_options=True,
            help=_MODEL_HELP,
            persist_state="session",
        )
        st.selectbox(
            "Architecture",
            [AS_ITS_FILES_SAY, *ARCHITECTURES],
            key=_key("architecture"),
            help=_ARCHITECTURE_HELP,
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
    if found["architecture"] == AS_ITS_FILES_SAY:
        found["architecture"] = ""
    return found


def _start(files: dict[str, Any]) -> None:
    """Store the run and start its process; a problem is shown next to the button."""
    with error_messages.kept_for(_PROBLEM):
        run = open_project.tell(
            request_finetuning,
            open_project.settings(),
            checked(RankingRequest, files | _chosen()),
            requested_by=signin.reviewer_id(),
        )
        background.start_process_of(run)
