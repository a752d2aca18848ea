"""Adding anchors, importing variants and loading corpora on the Anchors page: previews, runs,
results."""

import json
import tomllib
from types import SimpleNamespace
from typing import Any

import pytest
from sqlalchemy import Engine, func, select
from sqlmodel import col
from streamlit.elements.lib import policies
from streamlit.testing.v1 import AppTest

from cli.serve import OPTIONS
from curation.corpora.corpus import CORPORA
from curation.diagnostics import measuring
from curation.generation.request import Which
from curation.importing import corpora
from curation.importing.anchor_preview import preview
from curation.importing.anchor_rows import About
from curation.importing.anchor_storing import KIND as ADD_ANCHORS
from curation.importing.anchor_storing import add_anchors
from curation.importing.column_roles import Field, Unclear
from curation.importing.corpora import KIND as LOAD_CORPUS
from curation.importing.corpora import add_families, count_unflagged, missing_families
from curation.importing.labels import read_pasted
from curation.importing.sample import lengths
from curation.importing.variants import KIND as IMPORT
from curation.review.deciding import accept, shown
from curation.review.undo import undo
from curation.taxonomy.project_types import seed_taxonomy
from db.columns import now
from db.engine import reading, writing
from db.execution import execute
from db.models import Anchor, AnchorRevision, Reviewer, Run, RunState, Source, Status, Variant
from db.runs import create_run, get_run
from db.settings import load_settings
from pages.components.anchors.file_rows import chart, in_words
from pages.components.anchors.variant_columns import WORDS, in_fields
from tests.pages.conftest import OpenPage, Wording, unsafe_texts
from tests.pages.looks import drawn, keys, links, named, page_text, press, put, rows
from tests.support.factories import (
    ANCHOR,
    TEXTS,
    add_anchor,
    add_family,
    add_variant,
    engine_of,
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
        return list(session.execute(select(Run).where(col(Run.kind) == IMPORT)).scalars())


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
    statuses = {row["Variant"]: row["Result"] for row in rows(app, "Result")}
    assert statuses["The bridge is hardly safe."].startswith("Left out")
    assert statuses["The bridge is not safe."] == "New"
    assert label(app) == "Import 1 anchor and 3 variants" and runs(app_engine) == []
    assert "word" not in named(app, "selectbox", "variants-undecided-negation").options
    put(app, "selectbox", "variants-undecided-negation", "free_contradiction")
    assert label(app) == "Import 1 anchor and 4 variants"
    app = upload(page, [{"s": "It rains.", "v": "It does not rain."}])
    assert "'s', 'v'" in page_text(app)
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
        told.append(page_text(app))
    for field in Field:
        told.append(in_fields(Unclear("Expected one", field, "{x}")))
        assert told[-1].startswith("Expected one; ")
    assert not any("COLUMN" in text or "--" in text for text in told)
    assert "VALUE=accept" in page_text(put(app, "text_input", WORDS, "fine"))
    assert "Expected" not in page_text(put(app, "text_input", WORDS, "fine=accept"))
    for data in (b"", b"anchor\nx\n", b"\x89PNG\r\n\x1a\n", b"a,b\n1,\xe9\n"):
        assert "broken.csv" in page_text(upload_data(app, data, "broken.csv"))


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
    assert "line 3" in page_text(app)  # without an anchor
    assert HOSTILE not in unsafe_texts(app)
    press(app, "variants-import")
    (run,) = runs(app_engine)
    assert started == [run.id] and f"Run {run.id}" in page_text(app)
    with writing(app_engine) as session:
        failed = session.get_one(Run, run.id)
        failed.sqlmodel_update({"state": RunState.FAILED, "message": "The disk is full."})
    assert "The disk is full." in page_text(app.run())
    press(app, f"again-{run.id}")
    assert runs(app_engine)[0].state is RunState.QUEUED
    execute(app_engine, load_settings(), run.id, WORK)
    app.run()
    assert "2 anchors, 2 variants and 2 verdicts" in page_text(app)
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
    assert "'test'" in page_text(app) and ANCHOR in page_text(
        app
    )  # which belongs to another source
    statuses = {row["Variant"]: row["Result"].partition(";")[0] for row in rows(app, "Result")}
    assert statuses[TEXTS["verbal"]] == "Already exists"
    assert statuses[TEXTS["affixal"]].startswith("Left out")


# -- corpora ---------------------------------------------------------------------------


CORPUS = CORPORA["antonyms"]
LOAD, ACCEPT, UNDO = f"load-{CORPUS.id}", f"accept-{CORPUS.id}", f"undo-{CORPUS.id}"


@pytest.fixture
def some_loaded(app_engine: Engine) -> Engine:
    """A project with the first sentences of a corpus."""
    with writing(app_engine) as session:
        seed_taxonomy(session)
        run = create_run(session, kind=LOAD_CORPUS, parameters=corpora.parameters(CORPUS))
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
        assert corpus.about in page_text(app) and f"{corpus.anchors:,} anchors" in page_text(app)
        whole = corpus.readme.partition("\n")[2].replace("\n## ", "\n### ").strip()
        assert whole in drawn(app, "markdown")
        assert f"load-{corpus.id}" in keys(app)
    press(app, "load-claims")
    with reading(app_engine) as session:
        (run,) = [get_run(session, number) for number in started]
    assert (run.kind, run.parameters) == (LOAD_CORPUS, {"corpus": "claims", "accept_by": None})
    assert f"Run {run.id}" in page_text(app)
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
        run = create_run(session, kind=LOAD_CORPUS, parameters=corpora.parameters(CORPUS))
        run.sqlmodel_update(values)
    app = opened(open_page)
    assert fact in page_text(app)
    assert (LOAD in keys(app)) == (state is not RunState.RUNNING)


def test_one_click_accepts_unflagged_variants_and_one_undoes_it(
    some_loaded: Engine, open_page: OpenPage, wording: Wording
) -> None:
    app = opened(open_page)
    assert "20 of its 12,344 anchors" in page_text(app)
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


CSV = (
    "text,genre\nThe bridge is safe.,news\nThe ferry is late.,\nThe bridge is safe.,news\n"
    f'Is it open?,news\n,news\n"{HOSTILE}",law\n'
)


def upload_anchors(app: AppTest, data: str | bytes, name: str = "mine.csv") -> AppTest:
    raw = data.encode() if isinstance(data, str) else data
    return app.file_uploader[0].set_value((name, raw, "text/plain")).run()


def label_of_adding(app: AppTest) -> str:
    """The label of the button that adds the anchors, which has their numbers."""
    assert not app.exception
    found: str = app.button(key="anchors-add").label
    return found


def stored(engine: Engine) -> list[str]:
    with reading(engine) as session:
        query = select(col(AnchorRevision.text)).order_by(col(AnchorRevision.anchor_id))
        return list(session.execute(query).scalars())


@pytest.fixture
def adding(open_page: OpenPage, app_engine: Engine) -> AppTest:
    return open_page("anchors", part="Add")


def test_a_file_is_shown_row_by_row_and_added_once(
    adding: AppTest, app_engine: Engine, open_page: OpenPage, wording: Wording
) -> None:
    app = upload_anchors(adding, CSV)
    found = rows(app, "Result")
    results = ["New", "New", "Duplicate", "Suspicious", "Left out", "Suspicious"]
    assert [row["Result"] for row in found] == results
    assert "line 2" in str(found[2]["Why"])
    wording(app, "anchors", "a file to add")
    assert stored(app_engine) == []
    put(app, "text_input", "anchors-licence", "CC0")
    put(app, "text_input", "anchors-genre", "prose")
    assert label_of_adding(app) == "Add 2 anchors"
    put(app, "checkbox", "anchors-include", True)
    press(app, "anchors-add")
    wording(app, "anchors", "anchors added")
    added = ["The bridge is safe.", "The ferry is late.", "Is it open?", HOSTILE]
    assert stored(app_engine) == added
    with reading(app_engine) as session:
        genres = session.execute(select(col(Anchor.genre)).order_by(col(Anchor.id))).scalars()
        assert list(genres) == ["news", "prose", "news", "law"]
        assert session.execute(select(col(Source.licence))).scalars().all() == ["CC0"]
    app.run()  # a rerun adds nothing
    assert stored(app_engine) == added and "anchors-add" not in keys(app)
    assert press(app, "anchors-more").file_uploader
    overview = open_page("overview")  # the next step is to write variants of them
    assert links(overview) == ["Generate"] and "4 anchors" in page_text(overview)
    assert rows(overview, "Anchors")[-1]["Anchors"] == 4


def test_added_anchors_are_browsed_without_a_warning_and_lead_to_generate(
    adding: AppTest, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    """The Add button chooses a value for a control with a default. In an app, Streamlit would warn
    about that once."""
    app = press(upload_anchors(adding, "text\nThe bridge is safe.\n"), "anchors-add")
    assert "anchors-review" not in keys(app)
    options = tomllib.loads(OPTIONS.read_text(encoding="utf-8"))["global"]
    as_served = SimpleNamespace(get_option=lambda name: options[name.removeprefix("global.")])
    with monkeypatch.context() as patch:
        patch.setattr(policies, "config", as_served)
        patch.setattr(policies, "runtime", SimpleNamespace(exists=lambda: True))
        patch.setattr(policies, "_shown_default_value_warning", False)
        press(app, "anchors-browse")
    assert (app.session_state["part"], app.session_state["show"]) == ("Browse", "Without variants")
    assert app.selectbox(key="anchors-source").value == "mine"
    assert "default value" not in caplog.text
    app.session_state["part"] = "Add"
    press(
        press(upload_anchors(app.run(), "text\nThe ferry is late.\n"), "anchors-add"),
        "anchors-generate",
    )
    assert app.title[0].value == "Generate"
    assert app.selectbox(key="generate-which").value is Which.WITHOUT
    assert app.selectbox(key="generate-source").value == "mine"


def test_pasted_rows_need_a_source_and_are_sampled(
    signed_in: None, adding: AppTest, app_engine: Engine
) -> None:
    app = put(adding, "button_group", "anchors-way", "paste")
    pasted = [*(f"The road number {n} is dry." for n in range(20)), "Is it?"]
    put(app, "text_area", "anchors-text", "\n".join(pasted))
    assert app.button(key="anchors-add").disabled
    put(app, "text_input", "anchors-source", "roads")
    put(app, "checkbox", "anchors-include", True)
    assert label_of_adding(app) == "Add 21 anchors"
    put(app, "number_input", "anchors-sample", 5)
    press(app, "anchors-add")
    assert len(stored(app_engine)) == 5
    with reading(app_engine) as session:
        run = session.execute(select(Run).where(col(Run.kind) == ADD_ANCHORS)).scalar_one()
        assert run.parameters["sample"] == 5 and run.parameters["include_suspicious"] is True
        authors = set(session.execute(select(col(AnchorRevision.author_id))).scalars())
        assert [session.get_one(Reviewer, author).name for author in authors] == ["Ada"]


def test_unreadable_and_hostile_files_are_described(adding: AppTest, app_engine: Engine) -> None:
    for data, name, fact in (
        (b"\x89PNG\r\n\x1a\n\0\0", "photo.csv", "PNG"),
        ("text\nCafé\n".encode("latin-1"), "a.csv", "line 2 has the byte 0xE9"),
        (b'text,n\n"a,1\n', "a.csv", "line 2"),
        (b'{"text":1,"id":"The road is dry."}\n', "a.jsonl", "'text'"),
    ):
        app = upload_anchors(adding, data, name)
        assert not app.exception
        assert fact in page_text(app)
        assert "anchors-add" not in keys(app) and stored(app_engine) == []
    put(app, "selectbox", "anchors-column", "id")  # instead of the likely one
    assert rows(app, "Result")[0]["Text"] == "The road is dry."
    app = upload_anchors(app, f'"{HOSTILE}",text\n"{HOSTILE}","{HOSTILE}"\n', f"{HOSTILE}.csv")
    assert rows(app, "Result")[0]["Text"] == HOSTILE
    put(app, "checkbox", "anchors-include", True)
    press(app, "anchors-add")
    assert HOSTILE in page_text(app)  # the source, named after the file
    assert "**bold**" not in unsafe_texts(app)


def test_a_file_is_checked_against_what_the_project_has_by_now(
    adding: AppTest, app_engine: Engine
) -> None:
    app = upload_anchors(adding, CSV)
    with writing(app_engine) as session:
        session.add(Source(name="mine", licence="CC0"))
        theirs = preview(session, read_pasted("The bridge is safe."), column="text")
        add_anchors(engine_of(session), theirs, theirs.chosen(), about=About(source="theirs"))
    press(app, "anchors-add")  # somebody else has added one of them meanwhile
    assert stored(app_engine) == ["The bridge is safe."]
    assert label_of_adding(app) == "Add 1 anchor"
    put(app, "text_input", "anchors-licence", "MIT")  # the source has another licence
    assert "CC0" in page_text(app) and "anchors-add" not in keys(app)


NLI = (
    "premise,entailment,contradiction\n"
    "A dog runs on the beach.,An animal is outside.,No dog runs.\n"
    f'A man plays the guitar.,"{HOSTILE}",\n'
)


def test_entailments_and_contradictions_are_added_with_their_anchors(
    adding: AppTest, app_engine: Engine, started: list[int]
) -> None:
    app = upload_anchors(adding, NLI, "nli.csv")
    assert "2 entailments and 1 contradiction" in page_text(app)
    named(app, "selectbox", "anchors-contradiction").select_index(0).run()
    put(app, "checkbox", "anchors-accept", True)
    assert label_of_adding(app) == "Add 2 anchors and 2 variants"
    press(app, "anchors-add")
    assert "**bold**" not in unsafe_texts(app)
    with reading(app_engine) as session:
        assert [session.get_one(Run, number).kind for number in started] == ["diagnose"]
        query = select(col(Variant.type_id), col(Variant.text), col(Variant.status))
        assert {tuple(row) for row in session.execute(query)} == {
            ("entailment", "An animal is outside.", Status.ACCEPTED),
            ("entailment", HOSTILE, Status.ACCEPTED),
        }
    press(app, "anchors-browse")
    assert app.session_state["show"] == "In use" and "2 anchors" in page_text(app)
    app.session_state["part"] = "Add"
    app = upload_anchors(app.run(), NLI, "nli.csv")
    assert "0 entailments and 1 contradiction" in page_text(app)
    assert label_of_adding(app) == "Add 0 anchors and 1 variant"
    press(press(app, "anchors-add"), "anchors-review")
    assert app.title[0].value == "Review"


def test_the_chart_compares_these_with_the_paper() -> None:
    found = lengths([" ".join(["word"] * count) for count in (3, 10, 20, 40)])
    spec = json.loads(chart(found, dark=False).to_json())
    shares = {(row["of"], row["band"]): row["share"] for row in spec["data"]["values"]}
    assert shares["these anchors", "fewer than 15 words"] == 0.5
    assert shares["these anchors", "more than 30"] == 0.25
    assert shares["the paper", "more than 30"] == 0.1
    for name in ("these anchors", "the paper"):
        assert sum(share for (of, _), share in shares.items() if of == name) == pytest.approx(1)
    assert "50%" in in_words(found)
