"""Figure 1, own probes and distributions by type: the content of their charts."""

from __future__ import annotations

import pytest

from pages.components.shared.charts import similarity_bars
from pages.components.shared.charts.palette import palette
from training.evaluation.similarity import (
    DistributionRow,
    ProbePair,
    ProbeRow,
    figure_1_rows,
    probe_rows,
)


def test_figure_1_draws_published_values_hollow_in_the_colours_of_before_and_after() -> None:
    rows = figure_1_rows(before=[0.8, 0.7, 0.9], after=[0.4, 0.5, 0.95])
    spec = similarity_bars.figure_1(rows, dark=False).to_dict()
    bars = spec["layer"][0]["encoding"]
    light = palette(dark=False)
    assert bars["stroke"]["scale"]["range"] == [light.before, light.after] * 2
    assert bars["fill"]["scale"]["range"] == ["transparent"] * 2 + [light.before, light.after]
    assert bars["fill"]["scale"]["domain"] == [
        "before (paper)",
        "after (paper)",
        "before",
        "after",
    ]


def test_the_legend_puts_long_names_below_each_other() -> None:
    probes = [ProbePair("It rains.", "It pours.", "")]
    for names, columns in ((("before", "run 12"), 2), (("all-MiniLM-L6-v2", "hedgerow-minilm"), 1)):
        rows = [ProbeRow(*probes[0], name, 0.5, published=False) for name in names]
        bars = similarity_bars.figure_1(rows, dark=False).to_dict()["layer"][0]
        assert bars["encoding"]["fill"]["legend"]["columns"] == columns


def test_long_sentences_with_the_same_start_keep_distinct_labels() -> None:
    start = "word " * 60
    probes = [ProbePair("a", start + end, "") for end in ("one", "two", "three")]
    rows: list[ProbeRow] = probe_rows(probes, before=[0.1] * 3, after=[0.2] * 3)
    values = similarity_bars.own_probes(rows, dark=True).to_dict()["data"]["values"]
    labels = {row["second"]: row["pair"] for row in values}
    assert len(set(labels.values())) == 3
    assert max(len(line) for label in labels.values() for line in label.split("\n")) < 40


def test_a_sentence_of_usual_length_is_shown_whole_and_its_label_is_next_to_its_bars() -> None:
    sentence = "Nobody disputes that the astronaut was conscious when the team opened the capsule."
    rows = probe_rows([ProbePair("a", sentence, "")], before=[0.1], after=[0.2])
    spec = similarity_bars.figure_1(rows, dark=False).to_dict()
    (label,) = {row["pair"] for row in spec["data"]["values"]}
    assert label.split() == sentence.split()
    axis = spec["layer"][0]["encoding"]["y"]["axis"]
    assert axis["labelOffset"] == -label.count("\n") * similarity_bars.LINE / 2


@pytest.mark.parametrize(("lowest", "start"), [(0.72, 0.7), (0.95, 0.9), (1.0, 0.9), (-0.25, -0.3)])
def test_the_axis_of_distributions_starts_just_below_the_data(lowest: float, start: float) -> None:
    rows = [
        DistributionRow("word", "held out", series, value)
        for series in ("before", "after")
        for value in [lowest] * 5 + [1.0] * 5
    ]
    spec = similarity_bars.distribution(rows, labels={"word": "Word"}, dark=False).to_dict()
    assert spec["layer"][0]["encoding"]["x"]["scale"]["domain"] == [pytest.approx(start), 1.0]


def test_the_distribution_summary_gives_quantiles_in_the_order_of_the_types() -> None:
    rows = [
        DistributionRow(kind, "held out", series, value / 10)
        for kind in ("word", "verbal")
        for series in ("before", "after")
        for value in range(11)
    ]
    found = similarity_bars.summary(rows, labels=["verbal", "lexical", "word"])
    assert [(row.type, row.series) for row in found] == [
        ("verbal", "before"),
        ("verbal", "after"),
        ("word", "before"),
        ("word", "after"),
    ]
    assert found[0][2:] == pytest.approx((11, 0.1, 0.25, 0.5, 0.75, 0.9))
