"""Estimates before a run starts: calls, tokens, cost, time; and the spending caps."""

from typing import Literal

import streamlit as st

from curation.formatting import counted, duration
from curation.generation.budget import change_budget
from curation.generation.estimate import RunEstimate, estimate, newest_answer
from curation.generation.missing_variants import WantedCalls
from curation.generation.prices import DATED, dollars, quote, set_price
from curation.generation.request import BATCH_SHARE, OPENAI, Budget, GenerationRequest, Price
from curation.taxonomy.surface_check import ROLES
from db.models import Run
from pages.components.shared.shell import open_project

MONEY_CAP = 10.0
"""The default cap in US dollars, so that a mistake can't cost a month's budget."""

LEAST_CAP = 0.0001
"""The smallest cap in US dollars. The cheapest answers cost less than a cent."""


def price(model: str) -> Price:
    """Boxes with the model's price, which can be changed and saved. Returns their values."""
    known, is_own = open_project.ask(quote, model)
    shown = known or Price()
    # Each model has its own boxes. Saving its price replaces them, because a box keeps its value.
    key = f"generate-price-{hash((model, shown))}"
    row = st.container(horizontal=True, vertical_alignment="bottom")
    prompt, completion = (
        row.number_input(
            f"US$ per million {way} tokens",
            0.0,
            value=value,
            step=0.05,
            format="%.3f",
            key=f"{key}-{way}",
            persist_state="session",
        )
        for way, value in (("input", shown.prompt), ("output", shown.completion))
    )
    typed = Price(prompt=prompt, completion=completion)
    row.button(
        "Save this price",
        key=f"{key}-keep",
        disabled=typed == known,
        on_click=open_project.tell,
        args=(set_price, model, typed),
        help="Saves the price of this model in this project.",
    )
    if known is None:
        st.caption(
            "The price of this model is unknown. Leave it at 0 for your own server. For any other "
            "server, enter the provider's price."
        )
    else:
        table = f"is from Hedgerow's price table, dated {DATED}"
        origin = "was set in this project" if is_own else table
        st.caption(f"The price {origin}. Check it with your provider.")
    return typed


def budget() -> Budget:
    """Boxes with the caps at which a run pauses."""
    return _caps(Budget(money=MONEY_CAP), "", "Retries count as calls, too.", persist="session")


def _caps(
    caps: Budget, suffix: str, help: str, *, persist: Literal["session"] | None = None
) -> Budget:
    row = st.container(horizontal=True)
    return Budget(
        money=row.number_input(
            "Pause after (US$)",
            LEAST_CAP,
            value=caps.money,
            step=1.0,
            format="%g",
            key=f"generate-money{suffix}",
            placeholder="No cap",
            persist_state=persist,
        ),
        calls=row.number_input(
            "Pause after (calls)",
            1,
            value=caps.calls,
            step=100,
            key=f"generate-calls{suffix}",
            placeholder="No cap",
            help=help,
            persist_state=persist,
        ),
    )


def estimated(request: GenerationRequest, wanted: WantedCalls) -> RunEstimate:
    """The estimate for the run. It is updated when there are new answers."""
    return _estimated(request, wanted, open_project.ask(newest_answer))


@st.cache_data(max_entries=32, show_spinner=False)
def _estimated(request: GenerationRequest, wanted: WantedCalls, newest: int | None) -> RunEstimate:
    return open_project.ask(estimate, request, wanted)


def what_is_asked(wanted: WantedCalls) -> str:
    """The numbers of anchors and calls in words."""
    if not wanted.total:
        return "Nothing to generate: the chosen anchors already have all variants of these calls."
    found = [(role, wanted.calls.get(role, 0)) for role in ROLES]
    calls = [f"{number:,} for {ROLES[role].name.lower()}" for role, number in found if number]
    anchors, number = counted(wanted.anchors, "anchor"), counted(wanted.total, "call")
    return f"{anchors}, {number}: {', '.join(calls)}."


def in_words(found: RunEstimate, request: GenerationRequest) -> list[str]:
    """The tokens, cost and time of a run, one line each."""
    if not found.total_calls:
        return []
    if request.provider != OPENAI:
        free = found.cost is not None
        text = "This calls no model and costs nothing." if free else "The cost is unknown."
        return [text]
    if found.cost is None or found.prompt_tokens is None or found.completion_tokens is None:
        return [
            "Tokens, cost and time are not known yet. Try the model on three anchors to estimate "
            "them.",
        ]
    if not found.prompt_tokens:
        return [
            "The server reports no tokens, so the cost is unknown. Set a cap on the calls.",
            _time(found, request),
        ]
    tokens = f"About {found.prompt_tokens:,.0f} input and {found.completion_tokens:,.0f} output"
    return [
        f"{tokens} tokens, estimated from {counted(found.based_on, 'answered call')}.",
        f"{_money(found.cost, request)} {_time(found, request)}",
        *_beyond(found, request),
    ]


def _beyond(found: RunEstimate, request: GenerationRequest) -> list[str]:
    """The cap at which the run will pause, if any."""
    caps = request.budget
    if caps.money is not None and found.cost is not None and found.cost > caps.money:
        return [f"This exceeds the cap. The run will pause at {dollars(caps.money)}."]
    if caps.calls is not None and found.total_calls > caps.calls:
        return [f"This exceeds the cap. The run will pause at {caps.calls:,} calls."]
    return []


def _money(cost: float, request: GenerationRequest) -> str:
    if request.price == Price():
        return "At a price of 0, the run costs nothing."
    share = f", a batch's {BATCH_SHARE:.0%} of the price" if request.batch else ""
    return f"Expected cost: {dollars(cost)}{share}."


def _time(found: RunEstimate, request: GenerationRequest) -> str:
    if request.batch:
        return "A batch is answered within a day."
    if found.seconds is None:
        return "The time is not known yet."
    return f"Takes {duration(found.seconds)} with {request.concurrency} concurrent calls."


# -- The spending caps of a stopped run, which can be changed when it is resumed ------------------


def cap_boxes(run: Run) -> Budget:
    """Boxes with the run's caps. Returns their values."""
    return _caps(_stored(run), f"-{run.id}", "Calls already made count, too.")


def apply_caps(run: Run, budget: Budget) -> None:
    """Give the run the caps in the boxes, if they differ from its own.

    Raises:
        HedgerowError: as `change_budget`.
    """
    state = st.session_state
    budget = Budget(
        money=state.get(f"generate-money-{run.id}", budget.money),
        calls=state.get(f"generate-calls-{run.id}", budget.calls),
    )
    if budget != _stored(run):
        open_project.tell(change_budget, run.id, budget)


def _stored(run: Run) -> Budget:
    return Budget(**run.parameters.get("budget", {}))
