"""NevIR's pairs as training data: stored by content, split by passage, separate from tests."""

from __future__ import annotations

import random
from pathlib import Path

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st
from pyarrow.csv import write_csv
from pyarrow.parquet import write_table as write_parquet

from db.errors import HedgerowError
from tests.training.ranking.support.finetunings import ENTRIES, entry, lines
from training.benchmarks.sources import keep_data, kept_data
from training.benchmarks.tasks.nevir import DocumentPair, NevIR
from training.ranking.pairs import (
    PairsFile,
    divided,
    keep_pairs,
    keep_pairs_of,
    keep_untested,
    kept_pairs,
    parts_of,
    passages,
    read_pairs,
    require_untested,
)


def pair(key: str, first: str, second: str) -> DocumentPair:
    return DocumentPair(key, ("q", "r"), (first, second), 0)


def file(pairs: list[DocumentPair], name: str = "train.jsonl") -> PairsFile:
    return PairsFile("", name, "", tuple(pairs))


def documents(pairs: list[DocumentPair]) -> set[str]:
    return {document for pair in pairs for document in pair.documents}


def test_the_same_content_is_stored_once_and_is_not_test_data(tmp_path: Path) -> None:
    content = lines(ENTRIES)
    first = keep_pairs(tmp_path, "train.jsonl", content)
    assert keep_pairs(tmp_path, "train.jsonl", content) == first
    assert kept_pairs(tmp_path) == [first]
    assert kept_data(tmp_path) == []
    found = read_pairs(tmp_path, first.file, name="my pairs")
    assert (found.name, len(found.hash), len(found.pairs)) == ("my pairs", 64, len(ENTRIES))
    (tmp_path / "other.jsonl").write_bytes(content)
    for place in ("other.jsonl", "ranking_pairs/nevir/../../other.jsonl", "../x", ""):
        with pytest.raises(HedgerowError, match="in the data folder"):
            read_pairs(tmp_path, place)


def test_tables_and_parquet_are_read_like_json_lines(tmp_path: Path) -> None:
    table = pa.Table.from_pylist(ENTRIES)
    capitals = [name.upper() for name in table.column_names]
    write_csv(table.rename_columns(capitals), tmp_path / "pairs.csv")
    write_parquet(table, tmp_path / "pairs.parquet")
    (tmp_path / "pairs.json").write_bytes(b"[" + b",".join(lines(ENTRIES).splitlines()) + b"]")
    data = tmp_path / "data"
    expected = read_pairs(data, keep_pairs(data, "same.jsonl", lines(ENTRIES)).file).pairs
    for kind in ("csv", "parquet", "json"):
        kept = keep_pairs_of(data, str(tmp_path / f"pairs.{kind}"))
        assert read_pairs(data, kept.file).pairs == expected


@pytest.mark.parametrize(
    ("name", "content", "fact"),
    [
        ("a.jsonl", b'{"q1": "a", "q2": "b", "doc1": "c"}\n', "'doc2' on line 1 of a.jsonl"),
        ("a.csv", b"q1,q2,doc1,doc2\nx,y,,w\n", "'doc1' on line 2 of a.csv"),
        ("a.parquet", b"PAR1 no", "Parquet file that cannot be read"),
        ("a.jsonl", b"", "found nothing in 'a.jsonl'"),
        ("a.jsonl", b"\xff\xffx", "UTF-8"),
    ],
)
def test_a_wrong_file_is_refused_and_leaves_nothing(
    tmp_path: Path, name: str, content: bytes, fact: str
) -> None:
    with pytest.raises(HedgerowError, match=fact) as raised:
        keep_pairs(tmp_path, name, content)
    assert str(tmp_path) not in str(raised.value) and "\n" not in str(raised.value)
    assert [path for path in tmp_path.rglob("*") if path.is_file()] == []


def test_pairs_of_a_passage_are_known_by_its_id_or_by_a_document() -> None:
    by_id = [pair("7-2", "A a", "A b"), pair("7-3", "B a", "B b")]
    by_document = [pair("8-2", "c, c!", "D"), pair("9-2", "E", "C c.")]
    alone = pair("10-2", "F", "G")
    found = passages([by_id[0], by_document[0], alone, by_id[1], by_document[1]])
    assert found == [by_id, by_document, [alone]]
    joined = [pair("1-2", "A", "B"), pair("2-2", "C", "D"), pair("3-2", "b", "c")]
    assert passages(joined) == [joined]
    many = [pair(f"{number}-2", f"a {number}", f"b {number}") for number in range(100)]
    assert len(divided(many, name="p.jsonl").held_out) == 20


@st.composite
def tangles(draw: st.DrawFn) -> list[DocumentPair]:
    """Pairs. Some share documents or the number of a passage."""
    numbers = st.integers(0, 30)
    rows = draw(st.lists(st.tuples(numbers, numbers, numbers), min_size=2, max_size=40))
    return [pair(f"{key}-2", f"text {a}", f"text {b}") for key, a, b in rows]


@given(tangles(), st.randoms(use_true_random=False))
def test_no_passage_is_in_both_parts_whatever_the_order(
    pairs: list[DocumentPair], chance: random.Random
) -> None:
    if len(passages(pairs)) < 2:
        with pytest.raises(HedgerowError, match="at least 2 passages"):
            divided(pairs, name="p.jsonl")
        return
    train, held_out = divided(pairs, name="p.jsonl")
    assert train and held_out and sorted(train + held_out) == sorted(pairs)
    assert documents(train).isdisjoint(documents(held_out))
    assert {one.key for one in train}.isdisjoint(one.key for one in held_out)
    shuffled = chance.sample(pairs, len(pairs))
    assert sorted(divided(shuffled, name="p.jsonl").held_out) == sorted(held_out)


def test_a_file_to_measure_on_shares_no_passage_with_the_other() -> None:
    train = file([pair("1-2", "A a.", "B"), pair("2-2", "C", "D")])
    separate = file([pair("1-2", "E", "F")], "dev.jsonl")
    assert parts_of(train, separate) == (list(train.pairs), list(separate.pairs))
    shares = file([pair("9-2", "F", "a A"), pair("9-3", "F", "A, A")], "dev.jsonl")
    assert parts_of(train, shares._replace(pairs=(pair("9-2", "F", "A!"),)))
    with pytest.raises(HedgerowError, match="'train.jsonl' shares 1 passage with 'dev.jsonl'"):
        parts_of(train, shares)


def test_passages_of_a_test_are_refused_and_the_other_pairs_stored_as_a_separate_file(
    tmp_path: Path,
) -> None:
    keep_data(tmp_path, NevIR.id, {"other.jsonl": lines([entry(0, "island")])})
    whole = keep_pairs(tmp_path, "pairs.jsonl", lines(ENTRIES))
    pairs = read_pairs(tmp_path, whole.file, name=whole.name)
    require_untested(tmp_path, pairs)
    assert keep_untested(tmp_path, whole.file).file == whole.file, "nothing has to be left out"
    keep_data(tmp_path, NevIR.id, {"one.jsonl": lines(ENTRIES[:1])})
    with pytest.raises(HedgerowError, match="'pairs.jsonl' shares 1 passage with 'one.jsonl'"):
        require_untested(tmp_path, pairs)
    keep_data(tmp_path, NevIR.id, {"two.jsonl": lines(ENTRIES[3:5])})
    rest = keep_untested(tmp_path, whole.file, name="my pairs.jsonl")
    found = read_pairs(tmp_path, rest.file)
    assert rest.name == "my_pairs-untested.jsonl"
    assert [pair.key for pair in found.pairs] == [
        one["id"] for n, one in enumerate(ENTRIES) if n not in (0, 3, 4)
    ]
    require_untested(tmp_path, found)
    keep_data(tmp_path, NevIR.id, {"all.jsonl": lines(ENTRIES)})
    with pytest.raises(HedgerowError, match="found none"):
        keep_untested(tmp_path, whole.file)
