"""Importing variants on the Anchors page: the preview of a file, and one button that imports."""

import json
from typing import Any

import pytest
from sqlalchemy import Engine, func, select
from sqlmodel import col
from streamlit.testing.v1 import AppTest

from curation.diagnostics import measuring
from curation.review.actions import accept, shown
from curation.variants.importing.import_run import KIND
from curation.variants.importing.unclear import Field, Unclear
from db.columns import now
from db.engine import reading, writing
from db.execution import execute
from db.models import Run, RunState, Variant
from db.settings import load_settings
from pages.components.anchors.variant_columns import WORDS, in_fields
from pages.components.anchors.variants_section import HOW
from tests.pages.conftest import OpenPage, unsafe_texts
from tests.support.factories import ANCHOR, TEXTS, add_anchor, add_variant, person
from training.runs.kinds import WORK

HOSTILE = "<img src=x onerror=alert(1)> **bold** $x$ [a](javascript:1)"
TRIPLES = [
    {"anchor": "The bridge is safe.", "positive": p, "negative": n}
    for p in ("The bridge is probably safe.", "I'm not sure, but the bridge is safe.")
    for n in ("The bridge is not safe.", "The bridge is hardly safe.")
]
JUDGED = [
    {"anchor": HOSTILE, "text": f"Not so: {HOSTILE}", "type": "verbal", "verdict": "accept"},
    {"anchor": "It rains.", "text": "It may rain.", "type": "word", "verdict": "reject"},
    {"anchor": "", "text": "It may rain.", "type": "word", "verdict": ""},
]


def upload(app: AppTest, rows: list[dict[str, Any]], name: str = "mine.jsonl") -> AppTest:
    data = "".join(json.dumps(row) + "\n" for row in rows).encode()
    (box,) = [b for b in app.file_uploader if (b.key or "").startswith("variants-file")]
    return box.set_value((name, data, "text/plain")).run()


def widget(widgets: Any, key: str) -> Any:
    """The widget whose key begins like this; the end identifies the file."""
    (found,) = [w for w in widgets if (w.key or "").startswith(key)]
    return found


def table(app: AppTest, column: str) -> list[dict[str, Any]]:
    (found,) = [f.value for f in app.dataframe if column in f.value.columns]
    return found.to_dict("records")


def texts(app: AppTest) -> str:
    return "\n".join(text.value for text in app.text)


def runs(engine: Engine) -> list[Run]:
    with reading(engine) as session:
        return list(session.execute(select(Run).where(col(Run.kind) == KIND)).scalars())


def sign_in(app: AppTest, engine: Engine) -> None:
    with writing(engine) as session:
        ada = person(session)
    app.session_state["reviewer_id"], app.session_state["reviewer_name"] = ada, "Ada"


@pytest.fixture
def page(open_page: OpenPage, app_engine: Engine) -> AppTest:
    app = open_page("anchors")
    app.session_state["part"] = "Import variants"
    return app.run()


def test_a_file_is_shown_before_anything_is_stored(page: AppTest, app_engine: Engine) -> None:
    assert HOW in [caption.value for caption in page.caption]
    app = upload(page, TRIPLES)
    assert not app.exception
    assert "4 rows: 1 new anchor, 3 new variants, 0 new verdicts." in texts(app)
    assert {row["Type"]: row["Variants"] for row in table(app, "Variants")} == {
        "Verbal negation": 1,
        "Hedge: single word": 1,
        "Hedge: phrase": 1,
    }
    left = "Left out:\n• variants of unknown type: 1 (first: line 2 of mine.jsonl)"
    assert left in texts(app)
    fates = {row["Variant"]: row["Result"] for row in table(app, "Result")}
    assert fates["The bridge is hardly safe."] == "Left out: no type"
    assert fates["The bridge is not safe."] == "New"
    assert widget(app.button, "variants-import").label == "Import 1 anchor and 3 variants"
    assert runs(app_engine) == []


def test_undecided_rows_take_a_chosen_type(page: AppTest) -> None:
    app = upload(page, TRIPLES)
    box = widget(app.selectbox, "variants-undecided-negation")
    assert "word" not in box.options and box.label.endswith("type: 1")
    app = box.set_value("free_contradiction").run()
    assert widget(app.button, "variants-import").label == "Import 1 anchor and 4 variants"


def test_a_column_can_be_given_another_role(page: AppTest) -> None:
    app = upload(page, [{"s": "It rains.", "v": "It does not rain."}])
    assert "Expected a column of anchors in mine.jsonl, found 's', 'v'; choose “Anchors”" in (
        texts(app)
    )
    columns = {b.label: b for b in app.selectbox if (b.key or "").startswith("variants-column")}
    columns["s"].set_value("anchor")
    app = columns["v"].set_value("verbal").run()
    assert widget(app.button, "variants-import").label == "Import 1 anchor and 1 variant"


@pytest.mark.parametrize(
    ("row", "words"),
    [
        ({"anchor": "It rains.", "x": "It may rain."}, "choose “Variants of several types”"),
        ({"anchor": "It rains.", "text": "It may rain."}, "for 'text', the type that all of them"),
        (
            {"anchor": "It rains.", "word": "It may rain.", "verdict": "fine"},
            "say under “Verdict values” what it means, as in fine=accept",
        ),
    ],
)
def test_unclear_rows_are_described_in_the_words_of_the_page(
    page: AppTest, row: dict[str, str], words: str
) -> None:
    shown = texts(upload(page, [row]))
    assert words in shown
    assert "COLUMN" not in shown and "--" not in shown


def test_meaningless_words_for_verdicts_are_refused_next_to_their_fields(
    page: AppTest,
) -> None:
    app = upload(page, [JUDGED[1] | {"verdict": "fine"}])
    box = next(box for box in app.text_input if box.label == WORDS)
    app = box.set_value("fine").run()
    assert "Verdict values: Expected VALUE=accept" in texts(app)
    box = next(box for box in app.text_input if box.label == WORDS)
    app = box.set_value("fine=accept").run()
    assert "Expected" not in texts(app)


def test_messages_name_every_field_in_the_words_of_the_page() -> None:
    for field in Field:
        message = in_fields(Unclear("Expected one", field, "{x}"))
        assert (
            message.startswith("Expected one; ") and "COLUMN" not in message and "--" not in message
        )


def test_importing_verdicts_asks_for_a_name(page: AppTest, app_engine: Engine) -> None:
    app = upload(page, JUDGED)
    assert not [b for b in app.button if b.key == "variants-import"]
    sign_in(app, app_engine)
    app = app.run()
    rows = table(app, "Reviewer")
    assert {(row["Reviewer"], row["Verdict"]) for row in rows} == {
        ("Ada", "Accepted"),
        ("Ada", "Rejected"),
    }
    assert "rows without an anchor: 1 (first: line 3 of mine.jsonl)" in texts(app)


def test_the_button_stores_one_run_which_the_page_follows(
    page: AppTest, app_engine: Engine, started: list[int]
) -> None:
    sign_in(page, app_engine)
    app = upload(page, JUDGED)
    app = widget(app.button, "variants-import").click().run()
    (run,) = runs(app_engine)
    assert started == [run.id]
    assert f"Run {run.id}: Import variants" in texts(app)


def test_the_result_of_an_import_is_shown_and_hostile_texts_stay_text(
    page: AppTest, app_engine: Engine, home: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(measuring, "start_process", lambda *_: None)
    sign_in(page, app_engine)
    app = upload(page, JUDGED, name=f"{HOSTILE[:30]}.jsonl")
    assert HOSTILE not in unsafe_texts(app)
    app = widget(app.button, "variants-import").click().run()
    (run,) = runs(app_engine)
    execute(app_engine, load_settings(), run.id, WORK)
    app = app.run()
    assert "added 2 anchors, 2 variants and 2 verdicts." in texts(app)
    assert HOSTILE not in unsafe_texts(app)
    with reading(app_engine) as session:
        assert session.execute(select(func.count()).select_from(Variant)).scalar_one() == 2
    app = widget(app.button, "variants-more").click().run()
    assert not app.exception
    assert HOW in [caption.value for caption in app.caption]
    app = upload(app, JUDGED[:2], name="again.jsonl")
    assert "Nothing is left to import: the project has all of it already." in texts(app)
    button = widget(app.button, "variants-import")
    assert (button.label, button.disabled) == ("Import", True)


def test_differences_from_the_project_are_shown_before_the_import(
    page: AppTest, app_engine: Engine
) -> None:
    with writing(app_engine) as session:
        variant = add_variant(session, add_anchor(session))
        accept(session, shown(variant, at=now()), reviewer_id=person(session, "Bo"))
    rejecting = {"anchor": ANCHOR, "text": TEXTS["verbal"], "type": "verbal", "verdict": "reject"}
    added = rejecting | {"text": TEXTS["affixal"], "type": "affixal"}
    sign_in(page, app_engine)
    app = upload(page, [rejecting, added])
    assert "Of these verdicts, 1 rejects a variant that is accepted here." in texts(app)
    other = f"variants of anchors that belong to the source 'test', such as “{ANCHOR}” (use"
    assert other in texts(app)
    fates = {row["Variant"]: row["Result"] for row in table(app, "Result")}
    assert fates == {
        TEXTS["verbal"]: "Already exists; new verdict",
        TEXTS["affixal"]: "Left out: its anchor belongs to another source",
    }


def test_a_run_that_failed_can_be_resumed(page: AppTest, app_engine: Engine) -> None:
    sign_in(page, app_engine)
    app = upload(page, JUDGED)
    app = widget(app.button, "variants-import").click().run()
    (run,) = runs(app_engine)
    with writing(app_engine) as session:
        failed = session.get_one(Run, run.id)
        failed.sqlmodel_update({"state": RunState.FAILED, "message": "The disk is full."})
    app = app.run()
    assert f"Run {run.id} failed: The disk is full." in texts(app)
    app = widget(app.button, f"again-{run.id}").click().run()
    assert runs(app_engine)[0].state is RunState.QUEUED


@pytest.mark.parametrize("data", [b"", b"anchor\nx\n", b"\x89PNG\r\n\x1a\n", b"a,b\n1,\xe9\n"])
def test_a_broken_file_is_reported_in_one_sentence(page: AppTest, data: bytes) -> None:
    (box,) = [b for b in page.file_uploader if (b.key or "").startswith("variants-file")]
    app = box.set_value(("mine.csv", data, "text/csv")).run()
    assert not app.exception
    assert "mine.csv" in texts(app)
