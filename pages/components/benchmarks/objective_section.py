"""SemAntoNeg by training objective: the paper's Figure 1, with the user's models marked."""

import textwrap
from collections.abc import Iterable, Sequence
from functools import partial

import altair as alt
import pandas as pd
import streamlit as st

from pages.components.shared import tables
from pages.components.shared.charts import grammar, plot, similarity_bars
from pages.components.shared.charts.palette import palette
from training.benchmarks.results.queries import Scored
from training.benchmarks.results.semantoneg_analyses import (
    GROUP_HEAD,
    MODEL_HEAD,
    OBJECTIVES,
    OTHER,
    ModelAccuracy,
    ObjectiveGroup,
    group_rows,
    measured_accuracies,
    model_rows,
    published_accuracies,
)
from training.benchmarks.results.semantoneg_analyses import groups as objective_groups
from training.benchmarks.tasks.semantoneg import SemAntoNeg


def draw(rows: Sequence[Scored]) -> None:
    """The figure, its groups as a table, and all models; nothing if no model is measured."""
    own = measured_accuracies(rows)
    if not own:
        return
    st.header("SemAntoNeg by training objective", anchor=False)
    published = published_accuracies()
    found, every = objective_groups(published), [*own, *published]
    plot.chart_to_save(
        partial(objective_chart, found, every, chance=SemAntoNeg.chance),
        name="objectives",
        alt_text="Accuracy on SemAntoNeg by training objective, published and measured models",
    )
    st.caption(
        "Figure 1 of the SemAntoNeg paper, from its Table 8. Thin line: a published model. Bar: "
        "interquartile range of the group. Thick line: its mean. Dashed line: chance. Diamonds: "
        "models that you measured, each below the group of its objective. As in the paper, the "
        "objective is taken from the model's name. Models without one in their name come last. "
        "A model that is published under two names counts twice. Published accuracies are over "
        f"{SemAntoNeg.published_items:,} items, yours over {own[0].n:,}."
    )
    st.dataframe(
        tables.decimals(_as_dicts(GROUP_HEAD, group_rows(found)), 1),
        hide_index=True,
        key="objective-groups",
        column_config={"Least": "Minimum", "Most": "Maximum"},
    )
    with st.expander(f"All {len(every)} models", icon=":material/table:", key="objective-all"):
        st.dataframe(
            tables.decimals(_as_dicts(MODEL_HEAD, model_rows(every)), 1),
            hide_index=True,
            key="objective-models",
            column_config={"Items": tables.COUNT},
        )
    files = {
        "Groups": lambda: (GROUP_HEAD, group_rows(found)),
        "Models": lambda: (MODEL_HEAD, model_rows(every)),
    }
    with st.container(horizontal=True):
        for label, made in files.items():
            tables.csv_button(
                made,
                f"hedgerow-objectives-{label.lower()}",
                key=f"objective-csv-{label.lower()}",
                label=f"{label} (CSV)",
            )


def _as_dicts(head: Sequence[str], rows: Iterable[Sequence[object]]) -> list[dict[str, object]]:
    return [dict(zip(map(str.capitalize, head), row, strict=True)) for row in rows]


# -- SemAntoNeg's accuracy by training objective as a chart, a pure function of tidy rows ---------


ROW = 46
"""Height in pixels of a row, enough for a label of `NAME_LINES` lines."""

NAME_LINES = 3
"""Most lines of a model's name. The tooltip has all of it."""

AROUND = 60
"""Height in pixels of the axis."""


def objective_chart(
    found: Sequence[ObjectiveGroup],
    models: Sequence[ModelAccuracy],
    *,
    chance: float,
    dark: bool,
) -> alt.LayerChart:
    """One row per group: its middle half, its mean, and each published model.

    Each measured model has a row of its own below the group of its objective, so that the names of
    models with similar scores don't overlap.

    Args:
        models: published and measured; published models without an objective are left out.
        chance: score of random guessing, in points.
    """
    colours = palette(dark=dark)
    shown = [model for model in models if not model.published or model.objective != OTHER]
    rows = _rows(shown)
    y = grammar.groups("row", rows)
    x = alt.X(
        "accuracy:Q",
        title="accuracy",
        scale=alt.Scale(domain=[0, 100]),
        axis=alt.Axis(values=[0, 20, 40, 60, 80, 100]),
    )
    boxes = pd.DataFrame(
        [group._asdict() | {"row": group.objective} for group in found],
        columns=["row", *ObjectiveGroup._fields],
    )
    table = pd.DataFrame(
        [model._asdict() | {"row": _row(model)} for model in shown],
        columns=["row", *ModelAccuracy._fields],
    )
    of_groups = alt.Chart(boxes).encode(y=y)
    band = of_groups.mark_bar(height={"band": 0.6}, color=colours.sequential[2]).encode(
        x=alt.X("lower:Q", title="accuracy"),
        x2="upper:Q",
        tooltip=grammar.tips(
            ("objective:N", "Objective"),
            ("models:Q", "Published models"),
            ("mean:Q", "Mean", ".1f"),
            ("variance:Q", "Variance", ".1f"),
        ),
    )
    means = of_groups.mark_tick(thickness=3, height={"band": 0.75}, color=colours.ink).encode(
        x=alt.X("mean:Q", title="accuracy")
    )
    of_models = alt.Chart(table).encode(
        y=y, x=x, tooltip=grammar.tips(("model:N", "Model"), ("accuracy:Q", "Accuracy", ".1f"))
    )
    ticks = of_models.transform_filter("datum.published").mark_tick(
        thickness=1.5, height={"band": 0.35}, color=colours.quiet
    )
    points = of_models.transform_filter("!datum.published").mark_point(
        size=110, filled=True, opacity=1, shape="diamond", color=colours.before
    )
    guess = (
        alt.Chart(pd.DataFrame([{"chance": chance}]))
        .mark_rule(strokeDash=[4, 3], color=colours.quiet)
        .encode(x=alt.X("chance:Q", title="accuracy"))
    )
    return grammar.layered(guess, band, ticks, means, points, height=ROW * len(rows) + AROUND)


def _rows(models: Sequence[ModelAccuracy]) -> list[str]:
    """The labels of the rows: each objective, and the measured models that have it."""
    found: list[str] = []
    for objective in (*OBJECTIVES, OTHER):
        of_it = [model for model in models if model.objective == objective]
        of_it.sort(key=lambda model: not model.published)  # the group comes first
        found += dict.fromkeys(map(_row, of_it))
    return found


def _row(model: ModelAccuracy) -> str:
    """The label of the row that shows a model; a long name has several lines."""
    if model.published:
        return model.objective
    lines = textwrap.wrap(
        model.model, similarity_bars.LABEL_WIDTH, max_lines=NAME_LINES, placeholder=" …"
    )
    return "\n".join(lines)
