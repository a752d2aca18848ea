"""The spending caps of a stopped run, which can be changed when it is resumed."""

import streamlit as st

from curation.generation.choices import change_budget
from curation.generation.request import Budget
from db.models import Run
from pages.components.shared.chat_models.run_cost import LEAST_CAP
from pages.components.shared.shell import open_project


def boxes(run: Run) -> Budget:
    """Boxes with the run's caps. Returns their values."""
    caps = _stored(run)
    row = st.container(horizontal=True)
    money = row.number_input(
        "Pause after (US$)",
        LEAST_CAP,
        value=caps.money,
        step=1.0,
        format="%g",
        placeholder="No cap",
        key=f"generate-money-{run.id}",
    )
    calls = row.number_input(
        "Pause after (calls)",
        1,
        value=caps.calls,
        step=100,
        placeholder="No cap",
        key=f"generate-calls-{run.id}",
        help="Calls already made count, too.",
    )
    return Budget(money=money, calls=calls)


def apply(run: Run, budget: Budget) -> None:
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
