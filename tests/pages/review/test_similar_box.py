"""The dialog with similar variants, without a browser."""

import pytest
from sqlalchemy import Engine
from streamlit.testing.v1 import AppTest

from curation.similar import embedding_run
from curation.similar.lookup import NONE_SIMILAR
from db.engine import writing
from db.execution import execute
from db.runs import create_run
from db.settings import load_settings
from pages.components.review import similar_box
from tests.pages.conftest import TIMEOUT
from tests.pages.review.test_review import html
from tests.support.factories import add_anchor, add_family, add_variant

HOSTILE = "It is not <b>safe</b> **here**."


@pytest.fixture
def variants(with_source: Engine) -> Engine:
    with writing(with_source) as session:
        add_family(session)
        add_variant(session, add_anchor(session, "It is safe here."), text=HOSTILE)
    return with_source


def script(blind: bool) -> None:
    """The content of the dialog for the first variant."""
    import streamlit as st
    from sqlalchemy import select
    from sqlmodel import col

    from curation.review.browser_window.key_actions import ReviewState
    from curation.review.people.reviewers import ensure_reviewer
    from db.engine import reading, writing
    from db.models import Variant
    from pages.components.review.similar_box import contents
    from pages.components.shared.shell import open_project

    engine = open_project.engine()
    with writing(engine) as session:
        ada = ensure_reviewer(session, "Ada").id
    with reading(engine) as session:
        first = session.execute(select(Variant).order_by(col(Variant.id)).limit(1)).scalar_one()
    state = st.session_state.setdefault(
        "state", ReviewState(engine, ada, open_project.types(), blind=blind)
    )
    contents(state, first)
    st.text(f"pinned: {state.pinned}")


def opened(*, blind: bool = False) -> AppTest:
    app = AppTest.from_function(script, kwargs={"blind": blind}, default_timeout=TIMEOUT).run()
    assert not app.exception
    return app


def compute(engine: Engine) -> None:
    with writing(engine) as session:
        run_id = create_run(session, kind=embedding_run.KIND, parameters={}).id
    execute(engine, load_settings(), run_id, {embedding_run.KIND: embedding_run.work})


def test_without_embeddings_it_offers_to_compute_them(variants: Engine, started: list[int]) -> None:
    app = opened()
    assert any("variants have none yet" in text.value for text in app.text)
    app.button("compute-embeddings").click().run()
    assert len(started) == 1
    assert not [button for button in app.button if button.key == "compute-embeddings"]
    assert [one.proto.text for one in app.get("progress")] == [
        f"Run {started[0]} is computing embeddings"
    ]


def test_a_hit_shows_its_cosine_and_opens_its_card(variants: Engine) -> None:
    compute(variants)
    app = opened()
    assert "cosine 0." in html(app)
    assert "It is not &lt;b&gt;safe&lt;/b&gt; **here**." in html(app)
    assert app.button("review-similar").label == "Review these 1"
    app.button("hit-0").click().run()
    assert "pinned: None" not in [text.value for text in app.text]


def test_low_cosines_are_highlighted(variants: Engine, monkeypatch: pytest.MonkeyPatch) -> None:
    compute(variants)
    monkeypatch.setattr(similar_box, "LOW_COSINE", -1.0)
    assert not [one for one in opened().caption if one.value == NONE_SIMILAR]
    monkeypatch.setattr(similar_box, "LOW_COSINE", 1.0)
    assert [one for one in opened().caption if one.value == NONE_SIMILAR]


def test_a_blind_reviewer_sees_no_status(variants: Engine) -> None:
    compute(variants)
    assert "pending" in html(opened())
    assert "pending" not in html(opened(blind=True))
