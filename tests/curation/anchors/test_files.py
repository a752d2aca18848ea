"""Anchor files: what is read from each format, which labels count, and which files are refused."""

import io
import json
import tracemalloc
from collections.abc import Callable
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from curation.editing.own_types import CONTRADICTION, ENTAILMENT
from curation.importing.labels import LabelledTable, read_file, read_pasted
from curation.importing.originals import guess_columns
from curation.tables.columns import FileTable
from curation.tables.files import MAX_BYTES, check_size
from curation.tables.table import MAX_COLUMNS, Format
from db.errors import HedgerowError

MB = 1024 * 1024


def parquet(**columns: Any) -> bytes:
    buffer = io.BytesIO()
    pq.write_table(pa.table(columns), buffer)
    return buffer.getvalue()


def complaint(data: bytes, name: str = "anchors.csv", **more: Any) -> str:
    """The sentence with which a file is refused."""
    with pytest.raises(HedgerowError) as caught:
        read_file(data, name=name, **more)
    sentence = str(caught.value)
    assert "\n" not in sentence and sentence.endswith(".")
    return sentence


def rows(table: FileTable, column: str = "text") -> list[tuple[int, str | None]]:
    return list(zip(table.lines, table.texts(column), strict=True))


@pytest.mark.parametrize(
    ("data", "name", "kind", "lines"),
    [
        (b"text,n\nHi there,1\n\nYou too,2\n", "a.csv", Format.CSV, [2, 4]),
        (b'n,text\n1,"Hi\nthere"\n2,You too\n', "a.CSV", Format.CSV, [2, 4]),
        (b"text;n\nHi there;1\nYou, too;2\n", "a.csv", Format.CSV, [2, 3]),
        (b"text\r\nHi there\r\nYou too\r\n", "a.csv", Format.CSV, [2, 3]),
        (b"text\tn\nHi there\t1\nYou too\t2", "a.tsv", Format.TSV, [2, 3]),
        (b'{"text":"Hi there"}\n\n{"text":"You too"}\n', "a.jsonl", Format.JSONL, [1, 3]),
        (b'{"text":"Hi there"}\n{"text":"You too"}\n', "a.json", Format.JSONL, [1, 2]),
        (b"Hi there, you\n\nYou too\n", "a.txt", Format.TEXT, [1, 3]),
        (b"Hi there, you\nYou too", "a", Format.TEXT, [1, 2]),
        (b"text\tn\nHi there\t1\nYou too\t2", "a", Format.TSV, [2, 3]),
        (parquet(text=["Hi there", "You too"]), "a.parquet", Format.PARQUET, [1, 2]),
        (parquet(text=["Hi there", "You too"]), "a.csv", Format.PARQUET, [1, 2]),
    ],
)
def test_each_is_known_by_its_name_or_what_it_holds(
    data: bytes, name: str, kind: Format, lines: list[int]
) -> None:
    table = read_file(data, name=name)
    assert table.format is kind and list(table.lines) == lines
    texts = [text for _, text in rows(table)]
    assert [(text or "")[:2] for text in texts] == ["Hi", "Yo"]


def test_the_format_can_be_chosen_and_only_line_ends_end_a_line_of_plain_text() -> None:
    data = b"text,n\nHi there,1\n"
    assert rows(read_file(data, name="a.csv", format=Format.TEXT))[0] == (1, "text,n")
    table = read_file("A\u2028b\x85c\x0bd.\rNext.\r\nLast.".encode(), name="a.txt")
    assert list(table.lines) == [1, 2, 3]


@pytest.mark.parametrize(
    ("pasted", "column", "expected"),
    [
        ("First, one.\nSecond, two.", "text", [(1, "First, one."), (2, "Second, two.")]),
        (
            "1. It rains.\n\n2) It pours.\n• 3 men left.",
            "text",
            [(1, "It rains."), (3, "It pours."), (4, "3 men left.")],
        ),
        (
            "1. FC Köln won.\nIt rains.\nIt pours.",
            "text",
            [(1, "1. FC Köln won."), (2, "It rains."), (3, "It pours.")],
        ),
        ("id\tsentence\n1\tHi there", "sentence", [(2, "Hi there")]),
        ("id,sentence\n1,Hi there", "sentence", [(2, "Hi there")]),
        ('{"text": "Hi there"}', "text", [(1, "Hi there")]),
    ],
)
def test_pasted_prose_is_plain_and_a_pasted_table_is_a_table(
    pasted: str, column: str, expected: list[tuple[int, str]]
) -> None:
    assert rows(read_pasted(pasted), column) == expected


@pytest.mark.parametrize(
    ("header", "expected"),
    [
        ("id,text,note", "text"),
        ("id,Sentence,note", "Sentence"),
        ("premise,hypothesis,label", "premise"),
        ("a,b,c", None),
        ("id,frase,n", None),
    ],
)
def test_the_sentences_are_found_by_name_or_not_at_all(header: str, expected: str | None) -> None:
    data = f"{header}\n1,The longest of them all,x\n2,Another long one,y\n".encode()
    assert read_file(data, name="a.csv").sentence_column() == expected


def test_a_missing_json_field_is_a_gap_and_one_that_is_no_string_is_refused() -> None:
    data = b'{"text":"Hi","id":"a"}\n{"text":null,"id":"b"}\n{"text":["x","y"],"n":["c"]}\n'
    table = read_file(data, name="a.jsonl")
    assert table.sentence_column() == "text"  # no other column is taken silently
    with pytest.raises(HedgerowError, match="line 3 of a.jsonl"):
        table.texts("text")
    assert table.texts("id") == ["a", "b", None] and table.texts("n") == [None, None, "c"]


def test_nested_and_numeric_parquet_columns_are_reported_when_asked_for() -> None:
    data = parquet(text=["Hi"], words=[["a", "b"]], n=[1], g=pa.array(["x"]).dictionary_encode())
    table = read_file(data, name="a.parquet")
    assert table.text_columns == ("text", "g")
    for column, found in {"words": "a list", "n": "a number"}.items():
        with pytest.raises(HedgerowError, match=found):
            table.texts(column)


LATIN_1 = "text\nOne.\nThe café.\n".encode("latin-1")
WINDOWS = "text\n“Quoted”\n".encode("cp1252")
WIDE = ",".join(map(str, range(MAX_COLUMNS + 1))).encode() + b"\n"
PNG = b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR"


@pytest.mark.parametrize(
    ("data", "name", "fact"),
    [
        (b"", "a.csv", "a.csv is empty"),
        (b" \n\t\n", "a.txt", "blank lines"),
        (b"text,n\n", "a.csv", "header 'text', 'n'"),
        (b"The bridge is safe.\nIt is open.\n", "a.csv", "'The bridge is safe.'"),
        (b"text,n,text\na,b,c\n", "a.csv", "'text' twice in line 1"),
        (b"text,n\na,1\nb,c,2\n", "a.csv", "2 fields, found 3"),
        (b"text,n\na,1\nb\n", "a.csv", "found 1 on line 3"),
        (b"# by hand\ntext,n\na,1\n", "a.csv", "or remove what precedes the header"),
        (b'text,n\n"a\nb",1\nc;2\n', "a.csv", "found 1 on line 4"),
        (b'text,n\na,1\n"b,2\nc,3\n', "a.csv", "begins on line 3 of a.csv"),
        (b'text,n\n"a" b,1\n', "a.csv", "begins on line 2"),
        (b'text,n\na,1\n"b,2\n"c",3\n', "a.csv", "begins on line 3"),
        (b"text\na\0b\n", "a.csv", "Line 2 of a.csv contains a NUL"),
        ("text\nab".encode("utf-16-le"), "a.csv", "NUL"),
        ("text\nab".encode("utf-16")[:-1], "a.csv", "UTF-16"),
        ("text\nab".encode("utf-32"), "a.csv", "UTF-32"),
        (LATIN_1, "a.csv", "line 3 has the byte 0xE9 at position 8"),
        (WINDOWS, "a.csv", "line 2 has the byte 0x93 at position 1"),
        ("Zoë".encode("latin-1"), "a.txt", "line 1"),
        (b'{"text":"a"}\n{"text":\n', "a.jsonl", "line 2 of a.jsonl, found invalid JSON"),
        (b'{"text":"a"}\n["b"]\n', "a.jsonl", "line 2 of a.jsonl, found a list"),
        (b'{"a":' * 100_000, "a.jsonl", "nested"),
        (b'{"a":' + b"1" * 5_000 + b"}", "a.jsonl", "digits"),
        (b'{"text":"a","text":"b"}', "a.jsonl", "'text' occurs twice"),
        (b'{"text":1}', "a.jsonl", "a number on line 1"),
        (b'{"\\ud800":"a"}', "a.jsonl", "surrogate"),
        (WIDE, "a.csv", "500 columns"),
        (PNG, "a.csv", "PNG"),
        (b"\xff\xd8\xff\xe0\0\x10JFIF", "a.txt", "JPEG"),
        (b"GIF89a\1\0", "a.jsonl", "GIF"),
        (b"PK\x03\x04\x14\0" + b"stuff", "a.csv", "zip"),
        (b"\x1f\x8b\x08", "a.csv.gz", "gzip"),
        (b"MZ\x90\0\x03\0\0\0", "a.csv", "a program"),
        (b"\x7fELF\2\1\1", "a.csv", "a program"),
        (b"%PDF-1.7\n", "a.txt", "PDF"),
        (b"<!DOCTYPE html><html>", "a.csv", "web page"),
        (parquet(n=[1], v=[[1.0]]), "a.parquet", "none in 'n', 'v'"),
        (parquet(text=pa.array([], pa.string())), "a.parquet", "no rows"),
        (",".join(f"column_{n}" for n in range(400)).encode() + b"\n", "a.csv", "392 more"),
        *(
            (
                parquet(text=[f"Sentence number {n}." for n in range(50)])[:kept],
                "a.parquet",
                "damag",
            )
            for kept in (8, 60, 200, -1)
        ),
    ],
    ids=lambda value: None if isinstance(value, bytes) else str(value)[:40],
)
def test_an_unreadable_file_is_refused_with_its_fault(data: bytes, name: str, fact: str) -> None:
    assert fact in complaint(data, name)


def test_a_file_can_be_too_large() -> None:
    with pytest.raises(HedgerowError, match="500 MB"):
        check_size(MAX_BYTES + 1, "a.csv")


@pytest.mark.parametrize(
    ("make", "name", "fact"),
    [
        (lambda: b"x" * (50 * MB), "a.csv", "Line 1 of a.csv is longer than 1 MB"),
        (lambda: b"Hi.\n" + b"x" * (50 * MB), "a.txt", "Line 2 of a.txt is longer than 1 MB"),
        (lambda: b'{"text":"' + b"x" * (50 * MB), "a.jsonl", "line 1"),
        (lambda: b"text\n" + b"y" * 200_000, "a.csv", "begins on line 2 of a.csv has a field"),
    ],
)
def test_huge_lines_and_files_are_not_read_whole(
    make: Callable[[], bytes], name: str, fact: str
) -> None:
    data = make()
    tracemalloc.start()
    try:
        assert fact in complaint(data, name) and tracemalloc.get_traced_memory()[1] < 20 * MB
    finally:
        tracemalloc.stop()


def table(*records: dict[str, object]) -> LabelledTable:
    lines = "".join(json.dumps(record) + "\n" for record in records)
    return read_file(lines.encode(), name="file.jsonl")


def test_rows_that_an_annotator_rejected_are_left_out_and_counted() -> None:
    def prodigy(*answers: str | None) -> LabelledTable:
        return table(*({"text": f"It rains, {n}.", "answer": a} for n, a in enumerate(answers)))

    found = prodigy("accept", "reject", "ignore", "reject", None)
    assert list(found.labels.rejected) == [1, 2, 3] and len(found.lines) == 5
    assert "ignored in the source ('answer')" in found.labels.rejected[2]


@pytest.mark.parametrize(
    ("column", "values", "kept"),
    [
        ("status", ("submitted", "discarded"), [1]),  # Argilla's word
        ("status", ("Validated", "Discarded"), [1]),
        ("label", ("REJECT", "accept"), [2]),
        ("answer", ("reject", "Ada"), [1, 2]),  # an answer to a question is not a mark
    ],
)
def test_a_mark_is_one_of_the_words_of_annotation_tools(
    column: str, values: tuple[str, str], kept: list[int]
) -> None:
    found = table(*({"text": f"Who is {value}?", column: value} for value in values))
    assert [n for n in (1, 2) if n - 1 not in found.labels.rejected] == kept


SNLI = [
    {"sentence1": "A man sleeps.", "sentence2": "A person rests.", "gold_label": "entailment"},
    {"sentence1": "A man sleeps.", "sentence2": "A man runs.", "gold_label": "contradiction"},
    {"sentence1": "A man sleeps.", "sentence2": "A man snores.", "gold_label": "neutral"},
    {"sentence1": "A dog barks.", "sentence2": "It is loud.", "gold_label": "-"},
    {"sentence1": "A dog barks.", "sentence2": "It runs.", "gold_label": -1},
]


def test_labels_of_pairs_decide_what_a_hypothesis_is() -> None:
    found = table(*SNLI)
    assert found.sentence_column() == "sentence1"
    columns = guess_columns(found, "sentence1")
    assert columns == {"entailment": "entailment", "contradiction": "contradiction"}
    assert found.texts("entailment") == ["A person rests.", None, None, None, None]
    assert found.texts("contradiction") == [None, "A man runs.", None, None, None]
    assert found.labels.neutral == 3 and not found.labels.unknown and len(found.notes) == 1


@pytest.mark.parametrize(
    "record",
    [
        {"text": "It rains.", "label": "spam"},
        {"text": "It rains.", "label": "entailment"},  # labels of what?
        {"text": "It rains.", "label": 2},
        {"text": "It rains.", "label": ["weather"]},
        {"premise": "It rains.", "hypothesis": "It pours.", "label": "2.0"},
        {"premise": "It rains.", "hypothesis": "It pours.", "label": "maybe"},
    ],
)
def test_labels_that_are_not_understood_are_reported(record: dict[str, object]) -> None:
    (note,) = table(record).notes
    assert "'label'" in note and "not" in note


@pytest.mark.parametrize(
    ("header", "expected"),
    [
        ("anchor,entailment,negative", {ENTAILMENT: "entailment", CONTRADICTION: "negative"}),
        ("a,Entailed,Contradiction", {ENTAILMENT: "Entailed", CONTRADICTION: "Contradiction"}),
        ("text,negative,genre", {}),
        ("entailment,contradiction,x", {CONTRADICTION: "contradiction"}),
    ],
)
def test_columns_of_paired_texts_are_recognised_by_their_names(
    header: str, expected: dict[str, str]
) -> None:
    paired = read_file(f"{header}\na b,c d,e f\n".encode(), name="a.csv")
    assert guess_columns(paired, header.partition(",")[0]) == expected
