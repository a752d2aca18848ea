"""NevIR's pairs as training data: stored by content, split by passage, separate from tests."""

from __future__ import annotations

import csv
import random
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st

from db.errors import HedgerowError
from tests.training.ranking.support.finetunings import ENTRIES, entry, lines
from training.benchmarks.data.sources import keep_data, kept_data
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


@pytest.mark.parametrize("kind", ["csv", "parquet", "json"])
def test_tables_and_parquet_are_read_like_json_lines(tmp_path: Path, kind: str) -> None:
    path = tmp_path / f"pairs.{kind}"
    if kind == "csv":
        with path.open("w", newline="") as opened:
            writer = csv.DictWriter(opened, list(ENTRIES[0]))
            writer.writeheader()
            writer.writerows(ENTRIES)
    elif kind == "parquet":
        pq.write_table(pa.Table.from_pylist(ENTRIES), path)
    else:
        path.write_bytes(b"[" + b",".join(lines(ENTRIES).splitlines()) + b"]")
    kept = keep_pairs_of(tmp_path / "data", str(path))
    expected = keep_pairs(tmp_path / "data", "same.jsonl", lines(ENTRIES))
    pairs = [read_pairs(tmp_path / "data", one.file).pairs for one in (kept, expected)]
    assert pairs[0] == pairs[1]


@pytest.mark.parametrize(
    ("name", "content", "sentence"),
    [
        ("a.jsonl", b'{"q1": "a", "q2": "b", "doc1": "c"}\n', "'doc2' on line 1 of 'a.jsonl'"),
        ("a.csv", b"q1,q2,doc1,doc2\nx,y,,w\n", "'doc1' on line 2 of 'a.csv'"),
        ("a.parquet", b"PAR1 no", "Parquet file that cannot be read"),
        ("a.jsonl", b"", "found nothing in 'a.jsonl'"),
        ("a.jsonl", b"\xff\xfe", "UTF-8"),
    ],
)
def test_a_wrong_file_is_refused_and_leaves_nothing(
    tmp_path: Path, name: str, content: bytes, sentence: str
) -> None:
    with pytest.raises(HedgerowError, match=sentence) as raised:
        keep_pairs(tmp_path, name, content)
    assert str(tmp_path) not in str(raised.value) and "\n" not in str(raised.value)
    assert [path for path in tmp_path.rglob("*") if path.is_file()] == []


def test_only_a_kept_file_is_read(tmp_path: Path) -> None:
    (tmp_path / "other.jsonl").write_bytes(lines(ENTRIES))
    for place in ("other.jsonl", "ranking_pairs/nevir/../../other.jsonl", "../x", ""):
        with pytest.raises(HedgerowError, match="in the data folder, found none"):
            read_pairs(tmp_path, place)


def test_pairs_of_a_passage_are_known_by_its_id_or_by_a_document() -> None:
    by_id = [pair("7-2", "A a", "A b"), pair("7-3", "B a", "B b")]
    by_document = [pair("8-2", "c, c!", "D"), pair("9-2", "E", "C c.")]
    alone = pair("10-2", "F", "G")
    found = passages([by_id[0], by_document[0], alone, by_id[1], by_document[1]])
    assert found == [by_id, by_document, [alone]]


def test_a_pair_can_join_two_passages() -> None:
    one, two, between = pair("1-2", "A", "B"), pair("2-2", "C", "D"), pair("3-2", "b", "c")
    assert passages([one, two, between]) == [[one, two, between]]


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


def test_a_fifth_is_held_out() -> None:
    pairs = [pair(f"{number}-2", f"a {number}", f"b {number}") for number in range(100)]
    assert len(divided(pairs, name="p.jsonl").held_out) == 20


def test_a_file_to_measure_on_shares_no_passage_with_the_other() -> None:
    train = file([pair("1-2", "A a.", "B"), pair("2-2", "C", "D")])
    separate = file([pair("1-2", "E", "F")], "dev.jsonl")
    assert parts_of(train, separate) == (list(train.pairs), list(separate.pairs))
    shares = file([pair("9-2", "F", "a A"), pair("9-3", "F", "A, A")], "dev.jsonl")
    assert parts_of(train, shares._replace(pairs=(pair("9-2", "F", "A!"),)))
    with pytest.raises(HedgerowError, match="'train.jsonl' shares 1 passage with 'dev.jsonl'"):
        parts_of(train, shares)


def test_passages_of_a_kept_test_are_refused(tmp_path: Path) -> None:
    other = [entry(number, place) for number, place in enumerate(("island", "cave"))]
    keep_data(tmp_path, NevIR.id, {"test.jsonl": lines(other)})
    kept = keep_pairs(tmp_path, "train.jsonl", lines(ENTRIES))
    require_untested(tmp_path, read_pairs(tmp_path, kept.file, name=kept.name))
    mixed = keep_pairs(tmp_path, "mixed.jsonl", lines([*ENTRIES, other[1]]))
    with pytest.raises(HedgerowError) as raised:
        require_untested(tmp_path, read_pairs(tmp_path, mixed.file, name=mixed.name))
    assert str(raised.value) == (
        "Expected training pairs without passages of a test, but 'mixed.jsonl' shares 1 passage "
        "with 'test.jsonl', which is data of the benchmark NevIR in this project; leave these "
        "pairs out (--leave-out-tested in a terminal), or train on others, such as NevIR's "
        "train split."
    )


def test_pairs_outside_the_tests_are_stored_as_a_separate_file(tmp_path: Path) -> None:
    whole = keep_pairs(tmp_path, "pairs.jsonl", lines(ENTRIES))
    assert keep_untested(tmp_path, whole.file).file == whole.file, "nothing has to be left out"
    keep_data(tmp_path, NevIR.id, {"one.jsonl": lines(ENTRIES[:1])})
    keep_data(tmp_path, NevIR.id, {"two.jsonl": lines(ENTRIES[3:5])})
    rest = keep_untested(tmp_path, whole.file, name="my pairs.jsonl")
    found = read_pairs(tmp_path, rest.file)
    assert rest.name == "my_pairs-untested.jsonl"
    assert [pair.key for pair in found.pairs] == [
        one["id"] for n, one in enumerate(ENTRIES) if n not in (0, 3, 4)
    ]
    require_untested(tmp_path, found)
    keep_data(tmp_path, NevIR.id, {"all.jsonl": lines(ENTRIES)})
    with pytest.raises(HedgerowError, match="that are in no test, found none"):
        keep_untested(tmp_path, whole.file)
