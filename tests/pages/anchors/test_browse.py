"""The Anchors page's list: finding, selecting and retiring anchors, and asking for a name."""

from sqlalchemy import Engine

from curation.anchors.changes import get_anchor
from curation.content_uids import anchor_uid
from curation.variants.own import write_variant
from db.engine import reading, writing
from db.models import Anchor
from tests.pages.anchors.support.anchor_page import (
    HOSTILE,
    UID,
    give_name,
    listed,
    picked,
    press,
    rows_of_variants,
    status_of,
    texts,
    tick,
)
from tests.pages.conftest import OpenPage, unsafe_texts
from tests.support.factories import ANCHOR, add_anchor, add_variant, person


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
    rows = rows_of_variants(app)
    assert [status_of(row) for row in rows] == ["accepted", *["pending"] * 6]
    assert all('<td><a href="review?variant=' in row for row in rows)
    app.query_params["anchor"] = "nope"
    assert "There is no anchor 'nope'." in texts(app.run())


def test_the_variants_of_an_anchor_are_escaped(two_anchors: Engine, open_page: OpenPage) -> None:
    with writing(two_anchors) as session:
        anchor = session.get_one(Anchor, get_anchor(session, UID).id)
        add_variant(session, anchor, text=HOSTILE).cue = "<i>cue</i>"
    row = next(row for row in rows_of_variants(picked(open_page)) if "javascript:1" in row)
    assert "&lt;b&gt;is&lt;/b&gt;" in row and "&lt;i&gt;cue&lt;/i&gt;" in row
    assert "<b>" not in row and "<i>" not in row


def test_an_anchor_is_retired_and_restored(two_anchors: Engine, open_page: OpenPage) -> None:
    app = picked(open_page).button(key="anchor-retire").click().run()
    assert ANCHOR not in listed(app)
    assert "no longer in use" in texts(app)
    app = app.button(key="anchor-restore").click().run()
    assert ANCHOR in listed(app)
    assert [s.value for s in app.success] == ["The anchor and its variants are restored."]


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


def test_nobody_changes_an_anchor_without_a_name(unnamed: Engine, open_page: OpenPage) -> None:
    app = picked(open_page).button(key="anchor-retire").click().run()
    assert ANCHOR in listed(app)
    assert any(
        i.label.startswith("Your changes are stored under your name") for i in app.text_input
    )


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
