"""The forms of the Anchors page: correcting texts, genre and language, and writing variants."""

from sqlalchemy import Engine, select
from sqlalchemy.orm import Session
from sqlmodel import col
from streamlit.testing.v1 import AppTest

from curation.anchors.changes import correct_anchor, get_anchor
from curation.anchors.lookup import one_anchor
from curation.content_uids import anchor_uid
from db.engine import reading, writing
from db.models import Status, Variant
from pages.components.shared.variants.draft_warnings import NOT_SAVED
from tests.pages.anchors.support.anchor_page import (
    HOSTILE,
    UID,
    give_name,
    picked,
    press,
    rows_of_variants,
    status_of,
    texts,
    tick,
)
from tests.pages.conftest import OpenPage
from tests.support.factories import ANCHOR, person


def anchor_text(session: Session) -> str:
    found = one_anchor(session, UID)
    return found.text if found else ""


def test_a_correction_says_which_variants_it_will_reopen(
    two_anchors: Engine, open_page: OpenPage, started: list[int]
) -> None:
    app = picked(open_page, doing="Correct the text")
    assert "1 decided variant will be pending again" in "".join(c.value for c in app.caption)
    form = next(area for area in app.text_area if area.label == "Corrected text")
    form.set_value("The old bridge is safe.")
    app = press(app, "Save correction")
    assert [s.value for s in app.success] == [
        "Corrected. 1 decided variant came back for a second look."
    ]
    assert len(started) == 1
    with reading(two_anchors) as session:
        assert anchor_text(session) == "The old bridge is safe."
    assert status_of(rows_of_variants(app)[0]) == "second look"
    assert [e.label for e in app.expander if e.label.startswith("Revisions")] == ["Revisions (2)"]


def test_the_second_of_two_corrections_is_reported_and_keeps_its_text(
    two_anchors: Engine, open_page: OpenPage, started: list[int]
) -> None:
    app = picked(open_page, doing="Correct the text")
    with writing(two_anchors) as session:
        anchor = get_anchor(session, UID)
        correct_anchor(
            session,
            anchor.id,
            "The new bridge is safe.",
            reviewer_id=person(session),
            expected_revision=1,
        )
    next(a for a in app.text_area if a.label == "Corrected text").set_value("The bridge is fine.")
    app = press(app, "Save correction")
    assert "corrected by Ada meanwhile" in texts(app)
    area = next(a for a in app.text_area if a.label == "Corrected text")
    assert area.value == "The bridge is fine."
    with reading(two_anchors) as session:
        assert anchor_text(session) == "The new bridge is safe."
    press(app, "Save correction")
    with reading(two_anchors) as session:
        assert anchor_text(session) == "The bridge is fine."


def test_a_variant_is_written_next_to_its_guideline_and_measured(
    two_anchors: Engine, open_page: OpenPage, started: list[int]
) -> None:
    app = picked(open_page, doing="Write a variant")
    kind = next(box for box in app.selectbox if box.label == "Type")
    assert not any(i.label == "Hedge cue" for i in app.text_input)
    app = kind.select("word").run()
    assert "Hedge: single word" in "".join(html.value for html in app.get("html"))
    area = next(a for a in app.text_area if a.label == "Your variant")
    area.set_value("The bridge is probably safe.")
    app = press(app, "Add and accept")
    assert "already has this text" in texts(app)
    area = next(a for a in app.text_area if a.label == "Your variant")
    area.set_value("The bridge is safe, one hears.")
    next(i for i in app.text_input if i.label == "Hedge cue").set_value("one hears")
    app = press(app, "Add and accept")
    assert app.success[0].value.startswith("Added and accepted")
    assert "Levenshtein" in "".join(html.value for html in app.get("html"))
    assert len(started) == 1
    with reading(two_anchors) as session:
        own = session.execute(select(Variant).where(col(Variant.cue) == "one hears")).scalar_one()
        assert (own.status, own.provider) == (Status.ACCEPTED, "person")


def test_flags_on_your_own_variant_need_one_confirmation(
    two_anchors: Engine, open_page: OpenPage, started: list[int]
) -> None:
    app = picked(open_page, doing="Write a variant")
    area = next(a for a in app.text_area if a.label == "Your variant")
    app = area.set_value("The bridge is unsafe, they say.").run()
    assert "No new verbal negator" in "".join(html.value for html in app.get("html"))
    app = press(app, "Add and accept")
    assert NOT_SAVED in "".join(html.value for html in app.get("html")) and not app.success
    app = press(app, "Add and accept")
    assert app.success[0].value.startswith("Added and accepted")


def test_genre_and_language_of_selected_anchors_are_corrected(
    two_anchors: Engine, open_page: OpenPage
) -> None:
    app = tick(open_page("anchors"), UID, anchor_uid(HOSTILE))
    app = describe(app, "anchors-bulk-do-", Genre="news", Language="en-GB")
    assert [s.value for s in app.success] == ["2 anchors changed."]
    assert set(app.dataframe[0].value["Genre"]) == {"news"}
    app = picked(open_page, doing="Set genre and language")
    assert next(i for i in app.text_input if i.label == "Language").value == "en-GB"
    app = describe(app, "", Language="Kauderwelsch!")
    assert "'en' or 'en-GB'" in texts(app)
    app = describe(app, "", Language="de")
    with reading(two_anchors) as session:
        assert get_anchor(session, UID).language == "de"


def describe(app: AppTest, control: str, **values: str) -> AppTest:
    if control:
        key = next(c.key for c in app.get("button_group") if c.key.startswith(control))
        app.session_state[key] = "Set genre and language"
        app.run()
    for label, value in values.items():
        next(i for i in app.text_input if i.label == label).set_value(value)
    return press(app, "Save genre and language")


def reword(app: AppTest, text: str, button: str = "Save correction") -> AppTest:
    next(area for area in app.text_area if area.label == "Corrected text").set_value(text)
    return press(app, button)


def test_a_suspicious_wording_is_asked_about_once(
    two_anchors: Engine, open_page: OpenPage, started: list[int]
) -> None:
    app = reword(picked(open_page, doing="Correct the text"), "The bridge isn't safe.")
    assert "already negated" in texts(app)
    app = reword(app, "Bridge.", "Save anyway")
    assert "single word" in texts(app)
    with reading(two_anchors) as session:
        assert anchor_text(session) == ANCHOR
    app = press(app, "Save anyway")
    with reading(two_anchors) as session:
        assert anchor_text(session) == "Bridge."


def test_direction_controls_are_refused(two_anchors: Engine, open_page: OpenPage) -> None:
    app = reword(picked(open_page, doing="Correct the text"), "The \u202ebridge is fine.")
    assert "U+202E" in texts(app)
    assert not any(button.label == "Save anyway" for button in app.button)


def test_a_question_about_a_text_disappears_when_another_text_is_refused(
    two_anchors: Engine, open_page: OpenPage
) -> None:
    app = reword(picked(open_page, doing="Correct the text"), "Bridge.")
    assert "single word" in texts(app)
    app = reword(app, "The \u202ebridge is fine.")
    assert "U+202E" in texts(app) and "single word" not in texts(app)
    assert not any(button.label == "Save anyway" for button in app.button)
    area = next(area for area in app.text_area if area.label == "Corrected text")
    assert area.value == "The \u202ebridge is fine."


def test_a_correction_is_offered_for_variants_with_the_same_words(
    two_anchors: Engine, open_page: OpenPage, started: list[int]
) -> None:
    app = reword(picked(open_page, doing="Correct the text"), "The footbridge is safe.")
    boxes = {box.label: box for box in app.checkbox if box.key and box.key.startswith("carry-")}
    assert boxes["Verbal negation, was accepted"].value
    assert not boxes["Affixal negation, not reviewed yet"].value
    assert "foot" in "".join(html.value for html in app.get("html"))
    boxes["Affixal negation, not reviewed yet"].check()
    app.run()
    app = press(app, "Save 2 edits")
    assert app.success[0].value.startswith("2 variants edited and accepted.")
    with reading(two_anchors) as session:
        texts_ = select(col(Variant.text)).where(col(Variant.status) == Status.ACCEPTED)
        assert set(session.execute(texts_).scalars()) == {
            "The footbridge is not safe.",
            "The footbridge is unsafe.",
        }


def test_edits_are_carried_over_once_the_name_is_given(
    unnamed: Engine, open_page: OpenPage, started: list[int]
) -> None:
    with writing(unnamed) as session:
        correct_anchor(
            session,
            get_anchor(session, UID).id,
            "The footbridge is safe.",
            reviewer_id=person(session),
            expected_revision=1,
        )
    app = give_name(picked(open_page).button(key="anchor-carry-save").click().run())
    assert app.success[0].value.startswith("1 variant edited and accepted.")
