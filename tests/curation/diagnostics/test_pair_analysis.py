"""What a variant changes: hedge frames, new negators, lost and replaced content."""

from __future__ import annotations

import pytest

from curation.diagnostics.pair_analysis import PairAnalysis

ANCHOR = "The old ferry leaves the harbour at nine."


def compare(text: str, anchor: str = ANCHOR) -> PairAnalysis:
    return PairAnalysis(anchor=anchor, text=text)


def negators(text: str, anchor: str = ANCHOR, *, main_clause: bool = True) -> list[str]:
    comparison = compare(text, anchor)
    found = comparison.new_negators(main_clause=main_clause)
    return [" ".join(comparison.text.words[n.first : n.last + 1]) for n in found]


@pytest.mark.parametrize(
    "text",
    [
        "I'm not sure, but the old ferry leaves the harbour at nine.",
        "It isn't clear whether the old ferry leaves the harbour at nine.",
        "I'm not certain the old ferry leaves the harbour at nine.",
        "I have no idea, but I think the old ferry leaves the harbour at nine.",
        "The records do not specify it, but the old ferry leaves the harbour at nine.",
        "It is not impossible that the old ferry leaves the harbour at nine.",
        "The old ferry leaves the harbour at nine, though I'm not so sure.",
        "The old ferry, though this is not certain, leaves the harbour at nine.",
        "I can't rule it out, but perhaps the old ferry leaves the harbour at nine.",
        "It is far from clear, but the old ferry seems to leave the harbour at nine.",
    ],
)
def test_a_negator_in_a_hedge_frame_does_not_negate_the_claim(text: str) -> None:
    assert negators(text) == []
    assert negators(text, main_clause=False) != []


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("The old ferry doesn't leave the harbour at nine.", ["not"]),
        ("The old ferry probably doesn't leave the harbour at nine.", ["not"]),
        ("I think the old ferry does not leave the harbour at nine.", ["not"]),
        ("At no point does the old ferry leave the harbour at nine.", ["no"]),
        ("No one thinks that the old ferry leaves the harbour at nine.", ["no one"]),
        ("The old ferry is anything but leaving the harbour at nine.", ["anything but"]),
        ("The old ferry hardly leaves the harbour at nine.", ["hardly"]),
        ("The old ferry not only leaves the harbour at nine.", []),
    ],
)
def test_a_negator_of_the_claim_is_found(text: str, expected: list[str]) -> None:
    assert negators(text) == expected


def test_a_claim_about_certainty_is_negated_not_hedged() -> None:
    assert negators("I have no idea where it is.", "I know where it is.") == ["no"]
    assert negators("The water is not clear.", "The water is clear.") == ["not"]


def test_a_negator_of_the_anchor_is_not_new_and_a_second_one_is() -> None:
    anchor = "The man who did not pay left early."
    assert negators("The man who did not pay stayed on.", anchor) == []
    assert negators("The man who did not pay didn't leave early.", anchor) == ["not"]


def test_lost_and_added_content() -> None:
    comparison = compare("The old ferry stays in the harbour at nine.")
    assert (comparison.lost, comparison.added) == (["leaves"], ["stays"])
    assert comparison.content_kept == pytest.approx(4 / 5)  # old, ferry, harbour, nine
    assert comparison.content_replaced


def test_inflection_and_derivation_lose_nothing() -> None:
    assert compare("At nine the old ferry left its harbour.").lost == []
    assert compare("It was of no relevance.", "It was relevant.").lost == []


@pytest.mark.parametrize(
    ("anchor", "text"),
    [
        ("The lamp is on.", "The lamp is off."),
        ("The tram has a driver.", "The tram lacks a driver."),
        ("The tram has a driver.", "The tram is not without a driver."),
        ("They reached the village.", "They failed to reach the village."),
        ("The lathe is repairable.", "The lathe is beyond repair."),
        ("The lathe is useful.", "The lathe is useless."),
    ],
)
def test_a_predicate_can_be_reversed_in_other_ways_than_by_an_exchanged_word(
    anchor: str, text: str
) -> None:
    assert compare(text, anchor).content_replaced


@pytest.mark.parametrize(
    ("anchor", "text"),
    [
        ("They reached the village.", "They didn't reach the village."),
        ("They reached the village.", "I suspect that they reached the village."),
        ("The mural was complete.", "The mural was quite possibly complete."),
    ],
)
def test_negation_and_hedging_replace_no_content(anchor: str, text: str) -> None:
    assert not compare(text, anchor).content_replaced


def test_an_affix_of_the_anchor_is_not_new() -> None:
    comparison = compare("The unpaid bill is illegible.", "The unpaid bill is legible.")
    words = comparison.text.words
    assert [words[i] for i, _, _ in comparison.new_affixes(main_clause=True)] == ["illegible"]


def test_an_affixed_word_of_certainty_is_a_hedge_unless_the_claim_is_about_it() -> None:
    def affixes(text: str, anchor: str) -> list[int]:
        return [i for i, _, _ in compare(text, anchor).new_affixes(main_clause=True)]

    assert affixes("It is unclear whether the water is safe.", "The water is safe.") == []
    assert affixes("The water is unclear.", "The water is clear.") == [3]


def test_texts_without_a_word_in_common_are_compared_without_an_error() -> None:
    comparison = compare("", "")
    assert comparison.content_kept == 1.0
    assert compare("42?").content_kept == 0.0
    assert compare("42?").frame == frozenset()
