"""A project of version 0.2.0, with finished and interrupted runs of every kind, opens with all that
is in it, shows its results, and resumes its runs.

The archive also has `make_old_project.py`, which made it with the code of that version, and what
that version said about it.
"""

from __future__ import annotations

import json
import sqlite3
import tarfile
from contextlib import closing
from pathlib import Path
from typing import Any
from urllib.parse import parse_qsl, urlsplit

import pytest

from curation.overview.project_settings import open_project
from db.engine import reading
from db.models import Run, RunState
from db.runs import list_runs
from db.settings import Settings, load_settings
from tests.cli.commands import ask, ended, show
from tests.support.checkout import ROOT
from tests.support.generating import Serve
from tests.support.generating import serve_chat as serve_chat
from tests.support.publishing import hub as hub
from training.runs.kinds import KINDS, kind_of
from training.runs.summaries import nothing
from training.studies.members import study_of

ARCHIVE = ROOT / "tests/data/project_0.2.0.tar.xz"
MADE_IN = "/tmp/project"
"""The folder in which it was made, whose path is in some output."""

CHANGED = {"alembic_version", "variant_type"}
"""Tables whose rows an upgrade may change: the schema's number and the built-in types."""

VERSIONS = "variant_type_version"
"""To this table an upgrade may add rows, for changed built-in types."""

LEFT = (RunState.INTERRUPTED, RunState.PAUSED, RunState.QUEUED)
"""States in which a run can be carried out."""

KINDS_THEN = (
    "push check backup embed benchmark compare tradeoff-save tradeoff study llm-study finetune-llm "
    "finetune-provider finetune-ranker train export recount reorder giveaways diagnose judge "
    "generate import-variants corpus"
).split()
"""The kinds of runs of that version, except those that are done once they are stored."""

PAGES = (
    "overview anchors generate?step=Set+up generate?step=Prompts review adjudicate diagnostics "
    "release train?step=Train train?step=Runs train?step=Results compare benchmarks?step=Scores "
    "benchmarks?step=Items benchmarks?step=Overlap settings taxonomy team?show=Audit"
).split()
"""Pages that are opened besides those that show the runs."""

pytestmark = pytest.mark.slow


def unpack(folder: Path) -> Path:
    """Unpack the project into this folder, without opening it."""
    with tarfile.open(ARCHIVE) as archive:
        archive.extractall(folder, filter="data")
    return folder


def upgraded(folder: Path) -> Path:
    """Unpack the project and open it with today's code."""
    open_project(Settings(home=unpack(folder), database_url="")).dispose()
    return folder


def rows(folder: Path, columns: dict[str, str] | None = None) -> dict[str, tuple[str, list[Any]]]:
    """Table → its columns and their values in all rows.

    Args:
        columns: of each table; all by default.
    """
    with closing(sqlite3.connect(folder / "hedgerow.db")) as database:
        tables = database.execute("SELECT name FROM sqlite_master WHERE type = 'table'").fetchall()
        found = {}
        for (name,) in tables:
            cursor = database.execute(f"SELECT {columns[name] if columns else '*'} FROM '{name}'")
            named = ", ".join(f'"{column[0]}"' for column in cursor.description)
            found[name] = named, cursor.fetchall()
        return found


def use(folder: Path, monkeypatch: pytest.MonkeyPatch) -> dict[str, Any]:
    """Work in this project with its models. Returns what version 0.2.0 said about it."""
    monkeypatch.setenv("HEDGEROW_HOME", str(folder))
    monkeypatch.setenv("HEDGEROW_REVIEWER", "Ada")
    monkeypatch.setattr("huggingface_hub.constants.HF_HUB_CACHE", str(folder / "hub"))
    monkeypatch.chdir(folder)
    said: dict[str, Any] = json.loads((folder / "expected.json").read_text("utf-8"))
    return said


def assert_still_said(before: Any, now: Any) -> None:
    """Assert that JSON output has all values that it had before. It may have more keys."""
    if isinstance(before, dict):
        assert before.keys() <= now.keys()
        for name, value in before.items():
            assert_still_said(value, now[name])
    elif isinstance(before, list):
        for value, found in zip(before, now, strict=True):
            assert_still_said(value, found)
    else:
        assert str(now).replace(str(Path.cwd()), MADE_IN) == str(before)


def stored_runs(kind: str | None = None) -> list[Run]:
    """The runs of the project that is used, the oldest first."""
    engine = open_project(load_settings())
    with reading(engine) as session:
        found = list_runs(session, kind=kind, limit=999)
    engine.dispose()
    return found[::-1]


@pytest.fixture(scope="module")
def old(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The upgraded project, for tests that only look at it."""
    return upgraded(tmp_path_factory.mktemp("old"))


@pytest.fixture(scope="module")
def resuming(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The upgraded project, for tests that resume its runs."""
    return upgraded(tmp_path_factory.mktemp("resuming"))


def test_it_has_finished_and_interrupted_runs_of_every_kind(
    old: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    use(old, monkeypatch)
    runs = stored_runs()
    done = {run.kind for run in runs if run.state == RunState.DONE}
    assert done == {*KINDS_THEN, "import", "sample"} <= {kind.id for kind in KINDS}
    assert {run.kind for run in runs if run.state == RunState.INTERRUPTED} == set(KINDS_THEN)
    assert {run.state for run in runs} >= {RunState.FAILED, RunState.PAUSED, RunState.QUEUED}


def test_opening_it_changes_no_row(tmp_path: Path) -> None:
    folder = unpack(tmp_path / "project")
    before = rows(folder)
    open_project(Settings(home=folder, database_url="")).dispose()
    after = rows(folder, {name: columns for name, (columns, _) in before.items()})
    for name in before.keys() - CHANGED:
        kept = [row for row in after[name][1] if name != VERSIONS or row in before[name][1]]
        assert kept == before[name][1], name
    assert {len(after[name][1]) - len(before[name][1]) for name in CHANGED} == {0}


def test_the_commands_say_what_that_version_said(
    old: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    said = use(old, monkeypatch)
    assert_still_said(said["status"], ask("status"))
    assert_still_said(said["runs"], ask("runs", "list", "--limit", "999")["runs"])
    for facts in said["runs"]:
        number = str(facts["run"])
        assert_still_said(facts, ask("runs", "show", number))
        assert f"Run {number} " in show("runs", "show", number)
    _, checked = ended("db", "check")
    found = {one["id"] for one in checked["findings"] if one["number"]}
    assert found == {"runs"}, "whose processes were killed"


def test_each_finished_run_is_summed_up_and_shown_by_its_command(
    old: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    use(old, monkeypatch)
    for run in stored_runs():
        kind = kind_of(run.kind)
        if run.result and kind.summary is not nothing:
            assert kind.sum_up(run.result), run.kind
        if run.result and "{" in kind.command:
            assert show(*kind.command.format(**run.result).split()[1:])


def test_each_page_opens(old: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    import streamlit as st

    from tests.pages.looks import opened

    use(old, monkeypatch)
    start = "pages.components.shared.page_runs.start_process"
    monkeypatch.setattr(start, lambda *_: None)
    st.cache_resource.clear()
    st.cache_data.clear()
    shown = {(run.kind, run.state): kind_of(run.kind).address(run) for run in stored_runs()}
    for address in sorted({*PAGES, *shown.values()}):
        url = urlsplit(address)
        app = opened(url.path, **dict(parse_qsl(url.query)))
        assert not app.exception, address
        assert not app.error, address
    st.cache_resource.clear()


@pytest.mark.parametrize("kind", KINDS_THEN)
def test_its_interrupted_runs_are_resumed(
    kind: str,
    resuming: Path,
    serve_chat: Serve,
    request: pytest.FixtureRequest,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    if kind == "push":
        request.getfixturevalue("hub")
    address, _ = serve_chat()
    monkeypatch.setenv("HEDGEROW_OPENAI_BASE_URL", address)
    monkeypatch.setattr("curation.generation.providers.waiting.POLL_SECONDS", 0.01)
    measuring = "curation.diagnostics.measuring.start_process"
    monkeypatch.setattr(measuring, lambda *_: None)
    use(resuming, monkeypatch)
    for run in stored_runs(kind):
        if run.state in LEFT and study_of(run) is None:
            more = ["--max-calls", "9"] if run.state == RunState.PAUSED else []
            assert ask("run", str(run.id), *more)["state"] == "done"
            log = resuming / "hedgerow_data" / run.folder / "log.txt"
            assert "the checkpoint" not in log.read_text("utf-8"), "it is not used"
    assert {run.state for run in stored_runs(kind)} <= {RunState.DONE, RunState.FAILED}
