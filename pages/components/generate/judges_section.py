"""Judges: a sample that people decide blind, to measure which models can be trusted."""

import streamlit as st

from curation.diagnostics.opinions import judges
from curation.formatting import counted
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
from curation.validation import checked
from pages.components.generate import judge_figures, opinions_section
from pages.components.shared import formatting, links, model_choice
from pages.components.shared.shell import count_cache, current_user, error_messages, open_project

OF_EACH, IN_ALL = "per type", "in total"
_CHOSEN, _PROBLEM = "judges-sample", "judges_problem"


def draw(counts: count_cache.CachedCounts) -> None:
    """Show the sample, the progress of people, and the results of the models."""
    st.caption(
        "Measure how reliable a model's verdicts are. Create a random sample and review it blind, "
        "without diagnostics, other verdicts or opinions. Then ask models to judge it to see which "
        "types you can leave to which model."
    )
    if counts.empty:
        links.no_variants()
        return
    samples = {sample.id: sample for sample in open_project.ask(list_samples)}
    if not samples:
        with st.container(border=True, key="judges-first"):
            st.header("Create a sample", anchor=False)
            _form()
        return
    left, right = st.columns([2, 1], vertical_alignment="bottom")
    chosen = left.selectbox(
        "Sample",
        list(samples),
        format_func=lambda number: _title(samples[number]),
        key=_CHOSEN,
        persist_state="session",
    )
    with right.popover("New sample", icon=":material/casino:", width="stretch"):
        _form()
    found = counts.get(calibration, chosen)
    if found is None:
        return
    _progress(found)
    judge_figures.draw(found, counts)


def _title(sample: Sample) -> str:
    request = sample.request
    labels = {entry.id: entry.label for entry in open_project.every_type().values()}
    types = ", ".join(labels.get(name, name) for name in request.types) or "all types"
    judged = f", judged by {', '.join(request.judges)}" if request.judges else ""
    return f"Sample {sample.id}: {counted(len(sample.uids), 'variant')}, {types}{judged}"


@current_user.for_leads("create samples")
def _form() -> None:
    labels = {entry.id: formatting.plain(entry.label) for entry in open_project.types()}
    types = st.pills(
        "Types",
        list(labels),
        selection_mode="multi",
        format_func=lambda key: labels[key],
        key="judges-types",
        help="Leave empty for all types.",
    )
    left, middle, right = st.columns(3, vertical_alignment="bottom")
    size = left.number_input(
        "Variants",
        1,
        MAX_SAMPLE,
        100,
        10,
        key="judges-size",
        help="A type qualifies if the model accepts at least 72 of its variants without a "
        "mistake, or at least 110 with one mistake.",
    )
    how = middle.selectbox("Size", [OF_EACH, IN_ALL], key="judges-how")
    seed = right.number_input(
        "Seed",
        0,
        model_choice.MAX_SEED,
        0,
        key="judges-seed",
        help="Change the seed to get a different sample.",
    )
    names = [one.name for one in open_project.ask(judges)]
    judged = (
        st.multiselect(
            "Already judged by",
            names,
            key="judges-judged",
            placeholder="Any variant without a human decision",
            help="Restricts the sample to variants that all of these models have judged. You can "
            "also ask models afterwards.",
        )
        if names
        else []
    )
    st.caption(_total(int(size), len(types or labels), each_type=how == OF_EACH))
    values = {
        "size": int(size),
        "each_type": how == OF_EACH,
        "types": tuple(types or ()),
        "judges": tuple(judged),
        "seed": int(seed),
    }
    st.button(
        "Create the sample",
        key="judges-draw",
        type="primary",
        icon=":material/casino:",
        on_click=_create,
        args=(values,),
    )
    error_messages.show_kept(_PROBLEM)


def _total(size: int, types: int, *, each_type: bool) -> str:
    """The maximum size of the sample; a type may have fewer variants."""
    if not each_type:
        return f"Up to {counted(size, 'variant')} in total."
    return (
        f"Up to {counted(size * types, 'variant')}: {size:,} of each of {counted(types, 'type')}."
    )


def _create(values: dict[str, object]) -> None:
    with error_messages.kept_for(_PROBLEM):
        request = checked(SampleRequest, values)
        uids = open_project.ask(pick_sample, request)
        sample = open_project.tell(
            store_sample, request, uids, requested_by=current_user.reviewer_id()
        )
        st.session_state[_CHOSEN] = sample.id


def _progress(found: Calibration) -> None:
    """Show how many variants people have decided, and links to the rest."""
    sampled, decided = sum(found.sampled.values()), sum(found.decided.values())
    name = address_name(found.sample.id)
    with st.container(border=True, key="judges-people"):
        st.header("People", anchor=False)
        st.text(
            f"{decided:,} of {sampled:,} variants decided blind."
            + (
                f" People disagree on {found.disagree:,} of them. The strictest verdict counts."
                if found.disagree
                else ""
            )
        )
        st.progress(decided / sampled if sampled else 0.0)
        labels = open_project.type_names()
        st.text(
            " · ".join(
                f"{labels.get(key, key)} {found.decided.get(key, 0):,}/{number:,}"
                for key, number in found.sampled.items()
            )
        )
        with st.container(horizontal=True, vertical_alignment="center"):
            st.page_link(
                "pages/review.py",
                label="Review the sample",
                icon=":material/rate_review:",
                query_params={links.SELECTION: name},
            )
            st.button(
                "Ask a model to judge it",
                key="judges-ask",
                type="tertiary",
                icon=":material/smart_toy:",
                on_click=st.session_state.update,
                args=(
                    {
                        opinions_section.SAMPLE: found.sample.id,
                        links.GENERATE_SECTION: opinions_section.NAME,
                    },
                ),
            )
        st.caption(
            f"All reviewers can open the sample at review?{links.SELECTION}={name}. Its cards stay "
            "blind in Review until you have decided on them. Decisions that were not made blind do "
            "not count here."
        )
