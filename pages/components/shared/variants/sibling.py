"""The sibling that a passage is compared with: it shares too little with its anchor for a diff."""

from collections.abc import Iterable, Mapping
from typing import NamedTuple

from curation.review.cards import Card
from curation.taxonomy.built_in import VariantType
from pages.components.shared.formatting.diff import has_diff, likeness

MIN_LIKENESS = 0.6
"""Of two variants (see ``likeness``). Passages of one family share more than 0.9 of their words,
and other variants without a diff less than 0.4."""


class Sibling(NamedTuple):
    """Another variant of the same anchor, and what its type is called."""

    text: str
    label: str


def wanted(shown: Card) -> bool:
    """Whether the card needs a sibling, since its anchor doesn't show what differs."""
    return not has_diff(shown.anchor, shown.variant.text)


def nearest(
    shown: Card, family: Iterable[Card], entries: Mapping[str, VariantType]
) -> Sibling | None:
    """The sibling of another role that shares most words with this variant, if any shares enough.

    A paraphrase makes the anchor's claim, so it comes before the others.

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
