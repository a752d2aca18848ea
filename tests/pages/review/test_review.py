"""The review page without a browser: its queue, and its messages."""

import re
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import Engine, func, select
from sqlmodel import col
from streamlit.testing.v1 import AppTest

from curation.anchors.changes import correct_anchor
from curation.corpora.corpus import CORPORA
from curation.review import actions
from curation.review.browser_window import key_actions
from curation.review.browser_window.selection import VariantSelection
from curation.review.notes import add_note
from curation.taxonomy.own_types import add_type
from db.engine import reading, writing
from db.models import Status, Variant
from pages.components.shared.formatting.label import plain
from pages.components.shared.variants import picked_variants
from tests.curation.support.own_types import NEGATION
from tests.pages.conftest import ROOT, TIMEOUT, OpenPage, unsafe_texts
from tests.support.factories import add_anchor, add_family, add_variant, model, person

HOSTILE = "**a brush** <img src=x onerror=alert(1)> $x$"


@pytest.fixture
def signed_in(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Ada is signed in by the settings. A key counts immediately."""
    monkeypatch.setattr(key_actions, "MIN_SHOWN_SECONDS", 0.0)
    monkeypatch.setenv("HEDGEROW_REVIEWER", "Ada")


@pytest.fixture
def ids(signed_in: None, with_source: Engine) -> list[int]:
    """The verbal variants of three families."""
    with writing(with_source) as session:
        for number in range(3):
            add_family(session, f"The bridge number {number} is safe.")
        person(session)
        query = select(col(Variant.id)).where(col(Variant.type_id) == "verbal")
        return list(session.execute(query).scalars())


def opened(**address: str) -> AppTest:
    """The review page, opened by its address."""
    app = AppTest.from_file(str(ROOT / "app.py"), default_timeout=TIMEOUT).run()
    app.switch_page("pages/review.py")
    for key, value in address.items():
        app.query_params[key] = value
    app.run()
    assert not app.exception
    return app


def html(app: AppTest) -> str:
    return "\n".join(str(element.value) for element in app.get("html"))


def labels(app: AppTest, key: str) -> list[str]:
    return next(list(element.options) for element in app.get("button_group") if element.key == key)


def first_card(app: AppTest) -> str:
    return re.findall(r'<article class="hg-card" data-variant="(\w+)"', html(app))[0]


def test_a_selection_replaces_the_queue_until_it_is_left(ids: list[int]) -> None:
    name = "picked"
    picked_variants._kept()[name] = VariantSelection((ids[2], ids[0]), HOSTILE)
    app = opened(selection=name)
    captions = [text.value for text in app.text if "left in this selection" in text.value]
    assert captions == [f"2 of 2 left in this selection. {HOSTILE}"]
    assert "The bridge number 2 is safe" in html(app).replace("<del>", "").replace("</del>", "")
    assert HOSTILE not in unsafe_texts(app)
    next(button for button in app.button if button.label == "Leave the selection").click().run()
    assert "Verbal negation" in labels(app, "type")
    assert picked_variants.SELECTION not in app.query_params


def test_a_selection_says_why_it_shows_fewer_cards_than_were_found(
    ids: list[int], app_engine: Engine
) -> None:
    with writing(app_engine) as session:
        card = actions.shown(session.get_one(Variant, ids[1]))
        actions.accept(session, card, reviewer_id=person(session, "Bert"))
    picked_variants._kept()["found"] = VariantSelection(tuple(ids[:3]), "Search: bridge")
    app = opened(selection="found")
    why = "The other one is decided, replaced by an edit or out of use."
    left = f"2 of 3 left in this selection. {why} Search: bridge"
    assert left in [text.value for text in app.text]


def test_a_forgotten_selection_is_reported_and_the_queue_is_shown(ids: list[int]) -> None:
    for more in ({}, {"view": "Family"}):
        app = opened(selection="gone", **more)
        assert "This selection no longer exists" in html(app)
        assert "hg-card" in html(app)


@pytest.mark.parametrize(
    "queue",
    [{"view": "Family"}, {"type": "Hedge: single word"}, {"order": "Random", "view": "Family"}],
)
def test_a_permalink_opens_its_variant_in_the_queue_named_in_the_url(
    ids: list[int], app_engine: Engine, queue: dict[str, str]
) -> None:
    with writing(app_engine) as session:
        last = session.get_one(Variant, ids[2])
        siblings = select(func.count()).where(col(Variant.anchor_id) == last.anchor_id)
        shown = session.execute(siblings).scalar_one() if "view" in queue else 0
        uid = last.uid
    app = opened(variant=uid, **queue)
    assert first_card(app) == uid
    assert html(app).count('<article class="hg-card hg-line') == shown
    address = {"variant": uid, **queue}
    assert {key: app.query_params[key] for key in address} == address


@pytest.mark.parametrize("asked", ["Second look", "Second look (7)"])
def test_an_old_url_opens_the_second_look_queue(
    ids: list[int], app_engine: Engine, asked: str
) -> None:
    with writing(app_engine) as session:
        variant = session.get_one(Variant, ids[0])
        ada = person(session)
        actions.accept(session, actions.shown(variant), reviewer_id=ada)
        text = "The bridges number 0 are safe."
        correct_anchor(session, variant.anchor_id, text, reviewer_id=ada, expected_revision=1)
        uid = variant.uid
    app = opened(type=asked)
    assert first_card(app) == uid
    assert app.query_params["queue"] == "Second look"


def test_cards_on_other_screens_are_reported_and_appear_once_released(ids: list[int]) -> None:
    others = [opened(type="Verbal negation") for _ in ids]
    app = opened(type="Verbal negation")
    assert any(text.value == "3 remaining cards are on other screens." for text in app.markdown)
    left = first_card(others[1])
    others[1].switch_page("pages/overview.py").run()
    next(button for button in app.button if button.label == "Check again").click().run()
    assert first_card(app) == left


def test_a_card_in_conflict_names_the_verdicts_and_its_buttons_settle(
    ids: list[int], app_engine: Engine, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(key_actions, "MIN_SHOWN_SECONDS", 0.0)
    with writing(app_engine) as session:
        variant = session.get_one(Variant, ids[0])
        card = actions.shown(variant)
        actions.accept(session, card, reviewer_id=person(session, "Bert"))
        card = actions.shown(variant)
        actions.reject(session, card, reviewer_id=person(session, "Cleo"), reason="wrong_type")
    app = opened(queue="In conflict")
    assert "In conflict. Bert accepted it. Cleo rejected it (wrong type)." in html(app)
    assert any("Settle as rejected:" in caption.value for caption in app.caption)
    next(button for button in app.button if button.label == "Settle as accepted").click().run()
    assert "No variant is in conflict" in " ".join(text.value for text in app.markdown)
    with reading(app_engine) as session:
        assert session.get_one(Variant, ids[0]).status == Status.ACCEPTED


def test_a_queue_in_the_url_opens_with_all_types(ids: list[int], app_engine: Engine) -> None:
    with writing(app_engine) as session:
        variant = session.get_one(Variant, ids[1])
        lexical = session.execute(
            select(Variant).where(
                col(Variant.anchor_id) == variant.anchor_id, col(Variant.type_id) == "lexical"
            )
        ).scalar_one()
        actions.accept(session, actions.shown(lexical), reviewer_id=model(session))
        uid = lexical.uid
    app = opened(queue="Accepted by a model only")
    assert first_card(app) == uid
    assert "Lexical negation</div><div>1 left</div>" in html(app)
    for place, number in enumerate((20, 0, 1, 0), start=1):
        entry = f'.st-key-queue [role="radio"]:nth-of-type({place})'
        assert f'{entry}::after{{content:"{number}"}}' in html(app)
    assert '.st-key-menu-queue .hg-open i::after{content:"1"}' in html(app)


@pytest.mark.parametrize(
    ("queue", "message"),
    [
        ("In conflict", "No variant is in conflict"),
        ("Accepted by a model only", "A person has decided on everything that models accepted"),
        ("Second look", "No variant needs a second look"),
    ],
)
def test_an_empty_queue_says_so_and_links_to_another(
    ids: list[int], queue: str, message: str
) -> None:
    app = opened(queue=queue)
    assert any(message in text.value for text in app.markdown)
    next(button for button in app.button if button.label.startswith("Go to: Pending")).click().run()
    assert not app.exception
    assert first_card(app)


def test_a_project_without_variants_offers_no_keys_to_press(
    signed_in: None, with_source: Engine
) -> None:
    app = opened()
    assert any("There are no variants yet." in text.value for text in app.markdown)
    assert not {"z-empty", "n-key", "g-key"} & {button.key for button in app.button}


def test_blind_mode_offers_only_orders_that_reveal_nothing(ids: list[int]) -> None:
    assert labels(opened(blind="1"), "order") == ["Oldest", "Random"]


def test_the_chip_of_a_blind_card_says_why_it_is_blind(ids: list[int]) -> None:
    why = "Blind mode is on; B turns it off. Hidden until you have decided: diagnostics, notes"
    assert why in html(opened(blind="1")) and "Blind mode is on" not in html(opened(blind="0"))


def test_the_guideline_of_the_cards_type_is_next_to_it(ids: list[int]) -> None:
    app = opened()
    assert "do-support" in html(app).lower()
    next(button for button in app.button if button.key.startswith("i-")).click().run()
    assert "do-support" not in html(app).lower()


def test_an_empty_queue_shows_the_progress_once(
    open_page: OpenPage, ids: list[int], app_engine: Engine
) -> None:
    with writing(app_engine) as session:
        for variant in session.execute(select(Variant)).scalars().all():
            actions.accept(session, actions.shown(variant), reviewer_id=person(session))
    app = open_page("review")
    assert html(app).count('class="hg-progress"') == 1
    assert any("Every variant has been decided" in m.value for m in app.markdown)


def test_a_type_without_variants_has_no_bar(ids: list[int]) -> None:
    shown = html(opened())
    assert "Verbal negation</div><div>3 of 3 left" in shown
    assert "of 0 left" not in shown and "Affirmation</div>" not in shown


def test_a_project_without_variants_says_where_they_come_from(
    signed_in: None, app_engine: Engine
) -> None:
    app = opened()
    assert any("There are no variants yet" in m.value for m in app.markdown)
    assert any(link.label == "Go to Overview" for link in app.get("page_link"))


def test_variants_added_meanwhile_appear_on_the_next_run(
    signed_in: None, with_source: Engine
) -> None:
    app = opened()
    with writing(with_source) as session:
        add_family(session)
    app.run()
    assert "hg-card" in html(app)
    assert "1 of 1 left" in html(app)


def pressed(app: AppTest, key: str) -> Any:
    """The button whose key begins like this."""
    return next(button for button in app.button if (button.key or "").startswith(key))


def test_the_bar_marks_the_type_of_a_card_from_a_selection(
    ids: list[int], app_engine: Engine
) -> None:
    with writing(app_engine) as session:
        hedge = session.execute(select(Variant).where(col(Variant.type_id) == "word")).scalars()
        found = [variant.id for variant in hedge]
    picked_variants._kept()["hedges"] = VariantSelection(tuple(found), "hedges")
    app = opened(selection="hedges")
    current = re.findall(r'class="hg-current"><div>([^<]*)<', html(app))
    assert current == ["Hedge: single word"]


def offered(app: AppTest) -> list[str]:
    """The reasons with a visible button."""
    return [b.label for b in app.button if re.match(r"[0-8]-", b.key or "")]


def test_a_reason_is_offered_only_for_types_it_applies_to(ids: list[int]) -> None:
    app = opened(type="Verbal negation")
    assert "Not contradictory" in offered(app) and "Not a hedge" not in offered(app)
    app.session_state["review"].keyboard.keys["8"].act()
    app.run()
    assert "is for hedges" in html(app)
    app = opened(type="Hedge: single word")
    assert "Not a hedge" in offered(app) and "Not contradictory" not in offered(app)


def test_types_beyond_the_ninth_have_a_digit_on_the_next_page(
    ids: list[int], app_engine: Engine
) -> None:
    with writing(app_engine) as session:
        for number in range(4):
            add_type(session, NEGATION.model_copy(update={"label": f"Own type {number}"}))
    app = opened(type="Verbal negation")
    pressed(app, "t-").click().run()
    retype = [b for b in app.button if (b.key or "").startswith("retype-")]
    assert len(retype) == 10 and retype[-1].label == "More types"
    retype[-1].click().run()
    retype = [b for b in app.button if (b.key or "").startswith("retype-")]
    own = [f"Own type {number}" for number in range(4)]
    assert [b.label for b in retype][-5:] == [*own, "More types"]
    keys = app.session_state["review"].keyboard.keys
    assert set("0123456") == {key for key in keys if key.isdigit()}
    retype[-2].click().run()
    with reading(app_engine) as session:
        query = select(col(Variant.type_id)).where(col(Variant.parent_id) == ids[0])
        assert session.execute(query).scalar() == "own_type_3"


def test_a_retracted_note_is_in_the_history_without_its_text(
    ids: list[int], app_engine: Engine
) -> None:
    with writing(app_engine) as session:
        ada = person(session)
        add_note(session, ids[0], reviewer_id=ada, text="A slip of the pen.")
        actions.undo(session, reviewer_id=ada)
    app = opened(type="Verbal negation")
    pressed(app, "g-").click().run()
    texts = [text.value for text in app.text]
    assert any(text.endswith("· Ada · note · (removed)") for text in texts)
    assert not any("slip" in text for text in texts)


def test_a_source_can_be_chosen_if_there_are_several(ids: list[int], with_source: Engine) -> None:
    assert "queue-source" not in [element.key for element in opened().get("button_group")]
    with writing(with_source) as session:
        corpus = CORPORA["claims"].source
        its = add_family(session, "The door is safe.", source=corpus)["verbal"]
        add_family(session, "The door is open.", source=HOSTILE)
        uid = its.uid
    app = opened()
    assert labels(app, "queue-source") == ["All sources", plain(HOSTILE), "test", corpus]
    assert HOSTILE not in unsafe_texts(app)
    app = opened(**{"queue-source": corpus})
    assert first_card(app) == uid
    assert '.st-key-menu-queue-source .hg-open i::after{content:"1"}' in html(app)
    assert '.st-key-queue-source [role="radio"]:nth-of-type(1)::after{content:"5"}' in html(app)


def test_other_sources_are_offered_when_one_is_finished(
    ids: list[int], with_source: Engine
) -> None:
    corpus = CORPORA["claims"].source
    with writing(with_source) as session:
        for variant in add_family(session, "The door is safe.", source=corpus).values():
            actions.accept(session, actions.shown(variant), reviewer_id=person(session))
    app = opened(**{"queue-source": corpus, "queue": "Pending", "type": "All types"})
    offer = next(button for button in app.button if button.label == "Review all sources")
    offer.click().run()
    assert "hg-card" in html(app)


def test_a_source_without_a_type_says_which_types_it_has(
    ids: list[int], with_source: Engine
) -> None:
    with writing(with_source) as session:
        anchor = add_anchor(session, "The door is safe.", source=HOSTILE)
        uid = add_variant(session, anchor, "lexical", "The door is dangerous.").uid
    app = opened(**{"queue": "Pending", "type": "Verbal negation", "queue-source": plain(HOSTILE)})
    message = f"{HOSTILE} has no variants of this type. Continue with:"
    assert message in [text.value for text in app.text]
    assert [b.label for b in app.button if "go-on" in str(b.key)] == [
        "Lexical negation (1)",
        "This type in all sources (3)",
    ]
    next(button for button in app.button if button.label == "Lexical negation (1)").click().run()
    assert first_card(app) == uid


def test_a_finished_type_links_to_the_next(ids: list[int], with_source: Engine) -> None:
    with writing(with_source) as session:
        for variant in (session.get_one(Variant, number) for number in ids):
            actions.accept(session, actions.shown(variant), reviewer_id=person(session))
    app = opened(queue="Pending", type="Verbal negation")
    assert any("This type has nothing left in this queue." in text.value for text in app.text)
    next(button for button in app.button if button.label == "Absolute negator (3)").click().run()
    assert first_card(app)


PASSAGE = (
    "Seventy years of harbour life are on show in a converted rope store on the north quay. "
    "Visitors are {} to photograph the objects for their own use. Admission is reduced for "
    "students and for holders of the city card."
)


def test_a_passage_is_compared_with_the_sibling_it_differs_from(
    signed_in: None, with_source: Engine
) -> None:
    with writing(with_source) as session:
        anchor = add_anchor(session, "I want a museum where I can take pictures.")
        add_variant(session, anchor, "affirmation", "A museum that lets you take pictures.")
        add_variant(session, anchor, "affirmation", PASSAGE.format("free"))
        add_variant(session, anchor, "free_hedge", PASSAGE.format("probably not free"))
        passage = add_variant(session, anchor, "free_contradiction", PASSAGE.format("not free"))
        uid = passage.uid
        person(session)
    app = opened(variant=uid)
    assert first_card(app) == uid
    shown = html(app)
    assert '<span class="hg-label">Sibling: Affirmation</span>' in shown
    assert re.findall("<ins>(.*?)</ins>", shown.split("</article>")[0]) == [
        '<mark class="hg-negator" title="negator">not</mark>'
    ]


def test_other_variants_are_compared_with_their_anchor(ids: list[int]) -> None:
    assert "Sibling:" not in html(opened())
