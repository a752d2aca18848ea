"""Ineffective hedges: unhedged claims next to a concession, and reports of others' beliefs."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from curation.diagnostics.hedging import is_flat_hedge, reports_others
from curation.diagnostics.pair_analysis import PairAnalysis

ANCHOR = "The ferry leaves at nine."


def compared(text: str, anchor: str = ANCHOR) -> PairAnalysis:
    return PairAnalysis(anchor=anchor, text=text)


@pytest.mark.parametrize(
    "text",
    [
        "The footage is not clear, but the ferry leaves at nine.",
        "It's not clear yet; but the ferry leaves at nine!",
        "I'm not sure why, but the ferry leaves at nine.",
        "I'm not so sure of the date, but the ferry leaves at nine.",
        "I can't swear to the date, but the ferry leaves at nine.",
        "I'm not even sure who told me, but the ferry leaves at nine.",
        "It may seem odd, but the ferry leaves at nine.",
        "It may be hard to believe, yet the ferry leaves at nine.",
        "It may sound unlikely. Still, the ferry leaves at nine.",
        "Although the board is not clear, the ferry leaves at nine.",
        "Even though it seems unlikely, the ferry leaves at nine.",
        "Strange as it seems, the ferry leaves at nine.",
        "Odd though it may sound, the ferry leaves at nine.",
    ],
)
def test_a_claim_after_a_concession_is_unhedged(text: str) -> None:
    assert is_flat_hedge(compared(text))


@pytest.mark.parametrize(
    "text",
    [
        "The ferry leaves at nine, though it might not look like it.",
        "The ferry leaves at nine, but I'm not sure why.",
        "The ferry leaves at nine, although the timetable is unclear.",
        "The ferry leaves at nine, strange as it may seem.",
        "The ferry leaves at nine, even if it sounds unlikely.",
        "The ferry leaves at nine; I'm not sure why, though.",
        "The ferry, though the notice is unclear, leaves at nine.",
        "The ferry leaves at nine, though nobody knows why.",
    ],
)
def test_a_claim_before_or_around_a_concession_is_unhedged_too(text: str) -> None:
    assert is_flat_hedge(compared(text))


@pytest.mark.parametrize(
    "text",
    [
        "I'm not sure, but the ferry leaves at nine.",
        "I'm not even sure of it myself, but the ferry leaves at nine.",
        "I can't swear to it, but the ferry leaves at nine.",
        "I have no idea if this is right, but the ferry leaves at nine.",
        "Correct me if I'm wrong, but the ferry leaves at nine.",
        "The ferry leaves at nine, though I'm not sure.",
        "The ferry leaves at nine, but I could be wrong about that.",
        "The ferry leaves at nine, but that's only a guess.",
        "The ferry leaves at nine, though that is not certain.",
        "The ferry leaves at nine, though nobody knows for certain.",
        "The ferry leaves at nine, though not necessarily.",
    ],
)
def test_doubt_of_the_very_claim_is_left_to_the_reviewer(text: str) -> None:
    assert not is_flat_hedge(compared(text))


@pytest.mark.parametrize(
    "text",
    [
        "The footage is not clear, but the ferry seems to leave at nine.",
        "I'm not sure why, but I think the ferry leaves at nine.",
        "Although I'm not sure, I think the ferry leaves at nine.",
        "It is not clear whether the ferry leaves at nine.",
        "The ferry leaves at nine, or so it seems.",
        "The ferry leaves at nine, if I'm not mistaken.",
        "Perhaps the ferry leaves at nine.",
        "The ferry leaves at nine.",
        "But the ferry leaves at nine.",
    ],
)
def test_a_claim_that_is_hedged_itself_does_not(text: str) -> None:
    assert not is_flat_hedge(compared(text))


@pytest.mark.parametrize(
    "text",
    [
        "Critics suspect that the ferry leaves at nine.",
        "Locals claim the ferry leaves at nine.",
        "Some argue that the ferry leaves at nine.",
        "He claims that the ferry leaves at nine.",
        "My sister thinks that the ferry leaves at nine.",
        "Experts suggest the ferry leaves at nine.",
        "Fishermen are arguing that the ferry leaves at nine.",
        "The company has claimed that the ferry leaves at nine.",
        "The bank is not totally sure, but thinks the ferry leaves at nine.",
        "The porter is not so sure, but the ferry leaves at nine.",
        "The ferry leaves at nine, the locals say.",
        "The ferry leaves at nine, or so they say.",
        "According to critics, the ferry leaves at nine.",
        "The ferry leaves at nine, according to the porter.",
        "In his view, the ferry leaves at nine.",
    ],
)
def test_reports_of_others_beliefs_are_recognised(text: str) -> None:
    assert reports_others(compared(text))


@pytest.mark.parametrize(
    "text",
    [
        "The ferry reportedly leaves at nine.",
        "The ferry is said to leave at nine.",
        "It is widely believed that the ferry leaves at nine.",
        "It could be argued that the ferry leaves at nine.",
        "I suspect that the ferry leaves at nine.",
        "One could claim that the ferry leaves at nine.",
        "My guess is that the ferry leaves at nine.",
        "There is some doubt that the ferry leaves at nine.",
        "There is some reason to believe that the ferry leaves at nine.",
        "The timetable suggests that the ferry leaves at nine.",
        "The ferry is sure to leave at nine.",
        "According to me, the ferry leaves at nine.",
        "It feels as if the ferry leaves at nine.",
    ],
)
def test_the_writers_own_doubt_and_evidence_are_not_reports(text: str) -> None:
    assert not reports_others(compared(text))


def test_a_report_in_the_anchor_does_not_count_for_the_variant() -> None:
    anchor = "The ferry leaves at nine, the locals say."
    assert not reports_others(
        compared("The ferry probably leaves at nine, the locals say.", anchor)
    )


@given(st.text(max_size=80), st.text(max_size=80))
def test_any_two_texts_give_an_answer(anchor: str, text: str) -> None:
    compared_ = PairAnalysis(anchor=anchor, text=text)
    assert is_flat_hedge(compared_) in (True, False)
    assert reports_others(compared_) in (True, False)
