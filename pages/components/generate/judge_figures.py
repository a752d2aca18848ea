"""Results of models on a sample: a ranking, details of one model, and accepting its verdicts."""

from collections.abc import Mapping, Sequence
from functools import partial

import altair as alt
import pandas as pd
import streamlit as st

from curation.formatting import counted
from curation.review.agreement.figures import as_text
from curation.review.calibration.consistency import Consistency, consistencies
from curation.review.calibration.figures import (
    FEWEST,
    PRECISION,
    Bin,
    Calibration,
    JudgeFigures,
    accept_trusted,
    count_trusted,
    trust,
)
from curation.review.large_actions import undo_action
from db.models import Verdict
from pages.components.shared.charts import grammar, plot
from pages.components.shared.charts.palette import palette
from pages.components.shared.shell import count_cache, current_user, error_messages, open_project

_VERDICTS = (Verdict.ACCEPT, Verdict.EDIT, Verdict.REJECT)
_MESSAGE, _DONE, _PROBLEM = "judges_told", "judges_accepted", "judges_apply_problem"


def draw(found: Calibration, counts: count_cache.CachedCounts) -> None:
    """Show a table of all models, then details of the chosen one."""
    st.header("Models", anchor=False)
    if not found.judges:
        st.text("No model has judged this sample yet.")
        return
    again = counts.get(consistencies, found.sample) or {}
    _ranking(found, again)
    by_name = {one.name: one for one in found.judges}
    name = st.selectbox("Judge", list(by_name), key="judges-judge")
    one = by_name[name]
    if not one.together.items:
        st.text("No person has decided blind on a variant that this model has judged.")
        return
    labels = open_project.type_names() | {"all": "All types"}
    st.dataframe(
        [
            {
                "Type": labels.get(row.type_id, row.type_id),
                "Variants": row.items,
                "People accept": _percent(row.base_rate),
                "Agree": as_text(row.agreement, as_percent=True),
                "By chance": _percent(row.by_chance),
                "Kappa": as_text(row.kappa),
                "Model accepts": row.accepted,
                "Precision of 'accept'": as_text(row.precision, as_percent=True),
            }
            for row in (*one.types, one.together)
        ],
        hide_index=True,
        key="judges-types-table",
        placeholder="–",
        column_config={
            "People accept": st.column_config.NumberColumn(
                format="%.0f%%",
                help="The base rate. Kappa is not informative if it is near 0% or 100%.",
            ),
            "By chance": st.column_config.NumberColumn(
                format="%.0f%%", help="Agreement expected by chance."
            ),
        },
    )
    _verdicts(one, labels)
    _certainty(one)
    if one.id in again:
        _again(again[one.id])
    _trust(found, one, labels)


def _ranking(found: Calibration, again: Mapping[int, Consistency]) -> None:
    number = st.column_config.NumberColumn
    st.dataframe(
        [
            {
                "Judge": one.name,
                "Variants": one.together.items,
                "Agree": as_text(one.together.agreement, as_percent=True),
                "Kappa": as_text(one.together.kappa),
                "Precision of 'accept'": as_text(one.together.precision, as_percent=True),
                "Calibration error": _percent(one.reliability.error),
                "Consistency": _percent(again[one.id].same if one.id in again else None),
            }
            for one in found.judges
        ],
        hide_index=True,
        key="judges-ranking",
        placeholder="–",
        column_config={
            "Variants": number(
                format="localized",
                help="Variants that the model has judged and people have decided blind.",
            ),
            "Calibration error": number(
                format="%.0f%%",
                help="Expected calibration error: the average gap between the model's stated "
                "confidence and how often it is right.",
            ),
            "Consistency": number(
                format="%.0f%%",
                help="Probability that two answers on the same variant, at a temperature above "
                "0, give the same verdict.",
            ),
        },
    )
    st.caption("Sorted by kappa. Brackets show 95% intervals. An edit counts as not accepted.")


def _percent(share: float | None) -> float | None:
    return None if share is None else 100 * share


def _verdicts(one: JudgeFigures, labels: Mapping[str, str]) -> None:
    st.subheader("Verdicts", anchor=False)
    rows = {row.type_id: row for row in (one.together, *one.types)}
    type_id = st.selectbox(
        "Type",
        list(rows),
        format_func=lambda key: labels.get(key, key),
        key="judges-verdicts-of",
    )
    cells = rows[type_id].cells
    st.dataframe(
        [
            {"Model": judge.value}
            | {f"People {people}": cells.get((judge, people), 0) for people in _VERDICTS}
            for judge in _VERDICTS
        ],
        hide_index=True,
        key="judges-verdicts",
        width="content",
    )


def _certainty(one: JudgeFigures) -> None:
    st.subheader("Confidence", anchor=False)
    found = one.reliability
    if found.error is None:
        st.text("This model states no confidence.")
        return
    unnamed = f" {found.unnamed:,} opinions state no confidence." if found.unnamed else ""
    st.text(f"Expected calibration error: {found.error:.1%}.{unnamed}")
    plot.chart_to_save(
        partial(reliability_chart, found.bins),
        name="reliability",
        alt_text="Bar chart: how often the model is right for each level of stated confidence",
    )


def _again(found: Consistency) -> None:
    same = "–" if found.same is None else f"{found.same:.1%}"
    st.text(
        f"Consistency (run {found.run}, temperature {found.temperature}): {found.answers:,} "
        f"answers on {found.items:,} variants. Two answers on the same variant agree in {same} of "
        f"cases. All answers agree on {found.unanimous:,} variants."
    )


def _trust(found: Calibration, one: JudgeFigures, labels: Mapping[str, str]) -> None:
    with st.container(border=True, key="judges-trust"):
        st.header("Accept without human review", anchor=False)
        percent = st.number_input(
            "Minimum precision of 'accept' (%)",
            50.0,
            100.0,
            100 * PRECISION,
            1.0,
            key="judges-precision",
            width=260,
            help="A type qualifies if the lower bound of the 95% Clopper–Pearson interval "
            f"reaches this value, on at least {FEWEST} variants that the model accepts.",
        )
        precision = float(percent) / 100
        trusted = one.trusted(precision)
        if not trusted:
            st.text("No type qualifies. People need to decide on all types.")
        else:
            names = ", ".join(labels.get(key, key) for key in trusted)
            st.text(f"Types that qualify: {names}.")
            _offer(found, one, precision)
        error_messages.show_once(_MESSAGE)
        if _DONE in st.session_state:
            st.button("Undo", key="judges-undo", on_click=_undo)
        error_messages.show_kept(_PROBLEM)


@current_user.for_leads()
def _offer(found: Calibration, one: JudgeFigures, precision: float) -> None:
    plan = open_project.ask(trust, one.name, sample=found.sample.id, precision=precision)
    pending = sum(open_project.ask(count_trusted, plan).values())
    if current_user.reviewer_id() is None:
        st.write("Decisions are stored under your name so that they can be undone.")
        current_user.name_form("Your name", key="signin-judges")
        return
    st.button(
        f"Accept {counted(pending, 'pending variant')} that the model accepts",
        key="judges-accept",
        disabled=not pending,
        icon=":material/done_all:",
        on_click=_accept,
        args=(one.name, found.sample.id, precision),
        help="Accepts them by rule, as one action that you can undo. Releases list them as "
        "accepted by a rule.",
    )


def _accept(name: str, sample: int, precision: float) -> None:
    reviewer_id = current_user.reviewer_id()
    assert reviewer_id is not None  # the button is only shown to a reviewer
    with error_messages.kept_for(_PROBLEM):
        plan = open_project.ask(trust, name, sample=sample, precision=precision)
        done = accept_trusted(open_project.engine(), plan, reviewer_id=reviewer_id)
        count_cache.forget()
        st.session_state[_MESSAGE] = f"Accepted {done.matches.total:,} variants."
        if done.action_id is not None:
            st.session_state[_DONE] = (done.action_id, reviewer_id)


def _undo() -> None:
    action_id, reviewer_id = st.session_state.pop(_DONE)
    with error_messages.kept_for(_PROBLEM):
        undone = undo_action(open_project.engine(), action_id, reviewer_id=reviewer_id)
        count_cache.forget()
        st.session_state[_MESSAGE] = f"Undid {undone.decisions:,} decisions."


# -- A reliability diagram, as a pure function of its bins ----------------------------------------


HEIGHT = 220
"""Pixels."""


def reliability_chart(bins: Sequence[Bin], *, dark: bool) -> alt.LayerChart:
    """How often a model is right per bin of certainty, with the number of opinions on each bar.

    On the dashed line, the model is right exactly as often as its certainty says.
    """
    colours = palette(dark=dark)
    base = alt.Chart(pd.DataFrame([one._asdict() for one in bins]))
    share = alt.Axis(format="%")
    x = alt.X("low:Q", title="stated confidence", scale=alt.Scale(domain=[0, 1]), axis=share)
    y = alt.Y("right:Q", title="correct", scale=alt.Scale(domain=[0, 1.08]), axis=share)
    bars = base.mark_bar(color=colours.after, stroke=colours.paper).encode(
        x=x,
        x2="high:Q",
        y=y,
        y2=alt.datum(0),
        tooltip=grammar.tips(
            ("items:Q", "Opinions"),
            ("certainty:Q", "Mean confidence", ".0%"),
            ("right:Q", "Correct", ".0%"),
        ),
    )
    counts = (
        base.transform_calculate(middle="(datum.low + datum.high) / 2")
        .mark_text(dy=-7, color=colours.ink)
        .encode(x="middle:Q", y="right:Q", text="items:Q")
    )
    exact = (
        alt.Chart(pd.DataFrame([{"low": 0.0, "right": 0.0}, {"low": 1.0, "right": 1.0}]))
        .mark_line(strokeDash=[4, 3], color=colours.ink)
        .encode(x="low:Q", y="right:Q")
    )
    return grammar.layered(bars, exact, counts, height=HEIGHT)
