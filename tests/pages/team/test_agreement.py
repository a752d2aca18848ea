"""The Team page's section Agreement: its figures and links."""

from datetime import UTC, datetime
from typing import Any

from markupsafe import escape
from sqlalchemy import Engine
from sqlalchemy.orm import Session
from streamlit.testing.v1 import AppTest

from curation.review import actions
from curation.review.actions import shown
from db.engine import writing
from db.models import Variant
from pages.components.shared.shell import count_cache
from tests.pages.conftest import OpenPage, unsafe_texts
from tests.support.factories import add_family, person

HOSTILE = "<img src=x onerror=alert(1)> **bold** $x$"


def decide(
    session: Session, variant: Variant, who: int, *, takes: bool, blind: bool = True
) -> None:
    session.refresh(variant)
    card = shown(variant, at=datetime.now(UTC), blind=blind)
    if takes:
        actions.accept(session, card, reviewer_id=who)
    else:
        actions.reject(session, card, reviewer_id=who, reason="meaning_changed", note=HOSTILE)


def fill(session: Session) -> None:
    """Ada and a person with a hostile name decide on two types of four anchors. Cleo decides once,
    not blind."""
    ada, other, cleo = (person(session, name) for name in ("Ada", HOSTILE, "Cleo"))
    for number in range(4):
        family = add_family(session, f"Bridge {number} is safe.", subject=f"bridge {number}")
        for type_id in ("verbal", "word"):
            decide(session, family[type_id], ada, takes=number < 2)
            decide(session, family[type_id], other, takes=type_id == "word" and number % 2 == 0)
    decide(session, family["phrase"], ada, takes=True)
    decide(session, family["phrase"], cleo, takes=True, blind=False)


def texts(app: AppTest) -> str:
    return "\n".join(text.value for text in app.text)


def metrics(app: AppTest) -> dict[str, tuple[str, str]]:
    return {found.label: (found.value, found.delta) for found in app.metric}


def select(app: AppTest, key: str, **selection: Any) -> AppTest:
    chosen = {"rows": [], "columns": [], "cells": []} | selection
    app.session_state[key] = {"selection": chosen}
    return app.run()


def listed(app: AppTest) -> str:
    """The table of variants at the end, as markup."""
    return next(
        html.value
        for html in reversed(app.get("html"))
        if html.value.startswith('<div class="hg-found')
    )


def test_without_variants_it_links_to_the_overview(open_page: OpenPage) -> None:
    app = open_page("team")
    assert not app.exception
    assert [link.label for link in app.get("page_link")] == ["Go to Overview"]


def test_without_overlap_it_says_how_to_get_some(with_source: Engine, open_page: OpenPage) -> None:
    with writing(with_source) as session:
        decide(session, add_family(session)["verbal"], person(session), takes=True)
    app = open_page("team")
    assert "No two people have decided on the same variant yet." in app.markdown[0].value
    assert [link.label for link in app.get("page_link")] == ["Review variants"]
    assert not app.metric


def test_the_figures_are_those_of_the_database(with_source: Engine, open_page: OpenPage) -> None:
    with writing(with_source) as session:
        fill(session)
    app = open_page("team")
    assert not app.exception
    found = metrics(app)
    # verbal: 2 of 4 agree; word: 2 of 4.
    assert found["Variants"][0] == "8" and found["Agreement"][0] == "50.0%"
    assert found["Agreement"][1] == "" and "too few variants for an interval" in texts(app)
    assert "Kappa" in found and "Landis and Koch call a kappa of" in texts(app)
    assert "37.5% of the verdicts are acceptances." in texts(app)
    assert "Left out: 1 variant with fewer than two independent verdicts." in [
        caption.value for caption in app.caption
    ]
    table = app.dataframe[0].value
    assert table["Variants"].tolist() == [4, 4]
    app.session_state["verdicts"] = "All"
    found = metrics(app.run())
    assert found["Variants"][0] == "9" and "Kappa" not in found  # of three people
    assert "Left out" not in "".join(caption.value for caption in app.caption)


def test_each_number_links_to_its_variants(with_source: Engine, open_page: OpenPage) -> None:
    with writing(with_source) as session:
        fill(session)
    app = open_page("team")
    assert "The verdicts disagree on 4 of 8 variants." in texts(app)
    assert listed(app).count("<tr>") == 1 + 4
    app.session_state["team-which"] = "All"
    app.run()
    assert listed(app).count("<tr>") == 1 + 8
    names = app.dataframe[0].value["Type"].tolist()
    app = select(app, "team-groups-type-None", rows=[names.index("Hedge: single word")])
    assert "4 variants: Hedge: single word." in texts(app)
    assert "probably" in listed(app) and "is not safe" not in listed(app)
    # Selecting a pair in the table compares it like choosing it above.
    app.session_state["agreement-by"] = "Pair"
    app = select(app.run(), "team-groups-pair-None", rows=[0])
    counts = app.dataframe[1].value.set_index("Verdict")
    assert counts.to_numpy().tolist() == [[1, 3, 0], [1, 3, 0], [0, 0, 0]]
    app = select(app, "team-confusion", cells=[(1, "Accepts")])
    assert f"1 variant: Ada and {HOSTILE}; Ada rejects, {HOSTILE} accepts." in texts(app)
    assert listed(app).count("<tr>") == 1 + 1


def test_the_list_has_both_texts_verdicts_and_the_card(
    with_source: Engine, open_page: OpenPage
) -> None:
    with writing(with_source) as session:
        fill(session)
        uid = session.query(Variant).filter_by(text="The bridge 0 is not safe.").one().uid
    app = open_page("team")
    found = listed(app)
    assert "The bridge 0 is not safe." in found and "Bridge 0 is safe." in found
    assert f'href="review?variant={uid}"' in found
    assert f"<b>{escape(HOSTILE)}</b> rejects · meaning changed · {escape(HOSTILE)}" in found
    assert HOSTILE not in found and HOSTILE not in unsafe_texts(app)
    assert app.get("download_button")[0].label == "CSV"


def test_people_and_verdicts_narrow_everything(with_source: Engine, open_page: OpenPage) -> None:
    with writing(with_source) as session:
        fill(session)
    app = open_page("team")
    people = app.selectbox(key="people")
    assert people.options == ["Everybody", f"Ada and {HOSTILE}", "Ada and Cleo"]
    app = people.select_index(2).run()
    assert "No variant has independent verdicts from two people." in texts(app)
    app.session_state["verdicts"] = "All"
    app.run()
    assert metrics(app)["Variants"][0] == "1"
    assert "alpha and kappa are not defined" in texts(app)
    assert "100.0% of the verdicts are acceptances" in texts(app)


def test_a_large_project_is_counted_in_the_background(
    with_source: Engine, open_page: OpenPage, monkeypatch: Any
) -> None:
    with writing(with_source) as session:
        fill(session)
    monkeypatch.setattr(count_cache, "AT_ONCE", 0)
    app = open_page("team")
    for _ in range(100):
        if app.metric:
            break
        assert not app.exception
        app.run()
    assert metrics(app)["Variants"][0] == "8"
