"""Probes and rows: Figure 1, the user's pairs, distributions."""

from __future__ import annotations

from pathlib import Path

import pytest

from curation.encoders import DEFAULT_ENCODER, load_encoder
from db.errors import HedgerowError
from training.similarity import (
    FIGURE_1,
    Probe,
    distribution_rows,
    figure_1_rows,
    probe_rows,
    probe_similarities,
    read_probes,
)


def test_figure_1_before_training_has_the_known_cosines():
    """The values measured for the built-in encoder: 0.872, 0.755, 0.876."""
    model = load_encoder(DEFAULT_ENCODER, device="cpu")
    assert probe_similarities(model, FIGURE_1) == pytest.approx([0.872, 0.755, 0.876], abs=0.001)


def test_figure_1_shows_published_and_measured_values_apart():
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


def test_without_a_model_before_there_is_no_such_series():
    rows = figure_1_rows(before=None, after=[0.4, 0.5, 0.6])
    assert {row.series for row in rows if not row.published} == {"after"}


def test_rows_refuse_cosines_of_another_number_of_probes():
    with pytest.raises(ValueError, match="zip"):
        probe_rows([Probe("a", "b", "")], before=None, after=[0.1, 0.2])


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


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("p.csv", 'anchor,text,label\n"He came, she left.","He ""came"".",x\nA.,B.,\n'),
        ("p.tsv", 'anchor\ttext\tlabel\nHe came, she left.\tHe "came".\tx\nA.\tB.\t\n'),
        (
            "p.jsonl",
            '{"anchor":"He came, she left.","text":"He \\"came\\".","label":"x"}\n\n'
            '{"anchor":"A.","text":"B."}\n',
        ),
        ("p.CSV", '\ufeffanchor,text,label\r\n"He came,\n she left.","He ""came"".",x\r\nA.,B.,'),
        ("p.csv", 'id,label,text,anchor\n1,x,"He ""came"".","He came, she left."\n2,,B.,A.\n'),
    ],
)
def test_probes_are_read_from_each_kind_of_file(tmp_path, name, content):
    path = tmp_path / name
    path.write_text(content, encoding="utf-8", newline="")
    expected = [Probe("He came, she left.", 'He "came".', "x"), Probe("A.", "B.", "")]
    assert read_probes(path) == expected


def test_the_label_column_may_be_missing(tmp_path):
    path = tmp_path / "p.csv"
    path.write_text("anchor,text\nA.,B.\n", encoding="utf-8")
    assert read_probes(path) == [Probe("A.", "B.", "")]


@pytest.mark.parametrize(
    ("name", "content", "sentence"),
    [
        ("p.xlsx", "", "Expected probes in a .csv, .tsv or .jsonl file"),
        ("p.csv", "", "anchor and text not found"),
        ("p.csv", "anchor,sentence\nA.,B.\n", "text not found"),
        ("p.csv", "anchor,text\n", "at least one pair"),
        ("p.csv", "anchor,text\nA.,B.\nA.\n", "line 3: expected 2 fields"),
        ("p.csv", "anchor,text\nA.,B.,C.\n", "line 2: expected 2 fields"),
        ("p.csv", "anchor,text\nA.,  \n", "line 2: text is empty"),
        ("p.csv", 'anchor,text\nA.,"B', "line 2: unexpected end of data"),
        ("p.tsv", "anchor\ttext\nA.\t\x07B.\n", "line 2: .*control character"),
        ("p.jsonl", "\n", "at least one pair"),
        ("p.jsonl", '{"anchor":"A.","text":"B."}\n{"anchor"', "line 2: expected JSON"),
        ("p.jsonl", "[" * 100_000, "line 1: expected JSON"),
        ("p.jsonl", '["A.","B."]', "line 1: expected an object"),
        ("p.jsonl", '{"anchor":"A."}', "line 1: expected a text as text"),
        ("p.jsonl", '{"anchor":"A.","text":3}', "line 1: expected a text as text"),
        ("p.jsonl", '{"anchor":"A.","text":"\\ud800"}', "line 1: .*control character"),
    ],
)
def test_wrong_probes_are_told_in_one_sentence(tmp_path: Path, name, content, sentence):
    path = tmp_path / name
    path.write_text(content, encoding="utf-8")
    with pytest.raises(HedgerowError, match=sentence) as caught:
        read_probes(path)
    assert "\n" not in str(caught.value)


def test_an_unreadable_probe_file_is_told_in_one_sentence(tmp_path):
    with pytest.raises(HedgerowError, match="No such file"):
        read_probes(tmp_path / "nowhere.csv")
    (tmp_path / "p.csv").write_bytes(b"anchor,text\n\xe4,b\n")
    with pytest.raises(HedgerowError, match="UTF-8"):
        read_probes(tmp_path / "p.csv")
