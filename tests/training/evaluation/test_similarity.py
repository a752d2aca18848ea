"""Probes and rows: Figure 1, the user's pairs, distributions."""

from __future__ import annotations

import pytest

from curation.encoders.loading import load_encoder
from curation.encoders.model_folders import DEFAULT_ENCODER
from training.evaluation.similarity import (
    FIGURE_1,
    ProbePair,
    distribution_rows,
    figure_1_rows,
    probe_rows,
    probe_similarities,
)


def test_figure_1_before_training_has_the_known_cosines():
    """The values measured for the built-in encoder: 0.872, 0.755, 0.876."""
    model = load_encoder(DEFAULT_ENCODER, device="cpu")
    assert probe_similarities(model, FIGURE_1) == pytest.approx([0.872, 0.755, 0.876], abs=0.001)


def test_figure_1_shows_published_and_measured_values_separately():
    rows = figure_1_rows(before=[0.1, 0.2, 0.3], after=[0.4, 0.5, 0.6])
    table = {(row.series, row.label): (row.cosine, row.published) for row in rows}
    assert len(rows) == len(table) == 12
    assert table["paper: all-mpnet-base-v2", "contradicted"] == (0.81, True)
    assert table["paper: HedgeMPNet", "contradicted"] == (0.39, True)
    assert table["paper: HedgeMPNet", "weakened"] == (0.58, True)
    assert table["paper: HedgeMPNet", "affirmed"] == (0.85, True)
    assert table["before", "affirmed"] == (0.3, False)
    assert table["after", "contradicted"] == (0.4, False)
    assert {row.anchor for row in rows} == {"Global warming is real."}


def test_without_a_base_model_there_is_no_such_series():
    rows = figure_1_rows(before=None, after=[0.4, 0.5, 0.6])
    assert {row.series for row in rows if not row.published} == {"after"}


def test_rows_refuse_cosines_of_another_number_of_probes():
    with pytest.raises(ValueError, match="zip"):
        probe_rows([ProbePair("a", "b", "")], before=None, after=[0.1, 0.2])


def test_distribution_has_a_row_for_each_variant_and_series():
    rows = distribution_rows(
        types=["verbal", "word"],
        parts=["training", "pending fifth"],
        before=[0.9, 0.8],
        after=[0.3, 0.7],
    )
    assert [tuple(row) for row in rows] == [
        ("verbal", "training", "before", 0.9),
        ("word", "pending fifth", "before", 0.8),
        ("verbal", "training", "after", 0.3),
        ("word", "pending fifth", "after", 0.7),
    ]
