"""Importing variants, and loading corpora, on the Anchors page: previews, runs and results."""

import json
from typing import Any

import pytest
from sqlalchemy import Engine, func, select
from sqlmodel import col
from streamlit.testing.v1 import AppTest

from curation.corpora import corpus_run
from curation.corpora.corpus import CORPORA
from curation.corpora.corpus_run import count_unflagged
from curation.corpora.loading import KIND as LOAD_CORPUS
from curation.corpora.loading import add_families, missing_families
from curation.diagnostics import measuring
from curation.review.actions import accept, shown
from curation.review.undo import undo
from curation.taxonomy.project_types import seed_taxonomy
from curation.variants.importing.import_run import KIND
from curation.variants.importing.unclear import Field, Unclear
from db.columns import now
from db.engine import reading, writing
from db.execution import execute
from db.models import Run, RunState, Status, Variant
from db.runs import create_run, get_run
from db.settings import load_settings
from pages.components.anchors.variant_columns import WORDS, in_fields
from tests.pages.conftest import OpenPage, Wording, unsafe_texts
from tests.pages.looks import drawn, keys, named, press, put, rows, texts
from tests.support.factories import (
    ANCHOR,
    TEXTS,
    add_anchor,
    add_family,
    add_variant,
    person,
)
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


def upload_data(app: AppTest, data: bytes, name: str) -> AppTest:
    return put(app, "file_uploader", "variants-file", (name, data, "text/plain"))


def upload(app: AppTest, lines: list[dict[str, Any]], name: str = "mine.jsonl") -> AppTest:
    data = "".join(json.dumps(line) + "\n" for line in lines).encode()
    return upload_data(app, data, name)


def label(app: AppTest) -> str:
    """The label of the button that imports, which has the numbers."""
    found: str = named(app, "button", "variants-import").label
    return found


def runs(engine: Engine) -> list[Run]:
    with reading(engine) as session:
        return list(session.execute(select(Run).where(col(Run.kind) == KIND)).scalars())


@pytest.fixture
def page(open_page: OpenPage, app_engine: Engine) -> AppTest:
    return open_page("anchors", part="Import variants")


def test_a_file_is_shown_before_anything_is_stored(
    page: AppTest, app_engine: Engine, wording: Wording
) -> None:
    app = upload(page, TRIPLES)
    wording(app, "anchors", "variants to import")
    counts = {row["Type"]: row["Variants"] for row in rows(app, "Variants")}
    assert counts == {"Verbal negation": 1, "Hedge: single word": 1, "Hedge: phrase": 1}
    fates = {row["Variant"]: row["Result"] for row in rows(app, "Result")}
    assert fates["The bridge is hardly safe."].startswith("Left out")
    assert fates["The bridge is not safe."] == "New"
    assert label(app) == "Import 1 anchor and 3 variants" and runs(app_engine) == []
    assert "word" not in named(app, "selectbox", "variants-undecided-negation").options
    put(app, "selectbox", "variants-undecided-negation", "free_contradiction")
    assert label(app) == "Import 1 anchor and 4 variants"
    app = upload(page, [{"s": "It rains.", "v": "It does not rain."}])
    assert "'s', 'v'" in texts(app)
    columns = {b.label: b for b in app.selectbox if (b.key or "").startswith("variants-column")}
    columns["s"].set_value("anchor")
    columns["v"].set_value("verbal").run()
    assert label(app) == "Import 1 anchor and 1 variant"


def test_unclear_files_are_described_in_the_words_of_the_page(
    page: AppTest, wording: Wording
) -> None:
    told = []
    for row in (
        {"anchor": "It rains.", "x": "It may rain."},
        {"anchor": "It rains.", "text": "It may rain."},
        {"anchor": "It rains.", "word": "It may rain.", "verdict": "fine"},
    ):
        app = upload(page, [row])
        wording(app, "anchors", f"an unclear file with {', '.join(row)}")
        told.append(texts(app))
    for field in Field:
        told.append(in_fields(Unclear("Expected one", field, "{x}")))
        assert told[-1].startswith("Expected one; ")
    assert not any("COLUMN" in text or "--" in text for text in told)
    assert "VALUE=accept" in texts(put(app, "text_input", WORDS, "fine"))
    assert "Expected" not in texts(put(app, "text_input", WORDS, "fine=accept"))
    for data in (b"", b"anchor\nx\n", b"\x89PNG\r\n\x1a\n", b"a,b\n1,\xe9\n"):
        assert "broken.csv" in texts(upload_data(app, data, "broken.csv"))


def test_verdicts_are_imported_under_a_name_by_one_run_which_the_page_follows(
    page: AppTest,
    app_engine: Engine,
    started: list[int],
    monkeypatch: pytest.MonkeyPatch,
    wording: Wording,
) -> None:
    monkeypatch.setattr(measuring, "start_process", lambda *_: None)
    app = upload(page, JUDGED, name=f"{HOSTILE[:30]}.jsonl")
    assert "variants-import" not in keys(app)  # it asks for a name first
    with writing(app_engine) as session:
        ada = person(session)
    app.session_state["reviewer_id"], app.session_state["reviewer_name"] = ada, "Ada"
    app.run()
    verdicts = {(row["Reviewer"], row["Verdict"]) for row in rows(app, "Reviewer")}
    assert verdicts == {("Ada", "Accepted"), ("Ada", "Rejected")}
    assert "line 3" in texts(app)  # without an anchor
    assert HOSTILE not in unsafe_texts(app)
    press(app, "variants-import")
    (run,) = runs(app_engine)
    assert started == [run.id] and f"Run {run.id}" in texts(app)
    with writing(app_engine) as session:
        failed = session.get_one(Run, run.id)
        failed.sqlmodel_update({"state": RunState.FAILED, "message": "The disk is full."})
    assert "The disk is full." in texts(app.run())
    press(app, f"again-{run.id}")
    assert runs(app_engine)[0].state is RunState.QUEUED
    execute(app_engine, load_settings(), run.id, WORK)
    app.run()
    assert "2 anchors, 2 variants and 2 verdicts" in texts(app)
    assert HOSTILE not in unsafe_texts(app)
    with reading(app_engine) as session:
        assert session.execute(select(func.count()).select_from(Variant)).scalar_one() == 2
    app = upload(press(app, "variants-more"), JUDGED[:2], name="again.jsonl")
    wording(app, "anchors", "nothing left to import")
    assert named(app, "button", "variants-import").disabled


def test_differences_from_the_project_are_shown_before_the_import(
    signed_in: None, page: AppTest, app_engine: Engine, wording: Wording
) -> None:
    with writing(app_engine) as session:
        variant = add_variant(session, add_anchor(session))
        accept(session, shown(variant, at=now()), reviewer_id=person(session, "Bo"))
    rejecting = {"anchor": ANCHOR, "text": TEXTS["verbal"], "type": "verbal", "verdict": "reject"}
    added = rejecting | {"text": TEXTS["affixal"], "type": "affixal"}
    app = upload(page, [rejecting, added])
    wording(app, "anchors", "verdicts that differ")
    assert "'test'" in texts(app) and ANCHOR in texts(app)  # which belongs to another source
    fates = {row["Variant"]: row["Result"].partition(";")[0] for row in rows(app, "Result")}
    assert fates[TEXTS["verbal"]] == "Already exists"
    assert fates[TEXTS["affixal"]].startswith("Left out")


# -- corpora ---------------------------------------------------------------------------


CORPUS = CORPORA["antonyms"]
LOAD, ACCEPT, UNDO = f"load-{CORPUS.id}", f"accept-{CORPUS.id}", f"undo-{CORPUS.id}"


@pytest.fixture
def some_loaded(app_engine: Engine) -> Engine:
    """A project with the first sentences of a corpus."""
    with writing(app_engine) as session:
        seed_taxonomy(session)
        run = create_run(session, kind=LOAD_CORPUS, parameters=corpus_run.parameters(CORPUS))
        few = dict([*missing_families(session, CORPUS).items()][:20])
        added = add_families(session, CORPUS, few, run_id=run.id)
        result = {"source": CORPUS.source, "accepted": 0, **added._asdict()}
        run.sqlmodel_update({"state": RunState.DONE, "result": result})
    return app_engine


def opened(open_page: OpenPage) -> AppTest:
    return open_page("anchors", part="Corpora")


def accepted(engine: Engine) -> int:
    with reading(engine) as session:
        query = select(func.count()).where(col(Variant.status) == Status.ACCEPTED)
        return session.execute(query).scalar_one()


def test_every_corpus_is_described_and_loaded_by_one_run(
    app_engine: Engine, open_page: OpenPage, started: list[int]
) -> None:
    assert LOAD not in keys(open_page("anchors"))  # counted only while it is open
    app = opened(open_page)
    for corpus in CORPORA.values():
        assert corpus.about in texts(app) and f"{corpus.anchors:,} anchors" in texts(app)
        whole = corpus.readme.partition("\n")[2].replace("\n## ", "\n### ").strip()
        assert whole in drawn(app, "markdown")
        assert f"load-{corpus.id}" in keys(app)
    press(app, "load-claims")
    with reading(app_engine) as session:
        (run,) = [get_run(session, number) for number in started]
    assert (run.kind, run.parameters) == (LOAD_CORPUS, {"corpus": "claims", "accept_by": None})
    assert f"Run {run.id}" in texts(app)
    assert "load-claims" not in keys(app) and LOAD in keys(app)


@pytest.mark.parametrize(
    ("state", "fact"),
    [
        (RunState.FAILED, "The disk."),
        (RunState.CANCELLED, "Run 2 was cancelled"),
        (RunState.RUNNING, "Run 2: Load"),
    ],
)
def test_a_load_under_way_or_stopped_elsewhere_is_shown(
    some_loaded: Engine, open_page: OpenPage, state: RunState, fact: str
) -> None:
    values = {"state": state, "attempt": 1, "step": 500, "total": 2000, "message": "The disk."}
    with writing(some_loaded) as session:
        run = create_run(session, kind=LOAD_CORPUS, parameters=corpus_run.parameters(CORPUS))
        run.sqlmodel_update(values)
    app = opened(open_page)
    assert fact in texts(app)
    assert (LOAD in keys(app)) == (state is not RunState.RUNNING)


def test_one_click_accepts_unflagged_variants_and_one_undoes_it(
    some_loaded: Engine, open_page: OpenPage, wording: Wording
) -> None:
    app = opened(open_page)
    assert "20 of its 12,344 anchors" in texts(app)
    assert ACCEPT not in keys(app)  # it asks for a name first
    assert any(f"signin-corpus-{CORPUS.id}" == button.proto.form_id for button in app.button)
    with writing(some_loaded) as session:
        add_family(session, "The lamp is lit.")  # of another source
        ada, number = person(session), count_unflagged(session, CORPUS.id)
    app.session_state["reviewer_id"], app.session_state["reviewer_name"] = ada, "Ada"
    assert str(number) in app.run().button(key=ACCEPT).label
    press(app, ACCEPT)
    assert accepted(some_loaded) == number > 0
    wording(app, "anchors", "unflagged variants accepted")
    press(app, UNDO)
    assert accepted(some_loaded) == 0
    press(app, ACCEPT)
    with writing(some_loaded) as session:  # as Z on Review does
        undone = undo(session, reviewer_id=ada)
        assert undone is not None and undone.decisions == number
    assert accepted(some_loaded) == 0
