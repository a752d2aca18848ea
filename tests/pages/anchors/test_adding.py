"""Adding anchors on the Anchors page: the preview of a file, and one button that adds once."""

import json
import tomllib
from types import SimpleNamespace

import pytest
from sqlalchemy import Engine, select
from sqlmodel import col
from streamlit.elements.lib import policies
from streamlit.testing.v1 import AppTest

from cli.serve import OPTIONS
from curation.anchors.importing.insert import KIND, About, add_anchors
from curation.anchors.importing.labels import read_pasted
from curation.anchors.importing.preview import preview
from curation.anchors.importing.sample import lengths
from curation.generation.request import Which
from db.engine import reading, writing
from db.models import Anchor, AnchorRevision, Reviewer, Run, Source, Status, Variant
from pages.components.anchors.file_rows import chart, in_words
from tests.pages.conftest import OpenPage, Wording, unsafe_texts
from tests.pages.looks import keys, links, named, press, put, rows, texts

HOSTILE = "<img src=x onerror=alert(1)> **bold** $x$ [a](javascript:1)"
CSV = (
    "text,genre\nThe bridge is safe.,news\nThe ferry is late.,\nThe bridge is safe.,news\n"
    f'Is it open?,news\n,news\n"{HOSTILE}",law\n'
)


def upload(app: AppTest, data: str | bytes, name: str = "mine.csv") -> AppTest:
    raw = data.encode() if isinstance(data, str) else data
    return app.file_uploader[0].set_value((name, raw, "text/plain")).run()


def label(app: AppTest) -> str:
    """The label of the button that adds the anchors, which has their numbers."""
    assert not app.exception
    found: str = app.button(key="anchors-add").label
    return found


def stored(engine: Engine) -> list[str]:
    with reading(engine) as session:
        query = select(col(AnchorRevision.text)).order_by(col(AnchorRevision.anchor_id))
        return list(session.execute(query).scalars())


@pytest.fixture
def page(open_page: OpenPage, app_engine: Engine) -> AppTest:
    return open_page("anchors", part="Add")


def test_a_file_is_shown_row_by_row_and_added_once(
    page: AppTest, app_engine: Engine, open_page: OpenPage, wording: Wording
) -> None:
    app = upload(page, CSV)
    found = rows(app, "Result")
    results = ["New", "New", "Duplicate", "Suspicious", "Left out", "New"]
    assert [row["Result"] for row in found] == results
    assert "line 2" in str(found[2]["Why"])
    wording(app, "anchors", "a file to add")
    assert stored(app_engine) == []
    put(app, "text_input", "anchors-licence", "CC0")
    put(app, "text_input", "anchors-genre", "prose")
    assert label(app) == "Add 3 anchors"
    press(app, "anchors-add")
    wording(app, "anchors", "anchors added")
    added = ["The bridge is safe.", "The ferry is late.", HOSTILE]
    assert stored(app_engine) == added
    with reading(app_engine) as session:
        genres = session.execute(select(col(Anchor.genre)).order_by(col(Anchor.id))).scalars()
        assert list(genres) == ["news", "prose", "law"]
        assert session.execute(select(col(Source.licence))).scalars().all() == ["CC0"]
    app.run()  # a rerun adds nothing
    assert stored(app_engine) == added and "anchors-add" not in keys(app)
    assert press(app, "anchors-more").file_uploader
    overview = open_page("overview")  # the next step is to write variants of them
    assert links(overview) == ["Generate"] and "3 anchors" in texts(overview)
    assert rows(overview, "Anchors")[-1]["Anchors"] == 3


def test_added_anchors_are_browsed_without_a_warning_and_lead_to_generate(
    page: AppTest, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    """The Add button chooses a value for a control with a default. In an app, Streamlit would warn
    about that once."""
    app = press(upload(page, "text\nThe bridge is safe.\n"), "anchors-add")
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
    press(press(upload(app.run(), "text\nThe ferry is late.\n"), "anchors-add"), "anchors-generate")
    assert app.title[0].value == "Generate"
    assert app.selectbox(key="generate-which").value is Which.WITHOUT
    assert app.selectbox(key="generate-source").value == "mine"


def test_pasted_rows_need_a_source_and_are_sampled(
    signed_in: None, page: AppTest, app_engine: Engine
) -> None:
    app = put(page, "button_group", "anchors-way", "paste")
    pasted = [*(f"The road number {n} is dry." for n in range(20)), "Is it?"]
    put(app, "text_area", "anchors-text", "\n".join(pasted))
    assert app.button(key="anchors-add").disabled
    put(app, "text_input", "anchors-source", "roads")
    put(app, "checkbox", "anchors-include", True)
    assert label(app) == "Add 21 anchors"
    put(app, "number_input", "anchors-sample", 5)
    press(app, "anchors-add")
    assert len(stored(app_engine)) == 5
    with reading(app_engine) as session:
        run = session.execute(select(Run).where(col(Run.kind) == KIND)).scalar_one()
        assert run.parameters["sample"] == 5 and run.parameters["include_suspicious"] is True
        authors = set(session.execute(select(col(AnchorRevision.author_id))).scalars())
        assert [session.get_one(Reviewer, author).name for author in authors] == ["Ada"]


def test_unreadable_and_hostile_files_are_described(page: AppTest, app_engine: Engine) -> None:
    for data, name, fact in (
        (b"\x89PNG\r\n\x1a\n\0\0", "photo.csv", "PNG"),
        ("text\nCafé\n".encode("latin-1"), "a.csv", "line 2 has the byte 0xE9"),
        (b'text,n\n"a,1\n', "a.csv", "line 2"),
        (b'{"text":1,"id":"The road is dry."}\n', "a.jsonl", "'text'"),
    ):
        app = upload(page, data, name)
        assert not app.exception
        assert fact in texts(app)
        assert "anchors-add" not in keys(app) and stored(app_engine) == []
    put(app, "selectbox", "anchors-column", "id")  # instead of the likely one
    assert rows(app, "Result")[0]["Text"] == "The road is dry."
    app = upload(app, f'"{HOSTILE}",text\n"{HOSTILE}","{HOSTILE}"\n', f"{HOSTILE}.csv")
    assert rows(app, "Result")[0]["Text"] == HOSTILE
    press(app, "anchors-add")
    assert HOSTILE in texts(app)  # the source, named after the file
    assert "**bold**" not in unsafe_texts(app)


def test_a_file_is_checked_against_what_the_project_has_by_now(
    page: AppTest, app_engine: Engine
) -> None:
    app = upload(page, CSV)
    with writing(app_engine) as session:
        session.add(Source(name="mine", licence="CC0"))
        theirs = preview(session, read_pasted("The bridge is safe."), column="text")
        add_anchors(session, theirs, theirs.chosen(), about=About(source="theirs"))
    press(app, "anchors-add")  # somebody else has added one of them meanwhile
    assert stored(app_engine) == ["The bridge is safe."]
    assert label(app) == "Add 2 anchors"
    put(app, "text_input", "anchors-licence", "MIT")  # the source has another licence
    assert "CC0" in texts(app) and "anchors-add" not in keys(app)


NLI = (
    "premise,entailment,contradiction\n"
    "A dog runs on the beach.,An animal is outside.,No dog runs.\n"
    f'A man plays the guitar.,"{HOSTILE}",\n'
)


def test_entailments_and_contradictions_are_added_with_their_anchors(
    page: AppTest, app_engine: Engine, started: list[int]
) -> None:
    app = upload(page, NLI, "nli.csv")
    assert "2 entailments and 1 contradiction" in texts(app)
    named(app, "selectbox", "anchors-contradiction").select_index(0).run()
    put(app, "checkbox", "anchors-accept", True)
    assert label(app) == "Add 2 anchors and 2 variants"
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
    assert app.session_state["show"] == "In use" and "2 anchors" in texts(app)
    app.session_state["part"] = "Add"
    app = upload(app.run(), NLI, "nli.csv")
    assert "0 entailments and 1 contradiction" in texts(app)
    assert label(app) == "Add 0 anchors and 1 variant"
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
