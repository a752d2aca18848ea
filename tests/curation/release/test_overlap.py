"""Overlap of a release with a test: exact matches, shared word sequences, and their locations."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from curation.content_uids import words_of
from curation.release import overlap as module
from curation.release.overlap import Runs, overlap
from db.errors import HedgerowError

RELEASE = [
    "The committee did not approve the new budget on Monday.",
    "It is cold.",
    "Nobody saw the small dog behind the old house.",
]


def test_case_and_punctuation_do_not_count() -> None:
    found = overlap([["the COMMITTEE did not approve the new budget, on monday"]], Runs(RELEASE))
    assert (found.samples, found.exact, found.overlapping, found.share) == (1, 1, 1, 1.0)


def test_a_run_of_n_words_and_no_fewer() -> None:
    samples = [["They saw the small dog behind a tree."], ["Who saw the small dog? Nobody."]]
    found = overlap(samples, Runs(RELEASE), texts=RELEASE)
    assert (found.exact, found.overlapping, found.share) == (0, 1, 0.5)
    (example,) = found.examples
    assert example.words == "saw the small dog behind" and example.release_text == RELEASE[2]
    assert (example.sample, example.text, example.exact) == (0, samples[0][0], False)
    assert overlap(samples, Runs(RELEASE, n=6)).overlapping == 0


def test_a_short_text_overlaps_only_as_a_whole() -> None:
    found = overlap([["It is cold"], ["It is very cold"]], Runs(RELEASE), texts=RELEASE)
    assert (found.exact, found.overlapping) == (1, 0)
    assert found.examples[0].exact and found.examples[0].release_text == "It is cold."


def test_a_sample_counts_once_whichever_of_its_texts_overlap() -> None:
    sample = ["Is it?", RELEASE[0], RELEASE[2], RELEASE[0]]
    found = overlap([sample, ["Something else altogether, if you ask me."]], Runs(RELEASE))
    assert (found.samples, found.exact, found.overlapping) == (2, 1, 1)


def test_texts_without_words_overlap_with_nothing() -> None:
    found = overlap([["…", "?!"], [""], []], Runs(["!", "", *RELEASE]))
    assert (found.samples, found.exact, found.overlapping, found.examples) == (3, 0, 0, ())
    assert overlap([["a b c d e f"]], Runs([])).share == 0.0
    assert overlap([], Runs(RELEASE)).share == 0.0


def test_shorter_runs_are_refused() -> None:
    with pytest.raises(HedgerowError, match="at least 5 words, found 4"):
        Runs(RELEASE, n=4)


def test_examples_are_few_and_exact_ones_come_first() -> None:
    samples = [[f"Nobody saw the small dog number {n}"] for n in range(40)] + [[RELEASE[1]]]
    found = overlap(samples, Runs(RELEASE), texts=iter(RELEASE))
    assert found.overlapping == 40 and len(found.examples) == module.EXAMPLES
    assert [e.exact for e in found.examples[:2]] == [True, False]


word = st.sampled_from(["a", "b", "c", "not"])
text = st.lists(word, max_size=9).map(" ".join)


@settings(max_examples=60, deadline=None)
@given(st.lists(text, max_size=6), st.lists(st.lists(text, max_size=3), max_size=6))
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
