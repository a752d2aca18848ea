"""Files of variants: their rows, the roles of their columns, and types that they don't name."""

import codecs
import json
import shutil
import zipfile
from collections import Counter
from io import BytesIO
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from curation.corpora.corpus import STARTER
from curation.importing.cells import OPEN, Typed, cue_of, type_of
from curation.importing.column_roles import (
    ColumnRole,
    check_roles,
    given_roles,
    guess_roles,
    parse_roles,
    text_columns,
    types_by_name,
    with_given,
)
from curation.tables.files import parts_of_path, parts_of_upload
from curation.tables.table import Table, open_table
from curation.taxonomy.built_in import TAXONOMY
from db.errors import HedgerowError

ROWS = [
    {"anchor": "The bridge is safe.", "verbal": "The bridge isn’t safe."},
    {"anchor": "It rains, here.", "verbal": 'It does "not" rain, here.'},
]
CSV = (
    "anchor,verbal\nThe bridge is safe.,The bridge isn’t safe.\n"
    '"It rains, here.","It does ""not"" rain, here."\n'
)


def parquet(rows: list[dict[str, Any]]) -> bytes:
    sink = BytesIO()
    pq.write_table(pa.Table.from_pylist(rows), sink)
    return sink.getvalue()


def lines(rows: list[dict[str, Any]]) -> bytes:
    return "".join(json.dumps(row) + "\n" for row in rows).encode()


def table_of(data: bytes, name: str = "mine") -> Table:
    return open_table(parts_of_upload(data, name), is_prose=False)


def cells(data: bytes, name: str = "mine") -> list[dict[str, Any]]:
    return [row.cells for row in table_of(data, name).rows()]


def complaint(data: bytes, name: str = "mine") -> str:
    with pytest.raises(HedgerowError) as error:
        list(table_of(data, name).rows())
    return str(error.value)


@pytest.mark.parametrize(
    ("data", "place"),
    [
        (CSV.encode(), "line 2"),
        (codecs.BOM_UTF8 + CSV.encode(), "line 2"),
        (CSV.encode("utf-16"), "line 2"),
        (
            CSV.replace(",verbal", "\tverbal")
            .replace(".,The", ".\tThe")
            .replace('.","', '."\t"')
            .encode(),
            "line 2",
        ),
        (lines(ROWS), "line 1"),
        (json.dumps(ROWS).encode(), "record 1"),
        (json.dumps(ROWS, indent=2).encode("utf-16"), "record 1"),
        (parquet(ROWS), "row 1"),
    ],
    ids=["csv", "bom", "utf-16", "tsv", "jsonl", "json", "json utf-16", "parquet"],
)
def test_every_format_gives_the_same_rows(data: bytes, place: str) -> None:
    table = table_of(data)
    assert table.columns == ("anchor", "verbal") and [row.cells for row in table.rows()] == ROWS
    assert [row.cells for row in table.rows()] == ROWS  # any number of times
    assert next(table.rows()).place == f"{place} of mine"


def test_variants_are_read_from_a_folder_or_an_archive_and_triples_are_not(tmp_path: Path) -> None:
    folder = tmp_path / "export"
    for part in ("triples", "variants"):
        (folder / part).mkdir(parents=True)
        for number, row in enumerate(ROWS):
            (folder / part / f"{number}.parquet").write_bytes(parquet([row | {"part": part}]))
    (folder / "hedgerow.json").write_text("{}")
    expected = [row | {"part": "variants"} for row in ROWS]
    packed = Path(shutil.make_archive(str(tmp_path / "export"), "zip", folder))
    for place in (folder, packed):
        assert [row.cells for row in open_table(parts_of_path(place)).rows()] == expected
    assert cells(packed.read_bytes(), "export.zip") == expected
    for name in ("ada", "bo"):
        (folder / name).mkdir()
        answered = ROWS[0] | {"label_annotations": {"verdict": {"accept": "true"}}}
        (folder / name / "variants.jsonl").write_bytes(lines([answered]))
    shutil.rmtree(folder / "variants")
    potato = [row.cells["annotator"] for row in open_table(parts_of_path(folder)).rows()]
    assert potato == ["ada", "bo"]


def test_a_folder_holds_files_with_the_same_columns(tmp_path: Path) -> None:
    with pytest.raises(HedgerowError, match="Expected a table"):
        parts_of_path(tmp_path)
    (tmp_path / "a.csv").write_text("anchor,verbal\nIt rains.,It does not rain.\n")
    (tmp_path / "b.csv").write_text("anchor,word\nIt rains.,It may rain.\n")
    with pytest.raises(HedgerowError, match=r"b\.csv as in a\.csv"):
        open_table(parts_of_path(tmp_path))


def test_a_task_of_label_studio_is_a_row_for_each_annotator() -> None:
    def choice(verdict: str, name: str = "verdict") -> dict[str, Any]:
        return {"from_name": name, "type": "choices", "value": {"choices": [verdict]}}

    tasks = [
        {
            "id": 1,
            "data": {"anchor": "It rains.", "text": "It may rain.", "meta": {"page": 3}},
            "annotations": [
                {
                    "completed_by": {"id": 4, "first_name": "Ada", "last_name": "Lovelace"},
                    "result": [choice("Accept"), choice("word", "type")],
                },
                {"completed_by": 7, "result": [choice("Reject")]},
                {"completed_by": 8, "was_cancelled": True, "result": [choice("Reject")]},
            ],
            "predictions": [{"result": [choice("Reject")]}],
        },
        {"id": 2, "data": {"anchor": "It snows.", "text": "It may snow."}, "annotations": []},
    ]
    table = table_of(json.dumps(tasks).encode())
    assert table.tool == "Label Studio"
    assert table.columns == ("anchor", "text", "meta", "verdict", "type", "annotator")
    base = {"anchor": "It rains.", "text": "It may rain.", "meta": {"page": 3}}
    assert [row.cells for row in table.rows()] == [
        base | {"verdict": "Accept", "type": "word", "annotator": "Ada Lovelace"},
        base | {"verdict": "Reject", "annotator": "annotator 7"},
        {"anchor": "It snows.", "text": "It may snow."},
    ]


@pytest.mark.parametrize(
    "record",
    [
        {
            "fields": {"anchor": "It rains.", "text": "It may rain."},
            "metadata": {"type": "word"},
            "responses": {
                "verdict": [
                    {"value": "accept", "user_id": "ada"},
                    {"value": "reject", "user_id": "bo", "status": "discarded"},
                ]
            },
            "suggestions": {"verdict": {"value": "reject", "agent": "gpt"}},
        },
        {
            "fields": {"anchor": "It rains.", "text": "It may rain."},
            "metadata": {"type": "word"},
            "responses": [
                {
                    "user_id": "ada",
                    "status": "submitted",
                    "values": {"verdict": {"value": "accept"}},
                },
                {"user_id": "bo", "status": "draft", "values": {"verdict": {"value": "reject"}}},
            ],
        },
        {
            "anchor": "It rains.",
            "text": "It may rain.",
            "type": "word",
            "verdict.suggestion": "reject",
            "verdict.responses": ["accept", "reject"],
            "verdict.responses.users": ["ada", "bo"],
            "verdict.responses.status": ["submitted", "discarded"],
        },
    ],
    ids=["library", "server", "data set"],
)
@pytest.mark.parametrize("write", [lines, parquet])
def test_a_record_of_argilla_is_a_row_for_each_annotator(record: Any, write: Any) -> None:
    table = table_of(write([record]))
    assert table.tool == "Argilla"
    assert [row.cells for row in table.rows()] == [
        {
            "anchor": "It rains.",
            "text": "It may rain.",
            "type": "word",
            "verdict": "accept",
            "annotator": "ada",
        }
    ]


def excel() -> bytes:
    sink = BytesIO()
    with zipfile.ZipFile(sink, "w") as archive:
        archive.writestr("xl/workbook.xml", "<x/>")
    return sink.getvalue()


@pytest.mark.parametrize(
    ("data", "fact"),
    [
        (b"", "mine is empty"),
        (b"\n\n", "blank lines"),
        (b"a,b\n1,2,3\n", "2 fields, found 3 on line 2"),
        (b'a,b\n"1,2\n', "line 2 of mine has a quotation mark"),
        (b"a,b\n1," + b"x" * 200_000 + b"\n", "131,072"),
        (b"a,b\n" + b"x" * 1_100_000, "Line 2 of mine is longer than 1 MB"),
        ("a,b\nSchön,x\n".encode("latin-1"), "line 2 has the byte 0xF6"),
        (b"a,b\n1,\x00\n", "Line 2 of mine contains a NUL"),
        ("a,b".encode("utf-32"), "UTF-32"),
        (b'{"a": 1}\n{"a": 1,\n', "line 2 of mine"),
        (b'{"a": 1, "a": 2}\n', "twice"),
        (b'[{"a": 1}, 2]', "record 2 of mine, found a number"),
        (b'[{"a": 1}, {"b"', "at record 2"),
        (b"[]", "blank lines"),
        (b"PAR1" + b"x" * 50, "Parquet"),
        (b"%PDF-1.7", "PDF"),
        (b"PK\x03\x04" + b"x" * 50, "zip archive"),
        (excel(), "Excel"),
        (b"a,a\n1,2\n", "'a' twice in line 1 of mine"),
    ],
)
def test_a_broken_file_is_refused_with_its_fault(data: bytes, fact: str) -> None:
    message = complaint(data)
    assert fact in message and message.endswith(".") and "\n" not in message


TYPES = types_by_name(TAXONOMY)


def given(*arguments: str, columns: tuple[str, ...] = ("a", "b", "c")) -> dict[str, str]:
    return given_roles(parse_roles(arguments), columns=columns, types=TYPES, name="mine.csv")


@pytest.mark.parametrize(
    ("columns", "roles"),
    [
        (("anchor", "text", "type"), {"anchor": "anchor", "text": "text", "type": "type"}),
        (("Sentence1", "sentence2"), {"Sentence1": "anchor", "sentence2": "text"}),
        (("#anchor", "worker"), {"#anchor": "anchor", "worker": "reviewer"}),
        (("verdict", "verdict (answer)"), {"verdict (answer)": "verdict"}),
        (
            ("anchor", "positive", "negative"),
            {"anchor": "anchor", "positive": "hedge", "negative": "negation"},
        ),
        (
            ("anchor", "entailment", "negative"),
            {"anchor": "anchor", "entailment": "entailment", "negative": "contradiction"},
        ),
        (
            ("anchor", "verbal", "Single-word hedge", "Hedge: single word", "serial"),
            {"anchor": "anchor", "verbal": "verbal", "Hedge: single word": "word"},
        ),
    ],
)
def test_names_of_columns_speak_for_what_they_hold(
    columns: tuple[str, ...], roles: dict[str, str]
) -> None:
    assert guess_roles(columns, TYPES) == roles


def test_given_roles_replace_guessed_ones() -> None:
    guessed = guess_roles(("anchor", "note", "sentence", "positive"), TYPES)
    roles = with_given(
        guessed,
        given(
            *("sentence=anchor", "note=ignore", "positive=Verbal negation"),
            columns=("anchor", "note", "sentence", "positive"),
        ),
    )
    assert roles == {"sentence": ColumnRole.ANCHOR, "positive": "verbal"}
    assert text_columns(roles) == {"positive": "verbal"}


@pytest.mark.parametrize(
    ("arguments", "fact"),
    [
        (["a"], "found 'a'"),
        (["=anchor"], "found '=anchor'"),
        (["d=anchor"], "'d' in mine.csv, found 'a', 'b', 'c'"),
        (["a=text", "a=anchor"], "one role for 'a'"),
        (["a=emphatic"], r"role \(anchor, .*verbal.*found 'emphatic'"),
    ],
)
def test_a_text_that_is_not_a_mapping_is_refused(arguments: list[str], fact: str) -> None:
    with pytest.raises(HedgerowError, match=fact):
        given(*arguments)


@pytest.mark.parametrize(
    ("mapping", "fact"),
    [
        (["b=verbal"], "column of anchors"),
        (["a=anchor"], "column of variants"),
        (["a=anchor", "b=text"], "no types"),
        (["a=anchor", "b=anchor", "c=verbal"], "one column of the role anchor"),
    ],
)
def test_a_mapping_without_variants_is_refused(mapping: list[str], fact: str) -> None:
    with pytest.raises(HedgerowError, match=fact):
        check_roles(given(*mapping), columns=("a", "b", "c"), name="mine.csv")


BUILT_IN = {entry.id: entry for entry in TAXONOMY}
ANCHOR = "The bridge is safe for lorries."


def found(role: ColumnRole, text: str, anchor: str = ANCHOR) -> Typed:
    return type_of(role, BUILT_IN, anchor=anchor, text=text)


@pytest.mark.parametrize(
    ("role", "text", "typed"),
    [
        (ColumnRole.NEGATION, "The bridge isn't safe for lorries.", Typed("verbal")),
        (ColumnRole.NEGATION, "No bridge is safe for lorries.", Typed("absolute")),
        (ColumnRole.NEGATION, "The bridge is unsafe for lorries.", Typed("affixal")),
        (ColumnRole.NEGATION, "The bridge is dangerous for lorries.", Typed("lexical")),
        (ColumnRole.NEGATION, "The bridge is hardly safe for lorries.", OPEN),
        (ColumnRole.NEGATION, "The bridge is safe for lorries!", OPEN),
        (ColumnRole.HEDGE, "The bridge is probably safe for lorries.", Typed("word", "probably")),
        (
            ColumnRole.HEDGE,
            "I'm not sure, but the bridge may be safe for lorries.",
            Typed("phrase", "not sure"),
        ),
        (ColumnRole.HEDGE, "The bridge, mind you, is safe for lorries.", OPEN),
    ],
)
def test_a_text_is_what_its_surface_and_its_cue_make_it(
    role: ColumnRole, text: str, typed: Typed
) -> None:
    assert found(role, text) == typed


def test_neither_a_cue_of_the_anchor_nor_a_retired_type_is_used() -> None:
    anchor, text = "The bridge is probably safe.", "The bridge is, mind you, probably safe."
    assert found(ColumnRole.HEDGE, text, anchor) == OPEN
    retired = BUILT_IN | {"word": BUILT_IN["word"].model_copy(update={"retired": True})}
    text = "The bridge is probably safe for lorries."
    assert type_of(ColumnRole.HEDGE, retired, anchor=ANCHOR, text=text) == OPEN


def test_the_cue_of_a_typed_hedge_is_one_of_its_list() -> None:
    text = "I'm not sure, but the bridge may be safe for lorries."
    assert cue_of(BUILT_IN["phrase"], anchor=ANCHOR, text=text) == "not sure"
    assert cue_of(BUILT_IN["word"], anchor=ANCHOR, text=text) == "may"
    assert cue_of(BUILT_IN["word"], anchor=ANCHOR, text=ANCHOR) is None


@pytest.mark.slow
def test_the_starter_corpus_is_typed_as_it_was_written() -> None:
    right, all_ = Counter[str](), Counter[str]()
    for family in STARTER.families()[::4]:
        for type_id in ("verbal", "absolute", "affixal", "lexical", "word", "phrase"):
            role = ColumnRole.HEDGE if BUILT_IN[type_id].role == "hedge" else ColumnRole.NEGATION
            entry = family[type_id]
            text = entry["text"] if isinstance(entry, dict) else entry
            all_[type_id] += 1
            right[type_id] += found(role, text, family["anchor"]).type_id == type_id
    assert min(right[type_id] / number for type_id, number in all_.items()) > 0.95
