"""The Team page's sections Agreement, Assignment and Audit: their figures, links and forms."""

from datetime import UTC, datetime
from typing import Any

import pytest
from markupsafe import escape
from sqlalchemy import Engine
from sqlalchemy.orm import Session
from streamlit.testing.v1 import AppTest

from curation.decisions.assignment import Plan, current_plan
from curation.decisions.notes import add_note
from curation.decisions.quotas import PersonQuota, all_quotas, set_quota
from curation.review import deciding
from curation.review.deciding import shown
from db.engine import reading, writing
from db.models import Variant
from pages.components.shared.shell import count_cache
from pages.components.team import audit_section
from tests.pages.conftest import OpenPage, Wording, unsafe_texts
from tests.pages.looks import links, page_text, press, put
from tests.support.factories import add_family, person

HOSTILE = "<img src=x onerror=alert(1)> **bold** $x$ =1+1"


def decide(
    session: Session, variant: Variant, who: int, *, takes: bool, blind: bool = True
) -> None:
    session.refresh(variant)
    card = shown(variant, at=datetime.now(UTC), blind=blind)
    if takes:
        deciding.accept(session, card, reviewer_id=who)
    else:
        deciding.reject(session, card, reviewer_id=who, reason="meaning_changed", note=HOSTILE)


@pytest.fixture
def decided(with_source: Engine) -> Engine:
    """Ada and a person with a hostile name decide on two types of four anchors. Cleo decides once,
    not blind."""
    with writing(with_source) as session:
        ada, other, cleo = (person(session, name) for name in ("Ada", HOSTILE, "Cleo"))
        for number in range(4):
            family = add_family(session, f"Bridge {number} is safe.", subject=f"bridge {number}")
            for type_id in ("verbal", "word"):
                decide(session, family[type_id], ada, takes=number < 2)
                takes = type_id == "word" and number % 2 == 0
                decide(session, family[type_id], other, takes=takes)
        decide(session, family["phrase"], ada, takes=True)
        decide(session, family["phrase"], cleo, takes=True, blind=False)
    return with_source


def metrics(app: AppTest) -> dict[str, tuple[str, str]]:
    return {found.label: (found.value, found.delta) for found in app.metric}


def select(app: AppTest, key: str, **selection: Any) -> AppTest:
    chosen = {"rows": [], "columns": [], "cells": []} | selection
    app.session_state[key] = {"selection": chosen}
    return app.run()


def listed(app: AppTest) -> str:
    """The table of variants at the end, as markup."""
    assert not app.exception
    found = [h.value for h in app.get("html") if h.value.startswith('<div class="hg-found')]
    return found[-1] if found else ""


def count(app: AppTest) -> int:
    """The number of rows of that table."""
    return listed(app).count("<tr>") - 1


# -- agreement -------------------------------------------------------------------------


def test_without_overlap_it_says_how_to_get_some(
    with_source: Engine, open_page: OpenPage, wording: Wording
) -> None:
    app = open_page("team")
    wording(app, "team", "no variants")
    assert links(app) == ["Go to Overview"]
    with writing(with_source) as session:
        decide(session, add_family(session)["verbal"], person(session), takes=True)
    app = open_page("team")
    wording(app, "team", "no overlap")
    assert links(app) == ["Review variants"] and not app.metric


def test_the_figures_are_those_of_the_database(
    decided: Engine, open_page: OpenPage, wording: Wording
) -> None:
    app = open_page("team")
    wording(app, "team", "agreement")
    found = metrics(app)
    # verbal: 2 of 4 agree; word: 2 of 4. Too few for an interval.
    assert (found["Variants"][0], found["Agreement"]) == ("8", ("50.0%", ""))
    assert "Kappa" in found and "37.5%" in page_text(app)
    assert app.dataframe[0].value["Variants"].tolist() == [4, 4]
    assert any("1 variant with fewer than two" in caption.value for caption in app.caption)
    people = app.selectbox(key="people")
    assert people.options == ["Everybody", f"Ada and {HOSTILE}", "Ada and Cleo"]
    put(app, "button_group", "verdicts", "All")
    found = metrics(app)
    assert found["Variants"][0] == "9" and "Kappa" not in found  # of three people
    app.selectbox(key="people").select_index(2).run()
    assert metrics(app)["Variants"][0] == "1" and "100.0%" in page_text(app)
    wording(app, "team", "agreement on one variant")
    put(app, "button_group", "verdicts", "Independent")
    assert not app.metric  # these two have none


def test_each_number_links_to_its_variants(decided: Engine, open_page: OpenPage) -> None:
    app = open_page("team")
    assert "4 of 8 variants" in page_text(app) and count(app) == 4
    with reading(decided) as session:
        uid = session.query(Variant).filter_by(text="The bridge 0 is not safe.").one().uid
    found = listed(app)
    assert "The bridge 0 is not safe." in found and "Bridge 0 is safe." in found
    assert f'href="review?variant={uid}"' in found
    assert f"<b>{escape(HOSTILE)}</b> rejects · meaning changed · {escape(HOSTILE)}" in found
    assert HOSTILE not in found and HOSTILE not in unsafe_texts(app)
    assert count(put(app, "button_group", "team-which", "All")) == 8
    names = app.dataframe[0].value["Type"].tolist()
    select(app, "team-groups-type-None", rows=[names.index("Hedge: single word")])
    assert count(app) == 4 and "is not safe" not in listed(app)
    # Selecting a pair in the table compares it like choosing it above.
    put(app, "button_group", "agreement-by", "Pair")
    select(app, "team-groups-pair-None", rows=[0])
    counts = app.dataframe[1].value.set_index("Verdict")
    assert counts.to_numpy().tolist() == [[1, 3, 0], [1, 3, 0], [0, 0, 0]]
    select(app, "team-confusion", cells=[(1, "Accepts")])
    assert f"1 variant: Ada and {HOSTILE}; Ada rejects" in page_text(app) and count(app) == 1


def test_a_large_project_is_counted_in_the_background(
    decided: Engine, open_page: OpenPage, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(count_cache, "AT_ONCE", 0)
    app = open_page("team")
    for _ in range(100):
        if app.metric:
            break
        assert not app.exception
        app.run()
    assert metrics(app)["Variants"][0] == "8"


# -- assignment ------------------------------------------------------------------------


def test_an_assignment_is_made_and_shown(
    with_source: Engine, open_page: OpenPage, wording: Wording
) -> None:
    with writing(with_source) as session:
        family = add_family(session)
        ada, bert = person(session, "Ada"), person(session, "Bert *bold*")
        decide(session, family["verbal"], ada, takes=True)
        decide(session, family["word"], ada, takes=True)
        decide(session, family["word"], bert, takes=True)
    app = open_page("team", show="Assignment")
    wording(app, "team", "no assignment")
    app.number_input(key="assign-share").set_value(150.0)
    press(app, "assign-save")
    assert "150%" in page_text(app)
    app.number_input(key="assign-share").set_value(100.0)
    press(app, "assign-save")
    with reading(with_source) as session:
        assert current_plan(session) == Plan(2, 1.0)
    wording(app, "team", "an assignment")  # 7 variants, 1 finished, 11 verdicts missing
    table = app.dataframe[0].value.set_index("Type")
    assert list(table.loc["Verbal negation"]) == [0, 1, 0]
    assert list(table.loc["Hedge: single word"]) == [0, 0, 1]
    app.number_input(key="assign-share").set_value(0.0)
    press(app, "assign-save")
    with reading(with_source) as session:
        assert not current_plan(session)


def test_quotas_are_set_and_removed(
    with_source: Engine, open_page: OpenPage, wording: Wording
) -> None:
    with writing(with_source) as session:
        family = add_family(session)
    app = open_page("team", show="Assignment")
    wording(app, "team", "nobody to assign to")
    with writing(with_source) as session:
        ada, bert = person(session, "ada@example.org"), person(session, "Bert")
        decide(session, session.merge(family["verbal"]), ada, takes=True)
        set_quota(session, bert, 5, type_id="verbal")
    app.run()
    table = app.dataframe[0].value
    assert list(table["Reviewer"]) == ["ada@example.org", "Bert", "Bert"]
    assert list(table["Decided"]) == [1, 0, 0]
    app.selectbox(key="quota-person").set_value(ada)
    app.number_input(key="quota-variants").set_value(-3)
    press(app, "quota-save")
    assert "-3" in page_text(app)
    app.number_input(key="quota-variants").set_value(20)
    press(app, "quota-save")
    with reading(with_source) as session:
        assert PersonQuota(ada, "ada@example.org", "", 20) in all_quotas(session)
    assert list(app.dataframe[0].value["Left"].fillna(-1)) == [19, -1, 5]
    press(press(app, "quota-remove"), "quota-remove")  # the second one finds none
    with reading(with_source) as session:
        assert all_quotas(session) == [PersonQuota(bert, "Bert", "verbal", 5)]


# -- audit -----------------------------------------------------------------------------


def test_the_audit_is_filtered_and_its_pages_are_turned(
    with_source: Engine, open_page: OpenPage, monkeypatch: pytest.MonkeyPatch, wording: Wording
) -> None:
    app = open_page("team", show="Audit")
    wording(app, "team", "no audit")
    assert not app.selectbox and not app.get("download_button")
    with writing(with_source) as session:
        ada, bea = person(session, "Ada"), person(session, "Bea")
        family = add_family(session)
        for type_id in ("verbal", "lexical", "affixal"):
            decide(session, family[type_id], ada, takes=True)
        decide(session, family["word"], ada, takes=False)
        add_note(session, family["word"].id, reviewer_id=bea, text=HOSTILE)
        uid = family["word"].uid
    app = open_page("team", show="Audit")
    wording(app, "team", "an audit")
    table = listed(app)
    assert count(app) == 5 and f'href="review?variant={uid}"' in table
    assert table.index("<b>note</b>") < table.index("<b>reject</b>") < table.index("<b>accept</b>")
    assert "&lt;img src=x" in table and "<img" not in table
    assert count(put(app, "selectbox", "audit-what", "reject")) == 1
    assert listed(put(app, "selectbox", "audit-what", "release")) == ""
    put(app, "selectbox", "audit-what", "")
    monkeypatch.setattr(audit_section, "SHOWN", 2)
    first = listed(app.run())
    assert app.button(key="audit-newer").disabled
    assert count(press(press(app, "audit-older"), "audit-older")) == 1
    assert app.button(key="audit-older").disabled
    put(app, "selectbox", "audit-type", "word")
    assert app.button(key="audit-newer").disabled
    assert listed(put(app, "selectbox", "audit-type", "")) == first
