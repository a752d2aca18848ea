"""The editors of the review page: the checks of a text, and the questions about it."""

from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import Engine, select
from sqlmodel import col
from streamlit.testing.v1 import AppTest

from curation.review.browser_window import key_actions
from db.engine import reading, writing
from db.models import Status, Variant
from pages.components.shared.variants.draft_warnings import NOT_SAVED
from tests.pages.conftest import ROOT, TIMEOUT
from tests.support.factories import TEXTS, add_family, person

FLAGGED = "The bridge is unsafe, they say."


@pytest.fixture
def signed_in(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Ada is signed in by the settings. A key counts immediately."""
    monkeypatch.setenv("HEDGEROW_REVIEWER", "Ada")
    monkeypatch.setattr(key_actions, "MIN_SHOWN_SECONDS", 0.0)


@pytest.fixture
def family(signed_in: None, with_source: Engine) -> Engine:
    """One family."""
    with writing(with_source) as session:
        add_family(session)
        person(session)
    return with_source


class Page:
    """The review page, opened by a user."""

    def __init__(self, **address: str) -> None:
        self.app = AppTest.from_file(str(ROOT / "app.py"), default_timeout=TIMEOUT).run()
        self.app.switch_page("pages/review.py")
        for key, value in address.items():
            self.app.query_params[key] = value
        self.app.run()

    def press(self, key: str) -> None:
        """Press the button whose key begins like this."""
        button = next(b for b in self.app.button if (b.key or "").startswith(key))
        button.click().run()
        assert not self.app.exception

    def field(self, kind: str, label: str) -> Any:
        return next(f for f in self.app.get(kind) if f.label.startswith(label))

    def has(self, kind: str, label: str) -> bool:
        return any(f.label.startswith(label) for f in self.app.get(kind))

    def write(self, text: str) -> None:
        self.app.text_area[0].set_value(text).run()

    def html(self) -> str:
        return "\n".join(str(e.value) for e in self.app.get("html") if "<style" not in e.value)

    def buttons(self) -> list[str]:
        return [button.label for button in self.app.button]


def stored(engine: Engine) -> list[tuple[str, str, str | None]]:
    """Type, text and cue of the variants that were added to the family."""
    with reading(engine) as session:
        query = select(Variant).where(col(Variant.id) > len(TEXTS)).order_by(col(Variant.id))
        return [(v.type_id, v.text, v.cue) for v in session.execute(query).scalars()]


@pytest.mark.parametrize("key", ["e-", "w-"])
def test_flags_are_shown_while_typing_and_need_one_confirmation(family: Engine, key: str) -> None:
    page = Page(type="Verbal negation")
    page.press(key)
    assert 'class="hg-checks' not in page.html()
    page.write(FLAGGED)
    assert "No new verbal negator" in page.html() and NOT_SAVED not in page.html()
    page.press("save-")
    assert NOT_SAVED in page.html() and stored(family) == []
    assert any("anyway" in label for label in page.buttons())
    page.press("save-")
    assert stored(family) == [("verbal", FLAGGED, None)]


def test_another_kind_of_flag_is_asked_about_again(family: Engine) -> None:
    page = Page(type="Verbal negation")
    page.press("e-")
    page.write(FLAGGED)
    page.press("save-")
    page.write("The bridge is unsafe!")  # the words of a sibling
    page.press("save-")
    assert stored(family) == [] and "same words as the anchor&#39;s" in page.html()
    page.press("save-")
    assert stored(family) == [("verbal", "The bridge is unsafe!", None)]


@pytest.mark.parametrize("key", ["e-", "w-"])
def test_an_unflagged_text_is_saved_in_one_step(family: Engine, key: str) -> None:
    page = Page(type="Verbal negation")
    page.press(key)
    page.write("The bridge is not safe at all.")
    page.press("save-")
    assert stored(family) == [("verbal", "The bridge is not safe at all.", None)]


def test_your_own_variant_is_refused_if_it_exists_and_its_card_is_linked(
    family: Engine,
) -> None:
    page = Page(type="Verbal negation")
    page.press("w-")
    page.field("selectbox", "Type").select("affixal").run()
    page.write(TEXTS["affixal"])
    page.press("save-")
    assert "The anchor already has this text" in page.html() and stored(family) == []
    page.press("that-3-")
    assert page.app.session_state["review"].focus_id == 3
    assert not page.has("text_area", "A variant of your own")


def test_an_edit_into_a_sibling_names_it_and_is_accepted_the_second_time(family: Engine) -> None:
    page = Page(type="Verbal negation")
    page.press("e-")
    page.field("selectbox", "Type").select("affixal").run()
    page.write(TEXTS["affixal"])
    page.press("save-")
    assert "Saving accepts that variant" in page.html()
    assert "Show that card" in page.buttons()
    page.press("save-")
    with reading(family) as session:
        statuses = [session.get_one(Variant, number).status for number in (1, 3)]
    assert statuses == [Status.SUPERSEDED, Status.ACCEPTED] and stored(family) == []


def test_blind_mode_shows_the_checks_of_an_edit_only_afterwards(family: Engine) -> None:
    page = Page(type="Verbal negation", blind="1")
    page.press("e-")
    page.write(FLAGGED)
    assert 'class="hg-checks' not in page.html()
    page.press("save-")
    assert stored(family) == [("verbal", FLAGGED, None)]
    assert "Flagged: wrong surface form" in page.html()


def test_an_edit_without_its_cue_stores_the_one_in_the_text(family: Engine) -> None:
    page = Page(type="Hedge: phrase")
    page.press("e-")
    assert page.field("text_input", "Hedge cue").value == "not entirely sure"
    page.write("It's not at all clear if the bridge is safe.")
    assert any("not at all clear" in caption.value for caption in page.app.caption)
    page.press("save-")
    assert stored(family) == [
        ("phrase", "It's not at all clear if the bridge is safe.", "not at all clear")
    ]
    assert "Its cue is &#39;not at all clear&#39;." in page.html()


def test_an_edit_without_a_known_cue_asks_for_it_with_a_proposal(family: Engine) -> None:
    page = Page(type="Hedge: phrase")
    page.press("e-")
    page.write("Perhaps the bridge is safe.")
    assert "Enter the cue" in page.html()
    page.press("save-")
    assert stored(family) == []
    assert page.field("text_input", "Hedge cue").value == "perhaps"
    page.press("save-")
    assert stored(family) == [("word", "Perhaps the bridge is safe.", "perhaps")]
    assert "Saved as &#39;Hedge: single word&#39;" in page.html()


def test_retyping_to_a_hedge_opens_the_editor_at_its_cue(family: Engine) -> None:
    page = Page(type="Verbal negation")
    page.press("t-")
    page.press("retype-word-")
    assert page.field("selectbox", "Type").value == "word"
    assert "The text has no known cue" in page.html()
    page.field("text_input", "Hedge cue").set_value("safe").run()
    page.press("save-")  # the surface check of hedges allows no new negator
    page.press("save-")
    assert stored(family) == [("word", TEXTS["verbal"], "safe")]


def test_the_cue_field_appears_for_types_that_need_a_cue(family: Engine) -> None:
    page = Page(type="Verbal negation")
    page.press("w-")
    assert not page.has("text_input", "Hedge cue")
    page.field("selectbox", "Type").select("word").run()
    assert page.has("text_input", "Hedge cue")
    page.write("The bridge seems safe.")
    page.press("save-")
    assert stored(family) == [("word", "The bridge seems safe.", "seem")]


def test_the_cue_field_follows_the_text_until_a_cue_is_entered(family: Engine) -> None:
    page = Page(type="Hedge: phrase")
    page.press("e-")
    page.field("selectbox", "Type").select("word").run()
    for text, cue in (
        ("The bridge is probably safe.", "probably"),
        ("The bridge is possibly safe.", "possibly"),
    ):
        page.write(text)
        assert page.field("text_input", "Hedge cue").value == cue
        assert "is not in the text" not in page.html()
    page.field("text_input", "Hedge cue").set_value("bridge").run()
    page.write("The bridge is probably safe.")
    assert page.field("text_input", "Hedge cue").value == "bridge"


def test_a_closed_editor_keeps_its_type_until_discarded(
    family: Engine,
) -> None:
    page = Page(type="Verbal negation")
    for leave, there in (("cancel-", "affixal"), ("discard-", "verbal")):
        page.press("e-")
        page.field("selectbox", "Type").select("affixal").run()
        page.press(leave)
        page.press("e-")
        assert page.field("selectbox", "Type").value == there
        page.press("cancel-")


def test_your_own_hedge_with_a_siblings_words_is_flagged_before_its_cue_is_known(
    family: Engine,
) -> None:
    page = Page(type="Verbal negation")
    page.press("w-")
    page.field("selectbox", "Type").select("word").run()
    page.write("The bridge is unsafe!")
    assert "Enter the cue" in page.html()
    assert "same words as the anchor&#39;s" in page.html()
