"""Rules for all commands, for people and for scripts."""

import hashlib
import io
import json
import math
import re
import shlex
import shutil
import subprocess
import sys
import unicodedata
from collections.abc import Iterator
from enum import Enum
from importlib import metadata
from pathlib import Path
from typing import Any

import pytest
import typer
from rich.console import Console
from sqlalchemy import select
from sqlmodel import SQLModel, col
from typer.core import TyperGroup
from typer.testing import CliRunner

import cli
from cli import terminal
from cli.options import as_cap, as_option
from curation.generation.judging.opinion_request import JudgeRequest
from curation.generation.request import Budget, GenerationRequest
from curation.overview.project_settings import open_project
from curation.validation import checked
from db.engine import reading, writing
from db.errors import HedgerowError
from db.models import Anchor, AnchorRevision, Status, Variant
from db.settings import HUB_TOKEN, load_settings
from hedgerow.progress import progress_bar
from tests.cli.commands import add_accepted_families, ask, complaint, ended, process, show
from tests.curation.support.deciding import accept
from tests.support.checkout import ROOT
from tests.support.databases import Copies, opened
from tests.support.factories import add_anchor, add_family, person
from tests.support.hostile import HUGE, REFUSED, TEXTS, stored
from tests.support.hostile_project import fill
from training.benchmarks.runs.measured_models import ModelChoice


def commands(group: Any = None, prefix: tuple[str, ...] = ()) -> Iterator[tuple[str, Any]]:
    """The names of all commands, including those of their groups, and the commands."""
    group = group or typer.main.get_command(cli.app)
    context = typer.Context(group)
    for name in group.list_commands(context):
        command = group.get_command(context, name)
        if isinstance(command, TyperGroup):
            yield from commands(command, (*prefix, name))
        else:
            yield " ".join((*prefix, name)), command


COMMANDS = dict(commands())
SERVED = "app"
"""Started as a separate process, because it serves until it is stopped."""
WITHOUT_PROJECT = "plugins"
"""This one needs no database, and does not fail without one."""
IN_EMPTY = COMMANDS.keys() - {"init", "diagnose"}
"""The others do something in an empty project that takes time and that other tests look at."""
VALUES = {int: "7", float: "7"}


def made_up(name: str) -> list[str]:
    """The command with a value for every required argument. Most values do not exist."""
    arguments = name.split()
    for parameter in COMMANDS[name].params:
        if not parameter.required:
            continue
        kind = parameter.type_descriptor.annotation
        choices = list(kind) if isinstance(kind, type(Enum)) else []
        value = str(choices[0]) if choices else VALUES.get(kind, "./nowhere")
        is_option = parameter.param_type_name == "option"
        arguments += [parameter.opts[0], value] if is_option else [value]
    return arguments


@pytest.mark.parametrize("name", [name for name in COMMANDS if name != SERVED])
def test_every_command_explains_itself_and_prints_one_json_object_whatever_happens(
    name: str, opened_home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    command = COMMANDS[name]
    assert re.match("[A-Z]", command.help)
    shown = [each for each in command.params if not each.hidden]
    assert all(each.help for each in shown)
    assert "--json" in [option for each in shown for option in each.opts]
    assert all(e.metavar.isupper() for e in shown if e.param_type_name == "argument")
    before = sorted(opened_home.rglob("*"))
    code, answer = ended(*name.split(), "--no-such-option")
    assert code == 2 and answer["error"]
    assert sorted(opened_home.rglob("*")) == before
    if name in IN_EMPTY:
        code, answer = ended(*made_up(name))
        assert ("error" in answer) == (code != 0), answer
    if name != WITHOUT_PROJECT:
        monkeypatch.setenv("HEDGEROW_DATABASE_URL", "postgresql://ann@127.0.0.1:1/none")
        code, answer = ended(*made_up(name))
        assert code in (1, 2) and answer["error"], answer


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
    ("arguments", "named"),
    [
        (["generate", "--provider", "foo"], "--provider"),
        (["runs", "list", "--limit", "0"], "--limit"),
        (["runs", "show", "abc"], "ID"),
        (["types", "add", "X"], "--role"),
    ],
)
def test_wrong_usage_is_one_line_without_the_words_of_a_library(
    arguments: list[str], named: str
) -> None:
    shown = CliRunner().invoke(cli.app, arguments)
    code, answer = ended(*arguments)
    assert (code, f"Error: {answer['error']}") == (2, shown.stderr.splitlines()[-1])
    assert named in answer["error"]
    assert not re.search("click|pydantic|ctx|INTEGER", answer["error"])


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

    monkeypatch.setattr("cli.project.open_home", broken)
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

    monkeypatch.setattr("cli.project.open_home", fail)
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
def test_the_module_is_the_installed_command() -> None:
    module = [sys.executable, "-m", "cli", "--version"]
    result = subprocess.run(module, cwd=ROOT, capture_output=True, text=True, check=True)
    assert result.stdout == process("--version").stdout
    assert result.stdout == f"hedgerow {metadata.version('hedgerow')}\n"


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


MEANINGS = {"--model", "--anchor", "--prompt", "--format"}
"""Names that are used for different things: an encoder's path or a chat model's name; a text or a
uid; one prompt or several; the format of a file or of a release, to which plug-ins can add."""


def test_an_option_takes_the_same_in_every_command() -> None:
    spelled: dict[str, set[str | None]] = {}
    for entry in (each for command in COMMANDS.values() for each in command.params):
        if entry.hidden or entry.opts[0] in MEANINGS:
            continue
        if entry.param_type_name == "option":
            spelled.setdefault(entry.opts[0], set()).add(entry.metavar)
    assert {name: found for name, found in spelled.items() if len(found) > 1} == {}


def test_people_get_sentences_and_paths_that_open_from_anywhere(
    opened_home: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """People get sentences and tables, scripts get JSON."""
    add_accepted_families(60)
    monkeypatch.chdir(tmp_path)
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
    exported = ask("export", "zipped", "--format", "jsonl", "--zip")
    assert exported["folder"] == str(tmp_path / "zipped")
    assert exported["zip"] == str(tmp_path / "zipped.zip")
    assert str(tmp_path / "out") in show("export", "out", "--format", "jsonl")
    made = ask("benchmarks", "suite", "suite.jsonl", "--split", "train")
    assert made["file"] == str(tmp_path / "suite.jsonl")


def test_the_bar_shows_a_share_and_leaves_counting_to_the_message(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """A training's steps are a part of its run's, so '1/120' would contradict its message."""
    shown = io.StringIO()
    monkeypatch.setattr(
        "hedgerow.progress.err", Console(file=shown, force_terminal=True, width=100)
    )
    with progress_bar() as report:
        report(30, 120, "Training: step 1 of 3.")
    assert "Training: step 1 of 3." in shown.getvalue() and "25%" in shown.getvalue()
    assert "/120" not in shown.getvalue()


def test_no_file_adds_a_command_when_it_is_imported() -> None:
    files = [path for path in (ROOT / "cli").rglob("*.py") if path != ROOT / "cli/__init__.py"]
    assert [path for path in files if "typer.Typer(" in path.read_text("utf-8")] == []


def test_commands_write_no_sql() -> None:
    texts = {path: path.read_text("utf-8") for path in (ROOT / "cli").rglob("*.py")}
    assert [path for path, text in texts.items() if re.search(r"\bselect\(", text)] == []


@pytest.mark.slow
def test_a_command_waits_for_no_other_commands_imports() -> None:
    others = {
        "anchors list": ("cli.anchor_import", "curation.generation.run", "openai"),
        "review accept": ("curation.generation.run", "openai"),
        "benchmarks suite": ("cli.benchmark",),
    }
    code = (
        "import sys, typer, cli\n"
        f"for names, others in {others}.items():\n"
        "    command = typer.main.get_command(cli.app)\n"
        "    for name in names.split():\n"
        "        command = command.get_command(typer.Context(command), name)\n"
        "    print(*set(others) & set(sys.modules))"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=True
    )
    assert done.stdout.strip() == ""


WRONG: list[tuple[type, dict[str, Any], str, str]] = [
    (GenerationRequest, {"base_url": "http://h:99999"}, "The server's address", "--base-url"),
    (GenerationRequest, {"budget": {"money": -1}}, "The spending cap", "--budget"),
    (GenerationRequest, {"budget": {"calls": 0}}, "The cap on calls", "--max-calls"),
    (GenerationRequest, {"roles": ("noun",)}, "The kind of variant", "--roles"),
    (GenerationRequest, {"max_tokens": 1}, "The token limit", "--max-tokens"),
    (JudgeRequest, {"selection": {"status": "odd"}}, "The status", "--status"),
    (JudgeRequest, {"selection": {"limit": 0}}, "The number of anchors", "--limit"),
    (
        ModelChoice,
        {"name": "m", "architecture": "chat", "base_url": "x"},
        "The server's address",
        "--base-url",
    ),
]


@pytest.mark.parametrize(("kind", "values", "page", "option"), WRONG)
def test_a_wrong_value_is_named_by_its_label_or_option(
    kind: type, values: dict[str, Any], page: str, option: str
) -> None:
    values = {"model": "m"} | values if kind is not ModelChoice else values
    for called, name in (({}, page), ({"called": as_option}, option)):
        with pytest.raises(HedgerowError) as refusal:
            checked(kind, values, **called)
        message = str(refusal.value)
        assert message.startswith(f"{name} is not usable: ") and "\n" not in message
        assert (", found " in message) is ("base_url" not in values)


def test_a_budget_by_itself_is_called_by_its_options() -> None:
    with pytest.raises(HedgerowError, match=r"^--budget is not usable: it should be greater"):
        checked(Budget, {"money": 0}, called=as_cap)


UID = "0" * 16


def everything(home: Path) -> tuple[dict[str, list[str]], dict[str, str]]:
    """Every row of every table, and the hash of every file except the database's own."""
    with opened(load_settings().url) as engine, reading(engine) as session:
        tables = {
            table.name: sorted(str(tuple(row)) for row in session.execute(select(table)))
            for table in SQLModel.metadata.sorted_tables
        }
    files = {
        path.relative_to(home).as_posix(): _hash(path)
        for path in sorted(home.rglob("*"))
        if not path.name.startswith("hedgerow.db")
    }
    return tables, files


def _hash(path: Path) -> str:
    return "" if path.is_dir() else hashlib.sha256(path.read_bytes()).hexdigest()


@pytest.fixture
def small(home: Path, copies: Copies, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A project with one accepted family and no release, and files that commands can't use."""
    monkeypatch.delenv(HUB_TOKEN, raising=False)
    copies.project(home / "hedgerow.db")
    with opened(load_settings().url) as engine, writing(engine) as session:
        ada = person(session)
        for variant in add_family(session, "The door is open.").values():
            accept(session, variant, ada)
    (home / "empty.csv").write_text("")
    (home / "recipe.yaml").write_text("nonsense: 1\n")
    (home / "prompt.txt").write_text("It asks for nothing.")
    (home / "taken").mkdir()
    (home / "taken" / "thesis.txt").write_text("mine")
    (home / "checkpoint").mkdir()
    (home / "checkpoint" / "config.json").write_text("{}")
    return home


@pytest.mark.parametrize(
    "command",
    ["diagnose --encoder ./broken", "train --set base_encoder=./broken --set max_steps=1"],
)
def test_an_encoder_that_cannot_be_loaded_is_not_among_the_encoders(
    command: str, small: Path, tiny_encoder: Path
) -> None:
    shutil.copytree(tiny_encoder, small / "broken")
    for weights in (small / "broken").rglob("*.safetensors"):
        weights.write_bytes(b"damaged")
    with opened(load_settings().url) as engine, writing(engine) as session:
        ada = person(session)
        for number in range(40):  # enough for every split
            for variant in add_family(session, f"The bridge number {number} is safe.").values():
                accept(session, variant, ada)
    code, answer = ended(*shlex.split(command))
    assert (code, answer["state"]) == (1, "failed"), answer
    assert ask("status")["encoders"] == []


FAILING = [
    "settings set active_encoder nope/none",
    "settings set active_encoder ./checkpoint",
    "settings set levenshtein_threshold 0",
    "settings set counts.nobody off",
    "train",
    "train --recipe recipe.yaml",
    "train --set nonsense=1",
    "train --set base_encoder=nope/none",
    "train --set base_encoder=./checkpoint",
    "train --release 7",
    "study data --set base_encoder=nope/none",
    "study data",
    "tradeoff 7",
    "push --release 1 --repo me/data",
    "push 7 --repo me/model",
    "diagnose --encoder nope/none",
    "diagnose --encoder ./checkpoint",
    "similarity --model nope/none",
    "benchmark hedgerow --model nope/none",
    "benchmark semantoneg --model all-MiniLM-L6-v2 --data empty.csv",
    "benchmark nonsense --model all-MiniLM-L6-v2",
    "benchmark semantoneg --models empty.csv",
    "benchmarks suite out.jsonl --release 7",
    "benchmarks suite out.jsonl --sentences empty.csv",
    "benchmarks errors semantoneg",
    "generate --model gpt",
    "generate --model gpt --base-url ftp://nowhere",
    "generate --provider rules --types nonsense",
    "run 7",
    "export taken",
    "export out --release 7",
    "anchors add empty.csv",
    "anchors add nowhere.csv",
    "anchors add taken/thesis.txt --sample 0",
    f"anchors correct {UID} Anything. --reviewer Newcomer",
    f"anchors retire {UID}",
    "prices set gpt 1e308 1",
    "prices set gpt inf 1",
    "prices set gpt nan 1",
    "prices set gpt -1 1",
    "prices set \x1b[31mgpt 1 1",
    "types retire nonsense",
    "types add Own --role hedge --definition D --anchor A --example",
    "prompts add hedge prompt.txt",
    "prompts add nonsense prompt.txt",
    "review undo --reviewer Newcomer",
    f"review accept {UID} --reviewer Newcomer",
    f"review reject {UID} --reviewer Newcomer",
    "review apply --rule nonsense --accept --reviewer Newcomer",
    "review apply --rule 'no flags' --reject --reason nonsense --reviewer Newcomer",
    f"review note {UID} Hm. --reviewer Newcomer",
    f"review write --anchor {UID} --type verbal --text Hm. --reviewer Newcomer",
    "review judge --model gpt",
    "db copy nonsense",
    "db copy sqlite:///hedgerow.db",
    "db copy sqlite:///nowhere/copy.db",
    "db copy postgresql://127.0.0.1:1/x",
    "db backup taken/thesis.txt",
    "db backup nowhere/b.zip",
    "db restore taken/thesis.txt",
    "db restore nowhere.zip",
]


@pytest.mark.slow
def test_a_command_that_fails_changes_nothing(small: Path) -> None:
    before = everything(small)
    for command in FAILING:
        code, answer = ended(*shlex.split(command))
        assert code in (1, 2) and answer["error"], (command, answer)
        assert everything(small) == before, command


STEERING = {"Cc", "Cf", "Cs", "Zl", "Zp"}
"""Categories of characters that control a terminal or change the reading direction."""


def lines_file(path: Path, texts: dict[str, str]) -> Path:
    """A file of JSON Lines, the only text format that can contain all of them unchanged."""
    rows = ({"text": text, "genre": name} for name, text in texts.items())
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    return path


def anchors() -> dict[str, str]:
    """Genre → text of every stored anchor."""
    with reading(open_project(load_settings())) as session:
        query = select(col(Anchor.genre), col(AnchorRevision.text)).join(
            AnchorRevision, col(AnchorRevision.anchor_id) == col(Anchor.id)
        )
        return {row.genre: row.text for row in session.execute(query)}


@pytest.fixture
def empty(home: Path, copies: Copies) -> Path:
    copies.migrated(home / "hedgerow.db")
    return home


@pytest.fixture
def hostile(home: Path, copies: Copies) -> Path:
    with opened(copies.migrated(home / "hedgerow.db")) as engine, writing(engine) as session:
        fill(session)
    return home


def quiet(text: str) -> bool:
    """Whether the text contains nothing that controls a terminal."""
    return not [c for c in text if c != "\n" and unicodedata.category(c) in STEERING]


def test_anchors_come_in_and_their_texts_are_canonical(empty: Path) -> None:
    file = lines_file(empty / "-evil '$(x)' <b>.jsonl", TEXTS)
    options = ("--column", "text", "--genre-column", "genre", "--include-suspicious")
    for name in ("=cmd|' /C calc'!A0", TEXTS["script"]):
        output = show("anchors", "add", str(file), *options, "--source", name, "--dry-run")
        assert quiet(output)
    ask("anchors", "add", str(file), *options, "--source", TEXTS["script"])
    assert anchors() == stored()


@pytest.mark.parametrize("name", [*REFUSED, "huge"])
def test_rows_that_are_not_sentences_are_always_left_out(empty: Path, name: str) -> None:
    text = REFUSED.get(name, HUGE)
    file = lines_file(empty / "file.jsonl", {"good": "It is good.", "bad": text})
    output = show("anchors", "add", str(file), "--column", "text", "--include-suspicious")
    assert "Added 1 anchor " in output
    assert quiet(output)
    assert list(anchors().values()) == ["It is good."]


@pytest.mark.slow
def test_no_command_steers_the_terminal(hostile: Path) -> None:
    with reading(open_project(load_settings())) as session:
        uid = session.execute(
            select(col(Variant.uid)).where(col(Variant.status) == Status.PENDING)
        ).scalar_one()
    for command in (
        ("status",),
        ("review", "accept", uid, "--reviewer", TEXTS["bidirectional"], "--note", TEXTS["latex"]),
        ("review", "undo", "--reviewer", TEXTS["bidirectional"]),
        ("review", "apply", "--rule", "no flags", "--accept", "--dry-run"),
        ("release", "create", "--name", TEXTS["rich markup"]),
        ("release", "list"),
        ("anchors", "list"),
    ):
        assert quiet(show(*command)), command
    for command in (
        ("review", "accept", TEXTS["rich markup"], "--reviewer", "Ada"),
        ("review", "accept", uid, "--reviewer", REFUSED["link of a terminal"]),
    ):
        assert quiet(complaint(*command)), command


@pytest.mark.slow
def test_an_export_can_be_imported_with_the_same_texts(hostile: Path) -> None:
    ask("export", str(hostile / "out"), "--format", "jsonl")
    file = str(hostile / "out" / "variants.jsonl")
    for column in ("text", "anchor"):
        again = ask("anchors", "add", file, "--column", column, "--include-suspicious", "--dry-run")
        # Every variant's text is also an anchor of this project, so all of them must be known.
        assert (again["new"], again["suspicious"], again["duplicates"]) == (0, 0, len(TEXTS))
