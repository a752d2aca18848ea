"""What a run will take, said before it starts: calls, tokens, money, time; and its caps."""

import streamlit as st

from curation.generation.costs.estimate import RunEstimate, estimate, newest_answer
from curation.generation.costs.prices import DATED, dollars, quote, set_price
from curation.generation.missing_variants import WantedCalls, count_wanted
from curation.generation.request import BATCH_SHARE, OPENAI, Budget, GenerationRequest, Price
from curation.plurals import counted
from curation.taxonomy.roles import ROLES
from pages.components.shared.chat_models.choice import Choice
from pages.components.shared.runs import progress_view
from pages.components.shared.shell import open_project
from pages.components.shared.shell.count_cache import CachedCounts

MONEY_CAP = 10.0
"""US dollars, unless somebody sets another cap: a slip shall not cost a month's budget."""

LEAST_CAP = 0.0001
"""US dollars; the cheapest answers cost less than a cent."""


def price(model: str) -> Price:
    """Boxes with the model's price, which can be changed and kept; gives what they hold."""
    known, is_own = open_project.ask(quote, model)
    shown = known or Price()
    # A model has boxes of its own, and new ones when its price was kept: a box keeps its value.
    key = f"generate-price-{hash((model, shown))}"
    row = st.container(horizontal=True, vertical_alignment="bottom")
    prompt, completion = (
        row.number_input(
            f"US$ a million tokens {way}",
            0.0,
            value=value,
            step=0.05,
            format="%.3f",
            key=f"{key}-{way}",
            persist_state="session",
        )
        for way, value in (("in", shown.prompt), ("out", shown.completion))
    )
    typed = Price(prompt=prompt, completion=completion)
    row.button(
        "Keep this price",
        key=f"{key}-keep",
        disabled=typed == known,
        on_click=_keep,
        args=(model, typed),
        help="For this model, in this project.",
    )
    if known is None:
        st.caption(
            "No price is known for this model. A server of your own costs nothing here; for any "
            "other, type in what its provider charges."
        )
    else:
        origin = "was set in this project" if is_own else f"is that of the table of {DATED}"
        st.caption(f"The price {origin}; check it against your provider's.")
    return typed


def _keep(model: str, typed: Price) -> None:
    open_project.tell(set_price, model, typed)


def budget() -> Budget:
    """Boxes with the caps at which a run pauses by itself."""
    row = st.container(horizontal=True)
    money = row.number_input(
        "Pause at (US$)",
        LEAST_CAP,
        value=MONEY_CAP,
        step=1.0,
        format="%g",
        key="generate-money",
        placeholder="No cap",
        persist_state="session",
    )
    calls = row.number_input(
        "Pause at (calls)",
        1,
        value=None,
        step=100,
        key="generate-calls",
        placeholder="No cap",
        help="Repeated ones count.",
        persist_state="session",
    )
    return Budget(money=money, calls=calls)


def wanted_by(counts: CachedCounts, choice: Choice) -> WantedCalls | None:
    """What a choice comes to; None while that is being counted."""
    return counts.get(count_wanted, choice.selection, choice.roles, seed=choice.seed)


def estimated(request: GenerationRequest, wanted: WantedCalls) -> RunEstimate:
    """What the run will take, as far as that is known; measured anew when answers have come."""
    return _estimated(request, wanted, open_project.ask(newest_answer))


@st.cache_data(max_entries=32, show_spinner=False)
def _estimated(request: GenerationRequest, wanted: WantedCalls, newest: int | None) -> RunEstimate:
    return open_project.ask(estimate, request, wanted)


def what_is_asked(wanted: WantedCalls) -> str:
    """How many anchors and calls, for people."""
    if not wanted.total:
        return "Nothing to generate: every anchor of this choice has what these calls would bring."
    found = [(role, wanted.calls.get(role, 0)) for role in ROLES]
    calls = [f"{number:,} for {ROLES[role].name.lower()}" for role, number in found if number]
    anchors, number = counted(wanted.anchors, "anchor"), counted(wanted.total, "call")
    return f"{anchors}, {number}: {', '.join(calls)}."


def in_words(found: RunEstimate, request: GenerationRequest) -> list[str]:
    """What a run takes beyond its calls, for people, a line a thought."""
    lines: list[str] = []
    if not found.total_calls:
        return lines
    if request.provider != OPENAI:
        free = found.cost is not None
        text = "No model is asked: it costs nothing." if free else "What it costs is not known."
        return [*lines, text]
    if found.cost is None or found.prompt_tokens is None or found.completion_tokens is None:
        return [*lines, "Tokens, cost and time are not known yet: try it on three anchors."]
    if not found.prompt_tokens:
        return [
            *lines,
            "The server reports no tokens, so that the cost stays unknown: cap the calls.",
            _time(found, request),
        ]
    tokens = f"About {found.prompt_tokens:,.0f} tokens in and {found.completion_tokens:,.0f} out"
    lines.append(f"{tokens}, going by {counted(found.based_on, 'answered call')}.")
    lines.append(" ".join([_money(found.cost, request), _time(found, request)]))
    return lines + _beyond(found, request)


def _beyond(found: RunEstimate, request: GenerationRequest) -> list[str]:
    """Where the run will pause before its end."""
    caps = request.budget
    if caps.money is not None and found.cost is not None and found.cost > caps.money:
        return [f"That is beyond the cap: the run will pause at {dollars(caps.money)}."]
    if caps.calls is not None and found.total_calls > caps.calls:
        return [f"That is beyond the cap: the run will pause at {caps.calls:,} calls."]
    return []


def _money(cost: float, request: GenerationRequest) -> str:
    if request.price == Price():
        return "At a price of 0, it costs nothing."
    share = f", a batch's {BATCH_SHARE:.0%} of the price" if request.batch else ""
    return f"Expected cost: {dollars(cost)}{share}."


def _time(found: RunEstimate, request: GenerationRequest) -> str:
    if request.batch:
        return "A batch is answered within a day."
    if found.seconds is None:
        return "How long it takes is not known yet."
    return f"Takes {progress_view.duration(found.seconds)} at {request.concurrency} calls at once."
