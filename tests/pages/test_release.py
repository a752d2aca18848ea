"""Freezing accepted variants and downloading a release on the Release & export page."""

import zipfile
from pathlib import Path

import pytest
from sqlalchemy import Engine
from sqlalchemy.orm import Session
from streamlit.testing.v1 import AppTest

from curation.release.export import export_run
from curation.release.freezing import get_release, list_releases
from curation.release.selection import selection_of
from curation.review.actions import accept, reject, shown
from curation.taxonomy.built_in import TAXONOMY
from db.columns import now
from db.engine import reading, writing
from db.execution import execute
from db.models import Run, RunState, Variant
from db.runs import create_run, list_runs
from pages.components.shared.shell import open_project
from tests.pages.conftest import OpenPage, unsafe_texts
from tests.support.factories import add_family, person

HOSTILE = "<img src=x onerror=alert(1)> **bold** $x$ =1+1"


def texts(app: AppTest) -> str:
    return "\n".join(text.value for text in app.text)


def said(app: AppTest) -> str:
    return "\n".join(element.value for kind in ("markdown", "success") for element in app.get(kind))


NOW, RELEASES, CHOSEN = range(3)
"""The page's tables after a release was created."""


def table(app: AppTest, which: int) -> dict[str, dict[str, int]]:
    """Type → column → number."""
    return {row.pop("Type"): row for row in app.dataframe[which].value.to_dict("records")}


@pytest.fixture
def families(with_source: Engine) -> list[dict[str, Variant]]:
    """Two families. The first one is accepted: 12 triples."""
    with writing(with_source) as session:
        found = [add_family(session, f"Bridge {n} is safe.") for n in range(2)]
        decide(session, list(found[0].values()))
    return found


def decide(session: Session, variants: list[Variant], *, good: bool = True) -> None:
    ada = person(session)
    for variant in variants:
        card = shown(session.get_one(Variant, variant.id), at=now())
        if good:
            accept(session, card, reviewer_id=ada)
        else:
            reject(session, card, reviewer_id=ada, reason="wrong_type")


def downloads(app: AppTest) -> list[str]:
    """The labels of the download buttons of exports."""
    labels = [button.label for button in app.get("download_button")]
    return [label for label in labels if label.startswith("Download the zip")]


def freeze(app: AppTest, name: str = "") -> AppTest:
    app.text_input(key="release-name").set_value(name)
    button = next(b for b in app.button if b.label == "Freeze a release")
    return button.click().run()


def carry_out(engine: Engine) -> None:
    """Execute the newest run in this process."""
    with reading(engine) as session:
        run = list_runs(session)[0]
    execute(engine, open_project.settings(), run.id, {"export": export_run.work})


def test_without_variants_it_links_to_generating_some(open_page: OpenPage) -> None:
    app = open_page("release")
    assert [link.label for link in app.get("page_link")] == ["Go to Overview"]
    assert not app.text_input


def test_without_accepted_variants_the_page_links_to_review(
    with_source: Engine, open_page: OpenPage
) -> None:
    with writing(with_source) as session:
        add_family(session)
    app = open_page("release")
    assert "Accept some to freeze a release" in said(app)
    assert [link.label for link in app.get("page_link")] == ["Review"]
    assert not app.text_input
    assert not app.selectbox


def test_the_contents_of_a_release_are_shown_before_freezing(
    families: list[dict[str, Variant]], open_page: OpenPage
) -> None:
    app = open_page("release")
    assert (
        "A release would contain 7 accepted variants of 1 anchor, and 12 triples. There "
        "is no release yet." in said(app)
    )
    counts = table(app, NOW)
    assert counts["Verbal negation"]["All"] == 1
    assert counts["All variants"]["All"] == 7
    assert counts["Triples"]["All"] == 12
    assert sum(counts["Triples"][split] for split in ("Training", "Validation", "Test")) == 12


def test_freezing_makes_a_release_with_name_and_author(
    families: list[dict[str, Variant]],
    open_page: OpenPage,
    app_engine: Engine,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("HEDGEROW_REVIEWER", "Ada")
    open_project.settings.clear()
    app = freeze(open_page("release"), HOSTILE)
    assert not app.exception
    assert "Release 1 is frozen." in said(app)
    with reading(app_engine) as session:
        release = get_release(session)
        assert (release.name, release.author_id) == (HOSTILE, person(session))
        assert release.summary["triples"] == 12
    listed = app.dataframe[RELEASES].value
    assert listed["Name"].tolist() == [HOSTILE]
    assert listed["By"].tolist() == ["Ada"]
    assert release.content_hash.startswith(listed["Hash"].tolist()[0])
    assert HOSTILE in texts(app)
    assert "**bold**" not in unsafe_texts(app)


def test_without_a_name_to_sign_with_a_release_has_no_author(
    families: list[dict[str, Variant]],
    open_page: OpenPage,
    app_engine: Engine,
) -> None:
    freeze(open_page("release"))
    with reading(app_engine) as session:
        assert get_release(session).author_id is None


def test_the_same_content_creates_no_second_release(
    families: list[dict[str, Variant]], open_page: OpenPage, app_engine: Engine
) -> None:
    app = freeze(open_page("release"), "one")
    assert "The variants are the same as in release 1. Freeze them again only if" in said(app)
    app = freeze(app, "two")
    assert "Nothing has changed since release 1" in said(app)
    with reading(app_engine) as session:
        assert [release.name for release in list_releases(session)] == ["one"]


def test_changes_since_the_newest_release_are_counted_by_type(
    families: list[dict[str, Variant]], open_page: OpenPage, app_engine: Engine
) -> None:
    freeze(open_page("release"))
    with writing(app_engine) as session:
        decide(session, [families[1]["word"], families[1]["verbal"]])
        decide(session, [families[0]["verbal"]], good=False)
    app = open_page("release")
    assert "Since release 1: 2 added, 1 removed." in said(app)
    counts = table(app, NOW)
    assert (counts["Verbal negation"]["Added"], counts["Verbal negation"]["Removed"]) == (1, 1)
    assert (counts["All variants"]["Added"], counts["All variants"]["Removed"]) == (2, 1)


def test_an_older_release_keeps_its_contents(
    families: list[dict[str, Variant]], open_page: OpenPage, app_engine: Engine
) -> None:
    app = freeze(open_page("release"))
    with writing(app_engine) as session:
        decide(session, list(families[1].values()))
    app = freeze(app)
    assert app.selectbox(key="release-chosen").value == 2
    assert table(app, CHOSEN)["All variants"]["All"] == 14
    app = app.selectbox(key="release-chosen").set_value(1).run()
    assert table(app, CHOSEN)["All variants"]["All"] == 7
    assert "Release 1: 7 variants" in texts(app)
    assert "Download release 1" in [heading.value for heading in app.header]


def test_an_export_is_followed_and_then_downloaded(
    families: list[dict[str, Variant]],
    open_page: OpenPage,
    app_engine: Engine,
    started: list[int],
    home: Path,
) -> None:
    app = freeze(open_page("release")).button(key="export").click().run()
    with reading(app_engine) as session:
        run = list_runs(session)[0]
    assert started == [run.id]
    assert (run.kind, run.parameters) == ("export", {"release": 1, "format": "hf"})
    assert "Export release 1 as Hugging Face data set" in texts(app)
    assert not downloads(app)
    carry_out(app_engine)
    app = app.run()
    assert downloads(app)
    packed = home / "hedgerow_data" / run.folder / "hedgerow-release-1-hf.zip"
    with zipfile.ZipFile(packed) as archive:
        assert "README.md" in archive.namelist()
    folder = packed.with_suffix("")
    assert f'datasets.load_dataset("{folder}", "triples")' in app.code[-1].value
    assert (folder / "triples").is_dir()


def test_an_earlier_export_of_the_same_format_is_offered_at_once(
    families: list[dict[str, Variant]],
    open_page: OpenPage,
    app_engine: Engine,
    started: list[int],
) -> None:
    freeze(open_page("release")).button(key="export").click().run()
    carry_out(app_engine)
    with writing(app_engine) as session:  # a later failure removes nothing
        create_run(
            session, kind="export", parameters={"release": 1, "format": "hf"}
        ).state = RunState.FAILED
    app = open_page("release")
    assert downloads(app)
    app = app.radio(key="export-format").set_value("pairs").run()
    assert not downloads(app)
    assert app.button(key="export").label == "Prepare the download"


def test_an_export_whose_files_are_gone_can_be_repeated(
    families: list[dict[str, Variant]],
    open_page: OpenPage,
    app_engine: Engine,
    started: list[int],
    home: Path,
) -> None:
    freeze(open_page("release")).button(key="export").click().run()
    carry_out(app_engine)
    next((home / "hedgerow_data").rglob("*.zip")).unlink()
    app = open_page("release")
    assert not downloads(app)
    app.button(key="export").click().run()
    assert len(started) == 2


@pytest.mark.parametrize(
    ("state", "sentence"),
    [
        (RunState.FAILED, f"failed: {HOSTILE}"),
        (RunState.CANCELLED, "was cancelled"),
        (RunState.INTERRUPTED, "was interrupted"),
    ],
)
def test_a_stopped_export_says_so_and_can_be_restarted(
    state: RunState,
    sentence: str,
    families: list[dict[str, Variant]],
    open_page: OpenPage,
    app_engine: Engine,
    started: list[int],
) -> None:
    freeze(open_page("release"))
    with writing(app_engine) as session:
        run = create_run(session, kind="export", parameters={"release": 1, "format": "hf"})
        run.state, run.message = state, HOSTILE
        number = run.id
    app = open_page("release")
    assert sentence in texts(app)
    assert "**bold**" not in unsafe_texts(app)
    app.button(key=f"again-{number}").click().run()
    with reading(app_engine) as session:
        runs = list_runs(session, kind="export")
    assert started == [runs[0].id]
    assert runs[0].parameters == {"release": 1, "format": "hf"}


def test_an_export_to_somebodys_own_folder_is_not_offered(
    families: list[dict[str, Variant]], open_page: OpenPage, app_engine: Engine, tmp_path: Path
) -> None:
    freeze(open_page("release"))
    with writing(app_engine) as session:
        parameters = {"release": 1, "format": "hf", "folder": str(tmp_path / "mine")}
        create_run(session, kind="export", parameters=parameters)
    carry_out(app_engine)
    assert (tmp_path / "mine.zip").exists()
    app = open_page("release")
    assert not downloads(app)
    assert app.button(key="export")


def test_accepted_variants_without_a_triple_are_explained(
    with_source: Engine, open_page: OpenPage
) -> None:
    with writing(with_source) as session:
        decide(session, [add_family(session)["verbal"]])
    app = open_page("release")
    assert "1 accepted variant of 1 anchor, and 0 triples" in said(app)
    assert "A triple needs an accepted hedge or paraphrase and an accepted negation" in said(app)


def test_every_current_or_removed_type_has_a_row(
    families: list[dict[str, Variant]], open_page: OpenPage, app_engine: Engine
) -> None:
    app = freeze(open_page("release"))
    assert len(table(app, NOW)) == len(table(app, CHOSEN)) == len(families[0]) + 2
    assert not {entry.label for entry in TAXONOMY if entry.id not in families[0]} & {
        *table(app, NOW)
    }
    with writing(app_engine) as session:
        decide(session, [families[0]["verbal"]], good=False)
    app = open_page("release")
    assert table(app, NOW)["Verbal negation"]["Removed"] == 1
    assert "Verbal negation" in table(app, CHOSEN)


def test_exports_of_other_runs_are_left_alone(
    families: list[dict[str, Variant]], open_page: OpenPage, app_engine: Engine
) -> None:
    freeze(open_page("release"))
    with writing(app_engine) as session:
        session.add(Run(kind="export", parameters={"release": 7, "format": "hf"}))
        session.add(Run(kind="export", parameters={"release": 1, "format": "jsonl"}))
    assert open_page("release").button(key="export")


def test_a_release_of_one_source_is_made(
    families: list[dict[str, Variant]], with_source: Engine, open_page: OpenPage
) -> None:
    assert not open_page("release").multiselect
    with writing(with_source) as session:
        other = add_family(session, "The door is safe.", source=HOSTILE)
        decide(session, [other["verbal"], other["word"]])
    app = open_page("release")
    app.multiselect(key="release-sources").select(HOSTILE).run()
    assert "2 accepted variants of 1 anchor," in said(app)
    app.button(key="freeze-button").click().run()
    with reading(with_source) as session:
        release = get_release(session)
        assert (release.summary["variants"], selection_of(release).sources) == (2, (HOSTILE,))
    assert HOSTILE not in unsafe_texts(app)


def test_a_release_is_described_for_a_paper(
    families: list[dict[str, Variant]], open_page: OpenPage
) -> None:
    app = freeze(open_page("release"))
    buttons = {button.label: button for button in app.get("download_button")}
    assert {"LaTeX", "Markdown"} <= buttons.keys()
    assert "Describe release 1 in a paper" in [header.value for header in app.header]
