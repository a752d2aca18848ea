"""Corpora on the Anchors page: their contents, loading one, and accepting unflagged variants."""

import pytest
from sqlalchemy import Engine, func, select
from sqlmodel import col
from streamlit.testing.v1 import AppTest

from curation.corpora import corpus_run
from curation.corpora.corpus import CORPORA
from curation.corpora.corpus_run import count_unflagged
from curation.corpora.loading import KIND, add_families, missing_families
from curation.review.undo import undo
from curation.taxonomy.project_types import seed_taxonomy
from db.engine import reading, writing
from db.models import Run, RunState, Status, Variant
from db.runs import create_run, get_run
from tests.pages.conftest import OpenPage
from tests.support.factories import add_family, person

CORPUS = CORPORA["antonyms"]


def texts(app: AppTest) -> str:
    return "\n".join(text.value for text in app.text)


def buttons(app: AppTest) -> dict[str, str]:
    return {button.key: button.label for button in app.button}


@pytest.fixture
def page(open_page: OpenPage, app_engine: Engine) -> AppTest:
    app = open_page("anchors")
    app.session_state["part"] = "Corpora"
    return app


@pytest.fixture
def some_loaded(app_engine: Engine) -> Engine:
    """A project with the first sentences of a corpus."""
    with writing(app_engine) as session:
        seed_taxonomy(session)
        run = create_run(session, kind=KIND, parameters=corpus_run.parameters(CORPUS))
        few = dict([*missing_families(session, CORPUS).items()][:20])
        added = add_families(session, CORPUS, few, run_id=run.id)
        result = {"source": CORPUS.source, "accepted": 0, **added._asdict()}
        run.sqlmodel_update({"state": RunState.DONE, "result": result})
    return app_engine


def sign_in(app: AppTest, engine: Engine) -> int:
    with writing(engine) as session:
        ada = person(session)
    app.session_state["reviewer_id"], app.session_state["reviewer_name"] = ada, "Ada"
    return ada


def accepted(engine: Engine) -> int:
    with reading(engine) as session:
        query = select(func.count()).where(col(Variant.status) == Status.ACCEPTED)
        return session.execute(query).scalar_one()


def test_every_corpus_says_what_it_holds_who_made_it_and_how_much_is_here(page: AppTest) -> None:
    page.run()
    assert not page.exception
    shown = texts(page)
    for corpus in CORPORA.values():
        assert corpus.about in shown
        assert f"None of its {corpus.anchors:,} anchors is loaded. Licence: CC BY 4.0." in shown
        whole = corpus.readme.partition("\n")[2].replace("\n## ", "\n### ").strip()
        assert whole in [text.value.strip() for text in page.markdown]
        assert buttons(page)[f"load-{corpus.id}"] == "Load"


def test_it_is_counted_only_while_it_is_open(open_page: OpenPage) -> None:
    assert "load-starter" not in buttons(open_page("anchors"))


def test_loading_starts_one_run_and_shows_it(
    page: AppTest, started: list[int], app_engine: Engine
) -> None:
    page.run().button(key="load-claims").click().run()
    with reading(app_engine) as session:
        (run,) = [get_run(session, number) for number in started]
    assert (run.kind, run.parameters) == (KIND, {"corpus": "claims", "accept_by": None})
    assert "Load Hedgerow claims" in texts(page)
    assert "load-claims" not in buttons(page)
    assert "load-antonyms" in buttons(page)


def test_a_failed_load_says_why_and_can_be_restarted(page: AppTest, app_engine: Engine) -> None:
    with writing(app_engine) as session:
        run = create_run(session, kind=KIND, parameters=corpus_run.parameters(CORPUS))
        run.sqlmodel_update({"state": RunState.FAILED, "message": "The disk is full."})
    page.run()
    assert "failed: The disk is full." in texts(page)
    assert buttons(page)["load-antonyms"] == "Load"


def test_cancelling_a_load_keeps_what_was_loaded(page: AppTest, some_loaded: Engine) -> None:
    with writing(some_loaded) as session:
        run = create_run(session, kind=KIND, parameters=corpus_run.parameters(CORPUS))
        run.state = RunState.CANCELLED
    page.run()
    assert "What it has loaded is kept; Load adds the rest." in texts(page)
    assert buttons(page)["load-antonyms"] == "Load"


def test_a_loaded_corpus_shows_what_was_added(page: AppTest, some_loaded: Engine) -> None:
    page.run()
    shown = texts(page)
    assert "20 of its 12,344 anchors are loaded." in shown
    assert "Hedgerow antonym sentences: added 20 anchors" in shown
    assert "The others already existed, from another source." in shown
    assert buttons(page)["load-antonyms"] == "Load new sentences"


def test_one_click_accepts_unflagged_variants_and_one_undoes_it(
    page: AppTest, some_loaded: Engine
) -> None:
    ada = sign_in(page, some_loaded)
    with writing(some_loaded) as session:
        add_family(session, "The lamp is lit.")  # of another source
        number = count_unflagged(session, CORPUS.id)
    assert number
    page.run()
    assert f"{number} pending variants are unflagged" in texts(page)
    assert buttons(page)["accept-antonyms"] == f"Accept {number} variants"
    page.button(key="accept-antonyms").click().run()
    assert not page.exception
    assert accepted(some_loaded) == number
    assert f"Accepted {number} variants in your name." in texts(page)
    assert "Every pending variant has a flag." in texts(page)
    page.button(key="undo-antonyms").click().run()
    assert accepted(some_loaded) == 0
    assert "These variants are pending again" in texts(page)
    page.button(key="accept-antonyms").click().run()
    with writing(some_loaded) as session:  # as Z on Review does
        undone = undo(session, reviewer_id=ada)
        assert undone is not None
        assert undone.decisions == number
    assert accepted(some_loaded) == 0


def test_accepting_asks_for_a_name_first(page: AppTest, some_loaded: Engine) -> None:
    page.run()
    assert "accept-antonyms" not in buttons(page)
    assert "signin-corpus-antonyms" in "".join(
        button.proto.form_id for button in page.button if button.proto.form_id
    )
    assert accepted(some_loaded) == 0


def test_a_run_under_way_elsewhere_is_shown(page: AppTest, app_engine: Engine) -> None:
    with writing(app_engine) as session:
        run: Run = create_run(session, kind=KIND, parameters=corpus_run.parameters(CORPUS))
        run.sqlmodel_update({"state": RunState.RUNNING, "attempt": 1, "step": 500, "total": 2000})
        run.message = "Loading Hedgerow antonym sentences."
    page.run()
    assert "Loading Hedgerow antonym sentences" in texts(page)
    assert "load-antonyms" not in buttons(page)
