"""The benchmarks page's charts: the data that they draw."""

from __future__ import annotations

import json
from typing import Any

import numpy as np

from pages.components.benchmarks.items import outcome_charts as charts
from pages.components.benchmarks.items import token_chart
from pages.components.benchmarks.items.outcome_charts import Box, PartBar, shares_of
from pages.components.benchmarks.scatter_chart import Dot, scatter
from pages.components.shared.charts.palette import palette
from training.benchmarks.scorers.late_interaction import TokenMatrix

HOSTILE = "datum.x'); alert(1) <img src=x>"


def drawn(chart: Any) -> tuple[dict[str, Any], list[dict[str, Any]]]:
    """The specification without its data, and its rows."""
    spec = chart.to_dict()
    rows = [row for values in spec.pop("datasets").values() for row in values]
    return spec, rows


def test_outcomes_fill_a_bar_starting_with_right() -> None:
    counts = {"antonym": 1, "negation": 6, "both": 2, "tied": 1, "unanswered": 0}
    spec, rows = drawn(
        charts.outcomes(shares_of(HOSTILE, counts), order=list(counts), right="both", dark=False)
    )
    assert [(row["outcome"], round(row["start"], 6), round(row["end"], 6)) for row in rows] == [
        ("both", 0.0, 0.2),
        ("antonym", 0.2, 0.3),
        ("negation", 0.3, 0.9),
        ("tied", 0.9, 1.0),
    ]
    assert "alert" not in json.dumps(spec["layer"][0]["encoding"]["color"])
    colour = spec["layer"][0]["encoding"]["color"]["scale"]
    assert colour["domain"][0] == "both"
    assert colour["range"][0] == palette(dark=False).diverging[-1]
    assert len(set(colour["range"])) == len(colour["domain"]) == 4


def test_parts_and_boxes_are_grouped_by_model() -> None:
    bars = [PartBar("scope", model, score, 7) for model, score in (("a", 10.0), ("b", 90.0))]
    _, rows = drawn(charts.parts(bars, dark=True))
    assert [(row["series"], row["score"], row["label"]) for row in rows] == [
        ("a", 10.0, "scope\n7 items"),
        ("b", 90.0, "scope\n7 items"),
    ]
    boxes = [Box("1", "a", 5, 0.1, 0.2, 0.3, 0.4, 0.5)]
    _, rows = drawn(charts.boxes(boxes, dark=True))
    assert (rows[0]["median"], rows[0]["label"]) == (0.3, "1\n5 pairs")


def test_a_line_connects_a_base_model_with_models_trained_from_it() -> None:
    dots = [
        Dot("base", 30.0, 60.0),
        Dot("trained", 50.0, 58.0, "base"),
        Dot("lost", 40.0, 40.0, "not shown"),
        Dot("paper's", 50.0, 58.1, published=True),
    ]
    _, rows = drawn(scatter(dots, negation="negation", general="general", dark=False))
    ends = [(row["trail"], row["general"]) for row in rows if "trail" in row]
    assert ends == [("trained", 60.0), ("trained", 58.0)]
    # The published point is almost on the trained one, and its label would cover the trained one's.
    labels = {row["model"]: row["label"] for row in rows if "label" in row}
    assert labels == {"base": "base", "trained": "trained", "lost": "lost", "paper's": ""}


def test_every_token_is_shown_and_its_matches_are_framed() -> None:
    similarity = np.array([[0.1, 0.9, 0.2], [0.5, 0.3, 0.8]])
    matrix = TokenMatrix(("not", "not"), ("a", "b", "a"), similarity, similarity.argmax(axis=1))
    _, rows = drawn(token_chart.draw(matrix, dark=False))
    assert len({(row["query"], row["document"]) for row in rows}) == 6
    best = [(row["first"], row["second"], row["value"]) for row in rows if row["best"]]
    assert best == [("not", "b", 0.9), ("not", "a", 0.8)]
