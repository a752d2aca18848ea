"""Hedge cues: the paper's lists, and finding a cue in a text."""

from __future__ import annotations

import pytest

from curation.language.tokens import Analysis
from curation.taxonomy.built_in import SurfaceCheck, variant_type
from curation.taxonomy.cues import (
    HEDGE_CUES,
    SPELLING,
    cue_list,
    find_cue,
    find_phrase,
    known_cue,
    listed_cues,
    new_cues,
)


def test_the_lists_are_the_papers() -> None:
    assert len(HEDGE_CUES["word"]) == len(set(HEDGE_CUES["word"])) == 134
    assert len(HEDGE_CUES["phrase"]) == len(set(HEDGE_CUES["phrase"])) == 45
    assert {"appearence", "maynot", "why/if"} <= set(HEDGE_CUES["word"])
    assert "not guite sure" in HEDGE_CUES["phrase"]
    assert set(SPELLING) <= {cue for cues in HEDGE_CUES.values() for cue in cues}


@pytest.mark.parametrize("kind", ["word", "phrase"])
def test_every_cue_is_found_as_printed_and_as_corrected(kind: str) -> None:
    for cue in HEDGE_CUES[kind]:
        for spelled in (cue, SPELLING.get(cue, cue)):
            assert find_cue(Analysis(f"They say {spelled}, it rains."), cue), (cue, spelled)


@pytest.mark.parametrize(
    ("cue", "text"),
    [
        ("cant", "I can't be sure, but it rains."),
        ("cant", "I can’t be sure, but it rains."),
        ("appearence", "To all appearances, it rains."),
        ("look like", "It looks like rain."),
        ("seem like", "It seemed to me like rain."),
        ("isnt clear", "It isn't clear whether it rains."),
        ("isnt clear", "It is not clear whether it rains."),
        ("maynot", "It may not be so, but it rains."),
        ("not guite sure", "I'm not quite sure it rains."),
        ("wether", "We ask whether it rains."),
        ("why/if", "He wonders if it rains."),
        ("not 100 % sure", "I'm not 100% sure it rains."),
        ("not sure", "I'm not at all sure it rains."),
        ("do not convincingly", "The data don't convincingly show rain."),
        ("cannot claim", "She can't claim that it rains."),
    ],
)
def test_inflection_spelling_and_interruption(cue: str, text: str) -> None:
    assert find_cue(Analysis(text), cue)


@pytest.mark.parametrize(
    ("cue", "text"),
    [
        ("like", "It is likely that it rains."),
        ("clear", "It is unclear whether it rains."),
        ("clear", "It is clearly raining."),
        ("may", "In maybe an hour it rains."),
        ("not sure", "It is not raining, I am sure."),
        ("not sure", "It is not so that I'm not a fool, sure."),
        ("probably", "It rains."),
    ],
)
def test_other_words_are_not_the_cue(cue: str, text: str) -> None:
    assert not find_cue(Analysis(text), cue)


def test_the_found_tokens_are_those_of_the_cue() -> None:
    analysis = Analysis("It looks to me like rain.")
    assert [[analysis.words[i] for i in found] for found in find_cue(analysis, "look like")] == [
        ["looks", "like"]
    ]


def test_a_user_defined_phrase_is_matched_inflected() -> None:
    assert find_phrase(Analysis("She ran out of steam."), "run out of")
    assert not find_phrase(Analysis("She walked."), "run out of")


@pytest.mark.parametrize(
    ("text", "type_id", "own", "cue"),
    [
        ("The bridge is probably safe.", "word", (), "probably"),
        ("It is possibly, perhaps probably safe.", "word", (), "possibly"),
        ("I'm not entirely sure, but the bridge seems safe.", "phrase", (), "not entirely sure"),
        ("The bridge is safe.", "word", (), None),
        ("The bridge is probably safe.", "phrase", (), None),
        ("The bridge is probably safe.", "a_type_of_ones_own", (), "probably"),
        ("In my view the bridge is probably safe.", "mine", ("in my view",), "in my view"),
        ("The bridge is probably safe.", "mine", ("in my view",), None),
    ],
)
def test_a_known_cue_is_found_in_a_text(
    text: str, type_id: str, own: tuple[str, ...], cue: str | None
) -> None:
    check = SurfaceCheck(require_cue=True, require_words=own)
    entry = variant_type("word").model_copy(update={"id": type_id, "surface_check": check})
    assert known_cue(text, cue_list(entry)) == cue
    assert (listed_cues(entry) or ()) == HEDGE_CUES.get(type_id, own)


PAPERS = [cue for cues in HEDGE_CUES.values() for cue in cues]


@pytest.mark.parametrize(
    ("text", "cues"),
    [
        ("I'm not entirely sure, but the bridge seems safe.", ["not entirely sure", "seem"]),
        ("The bridge is seemingly safe.", ["seemingly"]),
        ("The bridge can't be safe.", ["cant"]),
        ("It's unclear whether the bridge is safe.", ["unclear", "whether"]),
        ("I wonder if the bridge is safe.", ["wonder if"]),
        ("Perhaps the bridge is safe.", []),
        ("The bridge is safe or clean.", ["clean"]),
    ],
)
def test_the_cues_that_a_text_brings_in_are_whole_and_new(text: str, cues: list[str]) -> None:
    anchor = "The bridge is safe or sound."
    assert new_cues(anchor=anchor, text=text, cues=PAPERS) == cues
