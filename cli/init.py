"""Making the project, or upgrading its database."""

from typing import Annotated

import typer

from cli.shared.home import open_home
from cli.shared.terminal import AsJson, show
from curation.corpora.loading import load_first
from curation.plurals import counted
from db.engine import writing
from db.failures import shown_address


def init(
    empty: Annotated[bool, typer.Option("--empty", help="Load no corpus.")] = False,
    as_json: AsJson = False,
) -> None:
    """Create or upgrade the database and load the starter corpus, passages and exclusions.

    Running it again changes nothing.
    """
    _, engine = open_home(create=True)
    added = {"anchors": 0, "variants": 0, "decisions": 0}
    if not empty:
        with writing(engine) as session:
            added = load_first(session)._asdict()
    show(
        {"database": shown_address(engine.url), "added": added},
        as_json,
        f"The database is {shown_address(engine.url)}.",
        f"Added {counted(added['anchors'], 'anchor')}, {counted(added['variants'], 'variant')} and "
        f"{counted(added['decisions'], 'decision')}.",
        "Next: 'hedgerow app' opens the browser app; 'hedgerow status' counts what there is.",
    )
