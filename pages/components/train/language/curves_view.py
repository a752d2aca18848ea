"""Curves of a language model's finetuning: loss, and questions answered correctly."""

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import altair as alt
import streamlit as st

from db.models import Run
from pages.components.shared.charts import plot, save
from pages.components.shared.charts.palette import palette
from pages.components.shared.shell import open_project
from pages.components.train.results import curve_charts
from training.llm.figures import HELD_OUT_LOSS, SHARES, SHORT, Evaluation, course_of
from training.runs.curves import CurvePoint
from training.runs.figures import LossPoint

FEW = 2
"""Fewest points of a curve."""

TRAINING, VALIDATION = "training", "validation"

_RIGHT_SAID = (
    "Share of validation questions for which the correct answer, Yes or No, is the more "
    "probable one: all, those about negations (Yes), and those about hedges and paraphrases "
    "(No). Chance is 50%. Epoch 0 is the base model."
)

_LOSS_SAID = "Average loss over the answer tokens only."


def live(run: Run) -> None:
    """The curves of a run in progress."""

    def panel(draw: Callable[..., Any], name: str, alt_text: str) -> None:
        dark = st.context.theme.type == "dark"
        plot.chart(draw(dark=dark), alt=alt_text, key=f"live-llm-{name}-{run.id}")

    _draw(run, panel)


def show(run: Run) -> None:
    """The curves of a run that has ended, with save buttons."""

    def panel(draw: Callable[..., Any], name: str, alt_text: str) -> None:
        save.chart(draw, name=f"llm-{name}", alt_text=alt_text)

    _draw(run, panel)


def _draw(run: Run, panel: Callable[..., None]) -> None:
    losses, evaluations = open_project.ask(course_of, run)
    with st.container(key=f"columns-llm-curves-{run.id}"):
        if len(evaluations) >= FEW:
            with st.container():
                st.markdown("**Accuracy**")
                panel(partial(right, evaluations), "right", "Questions answered correctly by epoch")
                st.caption(_RIGHT_SAID)
        if len(losses) >= FEW:
            with st.container():
                st.markdown("**Loss**")
                steps = _steps_an_epoch(evaluations)
                panel(partial(loss, losses, evaluations, steps), "loss", "Loss by epoch")
                st.caption(_LOSS_SAID)
    if len(evaluations) < FEW:
        st.caption("The validation questions are evaluated before training and after each epoch.")


def _steps_an_epoch(evaluations: Sequence[Evaluation]) -> float:
    """Steps per epoch; 0 before the first evaluation after the initial one."""
    return next(
        (
            evaluation.step / evaluation.epoch
            for evaluation in reversed(evaluations)
            if evaluation.epoch
        ),
        0.0,
    )


def right(evaluations: Sequence[Evaluation], *, dark: bool) -> alt.LayerChart:
    """Shares of correct answers by epoch."""
    colours = palette(dark=dark)
    series = {name: SHORT[name] for name in SHARES}
    points = [
        CurvePoint(evaluation.epoch, evaluation.step, title, evaluation.figures[name])
        for evaluation in evaluations
        for name, title in series.items()
        if name in evaluation.figures
    ]
    return curve_charts.lines(
        points,
        names=list(series.values()),
        colours=[colours.after, colours.before, colours.good],
        y=alt.Y("value:Q", title=None, scale=alt.Scale(domain=[0, 1]), axis=alt.Axis(format=".0%")),
        format_=".1%",
    )


def loss(
    losses: Sequence[LossPoint], evaluations: Sequence[Evaluation], steps: float, *, dark: bool
) -> alt.Chart | alt.LayerChart:
    """Training and validation loss.

    Args:
        steps: steps per epoch; 0 if not known yet, which shows the training loss alone, by step.
    """
    if not steps:
        return curve_charts.loss(losses, dark=dark)
    colours = palette(dark=dark)
    points = [CurvePoint(one.step / steps, one.step, TRAINING, one.loss) for one in losses]
    points += [
        CurvePoint(evaluation.epoch, evaluation.step, VALIDATION, evaluation.figures[HELD_OUT_LOSS])
        for evaluation in evaluations
        if HELD_OUT_LOSS in evaluation.figures
    ]
    return curve_charts.lines(
        points,
        names=[TRAINING, VALIDATION],
        colours=[colours.before, colours.after],
        y=alt.Y("value:Q", title=None, scale=alt.Scale(zero=False)),
        format_=".4f",
    )
