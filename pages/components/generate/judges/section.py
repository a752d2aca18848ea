"""Judges: a sample that people decide blind, and which models can be trusted by it."""

import streamlit as st

from curation.plurals import counted
from curation.review.calibration.figures import Calibration, calibration
from curation.review.calibration.sample import (
    MAX_SAMPLE,
    Sample,
    SampleRequest,
    address_name,
    list_samples,
    pick_sample,
    store_sample,
)
from curation.review.opinions.stored import judges
from curation.validation import checked
from pages.components.generate import opinions_section
from pages.components.generate.judges import figures
from pages.components.shared.chat_models.choice import MAX_SEED
from pages.components.shared.formatting.label import plain
from pages.components.shared.links import GENERATE_SECTION
from pages.components.shared.shell import error_messages, open_project, rights, signin
from pages.components.shared.shell.count_cache import CachedCounts
from pages.components.shared.variants.picked_variants import SELECTION

OF_EACH, IN_ALL = "of each type", "in all"
_CHOSEN, _PROBLEM = "judges-sample", "judges_problem"


def draw(counts: CachedCounts) -> None:
    """The sample, how far people are with it, and the figures of the models."""
    st.caption(
        "How far can you trust a model's verdicts? Draw a random sample and decide on it blind: "
        "without diagnostics, other verdicts or opinions. Then ask models about it, and see which "
        "types you can leave to which model."
    )
    samples = {sample.id: sample for sample in open_project.ask(list_samples)}
    if not samples:
        with st.container(border=True, key="judges-first"):
            st.header("Draw a sample", anchor=False)
            _form(counts)
        return
    left, right = st.columns([2, 1], vertical_alignment="bottom")
    chosen = left.selectbox(
        "Sample",
        list(samples),
        format_func=lambda number: _named(samples[number]),
        key=_CHOSEN,
        persist_state="session",
    )
    with right.popover("Draw another", icon=":material/casino:", width="stretch"):
        _form(counts)
    found = counts.get(calibration, chosen)
    if found is None:
        return
    _progress(found)
    figures.draw(found, counts)


def _named(sample: Sample) -> str:
    request = sample.request
    labels = {entry.id: plain(entry.label) for entry in open_project.every_type().values()}
    types = ", ".join(labels.get(name, name) for name in request.types) or "all types"
    judged = f", judged by {plain(', '.join(request.judges))}" if request.judges else ""
    return f"Sample {sample.id}: {counted(len(sample.uids), 'variant')}, {types}{judged}"


@rights.for_leads("draw samples")
def _form(counts: CachedCounts) -> None:
    if counts.empty:
        st.text("There are no variants to draw from yet; set up a run that writes some.")
        return
    labels = {entry.id: plain(entry.label) for entry in open_project.types()}
    types = st.pills(
        "Types",
        list(labels),
        selection_mode="multi",
        format_func=lambda key: labels[key],
        key="judges-types",
        help="None picked: all of them.",
    )
    left, middle, right = st.columns(3, vertical_alignment="bottom")
    size = left.number_input(
        "Variants",
        1,
        MAX_SAMPLE,
        100,
        10,
        key="judges-size",
        help="A type can be recommended from 72 variants on that a model accepts without a "
        "mistake, or from 110 with one.",
    )
    how = middle.selectbox("That is", [OF_EACH, IN_ALL], key="judges-how")
    seed = right.number_input(
        "Seed", 0, MAX_SEED, 0, key="judges-seed", help="Another seed draws another sample."
    )
    names = [one.name for one in open_project.ask(judges)]
    judged = (
        st.multiselect(
            "Judged by",
            names,
            format_func=plain,
            key="judges-judged",
            placeholder="Anything that no person has decided on",
            help="Only variants on which all of these models have given their opinion. You can "
            "also ask models afterwards.",
        )
        if names
        else []
    )
    values = {
        "size": int(size),
        "each_type": how == OF_EACH,
        "types": tuple(types or ()),
        "judges": tuple(judged),
        "seed": int(seed),
    }
    st.button(
        "Draw the sample",
        key="judges-draw",
        type="primary",
        icon=":material/casino:",
        on_click=_draw,
        args=(values,),
    )
    error_messages.show_kept(_PROBLEM)


def _draw(values: dict[str, object]) -> None:
    with error_messages.kept_for(_PROBLEM):
        request = checked(SampleRequest, values)
        uids = open_project.ask(pick_sample, request)
        sample = open_project.tell(store_sample, request, uids, requested_by=signin.reviewer_id())
        st.session_state[_CHOSEN] = sample.id


def _progress(found: Calibration) -> None:
    """How many of the variants people have decided on, and the ways to the rest."""
    drawn, decided = sum(found.drawn.values()), sum(found.decided.values())
    name = address_name(found.sample.id)
    with st.container(border=True, key="judges-people"):
        st.header("People", anchor=False)
        st.text(
            f"{decided:,} of {drawn:,} variants decided blind."
            + (
                f" People disagree on {found.disagree:,} of them, where the strictest verdict "
                "counts."
                if found.disagree
                else ""
            )
        )
        st.progress(decided / drawn if drawn else 0.0)
        labels = open_project.type_names()
        st.text(
            " · ".join(
                f"{labels.get(key, key)} {found.decided.get(key, 0):,}/{number:,}"
                for key, number in found.drawn.items()
            )
        )
        with st.container(horizontal=True, vertical_alignment="center"):
            st.page_link(
                "pages/review.py",
                label="Decide on its variants",
                icon=":material/rate_review:",
                query_params={SELECTION: name},
            )
            st.button(
                "Ask a model about them",
                key="judges-ask",
                type="tertiary",
                icon=":material/smart_toy:",
                on_click=_to_opinions,
                args=(found.sample.id,),
            )
        st.caption(
            f"Everybody can go through the sample under this address: review?{SELECTION}={name}. "
            "Its cards are blind wherever they come up in Review, until one has decided. Verdicts "
            "given otherwise do not count here."
        )


def _to_opinions(number: int) -> None:
    st.session_state[opinions_section.SAMPLE] = number
    st.session_state[GENERATE_SECTION] = opinions_section.NAME
