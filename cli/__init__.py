"""The command line: the pages' steps for the terminal and for scripts.

Every command prints sentences and tables for people or, with ``--json``, exactly one JSON object,
even if it fails. Errors are one sentence on standard error, with exit code 1, or 2 for wrong usage.
"""

import ast
import importlib
from collections.abc import Mapping
from importlib import metadata
from pathlib import Path
from typing import Annotated, Any, ClassVar, NamedTuple, cast

import typer
from typer.core import TyperGroup

from cli.terminal import Commands


class Group(NamedTuple):
    """A group of commands.

    Attributes:
        callback: module and function to run when no command of the group is named.
    """

    help: str
    commands: Mapping[str, "str | Group"]
    callback: str = ""


COMMANDS: dict[str, str | Group] = {
    "init": "cli.project:init",
    "status": "cli.project:status",
    "run": "cli.runs:run_stored",
    "runs": Group(
        "List, show, cancel and delete runs.",
        {
            "list": "cli.runs:list_newest",
            "show": "cli.runs:show_run",
            "cancel": "cli.runs:cancel",
            "delete": "cli.runs:delete",
        },
    ),
    "generate": "cli.generate:generate",
    "diagnose": "cli.diagnostics:diagnose",
    "giveaways": "cli.diagnostics:show_giveaways",
    "search": "cli.variants:search",
    "export": "cli.release:export_release",
    "train": "cli.train:train_encoder",
    "adapter": "cli.train:adapter",
    "push": "cli.release:push_to_hub",
    "study": "cli.studies:study",
    "tradeoff": "cli.studies:tradeoff",
    "nevir": Group(
        "Finetune models on NevIR's pairs, and show what each epoch changed.",
        {
            "train": "cli.nevir:train_on_pairs",
            "show": "cli.nevir:show_finetuning",
        },
    ),
    "llm": Group(
        "Finetune language models on question pairs, here or at a provider, and measure them.",
        {
            "pairs": "cli.llm:pairs",
            "train": "cli.llm:train_language_model",
            "show": "cli.llm:show_language_finetuning",
            "study": "cli.llm:compare_arms",
            "evaluate": "cli.benchmark:run_benchmark",
            "provider": "cli.llm:finetune_at_provider",
        },
    ),
    "similarity": "cli.diagnostics:similarity",
    "benchmark": "cli.benchmark:run_benchmark",
    "benchmarks": Group(
        "List and compare results, or build a suite from your own sentences.",
        {
            "suite": "cli.benchmark_items:make_suite",
            "errors": "cli.benchmark_items:errors",
            "objectives": "cli.scores:objectives",
        },
        callback="cli.scores:newest_scores",
    ),
    "app": "cli.serve:open_app",
    "corpora": Group(
        "List and load the bundled corpora.",
        {"list": "cli.anchors:list_corpora", "add": "cli.anchors:add_corpus"},
    ),
    "anchors": Group(
        "Add, list, correct, describe, retire and restore anchors.",
        {
            "add": "cli.anchor_import:anchors_add",
            "list": "cli.anchors:list_anchors",
            "correct": "cli.anchors:correct",
            "set": "cli.anchors:describe",
            "retire": "cli.anchors:retire",
            "restore": "cli.anchors:restore",
        },
    ),
    "variants": Group(
        "Import variants that were written elsewhere, or find similar ones.",
        {
            "add": "cli.variants:variants_add",
            "similar": "cli.variants:similar",
        },
    ),
    "prices": Group(
        "Show model prices, and set prices for this project.",
        {
            "list": "cli.generate:prices_list",
            "set": "cli.generate:prices_set",
            "forget": "cli.generate:prices_forget",
        },
    ),
    "types": Group(
        "List the variant types, and add your own.",
        {
            "list": "cli.types:list_all",
            "add": "cli.types:add",
            "change": "cli.types:change",
            "retire": "cli.types:retire",
            "restore": "cli.types:restore",
        },
    ),
    "prompts": Group(
        "Show the prompts, and add new versions.",
        {
            "list": "cli.types:prompts_list",
            "show": "cli.types:prompts_show",
            "add": "cli.types:prompts_add",
        },
    ),
    "review": Group(
        "Decide on variants.",
        {
            "apply": "cli.review:apply",
            "accept": "cli.review:accept",
            "reject": "cli.review:reject",
            "conflicts": "cli.review:show_conflicts",
            "settle": "cli.review:settle",
            "discuss": "cli.review:discuss",
            "edit": "cli.review:edit",
            "write": "cli.review:write",
            "note": "cli.review:note",
            "undo": "cli.review:undo",
            "judge": "cli.judging:judge",
            "assign": "cli.team:assign",
            "quota": "cli.team:quota",
            "agreement": "cli.agreement:show_agreement",
            "gold": Group(
                "Variants with a known verdict, to measure and train reviewers.",
                {
                    "add": "cli.team:add",
                    "list": "cli.team:list_items",
                    "remove": "cli.team:remove",
                },
            ),
            "calibration": Group(
                "Measure judges on a blind random sample, and accept variants by reliable ones.",
                {
                    "draw": "cli.judging:draw",
                    "show": "cli.agreement:show_calibration",
                    "apply": "cli.judging:apply",
                },
            ),
        },
    ),
    "reviewers": Group(
        "List, add, rename and merge reviewers; their roles and statistics.",
        {
            "list": "cli.people:list_reviewers",
            "add": "cli.people:add",
            "statistics": "cli.people:statistics",
            "role": "cli.people:change_role",
            "rename": "cli.people:rename",
            "merge": "cli.people:merge",
            "separate": "cli.people:separate",
        },
    ),
    "audit": "cli.team:audit",
    "release": Group(
        "Freeze the accepted variants, list releases, and describe one for a paper.",
        {
            "create": "cli.release:release_create",
            "list": "cli.release:release_list",
            "report": "cli.release:release_report",
        },
    ),
    "db": Group(
        "Copy, back up, restore and check the project's database.",
        {
            "copy": "cli.project:copy",
            "backup": "cli.project:backup",
            "restore": "cli.project:restore",
            "check": "cli.project:check",
        },
    ),
    "plugins": "cli.project:plug_ins",
    "settings": Group(
        "Show the settings, or change a project setting.",
        {"show": "cli.settings:show_settings", "set": "cli.settings:set_setting"},
        callback="cli.settings:settings",
    ),
}
"""Module and function of each command, in the order of the help. All commands are listed here."""


VALUE_NAMES = {int: "N", float: "NUMBER", str: "TEXT", Path: "FILE"}
"""Parameter type → the metavar in the help."""

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
"""Exceptions for single options."""


class _FromTable(TyperGroup):
    """Commands of a table, each imported on use, so that none waits for another's imports."""

    table: ClassVar[Mapping[str, str | Group]]

    def list_commands(self, ctx: Any) -> list[str]:
        return list(self.table)

    def get_command(self, ctx: Any, cmd_name: str) -> Any:
        return _command(cmd_name, self.table[cmd_name]) if cmd_name in self.table else None

    def format_commands(self, ctx: Any, formatter: Any) -> None:
        """List the commands with the first sentences of their help, without importing them."""
        with formatter.section("Commands"):
            formatter.write_dl([(name, _summary(entry)) for name, entry in self.table.items()])


class _Hedgerow(_FromTable, Commands):
    """All commands."""

    table = COMMANDS


def _command(name: str, entry: str | Group) -> Any:
    """The command or group for an entry of a table."""
    alone = typer.Typer(callback=hedgerow, add_completion=False, rich_markup_mode=None)
    if isinstance(entry, str):
        alone.command(name)(_imported(entry))
    else:
        alone.add_typer(_group(entry), name=name)
    command = cast(TyperGroup, typer.main.get_command(alone)).commands[name]
    _name_values(command)
    return command


def _group(entry: Group) -> typer.Typer:
    of_group = type("_Group", (_FromTable,), {"table": entry.commands})
    group = typer.Typer(
        cls=of_group,
        help=entry.help,
        no_args_is_help=not entry.callback,
        invoke_without_command=bool(entry.callback),
    )
    if entry.callback:
        group.callback()(_imported(entry.callback))
    return group


def _summary(entry: str | Group) -> str:
    """The first sentence of a command's help, from its source."""
    if isinstance(entry, Group):
        return entry.help
    module, _, name = entry.partition(":")
    source = Path(__file__).with_name(f"{module.rpartition('.')[2]}.py").read_text("utf-8")
    found = next(
        node
        for node in ast.parse(source).body
        if isinstance(node, ast.FunctionDef) and node.name == name
    )
    text = " ".join((ast.get_docstring(found) or "").split("\n\n")[0].split())
    return text.partition(". ")[0].removesuffix(".") + "."


def _imported(place: str) -> Any:
    module, _, name = place.partition(":")
    return getattr(importlib.import_module(module), name)


def _name_values(command: Any) -> None:
    """Use one metavar spelling in the help: FILE, not <path> or {file}."""
    for parameter in command.params:
        if parameter.metavar is not None:
            continue
        if parameter.param_type_name == "argument":
            parameter.metavar = parameter.name.upper()
        else:
            kind = VALUE_NAMES.get(parameter.type_descriptor.annotation)
            parameter.metavar = OPTION_NAMES.get(parameter.opts[0], kind)


app = typer.Typer(
    cls=_Hedgerow,
    no_args_is_help=True,
    add_completion=False,
    rich_markup_mode=None,
    pretty_exceptions_enable=False,  # its tracebacks print local variables, including keys
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
    HEDGEROW_HOME sets the working directory (default: the current one).
    """


def main() -> None:
    """Run the command line."""
    app()
