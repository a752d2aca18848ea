"""The metrics of a model card before and after training, and the data of each."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

from sqlalchemy.orm import Session

from curation.formatting import markdown_table, percent
from training.evaluation.held_out import (
    COSINE,
    DRIFT,
    FAMILIES,
    MOST_FAMILIES,
    QUESTIONS,
    RANKED,
    SPREAD,
    STS,
)
from training.evaluation.probe_groups import GroupScores, find_groups, score
from training.evaluation.probe_sets import FIGURE_1_SET, GROUPS_SET, stored_probes
from training.evaluation.probes import probe_cosines
from training.evaluation.retrieval import RETRIEVAL, WHAT_IT_IS
from training.evaluation.similarity import ROLES
from training.hub.model_card_text import MEASURED_ON, OF_THE_PROBES, OF_THE_QUESTIONS
from training.recipe.schema import Recipe

NO_FIGURE = "–"

_HELD_OUT, _FIGURE_1, _GROUPS = "held out", "Figure 1", "sixty groups"

_MEASURED_ON = {STS: "the given STS file", RETRIEVAL: "bundled questions"}
"""The data of metrics that are not measured on the held-out part."""


class _Figure(NamedTuple):
    """A row of the table: the metric, its data and number of items, before and after."""

    name: str
    measured_on: str
    n: int | str
    before: str
    after: str


def figures(session: Session, result: Mapping[str, Any], recipe: Recipe) -> str:
    """A run's metrics in Markdown: a table of all, and a table of the triples by type pair.

    Args:
        result: as in `training.hub.model_card.card_of`.
    """
    held_out = result.get("held_out") or {}
    sizes = held_out.get("of", {})
    before, after = held_out.get("before", {}), held_out.get("after", {})
    rows = [*_of_the_held_out(before, after, sizes), *_of_the_probes(session, result)]
    if not rows:
        return "None were measured."
    parts = [_table(rows)]
    if after:
        parts.append(_one_paragraph(MEASURED_ON.format(most=MOST_FAMILIES)))
    if RETRIEVAL in after:
        parts.append(f"{WHAT_IT_IS} {OF_THE_QUESTIONS}")
    if recipe.early_stopping and after:
        parts.append(
            f"The checkpoint with the best `{recipe.early_stopping}` on this split was kept, so "
            "the figures on the held-out data are slightly optimistic."
        )
    if any(row.measured_on in (_FIGURE_1, _GROUPS) for row in rows):
        parts.append(_one_paragraph(OF_THE_PROBES))
    if pairs := [name for name in after if name.startswith(f"{RANKED}:")]:
        parts.append(
            "### Triples ranked correctly, by type\n\n" + _by_types(pairs, before, after, sizes)
        )
    return "\n\n".join(parts)


def _table(rows: Sequence[_Figure]) -> str:
    return markdown_table(["figure", "measured on", "n", "before", "after"], rows)


def _one_paragraph(text: str) -> str:
    return " ".join(text.split())


def _of_the_held_out(
    before: Mapping[str, float], after: Mapping[str, float], sizes: Mapping[str, int]
) -> list[_Figure]:
    rows = []
    for key, (name, shown) in _NAMES.items():
        if key in after:
            place = _MEASURED_ON.get(key, _HELD_OUT)
            old, new = (_shown(figures, key, shown) for figures in (before, after))
            rows.append(_Figure(name, place, sizes.get(key, NO_FIGURE), old, new))
    return rows


def _shown(figures: Mapping[str, float], key: str, shown: Callable[[float], str]) -> str:
    if key not in figures:
        return NO_FIGURE
    spread = figures.get(key + SPREAD)
    return shown(figures[key]) + (f" (sd {spread:.3f})" if spread is not None else "")


def _cosine(value: float) -> str:
    return f"{value:.3f}"


_NAMES = {
    RANKED: ("triples ranked correctly", percent),
    FAMILIES: ("anchors with every positive closer than every negative", percent),
    QUESTIONS: ("SemAntoNeg-style questions answered correctly", percent),
    **{
        name: (f"mean cosine of anchor and {role.name.lower()}", _cosine)
        for role, name in COSINE.items()
    },
    DRIFT: ("drift", _cosine),
    STS: ("Spearman correlation with human scores", _cosine),
    RETRIEVAL: ("retrieval (mean reciprocal rank)", _cosine),
}
"""The label and the number format of each metric."""


def _by_types(
    names: Sequence[str],
    before: Mapping[str, float],
    after: Mapping[str, float],
    sizes: Mapping[str, int],
) -> str:
    rows = []
    for name in names:
        positive, _, negative = name.removeprefix(f"{RANKED}:").partition(">")
        shares = (_shown(figures, name, percent) for figures in (before, after))
        rows.append([positive, negative, sizes.get(name, NO_FIGURE), *shares])
    return markdown_table(["positive", "negative", "n", "before", "after"], rows)


def _of_the_probes(session: Session, result: Mapping[str, Any]) -> list[_Figure]:
    """Figure 1 and the sixty groups, if both encoders have been measured on them."""
    rows = []
    if cosines := _cosines(session, FIGURE_1_SET, result):
        for stored, old, new in zip(stored_probes(session, FIGURE_1_SET), *cosines, strict=True):
            name = f"cosine of the {stored.probe.label} sentence"
            rows.append(_Figure(name, _FIGURE_1, 1, _cosine(old), _cosine(new)))
    if cosines := _cosines(session, GROUPS_SET, result):
        groups = find_groups([stored.probe for stored in stored_probes(session, GROUPS_SET)])
        rows += _of_the_groups(*(score(groups, found) for found in cosines))
    return rows


def _cosines(
    session: Session, set_name: str, result: Mapping[str, Any]
) -> tuple[list[float], list[float]] | None:
    """The cosines of a set's pairs before and after; None if one is missing."""
    ids = [stored.id for stored in stored_probes(session, set_name)]
    old, new = (
        probe_cosines(session, int(result.get(key, 0)), ids)
        for key in ("before_encoder_id", "encoder_id")
    )
    if not ids or len(old) < len(ids) or len(new) < len(ids):
        return None
    return [old[key] for key in ids], [new[key] for key in ids]


def _of_the_groups(before: GroupScores, after: GroupScores) -> list[_Figure]:
    shares = {
        "groups with the contradicted sentence farthest": "ranked",
        "groups with the affirmed sentence closer than the weakened one": "affirmed_first",
    }
    rows = [
        _Figure(name, _GROUPS, after.groups, *(percent(getattr(s, key)) for s in (before, after)))
        for name, key in shares.items()
    ]
    return rows + [
        _Figure(
            f"mean cosine of the {role} sentence",
            _GROUPS,
            after.groups,
            *(_cosine(scores.means[role]) for scores in (before, after)),
        )
        for role in ROLES
    ]
