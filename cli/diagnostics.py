"""Measure variants, and ask whether their class can be predicted without the anchor."""

from collections.abc import Sequence
from itertools import combinations
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.table import Table

from cli.options import open_home, this_project
from cli.runs import sentences
from cli.terminal import AsJson, show, table_of
from curation.anchors.revisions import source_in_use
from curation.diagnostics.giveaways import KIND as GIVEAWAYS
from curation.diagnostics.giveaways import data_state, guess_of, newest, parameters
from curation.diagnostics.measuring import KIND as MEASURING
from curation.diagnostics.side_guessing import Guess
from curation.encoders.loading import load_encoder
from curation.encoders.model_folders import BUILT_IN, DEFAULT_ENCODER, LOADERS, resolve_encoder
from curation.formatting import counted
from db.engine import reading
from db.errors import HedgerowError
from db.runs import get_run
from hedgerow.running import carry_out_one
from training.evaluation.probe_files import read_probes
from training.evaluation.probe_sets import BUNDLED, FIGURE_1_SET, GROUPS_SET, SetKind, open_set
from training.evaluation.similarity import (
    AFTER,
    BEFORE,
    FIGURE_1,
    GroupScores,
    ProbePair,
    figure_1_rows,
    find_groups,
    probe_rows,
    probe_similarities,
    score,
)

# -- Measure variants that have not been measured yet ----------------------------------------------


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


# -- Whether the class of a variant can be predicted without its anchor ----------------------------


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


# -- Compare the similarities of two encoders ------------------------------------------------------


def similarity(
    model: Annotated[str, typer.Option(metavar="PATH", help="A model's folder or name.")],
    before: Annotated[
        str | None, typer.Option(metavar="PATH", help="A model to compare with.")
    ] = None,
    probes_file: Annotated[
        Path | None,
        typer.Option(
            "--probes",
            metavar="FILE",
            help="CSV, TSV or JSON Lines with anchor and text. Default: the paper's Figure 1.",
        ),
    ] = None,
    set_name: Annotated[
        str,
        typer.Option(
            "--probe-set",
            metavar="NAME",
            help=f"A probe set instead of a file: the bundled '{GROUPS_SET}', or one of this "
            "project.",
        ),
    ] = "",
    old_set_name: Annotated[str, typer.Option("--set", hidden=True)] = "",
    as_json: AsJson = False,
) -> None:
    """Show the similarity of sentence pairs under one or two models."""
    set_name = set_name or old_set_name
    if probes_file and set_name:
        raise HedgerowError("Expected --probes or --probe-set, found both; remove one.")
    probes = read_probes(probes_file) if probes_file else _set_probes(set_name or FIGURE_1_SET)
    old = probe_similarities(load_encoder(before), probes) if before else None
    new = probe_similarities(load_encoder(model), probes)
    rows = (
        figure_1_rows(before=old, after=new)
        if tuple(probes) == FIGURE_1
        else probe_rows(probes, before=old, after=new)
    )
    pairs = [{**row._asdict(), "cosine": round(row.cosine, 4)} for row in rows]
    table = table_of(
        "series",
        "cosine",
        "anchor",
        "text",
        rows=([row.series, f"{row.cosine:.3f}", row.anchor, row.text] for row in rows),
    )
    result: dict[str, Any] = {
        "model": _absolute(model),
        "before": _absolute(before) if before else None,
        "similarities": pairs,
    }
    if not (groups := find_groups(probes)):
        show(result, as_json, table)
        return
    scores = {
        series: score(groups, cosines)
        for series, cosines in ((BEFORE, old), (AFTER, new))
        if cosines is not None
    }
    result["scores"] = {series: found._asdict() for series, found in scores.items()}
    show(result, as_json, table, *(_summary(series, found) for series, found in scores.items()))


def _absolute(model: str) -> str:
    """A model by the full path of its folder, or by its name."""
    found = model if model in BUILT_IN else resolve_encoder(model)
    return str(found.resolve()) if isinstance(found, Path) else model


def _set_probes(name: str) -> Sequence[ProbePair]:
    """The pairs of a set; for a set of single sentences, all pairs of them."""
    if name in BUNDLED:
        return BUNDLED[name]
    with reading(open_home()[1]) as session:
        found = open_set(session, name)
    if found.kind is SetKind.SENTENCES:
        return [ProbePair(first, second, "") for first, second in combinations(found.sentences, 2)]
    return [stored.probe for stored in found.probes]


def _summary(series: str, found: GroupScores) -> str:
    means = ", ".join(f"{role} {mean:.3f}" for role, mean in found.means.items())
    return (
        f"{series}: the contradiction is the least similar in {found.ranked:.0%} of "
        f"{found.groups} groups (chance: 33%); mean cosine {means}"
    )
