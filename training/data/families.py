"""The families of a release for training: roles, exclusions, and what a recipe leaves of them."""

import random
from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from itertools import groupby
from operator import itemgetter
from types import MappingProxyType
from typing import NamedTuple

from sqlalchemy import Executable, func, select
from sqlalchemy.orm import Session
from sqlmodel import col

from curation.editing.own_types import CONTRADICTION, ENTAILMENT
from curation.release import triples
from curation.release.contents import count_accepted
from curation.release.freezing import get_release
from curation.release.selection import Selection, default_selection, selection_of
from curation.release.triples import BATCH, FamilyVariant, portion_of
from curation.release.triples import Family as ReleaseFamily
from curation.taxonomy.built_in import known_type
from curation.taxonomy.project_types import all_types, list_types
from curation.taxonomy.surface_check import role_of
from db.models import Anchor, Polarity, ReleaseItem, Source, Split, TypeRow, Variant
from training.data.sampling import count_triples
from training.losses.families import POSITIVE, Family, Member, Role, has_contrast
from training.recipe.schema import Recipe
from training.recipe.training_data import Amount, TrainingPlan, trained_on_now


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


# -- The composition of a train split, for counting quickly what a recipe leaves of it ------------


class Shape(NamedTuple):
    """A family without its texts.

    Attributes:
        source: the name of its anchor's source.
        variants: the polarity, type and provider of each variant.
    """

    source: str
    variants: tuple[tuple[Polarity, str, str | None], ...]


class Composition(NamedTuple):
    """The composition of the train split of a release, or of a release that would be created now.

    Attributes:
        release: its number; None if it does not exist yet.
        variants: the number of variants in all splits.
        shapes: the shapes of the families, with the number of families of each. A release has few
            different shapes.
        roles: the roles of all types.
        labels: the label of each type in the split, in the taxonomy's order.
        selection: which accepted variants the release contains.
        letters: the mean number of characters of a variant, by source.
    """

    release: int | None
    variants: int
    shapes: dict[Shape, int]
    roles: dict[str, str]
    labels: dict[str, str]
    selection: Selection = Selection()
    letters: Mapping[str, float] = MappingProxyType({})

    def left_by(self, recipe: Recipe, providers: Collection[str] = ()) -> TrainingPlan:
        """The plan of a training run with this recipe.

        Args:
            providers: use only the variants of these providers; empty means all.
        """
        amounts: dict[str, Amount] = {}
        for shape, count in self.shapes.items():
            family = as_trained_on(
                _stored(shape), roles=self.roles, recipe=recipe, providers=providers
            )
            if is_usable(family, recipe):
                letters = self.letters.get(shape.source, 0.0)
                triples, anchors, texts, _ = amounts.get(shape.source, Amount(0, 0, 0, letters))
                taking_part = sum(recipe.types.get(member.type_id, 1.0) for member in family)
                amounts[shape.source] = Amount(
                    triples + count * count_triples(family),
                    anchors + count,
                    texts + count * taking_part,
                    letters,
                )
        return TrainingPlan(self.release, self.variants, amounts, self.selection)

    @property
    def providers(self) -> list[str]:
        """The names of the variants' writers."""
        return sorted({by for shape in self.shapes for _, _, by in shape.variants if by})

    @property
    def anchors(self) -> int:
        """The number of families."""
        return sum(self.shapes.values())

    @property
    def originals(self) -> dict[str, int]:
        """The numbers of anchors with an original entailment and with a contradiction."""
        return {
            wanted: sum(
                count
                for shape, count in self.shapes.items()
                if any(type_id == wanted for _, type_id, _ in shape.variants)
            )
            for wanted in (ENTAILMENT, CONTRADICTION)
        }


def composition(session: Session, release_number: int | None = None) -> Composition:
    """The composition of the release with this number, or else of the newest one. It never changes.

    Raises:
        HedgerowError: there is no such release.
    """
    release = get_release(session, release_number)
    query = (
        select(
            col(ReleaseItem.anchor_uid),
            col(ReleaseItem.source),
            col(ReleaseItem.polarity),
            col(ReleaseItem.type_id),
            col(ReleaseItem.provenance)["provider"].as_string(),
            func.length(col(ReleaseItem.text)),
        )
        .where(col(ReleaseItem.release_id) == release.id, col(ReleaseItem.split) == Split.TRAIN)
        .order_by(col(ReleaseItem.anchor_uid))
    )
    found = _composition(session, release.number, release.summary["variants"], query)
    return found._replace(selection=selection_of(release))


def composition_now(session: Session) -> Composition:
    """The composition of a release that would be created now."""
    columns = (
        col(Variant.anchor_id),
        col(Source.name),
        col(TypeRow.polarity),
        col(Variant.type_id),
        col(Variant.provider),
        func.length(col(Variant.text)),
    )
    query = trained_on_now(session, select(*columns)).join(
        Source, col(Source.id) == col(Anchor.source_id)
    )
    query = query.order_by(col(Variant.anchor_id))
    selection = default_selection(session)
    found = _composition(session, None, count_accepted(session, selection), query)
    return found._replace(selection=selection)


def _composition(
    session: Session, release: int | None, variants: int, query: Executable
) -> Composition:
    shapes, letters = _shapes(session, query)
    there = {type_id for shape in shapes for _, type_id, _ in shape.variants}
    types = all_types(session)
    labels = {entry.id: entry.label for entry in types.values() if entry.id in there}
    return Composition(
        release=release,
        variants=variants,
        shapes=dict(shapes),
        roles={entry.id: entry.role for entry in types.values()},
        labels=labels | {type_id: type_id for type_id in sorted(there - labels.keys())},
        letters=letters,
    )


def _shapes(session: Session, query: Executable) -> tuple[Counter[Shape], dict[str, float]]:
    """The composition of rows of anchor, source, polarity, type, provider and letters, sorted by
    anchor, and the mean number of letters by source."""
    rows = session.execute(query, execution_options={"yield_per": BATCH})
    found: Counter[Shape] = Counter()
    letters, texts = Counter[str](), Counter[str]()
    for (_, source), group in groupby(rows, key=itemgetter(0, 1)):
        of_anchor = list(group)
        variants = [(side, kind, by) for _, _, side, kind, by, _ in of_anchor]
        found[Shape(source, tuple(sorted(variants, key=repr)))] += 1
        letters[source] += sum(row[-1] for row in of_anchor)
        texts[source] += len(of_anchor)
    return found, {source: letters[source] / count for source, count in texts.items()}


def _stored(shape: Shape) -> ReleaseFamily:
    """A family of this shape as in a release, with empty texts."""
    members = [FamilyVariant(side, "", "", kind, None, by) for side, kind, by in shape.variants]
    return ReleaseFamily("", "", Split.TRAIN, shape.source, members)
