"""List and load the bundled corpora."""

from typing import Annotated

import typer

from cli.shared.home import open_home
from cli.shared.run_facts import sentences
from cli.shared.run_here import carry_out_run
from cli.shared.tables import table_of
from cli.shared.terminal import AsJson, show
from curation.corpora.corpus import CORPORA
from curation.corpora.loading import KIND
from hedgerow.data.corpora import states, store_loading


def list_corpora(as_json: AsJson = False) -> None:
    """List the corpora with the number of their anchors in the project."""
    rows = [one._asdict() for one in states(open_home())]
    table = table_of(
        *("corpus", "loaded", "of", "licence", "about"),
        rows=[tuple(row.values()) for row in rows],
    )
    show({"corpora": rows}, as_json, table)


def add_corpus(
    name: Annotated[str, typer.Argument(help=f"One of {', '.join(CORPORA)}.")],
    accept_unflagged: Annotated[
        bool,
        typer.Option(
            "--accept-unflagged",
            help="Accept all unflagged variants by rule; one undo reverses it.",
        ),
    ] = False,
    reviewer: Annotated[str, typer.Option(help="The reviewer for --accept-unflagged.")] = "",
    as_json: AsJson = False,
) -> None:
    """Load a corpus. Variants that nobody has reviewed are pending.

    Run it again to add missing rows.
    """
    home = open_home()
    run = store_loading(home, name, accept_unflagged, reviewer)
    result = carry_out_run(*home, run)
    show(result, as_json, *sentences(KIND, result))
