"""Variants by rule: what the rules and frames write, what they skip, and general properties."""

from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st

from curation.content_uids import canonical
from curation.corpora.corpus import STARTER
from curation.diagnostics.surface import check_surface
from curation.generation.providers.rules import write_by_rule
from curation.generation.providers.rules.clause import (
    WORDS,
    SkipReason,
    base_of,
    participle,
    past,
    third,
)
from curation.generation.providers.rules.hedges import FRAMED, PLACEABLE, cue_of, frames_of
from curation.taxonomy.built_in import TAXONOMY, variant_type
from curation.taxonomy.cues import HEDGE_CUES

FRAMED_TYPES = [variant_type(type_id) for type_id in FRAMED]


def written(type_id: str, text: str, cue: str = "") -> str | None:
    cues = {type_id: cue} if cue else {}
    return write_by_rule(text, types=[variant_type(type_id)], cues=cues).texts.get(type_id)


@pytest.mark.parametrize(
    ("type_id", "anchor", "variant"),
    [
        ("verbal", "The ferry leaves at nine.", "The ferry does not leave at nine."),
        (
            "verbal",
            "We should sell the boat before winter.",
            "We shouldn't sell the boat before winter.",
        ),
        ("verbal", "The kiosk has some stamps.", "The kiosk does not have any stamps."),
        ("verbal", "She spilled the beans at dinner.", "She did not spill the beans at dinner."),
        ("verbal", "She can finish the report today.", "She cannot finish the report today."),
        (
            "verbal",
            "The council helped farmers and shops.",
            "The council did not help farmers or shops.",
        ),
        ("verbal", "I'm guilty.", "I'm not guilty."),
        ("verbal", "They've sold the car.", "They haven't sold the car."),
        ("verbal", "It's open on Sundays.", "It isn't open on Sundays."),
        (
            "verbal",
            "The nurse quickly read the label.",
            "The nurse did not quickly read the label.",
        ),
        (
            "verbal",
            "The cat that fell from the balcony is injured.",
            "The cat that fell from the balcony is not injured.",
        ),
        (
            "verbal",
            "When we arrived, the gate was open.",
            "When we arrived, the gate was not open.",
        ),
        (
            "verbal",
            "There were clouds above the valley.",
            "There were not any clouds above the valley.",
        ),
        ("verbal", "The soil is warm and moist.", "The soil is not warm or moist."),
        ("verbal", "She sat down and read a book.", "She did not sit down or read a book."),
        ("verbal", "A man is sitting and reading.", "A man is not sitting or reading."),
        ("verbal", "The embassy granted a visa.", "The embassy did not grant a visa."),
        ("verbal", "Swimming in the lake is legal.", "Swimming in the lake is not legal."),
        (
            "verbal",
            "By the summer of 1012, Sigrid was queen.",
            "By the summer of 1012, Sigrid was not queen.",
        ),
        (
            "verbal",
            "The fossa, which hunts by day, is a climber.",
            "The fossa, which hunts by day, is not a climber.",
        ),
        (
            "verbal",
            "The shop is open between nine and noon.",
            "The shop is not open between nine and noon.",
        ),
        (
            "verbal",
            "The salt is soluble in water and in oil.",
            "The salt is not soluble in water or in oil.",
        ),
        ("absolute", "A brown dog is running.", "No brown dog is running."),
        ("absolute", "Someone stole the painting.", "No one stole the painting."),
        ("absolute", "Some guests brought flowers.", "No guests brought flowers."),
        ("absolute", "All the doors are locked.", "None of the doors are locked."),
        ("absolute", "The two runners have finished.", "Neither of the two runners has finished."),
        ("absolute", "The soup has a lump in it.", "The soup has no lump in it."),
        ("absolute", "There is a cat on the mat.", "There is no cat on the mat."),
        ("absolute", "He answers his letters.", "He never answers his letters."),
        ("absolute", "The plan is practical.", "The plan is in no way practical."),
        ("absolute", "Early printers worked slowly.", "No early printers worked slowly."),
        ("absolute", "Two men are loading a piano.", "Neither of the two men is loading a piano."),
        ("absolute", "Five boats were lost.", "None of the five boats were lost."),
        ("absolute", "Ann and Ben sold the car.", "Neither Ann nor Ben sold the car."),
        (
            "absolute",
            "Both the mayor and the clerk were late.",
            "Neither the mayor nor the clerk was late.",
        ),
        ("absolute", "The fence was repaired.", "The fence was never repaired."),
        ("absolute", "The report contains errors.", "The report contains no errors."),
        ("absolute", "The telescope detected a signal.", "The telescope detected no signal."),
        ("affixal", "The form is valid.", "The form is invalid."),
        ("affixal", "The tomb was touched by robbers.", "The tomb was untouched by robbers."),
        ("affixal", "Honeybees can recognise faces.", "Honeybees are unable to recognise faces."),
        ("affixal", "My parents approve of him.", "My parents disapprove of him."),
        ("affixal", "She marks essays consistently.", "She marks essays inconsistently."),
        ("affixal", "Every seat is comfortable.", "Every seat is uncomfortable."),
        ("affixal", "She managed to lift the piano.", "She was unable to lift the piano."),
        ("affixal", "The divers found the wreck.", "The divers were unable to find the wreck."),
        ("affixal", "They have solved it.", "They have been unable to solve it."),
        ("affixal", "The staff have been very kind.", "The staff have been very unkind."),
        ("lexical", "The pool will be open tomorrow.", "The pool will be closed tomorrow."),
        ("lexical", "The kiosk is open on Sundays.", "The kiosk is closed on Sundays."),
        ("lexical", "The council accepted the offer.", "The council rejected the offer."),
        ("lexical", "Most clinics have a refrigerator.", "Most clinics lack a refrigerator."),
        ("lexical", "She remembered to lock the door.", "She forgot to lock the door."),
        ("lexical", "He passed the salt.", "He failed to pass the salt."),
        ("lexical", "They won the match.", "They lost the match."),
        ("lexical", "They have reached the village.", "They have failed to reach the village."),
        ("negated_antonym", "The form is valid.", "The form is not invalid."),
        ("negated_antonym", "The kiosk is open.", "The kiosk is not closed."),
        ("negated_antonym", "We passed the exam.", "We didn't fail the exam."),
    ],
)
def test_a_claim_is_denied(type_id: str, anchor: str, variant: str) -> None:
    assert written(type_id, anchor) == variant


@pytest.mark.parametrize(
    ("type_id", "cue", "anchor", "variant"),
    [
        ("word", "probably", "The door is open.", "The door is probably open."),
        ("word", "apparently", "She sells stamps.", "She apparently sells stamps."),
        ("word", "may", "The choir sang in tune.", "The choir may have sung in tune."),
        ("word", "might", "They are here.", "They might be here."),
        ("word", "maybe", "French wine is good.", "Maybe French wine is good."),
        ("word", "appearence", "The tea is hot.", "To all appearances, the tea is hot."),
        (
            "phrase",
            "not clear",
            "The mill still grinds corn.",
            "It is not clear, but it seems that the mill still grinds corn.",
        ),
        (
            "phrase",
            "not guite sure",
            "Aunt Vera is well.",
            "I am not quite sure, but I think that Aunt Vera is well.",
        ),
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
def test_the_asked_cue_is_placed_and_the_asked_frame_goes_around_the_statement(
    type_id: str, cue: str, anchor: str, variant: str
) -> None:
    assert written(type_id, anchor, cue) == variant


@pytest.mark.parametrize(
    ("anchor", "reason"),
    [
        ("Is the door open?", SkipReason.UNSUITABLE),
        ("The door isn't open.", SkipReason.UNSUITABLE),
        ("The door is probably open.", SkipReason.UNSUITABLE),
        ('"The door is open," she said.', SkipReason.UNSUITABLE),
        ("The door is open. The window is shut.", SkipReason.UNSUITABLE),
        ("Tighten the four screws evenly.", SkipReason.UNSUITABLE),
        ("A man riding a horse.", SkipReason.UNCLEAR),
        ("On the table stood a vase.", SkipReason.UNCLEAR),
        ("the door is open", SkipReason.UNCLEAR),
        ("", SkipReason.UNCLEAR),
        ("\U0001f600 " * 80, SkipReason.UNCLEAR),
    ],
)
def test_sentences_that_are_not_plain_statements_are_skipped(
    anchor: str, reason: SkipReason
) -> None:
    result = write_by_rule(anchor, types=TAXONOMY, cues={})
    assert result.texts == {} and result.cues == {}
    assert result.skipped == dict.fromkeys((entry.id for entry in TAXONOMY), reason)


@pytest.mark.parametrize(
    ("type_id", "anchor"),
    [
        ("verbal", "Some guests brought flowers."),  # some others may not have brought any
        ("verbal", "All the doors are locked."),  # 'none' or 'not all'
        ("verbal", "Two runners finished the race."),
        ("verbal", "He left early because he was tired."),  # the reason would be denied
        ("verbal", "The door was open, and the light was on."),
        ("verbal", "She already knows the answer."),
        ("verbal", "He went to Paris to see her."),
        ("verbal", "She sat down, and he read a book."),
        ("verbal", "A man dressed in black."),
        ("lexical", "The apprentice is visible in the mirror."),
        ("negated_antonym", "Visitors are welcome."),  # 'not unwelcome' says less
        ("affixal", "She found the tool useful and sat down."),
        ("affixal", "Two of the seats are comfortable."),
        ("negated_antonym", "The page is accessible to everyone."),
        ("word", "The door was open, and the light was on."),
        ("word", "The door was open, he said."),
        ("verbal", "Even on Sundays, the shop is open."),
        ("verbal", "Flights resumed on Monday after the ash cloud drifted north."),
        ("affixal", "She is responsible for the archive."),  # it makes nobody irresponsible
        ("affixal", "The form is accurate and complete."),
        ("affixal", "The treaty was signed in 1512."),
        ("lexical", "Some of the bread is fresh."),
        ("negated_antonym", "The offer was generous."),  # 'not stingy' leaves a middle ground
    ],
)
def test_unsound_variants_are_left_out(type_id: str, anchor: str) -> None:
    assert written(type_id, anchor) is None


@pytest.mark.slow
def test_a_cue_that_would_distort_the_statement_gives_way_to_another() -> None:
    for cue in ("not clear", "not sure", "not very clear", "not certain"):
        text = written("phrase", "When we arrived, the gate was open.", cue)
        assert text is not None and "that when we arrived" in text
    teacher = "A retired teacher from Leeds has written a novel."
    result = write_by_rule(teacher, types=[variant_type("phrase")], cues={"phrase": "feel like"})
    assert result.cues["phrase"] != "feel like"  # 'I feel like a retired teacher …'
    chosen = {
        write_by_rule(f"The bridge {n} is safe.", types=TAXONOMY, cues={"word": "clean"}).cues[
            "word"
        ]
        for n in range(400)
    }
    assert chosen == set(PLACEABLE["word"])
    for type_id in ("word", "phrase"):
        assert set(PLACEABLE[type_id]) <= set(HEDGE_CUES[type_id])


def test_a_type_of_the_users_own_has_no_rule() -> None:
    own = variant_type("verbal").model_copy(update={"id": "litotes"})
    result = write_by_rule("The door is open.", types=[own], cues={})
    assert result.skipped == {"litotes": SkipReason.NO_RULE}


@pytest.mark.parametrize(
    ("base", "forms"),
    [
        ("plan", ("plans", "planned", "planned")),
        ("store", ("stores", "stored", "stored")),
        ("try", ("tries", "tried", "tried")),
        ("go", ("goes", "went", "gone")),
        ("prefer", ("prefers", "preferred", "preferred")),
        ("find", ("finds", "found", "found")),
    ],
)
def test_verb_forms_lead_there_and_back(base: str, forms: tuple[str, str, str]) -> None:
    assert (third(base), past(base), participle(base)) == forms
    assert [base_of(form, tag) for form, tag in zip(forms, ("VVZ", "VVD", "VVN"), strict=True)] == [
        base
    ] * 3


def test_a_base_that_two_spellings_fit_is_the_word_that_exists() -> None:
    assert base_of("souped", "VVD") == "soup" and base_of("stored", "VVD") == "store"


SUBJECTS = ["The old bridge", "My aunt", "A grey cat", "The doors", "Bats", "She", "We", "Nina"]
PREDICATES = {
    True: ["are safe", "were locked", "have a garden", "sold some stamps", "can swim"],
    False: ["is safe", "was locked", "has a garden", "sold some stamps", "can swim"],
}
ENDS = ["", " in the valley", " when it rains", " and the old town", ", too", " because of us"]


@given(
    st.sampled_from(SUBJECTS), st.integers(0, 4), st.sampled_from(ENDS), st.sampled_from(["", "."])
)
def test_written_variants_are_canonical_new_and_of_their_type(
    subject: str, predicate: int, end: str, stop: str
) -> None:
    plural = subject in ("The doors", "Bats", "We")
    anchor = f"{subject} {PREDICATES[plural][predicate]}{end}{stop}"
    result = write_by_rule(anchor, types=TAXONOMY, cues={})
    assert result == write_by_rule(anchor, types=TAXONOMY, cues={})
    for type_id, text in result.texts.items():
        assert text == canonical(text) and text != anchor and text.endswith(".") == bool(stop)
        check = variant_type(type_id).surface_check
        assert not check_surface(check, anchor=anchor, text=text, cue=result.cues.get(type_id))


@given(st.text(max_size=200))
def test_no_text_is_too_odd(text: str) -> None:
    result = write_by_rule(text, types=TAXONOMY, cues={})
    assert set(result.texts) | set(result.skipped) == {entry.id for entry in TAXONOMY}


# -- frames ----------------------------------------------------------------------------------------


def test_a_frame_is_chosen_by_the_text_and_recorded_as_the_cue() -> None:
    anchor = "The ferry leaves at nine."
    result = write_by_rule(anchor, types=FRAMED_TYPES, cues={})
    assert result == write_by_rule(anchor, types=FRAMED_TYPES, cues={})
    for type_id in ("affirmation", "free_hedge", "unsupported"):
        known = {cue_of(frame) for frame in frames_of(type_id)}
        assert result.cues[type_id] in known
        other = write_by_rule(anchor, types=FRAMED_TYPES, cues={type_id: "no frame of ours"})
        assert other.texts[type_id] == result.texts[type_id]


def test_an_absolute_negator_in_the_sentence_itself_comes_before_a_frame() -> None:
    result = write_by_rule("A brown dog is running.", types=FRAMED_TYPES, cues={})
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
    types = [entry for entry in FRAMED_TYPES if entry.id != "absolute"]
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


@pytest.mark.slow
def test_on_the_starter_corpus_no_frame_has_twice_its_even_share_and_no_text_is_flagged() -> None:
    used: dict[str, Counter[str]] = {type_id: Counter() for type_id in FRAMED}
    for family in [*STARTER.families()][::2]:
        anchor = family["anchor"]
        result = write_by_rule(anchor, types=FRAMED_TYPES, cues={})
        for type_id, cue in result.cues.items():
            used[type_id][cue] += 1
            check = variant_type(type_id).surface_check
            assert not check_surface(check, anchor=anchor, text=result.texts[type_id], cue=cue)
    for type_id, counts in used.items():
        assert counts.total() > 150 and len(counts) == len(frames_of(type_id))
        assert max(counts.values()) <= 2 * counts.total() / len(frames_of(type_id))
