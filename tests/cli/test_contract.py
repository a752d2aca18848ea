"""What every command keeps to, for people and for scripts."""

import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import typer
from typer.core import TyperGroup
from typer.testing import CliRunner

import cli
from tests.cli.commands import ask, complaint, process, said

ROOT = Path(__file__).parents[2]


def commands(group: Any = None, prefix: tuple[str, ...] = ()) -> Iterator[tuple[str, ...]]:
    """The names of all commands, with those of the groups they belong to."""
    group = group or typer.main.get_command(cli.app)
    context = typer.Context(group)
    for name in group.list_commands(context):
        command = group.get_command(context, name)
        if isinstance(command, TyperGroup):
            yield from commands(command, (*prefix, name))
        else:
            yield (*prefix, name)


@pytest.mark.parametrize("names", list(commands()), ids=" ".join)
def test_every_command_offers_json_and_says_what_it_does(names: tuple[str, ...]) -> None:
    shown = said(*names, "--help")
    assert "--json" in shown
    assert re.search(r"Usage: .*\n\n  [A-Z]", shown)


@pytest.mark.parametrize(
    "arguments",
    [
        ["nonsense"],
        ["status", "--nonsense"],
        ["run", "one"],
        ["review", "accept"],
        ["review", "apply", "--accept"],
        ["review", "apply", "--rule", "no flags"],
        ["review", "apply", "--rule", "no flags", "--accept", "--reject", "other"],
        ["review", "edit", "0" * 16],
        ["export", "folder", "--format", "xml"],
        ["app", "--port", "0"],
        ["anchors", "list", "--search", "\udcff"],
        ["anchors", "list", "--limit", "9" * 20],
        ["export", "folder", "--release", "3000000000"],
    ],
    ids=" ".join,
)
def test_wrong_usage_ends_with_2(arguments: list[str]) -> None:
    result = CliRunner().invoke(cli.app, arguments)
    assert result.exit_code == 2
    assert result.stdout == ""
    assert "Usage:" in result.stderr


@pytest.mark.parametrize("names", [["status"], ["diagnose"], ["release", "list"]], ids=" ".join)
def test_a_folder_without_a_project_is_left_empty(names: list[str], home: Path) -> None:
    assert "hedgerow init" in complaint(*names)
    assert list(home.iterdir()) == []


def test_the_process_tells_errors_by_exit_code_without_a_traceback() -> None:
    result = process("status", "--json")
    assert (result.returncode, result.stdout) == (1, "")
    assert result.stderr.count("\n") == 1


def test_the_module_does_what_the_installed_command_does() -> None:
    ask("init", "--empty")
    module = subprocess.run(
        [sys.executable, "-m", "cli", "release", "list"],
        cwd=ROOT, capture_output=True, text=True, timeout=60, check=False,
    )  # fmt: skip
    installed = process("release", "list")
    assert (module.returncode, module.stdout) == (0, "There is no release yet.\n")
    assert (module.stdout, module.stderr) == (installed.stdout, installed.stderr)


def test_a_password_is_never_shown(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HEDGEROW_DATABASE_URL", "postgresql://ann:geheim@127.0.0.1:1/none")
    assert "geheim" not in complaint("status")


def test_a_folder_that_cannot_be_made_is_one_sentence(
    home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (home / "file").write_text("")
    monkeypatch.setenv("HEDGEROW_HOME", str(home / "file" / "below"))
    assert str(home / "file") in complaint("init", "--empty")


def test_nothing_heavy_is_imported_before_it_is_needed() -> None:
    heavy = "torch transformers sentence_transformers streamlit datasets pandas pyarrow"
    code = f"import cli, sys; print(*set({heavy.split()}) & set(sys.modules))"
    result = subprocess.run(
        [sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=True
    )
    assert result.stdout.strip() == ""
