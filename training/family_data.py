"""The families of a release as a training sees them: what is filtered out, and the data mode."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from typing import Literal, NamedTuple

import Levenshtein
from sqlmodel import Session

from curation.triples import Family, families
from curation.triples import Member as Variant
from curation.types import list_types
from db.models import Split
from training.losses import Member, Role

DataMode = Literal["all", "negation", "hedging"]
"""As in the paper's Table 2: everything; negations with a paraphrase as the positive; hedges with
other anchors as the negatives."""


class Filters(NamedTuple):
    """Which variants a training leaves out.

    Attributes:
        mode: which kinds of variants.
        without_types: ids of types that are left out.
        max_distance: Levenshtein distance in characters that a variant may have from its anchor.
    """

    mode: DataMode = "all"
    without_types: Collection[str] = ()
    max_distance: int | None = None


def training_families(
    session: Session, release_id: int, *, split: Split, filters: Filters
) -> Iterator[list[Member]]:
    """Anchors with the variants that pass, by anchor uid; an anchor alone is left out."""
    roles = {entry.id: entry.role for entry in list_types(session)}
    for family in families(session, release_id, split=split):
        members = [Member(family.anchor, Role.ANCHOR), *_members(family, roles, filters)]
        if len(members) > 1:
            yield members


def _members(family: Family, roles: dict[str, str], filters: Filters) -> Iterator[Member]:
    for variant in family.positives:
        role = Role.PARAPHRASE if roles.get(variant.type_id) == "paraphrase" else Role.HEDGE
        if _passes(family, variant, role, filters):
            yield Member(variant.text, role, variant.type_id)
    for variant in family.negatives:
        if _passes(family, variant, Role.NEGATION, filters):
            yield Member(variant.text, Role.NEGATION, variant.type_id)


def _passes(family: Family, variant: Variant, role: Role, filters: Filters) -> bool:
    unwanted = {"all": None, "negation": Role.HEDGE, "hedging": Role.NEGATION}[filters.mode]
    if role is unwanted or variant.type_id in filters.without_types:
        return False
    limit = filters.max_distance
    return limit is None or Levenshtein.distance(family.anchor, variant.text) <= limit
