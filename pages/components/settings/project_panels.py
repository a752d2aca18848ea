"""Project settings: threshold, active encoder, and which model verdicts count."""

import streamlit as st

from curation.diagnostics import measuring, model_verdicts, queue_order
from curation.diagnostics.cosines import count_without_cosine
from curation.diagnostics.opinions import ModelReviewer, judges, model_reviewers
from curation.encoders.registered import known_encoders
from curation.formatting import counted
from curation.overview.project_settings import (
    LARGEST_THRESHOLD,
    change_threshold,
    consequences,
    count_over_threshold,
    count_without_active_cosine,
    switch_encoder,
)
from curation.project.settings import ACTIVE_ENCODER, THRESHOLD, get_setting
from db.models import RunState, TeamRole
from pages.components.settings import people_panel
from pages.components.shared import page_runs, scores
from pages.components.shared.shell import count_cache, current_user, error_messages, open_project

FOLLOW_A_CHANGE = (queue_order.KIND, model_verdicts.KIND, measuring.KIND)
"""Kinds of runs that changing these settings starts."""

_ASKED = "switch_asked"
_MESSAGE = "settings_told"


def draw() -> None:
    """Show the panels, and the progress of the runs that follow a change."""
    st.header("Project", anchor=False)
    st.caption("These settings apply to everybody in this project.")
    error_messages.show_once(_MESSAGE)
    _at_work()
    counts = count_cache.CachedCounts()
    if current_user.only_leads("change these settings"):
        _threshold()
        _encoder()
    else:
        st.text(f"Levenshtein threshold: {open_project.ask(get_setting, THRESHOLD)} characters")
        st.text(f"Active encoder: {open_project.ask(get_setting, ACTIVE_ENCODER)}")
    people_panel.draw()
    _models(counts)
    counts.follow()


def _at_work() -> None:
    """Show what is running, what is waiting after a change, or why nothing runs."""
    waiting, unfinished, newest = open_project.ask(consequences, FOLLOW_A_CHANGE)
    for run in unfinished:
        page_runs.follow(run)
    for run in newest:
        if run.state in (RunState.FAILED, RunState.INTERRUPTED):
            page_runs.stopped(run)
    if waiting and not any(run.kind == queue_order.KIND for run in unfinished):
        with st.container(border=True, key="reorder-waits"):
            st.text(
                f"{counted(waiting, 'variant')} {_has(waiting)} not been sorted into the review "
                "queues by the new settings yet."
            )
            if not current_user.may(TeamRole.LEAD):
                return
            st.button(
                "Update the queues",
                key="reorder",
                on_click=page_runs.ensure,
                args=(queue_order.KIND,),
            )


def _threshold() -> None:
    now = int(open_project.ask(get_setting, THRESHOLD))
    with st.container(border=True, key="threshold-panel"):
        value = st.number_input(
            "Levenshtein threshold (characters)",
            1,
            LARGEST_THRESHOLD,
            now,
            key=f"threshold-{now}",
            help="Variants that differ from their anchor by more than this many characters are "
            "flagged as too far from it. The order 'Hardest' in Review also depends on this "
            "threshold.",
        )
        over = open_project.ask(count_over_threshold, value)
        if value == now:
            st.text(f"Variants above the threshold: {over.now:,}.")
        else:
            st.text(f"Variants above {value}: {over.then:,}. Above {now}: {over.now:,}.")
        st.caption(
            "Superseded, retired and unmeasured variants do not count. "
            "Free-form types have no threshold."
        )
        st.button(
            "Change the threshold",
            key="change-threshold",
            disabled=value == now,
            on_click=_change_threshold,
            args=(value,),
        )


def _change_threshold(value: int) -> None:
    if open_project.tell(change_threshold, value):
        page_runs.ensure(queue_order.KIND)


def _encoder() -> None:
    now = str(open_project.ask(get_setting, ACTIVE_ENCODER))
    with st.container(border=True, key="encoder-panel"):
        chosen = st.selectbox(
            "Active encoder",
            open_project.ask(known_encoders),
            key=f"encoder-{now}",
            accept_new_options=True,
            help="The review queues are sorted by its cosine similarities. Choose an encoder, or "
            "enter a folder or a model on the Hugging Face Hub, such as "
            "sentence-transformers/all-mpnet-base-v2.",
        )
        missing = open_project.ask(count_without_active_cosine)
        if chosen == now and missing:
            st.text(
                f"{counted(missing, 'variant')} {_has(missing)} no cosine similarity from "
                "this encoder yet."
            )
            if page_runs.active(measuring.KIND) is None:
                st.button("Measure them", key="measure", on_click=page_runs.measure)
        elif chosen == now:
            some = open_project.ask(count_without_cosine, None)  # all variants
            st.text(
                "Every variant has a cosine similarity from this encoder."
                if some
                else "There are no variants yet."
            )
        else:
            st.text(
                "Reorders the queues by its cosine similarities and measures variants that "
                "have none."
            )
        st.button(
            "Use this encoder",
            key="change-encoder",
            disabled=not chosen or chosen == now,
            on_click=_change_encoder,
            args=(chosen,),
        )


def _change_encoder(typed: str) -> None:
    changed, missing = open_project.tell(switch_encoder, open_project.settings(), typed)
    if changed:
        page_runs.ensure(queue_order.KIND)
        if missing:
            page_runs.measure()


def _models(counts: count_cache.CachedCounts) -> None:
    with st.container(border=True, key="models-panel"):
        st.text("Model reviewers")
        st.caption(
            "A model's verdict counts for variants that no person has decided on. If you switch a "
            "model off, its decisions are kept but do not count."
        )
        models = open_project.ask(model_reviewers)
        if not models:
            st.text("No model has reviewed yet.")
        judging = {judge.id for judge in open_project.ask(judges)}
        for model in models:
            _model(model, counts if model.id in judging else None)


def _model(model: ModelReviewer, counts: count_cache.CachedCounts | None) -> None:
    """Show a model with its switch, and its agreement with people if it gives opinions."""
    key = f"one-line-model-{model.id}"
    with st.container(horizontal=True, vertical_alignment="center", key=key):
        st.text(model.name, width="stretch")
        state = "switched on" if model.counts else "switched off"
        st.text(f"{counted(model.decisions, 'decision')} · {state}", width="content")
        if current_user.may(TeamRole.LEAD):
            st.button(
                "Switch off …" if model.counts else "Switch on …",
                key=f"switch-{model.id}",
                on_click=_ask,
                args=(model.id,),
            )
    if counts and st.toggle("Agreement with people", key=f"agrees-{model.id}"):
        scores.agreement_table(counts, model.id, key=f"agreement-{model.id}")
    if st.session_state.get(_ASKED) != model.id:
        return
    with st.spinner("Counting the changes."):
        plan = open_project.ask(model_verdicts.plan_switch, model.id, counts=not model.counts)
    with st.container(border=True, key="switch-asked"):
        for line in _in_words(plan):
            st.text(line)
        with st.container(horizontal=True):
            st.button(
                "Switch off" if model.counts else "Switch on",
                key="switch-now",
                type="primary",
                on_click=_switch,
                args=(model, not model.counts),
            )
            st.button("Cancel", key="switch-leave", on_click=_ask, args=(None,))


def _has(number: int) -> str:
    return "has" if number == 1 else "have"


def _in_words(plan: model_verdicts.SwitchPlan) -> list[str]:
    if not plan.total:
        return ["No variant changes its status."]
    lines = [f"{plan.total:,} variant{'s change' if plan.total > 1 else ' changes'} status:"]
    by_size = sorted(plan.statuses.items(), key=lambda item: -item[1])
    return lines + [f"{count:,} from {old} to {new}" for (old, new), count in by_size]


def _ask(model_id: int | None) -> None:
    st.session_state[_ASKED] = model_id


def _switch(model: ModelReviewer, counts: bool) -> None:
    """Switch at once if that is fast, otherwise in the background."""
    st.session_state[_ASKED] = None
    if model.decisions > model_verdicts.AT_ONCE:
        page_runs.start(model_verdicts.KIND, {"reviewer": model.id, "counts": counts})
        return
    plan = open_project.tell(model_verdicts.switch, model.id, counts=counts)
    st.session_state[_MESSAGE] = (
        f"{counted(plan.total, 'variant')} {_has(plan.total)} changed status."
    )
