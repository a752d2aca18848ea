"""Tables as programs write them: whatever their settings and extensions, the same rows are read."""

import json
from io import BytesIO, StringIO
from typing import Any

import pandas as pd
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from curation.tables.delimited import QUOTES_KEPT
from curation.tables.table import Format, Table, open_bytes
from db.errors import HedgerowError

LS = {"anchor": "It rains.", "text": "It may rain.", "type": "word"}


def rows(table: Table) -> list[dict[str, Any]]:
    return [row.cells for row in table.rows()]


def read_or_refused(data: bytes, name: str) -> tuple[list[dict[str, Any]], str]:
    """The rows of a file, and the sentence with which it is refused."""
    try:
        return rows(open_bytes(data, name)), "."
    except HedgerowError as error:
        return [], str(error)


def line(**cells: Any) -> bytes:
    return (json.dumps(cells) + "\n").encode()


def choice(*chosen: str, name: str = "verdict") -> dict[str, Any]:
    return {"from_name": name, "type": "choices", "value": {"choices": list(chosen)}}


def task(*results: dict[str, Any]) -> bytes:
    annotation = {"completed_by": 1, "result": list(results)}
    return json.dumps([{"id": 1, "data": LS, "annotations": [annotation]}]).encode()


@pytest.mark.parametrize(
    ("name", "data", "kind", "expected"),
    [
        ("a.csv", b"anchor,negated\rA b.,C d.\rE f.,G h.\r", Format.CSV, ["C d.", "G h."]),
        ("a.csv", b"sep=;\nanchor;negated\nA, b.;C d.\n", Format.CSV, ["C d."]),
        ("a.txt", "anchor\tnegated\r\nA.\tB é.\r\n".encode("utf-16"), Format.TSV, ["B é."]),
        ("a.txt", b"x\tnegated\tn\n1\tA b.\t2\n3\tC d.\t4\n", Format.TSV, ["A b.", "C d."]),
        ("a.csv", b"anchor\tnegated\nA b.\tC d.\n", Format.CSV, ["C d."]),
        ("a.tsv", b"x,negated\n1,A b.\n", Format.TSV, ["A b."]),
        ("a.json", line(negated="A b.") + line(negated="C d."), Format.JSONL, ["A b.", "C d."]),
        ("a.json", b'{\n "x": 1,\n "negated": "A b."\n}', Format.JSONL, ["A b."]),
        ("a.json", b'{"n": 2, "data": [{"negated": "A b."}]}', Format.JSONL, ["A b."]),
        ("a.json", b'{"negated": {"0": "A b.", "1": "C d."}}', Format.JSONL, ["A b.", "C d."]),
        ("a.json", b'{"columns": ["negated"], "data": [["A b."]]}', Format.JSONL, ["A b."]),
        ("a.json", b'{\n"negated": "A b."\n}\n{\n"negated": "C d."\n}', Format.JSONL, 2),
        ("a.tsv", b'n\tnegated\n1\t"A b.\n2\tC d.\n3\tE f."\n', Format.TSV, 3),
        ("a.csv", b'n,negated\n1,"A b.\n2,C d.\n3,E f."\n', Format.CSV, 3),
        ("a.csv", b'n,negated\n1,"A\nb."\n2,C d.\n', Format.CSV, ["A\nb.", "C d."]),
        ("a.txt", b'"n" "negated"\n"1" "7" "He said \\"no\\"."\n', Format.CSV, ['He said "no".']),
        ("a.csv", b"'n','negated'\n'1','It''s, so.'\n", Format.CSV, ["It's, so."]),
        ("a.csv", b"n~negated\n1~A, b.\n", Format.CSV, ["A, b."]),
        ("a.txt", b"n\tnegated\n1\t7\tA b.\n2\t8\tNA\n", Format.TSV, ["A b.", ""]),
        ("a.csv", b"n,negated\n1,A b.,\n2,C d.,\n", Format.CSV, ["A b.", "C d."]),
        ("a.csv", b"n,negated\n1,['A b.']\n", Format.CSV, [["A b."]]),
        ("a.csv", b"n,negated\n1,\"['A b.' 'C d.']\"\n", Format.CSV, [["A b.", "C d."]]),
        ("a.csv", b"n,negated\n1,[sic] A b.\n", Format.CSV, ["[sic] A b."]),
        ("a.json", b'{"0": {"negated": "A b."}, "1": {"negated": "C d."}}', Format.JSONL, 2),
        ("a.json", b'{"anchor": {"p": "A."}, "negated": {"p": "C d."}}', Format.JSONL, ["C d."]),
        ("a.json", b'{"p": {"text": "A.", "negated": "C d."}}', Format.JSONL, ["C d."]),
        ("a.json", b'{"x": {"n": 2, "rows": [{"negated": "A b."}]}}', Format.JSONL, ["A b."]),
        ("a.json", b'{"text": "A.", "negated": "C.", "x": [{"y": 1}]}', Format.JSONL, ["C."]),
    ],
)
def test_the_content_decides_how_a_file_is_read(
    name: str, data: bytes, kind: Format, expected: Any
) -> None:
    table = open_bytes(data, name)
    found = [row["negated"] for row in rows(table)]
    assert table.format is kind and expected in (found, len(found))
    assert (QUOTES_KEPT in table.notes) is any(str(text).startswith('"') for text in found)


@pytest.mark.parametrize(
    ("data", "columns", "count"),
    [
        (b"__label__no A b.\n__label__yes C d.\n", ("label", "text"), 2),
        (b"#FORMAT=WebAnno TSV 3.3\n\n\n#Text=A b.\n1-1\t0-1\tA\t_\n", ("text",), 1),
        (b"# sent_id = 1\n# text = A b.\n1\tA\ta\n2\tb\tb\n", ("text",), 1),
        (b"Yes, it is.\nNo, it is not.\n", ("text",), 2),
        (b"#Text=A b\n#Text=c d.\n1-1\t0-1\tA\t_\n", ("text",), 1),
        (b"[1] A b.\n", ("text",), 1),
        (b"text\nA b.\n", ("text",), 1),
        (b"<b>A</b> b.\n<Anna> C d.\n", ("text",), 2),
        (b"- A b.\n- C d.\n", ("text",), 2),
        (b"CREATE PEACE.\nRIFF RAFF IS A NAME.\n", ("text",), 2),
    ],
)
def test_a_text_is_a_table_only_if_it_shows_columns(
    data: bytes, columns: tuple[str, ...], count: int
) -> None:
    table = open_bytes(data, "a.txt")
    assert (table.columns, len(rows(table))) == (columns, count)


@pytest.mark.parametrize(
    ("data", "fact"),
    [
        (b"no\tIt is not a bridge.\nyes\tIt is a bridge.\n", "column names"),
        (b"4\tA b.\n5\tC d.\n", "the number '4'"),
        (b"EU B-ORG\nrejects O\n\nPeter B-PER\nleft O\n", "CoNLL"),
        (b'{"a": [{"x": 1}], "b": [{"x": 2}]}', "several"),
        (b"anchor,negated,note\nA b.,C d.\n", "'note' is missing"),
        (b"4\tA b.\n5\tC d.\n", "'column_1, text'"),
        (b"A DT\nb NN\n\nC DT\nd VB\n", "CoNLL"),
        (b"{'text': 'A b.'}\n", "double quotes"),
        (b'["A b."]\n["C d."]\n', "more after a list"),
        (b'<?xml version="1.0"?>\n<s>A b.</s>\n', "XML"),
        (b"<s>A b.</s>\n<s>C d.</s>\n", "XML"),
        (b"-- dump\nCREATE TABLE a (text);\n", "SQL"),
        (b"- anchor: A b.\n  text: C d.\n", "YAML"),
        (b"1\n00:00:01,000 --> 00:00:02,000\nA b.\n", "subtitles"),
        (b"T1\tCue 3 6\tnot\n", "brat"),
        (b"1 ||| A b.\n", "between"),
        (b"(ROOT (S (NP A)))\n", "parse trees"),
        (b"| text |\n|---|\n| A b. |\n", "drawn with lines"),
        (b"+---+\n| n |\n+---+\n", "drawn with lines"),
        (b"\x80\x04\x95\x00", "pickled"),
        (b"\xff\xff\xff\xff\x10", "Arrow"),
    ],
)
def test_what_is_no_table_is_refused_by_what_it_looks_like(data: bytes, fact: str) -> None:
    with pytest.raises(HedgerowError, match=fact):
        list(open_bytes(data, "a.txt").rows())


@pytest.mark.parametrize(
    ("tool", "data", "expected"),
    [
        ("Label Studio", task(choice("good", name="text")), {"text (answer)": "good"}),
        ("Label Studio", task(choice("a"), choice("b")), {"verdict": ["a", "b"]}),
        ("Label Studio", task(choice("a"), choice("a")), {"verdict": "a"}),
        (
            "Label Studio",
            task({"from_name": "stars", "type": "rating", "value": {"rating": 4}}),
            {"stars": 4},
        ),
        (
            "Label Studio",
            task({"from_name": "t", "type": "taxonomy", "value": {"taxonomy": [["a", "b"]]}}),
            {"t": "a > b"},
        ),
        (
            "Label Studio",
            line(**LS, verdict={"choices": ["a", "b"]}, annotator=1, annotation_id=9),
            {"verdict": ["a", "b"]},
        ),
        (
            "Argilla",
            line(fields=LS, responses={"text": [{"value": "It might rain.", "user_id": "1"}]}),
            {"text (own wording)": "It might rain."},
        ),
        (
            "Label Studio",
            line(
                **LS,
                cue=[{"start": 3, "text": "may", "labels": ["a"]}],
                annotator=1,
                annotation_id=9,
            ),
            {"cue": "a"},
        ),
        (
            "Label Studio",
            line(**LS, stars=[{"rating": 4}], annotator=1, annotation_id=9),
            {"stars": 4},
        ),
        (
            "Label Studio",
            task({"from_name": "side", "type": "pairwise", "value": {"selected": "left"}}),
            {"side": "left"},
        ),
        (
            "Argilla",
            b"anchor,text,type,verdict.responses,verdict.responses.users\n"
            b"It rains.,It may rain.,word,['reject'],['1']\n",
            {"verdict": "reject"},
        ),
        (
            "Argilla",
            line(
                **LS
                | {"verdict": {"user_id": ["1"], "value": ["reject"], "status": ["submitted"]}},
                **{"verdict-suggestion": "accept", "metadata": '{"split": "test"}'},
            ),
            {"verdict": "reject", "split": "test"},
        ),
        (
            "Argilla",
            line(**LS, inputs=LS, annotation="a", annotation_agent="1", metadata=None),
            {"annotation": "a"},
        ),
        (
            "Label Studio",
            json.dumps(
                [
                    {
                        "data": LS | {"annotator": "x"},
                        "annotations": [{"completed_by": 1}],
                        "meta": {"n": 1},
                    }
                ]
            ).encode(),
            {"annotator (field)": "x", "n": 1},
        ),
        (
            "Prodigy",
            line(**LS, answer="reject", _annotator_id="1", spans=[{"label": "x"}]),
            {"answer": "reject", "spans": [{"label": "x"}]},
        ),
        (
            "Prodigy",
            line(**LS, options=[], accept=["x"], answer="ignore", _session_id="1"),
            {"answer": "ignore"},
        ),
        (
            "Prodigy",
            line(**LS, options=[{"id": "x"}], accept=["x"], answer="accept", _session_id="1"),
            {"accept": "x"},
        ),
        ("doccano", line(**LS, id=1, label=["a"], Comments=[], annotator="annotator 1"), {}),
        (
            "Potato",
            b"user,anchor,text,type,verdict:::a,verdict:::b\n1,It rains.,It may rain.,word,1.0,\n",
            {"verdict": "a"},
        ),
        (
            "Potato",
            line(**LS, user=1, label_annotations={"verdict": {"accept": "true"}}),
            {"verdict": "accept"},
        ),
    ],
)
def test_an_answer_stands_beside_the_record(
    tool: str, data: bytes, expected: dict[str, Any]
) -> None:
    table = open_bytes(data, "export")
    (found,) = rows(table)
    assert table.tool == tool and found.items() >= (LS | expected).items()
    assert found["annotator"] == "annotator 1"


TEXTS = st.text(st.characters(exclude_categories=["Cs", "Cc"]), min_size=1, max_size=20)
WRITTEN = TEXTS.map(lambda text: f"{text.strip()} x.") | st.sampled_from(
    ['He said "no", twice.', "It's 'so'; a|b", 'a\tb "c"', "C:\\d", "A\nb."]
)


@given(st.data())
def test_what_pandas_and_polars_write_is_read_back_whatever_their_settings(
    data: st.DataObject,
) -> None:
    texts = data.draw(st.lists(WRITTEN, min_size=1, max_size=5))
    separator = data.draw(st.sampled_from(",;\t|"))
    is_doubled = data.draw(st.booleans())
    if not is_doubled:  # two backslashes may be two, or one that is escaped
        texts = [text.replace("\\", "/") for text in texts]
    frame = pd.DataFrame({"n": [f"row {n}" for n in range(len(texts))], "text": texts})
    if data.draw(st.booleans()):
        written = pl.from_pandas(frame).write_csv(
            separator=separator, quote_style=data.draw(st.sampled_from(["necessary", "always"]))
        )
        encoded = written.encode()
    else:
        out = StringIO(newline="")
        frame.to_csv(
            out,
            sep=separator,
            index=data.draw(st.booleans()),
            quoting=data.draw(st.sampled_from([0, 1, 2])),
            lineterminator=data.draw(st.sampled_from(["\n", "\r\n"])),
            doublequote=is_doubled,
            escapechar=None if is_doubled else "\\",
        )
        encoding = data.draw(st.sampled_from(["utf-8", "utf-8-sig", "utf-16"]))
        encoded = out.getvalue().encode(encoding)
    assert [row["text"] for row in rows(open_bytes(encoded, "a.csv"))] == texts


@given(st.binary(max_size=300), st.sampled_from(["a.csv", "a.tsv", "a.json", "a.txt", "a"]))
def test_any_bytes_give_rows_or_one_sentence(data: bytes, name: str) -> None:
    found, said = read_or_refused(data, name)
    assert all(isinstance(row, dict) for row in found) and "\n" not in said


def test_a_parquet_file_that_ends_pyarrow_is_refused() -> None:
    written = BytesIO()
    pd.DataFrame({"text": [f"Sentence {n}." for n in range(50)], "n": range(50)}).to_parquet(
        written
    )
    data = written.getvalue()
    assert rows(open_bytes(data, "a"))[1] == {"text": "Sentence 1.", "n": 1}
    for place in range(40, len(data), len(data) // 4):
        broken = data[:place] + bytes([255 - data[place]]) + data[place + 1 :]
        _, said = read_or_refused(broken, "a")
        assert said == "." or "damaged" in said
