"""What a recipe leaves of the data that a training could work on, counted in the database."""

from __future__ import annotations

from typing import Any, NamedTuple

from sqlalchemy import ColumnElement, Select, and_, case, func, select
from sqlmodel import Session, col

from curation.original_types import CONTRADICTION, ENTAILMENT
from curation.release import get_release
from curation.types import all_types
from db.models import Anchor, Polarity, ReleaseItem, Split, Status, TypeRow, Variant
from training.plan import Plan
from training.recipe import DataMode, Recipe


class _Columns(NamedTuple):
    """Where accepted variants of the train split lie, one a row."""

    anchor: Any
    polarity: Any
    type_id: Any
    provider: Any
    rows: Select[Any]
    """All of them, of no column yet."""


def leaves_out(recipe: Recipe) -> bool:
    """Whether a recipe leaves variants out by their type or provider."""
    return recipe.data != "all" or bool(recipe.without_types) or bool(recipe.providers)


def narrowed(session: Session, plan: Plan, recipe: Recipe) -> Plan:
    """The plan with the triples, anchors and texts that the recipe leaves in by type and provider.

    Variants that are too far from their anchor (`max_distance`) are still counted: to know them,
    every text would have to be read. A family without a negative, which the data mode 'hedging'
    trains on, counts a pair for each of its positives.
    """
    if not leaves_out(recipe):
        return plan
    columns = _of_release(session, plan.release) if plan.release else _accepted()
    paraphrases = [key for key, entry in all_types(session).items() if entry.role == "paraphrase"]
    positive, negative = _sides(columns, recipe.data, paraphrases)
    families = (
        columns.rows.with_only_columns(positive.label("positive"), negative.label("negative"))
        .where(*_left_in(columns, recipe))
        .group_by(columns.anchor)
        .subquery()
    )
    positives, negatives = families.c.positive, families.c.negative
    if recipe.data == "hedging":
        triples = positives * case((negatives > 0, negatives), else_=1)
    else:
        triples = positives * negatives
    query = select(
        func.sum(triples), func.sum(case((triples > 0, 1), else_=0)),
        func.sum(case((triples > 0, positives + negatives + 1), else_=0)),
    )  # fmt: skip
    counts = (int(total or 0) for total in session.execute(query).one())
    return Plan(plan.release, plan.variants, *counts)


def _left_in(columns: _Columns, recipe: Recipe) -> list[ColumnElement[bool]]:
    found: list[ColumnElement[bool]] = []
    if recipe.without_types:
        found.append(columns.type_id.not_in(recipe.without_types))
    if recipe.providers:
        found.append(columns.provider.in_(recipe.providers))
    return found


def _sides(
    columns: _Columns, mode: DataMode, paraphrases: list[str]
) -> tuple[ColumnElement[Any], ColumnElement[Any]]:
    """How many positives and negatives of an anchor take part in a data mode (`family_data`)."""
    positive = columns.polarity == Polarity.POSITIVE
    negative = columns.polarity == Polarity.NEGATIVE
    paraphrase = positive & columns.type_id.in_(paraphrases)
    entailed = _count(paraphrase & (columns.type_id == ENTAILMENT))
    contradiction = columns.type_id == CONTRADICTION
    if mode == "negation":
        paraphrased = case((entailed > 0, entailed), else_=_count(paraphrase))
        return paraphrased, _count(negative & ~contradiction)
    if mode == "hedging":
        return _count(positive & columns.type_id.not_in(paraphrases)), _count(contradiction)
    return _count(positive), _count(negative)


def _count(condition: ColumnElement[bool]) -> ColumnElement[Any]:
    return func.sum(case((condition, 1), else_=0))


def _of_release(session: Session, number: int) -> _Columns:
    its = and_(
        col(ReleaseItem.release_id) == get_release(session, number).id,
        col(ReleaseItem.split) == Split.TRAIN,
    )
    return _Columns(
        col(ReleaseItem.anchor_uid), col(ReleaseItem.polarity), col(ReleaseItem.type_id),
        col(ReleaseItem.provenance)["provider"].as_string(),
        select().select_from(ReleaseItem).where(its),
    )  # fmt: skip


def _accepted() -> _Columns:
    """What the train split of a release made now would hold."""
    rows = (
        select()
        .select_from(Variant)
        .join(Anchor, col(Anchor.id) == Variant.anchor_id)
        .join(TypeRow, col(TypeRow.id) == Variant.type_id)
        .where(
            col(Variant.status) == Status.ACCEPTED,
            col(Variant.retired).is_(False),
            col(Anchor.retired_at).is_(None),
            col(Anchor.split) == Split.TRAIN,
        )
    )
    return _Columns(
        col(Variant.anchor_id), col(TypeRow.polarity), col(Variant.type_id),
        col(Variant.provider), rows,
    )  # fmt: skip
