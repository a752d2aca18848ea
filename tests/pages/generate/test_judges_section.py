"""Judges on the Generate page: a sample, people's decisions on it, figures, and the rule."""

import pytest
from sqlalchemy import Engine, select
from sqlmodel import col
from streamlit.testing.v1 import AppTest

from curation.generation.judging import opinion_run
from curation.generation.judging.opinion_request import KIND
from curation.review import actions
from curation.review.actions import shown
from curation.review.calibration import figures
from curation.review.calibration.sample import list_samples
from db.engine import reading, writing
from db.execution import execute
from db.models import Opinion, Status, Variant, Verdict
from db.settings import load_settings
from tests.pages.conftest import OpenPage, unsafe_texts
from tests.support.factories import add_anchor, add_family, add_opinion, judge, person
from tests.support.generating import Serve

HOSTILE = "**bold** <b>x</b> :smile: $x$"


def page_text(app: AppTest) -> str:
    assert not app.exception
    return "\n".join(element.value for element in app.text)


def section(open_page: OpenPage) -> AppTest:
    return open_page("generate").segmented_control("step").set_value("Judges").run()


@pytest.fixture
def judged(with_source: Engine) -> Engine:
    """Ten families. A judge with a hostile name accepts every verbal negation."""
    with writing(with_source) as session:
        who = judge(session, HOSTILE)
        for number in range(10):
            family = add_family(session, f"Bridge {number} is safe.", subject=f"bridge {number}")
            add_opinion(session, family["verbal"], reviewer_id=who)
    return with_source


def decide(engine: Engine, verdict: Verdict) -> int:
    """Ada decides on the whole sample. Returns her id."""
    with writing(engine) as session:
        ada = person(session)
        uids = list_samples(session)[0].uids
        for variant in session.execute(select(Variant).where(col(Variant.uid).in_(uids))).scalars():
            card = shown(variant, blind=True)
            if verdict is Verdict.ACCEPT:
                actions.accept(session, card, reviewer_id=ada)
            else:
                actions.reject(session, card, reviewer_id=ada, reason="wrong_scope")
        return ada


def pending(engine: Engine) -> int:
    verbal = (col(Variant.type_id) == "verbal", col(Variant.status) == Status.PENDING)
    with reading(engine) as session:
        return len(session.execute(select(col(Variant.id)).where(*verbal)).all())


def test_a_sample_is_decided_and_a_trusted_judge_accepts_the_rest(
    judged: Engine, open_page: OpenPage, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(figures, "FEWEST", 8)
    app = section(open_page)
    app.number_input("judges-size").set_value(8)
    app.pills("judges-types").set_value(["verbal"]).run()
    app.button("judges-draw").click().run()
    assert "0 of 8 variants decided blind." in page_text(app)
    assert "No person has decided blind on a variant that this model has judged." in page_text(app)
    ada = decide(judged, Verdict.ACCEPT)
    app.session_state["reviewer_id"], app.session_state["reviewer_name"] = ada, "Ada"
    app.run()
    assert "8 of 8 variants decided blind." in page_text(app)
    assert "No type qualifies" in page_text(app)
    app.number_input("judges-precision").set_value(60.0).run()
    assert "Types that qualify: Verbal" in page_text(app)
    app.button("judges-accept").click().run()
    assert "Accepted 2 variants." in page_text(app) and pending(judged) == 0
    app.button("judges-undo").click().run()
    assert "Undid 2 decisions." in page_text(app) and pending(judged) == 2
    assert "**bold**" not in unsafe_texts(app) and "<b>x" not in unsafe_texts(app)


def test_a_model_is_asked_about_the_sample_and_asked_again(
    with_source: Engine, open_page: OpenPage, started: list[int], serve_chat: Serve
) -> None:
    with writing(with_source) as session:
        for subject in ("bridge", "road", "path"):
            add_family(session, f"The {subject} is safe.", subject=subject)
    app = section(open_page)
    app.number_input("judges-size").set_value(2).run()
    app.button("judges-draw").click().run()
    app.button("judges-ask").click().run()
    address, _ = serve_chat()
    app.selectbox("generate-model").set_value("gpt-4o-mini")
    app.text_input("generate-address").set_value(address).run()
    assert "14 variants of" in page_text(app) and "one call per variant." in page_text(app)
    app.button("opinion-start").click().run()
    execute(with_source, load_settings(), started[0], {KIND: opinion_run.work})
    app.run()
    app.number_input("opinion-times").set_value(3).run()
    assert "14 variants of" in page_text(app) and "3 calls per variant." in page_text(app)
    app.button("opinion-start").click().run()
    execute(with_source, load_settings(), started[1], {KIND: opinion_run.work})
    app.run()
    assert "42 repeated answers, 0 calls failed." in page_text(app)
    with reading(with_source) as session:
        assert len(session.execute(select(Opinion)).all()) == 14
    decide(with_source, Verdict.REJECT)
    app.segmented_control("step").set_value("Judges").run()
    ranking = app.dataframe[0].value
    assert list(ranking["Judge"]) == ["judge: gpt-4o-mini, prompt 1"]
    assert list(ranking["Variants"]) == [14] and list(ranking["Consistency"]) == [100.0]
    assert "42 answers on 14 variants. Two answers on the same variant" in page_text(app)
    verdicts = app.dataframe[2].value
    assert verdicts["People reject"].sum() == 14 and verdicts["People accept"].sum() == 0


def test_without_variants_there_is_no_chart(with_source: Engine, open_page: OpenPage) -> None:
    with writing(with_source) as session:
        add_anchor(session)
    app = section(open_page)
    assert [link.label for link in app.get("page_link")] == ["Go to Overview"]
    assert not app.get("number_input")
