"""Charts of the Benchmarks page, as pure functions of tidy rows.

Texts (names of models, tokens, types) reach Vega as data only. Values are in data frames, because
Altair would check each value of a list against its schema.
"""

from collections.abc import Mapping, Sequence
from typing import NamedTuple

import altair as alt
import pandas as pd

from curation.formatting import counted
from pages.components.shared.charts import grammar
from pages.components.shared.charts.palette import ERRORS, LIGHT, Palette, palette
from pages.components.shared.charts.shares import stacked

WIDE_BAR = 34
"""Height in pixels of a bar and its gap, with numbers in its parts."""

LONGEST_LABEL = 320
"""Width in pixels of a model's name in a legend."""

LEAST_LABELLED = 0.07
"""Smallest share of a bar that has its number in it."""


class Share(NamedTuple):
    """How many of a model's ``of`` items had an outcome."""

    model: str
    outcome: str
    number: int
    of: int


class PartBar(NamedTuple):
    """A model's score in a part of a breakdown, in points, and of how many items."""

    part: str
    model: str
    score: float
    n: int


class Box(NamedTuple):
    """Ranks of the pairs of a grade, from 0 to 1: count and quantiles."""

    grade: str
    model: str
    n: int
    least: float
    """The 10th percentile."""
    lower: float
    median: float
    upper: float
    most: float
    """The 90th percentile."""


def outcomes(
    shares: Sequence[Share], *, order: Sequence[str], right: str, dark: bool
) -> alt.LayerChart:
    """Outcomes of the items: one bar per model, one part per outcome (NevIR's Figure 4).

    Args:
        order: the outcomes from left to right.
        right: the correct outcome; it comes first and is blue.

    The parts have the same colours on light and dark pages.
    """
    colours = palette(dark=dark)
    names = [right, *(name for name in order if name != right)]
    found = {share.outcome for share in shares if share.number}
    shown = [name for name in names if name in found or name == right]
    models = list(dict.fromkeys(share.model for share in shares))
    numbers = {(share.model, share.outcome): share for share in shares if share.number}
    table = [
        part | {"model": model}
        for model in models
        for part in stacked(
            {name: numbers[model, name].number for name in shown if (model, name) in numbers},
            next(share.of for share in shares if share.model == model),
        )
    ]
    base = alt.Chart(pd.DataFrame(table)).encode(
        y=alt.Y("model:N", sort=models, title=None, axis=grammar.plain_axis(labelLimit=240)),
        tooltip=grammar.tips(
            ("model:N", "Model"),
            ("outcome:N", "Outcome"),
            ("number:Q", "Items", ","),
            ("share:Q", "Share", ".1%"),
        ),
    )
    bars = base.mark_bar(height={"band": 0.75}, stroke=colours.quiet, strokeWidth=0.75).encode(
        x=alt.X(
            "start:Q",
            title="share of the items",
            scale=alt.Scale(domain=[0, 1]),
            axis=alt.Axis(format=".0%", values=[0, 0.25, 0.5, 0.75, 1]),
        ),
        x2="end:Q",
        color=grammar.colours_of(
            "outcome:N",
            shown,
            _paints(names, shown),
            alt.Legend(
                title=None,
                orient="top",
                symbolType="square",
                columns=1,
                labelLimit=200,
                labelColor=colours.ink,
                symbolStrokeWidth=1,
                symbolStrokeColor=colours.quiet,
            ),
        ),
    )
    words = (
        base.transform_filter(f"datum.share >= {LEAST_LABELLED}")
        .mark_text(color=LIGHT.ink, fontSize=12)
        .encode(x=alt.X("middle:Q"), text=alt.Text("share:Q", format=".0%"))
    )
    height = len(models) * WIDE_BAR + grammar.AROUND + grammar.LEGEND_ROW * len(shown)
    return grammar.layered(bars, words, height=height)


_UNDECIDED = {"tied": LIGHT.line, "unanswered": LIGHT.paper}


def _paints(names: Sequence[str], shown: Sequence[str]) -> list[str]:
    """Blue for the correct outcome, warm colours for errors, grey for ties."""
    errors = [name for name in names[1:] if name not in _UNDECIDED]
    paints = {name: ERRORS[min(at, len(ERRORS) - 1)] for at, name in enumerate(errors)}
    paints |= {names[0]: LIGHT.diverging[-1]} | _UNDECIDED
    return [paints[name] for name in shown]


def parts(bars: Sequence[PartBar], *, dark: bool) -> alt.LayerChart:
    """Scores by the parts of a breakdown, one bar per model."""
    colours = palette(dark=dark)
    models = list(dict.fromkeys(bar.model for bar in bars))
    labels = {bar.part: f"{bar.part}\n{counted(bar.n, 'item')}" for bar in bars}
    table = pd.DataFrame(
        [{**bar._asdict(), "label": labels[bar.part], "series": bar.model} for bar in bars]
    )
    base = alt.Chart(table).encode(
        y=grammar.groups("label", list(labels.values())),
        yOffset=grammar.side_by_side(models),
        x=alt.X(
            "score:Q",
            title="points",
            scale=alt.Scale(domain=[0, 112]),
            axis=alt.Axis(values=[0, 20, 40, 60, 80, 100]),
        ),
        tooltip=grammar.tips(
            ("part:N", "Part"),
            ("model:N", "Model"),
            ("score:Q", "Points", ".1f"),
            ("n:Q", "Items", ","),
        ),
    )
    drawn = base.mark_bar(height=grammar.WHOLE_BAND).encode(color=_models(models, colours))
    return grammar.grouped(
        drawn,
        grammar.numbers(base, colours.ink, "score:Q", ".1f"),
        labels=labels.values(),
        bars=len(models),
    )


def boxes(found: Sequence[Box], *, dark: bool) -> alt.LayerChart:
    """Ranks of the pairs by human judgement: median, quartiles, and 10th and 90th percentiles."""
    colours = palette(dark=dark)
    models = list(dict.fromkeys(box.model for box in found))
    grades = list(dict.fromkeys(box.grade for box in found))
    labels = {box.grade: f"{box.grade.replace('-', '−')}\n{box.n:,} pairs" for box in found}
    table = pd.DataFrame(
        [{**box._asdict(), "label": labels[box.grade], "series": box.model} for box in found]
    )
    base = alt.Chart(table).encode(
        y=grammar.groups("label", [labels[grade] for grade in grades]),
        yOffset=grammar.side_by_side(models),
        color=_models(models, colours),
        tooltip=grammar.tips(
            ("grade:N", "Human judgement"),
            ("model:N", "Model"),
            ("n:Q", "Pairs", ","),
            *((f"{name}:Q", title, ".1%") for name, title in grammar.QUANTILES.items()),
        ),
    )
    axis = alt.X(
        "least:Q",
        title="rank among the pairs (0%: least similar)",
        scale=alt.Scale(domain=[0, 1]),
        axis=alt.Axis(format=".0%"),
    )
    return grammar.grouped(
        *grammar.boxes(base, colours, axis), labels=labels.values(), bars=len(models)
    )


def _models(names: list[str], colours: Palette) -> alt.Color:
    """The first model is orange, the second blue, like before and after."""
    paints = [colours.after] if len(names) == 1 else [colours.before, colours.after]
    above = grammar.legend(colours.ink, labelLimit=LONGEST_LABEL)
    return grammar.colours_of("series:N", names, paints[: len(names)], above)


def shares_of(model: str, counts: Mapping[str, int]) -> list[Share]:
    """A model's outcomes as rows."""
    of = max(1, sum(counts.values()))
    return [Share(model, outcome, number, of) for outcome, number in counts.items()]
