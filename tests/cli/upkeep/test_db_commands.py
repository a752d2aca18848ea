"""hedgerow db: copy, backup, restore, check."""

import os
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import text

from db.engine import writing
from db.settings import load_settings
from tests.cli.support.commands import add_small_project, ask, complaint, ended, show
from tests.support.databases import opened


@pytest.fixture
def project(home: Path) -> Path:
    """An anchor with two variants."""
    add_small_project()
    return home


def break_something() -> None:
    """Make a stored status contradict the decisions."""
    with opened(load_settings().url) as engine, writing(engine) as session:
        session.execute(text("UPDATE variant SET status = 'accepted' WHERE id = 1"))


def counts() -> dict[str, Any]:
    """The content of the project, wherever the database is."""
    return {key: value for key, value in ask("status").items() if key != "database"}


def finding(answer: dict[str, Any], id: str) -> dict[str, Any]:
    return next(each for each in answer["findings"] if each["id"] == id)


def test_the_project_moves_to_another_database(
    project: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    before = counts()
    url = f"sqlite:///{tmp_path / 'moved.db'}"
    moved = ask("db", "copy", url)
    assert (moved["rows"]["anchor"], moved["rows"]["variant"]) == (1, 2)
    assert len(moved["content_hash"]) == 64
    assert moved["data_folder"] == str(project / "hedgerow_data")
    monkeypatch.setenv("HEDGEROW_DATABASE_URL", url)
    assert counts() == before
    assert "Expected an empty database" in complaint(
        "db", "copy", f"sqlite:///{project}/hedgerow.db"
    )


def test_the_copy_says_what_to_do_with_it(project: Path, tmp_path: Path) -> None:
    output = show("db", "copy", f"sqlite:///{tmp_path / 'moved.db'}")
    assert f"Models, exports and logs stay in {project / 'hedgerow_data'}." in output
    assert "HEDGEROW_DATABASE_URL" in output


def test_a_backup_restores_the_project_elsewhere(
    project: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    before = counts()
    made = ask("db", "backup", "../b.zip")  # relative to the shell's directory
    assert made["path"] == str(tmp_path / "b.zip")
    assert "The file" in complaint("db", "backup", made["path"])
    monkeypatch.setenv("HEDGEROW_HOME", str(tmp_path / "new"))
    assert "artifact" in show("db", "restore", made["path"])
    assert counts() == before
    assert "Expected an empty database" in complaint("db", "restore", made["path"])


def test_artifacts_are_left_out_if_asked_for(project: Path, tmp_path: Path) -> None:
    os.makedirs(project / "hedgerow_data" / "runs")
    (project / "hedgerow_data" / "runs" / "log.txt").write_text("done")
    assert ask("db", "backup", str(tmp_path / "a.zip"))["files"] == 1
    assert ask("db", "backup", str(tmp_path / "b.zip"), "--without-artifacts")["files"] is None


def test_a_file_that_is_not_a_backup_leaves_no_project(
    home: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "b.zip").write_bytes(b"PK nothing")
    assert "is damaged or not a Hedgerow backup" in complaint(
        "db", "restore", str(tmp_path / "b.zip")
    )
    assert not list(home.iterdir())


def test_check_ends_with_one_if_something_is_wrong(project: Path) -> None:
    assert ask("db", "check")["clean"] is True
    break_something()
    code, answer = ended("db", "check")
    assert (code, answer["clean"]) == (1, False)
    found = finding(answer, "status")
    assert (found["number"], found["repaired"]) == (1, False)
    assert "accepted, but pending by its decisions" in found["example"]
    repaired = ask("db", "check", "--repair")
    assert finding(repaired, "status")["repaired"] is True
    assert "Status of variants: OK." in show("db", "check")
