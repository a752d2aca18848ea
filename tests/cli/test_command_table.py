"""The table of commands is complete and explicit, and imports nothing else."""

import re
import subprocess
import sys
from collections.abc import Iterator, Mapping

import pytest

from cli import COMMANDS, Group, _imported
from tests.support.checkout import ROOT


def places(table: Mapping[str, str | Group] = COMMANDS) -> Iterator[str]:
    """The location of each command, and the default action of each group."""
    for entry in table.values():
        if isinstance(entry, Group):
            yield from places(entry.commands)
            yield from filter(None, [entry.callback])
        else:
            yield entry


@pytest.mark.parametrize("place", list(dict.fromkeys(places())))
def test_a_command_is_written_in_the_file_that_the_table_names(place: str) -> None:
    assert _imported(place).__module__ == place.partition(":")[0]


def test_no_file_adds_a_command_when_it_is_imported() -> None:
    files = [path for path in (ROOT / "cli").rglob("*.py") if path != ROOT / "cli/__init__.py"]
    assert [path for path in files if "typer.Typer(" in path.read_text("utf-8")] == []


def test_commands_write_no_sql() -> None:
    texts = {path: path.read_text("utf-8") for path in (ROOT / "cli").rglob("*.py")}
    assert [path for path, text in texts.items() if re.search(r"\bselect\(", text)] == []


@pytest.mark.slow
def test_a_command_waits_for_no_other_commands_imports() -> None:
    others = {
        "anchors list": ("cli.anchors.add", "curation.generation.run", "openai"),
        "review accept": ("curation.generation.run", "openai"),
        "benchmarks suite": ("cli.models.benchmark",),
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
