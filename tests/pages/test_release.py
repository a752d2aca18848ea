"""Freezing accepted variants and downloading a release on the Release & export page."""

import zipfile
from collections.abc import Iterable
from pathlib import Path

import pytest
from sqlalchemy import Engine
from sqlalchemy.orm import Session
from streamlit.testing.v1 import AppTest

from curation.release.export import release_folder
from curation.release.freezing import get_release, list_releases
from curation.release.selection import selection_of
from curation.taxonomy.built_in import TAXONOMY
from db.engine import reading, writing
from db.execution import execute
from db.models import RunState, Variant
from db.runs import create_run, list_runs
from pages.components.shared.shell import open_project
from tests.curation.support.deciding import accept, reject
from tests.pages.conftest import OpenPage, Wording, unsafe_texts
from tests.pages.looks import drawn, links, page_text, press
from tests.support.factories import add_family, person

HOSTILE = "<img src=x onerror=alert(1)> **bold** $x$ =1+1"


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
        decide(session, found[0].values())
    return found


def decide(session: Session, variants: Iterable[Variant], *, good: bool = True) -> None:
    for variant in variants:
        (accept if good else reject)(session, variant, person(session))


def downloads(app: AppTest) -> list[str]:
    """The labels of the download buttons of exports."""
    labels = [button.label for button in app.get("download_button")]
    return [label for label in labels if label.startswith("Download the zip")]


def freeze(app: AppTest, name: str = "") -> AppTest:
    app.text_input(key="release-name").set_value(name)
    return press(app, "freeze-button")


def carry_out(engine: Engine) -> None:
    """Execute the newest run in this process."""
    with reading(engine) as session:
        run = list_runs(session)[0]
    execute(engine, open_project.settings(), run.id, {"export": release_folder.work})


def test_without_accepted_variants_the_page_links_to_review(
    with_source: Engine, open_page: OpenPage, wording: Wording
) -> None:
    app = open_page("release")
    assert links(app) == ["Go to Overview"] and not app.text_input
    with writing(with_source) as session:
        family = add_family(session)
    app = open_page("release")
    wording(app, "release", "nothing accepted")
    assert links(app) == ["Review"] and not app.text_input and not app.selectbox
    with writing(with_source) as session:
        decide(session, [family["verbal"]])
    app = open_page("release")
    wording(app, "release", "no triples")


def test_freezing_makes_a_release_with_name_and_author(
    signed_in: None,
    families: list[dict[str, Variant]],
    open_page: OpenPage,
    app_engine: Engine,
    wording: Wording,
) -> None:
    app = open_page("release")
    wording(app, "release", "before the first release")
    counts = table(app, NOW)
    assert (counts["Verbal negation"]["All"], counts["All variants"]["All"]) == (1, 7)
    assert counts["Triples"]["All"] == 12
    assert sum(counts["Triples"][split] for split in ("Training", "Validation", "Test")) == 12
    freeze(app, HOSTILE)
    wording(app, "release", "a release")
    with reading(app_engine) as session:
        release = get_release(session)
        assert (release.name, release.author_id) == (HOSTILE, person(session))
        assert release.summary["triples"] == 12
    listed = app.dataframe[RELEASES].value
    assert listed["Name"].tolist() == [HOSTILE] and listed["By"].tolist() == ["Ada"]
    assert release.content_hash.startswith(listed["Hash"].tolist()[0])
    assert HOSTILE in page_text(app) and "**bold**" not in unsafe_texts(app)
    freeze(app, "two")  # the same content again
    with reading(app_engine) as session:
        assert [found.name for found in list_releases(session)] == [HOSTILE]


def test_releases_keep_their_contents_while_changes_are_counted_by_type(
    families: list[dict[str, Variant]], open_page: OpenPage, app_engine: Engine
) -> None:
    app = freeze(open_page("release"))
    with reading(app_engine) as session:
        assert get_release(session).author_id is None  # nobody has signed in
    # Every current or removed type has a row.
    assert len(table(app, NOW)) == len(table(app, CHOSEN)) == len(families[0]) + 2
    unused = {entry.label for entry in TAXONOMY if entry.id not in families[0]}
    assert not unused & {*table(app, NOW)}
    with writing(app_engine) as session:
        decide(session, [families[0]["verbal"]], good=False)
    counts = table(open_page("release"), NOW)
    assert (counts["Verbal negation"]["Added"], counts["Verbal negation"]["Removed"]) == (0, 1)
    with writing(app_engine) as session:
        decide(session, [families[1]["word"], families[1]["verbal"]])
    app = open_page("release")
    assert "2 added, 1 removed" in drawn(app, "markdown")
    counts = table(app, NOW)
    assert (counts["Verbal negation"]["Added"], counts["Verbal negation"]["Removed"]) == (1, 1)
    assert (counts["All variants"]["Added"], counts["All variants"]["Removed"]) == (2, 1)
    freeze(app)
    assert app.selectbox(key="release-chosen").value == 2
    assert table(app, CHOSEN)["All variants"]["All"] == 8
    app.selectbox(key="release-chosen").set_value(1).run()
    assert table(app, CHOSEN)["All variants"]["All"] == 7 and "Verbal negation" in table(
        app, CHOSEN
    )
    assert "Release 1: 7 variants" in page_text(app)


def test_an_export_is_followed_downloaded_and_offered_again(
    families: list[dict[str, Variant]],
    open_page: OpenPage,
    app_engine: Engine,
    started: list[int],
    home: Path,
    wording: Wording,
) -> None:
    app = press(freeze(open_page("release")), "export")
    with reading(app_engine) as session:
        run = list_runs(session)[0]
    assert started == [run.id]
    assert (run.kind, run.parameters) == ("export", {"release": 1, "format": "hf"})
    wording(app, "release", "an export under way")
    assert not downloads(app)
    carry_out(app_engine)
    assert downloads(app.run())
    packed = home / "hedgerow_data" / run.folder / "hedgerow-release-1-hf.zip"
    with zipfile.ZipFile(packed) as archive:
        assert "README.md" in archive.namelist()
    folder = packed.with_suffix("")
    assert f'datasets.load_dataset("{folder}", "triples")' in app.code[-1].value
    assert (folder / "triples").is_dir()
    with writing(app_engine) as session:  # a later failure removes nothing
        later = create_run(session, kind="export", parameters=run.parameters)
        later.state = RunState.FAILED
    app = open_page("release")
    assert downloads(app)
    app.radio(key="export-format").set_value("pairs").run()
    assert not downloads(app) and app.button(key="export")
    packed.unlink()  # its files are gone
    app = open_page("release")
    assert not downloads(app)
    press(app, "again-")  # the later one that failed
    assert len(started) == 2


@pytest.mark.parametrize("state", [RunState.FAILED, RunState.CANCELLED, RunState.INTERRUPTED])
def test_a_stopped_export_says_so_and_can_be_restarted(
    state: RunState,
    families: list[dict[str, Variant]],
    open_page: OpenPage,
    app_engine: Engine,
    started: list[int],
) -> None:
    app = freeze(open_page("release"))
    with writing(app_engine) as session:
        run = create_run(session, kind="export", parameters={"release": 1, "format": "hf"})
        run.state, run.message = state, HOSTILE
        number = run.id
    assert str(state.value) in page_text(app.run())
    assert (HOSTILE in page_text(app)) == (state is RunState.FAILED)
    assert "**bold**" not in unsafe_texts(app)
    press(app, f"again-{number}")
    with reading(app_engine) as session:
        runs = list_runs(session, kind="export")
    assert started == [runs[0].id]
    assert runs[0].parameters == {"release": 1, "format": "hf"}


def test_exports_of_others_are_neither_offered_nor_in_the_way(
    families: list[dict[str, Variant]], open_page: OpenPage, app_engine: Engine, tmp_path: Path
) -> None:
    app = freeze(open_page("release"))
    ours = {"release": 1, "format": "hf"}
    with writing(app_engine) as session:
        for parameters in (
            {"release": 7, "format": "hf"},
            {"release": 1, "format": "jsonl"},
            ours | {"folder": str(tmp_path / "mine")},  # somebody's own folder
        ):
            create_run(session, kind="export", parameters=parameters)
    carry_out(app_engine)
    assert (tmp_path / "mine.zip").exists()
    assert not downloads(app.run()) and app.button(key="export")


def test_a_release_of_one_source_is_made(
    families: list[dict[str, Variant]], with_source: Engine, open_page: OpenPage
) -> None:
    assert not open_page("release").multiselect
    with writing(with_source) as session:
        other = add_family(session, "The door is safe.", source=HOSTILE)
        decide(session, [other["verbal"], other["word"]])
    app = open_page("release")
    app.multiselect(key="release-sources").select(HOSTILE).run()
    assert "2 accepted variants of 1 anchor," in drawn(app, "markdown")
    press(app, "freeze-button")
    with reading(with_source) as session:
        release = get_release(session)
        assert (release.summary["variants"], selection_of(release).sources) == (2, (HOSTILE,))
    assert HOSTILE not in unsafe_texts(app)
