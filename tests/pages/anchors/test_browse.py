"""The Anchors page's list: finding, selecting, correcting and retiring anchors, and writing
variants."""

from pathlib import Path

import pytest
from sqlalchemy import Engine, select
from sqlalchemy.orm import Session
from sqlmodel import col
from streamlit.testing.v1 import AppTest

from curation.anchors.changes import correct_anchor, get_anchor
from curation.anchors.lookup import one_anchor
from curation.content_uids import anchor_uid
from curation.review import actions
from curation.variants.own import write_variant
from db.engine import reading, writing
from db.models import Status, Variant
from pages.components.shared.variants.draft_warnings import NOT_SAVED
from tests.pages.conftest import OpenPage, unsafe_texts
from tests.support.factories import ANCHOR, add_anchor, add_family, person

UID = anchor_uid(ANCHOR)
HOSTILE = "# [x](javascript:1) <b>is</b> 100% $open$."


@pytest.fixture
def bo(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Bo is signed in."""
    monkeypatch.setenv("HEDGEROW_REVIEWER", "Bo")


@pytest.fixture
def unnamed(with_source: Engine) -> Engine:
    """A family of which Ada has accepted one variant, and an anchor without variants."""
    with writing(with_source) as session:
        family = add_family(session)
        add_anchor(session, HOSTILE)
        actions.accept(session, actions.shown(family["verbal"]), reviewer_id=person(session))
    return with_source


@pytest.fixture
def two_anchors(bo: None, unnamed: Engine) -> Engine:
    """The same, seen by Bo."""
    return unnamed


def listed(app: AppTest) -> list[str]:
    return [text for table in app.dataframe for text in table.value.get("Anchor", [])]


def texts(app: AppTest) -> str:
    return "\n".join(element.value for element in app.text)


def picked(open_page: OpenPage, *, doing: str = "") -> AppTest:
    app = open_page("anchors")
    app.query_params["anchor"] = UID
    app.run()
    if doing:
        # AppTest sets a segmented control's value. The page uses a new key for every form.
        key = next(c.key for c in app.get("button_group") if c.key.startswith("anchor-do-"))
        app.session_state[key] = doing
        app.run()
    return app


def anchor_text(session: Session) -> str:
    found = one_anchor(session, UID)
    return found.text if found else ""


def test_a_project_without_anchors_links_to_adding_some(bo: None, open_page: OpenPage) -> None:
    app = open_page("anchors")
    labels = [link.label for link in app.get("page_link")]
    assert labels == ["Add your own anchors", "Load the starter corpus on the Overview page"]
    assert not app.selectbox  # there is nothing to filter


def test_the_anchor_search_takes_the_query_literally(
    two_anchors: Engine, open_page: OpenPage
) -> None:
    app = open_page("anchors")
    assert not app.exception
    assert listed(app) == [ANCHOR, HOSTILE]
    for typed, expected in (
        ("100%", [HOSTILE]),
        ("BRIDGE", [ANCHOR]),
        ("%", [HOSTILE]),
        ("_", []),
        (UID, [ANCHOR]),
    ):
        assert listed(app.text_input(key="search").set_value(typed).run()) == expected
    app.text_input(key="search").set_value("").run()
    app.session_state["show"] = "Without variants"
    assert listed(app.run()) == [HOSTILE]
    app.session_state["show"] = "Retired"
    assert listed(app.run()) == []
    assert "Change the search" in texts(app)
    assert HOSTILE not in unsafe_texts(app)


def test_the_picked_anchor_shows_its_variants_with_their_cards(
    two_anchors: Engine, open_page: OpenPage
) -> None:
    app = picked(open_page)
    table = app.dataframe[1].value
    assert table["Status"].tolist() == ["accepted", *["pending"] * 6]
    assert all(str(link).startswith("/review?variant=") for link in table["Card"])
    app.query_params["anchor"] = "nope"
    assert "There is no anchor 'nope'." in texts(app.run())


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
    assert app.dataframe[1].value["Status"][0] == "second look"
    assert [e.label for e in app.expander if e.label.startswith("Revisions")] == ["Revisions (2)"]


def press(app: AppTest, label: str) -> AppTest:
    return next(button for button in app.button if button.label == label).click().run()


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


def test_an_anchor_is_retired_and_restored(two_anchors: Engine, open_page: OpenPage) -> None:
    app = picked(open_page).button(key="anchor-retire").click().run()
    assert ANCHOR not in listed(app)
    assert "no longer in use" in texts(app)
    app = app.button(key="anchor-restore").click().run()
    assert ANCHOR in listed(app)
    assert [s.value for s in app.success] == ["The anchor and its variants are restored."]


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


def tick(app: AppTest, *uids: str) -> AppTest:
    """Select rows as ticking them does, because AppTest cannot."""
    app.query_params["anchor"] = ",".join(uids)
    return app.run()


def test_the_selection_stays_with_its_anchor_when_another_leaves_the_list(
    two_anchors: Engine, open_page: OpenPage, started: list[int]
) -> None:
    """When a written variant removed an anchor from the list, the tick used to move to the next
    one."""
    with writing(two_anchors) as session:
        add_anchor(session, "The road is safe.")
    app = open_page("anchors")
    app.session_state["show"] = "Without variants"
    app = tick(app.run(), anchor_uid(HOSTILE))
    assert listed(app) == [HOSTILE, "The road is safe."]
    before = app.dataframe[0].proto.id
    with writing(two_anchors) as session:
        anchor = get_anchor(session, anchor_uid(HOSTILE))
        write_variant(
            session,
            anchor_id=anchor.id,
            type_id="verbal",
            text="It is not 100%.",
            reviewer_id=person(session),
        )
    app.run()
    assert listed(app) == ["The road is safe."]
    # Another element: Streamlit does not carry over its selection by row.
    assert app.dataframe[0].proto.id != before
    app.button(key="anchor-retire").click().run()
    with reading(two_anchors) as session:
        assert get_anchor(session, anchor_uid(HOSTILE)).retired_at is not None
        assert get_anchor(session, anchor_uid("The road is safe.")).retired_at is None


def test_selected_anchors_are_retired_together_and_undone(
    two_anchors: Engine, open_page: OpenPage
) -> None:
    app = tick(open_page("anchors"), UID, anchor_uid(HOSTILE))
    assert "2 anchors selected." in texts(app)
    app.button(key="anchors-bulk-retire").click().run()
    assert listed(app) == []
    assert [s.value for s in app.success] == ["2 anchors and their variants retired."]
    app.button(key="anchors-bulk-undo").click().run()
    assert listed(app) == [ANCHOR, HOSTILE]
    assert [s.value for s in app.success] == ["2 anchors restored."]


def test_hidden_selections_are_dropped(two_anchors: Engine, open_page: OpenPage) -> None:
    app = tick(open_page("anchors"), UID, anchor_uid(HOSTILE))
    app.text_input(key="search").set_value("bridge").run()
    assert "ticked" not in texts(app)
    assert app.query_params["anchor"] == UID


def test_a_selection_is_dropped_when_the_list_no_longer_shows_its_anchor(
    two_anchors: Engine, open_page: OpenPage
) -> None:
    app = picked(open_page)
    app = next(c for c in app.get("button_group") if c.key == "show").set_value("Retired").run()
    assert "No anchor matches" in texts(app)
    assert "anchor" not in app.query_params
    assert "anchor-retire" not in [button.key for button in app.button]
    app = tick(app, UID)  # the browser sends the old URL again
    assert "anchor-retire" not in [button.key for button in app.button]
    app = picked(open_page)
    app.text_input(key="search").set_value("bridge").run()
    assert app.query_params["anchor"] == UID
    app.text_input(key="search").set_value("100%").run()
    assert "anchor" not in app.query_params


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


def test_nobody_changes_an_anchor_without_a_name(unnamed: Engine, open_page: OpenPage) -> None:
    app = picked(open_page).button(key="anchor-retire").click().run()
    assert ANCHOR in listed(app)
    assert any(
        i.label.startswith("Your changes are stored under your name") for i in app.text_input
    )


def give_name(app: AppTest) -> AppTest:
    next(
        i for i in app.text_input if i.label.startswith("Your changes are stored under your name")
    ).set_value("Ada")
    return press(app, "Continue")


def test_a_press_takes_effect_once_the_name_is_given(unnamed: Engine, open_page: OpenPage) -> None:
    app = open_page("anchors")
    app.session_state["show"] = "Without variants"
    app = tick(app.run(), anchor_uid(HOSTILE)).button(key="anchor-retire").click().run()
    app = give_name(app)
    assert app.session_state["reviewer_name"] == "Ada"
    with reading(unnamed) as session:
        assert get_anchor(session, anchor_uid(HOSTILE)).retired_at is not None
        assert get_anchor(session, UID).retired_at is None


def test_selected_anchors_are_retired_once_the_name_is_given(
    unnamed: Engine, open_page: OpenPage
) -> None:
    app = tick(open_page("anchors"), UID, anchor_uid(HOSTILE))
    app = give_name(app.button(key="anchors-bulk-retire").click().run())
    assert [s.value for s in app.success] == ["2 anchors and their variants retired."]


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


def test_a_press_is_forgotten_when_something_else_is_chosen(
    unnamed: Engine, open_page: OpenPage
) -> None:
    """Otherwise the anchor would be retired later, when nobody presses anything."""
    app = picked(open_page).button(key="anchor-retire").click().run()
    key = next(c.key for c in app.get("button_group") if c.key.startswith("anchor-do-"))
    app.session_state[key] = "Correct the text"
    app = give_name(app.run())
    assert app.session_state["reviewer_name"] == "Ada"
    app.session_state[key] = None
    app.run()
    with reading(unnamed) as session:
        assert get_anchor(session, UID).retired_at is None


def test_a_press_is_forgotten_when_the_name_is_given_elsewhere(
    unnamed: Engine, open_page: OpenPage
) -> None:
    app = picked(open_page).button(key="anchor-retire").click().run()
    app = app.switch_page("pages/review.py").run()
    next(i for i in app.text_input if i.label == "Your name").set_value("Ada")
    app = press(app, "Start reviewing").switch_page("pages/anchors.py")
    app.query_params["anchor"] = UID
    assert ANCHOR in listed(app.run())
    assert "no longer in use" not in texts(app)
