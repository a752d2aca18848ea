"""NevIR: pairwise accuracy, the four outcomes, and reading a file."""

from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from db.errors import HedgerowError
from tests.training.benchmarks.support.samples import NEVIR, write_lines
from training.benchmarks.tasks.nevir import DocumentPair, NevIR, pair

PAIR = pair("1-2", ("q one", "q two"), ("It was not open.", "It was open."))


def outcome(
    first: tuple[float, float], second: tuple[float, float], item: DocumentPair = PAIR
) -> str:
    result = NevIR([item]).evaluate([np.array(first), np.array(second)])
    (row,) = result.rows
    assert row.right == (row.outcome == "correct") == (result.score == 100.0)
    return row.outcome


def test_a_pair_is_right_only_if_both_queries_rank_their_own_document_first() -> None:
    assert outcome((2, 1), (1, 2)) == "correct"
    assert outcome((1, 2), (2, 1)) == "reversed"


def test_a_model_that_always_prefers_a_document_is_reported_with_it() -> None:
    assert outcome((2, 1), (2, 1)) == "prefers negated"
    assert outcome((1, 2), (1, 2)) == "prefers non-negated"
    alike = pair("3", ("a", "b"), ("It is open.", "It was shut."))
    assert outcome((2, 1), (2, 1), alike) == "prefers one"


def test_ties_and_missing_scores_are_wrong_and_reported() -> None:
    assert outcome((1, 1), (1, 2)) == "tied"
    result = NevIR([PAIR]).evaluate([np.array([1.0, 1.0]), np.array([0.0, 1.0])])
    assert (result.ties, result.unanswered, result.score) == (1, 0, 0.0)
    result = NevIR([PAIR]).evaluate([np.array([np.nan, np.nan]), np.array([0.0, 1.0])])
    assert (result.ties, result.unanswered, result.rows[0].outcome) == (0, 1, "unanswered")


def test_a_file_in_the_published_format(tmp_path: Path) -> None:
    read = NevIR.read(write_lines(tmp_path / "test.jsonl", NEVIR))
    assert [item.key for item in read.items] == ["1-2", "2-3"]
    assert [item.more_negators for item in read.items] == [1, 2]
    asked = read.questions()
    assert [q.text for q in asked] == [row[q] for row in NEVIR for q in ("q1", "q2")]
    assert asked[0].candidates == (NEVIR[0]["doc1"], NEVIR[0]["doc2"])
    assert len(read.texts()) == 8
    right = read.evaluate([np.array(s) for s in ((2, 1), (1, 2), (2, 1), (2, 1))])
    assert right.score == 50.0 and right.breakdowns["edit"]["scope"] == (100.0, 1)
    assert right.breakdowns["edit"]["affirmative"] == (0.0, 1)
    assert [row.group for row in right.rows] == ["1", "2"], "the passage"


def test_the_similarity_of_the_documents_is_figured() -> None:
    result = NevIR([PAIR, PAIR]).evaluate([np.array([1.0, 0.0])] * 4, aside=[0.8, 0.6])
    assert result.figures == {"documents": pytest.approx(0.7), "documents:sd": pytest.approx(0.1)}


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ('{"q1": "a", "q2": "b", "doc1": "c"}', "Expected 'doc2' on line 1 of 'f.jsonl', found "),
        (
            '\n{"q1": "a", "q2": " ", "doc1": "c", "doc2": "d"}',
            "line 2 of 'f.jsonl', found an empty",
        ),
        ('{"q1": 3, "q2": "b", "doc1": "c", "doc2": "d"}', "a text in 'q1' on line 1"),
        ("a,b\n1,2", "found no JSON but 'a,b' on line 1"),
        ("[1]", "found 1 on entry 1"),
        ("", "found nothing in 'f.jsonl'"),
        ('[{"q1": ', "found no JSON on line 1"),
        ('{"q1": "a", "q1": "b"}', "the key 'q1' occurs twice"),
        ('{"q1": "\\ud800"}', "found half a character"),
    ],
)
def test_a_wrong_file_is_named_as_such(tmp_path: Path, content: str, message: str) -> None:
    path = tmp_path / "f.jsonl"
    path.write_text(content, encoding="utf-8")
    with pytest.raises(HedgerowError) as error:
        NevIR.read(path)
    assert message in str(error.value) and str(error.value).count(". ") == 0


def test_a_missing_file_and_one_that_is_not_text(tmp_path: Path) -> None:
    with pytest.raises(HedgerowError, match="Could not read"):
        NevIR.read(tmp_path / "none.jsonl")
    (tmp_path / "f.jsonl").write_bytes(b"\xff\xfe\x00")
    with pytest.raises(HedgerowError, match="UTF-8"):
        NevIR.read(tmp_path / "f.jsonl")


def test_without_a_file_the_hub_is_asked_and_named_where_it_is_out_of_reach() -> None:
    with pytest.raises(HedgerowError, match=r"'test.jsonl' of the data set 'orionweller/NevIR'"):
        NevIR.read()


def test_the_hubs_file_is_read_as_any_other(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    import huggingface_hub

    path = write_lines(tmp_path / "test.jsonl", NEVIR)
    asked: list[tuple[str, str, str]] = []

    def download(repo: str, file: str, *, repo_type: str) -> str:
        asked.append((repo, file, repo_type))
        return str(path)

    monkeypatch.setattr(huggingface_hub, "hf_hub_download", download)
    assert NevIR.read().items == NevIR.read(path).items
    assert len(NevIR.read("hf:me/own/data/dev.jsonl").items) == 2
    assert asked == [
        ("orionweller/NevIR", "test.jsonl", "dataset"),
        ("me/own", "data/dev.jsonl", "dataset"),
    ]
    with pytest.raises(HedgerowError, match="Expected hf:owner/name/file"):
        NevIR.read("hf:me")


number = st.sampled_from([0.0, 0.25, 0.5, 1.0])
scores = st.lists(st.tuples(number, number, number, number), min_size=1, max_size=8)


@settings(max_examples=50, deadline=None)
@given(scores, st.randoms(use_true_random=False), st.lists(st.booleans(), min_size=8, max_size=8))
def test_neither_the_order_of_pairs_nor_swapping_one_changes_anything(
    given_scores: list[tuple[float, float, float, float]], chance: object, swaps: list[bool]
) -> None:
    """Swapping: the second query and document of a pair become the first ones."""
    texts = [("It was never open.", "It was open."), ("It is.", "It is not, and no one is.")]
    numbered = [
        (pair(str(n), (f"q{n}", f"r{n}"), texts[n % 2]), four)
        for n, four in enumerate(given_scores)
    ]

    def result(rows: list[tuple[DocumentPair, tuple[float, ...]]]) -> tuple[object, ...]:
        flat = [np.array(half) for _, four in rows for half in (four[:2], four[2:])]
        found = NevIR([item for item, _ in rows]).evaluate(flat)
        return found.score, found.ties, found.outcomes, found.breakdowns

    changed = [
        (pair(i.key, i.queries[::-1], i.documents[::-1]), four[::-1]) if swap else (i, four)
        for (i, four), swap in zip(numbered, swaps, strict=False)
    ]
    chance.shuffle(changed)  # type: ignore[attr-defined]
    assert result(changed) == result(numbered)
