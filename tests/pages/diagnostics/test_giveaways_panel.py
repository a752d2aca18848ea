"""Giveaways in Diagnostics: a run is started and shown, and its words lead to their variants."""

import pytest
from sqlalchemy import Engine
from streamlit.testing.v1 import AppTest

from curation.diagnostics import giveaways
from curation.diagnostics.giveaways import KIND
from db.engine import reading, writing
from db.execution import execute
from db.models import RunState, Status, TypeVersion, Variant
from db.runs import create_run, get_run
from db.settings import load_settings
from pages.components.diagnostics import giveaways_panel
from tests.pages.conftest import OpenPage, unsafe_texts
from tests.support.factories import add_anchor, add_variant

HOSTILE = "<img src=x> **bold** :smile: $x$"


@pytest.fixture
def planted(with_source: Engine) -> Engine:
    """Twenty anchors. "smile" begins each of their lexical negations, and no paraphrase."""
    with writing(with_source) as session:
        for number in range(20):
            anchor = add_anchor(session, f"Bridge {number} is safe.")
            text = f"Bridge {number} looks safe."
            add_variant(session, anchor, "lexical", f":smile: **{text}**")
            add_variant(session, anchor, "affirmation", text)
    return with_source


def look(engine: Engine) -> None:
    with writing(engine) as session:
        run = create_run(session, kind=KIND, parameters={})
    execute(engine, load_settings(), run.id, {KIND: giveaways.work})


def opened(open_page: OpenPage) -> AppTest:
    app = open_page("diagnostics")
    app.session_state["show"] = "Giveaways"
    app.run()
    assert not app.exception
    return app


def texts(app: AppTest) -> str:
    return "\n".join(text.value for text in app.text)


def test_a_run_is_started_followed_and_can_be_cancelled(
    planted: Engine, open_page: OpenPage, started: list[int]
) -> None:
    app = opened(open_page)
    app.button(key="look-for-giveaways").click().run()
    with reading(planted) as session:
        (run,) = [get_run(session, number) for number in started]
    assert run.kind == KIND
    assert f"Run {run.id}: Find giveaways" in texts(app)
    assert not [button for button in app.button if button.key == "look-for-giveaways"]
    app.button(key=f"cancel-{run.id}").click().run()
    with reading(planted) as session:
        assert get_run(session, run.id).state == RunState.CANCELLED
    app.run()
    assert f"Run {run.id} was cancelled" in texts(app)
    assert app.button(key="look-for-giveaways").label == "Find giveaways"


def test_the_newest_result_is_shown_against_chance(planted: Engine, open_page: OpenPage) -> None:
    look(planted)
    app = opened(open_page)
    shown = texts(app)
    assert "40 variants of 20 anchors. The data has not changed since then." in shown
    assert (
        "Accuracy on all variants: 100.0%. Always predicting the most frequent class gives 50.0%."
        in shown
    )
    assert "Lexical negation (100%, chance 50%)" in shown
    assert "accepted and pending variants, regardless" in "".join(c.value for c in app.caption)
    by_type, by_source, by_provider = (table.value for table in app.dataframe)
    assert by_type["Type"].tolist() == ["Lexical negation", "Affirmation"]
    assert by_type["Accuracy"].tolist() == [1, 1] and by_type["Chance"].tolist() == [0.5, 0.5]
    assert by_source["Source"].tolist() == ["test"]
    assert by_provider["Provider"].tolist() == ["reviewers"]
    app.session_state["guess"] = "Type"
    assert not app.run().exception
    assert app.selectbox(key="class-type").options == ["Lexical negation", "Affirmation"]


def test_the_page_says_that_the_data_has_changed(planted: Engine, open_page: OpenPage) -> None:
    look(planted)
    with writing(planted) as session:
        variant = session.get(Variant, 1)
        assert variant is not None
        variant.status = Status.REJECTED
    assert "rejected or restored since then. Search again" in texts(opened(open_page))


def test_words_link_to_their_variants(
    planted: Engine, open_page: OpenPage, monkeypatch: pytest.MonkeyPatch
) -> None:
    look(planted)
    picked: list[tuple[tuple[int, ...], str]] = []
    monkeypatch.setattr(
        giveaways_panel,
        "open_in_review",
        lambda ids, description: picked.append((ids, description)),
    )
    app = opened(open_page)
    app.button(key="telling-polarity-negative-smile").click().run()
    assert not app.exception
    assert picked == [(tuple(range(1, 40, 2)), "Diagnostics: “smile”, Negative first")]


def test_words_and_labels_are_shown_as_they_are(planted: Engine, open_page: OpenPage) -> None:
    with writing(planted) as session:
        for variant in session.query(Variant).filter(Variant.type_id == "lexical"):
            variant.text = f"__init__ {variant.text}"
        for wording in session.query(TypeVersion):
            wording.label = f"{HOSTILE} {wording.type_id}"
    look(planted)
    app = opened(open_page)
    app.session_state["guess"] = "Type"
    app.run()
    assert not app.exception
    shown = unsafe_texts(app)
    assert "**bold**" not in shown and "<img" not in shown
    labels = [b.label for b in app.button if str(b.key).startswith("telling-")]
    assert labels and not any("__init__" in text for text in labels)


def test_the_chosen_source_is_the_one_shown(
    planted: Engine, open_page: OpenPage, started: list[int], monkeypatch: pytest.MonkeyPatch
) -> None:
    with writing(planted) as session:
        for number in range(20):
            anchor = add_anchor(session, f"Door {number} is open.", source="Other")
            add_variant(session, anchor, "lexical", f"Door {number} has a smile.")
            other = add_variant(session, anchor, "word", f"Perhaps door {number} is open.")
        source_id = other.source_id
    look(planted)
    app = opened(open_page)
    assert "80 variants of 40 anchors" in texts(app)
    app.selectbox(key="source").select("Other").run()
    assert "80 variants" not in texts(app)  # this source has not been searched
    app.button(key="look-for-giveaways").click().run()
    with reading(planted) as session:
        (run,) = [get_run(session, number) for number in started]
    assert run.parameters == {"source": source_id}
    execute(planted, load_settings(), run.id, {KIND: giveaways.work})
    app.run()
    assert f"Run {run.id}" in texts(app) and "40 variants of 20 anchors" in texts(app)
    picked: list[tuple[int, ...]] = []
    monkeypatch.setattr(
        giveaways_panel, "open_in_review", lambda ids, description: picked.append(ids)
    )
    app.button(key="telling-polarity-negative-smile").click().run()
    assert [len(ids) for ids in picked] == [20]
