"""The page of all commands, with the help that each prints in a terminal."""

from collections.abc import Iterator
from typing import Any

import typer

import cli

WIDTH = 90
"""Characters per line of help."""

_HEAD = """\
# Commands

With `--json`, every command prints one JSON object. The exit code is 0 for success, 1 for an error,
and 2 for wrong usage. Commands work on the project in the folder `HEDGEROW_HOME`, or else in the
current folder. This page is generated from the commands.
"""


def command_page() -> str:
    """All commands and groups in the order of the help, in Markdown."""
    program = typer.main.get_command(cli.app)
    return _HEAD + "".join(_sections(program, None, "hedgerow"))


def _sections(command: Any, parent: Any, name: str) -> Iterator[str]:
    """A section for the command, and one for each command of a group."""
    settings = {"terminal_width": WIDTH, "max_content_width": WIDTH}
    context = command.make_context(name, [], parent=parent, resilient_parsing=True, **settings)
    path = context.command_path
    level = max(2, len(path.split()))
    yield f"\n{'#' * level} {path}\n\n```text\n{command.get_help(context)}\n```\n"
    if not hasattr(command, "list_commands"):
        return
    for its_name in command.list_commands(context):
        yield from _sections(command.get_command(context, its_name), context, its_name)
