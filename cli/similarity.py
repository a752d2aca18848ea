"""Similarity of sentence pairs under one or two models."""

from collections.abc import Sequence
from itertools import combinations
from pathlib import Path
from typing import Annotated, Any

import typer

from cli.options import open_home
from cli.terminal import AsJson, show, table_of
from curation.encoders.loading import load_encoder
from curation.encoders.model_folders import BUILT_IN, resolve_encoder
from db.engine import reading
from db.errors import HedgerowError
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
