"""The diff: changes are marked, and nothing in a text becomes markup."""

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st
from markupsafe import Markup

from curation.diagnostics.surface import marks
from pages.components.shared.formatting import markup
from pages.components.shared.formatting.diff import MAX_WORDS, diff
from tests.support.hostile import stored


def plain(html: str) -> str:
    """The text that a reader sees of the markup."""
    return Markup(re.sub(r"<[^>]*>", "", html)).unescape()


def test_dropped_and_added_words_are_marked() -> None:
    old, new = diff("The bridge is safe.", "The bridge is quite unsafe.")
    assert "<del>safe</del>" in old
    assert "<ins>quite unsafe</ins>" in new


def test_case_alone_is_no_change() -> None:
    old, new = diff("The bridge is safe.", "Maybe the bridge is safe.")
    assert "<del>" not in old
    assert "<ins>Maybe</ins> the" in new


def test_a_passage_is_not_marked_as_an_edit_of_its_anchor() -> None:
    anchor = "The lighthouse no longer has a keeper."
    passage = (
        "It was built in 1871 and stands on a bare rock. The lamp has been run from the mainland "
        "since the last man retired. Boats land in calm weather only."
    )
    old, new = diff(anchor, passage, marks(anchor=anchor, text=passage, cue=None))
    assert "<del>" not in old
    assert "<ins>" not in new
    assert plain(new) == passage


def test_all_words_dropped_by_a_short_variant_are_marked() -> None:
    anchor = "The bank earned 8.1 billion, missed all forecasts and closed forty of its branches."
    old, _ = diff(anchor, "The bank failed.")
    assert "<del>" in old


def test_negator_cue_and_affix_are_marked() -> None:
    anchor = "The bridge is safe."
    for text, cue, expected in (
        ("The bridge is not safe.", None, '<mark class="hg-negator" title="negator">not</mark>'),
        ("The bridge is unsafe.", None, '<mark class="hg-affix" title="negative affix">un</mark>'),
        (
            "Maybe the bridge is safe.",
            "maybe",
            '<mark class="hg-cue" title="cue">Maybe</mark>',
        ),
    ):
        _, new = diff(anchor, text, marks(anchor=anchor, text=text, cue=cue))
        assert expected in new


@pytest.mark.parametrize("text", stored().values(), ids=stored().keys())
def test_hostile_texts_stay_text(text: str) -> None:
    old, new = diff(text, f"not {text}")
    assert plain(old) == text
    assert plain(new) == f"not {text}"
    tags = {tag.split()[0].strip("/") for tag in re.findall(r"<([^>]*)>", old + new)}
    assert tags <= {"span", "del", "ins", "mark"}


@given(st.text(max_size=80), st.text(max_size=80))
def test_every_text_is_stored_unchanged(anchor: str, text: str) -> None:
    old, new = diff(anchor, text)
    assert (plain(old), plain(new)) == (anchor, text)


def test_a_very_long_text_is_shown_without_a_diff() -> None:
    long = "word " * (MAX_WORDS + 1)
    old, new = diff(long, long + "more")
    assert "<del>" not in old and "<ins>" not in new


def test_a_plain_string_is_never_emitted() -> None:
    with pytest.raises(TypeError, match="expected Markup"):
        markup.show("<b>somebody's</b>")  # type: ignore[arg-type]
