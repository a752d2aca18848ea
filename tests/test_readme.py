"""The commands in the README and the guides work: they are executed.

These are the lines of fenced blocks that begin with ``hedgerow ``. A backslash at the end of a line
joins the next line to it. A block marked ``text`` shows the general form of a command and is left
out. Each document starts with the starter corpus and runs its commands in order. Lines that begin
with ``export HEDGEROW_`` set a variable for the rest of the document, and ``UID`` is replaced by
the uid of a pending variant.

Commands that do not end, load a model or query one are run with ``--help`` appended, which checks
their names and options.
"""

import re
import shlex
import sqlite3
from collections.abc import Iterator
from pathlib import Path

import pytest
from typer.testing import CliRunner

import cli

ROOT = Path(__file__).parent.parent
DOCUMENTS = [
    ROOT / "README.md",
    ROOT / "CONTRIBUTING.md",
    ROOT / "CHANGELOG.md",
    *sorted((ROOT / "docs").glob("*.md")),
]
ONLY_HELP = {
    "adapter",
    "app",
    "benchmark",
    "benchmarks errors",
    "benchmarks suite",
    "diagnose",
    "generate",
    "llm evaluate",
    "llm provider",
    "llm show",
    "llm study",
    "llm train",
    "nevir show",
    "nevir train",
    "push",
    "review judge",
    "similarity",
    "study",
    "tradeoff",
    "train",
}
NOT_COMMANDS = {"text", "json", "python", "toml", "yaml"}

_FENCE = re.compile(r"^ *```(\w*)[^\n]*\n(.*?)^ *```", re.DOTALL | re.MULTILINE)


def command_lines(markdown: str) -> Iterator[str]:
    """The ``hedgerow`` commands and ``export`` lines of a document, in order."""
    for language, block in _FENCE.findall(markdown):
        if language in NOT_COMMANDS:
            continue
        for line in block.replace("\\\n", " ").splitlines():
            if line.strip().startswith(("hedgerow ", "export HEDGEROW_")):
                yield line.strip()


def carry_out(line: str, home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Run one line of a document; an exit code other than 0 fails the test."""
    program, *arguments = shlex.split(line, comments=True)
    if program == "export":
        for assignment in arguments:
            monkeypatch.setenv(*assignment.split("=", 1))
        return
    if "UID" in arguments:
        with sqlite3.connect(home / "hedgerow.db") as connection:
            query = "SELECT uid FROM variant WHERE status = 'pending' ORDER BY id LIMIT 1"
            (uid,) = connection.execute(query).fetchone()
        arguments = [uid if argument == "UID" else argument for argument in arguments]
    if ONLY_HELP & {arguments[0], " ".join(arguments[:2])}:
        arguments.append("--help")
    result = CliRunner().invoke(cli.app, arguments)
    assert result.exit_code == 0, f"{line}\n{result.output}"


@pytest.mark.slow
@pytest.mark.parametrize("document", DOCUMENTS, ids=lambda path: path.name)
def test_the_commands_of_a_document_work(
    document: Path, loaded_home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for line in command_lines(document.read_text(encoding="utf-8")):
        carry_out(line, loaded_home, monkeypatch)


@pytest.mark.parametrize("document", DOCUMENTS, ids=lambda path: path.name)
def test_files_and_folders_that_a_document_names_are_there(document: Path) -> None:
    text = document.read_text(encoding="utf-8")
    packages = "app.py|http_app.py|bench|cli|curation|db|deploy|docs|hedgerow|pages|tests|training"
    named = re.findall(rf"`((?:{packages})(?:/[\w./-]+|/?)?)`", text)
    linked = re.findall(r"\]\((?!https?:)([^)#]+)(?:#[^)]*)?\)", text)
    missing = [path for path in named if "NAME" not in path and not (ROOT / path).exists()]
    missing += [path for path in linked if not (document.parent / path).exists()]
    assert not missing


def test_the_readme_shows_commands() -> None:
    lines = list(command_lines((ROOT / "README.md").read_text(encoding="utf-8")))
    assert any(line.startswith("hedgerow ") for line in lines)


def test_commands_are_found_in_fenced_blocks_only() -> None:
    markdown = """
hedgerow not this
```sh
export HEDGEROW_REVIEWER=Ann
make run
hedgerow review apply --rule 'no flags' \\
    --accept   # every one
```
```text
hedgerow release create [--name …]
```
1. As here:
   ```
   hedgerow status
   ```
"""
    assert [shlex.split(line, comments=True) for line in command_lines(markdown)] == [
        ["export", "HEDGEROW_REVIEWER=Ann"],
        ["hedgerow", "review", "apply", "--rule", "no flags", "--accept"],
        ["hedgerow", "status"],
    ]
