"""Cosine similarities before and after finetuning: the paper's Figure 1, and those by type.

Everything here returns tidy rows (one value per row). The pages draw the charts.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

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


# -- Groups of four sentences as in the paper's Figure 1, and their ranking by an encoder ---------
#
# A group is an anchor with a sentence that contradicts it, one that weakens it, and one that
# affirms it. For a good encoder, the first is the least similar. The sixty bundled groups are
# balanced: fifteen for each negation type, hedges of one word or several, and affirmation by a
# negated antonym or by emphasis that contains a negator or a negative affix. A negator alone
# therefore does not identify a contradiction.


_FILE = Path(__file__).with_name("probe_groups.jsonl")


class BundledGroup(NamedTuple):
    """A group of the bundled set, and its construction."""

    topic: str
    anchor: str
    contradicted: str
    negation: str
    """The variant type of `contradicted`: verbal, absolute, affixal or lexical."""
    weakened: str
    cue: str
    """The hedge cue in `weakened`, spelt as in the paper's lists."""
    affirmed: str
    affirmed_by: str
    """``negated_antonym`` or ``emphasis``."""


class ProbeGroup(NamedTuple):
    """An anchor with all three forms. `rows` has the index of each role's probe."""

    anchor: str
    rows: dict[str, int]


class GroupScores(NamedTuple):
    """An encoder's scores on groups; shares are in [0, 1], cosines in [-1, 1]."""

    groups: int
    means: dict[str, float]
    """The mean cosine with the anchor, by role."""
    ranked: float
    """Ranking accuracy: the share of groups whose contradicted sentence is less similar to the
    anchor than both others. A third by chance; equal cosines count as wrong."""
    below_weakened: float
    """Share of groups with the contradicted sentence below the weakened one; half by chance."""
    below_affirmed: float
    affirmed_first: float
    """Share of groups with the affirmed sentence above the weakened one; half by chance."""
    margin: float
    """Mean distance of the contradicted sentence below the lower of the others; negative if
    above."""


@cache
def bundled_groups() -> tuple[BundledGroup, ...]:
    """The sixty groups that come with Hedgerow."""
    lines = _FILE.read_text(encoding="utf-8").splitlines()
    return tuple(BundledGroup(**json.loads(line)) for line in lines)


@cache
def bundled_probes() -> tuple[ProbePair, ...]:
    """The pairs of the bundled groups, three per group."""
    return tuple(
        ProbePair(group.anchor, getattr(group, role), role)
        for group in bundled_groups()
        for role in ROLES
    )


def find_groups(probes: Sequence[ProbePair]) -> list[ProbeGroup]:
    """The complete groups in a list of pairs, identified by anchor and label, in their order.

    If an anchor has a role twice, the first pair counts.
    """
    rows: dict[str, dict[str, int]] = {}
    for row, probe in enumerate(probes):
        if probe.label in ROLES:
            rows.setdefault(probe.anchor, {}).setdefault(probe.label, row)
    return [ProbeGroup(anchor, found) for anchor, found in rows.items() if len(found) == len(ROLES)]


def score(groups: Sequence[ProbeGroup], cosines: Sequence[float]) -> GroupScores:
    """An encoder's scores on these groups, at least one.

    Args:
        cosines: one for each probe in the list from which the groups were taken.
    """
    by_role = {role: np.array([cosines[group.rows[role]] for group in groups]) for role in ROLES}
    contradicted = by_role[CONTRADICTED]
    nearest = np.minimum(by_role[WEAKENED], by_role[AFFIRMED])
    return GroupScores(
        groups=len(groups),
        means={role: float(values.mean()) for role, values in by_role.items()},
        ranked=float((contradicted < nearest).mean()),
        below_weakened=float((contradicted < by_role[WEAKENED]).mean()),
        below_affirmed=float((contradicted < by_role[AFFIRMED]).mean()),
        affirmed_first=float((by_role[AFFIRMED] > by_role[WEAKENED]).mean()),
        margin=float((nearest - contradicted).mean()),
    )
