"""The corpora that come with Hedgerow, listed and loaded."""

from typing import Annotated

import typer

from cli.shared.home import open_home, reviewer_id
from cli.shared.run_facts import sentences
from cli.shared.run_here import carry_out_run
from cli.shared.tables import table_of
from cli.shared.terminal import AsJson, show
from curation.corpora.corpus import CORPORA, corpus
from curation.corpora.corpus_run import KIND, loaded_anchors, parameters
from db.engine import reading, writing
from db.runs import ensure_run


def list_corpora(as_json: AsJson = False) -> None:
    """List the corpora, and how many of their anchors are in the project."""
    _, engine = open_home()
    with reading(engine) as session:
        loaded = loaded_anchors(session)
    rows = [
        {
            "corpus": one.id,
            "anchors": loaded[one.id],
            "of": one.anchors,
            "licence": one.licence,
            "about": one.about,
        }
        for one in CORPORA.values()
    ]
    table = table_of(
        *("corpus", "anchors here", "of", "licence", "about"),
        rows=[tuple(row.values()) for row in rows],
    )
    show({"corpora": rows}, as_json, table)


def add_corpus(
    name: Annotated[str, typer.Argument(help=f"One of {', '.join(CORPORA)}.")],
    accept_unflagged: Annotated[
        bool,
        typer.Option(
            "--accept-unflagged",
            help="Accept by rule what no check flags; one undo takes it back.",
        ),
    ] = False,
    reviewer: Annotated[str, typer.Option(help="In whose name the rule accepts.")] = "",
    as_json: AsJson = False,
) -> None:
    """Load a corpus; what nobody has reviewed is pending. Running it again adds what is missing."""
    wanted = corpus(name)
    settings, engine = open_home()
    with writing(engine) as session:
        accept_by = reviewer_id(session, settings, reviewer) if accept_unflagged else None
        asked = parameters(wanted, accept_by=accept_by)
        run = ensure_run(session, kind=KIND, parameters=asked).run
    result = carry_out_run(settings, engine, run.id)
    show(result, as_json, *sentences(KIND, result))
