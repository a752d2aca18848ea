"""Prompts on the Generate page: versions, their examples, and their effect on acceptance."""

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
from tests.pages.conftest import Wording, unsafe_texts
from tests.pages.opening import opened, page_text
from tests.support.factories import add_anchor, add_family, add_variant, person

HOSTILE = "<b>Never</b> **was** :smile: $it$ {types} safe."
PARAMETERS = {
    "provider": "openai",
    "model": "m",
    "base_url": "",
    "selection": {"limit": None},
    "roles": ["negation"],
}


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


def prompts(**state: object) -> AppTest:
    return opened("generate", {"step": "Prompts", **state})


def test_a_copy_of_a_prompt_becomes_its_next_version(with_source: Engine, wording: Wording) -> None:
    with writing(with_source) as session:
        for number in (1, 2):
            add_variant(session, add_anchor(session, f"The bridge number {number} is safe."))
    app = prompts()
    wording(app, "generate", "prompts without accepted variants")
    first = app.code[0].value
    assert "The bridge number" in first and "1. " in first
    app.button("generate-another").click().run()
    assert app.code[0].value != first
    template = app.text_area[0].value
    app.text_area[0].set_value("Negate it: {text}").run()
    app.button("generate-save-prompt").click().run()
    assert "{types}" in page_text(app), "the placeholder is missing"
    assert app.text_area[0].value == "Negate it: {text}"
    with reading(with_source) as session:
        assert len(prompt_versions(session, "negation")) == 1
    draft = template + '\nKeep it short, as {"a": "this"}.'
    app.text_area[0].set_value(draft).run()
    assert 'Keep it short, as {"a": "this"}.' in app.code[0].value
    app.button("generate-save-prompt").click().run()
    assert not app.exception
    with reading(with_source) as session:
        newest, older = prompt_versions(session, "negation")
        assert (newest.version, newest.template, newest.parent_id) == (2, draft, older.id)


def test_the_judges_prompt_is_shown_filled_in_and_needs_its_placeholders(
    with_source: Engine,
) -> None:
    with writing(with_source) as session:
        add_family(session)
    app = prompts(**{"generate-prompt-of": "judge"})
    assert "Text: The bridge is safe.\nVariant: The bridge is not safe." in app.code[0].value
    app.text_area[0].set_value(app.text_area[0].value.replace("{variant}", "")).run()
    assert not app.code and not app.exception, "it cannot be filled in"


def test_a_version_with_examples_is_saved_filled_in_and_compared_by_its_acceptance(
    reviewed: Engine, wording: Wording
) -> None:
    app = prompts()
    wording(app, "generate", "prompts")
    save = app.button("generate-save-examples")
    app.number_input("generate-examples-number").set_value(1).run()
    assert "1 example" in app.button("generate-save-examples").label and "3 " in save.label
    app.number_input("generate-examples-number").set_value(2).run()
    app.button("generate-save-examples").click().run()
    with reading(reviewed) as session:
        newest = prompt_versions(session, "negation")[0]
    assert newest.version == 2 and len(newest.examples) == 2
    assert newest.examples[0]["text"] == HOSTILE
    filled = app.code[0].value
    assert "Example: The bridge number" in filled
    app.button("generate-another").click().run()
    assert f'"verbal": {HOSTILE}' in filled + app.code[0].value
    assert "<b>" not in unsafe_texts(app) and "**was**" not in unsafe_texts(app)
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
    wording(app, "generate", "acceptance by prompt version")
    table = app.dataframe[0].value
    assert list(table["Prompt"]) == ["version 1", "version 2"]
    assert list(table["Examples"]) == [0, 2] and list(table["Accepted"]) == [1, 4]
    assert table["Acceptance"][0].startswith("25.0% (")
