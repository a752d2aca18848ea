"""The keys of the review page without a browser: the data it receives, and the effect of a
press."""

import json
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import Engine, select
from sqlmodel import col
from streamlit.proto.WidgetStates_pb2 import WidgetState
from streamlit.testing.v1 import AppTest

from curation.review.browser_window import key_actions
from curation.review.browser_window.key_actions import ReviewState
from curation.review.browser_window.keyboard import NOTHING, Keyboard, Shows
from db.engine import reading, writing
from db.errors import HedgerowError
from db.models import Status, Variant, Verdict
from tests.pages.conftest import ROOT, TIMEOUT
from tests.support.factories import add_family, add_opinion, judge, person

CARD, NEXT = Shows("1f", 3), Shows("2f", 1)


def presses(*keys: str, on: Shows = CARD, first: int = 1) -> list[dict[str, Any]]:
    """The data that the browser sends for keys pressed one after the other on a card."""
    return [
        {"number": number, "key": key, **on._asdict()}
        for number, key in enumerate(keys, start=first)
    ]


class TestKeyboard:
    """The presses that count."""

    @pytest.fixture
    def done(self) -> list[str]:
        return []

    @pytest.fixture
    def keyboard(self, done: list[str]) -> Keyboard:
        keyboard = Keyboard()
        keyboard.show(CARD)
        keyboard.bind("a", done.append, "accept", of_card=True)
        keyboard.bind("z", done.append, "undo")
        return keyboard

    def press(self, keyboard: Keyboard, sent: list[dict[str, Any]]) -> int:
        """Act on the sent data. Returns the number of ignored presses."""
        keys = list(keyboard.press(sent))
        for key in keys:
            if key is not None:
                key.act()
        return keys.count(None)

    def test_each_press_counts_once_however_often_it_is_sent(
        self, keyboard: Keyboard, done: list[str]
    ) -> None:
        self.press(keyboard, presses("a", "z"))
        self.press(keyboard, presses("a", "z", "z"))
        assert done == ["accept", "undo", "undo"]
        assert keyboard.answered == 3

    def test_a_press_on_a_card_that_is_gone_is_ignored(
        self, keyboard: Keyboard, done: list[str]
    ) -> None:
        assert self.press(keyboard, presses("a", on=NEXT)) == 1
        assert self.press(keyboard, presses("a", on=Shows("1f", 2), first=2)) == 1
        assert self.press(keyboard, presses("z", on=NEXT, first=3)) == 0
        assert done == ["undo"]

    def test_a_key_acts_once_on_a_card_until_it_is_redrawn(
        self, keyboard: Keyboard, done: list[str]
    ) -> None:
        keyboard.bind("s", done.append, "skip", of_card=True)
        assert self.press(keyboard, presses("a", "s", "z", "a")) == 2
        assert done == ["accept", "undo"]

    def test_a_key_without_a_current_meaning_does_nothing(
        self, keyboard: Keyboard, done: list[str]
    ) -> None:
        keyboard.show(NOTHING)
        assert self.press(keyboard, presses("a", "z", "constructor")) == 0
        assert done == []


@pytest.fixture
def signed_in(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Ada is signed in by the settings. A key counts immediately."""
    monkeypatch.setattr(key_actions, "MIN_SHOWN_SECONDS", 0.0)
    monkeypatch.setenv("HEDGEROW_REVIEWER", "Ada")


@pytest.fixture
def app(signed_in: None, with_source: Engine) -> AppTest:
    """The review page for three families."""
    with writing(with_source) as session:
        for number in range(3):
            add_family(session, f"The bridge number {number} is safe.")
        person(session)
    app = AppTest.from_file(str(ROOT / "app.py"), default_timeout=TIMEOUT).run()
    return app.switch_page("pages/review.py").run()


def mounted(app: AppTest) -> Any:
    (found,) = [one for one in app.get("bidi_component") if one.key == "keyboard"]
    return found.proto


def page_text(app: AppTest) -> dict[str, Any]:
    """The data that the browser receives."""
    data = json.loads(mounted(app).json)
    assert isinstance(data, dict)
    return data


def press(app: AppTest, *keys: str) -> None:
    """Send keys for the shown card, as the browser does."""
    data = page_text(app)
    on = Shows(data["variant"], data["version"])
    sent = [{"event": "pressed", "value": presses(*keys, on=on, first=data["answered"] + 1)}]
    events = f"$$STREAMLIT_INTERNAL_KEY_{mounted(app).id}__events"
    states = app._tree.get_widget_states()
    states.widgets.append(WidgetState(id=events, json_trigger_value=json.dumps(sent)))
    app._run(states)
    assert not app.exception


def state_of(app: AppTest) -> ReviewState:
    state = app.session_state["review"]
    assert isinstance(state, ReviewState)
    return state


def status(engine: Engine, uid: str) -> Status:
    with reading(engine) as session:
        query = select(Variant).where(col(Variant.uid) == uid)
        return session.execute(query).scalar_one().status


def test_the_component_carries_the_shown_variant_and_its_version(
    app: AppTest, with_source: Engine
) -> None:
    first, component = page_text(app), mounted(app).id
    with reading(with_source) as session:
        query = select(Variant).where(col(Variant.uid) == first["variant"])
        assert session.execute(query).scalar_one().version == first["version"]
    assert first["keys"]["a"] == first["keys"]["1"] == first["keys"]["s"] == "card"
    assert first["keys"]["e"] == first["keys"]["0"] == "writes"
    assert first["keys"]["z"] == first["keys"]["shift+u"] == "plain"
    press(app, "a")
    assert page_text(app)["variant"] != first["variant"]
    assert page_text(app)["answered"] == 1
    assert mounted(app).id == component  # the same component, not mounted again
    assert status(with_source, first["variant"]) == Status.ACCEPTED


def test_the_keys_list_the_second_opinion_only_if_there_are_any(
    app: AppTest, with_source: Engine
) -> None:
    press(app, "h")
    assert "J" not in list(app.table[0].value["Key"]) and "j" not in page_text(app)["keys"]
    with writing(with_source) as session:
        variant = session.execute(select(Variant).limit(1)).scalar_one()
        add_opinion(session, variant, Verdict.ACCEPT, reviewer_id=judge(session))
    app.run()
    assert "J" in list(app.table[0].value["Key"]) and "j" in page_text(app)["keys"]


def test_five_rapid_presses_decide_one_card(app: AppTest, with_source: Engine) -> None:
    first = page_text(app)["variant"]
    press(app, *"aaaaa")
    second = page_text(app)["variant"]
    assert status(with_source, first) == Status.ACCEPTED
    assert status(with_source, second) == Status.PENDING
    assert len(state_of(app).recent) == 1


def test_no_key_acts_while_an_editor_is_open(app: AppTest) -> None:
    before = page_text(app)
    press(app, "e", "a", "1", "z")  # as fast as they are typed
    data = page_text(app)
    assert data["variant"] == before["variant"]
    assert {*data["keys"]} <= {*"uqov", *(f"shift+{letter}" for letter in "uqov")}
    press(app, "a", "u")
    assert page_text(app)["variant"] == before["variant"]
    assert page_text(app)["keys"] == data["keys"]


def test_letters_step_through_the_queues_types_orders_and_views(app: AppTest) -> None:
    press(app, "q")
    assert app.query_params["type"] == "Absolute negator"
    press(app, "shift+q")
    assert app.query_params["type"] == "Verbal negation"
    press(app, "v")
    assert app.query_params["view"] == "Family"
    press(app, "shift+u")
    assert app.query_params["queue"] == "Second look"


def test_an_error_on_a_key_press_is_one_sentence(
    app: AppTest, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(_: ReviewState) -> None:
        raise HedgerowError("No **room**.")

    monkeypatch.setattr(ReviewState, "undo", fail)
    app.run()
    press(app, "z")
    assert "No **room**." in [text.value for text in app.text]
