"""Running commands, in this process or as installed, and other shared helpers."""

import json
import sqlite3
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

import cli
from curation.overview.project_settings import open_project
from curation.review.deciding import accept, shown
from db.engine import writing
from db.settings import load_settings
from tests.support.factories import add_anchor, add_family, add_variant, person

HEDGEROW = str(Path(sys.executable).with_name("hedgerow"))


def ask(*arguments: str) -> dict[str, Any]:
    """Run a command in this process with ``--json``, and return its output."""
    result = CliRunner().invoke(cli.app, [*arguments, "--json"])
    assert result.exit_code == 0, result.output
    assert result.stdout.count("\n") == 1
    answer: dict[str, Any] = json.loads(result.stdout)
    return answer


def ended(*arguments: str) -> tuple[int, dict[str, Any]]:
    """Run a command in this process with ``--json``. Returns the exit code and the JSON object."""
    result = CliRunner().invoke(cli.app, [*arguments, "--json"])
    lines = result.stdout.splitlines()
    assert len(lines) == 1, (arguments, result.output)
    answer = json.loads(lines[0], parse_constant=pytest.fail)
    assert isinstance(answer, dict)
    return result.exit_code, answer


def show(*arguments: str) -> str:
    """The output of a command for people."""
    result = CliRunner().invoke(cli.app, [*arguments])
    assert result.exit_code == 0, result.output
    return result.stdout


def complaint(*arguments: str) -> str:
    """The one sentence of a failing command. The app is started as a separate process."""
    if arguments[0] == "app":
        ended = process(*arguments)
        exit_code, printed, complained = ended.returncode, ended.stdout, ended.stderr
    else:
        result = CliRunner().invoke(cli.app, [*arguments])
        exit_code, printed, complained = result.exit_code, result.stdout, result.stderr
    assert exit_code == 1, complained
    assert printed == ""
    lines = complained.splitlines()
    assert len(lines) == 1, complained
    return lines[0]


def process(*arguments: str, seconds: float = 60) -> "subprocess.CompletedProcess[str]":
    """Run the installed command."""
    return subprocess.run(
        [HEDGEROW, *arguments], capture_output=True, text=True, timeout=seconds, check=False
    )


def add_small_project() -> list[str]:
    """One anchor with two unmeasured variants. Returns the variants' uids."""
    engine = open_project(load_settings())
    with writing(engine) as session:
        anchor = add_anchor(session, "The door is open.")
        texts = ("The door is not open.", "The door isn't open.")
        uids = [add_variant(session, anchor, "verbal", text).uid for text in texts]
    engine.dispose()
    return uids


def add_accepted_families(count: int) -> None:
    """Families that one person has accepted, in the working directory's project."""
    engine = open_project(load_settings())
    with writing(engine) as session:
        ada = person(session)
        for number in range(count):
            for variant in add_family(session, f"The bridge number {number} is safe.").values():
                accept(session, shown(variant), reviewer_id=ada)
    engine.dispose()


def stored_rows(home: Path, query: str, *values: object) -> list[Any]:
    """The answer of a project's SQLite database."""
    with sqlite3.connect(home / "hedgerow.db") as connection:
        return connection.execute(query, values).fetchall()
