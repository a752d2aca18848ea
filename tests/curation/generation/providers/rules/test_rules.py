"""Variants by rule: what the rules write, what they skip, and general properties."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from curation.content_uids import canonical
from curation.diagnostics.surface import check_surface
from curation.generation.providers.rules import write_by_rule
from curation.generation.providers.rules.grammar.clause import SkipReason
from curation.generation.providers.rules.grammar.forms import base_of, participle, past, third
from curation.generation.providers.rules.hedges import placeable
from curation.taxonomy.built_in import TAXONOMY, variant_type
from curation.taxonomy.cues import HEDGE_CUES


def written(type_id: str, text: str, cue: str = "") -> str | None:
    cues = {type_id: cue} if cue else {}
    return write_by_rule(text, types=[variant_type(type_id)], cues=cues).texts.get(type_id)


@pytest.mark.parametrize(
    ("anchor", "variant"),
    [
        ("The ferry leaves at nine.", "The ferry does not leave at nine."),
        ("We should sell the boat before winter.", "We shouldn't sell the boat before winter."),
        ("The kiosk has some stamps.", "The kiosk does not have any stamps."),
        ("She spilled the beans at dinner.", "She did not spill the beans at dinner."),
        ("She can finish the report today.", "She cannot finish the report today."),
        ("The council helped farmers and shops.", "The council did not help farmers or shops."),
        ("I'm guilty.", "I'm not guilty."),
        ("They've sold the car.", "They haven't sold the car."),
        ("It's open on Sundays.", "It isn't open on Sundays."),
        ("The nurse quickly read the label.", "The nurse did not quickly read the label."),
        (
            "The cat that fell from the balcony is injured.",
            "The cat that fell from the balcony is not injured.",
        ),
        ("When we arrived, the gate was open.", "When we arrived, the gate was not open."),
        ("There were clouds above the valley.", "There were not any clouds above the valley."),
        ("The soil is warm and moist.", "The soil is not warm or moist."),
        ("She sat down and read a book.", "She did not sit down or read a book."),
        ("A man is sitting and reading.", "A man is not sitting or reading."),
        ("The embassy granted a visa.", "The embassy did not grant a visa."),
        ("Swimming in the lake is legal.", "Swimming in the lake is not legal."),
        (
            "By the summer of 1012, Sigrid was queen.",
            "By the summer of 1012, Sigrid was not queen.",
        ),
        (
            "The fossa, which hunts by day, is a climber.",
            "The fossa, which hunts by day, is not a climber.",
        ),
        ("The shop is open between nine and noon.", "The shop is not open between nine and noon."),
        ("The salt is soluble in water and in oil.", "The salt is not soluble in water or in oil."),
    ],
)
def test_the_finite_verb_is_negated(anchor: str, variant: str) -> None:
    assert written("verbal", anchor) == variant


@pytest.mark.parametrize(
    ("anchor", "variant"),
    [
        ("A brown dog is running.", "No brown dog is running."),
        ("Someone stole the painting.", "No one stole the painting."),
        ("Some guests brought flowers.", "No guests brought flowers."),
        ("All the doors are locked.", "None of the doors are locked."),
        ("The two runners have finished.", "Neither of the two runners has finished."),
        ("The soup has a lump in it.", "The soup has no lump in it."),
        ("There is a cat on the mat.", "There is no cat on the mat."),
        ("He answers his letters.", "He never answers his letters."),
        ("The plan is practical.", "The plan is in no way practical."),
        ("Early printers worked slowly.", "No early printers worked slowly."),
        ("Two men are loading a piano.", "Neither of the two men is loading a piano."),
        ("Five boats were lost.", "None of the five boats were lost."),
        ("Ann and Ben sold the car.", "Neither Ann nor Ben sold the car."),
        ("Both the mayor and the clerk were late.", "Neither the mayor nor the clerk was late."),
        ("The fence was repaired.", "The fence was never repaired."),
        ("The report contains errors.", "The report contains no errors."),
        ("The telescope detected a signal.", "The telescope detected no signal."),
    ],
)
def test_an_absolute_negator_denies_the_claim(anchor: str, variant: str) -> None:
    assert written("absolute", anchor) == variant


@pytest.mark.parametrize(
    ("type_id", "anchor", "variant"),
    [
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
def test_the_predicate_gives_way_to_an_opposite(type_id: str, anchor: str, variant: str) -> None:
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
    ],
)
def test_a_cue_is_placed(type_id: str, cue: str, anchor: str, variant: str) -> None:
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


def test_an_opening_clause_only_follows_that() -> None:
    anchor = "When we arrived, the gate was open."
    cues = [f"not {word}" for word in ("clear", "sure", "very clear", "certain")]
    for cue in cues:
        written = write_by_rule(anchor, types=[variant_type("phrase")], cues={"phrase": cue})
        assert "that when we arrived" in written.texts["phrase"]


def test_statements_that_a_frame_would_distort_get_another_frame() -> None:
    anchor = "A retired teacher from Leeds has written a novel."
    result = write_by_rule(anchor, types=[variant_type("phrase")], cues={"phrase": "feel like"})
    assert result.cues["phrase"] != "feel like"  # 'I feel like a retired teacher …'


def test_a_type_of_the_users_own_has_no_rule() -> None:
    own = variant_type("verbal").model_copy(update={"id": "litotes"})
    result = write_by_rule("The door is open.", types=[own], cues={})
    assert result.skipped == {"litotes": SkipReason.NO_RULE}


def test_a_cue_that_cannot_be_placed_gives_way_to_another_of_the_list() -> None:
    entry = variant_type("word")
    chosen_cues = {
        write_by_rule(
            f"The bridge number {n} is safe.", types=[entry], cues={"word": "clean"}
        ).cues["word"]
        for n in range(400)
    }
    assert chosen_cues == set(placeable("word"))


@pytest.mark.parametrize("type_id", ["word", "phrase"])
def test_every_cue_that_is_placed_is_one_of_the_papers(type_id: str) -> None:
    assert set(placeable(type_id)) <= set(HEDGE_CUES[type_id])


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


SUBJECTS = ["The old bridge", "My aunt", "A grey cat", "The doors", "Bats", "She", "We", "Nina"]
PREDICATES = {
    True: ["are safe", "were locked", "have a garden", "sold some stamps", "can swim"],
    False: ["is safe", "was locked", "has a garden", "sold some stamps", "can swim"],
}
ENDS = ["", " in the valley", " when it rains", " and the old town", ", too", " because of us"]


@given(
    st.sampled_from(SUBJECTS), st.integers(0, 4), st.sampled_from(ENDS), st.sampled_from(["", "."])
)
@settings(max_examples=60, deadline=None)
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
@settings(max_examples=60, deadline=None)
def test_no_text_is_too_odd(text: str) -> None:
    result = write_by_rule(text, types=TAXONOMY, cues={})
    assert set(result.texts) | set(result.skipped) == {entry.id for entry in TAXONOMY}


def test_a_base_that_two_spellings_fit_is_the_word_that_exists() -> None:
    assert base_of("souped", "VVD") == "soup" and base_of("stored", "VVD") == "store"
