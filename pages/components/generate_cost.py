"""What a run will take, said before it starts: calls, tokens, money, time; and its caps."""

from typing import Any

import streamlit as st
from sqlalchemy import func, select
from sqlmodel import col

from curation.generation.estimate import Estimate, Wanted, count_wanted, estimate
from curation.generation.prices import DATED, price_of, set_price
from curation.generation.request import BATCH_SHARE, Budget, GenerationRequest, Price
from db.engine import reading, writing
from db.models import Anchor, Run, Variant
from pages.components import project, run_view
from pages.components.generate_choice import CALLS, Choice

COUNT_SECONDS = 60
MONEY_CAP = 10.0
"""US dollars, unless somebody sets another cap: a slip shall not cost a month's budget."""


def price(model: str) -> Price:
    """Boxes with the model's price, which can be changed and kept; gives what they hold."""
    with reading(project.engine()) as session:
        known = price_of(session, model)
    shown = known or Price()
    # A model has boxes of its own, and new ones when its price was kept: a box keeps its value.
    key = f"generate-price-{hash((model, shown))}"
    columns = st.columns([2, 2, 1], vertical_alignment="bottom")
    prompt, completion = (
        place.number_input(
            f"US$ a million tokens {way}", 0.0, value=value, step=0.05, format="%.3f",
            key=f"{key}-{way}", persist_state="session",
        )
        for place, way, value in (
            (columns[0], "in", shown.prompt), (columns[1], "out", shown.completion),
        )
    )  # fmt: skip
    typed = Price(prompt=prompt, completion=completion)
    columns[2].button(
        "Keep", key=f"{key}-keep", disabled=typed == known, on_click=_keep, args=(model, typed),
        help="For this model, in this project.", width="stretch",
    )  # fmt: skip
    if known is None:
        st.caption(
            "No price is known for this model. A server of your own costs nothing here; for any "
            "other, type in what its provider charges."
        )
    else:
        st.caption(f"From the table of {DATED}, or as somebody here set it; check it.")
    return typed


def _keep(model: str, typed: Price) -> None:
    with writing(project.engine()) as session:
        set_price(session, model, typed)


def budget() -> Budget:
    """Boxes with the caps at which a run pauses by itself."""
    left, right = st.columns(2)
    money = left.number_input(
        "Pause at (US$)", 0.01, value=MONEY_CAP, step=1.0, key="generate-money",
        placeholder="No cap", persist_state="session",
    )  # fmt: skip
    calls = right.number_input(
        "Pause at (calls)", 1, value=None, step=100, key="generate-calls", placeholder="No cap",
        help="Repeated ones count.", persist_state="session",
    )  # fmt: skip
    return Budget(money=money, calls=calls)


def wanted_by(choice: Choice) -> Wanted:
    """What a choice comes to, counted anew when variants, anchors or runs have come."""
    with reading(project.engine()) as session:
        newest = [func.max(col(table.id)) for table in (Variant, Anchor, Run)]
        marks = session.execute(select(*(select(n).scalar_subquery() for n in newest))).one()
    return _wanted(choice, tuple(marks))


@st.cache_data(ttl=COUNT_SECONDS, max_entries=32, show_spinner="Counting.")
def _wanted(choice: Choice, marks: tuple[Any, ...]) -> Wanted:
    with reading(project.engine()) as session:
        return count_wanted(session, choice.selection, choice.roles, seed=choice.seed)


def estimated(request: GenerationRequest, wanted: Wanted) -> Estimate:
    """What the run will take, as far as that is known."""
    with reading(project.engine()) as session:
        return estimate(session, request, wanted)


def in_words(found: Estimate, request: GenerationRequest) -> list[str]:
    """The estimate for people, a line a thought."""
    if not found.total_calls:
        return [
            "Nothing to generate: every anchor of this choice has what these calls would bring."
        ]
    calls = ", ".join(f"{count:,} for {CALLS[r].lower()}" for r, count in _roles(found))
    lines = [f"{_count(found.anchors, 'anchor')}, {_count(found.total_calls, 'call')}: {calls}."]
    if request.provider == "rules":
        return [*lines, "No model is asked: it costs nothing."]
    if found.cost is None or found.prompt_tokens is None or found.completion_tokens is None:
        return [*lines, "Tokens, cost and time are not known yet: try it on three anchors."]
    tokens = f"About {found.prompt_tokens:,.0f} tokens in and {found.completion_tokens:,.0f} out"
    lines.append(f"{tokens}, going by {_count(found.based_on, 'answered call')}.")
    lines.append(" ".join([_money(found.cost, request), _time(found, request)]))
    return lines


def _roles(found: Estimate) -> list[tuple[Any, int]]:
    return [(role, count) for role, count in found.calls.items() if count]


def _count(number: int, what: str) -> str:
    return f"{number:,} {what}{'' if number == 1 else 's'}"


def dollars(amount: float) -> str:
    """An amount as people write it; small ones with what distinguishes them from nothing."""
    if 0 < amount < 0.01:
        return f"${amount:.4f}"
    return f"${amount:,.2f}"


def _money(cost: float, request: GenerationRequest) -> str:
    if request.price == Price():
        return "At a price of 0, it costs nothing."
    share = f", a batch's {BATCH_SHARE:.0%} of the price" if request.batch else ""
    return f"Expected cost: {dollars(cost)}{share}."


def _time(found: Estimate, request: GenerationRequest) -> str:
    if found.seconds is None:
        return "A batch is answered within a day."
    return f"Takes {run_view.duration(found.seconds)} at {request.concurrency} calls at once."
