"""Options and output shared by the commands that decide on one variant."""

from collections.abc import Sequence
from typing import Annotated, Any

import typer

from cli.shared.terminal import show
from curation.taxonomy.reject_reasons import REJECT_REASONS
from hedgerow.data.deciding import Decided

Uid = Annotated[str, typer.Argument(help="The variant's uid.")]

ReviewerName = Annotated[
    str, typer.Option("--reviewer", help="Your name. Default: HEDGEROW_REVIEWER.")
]

Note = Annotated[str, typer.Option("--note", help="A remark, stored with the decision.")]

TypeName = Annotated[str | None, typer.Option("--type", help="A variant type, such as 'verbal'.")]

CueName = Annotated[str | None, typer.Option("--cue", help="The hedge cue, if the type has one.")]

_REASONS = ", ".join(reason.id for reason in REJECT_REASONS)

Reason = Annotated[
    str, typer.Option("--reason", metavar="REASON", help=f"The reason: one of {_REASONS}.")
]


def show_decided(done: Decided, as_json: bool, *, with_flags: bool = False) -> None:
    """Print the status of a variant after a decision.

    Args:
        with_flags: also print the flags of the stored text.
    """
    result: dict[str, Any] = {"variant": done.uid, "status": done.status, "child": done.child}
    if with_flags:
        result |= {"type": done.type, "cue": done.cue, "flags": done.flags}
    replaced = f"; {done.child} replaces it" if done.child else ""
    now = "in conflict" if done.in_conflict else done.status
    lines = [f"{done.uid} is now {now}{replaced}.", done.remark]
    if done.in_conflict:
        lines.append("To settle it, run 'hedgerow review settle'.")
    show(result, as_json, *filter(None, lines), *flagged(done.flags if with_flags else []))


def flagged(flags: Sequence[str]) -> list[str]:
    """A sentence with the flags of a text, if there are any."""
    return [f"Flagged: {', '.join(flags)}."] if flags else []
