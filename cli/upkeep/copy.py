"""Copy the project's database to another one."""

from typing import Annotated

import typer

from cli.shared.home import open_home
from cli.shared.terminal import AsJson, show
from curation.plurals import counted
from curation.upkeep.moving import copy_project
from hedgerow.runs.progress import progress_bar


def copy(
    url: Annotated[
        str,
        typer.Argument(
            metavar="URL",
            help="For example postgresql://host/name or sqlite:////folder/hedgerow.db.",
        ),
    ],
    as_json: AsJson = False,
) -> None:
    """Copy the project's database to an empty one: SQLite or PostgreSQL, in either direction.

    Both databases are compared row by row at the end. Models, exports and logs are not copied.
    Nobody should work in the project meanwhile, because changes made during the copy are not
    included.
    """
    settings, engine = open_home()
    with progress_bar() as report:
        moved = copy_project(engine, settings, url, report=report)
    show(
        moved.facts,
        as_json,
        f"Copied {counted(moved.rows_in_all, 'row')} to {moved.target}. Both databases have the "
        f"content hash {moved.content_hash}.",
        f"Models, exports and logs stay in {settings.data_folder}.",
        "To use the copy, set HEDGEROW_DATABASE_URL to its address and HEDGEROW_HOME to "
        f"{settings.home}. On another machine, copy that folder as well.",
    )
