"""The results of a finished training on the command line."""

from __future__ import annotations

from typing import Any

from rich.table import Table

from cli.shared.tables import table_of
from curation.release.overlap_results import description, description_by_field
from hedgerow.losses.families import Role
from training.benchmarks.contamination import bundled_texts_description
from training.evaluation.held_out import COSINE, STS
from training.evaluation.retrieval import RETRIEVAL, WHAT_IT_IS
from training.runs.curves import GENERAL, SHARES

COSINES = {
    COSINE[Role.NEGATION]: "cosine of anchor and negation",
    COSINE[Role.UNSUPPORTED]: "cosine of anchor and unsupported variant",
    COSINE[Role.HEDGE]: "cosine of anchor and hedge",
    COSINE[Role.PARAPHRASE]: "cosine of anchor and paraphrase",
}


def details(result: dict[str, Any]) -> list[str | Table]:
    """A finished training as sentences: the held-out figures, and the path of the model."""
    lines: list[str | Table] = []
    if result["kept_step"] != result["steps"]:
        lines.append(f"The checkpoint after step {result['kept_step']:,} was the best and is kept.")
    if table := _figures(result["held_out"]):
        lines.append(table)
    if RETRIEVAL in result["held_out"]["after"]:
        lines.append(WHAT_IT_IS)
    for found in result.get("overlap") or ():
        lines += filter(None, [description(found), description_by_field(found)])
    lines += filter(None, [bundled_texts_description(result.get("bundled_overlap") or ())])
    return [*lines, f"The model is in {result['model']}."]


def _figures(held_out: dict[str, dict[str, float]]) -> Table | None:
    """The figures before and after; None if nothing was held out."""
    before, after = held_out["before"], held_out["after"]
    rows = [
        (label, _shown(name, before), _shown(name, after), held_out["of"].get(name, ""))
        for name, label in (SHARES | COSINES | GENERAL).items()
        if name in after
    ]
    return table_of("held out", "before", "after", "measured on", rows=rows) if rows else None


def _shown(name: str, figures: dict[str, float]) -> str:
    if name not in figures:
        return ""
    if name in SHARES:
        return f"{figures[name]:.1%}"
    return f"{100 * figures[name]:.1f}" if name == STS else f"{figures[name]:.3f}"
