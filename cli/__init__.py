"""The command line: the steps of the pages, for the terminal and for scripts.

Every command prints sentences and tables for people or, with ``--json``, exactly one JSON object,
also when it fails. Errors are one sentence on standard error: exit code 1, or 2 for wrong usage.
"""

import importlib
from importlib import metadata
from pathlib import Path
from typing import Annotated, Any, cast

import typer
from typer.core import TyperGroup

from cli.shared.terminal import Commands

COMMANDS = {
    "init": "cli.project:init",
    "status": "cli.project:status",
    "run": "cli.runs.carry_out:carry_out",
    "runs": "cli.runs.listing:runs_app",
    "generate": "cli.generation.generate:generate",
    "diagnose": "cli.diagnose:diagnose",
    "search": "cli.search:search",
    "export": "cli.release:export_release",
    "train": "cli.models.train:train_encoder",
    "push": "cli.models.push:push_to_hub",
    "study": "cli.models.study:study",
    "tradeoff": "cli.models.tradeoff_commands:tradeoff",
    "similarity": "cli.models.pair_similarity:similarity",
    "benchmark": "cli.models.benchmark:run_benchmark",
    "benchmarks": "cli.models.benchmark:benchmarks_app",
    "app": "cli.serve:open_app",
    "anchors": "cli.anchors.change:anchors_app",
    "prices": "cli.generation.price_table:prices_app",
    "types": "cli.generation.variant_types:types_app",
    "prompts": "cli.generation.prompt_versions:prompts_app",
    "review": "cli.review.second_opinions:review_app",
    "reviewers": "cli.review.people:reviewers_app",
    "release": "cli.release:release_app",
    "settings": "cli.settings:settings_app",
}
"""Module and function, or group of commands, of each command, in the order of the help."""


VALUE_NAMES = {int: "N", float: "NUMBER", str: "TEXT", Path: "FILE"}
"""What the help calls the value of an option of a type."""

OPTION_NAMES = {
    **dict.fromkeys(
        ("--column", "--encoder", "--genre-column", "--model", "--name", "--reviewer", "--source"),
        "NAME",
    ),
    "--base-url": "URL",
    "--timeout": "SECONDS",
    "--type": "TYPE",
    "--types": "TYPES",
}
"""The same of single options."""


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
        command = cast(TyperGroup, typer.main.get_command(alone)).commands[cmd_name]
        _name_values(command)
        return command


def _name_values(command: Any) -> None:
    """Have the help name what a parameter takes in one spelling: FILE, not <path> or {file}."""
    for sub in getattr(command, "commands", {}).values():
        _name_values(sub)
    for parameter in command.params:
        if parameter.metavar is not None:
            continue
        if parameter.param_type_name == "argument":
            parameter.metavar = parameter.name.upper()
        else:
            kind = VALUE_NAMES.get(parameter.type_descriptor.annotation)
            parameter.metavar = OPTION_NAMES.get(parameter.opts[0], kind)


app = typer.Typer(
    cls=_ImportedWhenUsed,
    no_args_is_help=True,
    add_completion=False,
    rich_markup_mode=None,
    pretty_exceptions_enable=False,  # its tracebacks print local variables, keys included
)


def _print_version(asked: bool) -> None:
    if asked:
        typer.echo(f"hedgerow {metadata.version('hedgerow')}")
        raise typer.Exit


@app.callback()
def hedgerow(
    version: Annotated[
        bool,
        typer.Option(
            "--version", is_eager=True, callback=_print_version, help="Print the version and exit."
        ),
    ] = False,
) -> None:
    """Review negation and hedging variants, and finetune an encoder that understands 'not'.
    HEDGEROW_HOME names the working directory (otherwise the current one).
    """


def main() -> None:
    """Run the command line."""
    app()
