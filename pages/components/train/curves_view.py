"""Curves of the evaluations during training, of encoders, language models, and models for NevIR."""

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any

import altair as alt
import streamlit as st

from curation.tables.spreadsheets import csv_bytes
from db.models import Run
from pages.components.shared.charts import plot
from pages.components.shared.charts.palette import palette
from pages.components.shared.formatting import percentages
from pages.components.shared.shell import open_project
from pages.components.train import curve_charts
from training.evaluation.figures import LossPoint
from training.evaluation.held_out import DRIFT, STS
from training.finetune import curves
from training.finetune.curves import CurvePoint, Evaluation, Evaluations
from training.llm.card import HELD_OUT_LOSS, SHARES, SHORT_NAMES, course_of
from training.ranking.figures import (
    NAMES,
    NEVIR,
    RERANKING,
    WHAT_IT_IS,
    Finetuning,
    as_table,
    epochs_of,
)
from training.ranking.figures import SHARES as EPOCH_SHARES

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


def live_encoder(run: Run) -> None:
    """The curves of a run in progress; each chart appears with its first values."""
    _draw_encoder(run, saved=False)


def show_encoder(run: Run) -> None:
    """The curves of a run that has ended, with save buttons."""
    _draw_encoder(run, saved=True)


def _draw_encoder(run: Run, *, saved: bool) -> None:
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
            plot.chart_to_save(draw, name=f"train-{name}", alt_text=alt_text)
        else:
            dark = st.context.theme.type == "dark"
            plot.chart(draw(dark=dark), alt=alt_text, key=f"live-{name}-{run_id}")
        if help_text:
            st.caption(help_text)


# -- Curves of a language model's finetuning: loss, and questions answered correctly --------------


TRAINING, VALIDATION = "training", "validation"

_RIGHT_SAID = (
    "Share of validation questions for which the correct answer, Yes or No, is the more "
    "probable one: all, those about negations (Yes), and those about hedges and paraphrases "
    "(No). Chance is 50%. Epoch 0 is the base model."
)

_LOSS_SAID = "Average loss over the answer tokens only."


def live_language(run: Run) -> None:
    """The curves of a run in progress."""

    def panel(draw: Callable[..., Any], name: str, alt_text: str) -> None:
        dark = st.context.theme.type == "dark"
        plot.chart(draw(dark=dark), alt=alt_text, key=f"live-llm-{name}-{run.id}")

    _draw_language(run, panel)


def show_language(run: Run) -> None:
    """The curves of a run that has ended, with save buttons."""

    def panel(draw: Callable[..., Any], name: str, alt_text: str) -> None:
        plot.chart_to_save(draw, name=f"llm-{name}", alt_text=alt_text)

    _draw_language(run, panel)


def _draw_language(run: Run, panel: Callable[..., None]) -> None:
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
    series = {name: SHORT_NAMES[name] for name in SHARES}
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


# -- Evaluations after each epoch: Figures 5 and 8 of the NevIR paper, and the numbers ------------


Panel = Callable[[Callable[..., Any], str, str], None]
"""How to draw a chart, its file name, and its alternative text."""

_NEVIR = (
    "Share of held-out pairs in which both queries rank their own document first. Chance is "
    "25%. The band is the 95% confidence interval. Epoch 0 is the base model."
)

_DOCUMENTS = (
    "Cosine between the two documents of each held-out pair. The box shows the quartiles and "
    "median, the point shows the mean, and the line shows the range. The documents should move "
    "apart."
)


def live_nevir(run: Run) -> None:
    """The charts of a run in progress."""
    epochs = open_project.ask(epochs_of, run)
    if not epochs:
        st.caption("The base model is evaluated first, then the model after each epoch.")
        return

    def panel(draw: Callable[..., Any], name: str, alt_text: str) -> None:
        dark = st.context.theme.type == "dark"
        plot.chart(draw(dark=dark), alt=alt_text, key=f"live-{name}-{run.id}")

    _draw_nevir({f"run {run.id}": epochs}, panel, key=f"live-{run.id}")


def show_nevir(found: Sequence[Finetuning], labels: Mapping[int, str]) -> None:
    """The charts of several runs together, with save buttons, and their numbers.

    Args:
        labels: the name of each run, by its id.
    """

    def panel(draw: Callable[..., Any], name: str, alt_text: str) -> None:
        plot.chart_to_save(draw, name=f"nevir-{name}", alt_text=alt_text)

    _draw_nevir({labels[run.id]: epochs for run, epochs in found}, panel, key="nevir")
    header, lines = as_table(found)
    with st.expander("Show the numbers", icon=":material/table:", key="nevir-numbers"):
        st.dataframe(
            percentages(
                [dict(zip(header, line, strict=True)) for line in lines],
                *(NAMES[name] for name in EPOCH_SHARES),
            ),
            hide_index=True,
        )
        st.download_button(
            "Download CSV",
            lambda: csv_bytes(header, lines),
            "hedgerow-nevir-epochs.csv",
            "text/csv",
            key="nevir-csv",
            icon=":material/download:",
            on_click="ignore",
        )


def _draw_nevir(runs: Mapping[str, Sequence[Evaluation]], panel: Panel, *, key: str) -> None:
    with st.container(key=f"columns-{key}"):
        for name, title, help_text in (
            (NEVIR, "NevIR pairwise accuracy", _NEVIR),
            (RERANKING, "Retrieval", WHAT_IT_IS),
        ):
            with st.container():
                st.markdown(f"**{title}**")
                panel(partial(curve_charts.run_curves, runs, name), name, f"{title} by epoch")
                st.caption(help_text)
    for number, (label, epochs) in enumerate(runs.items()):
        if curve_charts.has_documents(epochs):
            st.markdown("**Similarity of the two documents of a pair**")
            st.text(label)
            panel(
                partial(curve_charts.documents, epochs),
                f"documents-{number}",
                "Box plots of the cosine between the two documents of a held-out pair, by epoch",
            )
            st.caption(_DOCUMENTS)
