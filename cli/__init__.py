"""The command line: the steps of the pages, for the terminal and for scripts.

Every command prints sentences and tables for people or, with ``--json``, exactly one JSON object,
also when it fails. Errors are one sentence on standard error: exit code 1, or 2 for wrong usage.
"""

import importlib
from typing import Any, cast

import typer
from typer.core import TyperGroup

from cli.terminal import Commands

COMMANDS = {
    "init": "cli.project:init",
    "status": "cli.project:status",
    "run": "cli.runs:carry_out",
    "generate": "cli.generate:generate",
    "diagnose": "cli.runs:diagnose",
    "search": "cli.search:search",
    "export": "cli.release:export_release",
    "train": "cli.train:train_encoder",
    "push": "cli.push:push_to_hub",
    "study": "cli.study:study",
    "tradeoff": "cli.tradeoff:tradeoff",
    "similarity": "cli.runs:similarity",
    "benchmark": "cli.benchmark:run_benchmark",
    "benchmarks": "cli.benchmark:benchmarks_app",
    "app": "cli.browser:open_app",
    "anchors": "cli.anchor_changes:anchors_app",
    "prices": "cli.prices:prices_app",
    "types": "cli.types:types_app",
    "prompts": "cli.prompts:prompts_app",
    "review": "cli.judge:review_app",
    "release": "cli.release:release_app",
    "settings": "cli.settings:settings_app",
}
"""Module and function, or group of commands, of each command, in the order of the help."""


class _ImportedWhenUsed(Commands):
    """The commands, each imported when it is used: a command waits for no other one's imports."""

    def list_commands(self, ctx: Any) -> list[str]:
        return list(COMMANDS)

    def get_command(self, ctx: Any, cmd_name: str) -> Any:
        if cmd_name not in COMMANDS:
            return None
        module, _, name = COMMANDS[cmd_name].partition(":")
        found = getattr(importlib.import_module(module), name)
        alone = typer.Typer(callback=hedgerow, add_completion=False, rich_markup_mode=None)
        if isinstance(found, typer.Typer):
            alone.add_typer(found, name=cmd_name)
        else:
            alone.command(cmd_name)(found)
        return cast(TyperGroup, typer.main.get_command(alone)).commands[cmd_name]


app = typer.Typer(
    cls=_ImportedWhenUsed,
    no_args_is_help=True,
    add_completion=False,
    rich_markup_mode=None,
    pretty_exceptions_enable=False,  # its tracebacks print local variables, keys included
)


@app.callback()
def hedgerow() -> None:
    """Review negation and hedging variants, and finetune an encoder that understands 'not'.
    HEDGEROW_HOME names the working directory (otherwise the current one).
    """


def main() -> None:
    """Run the command line."""
    app()
