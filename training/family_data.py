"""The families of a release as a training sees them: in what roles, and what is left out."""

from __future__ import annotations

import random
from collections.abc import Iterator, Mapping, Sequence

import Levenshtein
from sqlmodel import Session

from curation import triples
from curation.types import list_types
from db.models import Split
from training.batches import count_triples
from training.losses import Family, Member, Role
from training.recipe import DataMode, Recipe

_LEFT_OUT: dict[DataMode, Role | None] = {
    "all": None, "negation": Role.HEDGE, "hedging": Role.NEGATION,
}  # fmt: skip


def training_families(
    session: Session, release_id: int, *, split: Split, recipe: Recipe
) -> list[Family]:
    """Anchors with the variants that the recipe leaves in, by anchor uid.

    A family that gives no comparison is left out: one without a positive, or, unless the negatives
    are other anchors (data mode 'hedging'), without a negation.
    """
    families = _families(session, release_id, split=split, recipe=recipe)
    return [family for family in families if is_usable(family, recipe)]


def _families(
    session: Session, release_id: int, *, split: Split, recipe: Recipe
) -> Iterator[Family]:
    roles = {entry.id: entry.role for entry in list_types(session)}
    for family in triples.families(session, release_id, split=split):
        yield as_trained_on(family, roles=roles, recipe=recipe)


def as_trained_on(stored: triples.Family, *, roles: Mapping[str, str], recipe: Recipe) -> Family:
    """The anchor and those of its variants that the recipe leaves in; maybe none.

    Args:
        stored: as the release has it.
        roles: of the types in use, by id.
    """
    members = [Member(stored.anchor, Role.ANCHOR)]
    for side, variants in (("+", stored.positives), ("-", stored.negatives)):
        for variant in variants:
            role = _role(side, roles.get(variant.type_id))
            if _passes(stored.anchor, variant, role, recipe):
                members.append(Member(variant.text, role, variant.type_id))
    return members


def _role(side: str, of_type: str | None) -> Role:
    if side == "-":
        return Role.NEGATION
    return Role.PARAPHRASE if of_type == "paraphrase" else Role.HEDGE


def _passes(anchor: str, variant: triples.Member, role: Role, recipe: Recipe) -> bool:
    if role is _LEFT_OUT[recipe.data] or variant.type_id in recipe.without_types:
        return False
    if recipe.providers and variant.provider not in recipe.providers:
        return False
    limit = recipe.max_distance
    return limit is None or Levenshtein.distance(anchor, variant.text) <= limit


def is_usable(family: Family, recipe: Recipe) -> bool:
    """Whether the family gives a comparison."""
    roles = {member.role for member in family}
    positive = bool(roles & {Role.HEDGE, Role.PARAPHRASE})
    return positive and (Role.NEGATION in roles or recipe.data == "hedging")


def count_drawn(family: Family) -> int:
    """As how many triples a family counts where some of them are drawn: one without a negation has
    as many as it has positives."""
    return count_triples(family) or len(family) - 1


def drawn(families: Sequence[Family], *, max_triples: int | None, seed: int) -> list[Family]:
    """Whole families, drawn by the seed, that give about so many triples; at least one."""
    if max_triples is None:
        return list(families)
    order = list(range(len(families)))
    random.Random(seed).shuffle(order)
    chosen: list[int] = []
    total = 0
    for number in order:
        size = count_drawn(families[number])
        if chosen and total + size > max_triples:
            break
        chosen.append(number)
        total += size
    return [families[number] for number in sorted(chosen)]
