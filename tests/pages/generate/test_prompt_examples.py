"""Examples on the Generate page: chosen, shown as text, saved with a version, and their effect."""

import pytest
from sqlalchemy import Engine
from streamlit.testing.v1 import AppTest

from curation.content_uids import anchor_uid, split_of
from curation.generation.prompts import prompt_versions
from curation.review import actions
from curation.review.actions import shown
from db.engine import reading, writing
from db.models import RunState
from db.runs import create_run
from tests.pages.conftest import OpenPage, unsafe_texts
from tests.support.factories import add_anchor, add_variant, person

HOSTILE = "<b>Never</b> **was** :smile: $it$ {types} safe."


def page_text(app: AppTest) -> str:
    assert not app.exception
    return "\n".join(element.value for element in app.text)


@pytest.fixture
def reviewed(with_source: Engine) -> Engine:
    """Three training anchors. Their verbal negations are accepted, one with an edited text."""
    texts = (f"The bridge number {number} is safe." for number in range(100))
    training = [text for text in texts if split_of(anchor_uid(text)) == "train"][:3]
    with writing(with_source) as session:
        ada = person(session)
        for number, text in enumerate(training):
            variant = add_variant(session, add_anchor(session, text), text=f"Not {number}.")
            card = shown(variant)
            if number:
                actions.accept(session, card, reviewer_id=ada)
            else:
                actions.edit(session, card, reviewer_id=ada, text=HOSTILE)
    return with_source


def prompts(open_page: OpenPage) -> AppTest:
    return open_page("generate").segmented_control("step").set_value("Prompts").run()


def test_a_version_with_examples_is_saved_and_filled_in(
    reviewed: Engine, open_page: OpenPage
) -> None:
    app = prompts(open_page)
    assert "Save version with 3 examples" in [button.label for button in app.button]
    app.number_input("generate-examples-number").set_value(1).run()
    assert "Save version with 1 example" in [button.label for button in app.button]
    app.number_input("generate-examples-number").set_value(2).run()
    app.button("generate-save-examples").click().run()
    assert "Saved as version 2." in page_text(app)
    with reading(reviewed) as session:
        newest = prompt_versions(session, "negation")[0]
    assert newest.version == 2 and len(newest.examples) == 2
    assert newest.examples[0]["text"] == HOSTILE
    filled = app.code[0].value
    assert "Example: The bridge number" in filled
    app.button("generate-another").click().run()
    assert f'"verbal": {HOSTILE}' in filled + app.code[0].value
    assert "<b>" not in unsafe_texts(app) and "**was**" not in unsafe_texts(app)


def test_without_accepted_variants_it_says_so(with_source: Engine, open_page: OpenPage) -> None:
    with writing(with_source) as session:
        add_variant(session, add_anchor(session))
    app = prompts(open_page)
    assert "no person has accepted" in page_text(app)


def test_results_show_the_acceptance_of_each_version(reviewed: Engine, open_page: OpenPage) -> None:
    app = prompts(open_page)
    app.button("generate-save-examples").click().run()
    with writing(reviewed) as session:
        ada = person(session)
        run = create_run(session, kind="generate", parameters=PARAMETERS)
        run.state = RunState.DONE
        for prompt in prompt_versions(session, "negation"):
            for number in range(4):
                anchor = add_anchor(session, f"Road {prompt.version}.{number} is long.")
                variant = add_variant(session, anchor)
                variant.prompt_version_id, variant.model = prompt.id, "m"
                session.flush()
                if prompt.version == 2 or number == 0:
                    actions.accept(session, shown(variant), reviewer_id=ada)
                else:
                    actions.reject(session, shown(variant), reviewer_id=ada, reason="wrong_scope")
    app.segmented_control("step").set_value("Results").run()
    table = app.dataframe[0].value
    assert list(table["Prompt"]) == ["version 1", "version 2"]
    assert list(table["Examples"]) == [0, 3] and list(table["Accepted"]) == [1, 4]
    assert table["Acceptance"][0].startswith("25.0% (")


PARAMETERS = {
    "provider": "openai",
    "model": "m",
    "base_url": "",
    "selection": {"limit": None},
    "roles": ["negation"],
}
