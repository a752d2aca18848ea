"""The sibling to compare a passage with, which differs too much from its anchor for a diff."""

from collections.abc import Iterable, Mapping
from typing import NamedTuple

from curation.review.cards import Card
from curation.taxonomy.built_in import VariantType
from pages.components.shared.formatting.diff import has_diff, likeness

MIN_LIKENESS = 0.6
"""Minimum likeness of two variants for a comparison (see ``likeness``). Passages of one family
share more than 0.9 of their words, other variants without a diff less than 0.4."""


class Sibling(NamedTuple):
    """Another variant of the same anchor: its text and the label of its type."""

    text: str
    label: str


def wanted(shown: Card) -> bool:
    """Whether the card needs a sibling, because there is no diff against its anchor."""
    return not has_diff(shown.anchor, shown.variant.text)


def nearest(
    shown: Card, family: Iterable[Card], entries: Mapping[str, VariantType]
) -> Sibling | None:
    """The sibling of another role that shares the most words with this variant, if any.

    Paraphrases come first, because they make the anchor's claim.

    Args:
        entries: every type by its id.
    """
    role = entries[shown.variant.type_id].role
    others = [
        (likeness(other.variant.text, shown.variant.text), other.variant.text, its)
        for other in family
        if other.is_shown_with(shown) and (its := entries[other.variant.type_id]).role != role
    ]
    near = [found for found in others if found[0] >= MIN_LIKENESS]
    if not near:
        return None
    _, text, its = max(near, key=lambda found: (found[2].role == "paraphrase", found[0]))
    return Sibling(text, its.label)
