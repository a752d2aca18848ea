"""The Anchors page's list, the actions on selected anchors, and the forms that change them."""

import re
from pathlib import Path

import pytest
from sqlalchemy import Engine, select
from sqlmodel import col
from streamlit.testing.v1 import AppTest

from curation.anchors.lookup import one_anchor
from curation.content_uids import anchor_uid
from curation.editing.anchors import correct_anchor, get_anchor
from curation.editing.own_variants import write_variant
from curation.review import deciding
from db.engine import reading, writing
from db.models import Status, Variant
from tests.pages.conftest import OpenPage, Wording, unsafe_texts
from tests.pages.looks import html, keys, links, named, page_text, press, put
from tests.support.factories import ANCHOR, TEXTS, add_anchor, add_family, add_variant, person

UID = anchor_uid(ANCHOR)
HOSTILE = "# [x](javascript:1) <b>is</b> 100% $open$."
EMPTY = anchor_uid(HOSTILE)
CORRECT, WRITE, DESCRIBE = "Correct the text", "Write a variant", "Set genre and language"


@pytest.fixture
def unnamed(with_source: Engine) -> Engine:
    """A family of which Ada has accepted one variant, and an anchor without variants."""
    with writing(with_source) as session:
        family = add_family(session)
        add_anchor(session, HOSTILE)
        deciding.accept(session, deciding.shown(family["verbal"]), reviewer_id=person(session))
    return with_source


@pytest.fixture
def bo(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Bo is signed in."""
    monkeypatch.setenv("HEDGEROW_REVIEWER", "Bo")


@pytest.fixture
def two_anchors(bo: None, unnamed: Engine) -> Engine:
    """The same, seen by Bo."""
    return unnamed


def listed(app: AppTest) -> list[str]:
    """The anchors in the list."""
    assert not app.exception
    return [text for table in app.dataframe for text in table.value.get("Anchor", [])]


def picked(open_page: OpenPage, *, doing: str = "") -> AppTest:
    """The page with a selected anchor, and the form of this action if one is named."""
    app = open_page("anchors", anchor=UID)
    return put(app, "button_group", "anchor-do-", doing) if doing else app


def tick(app: AppTest, *uids: str) -> AppTest:
    """Select rows as ticking them does, because AppTest cannot."""
    app.query_params["anchor"] = ",".join(uids)
    return app.run()


def give_name(app: AppTest) -> AppTest:
    """Enter a name in the form that asks for one."""
    (field,) = (field for field in app.text_input if "name" in field.label)
    field.set_value("Ada")
    return press(app, "Continue")


def variants_in(app: AppTest) -> list[str]:
    """The rows of the table of variants, as HTML."""
    (table,) = [found.value for found in app.get("html") if "<table>" in found.value]
    return table.split("<tr>")[2:]


def status_in(row: str) -> str:
    return re.findall("<td>([^<]*)</td>", row)[1]


def is_retired(engine: Engine, uid: str = UID) -> bool:
    with reading(engine) as session:
        return get_anchor(session, uid).retired_at is not None


def test_the_list_is_searched_and_filtered(
    two_anchors: Engine, open_page: OpenPage, wording: Wording
) -> None:
    app = open_page("anchors")
    assert listed(app) == [ANCHOR, HOSTILE]
    wording(app, "anchors", "the list")
    for typed, expected in (
        ("100%", [HOSTILE]),
        ("BRIDGE", [ANCHOR]),
        ("%", [HOSTILE]),  # literally
        ("_", []),
        (UID, [ANCHOR]),
        ("", [ANCHOR, HOSTILE]),
    ):
        assert listed(put(app, "text_input", "search", typed)) == expected
    for show, expected in (("Without variants", [HOSTILE]), ("Retired", [])):
        assert listed(put(app, "button_group", "show", show)) == expected
    assert HOSTILE not in unsafe_texts(app)


def test_a_project_without_anchors_links_to_adding_some(
    app_engine: Engine, open_page: OpenPage, wording: Wording
) -> None:
    app = open_page("anchors")
    wording(app, "anchors", "no anchors")
    assert len(links(app)) == 2 and not app.selectbox  # there is nothing to filter


def test_a_selected_anchor_shows_its_variants_and_is_retired_and_restored(
    two_anchors: Engine, open_page: OpenPage, wording: Wording
) -> None:
    with writing(two_anchors) as session:
        add_variant(session, get_anchor(session, UID), text=HOSTILE).cue = "<i>cue</i>"
    app = picked(open_page)
    wording(app, "anchors", "a selected anchor")
    rows = variants_in(app)
    assert sorted(map(status_in, rows)) == ["accepted", *["pending"] * 7]
    assert all('<td><a href="review?variant=' in row for row in rows)
    (row,) = [row for row in rows if "javascript:1" in row]
    assert "&lt;b&gt;is&lt;/b&gt;" in row and "&lt;i&gt;cue&lt;/i&gt;" in row
    assert "<b>" not in row and "<i>" not in row
    assert ANCHOR not in listed(press(app, "anchor-retire")) and is_retired(two_anchors)
    assert ANCHOR in listed(press(app, "anchor-restore")) and not is_retired(two_anchors)
    tick(app, "nope")
    assert "'nope'" in page_text(app)


def test_the_selection_stays_with_its_anchor_when_another_leaves_the_list(
    two_anchors: Engine, open_page: OpenPage
) -> None:
    """When a written variant removed an anchor from the list, the tick used to move to the next
    one."""
    road = "The road is safe."
    with writing(two_anchors) as session:
        add_anchor(session, road)
    app = open_page("anchors", show="Without variants", anchor=EMPTY)
    assert listed(app) == [HOSTILE, road]
    before = app.dataframe[0].proto.id
    with writing(two_anchors) as session:
        ids = {"anchor_id": get_anchor(session, EMPTY).id, "reviewer_id": person(session)}
        write_variant(session, type_id="verbal", text="It is not 100%.", **ids)
    assert listed(app.run()) == [road]
    # Another element: Streamlit does not carry over its selection by row.
    assert app.dataframe[0].proto.id != before
    press(app, "anchor-retire")
    assert is_retired(two_anchors, EMPTY) and not is_retired(two_anchors, anchor_uid(road))


def test_selected_anchors_are_changed_together(two_anchors: Engine, open_page: OpenPage) -> None:
    app = open_page("anchors", anchor=f"{UID},{EMPTY}")
    assert listed(press(app, "anchors-bulk-retire")) == []
    assert is_retired(two_anchors) and is_retired(two_anchors, EMPTY)
    assert listed(press(app, "anchors-bulk-undo")) == [ANCHOR, HOSTILE]
    app = open_page("anchors", anchor=f"{UID},{EMPTY}")
    put(app, "button_group", "anchors-bulk-do-", DESCRIBE)
    describe(app, Genre="news", Language="en-GB")
    assert set(app.dataframe[0].value["Genre"]) == {"news"}
    app = picked(open_page, doing=DESCRIBE)
    assert named(app, "text_input", "Language").value == "en-GB"
    describe(app, Language="Kauderwelsch!")
    assert "'en-GB'" in page_text(app)
    describe(app, Language="de")
    with reading(two_anchors) as session:
        assert get_anchor(session, UID).language == "de"
        assert get_anchor(session, EMPTY).language == "en-GB"


def describe(app: AppTest, **values: str) -> AppTest:
    for label, value in values.items():
        named(app, "text_input", label).set_value(value)
    return press(app, "Save genre and language")


def test_a_selection_is_dropped_when_the_list_no_longer_shows_its_anchor(
    two_anchors: Engine, open_page: OpenPage
) -> None:
    app = open_page("anchors", anchor=f"{UID},{EMPTY}")
    put(app, "text_input", "search", "bridge")
    assert app.query_params["anchor"] == UID
    put(app, "text_input", "search", "100%")
    assert "anchor" not in app.query_params
    app = put(picked(open_page), "button_group", "show", "Retired")
    assert listed(app) == []
    assert "anchor" not in app.query_params
    assert "anchor-retire" not in keys(app)
    tick(app, UID)  # the browser sends the old URL again
    assert "anchor-retire" not in keys(app)


def test_a_press_takes_effect_once_the_name_is_given(unnamed: Engine, open_page: OpenPage) -> None:
    app = press(open_page("anchors", show="Without variants", anchor=EMPTY), "anchor-retire")
    assert not is_retired(unnamed, EMPTY)
    assert give_name(app).session_state["reviewer_name"] == "Ada"
    assert is_retired(unnamed, EMPTY) and not is_retired(unnamed)
    with writing(unnamed) as session:
        add_anchor(session, "The road is safe.")
    app = open_page("anchors", anchor=f"{UID},{anchor_uid('The road is safe.')}")
    give_name(press(app, "anchors-bulk-retire"))
    assert is_retired(unnamed)


def test_edits_are_carried_over_once_the_name_is_given(
    unnamed: Engine, open_page: OpenPage
) -> None:
    correct(unnamed, "The footbridge is safe.")
    give_name(press(picked(open_page), "anchor-carry-save"))
    with reading(unnamed) as session:
        edited = session.execute(select(Variant).where(col(Variant.parent_id).is_not(None)))
        assert [variant.status for variant in edited.scalars()] == [Status.ACCEPTED]


def test_a_press_is_forgotten_when_something_else_is_done_first(
    unnamed: Engine, open_page: OpenPage
) -> None:
    """Otherwise the anchor would be retired later, when nobody presses anything."""
    app = press(picked(open_page), "anchor-retire")
    give_name(put(app, "button_group", "anchor-do-", CORRECT))
    assert app.session_state["reviewer_name"] == "Ada"
    put(app, "button_group", "anchor-do-", None)
    assert not is_retired(unnamed)
    app = press(picked(open_page), "anchor-retire").switch_page("pages/review.py").run()
    named(app, "text_input", "Your name").set_value("Ada")  # the name is given elsewhere
    app = press(app, "Start reviewing").switch_page("pages/anchors.py")
    assert ANCHOR in listed(tick(app, UID)) and not is_retired(unnamed)


# -- correcting texts ------------------------------------------------------------------


def reword(app: AppTest, text: str, button: str = "Save correction") -> AppTest:
    named(app, "text_area", "Corrected text").set_value(text)
    return press(app, button)


def text_of(engine: Engine) -> str:
    with reading(engine) as session:
        found = one_anchor(session, UID)
        return found.text if found else ""


def correct(engine: Engine, text: str) -> None:
    with writing(engine) as session:
        number, ada = get_anchor(session, UID).id, person(session)
        correct_anchor(session, number, text, reviewer_id=ada, expected_revision=1)


def test_a_correction_reopens_variants_and_offers_the_same_words_for_them(
    two_anchors: Engine, open_page: OpenPage, started: list[int], wording: Wording
) -> None:
    app = picked(open_page, doing=CORRECT)
    wording(app, "anchors", "correcting")
    reword(app, "The footbridge is safe.")
    assert text_of(two_anchors) == "The footbridge is safe." and len(started) == 1
    assert status_in(variants_in(app)[0]) == "second look"
    assert any(expander.label.endswith("(2)") for expander in app.expander)  # revisions
    wording(app, "anchors", "corrected")
    boxes = {box.label: box for box in app.checkbox if box.key and box.key.startswith("carry-")}
    assert boxes["Verbal negation, was accepted"].value
    affixal = boxes["Affixal negation, not reviewed yet"]
    assert not affixal.value
    assert "foot" in html(app)
    affixal.check().run()
    press(app, "anchor-carry-save")
    with reading(two_anchors) as session:
        accepted = select(col(Variant.text)).where(col(Variant.status) == Status.ACCEPTED)
        assert set(session.execute(accepted).scalars()) == {
            "The footbridge is not safe.",
            "The footbridge is unsafe.",
        }


def test_the_second_of_two_corrections_is_reported_and_keeps_its_text(
    two_anchors: Engine, open_page: OpenPage
) -> None:
    app = picked(open_page, doing=CORRECT)
    correct(two_anchors, "The new bridge is safe.")
    reword(app, "The bridge is fine.")
    assert "by Ada" in page_text(app)
    assert named(app, "text_area", "Corrected text").value == "The bridge is fine."
    assert text_of(two_anchors) == "The new bridge is safe."
    press(app, "Save correction")
    assert text_of(two_anchors) == "The bridge is fine."


def test_a_suspicious_wording_is_asked_about_once_and_control_characters_refused(
    two_anchors: Engine, open_page: OpenPage
) -> None:
    app = reword(picked(open_page, doing=CORRECT), "The bridge isn't safe.")
    wording = "The \u202ebridge is fine."
    reword(app, wording)
    assert "U+202E" in page_text(app)
    assert "Save anyway" not in [button.label for button in app.button]  # another text is refused
    assert named(app, "text_area", "Corrected text").value == wording
    reword(app, "The bridge isn't safe.")
    reword(app, "Bridge.", "Save anyway")  # another doubt
    assert text_of(two_anchors) == ANCHOR
    press(app, "Save anyway")
    assert text_of(two_anchors) == "Bridge."


# -- writing variants ------------------------------------------------------------------


def test_a_variant_is_written_next_to_its_guideline_and_measured(
    two_anchors: Engine, open_page: OpenPage, started: list[int], wording: Wording
) -> None:
    app = picked(open_page, doing=WRITE)
    wording(app, "anchors", "writing")
    assert not any(field.label == "Hedge cue" for field in app.text_input)
    put(app, "selectbox", "Type", "word")
    assert "Hedge: single word" in html(app)
    named(app, "text_area", "Your variant").set_value(TEXTS["word"])  # the anchor has this text
    assert not press(app, "Add and accept").success and not started
    named(app, "text_area", "Your variant").set_value("The bridge is safe, one hears.")
    named(app, "text_input", "Hedge cue").set_value("one hears")
    assert press(app, "Add and accept").success and len(started) == 1
    assert "Levenshtein" in html(app)
    with reading(two_anchors) as session:
        own = session.execute(select(Variant).where(col(Variant.cue) == "one hears")).scalar_one()
        assert (own.status, own.provider) == (Status.ACCEPTED, "person")
    app = picked(open_page, doing=WRITE)
    put(app, "text_area", "Your variant", "The bridge is unsafe, they say.")
    assert 'class="hg-checks"' in html(app)
    press(app, "Add and accept")
    assert "hg-asked" in html(app) and not app.success  # a flag needs one confirmation
    assert press(app, "Add and accept").success
