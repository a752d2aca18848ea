"""Surface checks on single sentences, and the marks for highlighting."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from curation.surface import check_surface, marks
from curation.taxonomy import TAXONOMY, SurfaceCheck, variant_type

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
        ("word", "The bridge is safe for lorries.", "probably", "cue 'probably' is missing"),
        ("word", "The bridge probably isn't safe for lorries.", "probably", "Unwanted negator"),
        ("word", "The bridge is probably safe for lorries.", None, "No cue is recorded"),
        ("phrase", "I'm sure the bridge is safe for lorries.", "not sure", "missing"),
    ],
)
def test_what_is_wrong_is_said_in_a_sentence(
    type_id: str, text: str, cue: str | None, named: str
) -> None:
    found = problems(type_id, SAFE, text, cue)
    assert any(named in problem for problem in found), found
    assert all(problem.endswith(".") for problem in found)


def test_a_cue_that_the_anchor_has_already_is_not_enough() -> None:
    anchor = "You can stay if you like."
    assert "already" in problems("word", anchor, "You can stay if you like.", "if")[0]
    assert problems("word", anchor, "I wonder if you can stay if you like.", "if") == []


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
        ("The bridge is safe for lorries.", "probably", []),
    ],
)  # fmt: skip
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
