"""The Adjudicate page: settling conflicts, removing marks, and listing histories."""

import pytest
from sqlalchemy import Engine, select
from sqlalchemy.orm import Session
from sqlmodel import col

from curation.decisions.shown_card import shown
from curation.review import deciding
from curation.review.discussing import is_marked, mark, open_marks
from db.engine import reading, writing
from db.models import Decision, Status, Variant
from tests.pages.conftest import OpenPage, Wording, unsafe_texts
from tests.pages.looks import html, press, put, strike
from tests.support.factories import add_family, person

HOSTILE = "<img src=x onerror=alert(1)> **Narrow**"
EDITED, OTHER = "The bridge is not at all safe.", "The bridge is far from safe."


def decide(session: Session, variant: Variant, name: str, verdict: str, more: str = "") -> None:
    session.refresh(variant)
    card, who = shown(variant), person(session, name)
    if verdict == "accept":
        deciding.accept(session, card, reviewer_id=who)
    elif verdict == "reject":
        deciding.reject(session, card, reviewer_id=who, reason="wrong_scope", note=more)
    else:
        deciding.edit(session, card, reviewer_id=who, text=more)


@pytest.fixture
def conflicts(signed_in: None, with_source: Engine) -> list[int]:
    """Two variants in conflict. The second is more disputed, and has an edited text."""
    with writing(with_source) as session:
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


def test_the_verdicts_are_side_by_side_and_a_digit_or_a_settles_until_undone(
    conflicts: list[int], open_page: OpenPage, with_source: Engine, wording: Wording
) -> None:
    app = open_page("adjudicate")
    wording(app, "adjudicate", "a conflict")
    for name in ("Bert", "Cleo"):
        assert f'aria-label="{name}&#39;s verdict"' in html(app)
    assert "wrong scope" in html(app)
    assert "&lt;img src=x" in html(app) and "<img src=x" not in unsafe_texts(app)
    strike(app, "e")  # nobody has edited this one
    assert status(with_source, conflicts[0]) == Status.CONFLICT
    strike(app, "a")
    assert status(with_source, conflicts[0]) == Status.ACCEPTED
    with reading(with_source) as session:
        query = select(Decision).order_by(col(Decision.id).desc()).limit(1)
        assert session.execute(query).scalar_one().adjudicates
    strike(app, "z")
    assert status(with_source, conflicts[0]) == Status.CONFLICT
    strike(app, "4")
    assert status(with_source, conflicts[0]) == Status.REJECTED
    put(app, "button_group", "part", "Settled")  # with its history
    assert "settled it as rejected" in html(app) and "rejected it (wrong scope)" in html(app)
    assert "Cleo" in html(app) and "Ada" in html(app)


@pytest.mark.parametrize(("first", "taken"), [("o", EDITED), ("s", OTHER)])
def test_the_edit_or_one_of_two_is_taken(
    conflicts: list[int], open_page: OpenPage, with_source: Engine, first: str, taken: str
) -> None:
    if taken == OTHER:
        with writing(with_source) as session:
            decide(session, session.get_one(Variant, conflicts[1]), "Emil", "edit", OTHER)
    app = open_page("adjudicate")
    strike(app, first)  # the most disputed one comes first, or the other one is skipped
    assert "Dora&#39;s verdict" in html(app)
    offered = strike(app, "e")["keys"]
    if taken == OTHER:
        assert set("123") & set(offered) == {"1", "2"}
        strike(app, "2")
    assert status(with_source, conflicts[1]) == Status.SUPERSEDED
    with reading(with_source) as session:
        query = select(col(Variant.status)).where(col(Variant.text) == taken)
        assert session.execute(query).scalar() == Status.ACCEPTED
    assert "Dora&#39;s verdict" not in html(app)


def test_a_mark_is_listed_until_it_is_removed(
    conflicts: list[int], open_page: OpenPage, with_source: Engine, wording: Wording
) -> None:
    with writing(with_source) as session:
        mark(session, conflicts[0], reviewer_id=person(session, "Bert"), remark=HOSTILE)
    app = open_page("adjudicate")
    assert "Bert wants" in html(app)
    put(app, "button_group", "part", "To discuss")
    wording(app, "adjudicate", "a mark")
    assert "&lt;img src=x" in html(app) and "<img src=x" not in unsafe_texts(app)
    press(app, "lift-")
    with reading(with_source) as session:
        assert not is_marked(session, conflicts[0])
    wording(app, "adjudicate", "no mark")


def test_d_marks_a_card_with_a_remark_and_removes_the_mark(
    conflicts: list[int], open_page: OpenPage, with_source: Engine
) -> None:
    app = open_page("review")
    strike(app, "d")
    app.text_area[0].set_value("Which scope?")
    press(app, "Mark for discussion")
    app.run()  # in a browser, the fragment reruns by itself
    with reading(with_source) as session:
        (found,) = open_marks(session)
        assert (found.reviewer, found.remark, found.status) == ("Ada", "Which scope?", "pending")
    assert ": Which scope?" in html(app)
    for key, number in (("d", 0), ("z", 1)):
        strike(app, key)
        with reading(with_source) as session:
            assert len(open_marks(session)) == number


def test_without_conflicts_the_page_says_what_to_do(
    signed_in: None, with_source: Engine, open_page: OpenPage, wording: Wording
) -> None:
    with writing(with_source) as session:
        add_family(session)
    app = open_page("adjudicate")
    for part in ("In conflict", "To discuss", "Settled"):
        wording(put(app, "button_group", "part", part), "adjudicate", f"nothing: {part}")
