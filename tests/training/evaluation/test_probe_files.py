"""Users' probes and sentences: files of each kind, and pasted text."""

from __future__ import annotations

from pathlib import Path

import pytest

from db.errors import HedgerowError
from training.evaluation.probe_files import (
    MAX_LABEL,
    Pasted,
    parse_file,
    parse_pasted,
    parse_sentences,
    read_probes,
)
from training.evaluation.similarity import ProbePair

GROUP = [
    ProbePair("A.", "Not A.", "contradicted"),
    ProbePair("A.", "Maybe A.", "weakened"),
    ProbePair("A.", "A, no doubt.", "affirmed"),
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
    expected = [ProbePair("He came, she left.", 'He "came".', "x"), ProbePair("A.", "B.", "")]
    assert read_probes(path) == expected


def test_the_label_column_may_be_missing(tmp_path):
    path = tmp_path / "p.csv"
    path.write_text("anchor,text\nA.,B.\n", encoding="utf-8")
    assert read_probes(path) == [ProbePair("A.", "B.", "")]


@pytest.mark.parametrize(
    ("name", "content", "sentence"),
    [
        ("p.xlsx", "", "Expected probes in a .csv, .tsv or .jsonl file"),
        ("p.csv", "", "did not find anchor and text"),
        ("p.csv", "anchor,sentence\nA.,B.\n", "did not find text"),
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
        ("p.jsonl", '{"anchor":"A.","text":"B.","text":"C."}', "the key 'text' occurs twice"),
        ("p.csv", "anchor,text,anchor\nA.,B.,C.\n", "found 'anchor' twice"),
        ("p.jsonl", '{"anchor":"A."}', "line 1: expected text in text"),
        ("p.jsonl", '{"anchor":"A.","text":3}', "line 1: expected text in text"),
        ("p.jsonl", '{"anchor":"A.","text":"\\ud800"}', "line 1: .*control character"),
    ],
)
def test_wrong_probes_give_one_sentence(tmp_path: Path, name, content, sentence):
    path = tmp_path / name
    path.write_text(content, encoding="utf-8")
    with pytest.raises(HedgerowError, match=sentence) as caught:
        read_probes(path)
    assert "\n" not in str(caught.value)


def test_an_unreadable_probe_file_gives_one_sentence(tmp_path):
    with pytest.raises(HedgerowError, match="No such file"):
        read_probes(tmp_path / "nowhere.csv")
    (tmp_path / "p.csv").write_bytes(b"anchor,text\n\xe4,b\n")
    with pytest.raises(HedgerowError, match="UTF-8"):
        read_probes(tmp_path / "p.csv")


@pytest.mark.parametrize(
    ("name", "content"),
    [
        (
            "g.csv",
            'anchor,contradicted,weakened,affirmed\nA.,Not A.,Maybe A.,"A, no doubt."\n',
        ),
        (
            "g.jsonl",
            '{"topic":"x","anchor":"A.","contradicted":"Not A.","weakened":"Maybe A.",'
            '"affirmed":"A, no doubt."}\n',
        ),
        ("g.txt", "A.\tNot A.\tMaybe A.\tA, no doubt.\n"),
    ],
)
def test_a_group_a_line_gives_three_pairs(name: str, content: str) -> None:
    assert parse_file(name, content.encode()) == Pasted(GROUP, [])


def test_a_group_without_one_of_its_forms_is_refused() -> None:
    with pytest.raises(HedgerowError, match="line 2: weakened is empty"):
        parse_file("g.csv", b"anchor,contradicted,weakened,affirmed\nA.,Not A.,,A it is.\n")


def test_pasted_lines_are_sentences_pairs_or_groups_by_their_columns() -> None:
    assert parse_pasted("A.\n\n  B. \nA.\n") == Pasted([], ["A.", "B."])
    assert parse_pasted("A.\tB.") == Pasted([ProbePair("A.", "B.", "")], [])
    assert parse_pasted("A. | B. | hoax") == Pasted([ProbePair("A.", "B.", "hoax")], [])
    assert parse_pasted("Anchor\tText\nA.\tB.") == Pasted([ProbePair("A.", "B.", "")], [])
    assert parse_pasted("A.\tNot A.\tMaybe A.\tA, no doubt.") == Pasted(GROUP, [])


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        (" \n ", "found nothing"),
        ("A.\tB.\nC.", "Line 2: expected as many columns as in the first line .2., found 1"),
        ("A.\tB.\tC.\tD.\tE.", "Line 1: expected 1 to 4 columns, found 5"),
        ("A.\tB.\n\nC.\t", "Line 3: text is empty"),
        (f"A.\tB.\t{'x' * (MAX_LABEL + 1)}", "Line 1: expected a label of at most"),
        ("A.\n" + "x" * 2001, "Line 2: expected at most 2000 characters"),
        ("A.\nB\x07", "Line 2: .*control character"),
    ],
)
def test_wrong_lines_are_reported_with_their_number(text: str, sentence: str) -> None:
    with pytest.raises(HedgerowError, match=sentence) as caught:
        parse_pasted(text)
    assert "\n" not in str(caught.value)


def test_a_sentence_may_have_a_bar_if_only_sentences_are_asked_for() -> None:
    assert parse_sentences("either | or\nA.\tB.\n") == ["either | or", "A. B."]
