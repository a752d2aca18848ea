"""Curves of the evaluations during training."""

from collections.abc import Callable
from functools import partial
from typing import Any

import streamlit as st

from db.models import Run
from pages.components.shared.charts import plot, save
from pages.components.shared.shell import open_project
from pages.components.train.results import curve_charts
from training.evaluation.held_out import DRIFT, STS
from training.runs import curves
from training.runs.curves import Evaluations

FEW = 2
"""Fewest points of a curve."""

SAID = {
    "shares": "On held-out anchors. A triple is ranked correctly if its positive is closer to "
    "the anchor than its negative.",
    "cosines": "Mean cosine ± one standard deviation. Negations should fall, and hedges should not "
    "change much. Click a legend entry to see only its band.",
    "pairs": "Triples ranked correctly at the latest evaluation, by type of positive (rows) and "
    "negative (columns).",
    "drift": "Root-mean-square change in the cosines between unrelated sentences, compared with "
    "the base encoder. 0: nothing was forgotten.",
    "sts": "Spearman's correlation with human scores in the STS file. It should not change.",
}


def live(run: Run) -> None:
    """The curves of a run in progress; each chart appears with its first values."""
    _draw(run, saved=False)


def show(run: Run) -> None:
    """The curves of a run that has ended, with save buttons."""
    _draw(run, saved=True)


def _draw(run: Run, *, saved: bool) -> None:
    losses, evaluations = open_project.ask(curves.read_curves, run)
    panel = partial(_panel, run_id=run.id, saved=saved)
    with st.container(horizontal=True, key=f"train-curves-{run.id}"):
        if len(losses) >= FEW:
            panel("Loss", partial(curve_charts.loss, losses), "loss", "Training loss by step")
        if evaluations is not None and evaluations.last:
            _held_out(evaluations, panel)
    if saved and len(losses) < FEW and evaluations is None:
        st.caption("The run ended before its first evaluation.")
    if not saved and run.step and (evaluations is None or not evaluations.last):
        st.caption(
            "The first evaluation is after one epoch or, in a long run, after a tenth of the steps."
        )


def _held_out(evaluations: Evaluations, panel: Callable[..., None]) -> None:
    labels = open_project.type_names()
    if points := curves.shares(evaluations):
        panel(
            "Accuracy",
            partial(curve_charts.shares, points),
            "held-out",
            "Shares of held-out triples, anchors and questions that are correct, by epoch",
            SAID["shares"],
        )
    if bands := curves.cosines(evaluations):
        panel(
            "Similarity of anchor and variant",
            partial(curve_charts.cosines, bands),
            "cosines",
            "Mean cosine of anchors with negations, hedges and paraphrases by epoch",
            SAID["cosines"],
        )
    if rows := curves.pair_shares(evaluations):
        panel(
            "Accuracy by type",
            partial(curve_charts.pairs, rows, labels=labels),
            "pairs",
            "Share of held-out triples ranked correctly, by type of positive and negative",
            SAID["pairs"],
        )
    for name, title in ((DRIFT, "Drift"), (STS, "General ability (STS)")):
        if points := curves.general(evaluations, name):
            drawn = partial(curve_charts.figure, points, zero=name == DRIFT)
            panel(title, drawn, name, f"{title} by epoch", SAID[name])


def _panel(
    title: str,
    draw: Callable[..., Any],
    name: str,
    alt_text: str,
    help_text: str = "",
    *,
    run_id: int,
    saved: bool,
) -> None:
    """A chart with a title above and a sentence below."""
    with st.container():
        st.markdown(f"**{title}**")
        if saved:
            save.chart(draw, name=f"train-{name}", alt_text=alt_text)
        else:
            dark = st.context.theme.type == "dark"
            plot.chart(draw(dark=dark), alt=alt_text, key=f"live-{name}-{run_id}")
        if help_text:
            st.caption(help_text)
