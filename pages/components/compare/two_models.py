"""Choosing the two models of the Compare page, and measuring what is missing."""

from collections.abc import Sequence
from typing import NamedTuple

import streamlit as st

from curation.encoders.model_folders import DEFAULT_ENCODER, TRAINED_ENCODER
from db.errors import HedgerowError
from db.models import Encoder, Run
from db.runs import STOPPED, list_runs
from pages.components.shared import model_choice, page_runs
from pages.components.shared.shell import current_user, error_messages, open_project
from training.evaluation.similarity_run import COMPARE, KIND, Compare
from training.models.display_names import choice_names, short_name
from training.models.known import encoder_choice, named_encoder

LONGEST_LABEL = 32
"""Most characters of a model's name in a chart."""

_PROBLEM = "compare_problem"


class ChosenModel(NamedTuple):
    """A chosen model: its letter, its name, its label in charts, its database row."""

    letter: str
    name: str
    label: str
    encoder: Encoder | None
    """None if nothing has been measured with it yet."""


def choose() -> list[ChosenModel]:
    """The two models, or one; a name that can't be found is reported and left out."""
    choice = open_project.ask(encoder_choice)
    names = choice.names
    labels = choice_names(names)
    left, right = st.columns(2)
    first = left.selectbox(
        "Model A",
        names,
        format_func=lambda name: labels.get(name, name),
        key="a",
        bind="query-params",
        accept_new_options=True,
        help=model_choice.ANY_MODEL,
    )
    second = right.selectbox(
        "Model B",
        names,
        index=names.index(choice.after) if choice.after in names else None,
        format_func=lambda name: labels.get(name, name),
        key="b",
        bind="query-params",
        accept_new_options=True,
        help=model_choice.ANY_MODEL,
        placeholder="None. Choose a model, or type a folder or a name on the model hub",
    )
    if choice.trained is None:
        with st.container(horizontal=True, vertical_alignment="center", key="compare-train"):
            st.text(
                f"{TRAINED_ENCODER} comes with Hedgerow. You can compare your own model, too.",
                width="content",
            )
            st.page_link("pages/train.py", label="Train a model", icon=":material/model_training:")
    found = [_chosen(letter, name) for letter, name in (("A", first), ("B", second)) if name]
    return _distinct([model for model in found if model is not None])


def _chosen(letter: str, name: str) -> ChosenModel | None:
    try:
        clean, encoder = open_project.ask(named_encoder, name)
    except HedgerowError as error:
        error_messages.show(f"Model {letter}: {error}", key=f"model-{letter}")
        return None
    short = short_name(clean)
    label = short if len(short) <= LONGEST_LABEL else f"{short[: LONGEST_LABEL - 1]}…"
    return ChosenModel(letter, clean, label, encoder)


def _distinct(models: list[ChosenModel]) -> list[ChosenModel]:
    """The models without duplicates; equal labels get their letter."""
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
    """Say what is not measured yet, with a button to measure it; follow the active run.

    Args:
        found: the measurements of each model; None if some are missing.
        what: a description of what to measure.
        set_name: the probe set; if empty, `sentences` are measured.
        sentences: the sentences to measure without a probe set.
    """
    missing = [model for model, known in zip(models, found, strict=True) if known is None]
    names = [model.name for model in missing]
    stopped = _stopped(names, set_name, sentences)
    active = page_runs.active(KIND)
    if active is not None:
        page_runs.follow(active, title=_title(active))
    if not missing:
        return
    if active is None:
        if stopped is not None:
            page_runs.stopped(stopped)
        if not current_user.only_leads("have models measured"):
            return
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
                    f"Not measured yet: {what} with {' and '.join(map(short_name, names))}. This "
                    "takes a few seconds. The result is stored.",
                    width="stretch",
                )
            error_messages.show_kept(_PROBLEM)


def _start(names: list[str], set_name: str, sentences: list[str]) -> None:
    with error_messages.kept_for(_PROBLEM):
        request = Compare(models=tuple(names), set_name=set_name, sentences=tuple(sentences))
        page_runs.begin(COMPARE, request)


def _stopped(names: list[str], set_name: str, sentences: Sequence[str]) -> Run | None:
    """The last run, if it had the same request and did not finish."""
    runs = open_project.ask(list_runs, kind=KIND, limit=1)
    for run in runs:
        asked = run.parameters
        same = asked.get("set") == set_name and (
            bool(set_name) or asked.get("sentences") == list(sentences)
        )
        if run.state in STOPPED and same and set(names) & set(asked.get("models", ())):
            return run
    return None


def _title(run: Run) -> str:
    asked = run.parameters
    names = map(short_name, asked.get("models", [DEFAULT_ENCODER]))
    what = (
        f"“{asked['set']}”" if asked.get("set") else f"{len(asked.get('sentences', ()))} sentences"
    )
    return f"evaluate {' and '.join(names)} on {what}"
