"""Surface checks on single sentences, and the highlighted ranges."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from curation.diagnostics.measures import measure
from curation.diagnostics.surface import check_surface, marks
from curation.taxonomy.built_in import TAXONOMY, SurfaceCheck, variant_type

SAFE = "The bridge is safe for lorries."


def problems(type_id: str, anchor: str, text: str, cue: str | None = None) -> list[str]:
    return check_surface(variant_type(type_id).surface_check, anchor=anchor, text=text, cue=cue)


@pytest.mark.parametrize(
    ("type_id", "text", "cue"),
    [
        ("verbal", "The bridge isn't safe for lorries.", None),
        ("absolute", "No bridge is safe for lorries.", None),
        ("absolute", "The bridge is in no way safe for lorries.", None),
        ("affixal", "The bridge is unsafe for lorries.", None),
        ("affixal", "The bridge is non-safe for lorries.", None),
        ("lexical", "The bridge is dangerous for lorries.", None),
        ("negated_antonym", "The bridge isn't dangerous for lorries.", None),
        ("negated_antonym", "The bridge is far from unsafe for lorries.", None),
        ("word", "The bridge is probably safe for lorries.", "probably"),
        ("word", "I can't swear to it, but the bridge is safe for lorries.", "cant"),
        ("phrase", "It isn't clear, but the bridge seems safe for lorries.", "isnt clear"),
        ("phrase", "It looks like the bridge is safe for lorries.", "look like"),
    ],
)
def test_good_variants_pass(type_id: str, text: str, cue: str | None) -> None:
    assert problems(type_id, SAFE, text, cue) == []


@pytest.mark.parametrize(
    ("type_id", "text", "cue", "named"),
    [
        ("verbal", "No bridge is safe for lorries.", None, "No new verbal negator"),
        ("verbal", "The bridge isn't dangerous for lorries.", None, "content word changes"),
        ("verbal", "I'm not sure, but the bridge is safe for lorries.", None, "main clause"),
        ("absolute", "The bridge isn't safe for lorries.", None, "No new absolute negator"),
        ("affixal", "The bridge is dangerous for lorries.", None, "negative affix"),
        ("affixal", "The bridge is not unsafe for lorries.", None, "Unwanted negator"),
        ("affixal", "It is unclear whether the bridge is safe for lorries.", None, "affix"),
        ("lexical", "The bridge is not dangerous for lorries.", None, "Unwanted negator"),
        ("lexical", "The bridge is maybe safe for lorries.", None, "No content word"),
        ("negated_antonym", "The bridge isn't safe for lorries.", None, "No content word"),
        ("negated_antonym", "The bridge is dangerous for lorries.", None, "No new negator"),
        (
            "word",
            "The bridge is safe for lorries.",
            "probably",
            "cue 'probably' is not in the text",
        ),
        ("word", "The bridge probably isn't safe for lorries.", "probably", "Unwanted negator"),
        ("word", "The bridge is probably safe for lorries.", None, "no recorded cue"),
        ("phrase", "I'm sure the bridge is safe for lorries.", "not sure", "not in the text"),
    ],
)
def test_problems_give_one_sentence(type_id: str, text: str, cue: str | None, named: str) -> None:
    found = problems(type_id, SAFE, text, cue)
    assert any(named in problem for problem in found), found
    assert all(problem.endswith(".") for problem in found)


def test_a_cue_that_the_anchor_has_already_is_not_enough() -> None:
    anchor = "You can stay if you like."
    assert "already" in problems("word", anchor, "You can stay if you like.", "if")[0]
    assert problems("word", anchor, "I wonder if you can stay if you like.", "if") == []


@pytest.mark.parametrize(
    ("anchor", "text"),
    [
        ("The kitchen was furnished.", "The kitchen had no furniture."),
        (
            "The avalanche was audible from the village.",
            "Nobody could hear the avalanche from the village.",
        ),
        ("The toddler on the rug is dressed.", "The toddler on the rug has nothing on."),
        ("The witness was present.", "The witness was nowhere to be seen."),
        ("The two sensors are similar.", "The two sensors share nothing."),
        ("The island is populated.", "Nobody lives on the island."),
        ("They have a place to live.", "They have nowhere to live."),
        ("Two runners finished the race.", "Neither of the two runners finished the race."),
        ("She spilled the beans at dinner.", "At no point did she spill the beans at dinner."),
        ("The lighthouse is still in use.", "The lighthouse is no longer in use."),
        ("There is doubt about the date.", "There is no doubt about the date."),
    ],
)
def test_rewordings_around_an_absolute_negator_pass(anchor: str, text: str) -> None:
    assert problems("absolute", anchor, text) == []
    check = variant_type("absolute").surface_check
    found = measure(anchor=anchor, text=text, cue=None, check=check, siblings=())
    assert not found.flags


@pytest.mark.parametrize(
    ("anchor", "text", "named"),
    [
        (SAFE, "No bridge is dangerous for lorries.", "'dangerous'"),
        (SAFE, "No bridge is unsafe for lorries.", "'unsafe'"),
        ("The film is a comedy.", "The film is nothing but a comedy.", "'nothing but'"),
        ("The ferry is late.", "The ferry is late, no doubt.", "'no doubt'"),
        ("The intern was polite.", "The intern was never rude.", "'rude'"),
        ("The choir learned it.", "No one in the choir didn't learn it.", "'not'"),
    ],
)
def test_an_absolute_negator_that_denies_nothing_is_reported(
    anchor: str, text: str, named: str
) -> None:
    assert any(named in problem for problem in problems("absolute", anchor, text))


@pytest.mark.parametrize(
    ("type_id", "anchor", "text"),
    [
        ("absolute", SAFE, "The bridge is no longer safe for lorries."),
        ("verbal", SAFE, "The bridge isn't safe for lorries any more."),
        ("verbal", SAFE, "The bridge isn't safe for lorries anymore."),
        ("verbal", SAFE, "The bridge is not safe for lorries any longer."),
        ("negated_antonym", "The lights are on.", "The lights are no longer off."),
    ],
)
def test_no_longer_needs_an_anchor_that_says_it_was_so(
    type_id: str, anchor: str, text: str
) -> None:
    (problem,) = problems(type_id, anchor, text)
    assert "still" in problem and problem.endswith(" requires.")


@pytest.mark.parametrize(
    ("type_id", "anchor", "text"),
    [
        ("absolute", "The bridge remains safe.", "The bridge is no longer safe."),
        ("verbal", "Your keys are still here.", "Your keys aren't here any more."),
        ("verbal", "The kiosk has soup.", "The kiosk doesn't have any more soup."),
        ("negated_antonym", "The lights are on again.", "The lights are no longer off."),
        ("negated_antonym", "I've paid the fine.", "I no longer owe the fine."),
        ("absolute", "Passengers waited longer.", "No passengers waited longer."),
    ],
)
def test_no_longer_passes_where_the_anchor_says_so(type_id: str, anchor: str, text: str) -> None:
    assert not any("needs" in problem for problem in problems(type_id, anchor, text))


@pytest.mark.parametrize("word", ["invaluable", "inflammable"])
def test_look_alikes_are_not_affixal_negations(word: str) -> None:
    base = word.removeprefix("in")
    assert problems("affixal", f"The cargo is {base}.", f"The cargo is {word}.")


def test_a_users_own_check_is_only_data() -> None:
    check = SurfaceCheck(
        scope="sentence",
        forbid_new=("verbal_negator",),
        require_words=("run out of", "short of"),
        forbid_words=("lack",),
    )
    anchor = "The ship has coal."

    def found(text: str) -> list[str]:
        return check_surface(check, anchor=anchor, text=text, cue=None)

    rule = {"words": ["again"], "anchor_has": ["already"]}
    unless = SurfaceCheck.model_validate({"forbid_words_unless": [rule]})
    assert check_surface(unless, anchor=anchor, text="The ship has coal again.", cue=None)
    already = "The ship already has coal."
    assert not check_surface(unless, anchor=already, text=f"{already} Again.", cue=None)

    assert found("The ship has run out of coal.") == []
    assert "required words" in found("The ship has no coal.")[0]
    assert "'lack'" in found("The ship runs out of coal and lacks it.")[0]
    assert "verbal negator" in found("I'm not sure, but the ship is short of coal.")[0]


def test_own_affixes_of_a_check_are_used() -> None:
    check = SurfaceCheck(require_new=("negative_affix",), negative_suffixes=("-proof",))
    anchor = "The coat lets rain in."
    assert check_surface(check, anchor=anchor, text="The coat is rainproof.", cue=None) == []
    assert check_surface(check, anchor=anchor, text="The coat is rainless.", cue=None)


def marked(anchor: str, text: str, cue: str | None = None) -> list[tuple[str, str]]:
    return [(text[m.start : m.end], m.kind) for m in marks(anchor=anchor, text=text, cue=cue)]


@pytest.mark.parametrize(
    ("text", "cue", "expected"),
    [
        ("The bridge isn't safe for lorries.", None, [("n't", "negator")]),
        ("The bridge cannot be safe for lorries.", None, [("not", "negator")]),
        ("No one calls the bridge safe for lorries.", None, [("No one", "negator")]),
        ("The bridge is unsafe for lorries.", None, [("un", "affix")]),
        ("The bridge is a safety-free one.", None, [("free", "affix")]),
        ("It looks like the bridge is safe.", "look like", [("looks like", "cue")]),
        ("It looks to me like it is.", "look like", [("looks", "cue"), ("like", "cue")]),
        ("It isn't clear, but the bridge is safe.", "isnt clear", [("isn't clear", "cue")]),
        ("I can't swear, but the bridge is safe.", "cant", [("can't", "cue")]),
        ("I'm not sure, maybe it is.", "maybe", [("not", "negator"), ("maybe", "cue")]),
        (
            "Whether the bridge holds lorries is unknown.",
            "Whether … is unknown",
            [("Whether", "cue"), ("is unknown", "cue")],
        ),
        ("The bridge is safe for lorries.", "probably", []),
    ],
)
def test_marks(text: str, cue: str | None, expected: list[tuple[str, str]]) -> None:
    assert marked(SAFE, text, cue) == expected


def test_a_negator_of_the_anchor_is_not_marked() -> None:
    anchor = "The man who did not pay left."
    assert marked(anchor, "The man who did not pay stayed.") == []


@given(st.text(max_size=120), st.text(max_size=120), st.sampled_from([None, "not sure", "why/if"]))
def test_any_two_texts_give_ordered_marks_and_no_error(
    anchor: str, text: str, cue: str | None
) -> None:
    end = 0
    for mark in marks(anchor=anchor, text=text, cue=cue):
        assert end <= mark.start < mark.end <= len(text)
        end = mark.end
    for entry in TAXONOMY:
        check_surface(entry.surface_check, anchor=anchor, text=text, cue=cue)
