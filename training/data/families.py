"""The families of a release for training: the roles of their variants, and exclusions."""

from __future__ import annotations

import random
from collections.abc import Collection, Mapping, Sequence

from sqlalchemy.orm import Session

from curation.release import triples
from curation.release.triples import portion_of
from curation.taxonomy.built_in import known_type
from curation.taxonomy.project_types import all_types, list_types
from curation.taxonomy.surface_check import role_of
from db.models import Polarity, Split
from hedgerow.losses.families import POSITIVE, Family, Member, Role, has_contrast
from training.data.sampling import count_triples
from training.recipe.schema import Recipe


def training_families(
    session: Session,
    release_id: int,
    *,
    split: Split,
    recipe: Recipe,
    providers: Collection[str] = (),
) -> list[Family]:
    """Anchors with the variants that the recipe uses, by anchor uid.

    A family that gives no comparison is left out (see `is_usable`).

    Args:
        providers: use only the variants of these providers; empty means all.

    Raises:
        HedgerowError: the recipe weighs a type that the project does not have.
    """
    require_known_types(session, recipe)
    roles = {entry.id: entry.role for entry in all_types(session).values()}
    stored = triples.families(session, release_id, split=split)
    families = (
        as_trained_on(family, roles=roles, recipe=recipe, providers=providers) for family in stored
    )
    return [family for family in families if is_usable(family, recipe)]


def require_known_types(session: Session, recipe: Recipe) -> None:
    """Refuse a recipe with a weight for a type that the project does not have, such as a typo.

    Raises:
        HedgerowError: the project does not have the type.
    """
    for type_id in recipe.types:
        known_type(list_types(session, retired=True), type_id)


def as_trained_on(
    stored: triples.Family,
    *,
    roles: Mapping[str, str],
    recipe: Recipe,
    providers: Collection[str] = (),
) -> Family:
    """The anchor and the variants that the recipe uses, if any: positives first, then unsupported
    variants, then negations.

    Args:
        stored: the family in the release.
        roles: the roles of all types, by id.
        providers: as in `training_families`.
    """
    variants = [
        variant
        for side in (Polarity.POSITIVE, Polarity.NEUTRAL, Polarity.NEGATIVE)
        for variant in stored.variants
        if variant.polarity == side
        and (not providers or variant.provider in providers)
        and _passes(stored, variant, recipe)
    ]
    anchor = Member(stored.anchor, Role.ANCHOR, source=stored.source)
    chosen = portion_of(variants, recipe.data, roles=roles)
    return [anchor, *(Member(one.text, _role(one, roles), one.type_id) for one in chosen)]


def _role(variant: triples.FamilyVariant, roles: Mapping[str, str]) -> Role:
    return Role[role_of(variant.polarity, roles.get(variant.type_id)).upper()]


def _passes(stored: triples.Family, variant: triples.FamilyVariant, recipe: Recipe) -> bool:
    of_source = recipe.sources.get(stored.source, 1.0)
    return bool(of_source and recipe.types.get(variant.type_id, 1.0))


def with_prompts(family: Family, recipe: Recipe) -> Family:
    """The family with the recipe's instructions before its texts."""
    query, document = recipe.prompts
    return [
        member._replace(text=(query if member.role == Role.ANCHOR else document) + member.text)
        for member in family
    ]


def is_usable(family: Family, recipe: Recipe) -> bool:
    """Whether the family gives a comparison: it has a positive, and a negation unless the negatives
    are other anchors (data mode 'hedging')."""
    if recipe.data == "hedging":
        return any(member.role in POSITIVE for member in family)
    return has_contrast(family)


def sampled(rows: Sequence[Family], *, max_triples: int | None, seed: int) -> list[Family]:
    """A random sample of rows with about this many triples, at least one row. Families are sampled
    as a whole."""
    if max_triples is None:
        return list(rows)
    order = list(range(len(rows)))
    random.Random(seed).shuffle(order)
    chosen: list[int] = []
    total = 0
    for number in order:
        total += count_triples(rows[number])
        if chosen and total > max_triples:
            break
        chosen.append(number)
    return [rows[number] for number in sorted(chosen)]
