"""Second opinions on the Generate page: the request, its estimate, and the agreement."""

from sqlalchemy import Engine, select
from streamlit.testing.v1 import AppTest

from curation.generation.judging import opinion_run
from curation.review import actions
from curation.review.actions import shown
from db.engine import writing
from db.errors import HedgerowError
from db.execution import execute
from db.models import Opinion, RunState, Variant
from db.runs import list_runs
from db.settings import load_settings
from tests.pages.conftest import OpenPage
from tests.support.factories import add_anchor, add_family, person
from tests.support.generating import Serve
from tests.support.servers.chat_server import opinion_on


def page_text(app: AppTest) -> str:
    assert not app.exception
    return "\n".join(element.value for element in app.text)


def section(open_page: OpenPage, address: str) -> AppTest:
    app = open_page("generate")
    app.session_state["step"] = "Second opinions"
    app.run()
    app.selectbox("generate-model").set_value("gpt-4o-mini")
    return app.text_input("generate-address").set_value(address).run()


def carry_out(number: int, engine: Engine) -> None:
    try:
        execute(engine, load_settings(), number, {opinion_run.KIND: opinion_run.work})
    except HedgerowError:  # the row says that it paused
        return


def test_a_trial_then_the_run_then_the_agreement(
    with_source: Engine, open_page: OpenPage, started: list[int], serve_chat: Serve
) -> None:
    with writing(with_source) as session:
        for subject in ("bridge", "road"):
            add_family(session, f"The {subject} is safe.", subject=subject)
    address, _ = serve_chat()
    app = section(open_page, address)
    assert "14 variants of 2 anchors, one call per variant." in page_text(app)
    assert "not known yet" in page_text(app)
    app.number_input("opinion-concurrency").set_value(4).run()
    app.button("opinion-try").click().run()
    assert "opinions by gpt-4o-mini, 10 variants" in page_text(app)
    carry_out(started[0], with_source)
    app.run()
    assert "10 variants judged, 0 calls failed." in page_text(app)
    assert "4 variants of" in page_text(app) and "based on 10 answered calls" in page_text(app)
    app.number_input("generate-calls").set_value(1).run()
    app.button("opinion-start").click().run()
    carry_out(started[1], with_source)
    app.run()
    assert "Paused at the budget" in page_text(app)
    app.number_input(f"generate-calls-{started[1]}").set_value(100).run()
    app.button(f"generate-resume-{started[1]}").click().run()
    carry_out(started[1], with_source)
    app.run()
    assert "Nothing to judge" in page_text(app)
    assert "judge: gpt-4o-mini, prompt 1 · 14 opinions · switched off\nIt would " in page_text(app)
    assert "Nobody has decided on a variant that it has judged yet." in page_text(app)
    with writing(with_source) as session:
        assert list_runs(session, kind=opinion_run.KIND)[0].state is RunState.DONE
        assert len(session.execute(select(Opinion)).all()) == 14
        variant = session.execute(select(Variant)).scalars().first()
        assert variant is not None
        actions.accept(session, shown(variant), reviewer_id=person(session))
        agrees = opinion_on(variant.text)["verdict"] == "accept"
    app.run()
    (table,) = [frame.value for frame in app.dataframe]
    assert list(table["Pairs"]) == [1, 1] and list(table["Agree"]) == [100.0 * agrees] * 2


def test_without_variants_it_links_to_generating_some(
    open_page: OpenPage, with_source: Engine
) -> None:
    with writing(with_source) as session:
        add_anchor(session, "The bridge is safe.")
    app = open_page("generate")
    app.session_state["step"] = "Second opinions"
    app.run()
    assert [link.label for link in app.get("page_link")] == ["Go to Overview"]
    assert not app.get("number_input")


def test_the_prompt_is_shown_filled_in_and_can_be_edited(
    with_source: Engine, open_page: OpenPage
) -> None:
    with writing(with_source) as session:
        add_family(session)
    app = open_page("generate")
    app.session_state["step"] = "Prompts"
    app.run()
    app.session_state["generate-prompt-of"] = "judge"
    app.run()
    filled = app.code[0].value
    assert "Text: The bridge is safe.\nVariant: The bridge is not safe." in filled
    template = app.text_area[0].value
    app.text_area[0].set_value(template.replace("{variant}", "")).run()
    assert "replaced by the variant" in "\n".join(
        str(element.value) for kind in ("error", "text", "html") for element in app.get(kind)
    )
