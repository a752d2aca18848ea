"""Find the variants that are most similar to one."""

from typing import Annotated

import typer

from cli.review.decision import Uid
from cli.shared.home import this_project
from cli.shared.tables import table_of
from cli.shared.terminal import AsJson, show


def similar(
    uid: Uid,
    limit: Annotated[
        int, typer.Option(min=1, max=1000, help="Maximum number of variants to list.")
    ] = 20,
    as_json: AsJson = False,
) -> None:
    """List the variants of other anchors with the most similar embeddings.

    Embeddings that are not stored yet are computed first.
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
    show({"variant": uid, "similar": rows}, as_json, table if rows else "There are no others.")
