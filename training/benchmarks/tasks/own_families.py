"""Hedgerow's own benchmark: the families of a release's test split."""

from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple, Self

import numpy as np
from sqlalchemy.orm import Session

from curation.release import triples
from db.errors import HedgerowError
from db.models import Polarity, Split
from training.benchmarks.definition import (
    RIGHT,
    TIED,
    UNANSWERED,
    WRONG,
    Benchmark,
    ItemResult,
    PartMark,
    Question,
    above,
    answered,
)

POSITIVE, NEGATIVE, PAIRS = "positive type", "negative type", "pair of types"
"""The breakdowns: each type against all of the other side, and each pair of types."""

LEVELS = "levels"
"""The breakdown of anchors with a variant that leaves the claim open: whether all such variants are
farther than every positive, nearer than every negative, and both."""

BELOW, ABOVE, IN_ORDER = (
    "farther than positives",
    "nearer than negations",
    "both: in order",
)


class FamilyText(NamedTuple):
    """A text of a type. Its uid leads to its record."""

    type_id: str
    text: str
    uid: str = ""


class Kin(NamedTuple):
    """An anchor with its positives and negatives, at least one of each.

    Attributes:
        open: the variants that leave the claim open.
    """

    uid: str
    anchor: str
    positives: tuple[FamilyText, ...]
    negatives: tuple[FamilyText, ...]
    open: tuple[FamilyText, ...] = ()

    @property
    def variants(self) -> tuple[FamilyText, ...]:
        """All texts, in the order of their scores."""
        return self.positives + self.open + self.negatives


class Hedgerow(Benchmark[Kin]):
    """The share of anchors whose positives are all closer to them than every negative.

    This is the metric `held_out.FAMILIES` for the whole split. Variants that leave the claim open
    only count in their own breakdown (`LEVELS`), so that scores of releases with and without them
    are comparable.
    """

    id = "hedgerow"
    title = "Hedgerow"
    measures = "Is every hedge and paraphrase of an anchor closer to it than every negation?"
    paper = "the test split of a release of this project"
    metric = "families"
    outcomes = (RIGHT, WRONG, TIED, UNANSWERED)
    expects = "a release of this project"

    @classmethod
    def read(cls, source: Path | str = "") -> Self:
        """Refuse: the data is in the database. See `of_release`."""
        raise HedgerowError(
            "Expected a release for this benchmark, found a file; choose a release."
        )

    @classmethod
    def of_release(cls, session: Session, release_id: int, *, split: Split = Split.TEST) -> Self:
        """The families of a release that have both sides, by anchor uid.

        Raises:
            HedgerowError: the split has no such families.
        """
        found = [
            Kin(
                family.anchor_uid,
                family.anchor,
                _texts(family.positives),
                _texts(family.negatives),
                _texts([v for v in family.variants if v.polarity == Polarity.NEUTRAL]),
            )
            for family in triples.families(session, release_id, split=split)
            if family.positives and family.negatives
        ]
        if not found:
            raise HedgerowError(
                f"Expected anchors with a positive and a negative variant in the {split} split "
                "of the release, found none; accept more variants and create another release."
            )
        return cls(found)

    def asked(self, item: Kin) -> list[Question]:
        """The anchor with all its variants, the positives first."""
        return [Question(item.anchor, tuple(v.text for v in item.variants))]

    def judged(self, number: int, item: Kin, scores: Sequence[np.ndarray]) -> ItemResult:
        """Right as a whole. Every type and every pair of types is also judged separately."""
        ends = len(item.positives), len(item.positives) + len(item.open)
        near, between, far = np.split(scores[0], ends)
        right, tied = above(near, far)
        whole = answered(scores)
        named = _named(item.variants)
        return ItemResult(
            key=item.uid,
            outcome=self.outcome(right, tied, whole),
            right=right,
            tied=tied,
            answered=whole,
            scores=tuple(map(float, scores[0])),
            group=item.uid,
            marks=(*_marks(item, near, far), *_levels(near, between, far)),
            texts={"anchor": item.anchor, **{name: v.text for name, v in named.items()}},
            uids={"anchor": item.uid, **{name: v.uid for name, v in named.items()}},
        )


def _marks(item: Kin, near: np.ndarray, far: np.ndarray) -> list[PartMark]:
    marks = [
        PartMark(POSITIVE, name, above(near[rows], far)[0])
        for name, rows in _by_type(item.positives).items()
    ]
    marks += [
        PartMark(NEGATIVE, name, above(near, far[rows])[0])
        for name, rows in _by_type(item.negatives).items()
    ]
    return marks + [
        PartMark(PAIRS, f"{good.type_id}>{bad.type_id}", bool(cosine > other))
        for good, cosine in zip(item.positives, near, strict=True)
        for bad, other in zip(item.negatives, far, strict=True)
    ]


def _levels(near: np.ndarray, between: np.ndarray, far: np.ndarray) -> list[PartMark]:
    if not len(between):
        return []
    below, over = above(near, between)[0], above(between, far)[0]
    return [
        PartMark(LEVELS, BELOW, below),
        PartMark(LEVELS, ABOVE, over),
        PartMark(LEVELS, IN_ORDER, below and over),
    ]


def _texts(variants: Sequence[triples.FamilyVariant]) -> tuple[FamilyText, ...]:
    return tuple(FamilyText(v.type_id, v.text, v.uid) for v in variants)


def _by_type(variants: Sequence[FamilyText]) -> dict[str, list[int]]:
    rows: dict[str, list[int]] = {}
    for number, variant in enumerate(variants):
        rows.setdefault(variant.type_id, []).append(number)
    return rows


def _named(variants: Sequence[FamilyText]) -> dict[str, FamilyText]:
    """The variants by type, in their order. Second and later ones of a type get a number."""
    found: dict[str, FamilyText] = {}
    counts: Counter[str] = Counter()
    for variant in variants:
        counts[variant.type_id] += 1
        count = counts[variant.type_id]
        found[variant.type_id if count == 1 else f"{variant.type_id} {count}"] = variant
    return found
