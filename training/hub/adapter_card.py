"""The card of an adapter: how it was made, and its benchmark results if there are any."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from sqlalchemy.orm import Session

from curation.formatting import markdown_table
from curation.release.export.data_card_text import CITATION
from curation.strict_json import JsonError, read_json
from db.errors import HedgerowError
from db.models import Run
from db.named_files import read_text
from training.hub.card_forms import ADAPTER
from training.hub.model_card import card_of, header, opening, public_base
from training.hub.model_card_figures import NO_FIGURE
from training.hub.model_card_text import INTENDED, LIMITS
from training.models.low_rank import LowRank

NOT_MEASURED = "None were measured."

_BASE = ""
"""Placeholder for the base model."""

LARGEST_FILE = 10 * 1024 * 1024
"""Maximum size of a file of metrics in bytes. A line also contains a benchmark's breakdowns."""


def note_of(made: LowRank, *, command: str) -> str:
    """How an adapter was made, in Markdown.

    Args:
        command: the command that made it, without paths.
    """
    return (
        f"`{command}` created this adapter from the trained model. For each of the "
        f"{len(made.layers)} linear layers that training changed, it contains the truncated "
        f"singular value decomposition of the change at rank {made.rank}, in float16. This "
        f"covers {made.share:.1%} of the change of all weights (as the sum of squares) and "
        f"{made.share_of_layers:.1%} of the change of these layers."
    )


def card_of_run(session: Session, run: Run, *, note: str, measured: str) -> str:
    """The card of an adapter from a training run's model.

    Args:
        note: the result of `note_of`.
        measured: the adapter's own metrics in Markdown, because the run's metrics are those of the
            whole model.
    """
    of_the_model = ("held_out", "encoder_id", "before_encoder_id")
    kept = {key: value for key, value in run.result.items() if key not in of_the_model}
    return card_of(session, run, kept, note=note, form=ADAPTER._replace(measured=measured))


def card_of_folder(base: str, *, note: str, measured: str) -> str:
    """The card of an adapter made from a model folder, without a run.

    Args:
        base: the encoder that training started from.
        note, measured: as in `card_of_run`.
    """
    public = public_base(base)
    limits = "\n".join(f"- {limit}" for limit in LIMITS)
    sections = [
        *opening(public, ADAPTER),
        f"## Figures before and after\n\n{measured}",
        f"## Training\n\n{note}\n\nThe recipe, the release and the seed are in the trained model's "
        "own card.",
        f"## Intended use\n\n{INTENDED}",
        f"## Limits\n\n{limits}",
        f"## Citation\n\n{CITATION}",
    ]
    return f"---\n{header(public, ADAPTER, ())}---\n\n" + "\n\n".join(sections) + "\n"


def read_figures(path: Path, *, base: str) -> str:
    """The results of benchmarks as a table in Markdown, before and after.

    Args:
        path: a file with lines from ``hedgerow benchmark … --json`` for two models.
        base: the name of the model before.

    Raises:
        HedgerowError: the file can't be read or has other content.
    """
    text = read_text(path, kind="results of benchmarks", largest=LARGEST_FILE)
    sides: dict[str, dict[tuple[str, str, int], float]] = {}
    for number, line in enumerate(text.split("\n"), start=1):
        if line.strip():
            found = _result(line, place=f"line {number} of {str(path)!r}")
            side = _BASE if found["model"] in (base, public_base(base)) else found["model"]
            key = (found["benchmark"], found["metric"], found["n"])
            sides.setdefault(side, {})[key] = found["score"]
    before = sides.pop(_BASE, {})
    if len(sides) != 1:
        raise HedgerowError(
            f"Expected results of {base!r} and of one adapter in {str(path)!r}, found those of "
            f"{len(sides)} other models."
        )
    (after,) = sides.values()
    rows = [
        [*key, *(f"{side[key]:.1f}" if key in side else NO_FIGURE for side in (before, after))]
        for key in dict.fromkeys([*before, *after])
    ]
    table = markdown_table(["benchmark", "metric", "n", "before", "after"], rows)
    return f"Scores of Hedgerow's benchmarks, in points:\n\n{table}"


def _result(line: str, *, place: str) -> Mapping[str, Any]:
    """One result of a benchmark."""
    kinds = {"benchmark": str, "metric": str, "n": int, "model": str, "score": int | float}
    try:
        found = read_json(line)
    except JsonError:
        found = None
    if not isinstance(found, dict) or any(
        not isinstance(found.get(key), kind) for key, kind in kinds.items()
    ):
        raise HedgerowError(
            f"Expected a result as 'hedgerow benchmark … --json' prints it in {place}, found "
            "something else."
        )
    return found
