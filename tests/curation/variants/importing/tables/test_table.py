"""Tables row by row: formats, nested records of other programs, and broken files."""

import codecs
import json
import zipfile
from io import BytesIO
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from curation.variants.importing.tables.parts import parts_of_path, parts_of_upload
from curation.variants.importing.tables.table import Table, open_table
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
    return open_table(parts_of_upload(data, name))


def cells(data: bytes, name: str = "mine") -> list[dict[str, Any]]:
    return [row.cells for row in table_of(data, name).rows()]


def complaint(data: bytes, name: str = "mine") -> str:
    with pytest.raises(HedgerowError) as error:
        list(table_of(data, name).rows())
    return str(error.value)


@pytest.mark.parametrize(
    "data",
    [
        CSV.encode(),
        codecs.BOM_UTF8 + CSV.encode(),
        CSV.encode("utf-16"),
        CSV.replace(",verbal", "\tverbal")
        .replace(".,The", ".\tThe")
        .replace('.","', '."\t"')
        .encode(),
        lines(ROWS),
        json.dumps(ROWS).encode(),
        json.dumps(ROWS, indent=2).encode("utf-16"),
        parquet(ROWS),
    ],
    ids=["csv", "bom", "utf-16", "tsv", "jsonl", "json", "json utf-16", "parquet"],
)
def test_every_format_gives_the_same_rows(data: bytes) -> None:
    table = table_of(data)
    assert table.columns == ("anchor", "verbal")
    assert [row.cells for row in table.rows()] == ROWS
    assert [row.cells for row in table.rows()] == ROWS  # any number of times


def test_a_row_knows_where_it_is() -> None:
    assert [row.place for row in table_of(CSV.encode()).rows()] == [
        "line 2 of mine",
        "line 3 of mine",
    ]
    assert next(table_of(parquet(ROWS)).rows()).place == "row 1 of mine"
    assert next(table_of(json.dumps(ROWS).encode()).rows()).place == "record 1 of mine"


def test_a_long_list_is_read_object_by_object() -> None:
    many = [{"anchor": f"It is {n}.", "verbal": "x" * 900} for n in range(1_000)]
    assert cells(json.dumps(many).encode()) == many


def test_variants_are_read_from_a_folder_or_an_archive_and_triples_are_not(
    tmp_path: Path,
) -> None:
    folder = tmp_path / "export"
    for part in ("triples", "variants"):
        (folder / part).mkdir(parents=True)
        for number, row in enumerate(ROWS):
            path = folder / part / f"{number}.parquet"
            path.write_bytes(parquet([row | {"part": part}]))
    (folder / "hedgerow.json").write_text("{}")
    expected = [row | {"part": "variants"} for row in ROWS]
    assert [row.cells for row in open_table(parts_of_path(folder)).rows()] == expected
    packed = tmp_path / "export.zip"
    with zipfile.ZipFile(packed, "w") as archive:
        for path in sorted(folder.rglob("*.*")):
            archive.write(path, path.relative_to(folder).as_posix())
    assert [row.cells for row in open_table(parts_of_path(packed)).rows()] == expected
    assert cells(packed.read_bytes(), "export.zip") == expected


def test_files_of_one_table_have_the_same_columns(tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_text("anchor,verbal\nIt rains.,It does not rain.\n")
    (tmp_path / "b.csv").write_text("anchor,word\nIt rains.,It may rain.\n")
    with pytest.raises(HedgerowError, match=r"same columns in b\.csv as in a\.csv"):
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
    assert table.kind == "Label Studio"
    assert table.columns == ("anchor", "text", "verdict", "type", "annotator")
    base = {"anchor": "It rains.", "text": "It may rain."}
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
    assert table.kind == "Argilla"
    assert [row.cells for row in table.rows()] == [
        {
            "anchor": "It rains.",
            "text": "It may rain.",
            "type": "word",
            "verdict": "accept",
            "annotator": "ada",
        }
    ]


@pytest.mark.parametrize(
    ("data", "sentence"),
    [
        (b"", "mine is empty; choose a file with one variant per row."),
        (b"\n\n", "mine contains only blank lines; choose another file."),
        (
            b"anchor\nIt rains.\n",
            "Expected a header with an anchor column and a variant column on line 1 of mine",
        ),
        (b"a,b\n1,2,3\n", "Expected 2 fields as in the header, found 3 on line 2 of mine"),
        (b'a,b\n"1,2\n', "The row that begins on line 2 of mine has a quotation mark"),
        (b"a,b\n1," + b"x" * 200_000 + b"\n", "has a field of more than 131,072 characters"),
        (b"a,b\n" + b"x" * 1_100_000, "Line 2 of mine is longer than 1 MB"),
        (
            "a,b\nSchön,x\n".encode("latin-1"),
            "mine is not UTF-8: line 2 has the byte 0xF6",
        ),
        (b"a,b\n1,\x00\n", "Line 2 of mine contains a NUL byte"),
        ("a,b".encode("utf-32"), "Expected UTF-8, but mine is UTF-32"),
        (b'{"a": 1}\n{"a": 1,\n', "Expected one JSON object on line 2 of mine"),
        (b'{"a": 1, "a": 2}\n', "occurs twice"),
        (b"[1, 2]", "is broken after record 0 (an element of the list is not an object)"),
        (b'[{"a": 1}, {"b"', "is broken after record 1"),
        (b"[]", "mine has no rows"),
        (b"PAR1" + b"x" * 50, "mine is a Parquet file that cannot be read"),
        (b"%PDF-1.7", "but mine is a PDF document"),
        (b"PK\x03\x04" + b"x" * 50, "The zip archive cannot be read"),
        (b"a,a\n1,2\n", "found 'a' twice in mine"),
    ],
)
def test_broken_files_are_refused_with_one_sentence(data: bytes, sentence: str) -> None:
    message = complaint(data)
    assert sentence in message
    assert message.endswith(".") and "\n" not in message


def test_an_office_file_is_refused_as_one() -> None:
    sink = BytesIO()
    with zipfile.ZipFile(sink, "w") as archive:
        archive.writestr("xl/workbook.xml", "<x/>")
    assert "mine is an Excel workbook" in complaint(sink.getvalue())


def test_an_empty_folder_is_refused(tmp_path: Path) -> None:
    with pytest.raises(HedgerowError, match="Expected a file of variants in"):
        parts_of_path(tmp_path)
