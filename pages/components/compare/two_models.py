"""Choosing the two models of the Compare page, and having them measure what they have not yet."""

from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

import streamlit as st

from curation.encoders.model_folders import DEFAULT_ENCODER
from db.errors import HedgerowError
from db.models import Encoder, Run, RunState
from db.runs import list_runs
from pages.components.shared.runs import background, progress_view
from pages.components.shared.shell import error_messages, open_project, signin
from training.evaluation.similarity_run import KIND, request_comparison
from training.models.known import encoder_choice, named_encoder

LONGEST_LABEL = 32
"""Characters of a model's name in a chart."""

_PROBLEM = "compare_problem"

_HELP = (
    "A model of this project, or any other: type the folder of a sentence-transformers model, or "
    "its name on the model hub, and press Enter."
)


class ChosenModel(NamedTuple):
    """A model that was chosen: its letter, its name, what it is called in charts, its row."""

    letter: str
    name: str
    label: str
    encoder: Encoder | None
    """None where nothing has been measured under it yet."""


def choose() -> list[ChosenModel]:
    """The two models, or one; a name that leads nowhere is told, and its model left out."""
    names, newest = open_project.ask(encoder_choice)
    left, right = st.columns(2)
    first = left.selectbox(
        "Model A",
        names,
        key="a",
        bind="query-params",
        accept_new_options=True,
        help=_HELP,
    )
    second = right.selectbox(
        "Model B",
        names,
        index=names.index(newest) if newest in names else None,
        key="b",
        bind="query-params",
        accept_new_options=True,
        help=_HELP,
        placeholder="None; choose one, or type a folder or a name on the model hub",
    )
    if newest is None:
        st.page_link(
            "pages/train.py",
            label="There is no trained model yet: train one to compare it with.",
        )
    found = [_chosen(letter, name) for letter, name in (("A", first), ("B", second)) if name]
    return _told_apart([model for model in found if model is not None])


def _chosen(letter: str, name: str) -> ChosenModel | None:
    try:
        clean, encoder = open_project.ask(named_encoder, name)
    except HedgerowError as error:
        error_messages.show(f"Model {letter}: {error}", key=f"model-{letter}")
        return None
    return ChosenModel(letter, clean, _label(clean), encoder)


def _label(name: str) -> str:
    """A short name: a trained model's run, a folder's own name."""
    short = Path(name).name if Path(name).is_absolute() else name
    if short.startswith("run ") and ":" in short:
        short = short.partition(":")[0]
    return short if len(short) <= LONGEST_LABEL else f"{short[: LONGEST_LABEL - 1]}…"


def _told_apart(models: list[ChosenModel]) -> list[ChosenModel]:
    """The same models; one that is chosen twice is compared once, equal labels get their letter."""
    if len({model.name for model in models}) < len(models):
        return models[:1]
    if len({model.label for model in models}) < len(models):
        return [model._replace(label=f"{model.letter}: {model.label}") for model in models]
    return models


def measure(
    models: Sequence[ChosenModel],
    found: Sequence[object | None],
    *,
    what: str,
    set_name: str = "",
    sentences: Sequence[str] = (),
) -> None:
    """Say what is not measured yet, with a button that has it measured; follow the run at work.

    Args:
        found: what is known under each model; None where something is missing.
        what: what there is to measure, in words.
        set_name: the probe set, or else
        sentences: the sentences to measure.
    """
    missing = [model for model, known in zip(models, found, strict=True) if known is None]
    active = background.active(KIND)
    if active is not None:
        progress_view.follow(active, title=_title(active))
    if not missing:
        return
    names = [model.name for model in missing]
    if active is None:
        _stopped(names, set_name, sentences)
        with st.container(border=True, key="compare-measure"):
            with st.container(horizontal=True, vertical_alignment="center"):
                st.button(
                    "Measure",
                    key="compare-start",
                    type="primary",
                    icon=":material/straighten:",
                    on_click=_start,
                    args=(names, set_name, list(sentences)),
                )
                st.text(
                    f"{what}, under {' and '.join(names)}: not measured yet. Takes some seconds, "
                    "and is kept.",
                    width="stretch",
                )
            error_messages.show_kept(_PROBLEM)


def _start(names: list[str], set_name: str, sentences: list[str]) -> None:
    with error_messages.kept_for(_PROBLEM):
        run = open_project.tell(
            request_comparison,
            models=names,
            set_name=set_name,
            sentences=() if set_name else sentences,
            requested_by=signin.reviewer_id(),
        )
        background.start_process_of(run)


def _stopped(names: list[str], set_name: str, sentences: Sequence[str]) -> None:
    """Tell of the last run over the same, if it did not reach its end."""
    runs = open_project.ask(list_runs, kind=KIND, limit=1)
    for run in runs:
        asked = run.parameters
        same = asked.get("set") == set_name and (
            bool(set_name) or asked.get("sentences") == list(sentences)
        )
        if run.state != RunState.DONE and same and set(names) & set(asked.get("models", ())):
            progress_view.stopped(run)


def _title(run: Run) -> str:
    asked = run.parameters
    what = asked.get("set") or f"{len(asked.get('sentences', ()))} sentences"
    return f"measure “{what}” under {' and '.join(asked.get('models', [DEFAULT_ENCODER]))}"
