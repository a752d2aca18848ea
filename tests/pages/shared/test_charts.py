"""The charts of all pages draw their numbers to scale, and texts as data. No page is opened."""

from collections.abc import Iterable
from typing import Any

import altair as alt
import numpy as np
import pytest

from curation.diagnostics.acceptance import Outcomes
from curation.diagnostics.distributions import COSINE_BINS
from pages.components.benchmarks import outcome_charts, single_item
from pages.components.benchmarks.outcome_charts import Box, PartBar, shares_of
from pages.components.compare import charts as group_charts
from pages.components.diagnostics import histogram_charts
from pages.components.diagnostics.histogram_charts import CUT, FILL, KEPT, character_axis
from pages.components.shared.charts import grammar, negation_and_ability, shares, similarity_bars
from pages.components.shared.charts.negation_and_ability import Dot, scatter
from pages.components.shared.charts.palette import palette
from pages.components.shared.charts.shares import HeatCell
from pages.components.train import curve_charts, study_charts, training_form
from pages.components.train.curve_charts import documents
from tests.curation.release.test_overlap_results import compared
from tests.support.hostile import stored
from training.benchmarks.scorers.late_interaction import TokenMatrix
from training.encoder_run.tradeoff import SHARES
from training.encoder_run.tradeoff_curve import KEPT as ABILITY_KEPT
from training.encoder_run.tradeoff_curve import Curve, SharePoint
from training.evaluation.similarity import (
    DistributionRow,
    ProbePair,
    ProbeRow,
    figure_1_rows,
    probe_rows,
)
from training.finetune.curves import ROLES, Band, Evaluation
from training.ranking.figures import DOCUMENTS, QUANTILES, SPREAD, quantile
from training.studies.designs import Study
from training.studies.outcomes import Against, FigureRow, differences, published_rows, trade_off

LABELS = {"verbal": "Verbal negation", "word": "Hedge: single word", "phrase": "Hedge: phrase"}
HOSTILE = list(stored().values())
LIGHT = palette(dark=False)


def rows(chart: Any) -> list[dict[str, Any]]:
    """All data of the chart."""
    spec = chart.to_dict()
    parts = [spec, *spec.get("layer", [])]
    return [
        row
        for values in (
            *spec.get("datasets", {}).values(),
            *[part["data"]["values"] for part in parts if "values" in part.get("data", {})],
        )
        for row in values
    ]


def bars(chart: Any) -> list[dict[str, Any]]:
    return [row for row in rows(chart) if "low" in row]


def without_data(spec: Any) -> Any:
    """The specification without its data, in all layers."""
    if isinstance(spec, dict):
        return {k: without_data(v) for k, v in spec.items() if k not in ("data", "datasets")}
    return [without_data(part) for part in spec] if isinstance(spec, list) else spec


def levenshtein(counts: dict[str, dict[int, int]], threshold: int = 60) -> alt.LayerChart:
    return histogram_charts.levenshtein(counts, labels=LABELS, threshold=threshold, dark=False)


# -- histograms ------------------------------------------------------------------------


def test_distances_are_cut_exactly_at_the_threshold() -> None:
    shown = bars(levenshtein({"verbal": {3: 10, 4: 5}, "word": {59: 1, 60: 2, 61: 4, 62: 8}}))
    number = {
        (row, part): sum(b["number"] for b in shown if (b["row"], b["part"]) == (row, part))
        for row in (0, 1)
        for part in (KEPT, CUT)
    }
    assert number == {(0, KEPT): 15, (0, CUT): 0, (1, KEPT): 3, (1, CUT): 12}
    divided = sorted((b for b in shown if b["start"] == 60), key=lambda b: b["low"], reverse=True)
    assert [b["part"] for b in divided] == [KEPT, CUT]  # one on top of the other
    assert divided[0]["high"] == divided[1]["low"]


def test_each_row_of_distances_is_scaled_to_its_highest_bar() -> None:
    chart = levenshtein({"verbal": {3: 10, 30: 5}, "word": {3: 1000, 9: 250}})
    heights = {(b["row"], b["number"]): b["low"] - b["high"] for b in bars(chart)}
    assert heights == {
        (row, number): pytest.approx(FILL * number / (10, 1000)[row])
        for row, number in ((0, 10), (0, 5), (1, 1000), (1, 250))
    }
    assert all(0 <= b["high"] < b["low"] <= 2 for b in bars(chart))
    assert [row["label"] for row in rows(chart) if "label" in row] == [
        "Verbal negation\n15",
        "Hedge: single word\n1,250",
    ]


def test_far_outliers_are_in_the_last_bar() -> None:
    counts = {"verbal": {5: 5000, 30: 4000, 1999: 3}}
    axis = character_axis(counts)
    assert axis.end < 100
    shown = bars(levenshtein(counts))
    last = max(shown, key=lambda b: b["start"])
    assert (last["number"], last["part"], last["end"]) == (3, CUT, axis.end)
    assert last["range"] != f"{last['start']} characters", "nor only these"
    assert sum(b["number"] for b in shown) == 9003


def test_the_threshold_moves_neither_bins_nor_axis() -> None:
    def seen(threshold: int) -> tuple[set[tuple[float, float]], list[float], list[float]]:
        chart = levenshtein({"verbal": {5: 50, 30: 40, 41: 3}}, threshold)
        places = {(bar["start"], bar["end"]) for bar in bars(chart)}
        return (
            places,
            chart.to_dict()["layer"][1]["layer"][0]["encoding"]["x"]["scale"]["domain"],
            [row["threshold"] for row in rows(chart) if "threshold" in row],
        )

    *same, drawn_at = seen(30)
    assert drawn_at == [31]  # where the bar of 30 ends and that of 31 begins
    for threshold in (1, 5000):
        *found, drawn_at = seen(threshold)
        assert found == same
    assert drawn_at == []


def test_short_distances_have_one_bar_per_character() -> None:
    axis = character_axis({"verbal": {3: 1, 20: 2}})
    assert (axis.width, axis.bin_of(7), axis.description(7)) == (1, 7, "7 characters")
    assert character_axis({}).end >= 2


def test_cosines_are_drawn_at_their_bins() -> None:
    counts = {"word": {COSINE_BINS - 1: 4, 90: 8, 40: 1}}
    shown = bars(histogram_charts.cosine(counts, labels=LABELS, dark=False))
    assert [(b["start"], b["end"], b["number"]) for b in shown] == [
        (-0.2, -0.18, 1),
        (0.8, 0.82, 8),
        (0.98, 1.0, 4),
    ]


# -- shares ----------------------------------------------------------------------------


def test_a_heat_map_shows_numbers_and_shares() -> None:
    cells = [HeatCell("a", "x", 1, 4), HeatCell("a", "y", 0, 4), HeatCell("b", "x", 0, 0)]
    columns = {"x": "X", "y": "Y"}
    chart = shares.heat_map(cells, columns=columns, heading="Letter", of="All", dark=False)
    assert [(row["column"], row["label"], row["percent"], row["share"]) for row in rows(chart)] == [
        ("X", "1", "25.0%", 0.25),
        ("Y", "–", "", 0.0),
        ("X", "–", "", 0.0),
    ]
    assert chart.to_dict()["layer"][0]["encoding"]["color"]["scale"] == {
        "domain": [0, 0.25],
        "range": list(LIGHT.sequential),
    }


def test_decisions_add_up_to_a_full_bar() -> None:
    groups = {"a": Outcomes(accepted=6, edited=2, rejected=1, conflict=1), "b": Outcomes(pending=5)}
    shown = rows(shares.acceptance(groups, dark=False))
    assert [(p["outcome"], p["start"], p["end"]) for p in shown if "end" in p] == [
        ("accepted as written", 0.0, 0.6),
        ("edited", 0.6, 0.8),
        ("in conflict", 0.8, pytest.approx(0.9)),
        ("rejected", pytest.approx(0.9), 1.0),
    ]
    assert [row["label"] for row in shown if "label" in row] == ["80.0%"]


def test_numbers_at_the_ends_of_bars_fit_at_every_width() -> None:
    # Vega reserves room for labels beyond the axis at one width only. On a narrower page they would
    # be cut off, so bars that fill the axis have their numbers in the margin.
    longest = shares.ranking(
        [("may", 7), ("seem", 3)], of=10, name="cue", title="n", colour="#000", dark=False
    )
    assert [row["share"] for row in rows(longest)] == [0.7, 0.3]
    whole = shares.acceptance({"a": Outcomes(accepted=6)}, dark=False)
    for chart, end in ((longest, 7), (whole, 1)):
        assert chart.to_dict()["layer"][0]["encoding"]["x"]["scale"]["domain"] == [0, end]


@pytest.mark.parametrize("dark", [False, True])
def test_hostile_texts_are_only_data(dark: bool) -> None:
    counts = [(text, number) for number, text in enumerate(HOSTILE, start=1)]
    labels = dict(zip(LABELS, HOSTILE, strict=False))
    charts = [
        shares.ranking(counts, of=9, name="cue", title="n", colour="#000", dark=dark),
        shares.acceptance({text: Outcomes(accepted=1) for text in HOSTILE}, dark=dark),
        histogram_charts.cosine({"verbal": {3: 1}}, labels=labels, dark=dark),
        group_charts.heat_map(np.eye(len(HOSTILE)), HOSTILE, low=0.0, dark=dark),
    ]
    long = [text for text in HOSTILE if len(text) > 9]
    for chart in charts:
        spec = str(without_data(chart.to_dict()))
        assert not [text for text in long if repr(text)[1:-1] in spec or text in spec]
        values = [value for row in rows(chart) for value in row.values()]
        assert all(isinstance(value, str | int | float) for value in values)
    assert {row["value"] for row in rows(charts[0])} == set(HOSTILE)


# -- similarity ------------------------------------------------------------------------


def test_figure_1_draws_published_values_hollow_in_the_colours_of_before_and_after() -> None:
    found = figure_1_rows(before=[0.8, 0.7, 0.9], after=[0.4, 0.5, 0.95])
    bars = similarity_bars.figure_1(found, dark=False).to_dict()["layer"][0]["encoding"]
    assert bars["stroke"]["scale"]["range"] == [LIGHT.before, LIGHT.after] * 2
    assert bars["fill"]["scale"] == {
        "domain": ["before (paper)", "after (paper)", "before", "after"],
        "range": ["transparent"] * 2 + [LIGHT.before, LIGHT.after],
    }


def test_the_legend_puts_long_names_below_each_other() -> None:
    for names, columns in ((("before", "run 12"), 2), (("all-MiniLM-L6-v2", "hedgerow-minilm"), 1)):
        pairs = [
            ProbeRow("It rains.", "It pours.", "", name, 0.5, published=False) for name in names
        ]
        bars = similarity_bars.figure_1(pairs, dark=False).to_dict()["layer"][0]
        assert bars["encoding"]["fill"]["legend"]["columns"] == columns


def test_long_sentences_with_the_same_start_keep_distinct_labels() -> None:
    probes = [ProbePair("a", "word " * 60 + end, "") for end in ("one", "two", "three")]
    found = probe_rows(probes, before=[0.1] * 3, after=[0.2] * 3)
    values = rows(similarity_bars.own_probes(found, dark=True))
    labels = {row["second"]: row["pair"] for row in values}
    assert len(set(labels.values())) == 3
    assert max(len(line) for label in labels.values() for line in label.split("\n")) < 40


def test_a_sentence_of_usual_length_is_shown_whole_and_its_label_is_next_to_its_bars() -> None:
    sentence = "Nobody disputes that the astronaut was conscious when the team opened the capsule."
    found = probe_rows([ProbePair("a", sentence, "")], before=[0.1], after=[0.2])
    chart = similarity_bars.figure_1(found, dark=False)
    (label,) = {row["pair"] for row in rows(chart)}
    assert label.split() == sentence.split()
    axis = chart.to_dict()["layer"][0]["encoding"]["y"]["axis"]
    assert axis["labelOffset"] == -label.count("\n") * grammar.LINE / 2


@pytest.mark.parametrize(("lowest", "start"), [(0.72, 0.7), (0.95, 0.9), (1.0, 0.9), (-0.25, -0.3)])
def test_the_axis_of_distributions_starts_just_below_the_data(lowest: float, start: float) -> None:
    found = [
        DistributionRow("word", "held out", series, value)
        for series in ("before", "after")
        for value in [lowest] * 5 + [1.0] * 5
    ]
    spec = similarity_bars.distribution(found, labels={"word": "Word"}, dark=False).to_dict()
    assert spec["layer"][0]["encoding"]["x"]["scale"]["domain"] == [pytest.approx(start), 1.0]


def test_the_distribution_summary_gives_quantiles_in_the_order_of_the_types() -> None:
    found = similarity_bars.summary(
        [
            DistributionRow(kind, "held out", series, value / 10)
            for kind in ("word", "verbal")
            for series in ("before", "after")
            for value in range(11)
        ],
        labels=["verbal", "lexical", "word"],
    )
    assert [(row.type, row.series) for row in found] == [
        (kind, series) for kind in ("verbal", "word") for series in ("before", "after")
    ]
    assert found[0][2:] == pytest.approx((11, 0.1, 0.25, 0.5, 0.75, 0.9))


def test_heat_maps_of_two_models_have_one_scale() -> None:
    low, high = np.full((3, 3), 0.31), np.full((3, 3), 0.72)
    assert group_charts.shared_low([high, low]) == 0.3
    cells, numbers = group_charts.heat_map(high, HOSTILE[:3], low=0.3, dark=False).to_dict()[
        "layer"
    ]
    assert cells["encoding"]["color"]["scale"]["domain"][::9] == [0.3, 1.0]
    assert cells["encoding"]["color"]["scale"]["range"] == list(LIGHT.sequential)
    assert numbers["mark"]["type"] == "text"


# -- benchmarks ------------------------------------------------------------------------


def test_outcomes_fill_a_bar_starting_with_right() -> None:
    counts = {"antonym": 1, "negation": 6, "both": 2, "tied": 1, "unanswered": 0}
    shown = shares_of(HOSTILE[0], counts)
    chart = outcome_charts.outcomes(shown, order=list(counts), right="both", dark=False)
    found = [(row["outcome"], round(row["start"], 6), round(row["end"], 6)) for row in rows(chart)]
    assert found == [
        ("both", 0.0, 0.2),
        ("antonym", 0.2, 0.3),
        ("negation", 0.3, 0.9),
        ("tied", 0.9, 1.0),
    ]
    colour = chart.to_dict()["layer"][0]["encoding"]["color"]
    assert HOSTILE[0] not in str(colour) and colour["scale"]["domain"][0] == "both"
    assert colour["scale"]["range"][0] == LIGHT.diverging[-1]
    assert len(set(colour["scale"]["range"])) == len(colour["scale"]["domain"]) == 4


def test_parts_and_boxes_are_grouped_by_model() -> None:
    parts = [PartBar("scope", model, score, 7) for model, score in (("a", 10.0), ("b", 90.0))]
    found = rows(outcome_charts.parts(parts, dark=True))
    assert [(row["series"], row["score"], row["label"]) for row in found] == [
        ("a", 10.0, "scope\n7 items"),
        ("b", 90.0, "scope\n7 items"),
    ]
    row = rows(outcome_charts.boxes([Box("1", "a", 5, 0.1, 0.2, 0.3, 0.4, 0.5)], dark=True))[0]
    assert (row["median"], row["label"]) == (0.3, "1\n5 pairs")


def test_a_line_connects_a_base_model_with_models_trained_from_it() -> None:
    dots = [
        Dot("base", 30.0, 60.0),
        Dot("trained", 50.0, 58.0, "base"),
        Dot("lost", 40.0, 40.0, "not shown"),
        Dot("paper's", 50.0, 58.1, published=True),
    ]
    found = rows(scatter(dots, negation="negation", general="general", dark=False))
    assert [(row["trail"], row["general"]) for row in found if "trail" in row] == [
        ("trained", 60.0),
        ("trained", 58.0),
    ]
    # The published point is almost on the trained one, and its label would cover the trained one's.
    assert {row["model"]: row["label"] for row in found if "label" in row} == {
        "base": "base",
        "trained": "trained",
        "lost": "lost",
        "paper's": "",
    }


def test_every_token_is_shown_and_its_matches_are_framed() -> None:
    similarity = np.array([[0.1, 0.9, 0.2], [0.5, 0.3, 0.8]])
    matrix = TokenMatrix(("not", "not"), ("a", "b", "a"), similarity, similarity.argmax(axis=1))
    found = rows(single_item.token_chart(matrix, dark=False))
    assert len({(row["query"], row["document"]) for row in found}) == 6
    assert [(row["first"], row["second"], row["value"]) for row in found if row["best"]] == [
        ("not", "b", 0.9),
        ("not", "a", 0.8),
    ]


# -- training --------------------------------------------------------------------------


def bands(names: Iterable[str], epochs: int = 2) -> list[Band]:
    return [Band(epoch, epoch, name, 0.5, 0.4, 0.6) for name in names for epoch in range(epochs)]


def test_four_roles_have_four_line_styles_and_each_band_can_be_shown_alone() -> None:
    spec = curve_charts.cosines(bands(ROLES.values()), dark=False).to_dict()
    dashes = spec["layer"][0]["encoding"]["strokeDash"]["scale"]["range"]
    assert len({tuple(dash) for dash in dashes}) == len(ROLES) == 4
    (picked,) = spec["params"]
    assert picked["bind"] == "legend"
    for layer in spec["layer"][:3]:
        (condition,) = layer["encoding"]["opacity"]["condition"]
        assert condition["param"] == picked["name"]


def test_the_bands_of_a_run_in_progress_only_change_their_data() -> None:
    two, three = (
        curve_charts.cosines(bands(["negations"], epochs), dark=False).to_dict()
        for epochs in (2, 3)
    )
    assert two != three and without_data(two) == without_data(three)


@pytest.mark.parametrize("dark", [False, True])
def test_the_box_chart_draws_only_values_that_its_rows_have(dark: bool) -> None:
    figures = {DOCUMENTS: 0.5, SPREAD: 0.1} | {quantile(p): p / 100 for p in QUANTILES}
    chart = documents([Evaluation(1, 2, figures)], dark=dark)
    fields = {
        channel["field"]
        for layer in chart.to_dict()["layer"]
        for channels in layer["encoding"].values()
        for channel in (channels if isinstance(channels, list) else [channels])
    }
    (row,) = rows(chart)
    assert fields == row.keys()


def test_labels_of_nearby_points_give_way_to_more_important_ones() -> None:
    points = [
        SharePoint(s, {"ranked": 0.5 + 0.4 * min(s, 0.5), "drift": 0.2 * min(s, 0.5)})
        for s in SHARES
    ]
    found = rows(
        negation_and_ability.curve(
            Curve(1, 7, points, 0.8, {}, ""),
            general=ABILITY_KEPT,
            negation="ranked",
            negation_name="Triples",
            share=0.6,
            dark=False,
        )
    )
    labels = {row["share"]: row["label"] for row in found}
    assert labels[0.0] == "0: before" and labels[0.6] == "0.6"  # it outranks the end
    assert not any(labels[share] for share in (0.5, 0.7, 0.8, 0.9, 1.0))  # all in one place
    assert [row["chosen"] for row in found].count(True) == 1


STUDY = [
    FigureRow("All", 1, 80, "ranked", 0.5, 0.9, 20),
    FigureRow("All", 1, 80, "drift", 0.0, 0.1, 9),
    FigureRow("Half", 2, 40, "ranked", 0.5, 0.6, 20),
    FigureRow("Half", 2, 40, "drift", 0.0, 0.05, 9),
]


def test_differences_are_to_the_base_or_to_all_in_percent_or_points() -> None:
    def found(against: Against, *, relative: bool) -> dict[tuple[str, str], object]:
        return {
            (row.arm, row.figure): pytest.approx(row.difference)
            for row in differences(STUDY, against=against, full="All", relative=relative)
        }

    assert found(Against.BASE, relative=True) == {("All", "ranked"): 80, ("Half", "ranked"): 20}
    assert found(Against.BASE, relative=False) == {
        ("All", "ranked"): 40,
        ("All", "drift"): 10,
        ("Half", "ranked"): 10,
        ("Half", "drift"): 5,
    }
    assert found(Against.FULL, relative=True) == {
        ("Half", "ranked"): pytest.approx(-100 / 3),
        ("Half", "drift"): -50,
    }


def test_the_papers_figure_3_follows_from_its_table_2() -> None:
    of = differences(published_rows(Study.DATA), against=Against.BASE, full="All", relative=True)
    found = {(row.figure, row.arm): round(row.difference, 1) for row in of}
    assert found["Mean of four negation tests", "Only negation"] == 73.0
    assert found["MTEB STS", "All"] == -6.8 and published_rows(Study.TYPES) == []


def test_published_bars_are_hollow_in_the_colour_of_their_training() -> None:
    of = [*STUDY, *published_rows(Study.DATA)]
    found = differences(of, against=Against.BASE, full="All", relative=False)
    arms = ["All", "Half", "Only negation", "Only hedging"]
    measured, published = study_charts.differences(
        found, arms=arms, relative=False, against="base encoder", dark=False
    ).to_dict()["layer"][:2]
    assert published["mark"]["fill"] == "transparent" and "fill" not in published["encoding"]
    assert published["encoding"]["stroke"]["scale"] == measured["encoding"]["fill"]["scale"]
    assert measured["encoding"]["stroke"]["scale"]["domain"] == arms
    (of_items,) = (
        entry["field"] for entry in measured["encoding"]["tooltip"] if entry["title"] == "n"
    )
    assert {(bar["hollow"], bar[of_items].isdecimal()) for bar in published["data"]["values"]} == {
        (True, False),
        (False, True),
    }, "the paper does not report its numbers of items"


def test_the_trade_off_starts_at_the_base_encoder_and_rises_where_it_improves() -> None:
    points = trade_off(STUDY, negation="ranked", general="drift")
    assert [(point.triples, point.negation, point.general) for point in points] == [
        (0, 0.5, 1.0),
        (40, 0.6, 0.95),
        (80, 0.9, 0.9),
    ]
    chart = study_charts.trade_off(points, negation="ranked", general="1 − drift", dark=True)
    assert [row["label"] for row in rows(chart)] == ["base", "40", "80"]


def test_few_lines_are_enough_for_the_overlap_with_many_benchmarks() -> None:
    shared = [compared(key=f"{n}" * 16, overlapping=n) for n in range(1, 7)]
    clean = [compared(key=f"{n}" * 16, overlapping=0, exact=0) for n in range(7, 9)]
    found = training_form.overlap_sentences([*clean, *shared])
    assert [line.partition(" ")[0] for line in found] == ["6", "5", "4", "3", "2", "2"]
    assert "SemAntoNeg" in found[5], "two files without an overlap"
    assert "1,234" in training_form.overlap_sentences(clean[:1])[0]
    (line,) = training_form.overlap_sentences(
        [compared(problem="It is gone.", overlapping=0, exact=0)]
    )
    assert "It is gone." in line and "a.jsonl" in line and training_form.overlap_sentences([]) == []
