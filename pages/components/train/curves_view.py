"""Curves of the evaluations during training, of encoders, language models, and models for NevIR."""

from collections.abc import Callable, Mapping, Sequence
from functools import partial

import altair as alt
import streamlit as st

from db.models import Run
from pages.components.shared import tables
from pages.components.shared.charts import plot
from pages.components.shared.shell import open_project
from pages.components.train import curve_charts
from training.evaluation.figures import LossPoint
from training.evaluation.held_out import DRIFT, STS
from training.finetune import curves
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


def encoder(run: Run, *, live: bool = False) -> None:
    """The curves of an encoder's training. Each chart appears with its first values."""
    losses, evaluations = open_project.ask(curves.read_curves, run)
    panel = partial(_panel, live=run if live else None)
    with st.container(horizontal=True, key=f"train-curves-{run.id}"):
        if len(losses) >= FEW:
            panel("Loss", partial(curve_charts.loss, losses), "train-loss", "Training loss by step")
        if evaluations is not None and evaluations.last:
            _held_out(evaluations, panel)
    if not live and len(losses) < FEW and evaluations is None:
        st.caption("The run ended before its first evaluation.")
    if live and run.step and (evaluations is None or not evaluations.last):
        st.caption(
            "The first evaluation is after one epoch or, in a long run, after a tenth of the steps."
        )


def _held_out(evaluations: curves.Evaluations, panel: Callable[..., None]) -> None:
    if points := curves.shares(evaluations):
        panel(
            "Accuracy",
            partial(curve_charts.shares, points),
            "train-held-out",
            "Shares of held-out triples, anchors and questions that are correct, by epoch",
            SAID["shares"],
        )
    if bands := curves.cosines(evaluations):
        panel(
            "Similarity of anchor and variant",
            partial(curve_charts.cosines, bands),
            "train-cosines",
            "Mean cosine of anchors with negations, hedges and paraphrases by epoch",
            SAID["cosines"],
        )
    if rows := curves.pair_shares(evaluations):
        panel(
            "Accuracy by type",
            partial(curve_charts.pairs, rows, labels=open_project.type_names()),
            "train-pairs",
            "Share of held-out triples ranked correctly, by type of positive and negative",
            SAID["pairs"],
        )
    for name, title in ((DRIFT, "Drift"), (STS, "General ability (STS)")):
        if points := curves.general(evaluations, name):
            drawn = partial(curve_charts.figure, points, zero=name == DRIFT)
            panel(title, drawn, f"train-{name}", f"{title} by epoch", SAID[name])


def _panel(
    title: str,
    draw: plot.Draw,
    name: str,
    alt_text: str,
    note: str = "",
    *,
    live: Run | None,
    of: str = "",
) -> None:
    """A chart with a title above and a sentence below.

    Args:
        live: the run in progress that it shows. Otherwise, it has buttons that save it.
        of: what the chart shows, below the title.
    """
    with st.container():
        st.markdown(f"**{title}**")
        if of:
            st.text(of)
        if live is None:
            plot.chart_to_save(draw, name=name, alt_text=alt_text)
        else:
            plot.chart(draw, alt=alt_text, key=f"live-{name}-{live.id}")
        if note:
            st.caption(note)


# -- Curves of a language model's finetuning: loss, and questions answered correctly --------------


TRAINING, VALIDATION = "training", "validation"


def language(run: Run, *, live: bool = False) -> None:
    """The curves of a language model's training."""
    losses, evaluations = open_project.ask(course_of, run)
    panel = partial(_panel, live=run if live else None)
    with st.container(key=f"columns-llm-curves-{run.id}"):
        if len(evaluations) >= FEW:
            panel(
                "Accuracy",
                partial(right, evaluations),
                "llm-right",
                "Questions answered correctly by epoch",
                "Share of validation questions for which the correct answer, Yes or No, is the "
                "more probable one: all, those about negations (Yes), and those about hedges and "
                "paraphrases (No). Chance is 50%. Epoch 0 is the base model.",
            )
        if len(losses) >= FEW:
            panel(
                "Loss",
                partial(loss, losses, evaluations),
                "llm-loss",
                "Loss by epoch",
                "Average loss over the answer tokens only.",
            )
    if len(evaluations) < FEW:
        st.caption("The validation questions are evaluated before training and after each epoch.")


def right(evaluations: Sequence[curves.Evaluation], *, dark: bool) -> alt.LayerChart:
    """Shares of correct answers by epoch."""
    series = {name: SHORT_NAMES[name] for name in SHARES}
    points = [
        curves.CurvePoint(evaluation.epoch, evaluation.step, title, evaluation.figures[name])
        for evaluation in evaluations
        for name, title in series.items()
        if name in evaluation.figures
    ]
    return curve_charts.lines(
        points,
        names=list(series.values()),
        colours=curve_charts.first_colours(dark=dark),
        y=curve_charts.values(domain=[0, 1], form=".0%"),
        format_=".1%",
    )


def loss(
    losses: Sequence[LossPoint], evaluations: Sequence[curves.Evaluation], *, dark: bool
) -> alt.Chart | alt.LayerChart:
    """Training and validation loss; before the first epoch, the training loss alone, by step."""
    last = next((one for one in reversed(evaluations) if one.epoch), None)
    if last is None:
        return curve_charts.loss(losses, dark=dark)
    points = [
        curves.CurvePoint(one.step * last.epoch / last.step, one.step, TRAINING, one.loss)
        for one in losses
    ]
    points += [
        curves.CurvePoint(
            evaluation.epoch, evaluation.step, VALIDATION, evaluation.figures[HELD_OUT_LOSS]
        )
        for evaluation in evaluations
        if HELD_OUT_LOSS in evaluation.figures
    ]
    after, before, _ = curve_charts.first_colours(dark=dark)
    return curve_charts.lines(
        points,
        names=[TRAINING, VALIDATION],
        colours=[before, after],
        y=curve_charts.values(zero=False),
        format_=".4f",
    )


# -- Evaluations after each epoch: Figures 5 and 8 of the NevIR paper, and the numbers ------------


_NEVIR = (
    "Share of held-out pairs in which both queries rank their own document first. Chance is "
    "25%. The band is the 95% confidence interval. Epoch 0 is the base model."
)


def live_nevir(run: Run) -> None:
    """The charts of a run in progress."""
    if epochs := open_project.ask(epochs_of, run):
        _nevir({f"run {run.id}": epochs}, live=run)
    else:
        st.caption("The base model is evaluated first, then the model after each epoch.")


def show_nevir(found: Sequence[Finetuning], labels: Mapping[int, str]) -> None:
    """The charts of several runs together, with save buttons, and their numbers.

    Args:
        labels: the name of each run, by its id.
    """
    _nevir({labels[run.id]: epochs for run, epochs in found}, live=None)
    header, lines = as_table(found)
    with st.expander("Show the numbers", icon=":material/table:", key="nevir-numbers"):
        st.dataframe(
            tables.percentages(
                [dict(zip(header, line, strict=True)) for line in lines],
                *(NAMES[name] for name in EPOCH_SHARES),
            ),
            hide_index=True,
        )
        tables.csv_button(
            lambda: (header, lines),
            "hedgerow-nevir-epochs",
            key="nevir-csv",
            label="Download CSV",
            type="secondary",
        )


def _nevir(runs: Mapping[str, Sequence[curves.Evaluation]], *, live: Run | None) -> None:
    with st.container(key="columns-nevir" if live is None else f"columns-live-{live.id}"):
        for name, title, note in (
            (NEVIR, "NevIR pairwise accuracy", _NEVIR),
            (RERANKING, "Retrieval", WHAT_IT_IS),
        ):
            drawn = partial(curve_charts.run_curves, runs, name)
            _panel(title, drawn, f"nevir-{name}", f"{title} by epoch", note, live=live)
    for number, (label, epochs) in enumerate(runs.items()):
        if curve_charts.has_documents(epochs):
            _panel(
                "Similarity of the two documents of a pair",
                partial(curve_charts.documents, epochs),
                f"nevir-documents-{number}",
                "Box plots of the cosine between the two documents of a held-out pair, by epoch",
                "Cosine between the two documents of each held-out pair. The box shows the "
                "quartiles and median, the point shows the mean, and the line shows the range. "
                "The documents should move apart.",
                live=live,
                of=label,
            )
