"""The Adjudicate page: settling conflicts, removing marks, and listing histories."""

import json
from typing import Any

import pytest
from sqlalchemy import Engine, select
from sqlalchemy.orm import Session
from sqlmodel import col
from streamlit.proto.WidgetStates_pb2 import WidgetState
from streamlit.testing.v1 import AppTest

from curation.review import actions
from curation.review.browser_window import key_actions
from curation.review.discussing import is_marked, mark, open_marks
from curation.review.shown_card import shown
from db.engine import reading, writing
from db.models import Decision, Status, Variant
from tests.pages.conftest import OpenPage, unsafe_texts
from tests.support.factories import add_family, person

HOSTILE = "<img src=x onerror=alert(1)> **Narrow**"
EDITED = "The bridge is not at all safe."


@pytest.fixture
def signed_in(home: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """Ada is signed in by the settings. A key counts immediately."""
    monkeypatch.setattr(key_actions, "MIN_SHOWN_SECONDS", 0.0)
    monkeypatch.setenv("HEDGEROW_REVIEWER", "Ada")


def decide(session: Session, variant: Variant, name: str, verdict: str, more: str = "") -> None:
    session.refresh(variant)
    card, who = shown(variant), person(session, name)
    if verdict == "accept":
        actions.accept(session, card, reviewer_id=who)
    elif verdict == "reject":
        actions.reject(session, card, reviewer_id=who, reason="wrong_scope", note=more)
    else:
        actions.edit(session, card, reviewer_id=who, text=more)


@pytest.fixture
def conflicts(signed_in: None, with_source: Engine) -> list[int]:
    """Two variants in conflict. The second is more disputed, and has an edited text."""
    with writing(with_source) as session:
        person(session)
        first = add_family(session, "The bridge is safe.")["verbal"]
        second = add_family(session, "The road is safe.")["verbal"]
        for variant in (first, second):
            decide(session, variant, "Bert", "accept")
            decide(session, variant, "Cleo", "reject", HOSTILE)
        decide(session, second, "Dora", "edit", EDITED)
        return [first.id, second.id]


def status(engine: Engine, variant_id: int) -> Status:
    with reading(engine) as session:
        return session.get_one(Variant, variant_id).status


def mounted(app: AppTest) -> Any:
    (found,) = [one for one in app.get("bidi_component") if one.key == "keyboard"]
    return found.proto


def page_text(app: AppTest) -> Any:
    return json.loads(mounted(app).json)


def press(app: AppTest, key: str) -> None:
    """Send a key for the shown card, as the browser does."""
    data = page_text(app)
    on = {"variant": data["variant"], "version": data["version"]}
    value = [{"number": data["answered"] + 1, "key": key, **on}]
    events = f"$$STREAMLIT_INTERNAL_KEY_{mounted(app).id}__events"
    states = app._tree.get_widget_states()
    sent = json.dumps([{"event": "pressed", "value": value}])
    states.widgets.append(WidgetState(id=events, json_trigger_value=sent))
    app._run(states)
    assert not app.exception


def markup(app: AppTest) -> str:
    return "\n".join(str(element.value) for element in app.get("html"))


def texts(app: AppTest) -> str:
    return "\n".join(str(e.value) for kind in ("markdown", "text") for e in app.get(kind))


def test_the_verdicts_are_side_by_side_and_escaped(
    conflicts: list[int], open_page: OpenPage
) -> None:
    app = open_page("adjudicate")
    assert not app.exception
    seen = markup(app)
    assert 'aria-label="Bert&#39;s verdict"' in seen
    assert 'aria-label="Cleo&#39;s verdict"' in seen
    assert "&lt;img src=x" in seen and "<img src=x" not in unsafe_texts(app)
    assert "wrong scope" in seen


def test_a_settles_and_z_brings_the_conflict_back(
    conflicts: list[int], open_page: OpenPage, with_source: Engine
) -> None:
    app = open_page("adjudicate")
    press(app, "a")
    assert status(with_source, conflicts[0]) == Status.ACCEPTED
    with reading(with_source) as session:
        query = select(Decision).order_by(col(Decision.id).desc()).limit(1)
        assert session.execute(query).scalar_one().adjudicates
    press(app, "z")
    assert status(with_source, conflicts[0]) == Status.CONFLICT
    press(app, "4")
    assert status(with_source, conflicts[0]) == Status.REJECTED


def test_most_disputed_cards_can_come_first_and_e_takes_an_edit(
    conflicts: list[int], open_page: OpenPage, with_source: Engine
) -> None:
    app = open_page("adjudicate")
    press(app, "o")
    assert EDITED.split()[-3] in markup(app) and "Dora&#39;s verdict" in markup(app)
    press(app, "e")
    assert status(with_source, conflicts[1]) == Status.SUPERSEDED
    with reading(with_source) as session:
        edited = session.execute(select(Variant).where(col(Variant.text) == EDITED)).scalar_one()
        assert edited.status == Status.ACCEPTED
    assert "Dora&#39;s verdict" not in markup(app)


def test_with_two_edits_e_and_a_digit_take_one(
    conflicts: list[int], open_page: OpenPage, with_source: Engine
) -> None:
    other = "The bridge is far from safe."
    with writing(with_source) as session:
        decide(session, session.get_one(Variant, conflicts[1]), "Emil", "edit", other)
    app = open_page("adjudicate")
    press(app, "s")
    press(app, "e")
    assert set("123") & set(page_text(app)["keys"]) == {"1", "2"}
    press(app, "2")
    with reading(with_source) as session:
        taken = session.execute(select(Variant).where(col(Variant.text) == other)).scalar_one()
        assert taken.status == Status.ACCEPTED
    assert status(with_source, conflicts[1]) == Status.SUPERSEDED


def test_without_an_edit_the_e_key_says_so(conflicts: list[int], open_page: OpenPage) -> None:
    app = open_page("adjudicate")
    press(app, "e")
    assert "Nobody has edited this variant" in markup(app)


def test_settled_variants_are_listed_with_their_history(
    conflicts: list[int], open_page: OpenPage
) -> None:
    app = open_page("adjudicate")
    press(app, "a")
    app.segmented_control(key="part").set_value("Settled").run()
    assert not app.exception
    seen = markup(app)
    assert "settled it as accepted" in seen and "rejected it (wrong scope)" in seen
    assert "Cleo" in seen and "Ada" in seen


def test_a_mark_is_listed_until_it_is_removed(
    conflicts: list[int], open_page: OpenPage, with_source: Engine
) -> None:
    with writing(with_source) as session:
        mark(session, conflicts[0], reviewer_id=person(session, "Bert"), remark=HOSTILE)
    app = open_page("adjudicate")
    assert "Bert wants to discuss this" in markup(app)
    app.segmented_control(key="part").set_value("To discuss").run()
    assert "&lt;img src=x" in markup(app) and "<img src=x" not in unsafe_texts(app)
    (lifting,) = [button for button in app.button if button.label == "Remove mark"]
    lifting.click().run()
    assert not app.exception
    with reading(with_source) as session:
        assert not is_marked(session, conflicts[0])
    assert "No card is marked" in texts(app)


def test_d_marks_a_card_with_a_remark_and_removes_the_mark(
    conflicts: list[int], open_page: OpenPage, with_source: Engine
) -> None:
    app = open_page("review")
    press(app, "d")
    app.text_area[0].set_value("Which scope?")
    (saving,) = [button for button in app.button if button.label.startswith("Mark for discussion")]
    saving.click().run()
    app.run()  # in a browser, the fragment reruns by itself
    with reading(with_source) as session:
        (found,) = open_marks(session)
        assert (found.reviewer, found.remark, found.status) == ("Ada", "Which scope?", "pending")
    assert "Ada wants to discuss this: Which scope?" in markup(app)
    press(app, "d")
    with reading(with_source) as session:
        assert open_marks(session) == []
    press(app, "z")
    with reading(with_source) as session:
        assert len(open_marks(session)) == 1


def test_without_conflicts_the_page_says_what_to_do(
    signed_in: None, with_source: Engine, open_page: OpenPage
) -> None:
    with writing(with_source) as session:
        add_family(session)
        person(session)
    app = open_page("adjudicate")
    assert "No variant is in conflict" in texts(app)
    for part in ("To discuss", "Settled"):
        app.segmented_control(key="part").set_value(part).run()
        assert not app.exception
