"""Groups of four sentences as in the paper's Figure 1, and their ranking by an encoder.

A group is an anchor with a sentence that contradicts it, one that weakens it, and one that affirms
it. For a good encoder, the first is the least similar. The sixty bundled groups are balanced:
fifteen for each negation type, hedges of one word or several, and affirmation by a negated antonym
or by emphasis that contains a negator or a negative affix. A negator alone therefore does not
identify a contradiction.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from functools import cache
from pathlib import Path
from typing import NamedTuple

import numpy as np

from training.evaluation.similarity import AFFIRMED, CONTRADICTED, ROLES, WEAKENED, ProbePair

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
