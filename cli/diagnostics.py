"""Measure variants, and ask whether their class can be predicted without the anchor."""

from typing import Annotated, Any

import typer
from rich.table import Table

from cli.options import open_home, this_project
from cli.run_results import sentences
from cli.terminal import AsJson, show, table_of
from curation.anchors.revisions import source_in_use
from curation.diagnostics.giveaways import KIND as GIVEAWAYS
from curation.diagnostics.giveaways import data_state, guess_of, newest, parameters
from curation.diagnostics.measuring import KIND as MEASURING
from curation.diagnostics.side_guessing import Guess
from curation.encoders.model_folders import DEFAULT_ENCODER
from curation.encoders.plugged_in import LOADERS
from curation.formatting import counted
from db.engine import reading
from db.runs import get_run
from hedgerow.running import carry_out_one

# -- Measure variants that have not been measured yet ---------------------------------------------


def diagnose(
    encoder: Annotated[
        str,
        typer.Option(
            help=f"{', '.join((DEFAULT_ENCODER, *LOADERS.names()))}, a folder or a name on the "
            "model hub."
        ),
    ] = "",
    as_json: AsJson = False,
) -> None:
    """Measure every variant that has not been measured yet."""
    result = this_project().diagnose(encoder=encoder)
    show(result, as_json, *sentences(MEASURING, result))


# -- Whether the class of a variant can be predicted without its anchor ---------------------------


GUESSES = ("polarity", "type")

WORDS = 5
"""Number of predictive n-grams per class; --json includes all."""


def show_giveaways(
    again: Annotated[
        bool, typer.Option("--again", help="Search again even if the data has not changed.")
    ] = False,
    source: Annotated[str, typer.Option(help="Only include variants of this source.")] = "",
    as_json: AsJson = False,
) -> None:
    """Predict polarity and type from variants without their anchors. Shows the newest result, or
    searches again if the data has changed since then.
    """
    settings, engine = open_home()
    with reading(engine) as session:
        source_id = source_in_use(session, source) if source else None
        run, now = newest(session, source_id), data_state(session, source_id)
    if again or run is None or run.result["data"] != now:
        done = carry_out_one(settings, engine, GIVEAWAYS, parameters(source_id))
        with reading(engine) as session:
            run = get_run(session, done["run"])
    result = run.result
    facts = {"run": run.id, "finished_at": _iso(run.finished_at), **result}
    show(facts, as_json, _head(run.id, result), *_tables(result))


def _iso(moment: Any) -> str | None:
    return moment.isoformat() if moment else None


def _head(run: int, result: dict[str, Any]) -> str:
    source = f" ({result['source']})" if result.get("source") else ""
    return (
        f"Run {run}: {counted(result['records'], 'variant')} of "
        f"{counted(result['anchors'], 'anchor')}{source}, accepted or pending, read without the "
        "anchors."
    )


def _tables(result: dict[str, Any]) -> list[str | Table]:
    found: list[str | Table] = []
    for what in GUESSES:
        guess = guess_of(result, what)
        found += [
            f"Accuracy for the {what}: {guess.total.accuracy:.1%}. Always predicting the most "
            f"frequent one gives {guess.total.chance:.1%}.",
            _scores(guess),
            _telling(guess),
        ]
    return found


def _scores(guess: Guess) -> Table:
    rows = [
        (by, row.name, f"{row.records:,}", f"{row.accuracy:.1%}", f"{row.chance:.1%}")
        for by, scores in guess.by.items()
        for row in scores
    ]
    return table_of("by", "name", "variants", "accuracy", "chance", rows=rows)


def _telling(guess: Guess) -> Table:
    rows = [
        (name, ngram.text, f"{ngram.records:,}", f"{ngram.share:.0%}")
        for name, ngrams in guess.telling.items()
        for ngram in ngrams[:WORDS]
    ]
    return table_of("class", "predictive words", "variants", "share in class", rows=rows)
