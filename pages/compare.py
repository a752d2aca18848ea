"""Compare: the similarity scores of two models for the same sentences."""

from collections.abc import Sequence

import streamlit as st

from curation.formatting import counted
from db.errors import HedgerowError
from pages.components.compare import charts, measured_view, probe_set_choice, two_models
from pages.components.shared.shell import error_messages, frame, open_project
from training.evaluation.probe_files import parse_sentences
from training.evaluation.probe_sets import MAX_SENTENCES, OpenSet, SetKind, open_set
from training.evaluation.similarity_run import (
    check_sentences,
    sentence_matrix,
    set_cosines,
    store_bundled,
)

_KNOWN = "compare-bundled"  # session key: the cosines that come with Hedgerow are stored


def _set(models: list[two_models.ChosenModel]) -> None:
    name = probe_set_choice.chosen()
    opened = open_project.ask(open_set, name)
    if not opened.probes:
        st.text("This set is empty. Add sentences below.")
    elif opened.kind is SetKind.SENTENCES:
        _matrices(opened.sentences, models, set_name=name)
    else:
        _cosines(opened, models)
    probe_set_choice.edit(opened)


def _cosines(opened: OpenSet, models: list[two_models.ChosenModel]) -> None:
    found = [open_project.ask(set_cosines, model.encoder, opened.probes) for model in models]
    what = f"{len(opened.probes):,} pairs of “{opened.name}”"
    two_models.measure(models, found, what=what, set_name=opened.name)
    if sides := _sides(models, found):
        measured_view.show_set(opened, sides)


def _sentences(models: list[two_models.ChosenModel]) -> None:
    text = st.text_area(
        "Sentences, one per line",
        key="compare-text",
        height=170,
        persist_state="session",
        placeholder="The tuna is raw.\nThe tuna is cooked.\nThe tuna is not cooked.",
        help=f"2 to {MAX_SENTENCES} sentences. Each one is compared with all the others.",
    )
    if not text.strip():
        st.text(
            f"Write or paste 2 to {MAX_SENTENCES} sentences, one per line, then press "
            "Ctrl+Enter. Each model compares every pair."
        )
        return
    try:
        sentences = parse_sentences(text)
        check_sentences(sentences)
    except HedgerowError as error:
        error_messages.show(str(error), key="sentences")
        return
    repeated = sum(bool(line.strip()) for line in text.splitlines()) - len(sentences)
    if repeated:
        st.caption(f"Ignored {counted(repeated, 'repeated sentence')}.")
    _matrices(sentences, models)
    probe_set_choice.save(sentences)


def _matrices(
    sentences: list[str], models: list[two_models.ChosenModel], *, set_name: str = ""
) -> None:
    settings = open_project.settings()
    found = [
        open_project.ask(sentence_matrix, settings, model.encoder, sentences) for model in models
    ]
    what = f"{len(sentences):,} sentences"
    two_models.measure(models, found, what=what, set_name=set_name, sentences=sentences)
    if sides := _sides(models, found):
        measured_view.show_sentences(sentences, sides)


def _sides(
    models: list[two_models.ChosenModel], found: Sequence[object | None]
) -> list[charts.ComparedModel]:
    """The models and their cosines, without those that are not measured yet."""
    return [
        charts.ComparedModel(model.letter, model.label, cosines)
        for model, cosines in zip(models, found, strict=True)
        if cosines is not None
    ]


frame.begin("Compare", "Compare the similarity scores of two models for the same sentences.")
if _KNOWN not in st.session_state:
    open_project.tell_for_the_project(store_bundled)
    st.session_state[_KNOWN] = True
view = probe_set_choice.view()
chosen = two_models.choose()
if chosen and view == probe_set_choice.SETS:
    _set(chosen)
elif chosen:
    _sentences(chosen)
