"""Overlap of a release with a test: what is shared, between which fields, and what is stored."""

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from sqlalchemy import select
from sqlalchemy.orm import Session
from sqlmodel import col

from curation.content_uids import words_of
from curation.release import overlap as module
from curation.release.overlap import (
    DOCUMENT,
    QUERY,
    SIDES,
    FieldOverlap,
    Overlap,
    Runs,
    SharedText,
    by_field,
    overlap,
)
from curation.release.overlap_results import (
    FOLDER,
    OverlapWithTest,
    description,
    description_by_field,
    keep,
    kept,
    records_of,
    texts_of,
)
from db.errors import HedgerowError
from db.models import Variant
from tests.curation.support.families import add_plain_family
from tests.support.databases import both_databases
from tests.support.factories import freeze

RELEASE = [
    "The committee did not approve the new budget on Monday.",
    "It is cold.",
    "Nobody saw the small dog behind the old house.",
]


def test_a_run_of_n_words_and_no_fewer() -> None:
    samples = [["They saw the small dog behind a tree."], ["Who saw the small dog? Nobody."]]
    found = overlap(samples, Runs(RELEASE), texts=RELEASE)
    assert (found.exact, found.overlapping, found.share) == (0, 1, 0.5)
    expected = SharedText(0, samples[0][0], "saw the small dog behind", RELEASE[2], False)
    assert found.examples == (expected,) and overlap(samples, Runs(RELEASE, n=6)).overlapping == 0
    with pytest.raises(HedgerowError, match="5 words, found 4"):
        Runs(RELEASE, n=4)


@pytest.mark.parametrize(
    ("samples", "expected"),
    [
        # Case and punctuation do not count.
        ([["the COMMITTEE did not approve the new budget, on monday"]], (1, 1, 1)),
        # A sample counts once, whichever of its texts overlap.
        (
            [["Is it?", RELEASE[0], RELEASE[2], RELEASE[0]], ["Something else, if you ask me."]],
            (2, 1, 1),
        ),
        # A short text overlaps only as a whole.
        ([["It is cold"], ["It is very cold"]], (2, 1, 0)),
        # One without words never does.
        ([["…", "?!"], [""], []], (3, 0, 0)),
    ],
)
def test_samples_overlap_in_words(samples: list[list[str]], expected: tuple[int, int, int]) -> None:
    found = overlap(samples, Runs(["!", "", *RELEASE]), texts=["!", "", *RELEASE])
    assert (found.samples, found.exact, found.overlapping) == expected
    assert {example.release_text for example in found.examples} <= set(RELEASE)
    assert overlap(samples, Runs([])).share == overlap([], Runs(RELEASE)).share == 0.0


def test_examples_are_few_and_exact_ones_come_first() -> None:
    samples = [[f"Nobody saw the small dog number {n}"] for n in range(40)] + [[RELEASE[1]]]
    found = overlap(samples, Runs(RELEASE), texts=iter(RELEASE))
    assert found.overlapping == 40 and len(found.examples) == module.EXAMPLES
    assert [e.exact for e in found.examples[:2]] == [True, False]


TEXT = st.lists(st.sampled_from(["a", "b", "c", "not"]), max_size=9).map(" ".join)


@given(st.lists(TEXT, max_size=6), st.lists(st.lists(TEXT, max_size=3), max_size=6))
def test_hashes_find_what_a_comparison_of_all_words_finds(
    release: list[str], samples: list[list[str]]
) -> None:
    def runs(of: str) -> set[tuple[str, ...]]:
        words = words_of(of)
        return {tuple(words[n : n + 5]) for n in range(len(words) - 4)}

    known = set().union(*map(runs, release))
    wholes = {tuple(words_of(of)) for of in release} - {()}
    expected_runs = sum(any(runs(of) & known for of in sample) for sample in samples)
    expected_exact = sum(any(tuple(words_of(of)) in wholes for of in s) for s in samples)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(module, "CHUNK", 2)  # several chunks, as in a large release
        found = overlap(samples, Runs(release), texts=release)
    assert (found.exact, found.overlapping) == (expected_exact, expected_runs)
    assert all(example.release_text for example in found.examples)


SAMPLES = [
    {QUERY: ["The old bridge was shut last winter."], DOCUMENT: ["A b c.", "Two ducks swam past."]},
    {QUERY: ["Which bridge?"], DOCUMENT: ["She said the old bridge was shut, too.", "No ducks."]},
    {QUERY: ["Nothing in common here at all."], DOCUMENT: ["Two ducks swam past."]},
]


def test_each_field_is_compared_with_each_side() -> None:
    fields = {
        "anchor": Runs(["The old bridge was shut."]),
        "negative": Runs(["Two ducks swam past!", "No ducks."]),
        "positive": Runs([]),
    }
    assert by_field(SAMPLES, fields) == [
        FieldOverlap("anchor", "query", 0, 1),
        FieldOverlap("anchor", "document", 0, 1),
        FieldOverlap("negative", "query", 0, 0),
        FieldOverlap("negative", "document", 3, 0),
    ]
    assert by_field(SAMPLES, {}) == by_field(SAMPLES, {"anchor": Runs([])}) == []


TEXTS = st.lists(st.text("ab ", max_size=24), max_size=4)


@given(
    st.lists(st.fixed_dictionaries(dict.fromkeys(SIDES, TEXTS)), max_size=5),
    st.dictionaries(st.sampled_from(["anchor", "positive"]), TEXTS, max_size=2),
)
def test_the_fields_add_up_to_the_whole(
    samples: list[dict[str, list[str]]], texts: dict[str, list[str]]
) -> None:
    """A sample that overlaps does so on some side with some field. No other sample does."""
    fields = {name: Runs(found) for name, found in texts.items()}
    whole = Runs.joined(list(fields.values()))
    flat = [[text for side in SIDES for text in sample[side]] for sample in samples]
    found = overlap(flat, whole)
    assert found == overlap(flat, Runs(text for part in texts.values() for text in part))
    overlapping = [
        any(part.overlapping for part in by_field([sample], fields)) for sample in samples
    ]
    exact = [any(part.exact for part in by_field([sample], fields)) for sample in samples]
    assert (sum(overlapping), sum(exact)) == (found.overlapping, found.exact)


HASH = "ab" * 32
EXAMPLE = SharedText(
    1, "Door 1 is *open* “now”.", "door 1 is open now", "Door 1 is open now!", True
)


def compared(
    *,
    release: str = HASH,
    key: str = "1" * 16,
    n: int = 5,
    overlapping: int = 2,
    exact: int = 1,
    problem: str = "",
) -> OverlapWithTest:
    found = Overlap(n, 1234, exact, overlapping, (EXAMPLE,))
    return OverlapWithTest(
        release, "semantoneg", "SemAntoNeg", "a.jsonl", key, found, ("ab",), problem
    )


def test_a_stored_result_is_read_unchanged(tmp_path: Path) -> None:
    others = [compared(n=7), compared(release="cd" * 32), compared(release=HASH[:-1] + "0")]
    mine = [compared(), compared(key="2" * 16, problem="It is gone.")]
    for one in mine + others:
        keep(tmp_path, one)
    assert kept(tmp_path, HASH) == mine[1:]  # a similar hash replaced the first
    keep(tmp_path, mine[0])
    keep(tmp_path, mine[0])
    assert kept(tmp_path, HASH) == mine
    assert kept(tmp_path, HASH, n=7) == others[:1] and kept(tmp_path, HASH, n=6) == []


def test_results_of_an_older_version_have_no_fields_and_are_incomplete(tmp_path: Path) -> None:
    """The release was never compared, which is not the same as having no overlap."""
    fields = (FieldOverlap("anchor", "query", 1, 2), FieldOverlap("anchor", "document", 0, 0))
    now = replace(compared(), fields=fields)
    keep(tmp_path, now)
    assert kept(tmp_path, HASH) == [now] and now.whole
    (path,) = (tmp_path / FOLDER).rglob("*.json")
    values = json.loads(path.read_text("utf-8"))
    del values["fields"]
    path.write_text(json.dumps(values), encoding="utf-8")
    (old,) = kept(tmp_path, HASH)
    assert old == compared() and not old.whole and "fields" not in old.facts
    assert replace(old, problem="It is gone.").whole and description_by_field(old.facts) == ""
    assert "anchor / query 2 (1 " in description_by_field(now.facts)


@pytest.mark.parametrize("content", ["", "{", "[]", "{}", '{"overlap": {"examples": [1]}}', "\xff"])
def test_a_mangled_file_counts_as_none(tmp_path: Path, content: str) -> None:
    keep(tmp_path, compared())
    (path,) = (tmp_path / FOLDER).rglob("*.json")
    path.write_bytes(content.encode("latin-1"))
    assert kept(tmp_path, HASH) == []


@pytest.mark.parametrize(
    ("more", "facts"),
    [
        ({}, ["2 of 1,234 ", "SemAntoNeg (a.jsonl) share 5 ", "; 1 has "]),
        ({"overlapping": 1, "exact": 2, "n": 6}, ["1 of 1,234 ", " shares 6 ", "; 2 have "]),
        ({"overlapping": 0, "exact": 0}, ["None of 1,234 "]),
        ({"problem": "It is gone."}, ["SemAntoNeg (a.jsonl) ", "It is gone."]),
    ],
)
def test_a_result_is_described_with_its_numbers(more: dict[str, Any], facts: list[str]) -> None:
    sentence = description(compared(**more).facts)
    assert [fact for fact in facts if fact not in sentence] == []


@both_databases
def test_a_text_of_a_release_leads_to_its_variant_or_to_one_of_its_anchor(session: Session) -> None:
    anchor = add_plain_family(session, 1)
    release = freeze(session).release
    add_plain_family(session, 2)
    freeze(session)
    query = select(col(Variant.text), col(Variant.uid)).where(Variant.anchor_id == anchor.id)
    uids = dict(session.execute(query).all())
    assert sorted(texts_of(session, release.id)) == sorted(["Door 1 is open.", *uids])
    texts = ["Door 1 is not open.", "Door 1 is open.", "Door 3 is open."]
    expected = {texts[0]: uids[texts[0]], texts[1]: min(uids.values())}
    assert records_of(session, release.id, texts) == expected
