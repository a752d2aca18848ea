"""Measurements of a variant: distances, kept content, flags, hardness and suspicion.

These are pure functions of the texts and a given cosine. Other modules store the results.
"""

from __future__ import annotations

import enum
import re
from collections.abc import Collection
from functools import lru_cache
from typing import NamedTuple

import Levenshtein

from curation.anchors.checks import anchor_problems
from curation.diagnostics.hedging import is_flat_hedge, reports_others
from curation.diagnostics.pair_analysis import PairAnalysis
from curation.diagnostics.surface import surface_problems
from curation.project.settings import LEVENSHTEIN_THRESHOLD
from curation.taxonomy.surface_check import SurfaceCheck

MEASURES_VERSION = 4
"""Increased with every change to a measure, a flag or a built-in surface check.

It is stored with each measurement, so that the next diagnostics run repeats older ones.
"""

MAX_EXCUSED = 2
"""Maximum number of dropped content words that added ones can replace.

For example, 'is valid' to 'has lapsed'.
"""


class Flag(enum.IntFlag):
    """Possible problems of a variant; a variant can have several."""

    OVER_THRESHOLD = 1
    UNCHANGED = 2
    SAME_AS_SIBLING = 4
    WRONG_SURFACE = 8
    CONTENT_DROPPED = 16
    ANCHOR_NOT_AFFIRMATIVE = 32
    FLAT_HEDGE = 64
    REPORTS_OTHERS = 128

    @property
    def label(self) -> str:
        """Return a short label for a chip or a chart. A combination has its members' labels."""
        return ", ".join(_TEXTS[flag][0] for flag in self) or "no flag"

    @property
    def explanation(self) -> str:
        """Return a sentence for a tooltip; for a combination, one sentence per member."""
        return " ".join(_TEXTS[flag][1] for flag in self) or "No problems were found."


_TEXTS: dict[Flag, tuple[str, str]] = {
    Flag.OVER_THRESHOLD: (
        "too far from anchor",
        "The variant differs from the anchor by more characters than the Levenshtein threshold "
        "allows.",
    ),
    Flag.UNCHANGED: (
        "unchanged",
        "The text has the same words as the anchor.",
    ),
    Flag.SAME_AS_SIBLING: (
        "same as sibling",
        "Another variant of the same anchor has the same words.",
    ),
    Flag.WRONG_SURFACE: (
        "wrong surface form",
        "The variant does not have the form that its type requires.",
    ),
    Flag.CONTENT_DROPPED: (
        "content dropped",
        "More content words of the anchor are missing than this type can replace.",
    ),
    Flag.ANCHOR_NOT_AFFIRMATIVE: (
        "anchor not affirmative",
        "The anchor appears to be negated, hedged, disputed, a question, a command or not English.",
    ),
    Flag.FLAT_HEDGE: (
        "unhedged claim after concession",
        "The variant has a concession, but states the claim as firmly as the anchor.",
    ),
    Flag.REPORTS_OTHERS: (
        "claim attributed to others",
        "The variant reports what others say. A hedge must show that the writer is less sure.",
    ),
}

_SEVERITY: dict[Flag, int] = {
    Flag.UNCHANGED: 16,
    Flag.WRONG_SURFACE: 8,
    Flag.CONTENT_DROPPED: 6,
    Flag.FLAT_HEDGE: 5,
    Flag.REPORTS_OTHERS: 5,
    Flag.SAME_AS_SIBLING: 4,
    Flag.ANCHOR_NOT_AFFIRMATIVE: 3,
    Flag.OVER_THRESHOLD: 2,
}
"""Weight of each flag in the suspicion score. Only the order matters."""


class Measures(NamedTuple):
    """The measurements of a variant that need no encoder.

    levenshtein: characters to insert, delete or replace to turn the anchor into the text.
    length_ratio: words (split at white space) in the text per word in the anchor; 1 means equal
    length.
    content_kept: share of the anchor's distinct content words that the text keeps in some form.
    """

    levenshtein: int
    length_ratio: float
    content_kept: float
    flags: Flag


def measure(
    *,
    anchor: str,
    text: str,
    cue: str | None,
    check: SurfaceCheck,
    siblings: Collection[str],
    threshold: int = LEVENSHTEIN_THRESHOLD,
    english: bool = True,
) -> Measures:
    """Measure one variant against its anchor.

    Args:
        anchor: the anchor's text, canonical (see `curation.content_uids.canonical`).
        text: the variant's text, canonical.
        cue: the requested hedge cue, if its type has cues.
        check: the surface check of its type.
        siblings: texts of the *other* variants of the anchor.
        threshold: as in `distance_flag`.
        english: whether the anchor is declared to be English. The anchor checks only work for
            English.
    """
    comparison = PairAnalysis(anchor=anchor, text=text)
    levenshtein = Levenshtein.distance(anchor, text)
    flags = distance_flag(levenshtein, threshold, check=check)
    if same_words(text, anchor):
        flags |= Flag.UNCHANGED
    if any(same_words(text, sibling) for sibling in siblings):
        flags |= Flag.SAME_AS_SIBLING
    if surface_problems(check, comparison, cue=cue):
        flags |= Flag.WRONG_SURFACE
    if _drops_content(check, comparison):
        flags |= Flag.CONTENT_DROPPED
    if english and anchor_problems(anchor):
        flags |= Flag.ANCHOR_NOT_AFFIRMATIVE
    if check.require_cue:
        flags |= Flag.FLAT_HEDGE if is_flat_hedge(comparison) else Flag(0)
        flags |= Flag.REPORTS_OTHERS if reports_others(comparison) else Flag(0)
    return Measures(
        levenshtein=levenshtein,
        length_ratio=len(text.split()) / max(1, len(anchor.split())),
        content_kept=comparison.content_kept,
        flags=flags,
    )


def distance_flag(levenshtein: int, threshold: int, *, check: SurfaceCheck) -> Flag:
    """Return OVER_THRESHOLD for a distance (in characters) above the threshold, else no flag.

    A free-form type has no threshold.
    """
    over = check.keeps_words and levenshtein > threshold
    return Flag.OVER_THRESHOLD if over else Flag(0)


def same_words(one: str, other: str) -> bool:
    """Whether two texts differ at most in case, punctuation and contractions of 'not'."""
    return _plain(one) == _plain(other)


@lru_cache(maxsize=4096)
def _plain(text: str) -> str:
    """Return the text without case and punctuation, with contractions of 'not' expanded."""
    lower = text.lower().replace("’", "'").replace("n't", " not").replace("cannot", "can not")
    return " ".join(re.findall(r"\w+", lower))


def _drops_content(check: SurfaceCheck, comparison: PairAnalysis) -> bool:
    """Whether more content is lost than the type's limit, not counting replaced words.

    A hedge replaces nothing: its own new words ('The archives are not conclusive, but …') don't
    compensate for a loss.
    """
    if check.max_lost_content is None:
        return False
    excused = 0 if check.require_cue else min(len(comparison.added), MAX_EXCUSED)
    lost = len(comparison.lost) - excused
    return lost > check.max_lost_content or bool(comparison.lost_to_pronoun)


def hardness(
    *, levenshtein: int, cosine: float | None, threshold: int = LEVENSHTEIN_THRESHOLD
) -> float | None:
    """Return the difficulty of a pair for the cosine's encoder, in [0, 1]; None without a cosine.

    (1 - min(levenshtein, threshold) / threshold) * max(cosine, 0): 1 for a text that hardly differs
    and that the encoder treats as equal, 0 at the threshold or for orthogonal vectors.
    """
    if cosine is None:
        return None
    closeness = 1 - min(levenshtein, threshold) / threshold if threshold > 0 else 0.0
    return closeness * min(max(cosine, 0.0), 1.0)


def suspicion(
    flags: Flag,
    *,
    levenshtein: int,
    cosine: float | None,
    content_kept: float,
    polarity: str,
) -> float:
    """Return the review priority of a variant, in [0, 1].

    (severity + oddity) / (total severity + 1). Severity is the sum of the flags' whole-number
    weights. Oddity, below 1, orders variants with equal severity by the mean of three shares:
    Levenshtein distance d as d / (d + 60), content lost, and 1 - cosine. The last has half the
    weight for negations, whose meaning should differ but whose topic should not, and is 0.5 if the
    cosine is unknown.
    """
    severity = sum(weight for flag, weight in _SEVERITY.items() if flag in flags)
    distance = levenshtein / (levenshtein + LEVENSHTEIN_THRESHOLD)
    drift = 0.5 if cosine is None else min(max(1 - cosine, 0.0), 1.0)
    drift *= 0.5 if polarity == "negative" else 1.0
    oddity = (distance + (1 - content_kept) + drift) / 3 * 0.999
    return (severity + oddity) / (sum(_SEVERITY.values()) + 1)
