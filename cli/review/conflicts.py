"""List conflicts and variants marked for discussion."""

from typing import Annotated, Any

import typer
from rich.table import Table

from cli.review.decision import TypeName
from cli.shared.home import this_project
from cli.shared.tables import table_of
from cli.shared.terminal import AsJson, show
from curation.plurals import counted
from curation.review.adjudication import ConflictOrder


def show_conflicts(
    type_id: TypeName = None,
    source: Annotated[str, typer.Option(help="Only anchors of this source.")] = "",
    order: Annotated[
        ConflictOrder, typer.Option(help="The order of the conflicts.")
    ] = ConflictOrder.OLDEST,
    as_json: AsJson = False,
) -> None:
    """List the variants in conflict with each person's verdict, and those marked \"discuss\"."""
    project = this_project()
    asked: dict[str, Any] = {"type": type_id or (), "source": source}
    found = project.conflicts(**asked, order=order.value).to_dict("records")
    marks = project.marked(**asked).to_dict("records")
    for row in (*found, *marks):
        for name in ("since", "marked_at"):
            if name in row:
                row[name] = row[name].isoformat() if row[name] is not None else None
    lines: list[str | Table] = [f"In conflict: {counted(len(found), 'variant')}."]
    if found:
        lines.append(
            table_of(
                "uid",
                "type",
                "text",
                "verdicts",
                rows=[
                    (row["uid"], row["type"], row["text"], _summary(row["verdicts"]))
                    for row in found
                ],
            )
        )
        lines.append("To settle one, run 'hedgerow review settle UID accept' (or 'reject').")
    if marks:
        lines.append("Marked for discussion:")
        lines.append(
            table_of(
                "uid",
                "type",
                "text",
                "marked by",
                "remark",
                rows=[
                    (row["uid"], row["type"], row["text"], row["reviewer"], row["remark"])
                    for row in marks
                ],
            )
        )
    show({"conflicts": found, "to_discuss": marks}, as_json, *lines)


def _summary(verdicts: list[dict[str, Any]]) -> str:
    """'Ada: accept; Bert: reject (wrong_scope)'."""
    return "; ".join(
        f"{one['reviewer']}: {one['verdict']}" + (f" ({one['reason']})" if one["reason"] else "")
        for one in verdicts
    )
