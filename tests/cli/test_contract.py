"""Rules for all commands, for people and for scripts."""

import io
import json
import math
import re
import socket
import subprocess
import sys
from collections.abc import Iterator
from enum import Enum
from importlib import metadata
from pathlib import Path
from typing import Any

import pytest
import typer
from rich.console import Console
from typer.core import TyperGroup
from typer.testing import CliRunner

import cli
from cli.shared import terminal
from curation.project.opening import open_project
from db.engine import writing
from db.settings import load_settings
from hedgerow.runs.progress import progress_bar
from tests.cli.support.commands import ask, complaint, ended, process, show
from tests.support.checkout import ROOT
from tests.support.factories import add_anchor


def commands(group: Any = None, prefix: tuple[str, ...] = ()) -> Iterator[tuple[str, ...]]:
    """The names of all commands, including those of their groups."""
    group = group or typer.main.get_command(cli.app)
    context = typer.Context(group)
    for name in group.list_commands(context):
        command = group.get_command(context, name)
        if isinstance(command, TyperGroup):
            yield from commands(command, (*prefix, name))
        else:
            yield (*prefix, name)


def command(names: tuple[str, ...]) -> Any:
    """The command with this name."""
    found: Any = typer.main.get_command(cli.app)
    context = typer.Context(found)
    for name in names:
        found = found.get_command(context, name)
    return found


@pytest.mark.parametrize("names", list(commands()), ids=" ".join)
def test_every_command_offers_json_and_says_what_it_does(names: tuple[str, ...]) -> None:
    shown = show(*names, "--help")
    assert "--json" in shown
    assert all(one.help for one in command(names).params if not one.hidden)
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
        ["review", "apply", "--rule", "no flags", "--accept", "--reject"],
        ["review", "apply", "--rule", "no flags", "--accept", "--reason", "other"],
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


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (
            ["generate", "--provider", "foo"],
            "Invalid value for '--provider': 'foo' is not one of 'openai', 'rules'.",
        ),
        (
            ["runs", "list", "--limit", "0"],
            "Invalid value for '--limit': it should be greater than or equal to 1.",
        ),
        (["runs", "show", "abc"], "Invalid value for 'ID': it must be a whole number."),
        (
            ["types", "add", "X"],
            "Missing option '--role'. Choose from: negation, unsupported, hedge, paraphrase",
        ),
    ],
)
def test_wrong_usage_is_one_line_without_the_words_of_a_library(
    arguments: list[str], sentence: str
) -> None:
    shown = CliRunner().invoke(cli.app, arguments)
    assert shown.stderr.splitlines()[-1] == f"Error: {sentence}"
    code, answer = ended(*arguments)
    assert (code, answer) == (2, {"error": sentence})


@pytest.mark.parametrize("names", [["status"], ["diagnose"], ["release", "list"]], ids=" ".join)
def test_a_folder_without_a_project_is_left_empty(names: list[str], home: Path) -> None:
    assert "hedgerow init" in complaint(*names)
    assert list(home.iterdir()) == []


@pytest.mark.slow
def test_the_process_says_errors_by_exit_code_without_a_traceback() -> None:
    result = process("status", "--json")
    assert result.returncode == 1
    assert json.loads(result.stdout) == {"error": result.stderr.strip()}
    assert result.stderr.count("\n") == 1


def test_a_fault_of_the_program_is_one_sentence_that_names_its_traceback(
    opened_home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def broken(*_: object) -> None:
        raise ExceptionGroup("two things", [KeyError("first"), KeyError("second")])

    monkeypatch.setattr("cli.project_counts.open_home", broken)
    sentence = complaint("status")
    found = re.fullmatch(
        r"Internal error in Hedgerow \(ExceptionGroup: two things .*\); please report it with the "
        r"traceback in (.*)\.",
        sentence,
    )
    assert found is not None
    assert "in broken" in Path(found[1]).read_text("utf-8")
    Path(found[1]).unlink()
    assert ended("status")[1]["error"].startswith("Internal error in Hedgerow")


def made_up(names: tuple[str, ...]) -> list[str]:
    """The command with a value for every required argument. Most values do not exist."""
    arguments: list[str] = []
    for parameter in command(names).params:
        if not parameter.required:
            continue
        kind = parameter.type_descriptor.annotation
        choices = list(kind) if isinstance(kind, type(Enum)) else []
        value = str(choices[0]) if choices else VALUES.get(kind, "./nowhere")
        is_option = parameter.param_type_name == "option"
        arguments += [parameter.opts[0], value] if is_option else [value]
    return [*names, *arguments]


VALUES = {int: "7", float: "7"}

SERVED = ("app",)
"""Started as a separate process, because it serves until it is stopped."""

WALKED = [names for names in commands() if names != SERVED]


@pytest.mark.parametrize("names", WALKED, ids=" ".join)
def test_every_command_prints_one_json_object_when_it_is_used_wrongly(
    names: tuple[str, ...], home: Path
) -> None:
    code, answer = ended(*names, "--no-such-option")
    assert code == 2 and answer["error"]
    assert list(home.iterdir()) == []


WITHOUT_PROJECT = ("plugins",)
"""These need no database, and do not fail without one."""


@pytest.mark.parametrize("names", [n for n in WALKED if n != WITHOUT_PROJECT], ids=" ".join)
def test_every_command_prints_one_json_object_when_it_fails(
    names: tuple[str, ...], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HEDGEROW_DATABASE_URL", "postgresql://ann@127.0.0.1:1/none")
    code, answer = ended(*made_up(names))
    assert code in (1, 2) and answer["error"], answer


@pytest.mark.parametrize("names", [n for n in WALKED if n != ("init",)], ids=" ".join)
def test_every_command_prints_one_json_object_in_an_empty_project(
    names: tuple[str, ...], opened_home: Path
) -> None:
    code, answer = ended(*made_up(names))
    assert ("error" in answer) == (code != 0), answer


def test_the_app_prints_one_json_object_when_its_port_is_taken() -> None:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        port = str(listener.getsockname()[1])
        result = process("app", "--port", port, "--json")
    assert result.returncode == 1
    assert json.loads(result.stdout) == {"error": result.stderr.strip()}


@pytest.mark.parametrize(
    ("wrong", "code", "found"),
    [
        (KeyboardInterrupt(), 130, "Interrupted."),
        (PermissionError(13, "Permission denied", "x.csv"), 1, "Permission denied: x.csv."),
    ],
)
def test_every_error_is_one_json_object(
    wrong: BaseException, code: int, found: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(**how: bool) -> None:
        raise wrong

    monkeypatch.setattr("cli.project_counts.open_home", fail)
    assert ended("status") == (code, {"error": found})


def test_a_figure_that_is_not_a_number_is_null_in_json(capsys: pytest.CaptureFixture[str]) -> None:
    terminal.show({"cosines": [math.nan, {"score": -math.inf}], "n": 2}, True)
    assert json.loads(capsys.readouterr().out, parse_constant=pytest.fail) == {
        "cosines": [None, {"score": None}],
        "n": 2,
    }


@pytest.mark.slow
def test_tables_in_a_pipe_do_not_wrap(opened_home: Path) -> None:
    text = "The quick brown fox jumps over the lazy dog. " * 12
    with writing(open_project(load_settings())) as session:
        add_anchor(session, text.strip())
    result = process("anchors", "list")
    assert text.strip() in result.stdout


@pytest.mark.slow
def test_the_module_does_what_the_installed_command_does() -> None:
    ask("init", "--empty")
    module = subprocess.run(
        [sys.executable, "-m", "cli", "release", "list"],
        cwd=ROOT,
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
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


def test_the_version_is_printed() -> None:
    assert show("--version") == f"hedgerow {metadata.version('hedgerow')}\n"


def options() -> Iterator[tuple[tuple[str, ...], Any]]:
    """All options and arguments in the help, with their commands."""
    for names in commands():
        command: Any = typer.main.get_command(cli.app)
        context = typer.Context(command)
        for name in names:
            command = command.get_command(context, name)
        yield from ((names, entry) for entry in command.params if not entry.hidden)


MEANINGS = {"--model", "--anchor", "--prompt", "--format"}
"""Names that are used for different things: an encoder's path or a chat model's name; a text or a
uid; one prompt or several; the format of a file or of a release, to which plug-ins can add."""


def test_an_option_takes_the_same_in_every_command() -> None:
    spelled: dict[str, set[str | None]] = {}
    for _, entry in options():
        if entry.param_type_name == "option" and entry.opts[0] not in MEANINGS:
            spelled.setdefault(entry.opts[0], set()).add(entry.metavar)
    assert {name: found for name, found in spelled.items() if len(found) > 1} == {}


def test_every_argument_is_in_capitals() -> None:
    arguments = [e for _, e in options() if e.param_type_name == "argument"]
    assert [e.metavar for e in arguments if e.metavar != e.metavar.upper()] == []


def test_people_get_sentences_without_keys_and_values(
    loaded_home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """People get sentences and tables, scripts get JSON."""
    nothing = {"encoder": "all-MiniLM-L6-v2", "measured": 0, "cosines": 0}
    monkeypatch.setattr("curation.diagnostics.measuring.work", lambda context: nothing)
    ask("release", "create")
    for command in (
        ("status",),
        ("settings",),
        ("generate", "--provider", "rules", "--limit", "1"),
        ("generate", "--provider", "rules", "--limit", "1", "--dry-run"),
        ("benchmark", "hedgerow", "--model", "all-MiniLM-L6-v2", "--dry-run"),
        ("export", "out", "--format", "jsonl"),
        ("diagnose",),
        ("prices", "set", "own", "1", "2"),
    ):
        lines = show(*command).splitlines()
        assert not [line for line in lines if re.match(r"[\w ]+: \S+$", line)], (command, lines)
        assert [line for line in lines if re.match(r"[A-Z'].*\.$", line)], (command, lines)


def test_paths_are_printed_so_that_they_open_from_anywhere(
    loaded_home: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    ask("release", "create")
    exported = ask("export", "out", "--format", "jsonl", "--zip")
    assert exported["folder"] == str(tmp_path / "out")
    assert exported["zip"] == str(tmp_path / "out.zip")
    assert str(tmp_path / "out") in show("export", "out", "--format", "jsonl")
    made = ask("benchmarks", "suite", "suite.jsonl", "--split", "train")
    assert made["file"] == str(tmp_path / "suite.jsonl")


def test_the_bar_shows_a_share_and_leaves_counting_to_the_message(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """A training's steps are a part of its run's, so '1/120' would contradict its message."""
    shown = io.StringIO()
    monkeypatch.setattr(
        "hedgerow.runs.progress.err", Console(file=shown, force_terminal=True, width=100)
    )
    with progress_bar() as report:
        report(30, 120, "Training: step 1 of 3.")
    assert "Training: step 1 of 3." in shown.getvalue() and "25%" in shown.getvalue()
    assert "/120" not in shown.getvalue()
