"""Find the variants that are most similar to a given one."""

from typing import Annotated

import typer
from rich.table import Table

from cli.review.decision import Uid
from cli.shared.home import this_project
from cli.shared.tables import table_of
from cli.shared.terminal import AsJson, show
from curation.similar.lookup import LOW_COSINE, NONE_SIMILAR


def similar(
    uid: Uid,
    limit: Annotated[
        int, typer.Option(min=1, max=1000, help="Maximum number of variants to list.")
    ] = 20,
    as_json: AsJson = False,
) -> None:
    """List the variants of other anchors with the most similar embeddings.

    Missing embeddings are computed first.
    """
    rows = this_project().similar_variants(uid, limit=limit).to_dict("records")
    table = table_of(
        "uid",
        "cosine",
        "text",
        "type",
        "status",
        rows=[
            (row["uid"], f"{row['cosine']:.2f}", row["text"], row["type"], row["status"])
            for row in rows
        ],
    )
    lines: list[str | Table] = [table] if rows else ["There are no variants of other anchors."]
    if rows and rows[0]["cosine"] < LOW_COSINE:
        lines.append(NONE_SIMILAR)
    show({"variant": uid, "similar": rows}, as_json, *lines)
