"""Overlap by field of a release and side of a test."""

from __future__ import annotations

from hypothesis import given, settings
from hypothesis import strategies as st

from curation.release.overlap import Runs, overlap
from curation.release.overlap_fields import DOCUMENT, QUERY, SIDES, FieldOverlap, by_field

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


def test_without_fields_there_is_nothing() -> None:
    assert by_field(SAMPLES, {}) == by_field(SAMPLES, {"anchor": Runs([])}) == []


TEXTS = st.lists(st.text("ab ", max_size=24), max_size=4)


@settings(max_examples=60, deadline=None)
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
