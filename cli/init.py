"""Create the project or upgrade its database."""

from typing import Annotated

import typer

from cli.shared.home import open_home
from cli.shared.terminal import AsJson, show
from curation.plurals import counted
from db.failures import shown_address
from hedgerow.data.corpora import load_starter


def init(
    empty: Annotated[bool, typer.Option("--empty", help="Do not load any corpus.")] = False,
    as_json: AsJson = False,
) -> None:
    """Create or upgrade the database and load the starter corpus, passages and exclusions.

    Running it again changes nothing.
    """
    home = open_home(create=True)
    added = {"anchors": 0, "variants": 0, "decisions": 0}
    if not empty:
        added = load_starter(home)._asdict()
    database = shown_address(home.engine.url)
    show(
        {"database": database, "added": added},
        as_json,
        f"The database is {database}.",
        f"Added {counted(added['anchors'], 'anchor')}, {counted(added['variants'], 'variant')} and "
        f"{counted(added['decisions'], 'decision')}.",
        "Next: run 'hedgerow app' to open the browser app, or 'hedgerow status' to see the counts.",
    )
