"""Frames: which statement fits which frame, and no template dominates."""

from collections import Counter

import pytest

from curation.corpora.corpus import STARTER
from curation.diagnostics.surface import check_surface
from curation.generation.providers.rules import write_by_rule
from curation.generation.providers.rules.frames import FRAMED, cue_of, frames_of
from curation.generation.providers.rules.grammar.clause import SkipReason
from curation.generation.providers.rules.grammar.word_lists import WORDS
from curation.taxonomy.built_in import variant_type

TYPES = [variant_type(type_id) for type_id in FRAMED]


def written(type_id: str, anchor: str, cue: str = "") -> str | None:
    cues = {type_id: cue} if cue else {}
    return write_by_rule(anchor, types=[variant_type(type_id)], cues=cues).texts.get(type_id)


@pytest.mark.parametrize(
    ("type_id", "cue", "anchor", "variant"),
    [
        (
            "affirmation",
            "There is no doubt that",
            "The ferry leaves at nine.",
            "There is no doubt that the ferry leaves at nine.",
        ),
        (
            "affirmation",
            "and that is a fact",
            "The ferry leaves at nine.",
            "The ferry leaves at nine, and that is a fact.",
        ),
        (
            "affirmation",
            "Make no mistake",
            "Swimming in the lake is legal",
            "Make no mistake: swimming in the lake is legal",
        ),
        (
            "free_hedge",
            "As far as I know",
            "French wine is good.",
            "As far as I know, French wine is good.",
        ),
        (
            "free_hedge",
            "It looks as though",
            "NATO has agreed.",
            "It looks as though NATO has agreed.",
        ),
        (
            "unsupported",
            "There is no evidence that",
            "Aunt Vera is well.",
            "There is no evidence that Aunt Vera is well.",
        ),
        (
            "unsupported",
            "Whether … is unknown",
            "The mill still grinds corn.",
            "Whether the mill still grinds corn is unknown.",
        ),
        (
            "absolute",
            "There is no way that",
            "The price rose sharply last quarter.",
            "There is no way that the price rose sharply last quarter.",
        ),
        (
            "absolute",
            "The claim that … is in no way true",
            "The two families are related.",
            "The claim that the two families are related is in no way true.",
        ),
        (
            "affirmation",
            "It is undeniable that",
            "I liked the film.",
            "It is undeniable that I liked the film.",
        ),
    ],
)
def test_the_asked_frame_goes_around_the_whole_statement(
    type_id: str, cue: str, anchor: str, variant: str
) -> None:
    assert written(type_id, anchor, cue) == variant


def test_a_frame_is_chosen_by_the_text_and_recorded_as_the_cue() -> None:
    anchor = "The ferry leaves at nine."
    result = write_by_rule(anchor, types=TYPES, cues={})
    assert result == write_by_rule(anchor, types=TYPES, cues={})
    for type_id in ("affirmation", "free_hedge", "unsupported"):
        known = {cue_of(frame) for frame in frames_of(type_id)}
        assert result.cues[type_id] in known
        other = write_by_rule(anchor, types=TYPES, cues={type_id: "no frame of ours"})
        assert other.texts[type_id] == result.texts[type_id]


def test_an_absolute_negator_in_the_sentence_itself_comes_before_a_frame() -> None:
    result = write_by_rule("A brown dog is running.", types=TYPES, cues={})
    assert result.texts["absolute"] == "No brown dog is running." and "absolute" not in result.cues


@pytest.mark.parametrize(
    ("anchor", "reason"),
    [
        ("Is the door open?", SkipReason.UNSUITABLE),
        ("Close the door.", SkipReason.UNSUITABLE),
        ("The door isn't open.", SkipReason.UNSUITABLE),
        ("Perhaps the door is open.", SkipReason.UNSUITABLE),
        ('"The door is open," she said.', SkipReason.UNSUITABLE),
        ("A man riding a horse.", SkipReason.UNCLEAR),
        ("But the door is open.", SkipReason.UNCLEAR),
        ("And the door is open.", SkipReason.UNCLEAR),
        ("However, the door is open.", SkipReason.SCOPE),
        ("The door is certainly open.", SkipReason.SCOPE),
        ("The door is open because of the heat, since it is hot.", SkipReason.SCOPE),
        ("The ice is stable, while the water is warm.", SkipReason.SCOPE),
        ("The door was open, and the light was on.", SkipReason.COORDINATED),
        ("When we arrived, the gate was open.", SkipReason.NO_CONSTRUCTION),
    ],
)
def test_statements_that_fit_no_frame_are_left_out(anchor: str, reason: SkipReason) -> None:
    types = [entry for entry in TYPES if entry.id != "absolute"]
    result = write_by_rule(anchor, types=types, cues={})
    assert result.texts == {} and set(result.skipped.values()) == {reason}


def test_a_first_word_that_may_be_a_name_goes_only_if_it_keeps_its_capital() -> None:
    for number in range(200):
        text = written("affirmation", f"Copper sold for {number} crowns last year.")
        assert text is None or text.startswith("Copper sold")


def test_nobody_doubts_what_they_did_themselves() -> None:
    for anchor in ("I sold the boat.", "We are at home.", "The tram dropped us at the park."):
        assert written("free_hedge", anchor) is None and written("unsupported", anchor) is None
        text = written("affirmation", anchor)
        assert text is not None and "I know" not in text and "I can assure" not in text


def test_no_frame_is_in_two_places() -> None:
    frames = [frame for type_id in FRAMED for frame in frames_of(type_id)]
    frames += {frame for cues in WORDS["frames"].values() for frame in cues.values()}
    assert all(frame.count("{}") == 1 for frame in frames)
    twice = [
        frame for frame, count in Counter(frame.lower() for frame in frames).items() if count > 1
    ]
    assert not twice
    for type_id in FRAMED:
        assert 25 <= len(frames_of(type_id)) <= 45
        assert len({cue_of(frame) for frame in frames_of(type_id)}) == len(frames_of(type_id))


def test_a_hedge_leans_towards_the_claim_and_an_open_claim_is_not_a_hedge() -> None:
    """According to the guidelines, 'It is not clear whether …' is unsupported, not a hedge."""
    hedges = [*frames_of("free_hedge"), *WORDS["frames"]["phrase"].values()]
    hedges += WORDS["frames"]["word"].values()
    assert not [frame for frame in hedges if "whether" in frame.lower()]
    assert sum("hether" in frame for frame in frames_of("unsupported")) > 30


@pytest.mark.parametrize("type_id", FRAMED)
def test_every_frame_passes_the_surface_check_of_its_type(type_id: str) -> None:
    anchor = "The ski lift reached the summit in May."
    for frame in frames_of(type_id):
        text = written(type_id, anchor, cue_of(frame))
        assert text is not None
        if type_id != "absolute" or "lift reached the summit" in text:
            head, tail = frame.split("{}")
            assert text.startswith(head) and text.endswith(f"{tail}.")
        check = variant_type(type_id).surface_check
        assert not check_surface(check, anchor=anchor, text=text, cue=cue_of(frame))


def test_on_the_starter_corpus_no_frame_has_twice_its_even_share_and_no_text_is_flagged() -> None:
    used: dict[str, Counter[str]] = {type_id: Counter() for type_id in FRAMED}
    for family in STARTER.families():
        anchor = family["anchor"]
        result = write_by_rule(anchor, types=TYPES, cues={})
        for type_id, cue in result.cues.items():
            used[type_id][cue] += 1
            check = variant_type(type_id).surface_check
            assert not check_surface(check, anchor=anchor, text=result.texts[type_id], cue=cue)
    for type_id, counts in used.items():
        assert counts.total() > 300 and len(counts) == len(frames_of(type_id))
        assert max(counts.values()) <= 2 * counts.total() / len(frames_of(type_id))
