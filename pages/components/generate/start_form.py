"""Set up a run: what, by which model, cost; a trial first, then the run."""

from typing import Any

import streamlit as st

from curation.anchors.lookup import has_anchors
from curation.generation.choices import trial_of
from curation.generation.estimate import TRIAL
from curation.generation.request import OPENAI, Budget, GenerationRequest, Price
from curation.generation.run import checked_request, request_generation
from db.errors import HedgerowError
from pages.components.generate import anchor_choice
from pages.components.shared.chat_models import model_choice, provider_key, run_cost
from pages.components.shared.chat_models.choice import Choice
from pages.components.shared.runs import background
from pages.components.shared.shell import count_cache, error_messages, open_project, rights, signin
from pages.components.shared.shell.count_cache import CachedCounts
from pages.components.shared.variants import empty_state


@rights.for_leads("start runs")
def box(counts: CachedCounts) -> None:
    """Show the form, or what to do if there are no anchors."""
    if not open_project.ask(has_anchors):
        empty_state.no_anchors()
        return
    with st.container(border=True, key="generate-what"):
        st.header("Anchors and types", anchor=False)
        choice = anchor_choice.draw()
    with st.container(border=True, key="generate-who"):
        st.header("Writer", anchor=False)
        values = model_choice.draw(choice.roles if choice else ())
    with st.container(border=True, key="generate-cost"):
        st.header("Cost and time", anchor=False)
        if choice is not None:
            _cost(choice, values, counts)


def _cost(choice: Choice, values: dict[str, Any], counts: CachedCounts) -> None:
    is_model = values["provider"] == OPENAI
    wanted = run_cost.wanted_by(counts, choice)
    if wanted is not None:
        st.text(run_cost.what_is_asked(wanted))
    if is_model and not values["model"]:
        if wanted is None or wanted.total:
            st.text("Choose a model to see the cost.")
        return
    price = run_cost.price(values["model"]) if is_model else Price()
    budget = run_cost.budget() if is_model else Budget()
    try:
        request = checked_request(values | choice._asdict() | {"price": price, "budget": budget})
    except HedgerowError as error:
        error_messages.show(str(error), key="generate-request")
        return
    if wanted is None:  # the page reruns when the count is ready
        return
    found = run_cost.estimated(request, wanted)
    for line in run_cost.in_words(found, request):
        st.text(line)
    lacks_key = is_model and provider_key.lacks(request.base_url)
    if lacks_key:
        st.text(
            "OpenAI needs an API key. Enter one above, or enter the address of your own server."
        )
    _buttons(request, disabled=lacks_key or not found.total_calls, known=found.cost is not None)


def _buttons(request: GenerationRequest, *, disabled: bool, known: bool) -> None:
    """These are not callbacks, which would start the choice of the previous rerun."""
    with st.container(horizontal=True):
        tried = st.button(
            f"Try on {_number(TRIAL)} anchors",
            key="generate-try",
            disabled=disabled,
            type="secondary" if known else "primary",
            icon=":material/science:",
        )
        asked = st.button(
            "Start",
            key="generate-start",
            disabled=disabled,
            icon=":material/play_arrow:",
            type="primary" if known else "secondary",
        )
    if disabled or not (tried or asked):
        return
    try:
        with st.spinner("Storing the calls."):
            _start(trial_of(request) if tried else request)
    except HedgerowError as error:
        error_messages.show(str(error), key="generate")
    else:
        st.rerun()


def _number(number: int) -> str:
    return {3: "three"}.get(number, str(number))


def _start(request: GenerationRequest) -> None:
    """Store a run with its calls and start its process."""
    run = open_project.tell(
        request_generation, request, requested_by=signin.reviewer_id(), alone=True
    )
    count_cache.forget()  # the number of variants left to generate changes
    background.start_process_of(run, provider_key.environment(request.base_url))
