"""Cosine similarities before and after finetuning: the paper's Figure 1 and distributions by type.

Everything here returns tidy rows (one value per row). The pages draw the charts.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from curation.encoders.embeddings import pair_cosines

if TYPE_CHECKING:
    from sentence_transformers import SentenceTransformer

BEFORE = "before"
AFTER = "after"

CONTRADICTED, WEAKENED, AFFIRMED = ROLES = ("contradicted", "weakened", "affirmed")
"""The relation of a sentence to its anchor, as in the paper's Figure 1; the label of a probe."""

_REFERENCE = json.loads(Path(__file__).with_name("paper_figure_1.json").read_text(encoding="utf-8"))


class ProbePair(NamedTuple):
    """A sentence pair whose similarity is shown before and after; the label may be empty."""

    anchor: str
    text: str
    label: str


class ProbeRow(NamedTuple):
    """A bar of Figure 1: one pair in one series. `published` marks values from the paper."""

    anchor: str
    text: str
    label: str
    series: str
    cosine: float
    published: bool


class DistributionRow(NamedTuple):
    """The cosine of an (anchor, variant) pair before or after, with its type and part of the
    data."""

    type: str
    part: str
    series: str
    cosine: float


FIGURE_1: tuple[ProbePair, ...] = tuple(
    ProbePair(_REFERENCE["anchor"], pair["text"], pair["label"]) for pair in _REFERENCE["pairs"]
)
"""The three pairs of the paper's Figure 1: contradicted, weakened, affirmed."""


def probe_similarities(model: SentenceTransformer, probes: Sequence[ProbePair]) -> list[float]:
    """The cosine, in [-1, 1], of each probe's two sentences."""
    pairs = [(probe.anchor, probe.text) for probe in probes]
    return [float(cosine) for cosine in pair_cosines(model, pairs)]


def probe_rows(
    probes: Sequence[ProbePair], *, before: Sequence[float] | None, after: Sequence[float]
) -> list[ProbeRow]:
    """Measured cosines as rows, 'before' (if known) and 'after' for each probe.

    Args:
        before, after: one cosine per probe, in the probes' order.
    """
    measured = {BEFORE: before, AFTER: after}
    return [
        ProbeRow(*probe, series, cosine, published=False)
        for series, cosines in measured.items()
        if cosines is not None
        for probe, cosine in zip(probes, cosines, strict=True)
    ]


def figure_1_rows(*, before: Sequence[float] | None, after: Sequence[float]) -> list[ProbeRow]:
    """Figure 1: the paper's published values (series 'paper: …') and the measured ones.

    Args:
        before, after: one cosine for each pair of FIGURE_1, in its order.
    """
    published = [
        ProbeRow(*probe, f"paper: {model}", cosine, published=True)
        for probe, pair in zip(FIGURE_1, _REFERENCE["pairs"], strict=True)
        for model, cosine in pair["published"].items()
    ]
    return published + probe_rows(FIGURE_1, before=before, after=after)


def distribution_rows(
    *,
    types: Sequence[str],
    parts: Sequence[str],
    before: Sequence[float],
    after: Sequence[float],
) -> list[DistributionRow]:
    """Cosines of (anchor, variant) before and after as rows, for a chart per type and part.

    Args:
        types: the type of each variant.
        parts: the part of the data of each variant, such as 'training' or 'pending fifth'.
        before, after: the cosine of each variant with its anchor. All four arguments have the same
            order.
    """
    return [
        DistributionRow(kind, part, series, float(cosine))
        for series, cosines in ((BEFORE, before), (AFTER, after))
        for kind, part, cosine in zip(types, parts, cosines, strict=True)
    ]
