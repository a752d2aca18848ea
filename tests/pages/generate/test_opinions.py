"""Second opinions and judges on the Generate page: requests, agreement, samples, and the rule."""

from contextlib import suppress

import pytest
from sqlalchemy import Engine, select
from sqlmodel import col
from streamlit.testing.v1 import AppTest

from curation.generation.judging import opinion_run
from curation.generation.judging.opinion_request import KIND
from curation.review import deciding
from curation.review.calibration import figures
from curation.review.calibration.sample import list_samples
from curation.review.deciding import shown
from db.engine import reading, writing
from db.errors import HedgerowError
from db.execution import execute
from db.models import Opinion, RunState, Status, Variant, Verdict
from db.runs import list_runs
from db.settings import load_settings
from pages.components.shared.shell.open_project import tell
from tests.pages.conftest import Wording, unsafe_texts
from tests.pages.looks import newest, opened, page_text, use
from tests.support.factories import add_anchor, add_family, add_opinion, judge, person
from tests.support.generating import Serve
from tests.support.servers.chat_server import opinion_on

HOSTILE = "**bold** <b>x</b> :smile: $x$"


def section(name: str) -> AppTest:
    return opened("generate", {"step": name})


def asked(app: AppTest, address: str) -> AppTest:
    app.selectbox("generate-model").set_value("gpt-4o-mini")
    return app.text_input("generate-address").set_value(address).run()


def carry_out(engine: Engine, number: int, app: AppTest) -> None:
    """Do the work of the run's process, and have the page show it."""
    with suppress(HedgerowError):  # the row says that it paused
        execute(engine, load_settings(), number, {KIND: opinion_run.work})
    app.run()


def add_families(engine: Engine, *subjects: str) -> list[dict[str, Variant]]:
    return [tell(add_family, f"The {one} is safe.", subject=one) for one in subjects]


def decide(engine: Engine, verdict: Verdict) -> int:
    """Ada decides on the whole sample. Returns her id."""
    with writing(engine) as session:
        ada = person(session)
        uids = list_samples(session)[0].uids
        for variant in session.execute(select(Variant).where(col(Variant.uid).in_(uids))).scalars():
            card = shown(variant, blind=True)
            if verdict is Verdict.ACCEPT:
                deciding.accept(session, card, reviewer_id=ada)
            else:
                deciding.reject(session, card, reviewer_id=ada, reason="wrong_scope")
        return ada


def pending(engine: Engine) -> int:
    verbal = (col(Variant.type_id) == "verbal", col(Variant.status) == Status.PENDING)
    with reading(engine) as session:
        return len(session.execute(select(col(Variant.id)).where(*verbal)).all())


def opinions(engine: Engine) -> int:
    with reading(engine) as session:
        return len(session.execute(select(Opinion)).all())


@pytest.mark.parametrize("name", ["Second opinions", "Judges"])
def test_without_variants_it_links_to_generating_some(with_source: Engine, name: str) -> None:
    tell(add_anchor)
    app = section(name)
    assert len(app.get("page_link")) == 1 and not app.get("number_input") and not app.exception


def test_a_trial_then_the_run_then_the_agreement(
    with_source: Engine, started: list[int], serve_chat: Serve, wording: Wording
) -> None:
    add_families(with_source, "bridge", "road")
    address, _ = serve_chat()
    app = section("Second opinions")
    wording(app, "generate", "second opinions")
    asked(app, address)
    assert "14 variants of 2 anchors" in page_text(app)
    use(app, {"opinion-concurrency": 4}, press="opinion-try")
    carry_out(with_source, started[0], app)
    wording(app, "generate", "second opinions after a trial")
    assert opinions(with_source) == 10 and "10 variants judged, 0 calls" in page_text(app)
    assert "4 variants of" in page_text(app) and "10 answered calls" in page_text(app)
    use(app, {"generate-calls": 1}, press="opinion-start")
    carry_out(with_source, started[1], app)
    assert newest(KIND).state is RunState.PAUSED
    use(app, {f"generate-calls-{started[1]}": 100}, press=f"generate-resume-{started[1]}")
    carry_out(with_source, started[1], app)
    assert app.button("opinion-start").disabled
    with writing(with_source) as session:
        assert list_runs(session, kind=KIND)[0].state is RunState.DONE
        variant = session.execute(select(Variant)).scalars().first()
        assert variant is not None
        deciding.accept(session, shown(variant), reviewer_id=person(session))
        agrees = opinion_on(variant.text)["verdict"] == "accept"
    assert opinions(with_source) == 14 and "14 opinions" in page_text(app.run())
    (table,) = [frame.value for frame in app.dataframe]
    assert list(table["Pairs"]) == [1, 1] and list(table["Agree"]) == [100.0 * agrees] * 2


def test_a_sample_is_decided_and_a_trusted_judge_accepts_the_rest(
    with_source: Engine, monkeypatch: pytest.MonkeyPatch, wording: Wording
) -> None:
    """Ten families. A judge with a hostile name accepts every verbal negation."""
    monkeypatch.setattr(figures, "FEWEST", 8)
    families = add_families(with_source, *(f"bridge {number}" for number in range(10)))
    with writing(with_source) as session:
        who = judge(session, HOSTILE)
        for family in families:
            add_opinion(session, family["verbal"], reviewer_id=who)
    app = section("Judges")
    wording(app, "generate", "judges without a sample")
    use(app, {"judges-size": 8, "judges-types": ["verbal"]}, press="judges-draw")
    wording(app, "generate", "judges with an undecided sample")
    assert "0 of 8 variants" in page_text(app)
    ada = decide(with_source, Verdict.ACCEPT)
    app.session_state["reviewer_id"], app.session_state["reviewer_name"] = ada, "Ada"
    app.run()
    assert "8 of 8 variants" in page_text(app)
    assert not [button for button in app.button if button.key == "judges-accept"]
    app.number_input("judges-precision").set_value(60.0).run()
    wording(app, "generate", "a judge that qualifies")
    app.button("judges-accept").click().run()
    assert "2 variants" in page_text(app) and pending(with_source) == 0
    app.button("judges-undo").click().run()
    assert "2 decisions" in page_text(app) and pending(with_source) == 2
    assert "**bold**" not in unsafe_texts(app) and "<b>x" not in unsafe_texts(app)


def test_a_model_is_asked_about_the_sample_and_asked_again(
    with_source: Engine, started: list[int], serve_chat: Serve, wording: Wording
) -> None:
    add_families(with_source, "bridge", "road", "path")
    app = use(section("Judges"), {"judges-size": 2}, press="judges-draw")
    app.button("judges-ask").click().run()
    address, _ = serve_chat()
    asked(app, address)
    assert "14 variants of" in page_text(app)
    app.button("opinion-start").click().run()
    carry_out(with_source, started[0], app)
    app.number_input("opinion-times").set_value(3).run()
    assert "14 variants of" in page_text(app) and "3 calls" in page_text(app)
    app.button("opinion-start").click().run()
    carry_out(with_source, started[1], app)
    assert "42 repeated answers, 0 calls" in page_text(app) and opinions(with_source) == 14
    decide(with_source, Verdict.REJECT)
    app.segmented_control("step").set_value("Judges").run()
    wording(app, "generate", "a judge's figures")
    ranking = app.dataframe[0].value
    assert list(ranking["Judge"]) == ["judge: gpt-4o-mini, prompt 1"]
    assert list(ranking["Variants"]) == [14] and list(ranking["Consistency"]) == [100.0]
    assert "42 answers on 14 variants" in page_text(app)
    verdicts = app.dataframe[2].value
    assert verdicts["People reject"].sum() == 14 and verdicts["People accept"].sum() == 0
