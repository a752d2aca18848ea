"""Adding anchors on the Anchors page: the preview of a file, and one button that adds once."""

import json
import tomllib
from types import SimpleNamespace

import pytest
from sqlalchemy import Engine, func, select
from sqlmodel import col
from streamlit.elements.lib import policies
from streamlit.testing.v1 import AppTest

from cli.serve import OPTIONS
from curation.anchors.importing.formats import read_pasted
from curation.anchors.importing.insert import KIND, About, add_anchors
from curation.anchors.importing.preview import preview
from curation.anchors.importing.sample import lengths
from curation.generation.request import Which
from db.engine import reading, writing
from db.models import Anchor, AnchorRevision, Reviewer, Run, Source, Status, Variant
from pages.components.anchors.file_rows import chart, in_words
from pages.components.shared.shell import open_project
from tests.pages.conftest import OpenPage, unsafe_texts

HOSTILE = "<img src=x onerror=alert(1)> **bold** $x$ [a](javascript:1)"
CSV = (
    "text,genre\nThe bridge is safe.,news\nThe ferry is late.,\nThe bridge is safe.,news\n"
    f'Is it open?,news\n,news\n"{HOSTILE}",law\n'
)


def upload(app: AppTest, data: str | bytes, name: str = "mine.csv") -> AppTest:
    raw = data.encode() if isinstance(data, str) else data
    return app.file_uploader[0].set_value((name, raw, "text/plain")).run()


def paste(app: AppTest, text: str) -> AppTest:
    app.segmented_control(key="anchors-way").set_value("paste").run()
    return widget(app.text_area, "anchors-text").set_value(text).run()


def widget(widgets: object, key: str):  # type: ignore[no-untyped-def]  # any kind of widget
    """The widget whose key begins like this; the end identifies the file."""
    (found,) = [w for w in widgets if (w.key or "").startswith(key)]  # type: ignore[attr-defined]
    return found


def shown_rows(app: AppTest) -> list[dict[str, object]]:
    (table,) = [f.value for f in app.dataframe if "Result" in f.value.columns]
    return table.to_dict("records")


def texts(app: AppTest) -> str:
    return "\n".join(text.value for text in app.text)


def stored(engine: Engine) -> list[str]:
    with reading(engine) as session:
        query = select(col(AnchorRevision.text)).order_by(col(AnchorRevision.anchor_id))
        return list(session.execute(query).scalars())


@pytest.fixture
def page(open_page: OpenPage) -> AppTest:
    return open_page("anchors")


def test_a_file_is_shown_row_by_row_and_added_on_request(page: AppTest, app_engine: Engine) -> None:
    app = upload(page, CSV)
    assert not app.exception
    assert [row["Result"] for row in shown_rows(app)] == [
        "New",
        "New",
        "Duplicate",
        "Suspicious",
        "Impossible",
        "New",
    ]
    assert shown_rows(app)[2]["Why"] == "It repeats line 2."
    assert stored(app_engine) == []
    widget(app.text_input, "anchors-licence").set_value("CC0")
    widget(app.text_input, "anchors-genre").set_value("prose").run()
    button = app.button(key="anchors-add")
    assert button.label == "Add 3 anchors"
    button.click().run()
    assert not app.exception
    assert "Added 3 anchors from the source 'mine'." in texts(app)
    assert stored(app_engine) == ["The bridge is safe.", "The ferry is late.", HOSTILE]
    with reading(app_engine) as session:
        genres = session.execute(select(col(Anchor.genre)).order_by(col(Anchor.id))).scalars()
        assert list(genres) == ["news", "prose", "law"]
        assert session.execute(select(col(Source.licence))).scalars().all() == ["CC0"]
    app.run()  # a rerun adds nothing
    assert len(stored(app_engine)) == 3
    assert "anchors-add" not in [b.key for b in app.button]
    app.button(key="anchors-browse").click().run()
    assert app.session_state["part"] == "Browse"
    assert app.selectbox(key="anchors-source").value == "mine"
    assert "3 anchors." in texts(app)


def test_browsing_the_added_anchors_leaves_no_warning_in_the_log(
    page: AppTest, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    """The Add button chooses a value for a control with a default. In an app, Streamlit would warn
    about that once."""
    app = upload(page, "text\nThe bridge is safe.\n")
    app.button(key="anchors-add").click().run()
    options = tomllib.loads(OPTIONS.read_text(encoding="utf-8"))["global"]
    as_served = SimpleNamespace(get_option=lambda name: options[name.removeprefix("global.")])
    monkeypatch.setattr(policies, "config", as_served)
    monkeypatch.setattr(policies, "runtime", SimpleNamespace(exists=lambda: True))
    monkeypatch.setattr(policies, "_shown_default_value_warning", False)
    app.button(key="anchors-browse").click().run()
    assert app.session_state["show"] == "Without variants"
    assert "default value" not in caplog.text


def test_added_anchors_lead_to_generate(page: AppTest) -> None:
    app = upload(page, "text\nThe bridge is safe.\n")
    app.button(key="anchors-add").click().run()
    assert not any(button.key == "anchors-review" for button in app.button)
    app.button(key="anchors-generate").click().run()
    assert not app.exception
    assert app.title[0].value == "Generate"
    assert app.selectbox(key="generate-which").value is Which.WITHOUT
    assert app.selectbox(key="generate-source").value == "mine"


def test_anchors_added_with_variants_lead_to_review(page: AppTest, started: list[int]) -> None:
    app = upload(page, "premise,entailment\nA dog runs on the beach.,An animal is outside.\n")
    app.button(key="anchors-add").click().run()
    assert any(button.key == "anchors-generate" for button in app.button)
    app.button(key="anchors-review").click().run()
    assert not app.exception
    assert app.title[0].value == "Review"


def test_hostile_texts_names_and_files_are_never_markdown(page: AppTest) -> None:
    data = f'"{HOSTILE}",text\n"{HOSTILE}","{HOSTILE}"\n'
    app = upload(page, data, f"{HOSTILE}.csv")
    assert shown_rows(app)[0]["Text"] == HOSTILE
    app.button(key="anchors-add").click().run()
    assert HOSTILE in texts(app)  # the source, named after the file
    assert "**bold**" not in unsafe_texts(app)


def test_suspicious_rows_and_a_sample_can_be_chosen(page: AppTest, app_engine: Engine) -> None:
    app = paste(page, "\n".join([*(f"The road number {n} is dry." for n in range(20)), "Is it?"]))
    widget(app.text_input, "anchors-source").set_value("roads").run()
    widget(app.checkbox, "anchors-include").check().run()
    assert app.button(key="anchors-add").label == "Add 21 anchors"
    widget(app.number_input, "anchors-sample").set_value(5).run()
    app.button(key="anchors-add").click().run()
    assert len(stored(app_engine)) == 5
    with reading(app_engine) as session:
        run = session.execute(select(Run).where(col(Run.kind) == KIND)).scalar_one()
        assert run.parameters["sample"] == 5 and run.parameters["include_suspicious"] is True


def test_without_a_source_nothing_can_be_added(page: AppTest) -> None:
    app = paste(page, "The road is dry.")
    assert app.button(key="anchors-add").disabled
    assert "Enter the name of the source" in "".join(caption.value for caption in app.caption)


def test_the_signed_in_person_is_the_author(
    open_page: OpenPage, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HEDGEROW_REVIEWER", "Ada")
    app = upload(open_page("anchors"), "text\nThe road is dry.\n")
    app.button(key="anchors-add").click().run()
    with reading(open_project.engine()) as session:
        author = session.execute(select(col(AnchorRevision.author_id))).scalar_one()
        assert session.get_one(Reviewer, author).name == "Ada"


@pytest.mark.parametrize(
    ("data", "name", "expected"),
    [
        (b"\x89PNG\r\n\x1a\n\0\0", "photo.csv", "photo.csv is a PNG image"),
        ("text\nCafé\n".encode("latin-1"), "a.csv", "a.csv is not UTF-8: line 2 has the byte 0xE9"),
        (b'text,n\n"a,1\n', "a.csv", "opened on line 2"),
        (b'{"text":1,"id":"x"}\n', "a.jsonl", "Expected a string in 'text'"),
    ],
)
def test_an_unreadable_file_is_reported_in_one_sentence(
    page: AppTest, app_engine: Engine, data: bytes, name: str, expected: str
) -> None:
    app = upload(page, data, name)
    assert not app.exception
    assert expected in texts(app)
    assert "anchors-add" not in [button.key for button in app.button]
    assert stored(app_engine) == []


def test_another_column_can_be_chosen_if_the_likely_one_is_refused(page: AppTest) -> None:
    app = upload(page, b'{"text":1,"id":"The road is dry."}\n', "a.jsonl")
    widget(app.selectbox, "anchors-column").set_value("id").run()
    assert shown_rows(app)[0]["Text"] == "The road is dry."


def test_a_source_with_another_licence_is_reported_and_nothing_added(
    page: AppTest, app_engine: Engine
) -> None:
    with writing(app_engine) as session:
        session.add(Source(name="mine", licence="CC0"))
    app = upload(page, CSV)
    widget(app.text_input, "anchors-licence").set_value("MIT").run()
    assert "enter the same licence" in texts(app)
    assert "anchors-add" not in [button.key for button in app.button]


def test_rows_that_somebody_else_added_meanwhile_are_duplicates(
    page: AppTest, app_engine: Engine
) -> None:
    app = upload(page, CSV)
    with writing(app_engine) as session:
        shown = preview(session, read_pasted("The bridge is safe."), column="text")
        add_anchors(session, shown, shown.chosen(), about=About(source="theirs"))
    app.button(key="anchors-add").click().run()
    assert "Nothing was changed" in texts(app)
    assert stored(app_engine) == ["The bridge is safe."]
    assert app.button(key="anchors-add").label == "Add 2 anchors"


def test_anchors_without_variants_are_the_next_step(
    open_page: OpenPage, page: AppTest, app_engine: Engine
) -> None:
    app = upload(page, "text\nThe road is dry.\nThe sky is blue.\n")
    app.button(key="anchors-add").click().run()
    overview = open_page("overview")
    assert not overview.exception
    assert "2 anchors have no variants yet." in texts(overview)
    assert [link.label for link in overview.get("page_link")] == ["Generate"]
    assert overview.dataframe[0].value["Anchors"].tolist()[-1] == 2
    with reading(app_engine) as session:
        assert session.execute(select(func.count()).select_from(Anchor)).scalar_one() == 2


NLI = (
    "premise,entailment,contradiction\n"
    "A dog runs on the beach.,An animal is outside.,No dog runs.\n"
    f'A man plays the guitar.,"{HOSTILE}",\n'
)


def test_entailments_and_contradictions_are_shown_with_their_anchors(
    page: AppTest, app_engine: Engine, monkeypatch: pytest.MonkeyPatch
) -> None:
    started: list[str] = []
    monkeypatch.setattr("pages.components.shared.runs.background.ensure", started.append)
    app = upload(page, NLI, "nli.csv")
    assert not app.exception
    assert "Paired texts: 2 entailments and 1 contradiction." in texts(app)
    widget(app.selectbox, "anchors-contradiction").select_index(0).run()
    assert "Paired texts: 2 entailments." in texts(app)
    widget(app.checkbox, "anchors-accept").check().run()
    assert app.button(key="anchors-add").label == "Add 2 anchors and 2 variants"
    app.button(key="anchors-add").click().run()
    assert not app.exception and started == ["diagnose"]
    assert "Added 2 anchors and 2 variants from the source 'nli'." in texts(app)
    assert "**bold**" not in unsafe_texts(app)
    with reading(app_engine) as session:
        query = select(col(Variant.type_id), col(Variant.text), col(Variant.status))
        assert {tuple(row) for row in session.execute(query)} == {
            ("entailment", "An animal is outside.", Status.ACCEPTED),
            ("entailment", HOSTILE, Status.ACCEPTED),
        }
    app.button(key="anchors-browse").click().run()
    assert app.session_state["show"] == "In use" and "2 anchors." in texts(app)
    app.session_state["part"] = "Add"
    app = upload(app.run(), NLI, "nli.csv")
    assert (
        "Paired texts: 0 entailments and 1 contradiction. Left out: 2 that already exist."
        in texts(app)
    )
    assert app.button(key="anchors-add").label == "Add 0 anchors and 1 variant"


def test_the_chart_compares_these_with_the_paper() -> None:
    found = lengths([" ".join(["word"] * count) for count in (3, 10, 20, 40)])
    spec = json.loads(chart(found, dark=False).to_json())
    shares = {(row["of"], row["band"]): row["share"] for row in spec["data"]["values"]}
    assert shares["these anchors", "fewer than 15 words"] == 0.5
    assert shares["these anchors", "more than 30"] == 0.25
    assert shares["the paper", "more than 30"] == 0.1
    for name in ("these anchors", "the paper"):
        assert sum(share for (of, _), share in shares.items() if of == name) == pytest.approx(1)
    assert "50% of these anchors have fewer than 15 words" in in_words(found)
