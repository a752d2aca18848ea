"""The Generate page in each of its states; what it starts is carried out in the test."""


import pytest
from sqlalchemy import Engine, select
from streamlit.testing.v1 import AppTest

from curation.generation import run as generation
from db.engine import reading, writing
from db.errors import HedgerowError
from db.execution import execute
from db.models import Variant
from db.settings import load_settings
from tests.factories import add_anchor
from tests.generating import Serve
from tests.pages.conftest import OpenPage


@pytest.fixture(autouse=True)
def unmeasured(monkeypatch: pytest.MonkeyPatch) -> None:
    """Measuring is tested elsewhere and loads an encoder."""
    monkeypatch.setattr("curation.diagnostics.work", lambda context: {})


@pytest.fixture
def ten(with_source: Engine) -> Engine:
    """Ten anchors without variants."""
    with writing(with_source) as session:
        for number in range(10):
            add_anchor(session, f"The bridge number {number} is safe.")
    return with_source


def told(app: AppTest) -> str:
    assert not app.exception
    return "\n".join(element.value for element in app.text)


def carry_out(engine: Engine, number: int) -> None:
    """What the run's process would do."""
    try:
        execute(engine, load_settings(), number, {generation.KIND: generation.work})
    except HedgerowError:  # paused or failed: the row says it
        return


def named(app: AppTest, address: str, model: str = "gpt-4o-mini") -> AppTest:
    app.selectbox("generate-model").set_value(model)
    return app.text_input("generate-address").set_value(address).run()


def test_without_anchors_it_says_where_to_get_some(open_page: OpenPage) -> None:
    app = open_page("generate")
    assert "no anchors yet" in told(app)
    assert [link.page for link in app.get("page_link")] == ["anchors", "overview"]
    assert not app.get("number_input")


def test_openai_wants_a_key_and_a_server_of_ones_own_none(
    ten: Engine, open_page: OpenPage
) -> None:
    app = open_page("generate")
    assert "Name a model" in told(app)
    app = named(app, "")
    assert "without a key" in told(app)
    assert app.button("generate-start").disabled and app.button("generate-try").disabled
    app = named(app, "http://127.0.0.1:9/v1")
    assert "without a key" not in told(app)
    assert "10 anchors, 20 calls: 10 for negations, 10 for hedges." in told(app)
    assert "not known yet" in told(app)
    assert not app.button("generate-start").disabled


def test_a_trial_tells_what_the_run_will_take(
    ten: Engine, open_page: OpenPage, started: list[int], serve_chat: Serve
) -> None:
    address, _ = serve_chat()
    app = named(open_page("generate"), address)
    app.button("generate-try").click().run()
    assert "Waiting for its process" in told(app)
    assert not [box for box in app.button if box.key == "generate-start"]
    carry_out(ten, started[0])
    app.run()
    assert "The trial" in [title.value for title in app.subheader]
    assert "7 anchors, 14 calls" in told(app)
    assert "going by 6 answered calls" in told(app)
    assert "Expected cost: $0.0" in told(app)
    assert "By verbal it is not so that" in told(app)
    assert '"verbal"' in "\n".join(block.value for block in app.code)
    app.button("generate-start").click().run()
    carry_out(ten, started[1])
    app.run()
    assert "Nothing to generate" in told(app)
    with reading(ten) as session:
        assert len(session.execute(select(Variant)).all()) == 60
