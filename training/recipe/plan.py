"""What a training would work on, and about how long it would take."""

from __future__ import annotations

import socket
from collections.abc import Collection, Mapping
from typing import Any, NamedTuple

from sqlalchemy import Label, Select, Subquery, and_, case, func, select
from sqlalchemy.orm import Mapped, Session
from sqlmodel import col

from curation.anchors.sources import of_sources
from curation.encoders.model_folders import local_folder
from curation.release.contents import only_sources
from curation.release.freezing import get_release, list_releases
from db.columns import Columns
from db.errors import HedgerowError
from db.models import (
    Anchor,
    Polarity,
    ReleaseItem,
    Run,
    Source,
    Split,
    Status,
    TypeRow,
    Variant,
)
from db.runs import list_runs, metrics
from training.data.sampling import anchors_in_an_epoch
from training.evaluation.retrieval import SENTENCES
from training.finetune.curve_names import PACE
from training.models.size import BUILT_IN_WEIGHT, weight_of
from training.recipe.schema import Recipe
from training.retention.distillation import texts_a_step
from training.runs.figures import SAMPLE, Part

KIND = "train"
"""The kind of a training's run."""

TEXTS_PER_SECOND = 190.0
"""Forwards and backwards through the built-in encoder on two free CPU cores, including the
evaluations of the held-out part. It was measured on 1,778 steps with 126 texts each. The page goes
by it until this machine has trained once."""

TELLING_STEPS = 20
"""A shorter training is mostly loading; its pace says nothing about that of others."""

FORWARD_ONLY = 3
"""How many texts are measured in the time in which one is trained on: backwards costs twice as much
as forwards."""

_SETS_THE_PACE = ("max_seq_length", "context", "lora_rank")
"""What of a recipe, beside the encoder, decides how long a text takes."""

PREPARING = 10.0
"""Seconds until the first step: reading, loading the encoder."""


class Amount(NamedTuple):
    """What the train split has of a source.

    Attributes:
        triples: as many as are trained on unless the recipe limits them.
        anchors: with at least one triple.
        texts: those anchors and their variants.
    """

    triples: int
    anchors: int
    texts: float


class TrainingPlan(NamedTuple):
    """What a training would work on.

    Attributes:
        release: its number; None where the training would make the first one.
        variants: accepted variants, in all splits.
        amounts: of the train split, by the names of its sources; one without a triple is missing.
        sources: names of the sources that the release is narrowed to; none where it takes all.
    """

    release: int | None
    variants: int
    amounts: Mapping[str, Amount]
    sources: tuple[str, ...] = ()

    @property
    def triples(self) -> int:
        """Of the train split."""
        return sum(amount.triples for amount in self.amounts.values())

    @property
    def anchors(self) -> int:
        """Of the train split, with at least one triple."""
        return sum(amount.anchors for amount in self.amounts.values())

    @property
    def texts(self) -> int:
        """Those anchors and their variants, about."""
        return round(sum(amount.texts for amount in self.amounts.values()))

    def families(self, recipe: Recipe) -> int:
        """How many families an epoch goes through, before the draw of `max_triples`."""
        return sum(drawn for drawn, _ in self._drawn(recipe))

    def rows(self, recipe: Recipe) -> int:
        """How many families, or triples, an epoch goes through, about."""
        kept = min(1.0, (recipe.max_triples or self.triples) / max(1, self.triples))
        if recipe.loss != "triples":
            return round(self.families(recipe) * kept)
        drawn = sum(drawn * of.triples / of.anchors for drawn, of in self._drawn(recipe))
        return round(drawn * kept)

    def texts_a_step(self, recipe: Recipe) -> float:
        """How many texts a step passes forwards and backwards, about."""
        of_row = 3.0
        if recipe.loss != "triples":
            drawn = sum(drawn * of.texts / of.anchors for drawn, of in self._drawn(recipe))
            of_row = drawn / max(1, self.families(recipe))
        return recipe.batch_size * of_row + (texts_a_step() if recipe.retention else 0.0)

    def _drawn(self, recipe: Recipe) -> list[tuple[int, Amount]]:
        """How many anchors of each source an epoch goes through."""
        return [
            (anchors_in_an_epoch(amount.anchors, recipe.sources.get(source, 1.0)), amount)
            for source, amount in self.amounts.items()
        ]

    def recipe(self) -> Recipe:
        """The default recipe; where an epoch has fewer anchors than a batch needs, smaller
        batches."""
        default = Recipe()
        return Recipe(batch_size=max(2, min(default.batch_size, self.families(default))))


class TimeEstimate(NamedTuple):
    """About how long a training takes, in seconds, and the run that this is judged by, if any."""

    seconds: float
    by_run: int | None


def plan(session: Session, release_number: int | None = None) -> TrainingPlan:
    """What a training on this release would work on; without a number, on the newest one.

    Raises:
        HedgerowError: there is no such release.
    """
    if release_number is None and not list_releases(session):
        names = dict(session.execute(select(col(Source.id), col(Source.name))).all())
        now = _amounts(session, _accepted_families())
        amounts = {names[source]: amount for source, amount in now.items()}
        return TrainingPlan(None, count_accepted(session), amounts)
    release = get_release(session, release_number)
    amounts = _amounts(session, _released_families(release.id))
    return TrainingPlan(release.number, release.summary["variants"], amounts, only_sources(release))


def count_accepted(session: Session, sources: Collection[str] = ()) -> int:
    """How many variants a release made now of these sources would hold; none means all."""
    accepted = (
        col(Variant.status) == Status.ACCEPTED,
        col(Variant.retired).is_(False),
        of_sources(sources),
    )
    retired = select(col(Anchor.id)).where(col(Anchor.retired_at).is_not(None))
    # Looking up the anchor of each takes thirty times as long as those of the few retired ones.
    out_of_use = (
        select(func.sum(case((and_(*accepted), 1), else_=0)))
        .select_from(Variant)
        .where(col(Variant.anchor_id).in_(retired))
    )
    everything = select(func.count()).select_from(Variant).where(*accepted)
    return session.execute(everything).scalar_one() - (session.execute(out_of_use).scalar() or 0)


def trained_on_now(query: Select[*Columns]) -> Select[*Columns]:
    """The query over `Variant`, narrowed to the train split of a release made now; with the anchor
    and the type of each."""
    return (
        query.join(Anchor, col(Anchor.id) == Variant.anchor_id)
        .join(TypeRow, col(TypeRow.id) == Variant.type_id)
        .where(
            col(Variant.status) == Status.ACCEPTED,
            col(Variant.retired).is_(False),
            col(Anchor.retired_at).is_(None),
            col(Anchor.split) == Split.TRAIN,
        )
    )


def _sides(polarity: Mapped[Polarity]) -> tuple[Label[int], Label[int]]:
    positive, negative = (
        func.sum(case((polarity == side, 1), else_=0)).label(side.value)
        for side in (Polarity.POSITIVE, Polarity.NEGATIVE)
    )
    return positive, negative


def _accepted_families() -> Subquery:
    """Positives, negatives, all variants and the source's id of each anchor in the train split of
    a release made now."""
    columns = (
        *_sides(col(TypeRow.polarity)),
        func.count().label("variants"),
        func.max(col(Anchor.source_id)).label("source"),
    )
    sides = trained_on_now(select(*columns).select_from(Variant))
    return sides.group_by(col(Variant.anchor_id)).subquery()


def _released_families(release_id: int) -> Subquery:
    """The same of each anchor in the train split of a release, with the source's name."""
    columns = (
        *_sides(col(ReleaseItem.polarity)),
        func.count().label("variants"),
        func.max(col(ReleaseItem.source)).label("source"),
    )
    sides = select(*columns).where(
        col(ReleaseItem.release_id) == release_id, col(ReleaseItem.split) == Split.TRAIN
    )
    return sides.group_by(col(ReleaseItem.anchor_uid)).subquery()


def _amounts(session: Session, families: Subquery) -> dict[Any, Amount]:
    """What there is of each source, by what the families have of it: its id or name."""
    product = families.c.positive * families.c.negative
    query = (
        select(
            families.c.source, func.sum(product), func.count(), func.sum(families.c.variants + 1)
        )
        .where(product > 0)
        .group_by(families.c.source)
        .order_by(families.c.source)
    )
    return {
        source: Amount(int(triples), int(anchors), int(texts))
        for source, triples, anchors, texts in session.execute(query)
    }


def estimate(session: Session, plan: TrainingPlan, recipe: Recipe) -> TimeEstimate:
    """About how long a training takes here, by the pace of the last one like it.

    The pace of another encoder counts by how heavy both are (`training.models.size`).
    """
    variants = session.execute(select(func.count()).select_from(Variant)).scalar_one()
    measured = 2 * (min(variants, SAMPLE * len(Part)) + SENTENCES) / FORWARD_ONLY
    texts = recipe.total_steps(plan.rows(recipe)) * plan.texts_a_step(recipe) + measured
    pace, run = _pace(session, recipe)
    return TimeEstimate(PREPARING + texts / pace, run)


def _pace(session: Session, recipe: Recipe) -> tuple[float, int | None]:
    """Texts a second, and the run on this machine that tells it: from the same encoder if there is
    one, and of the newest ones that which has most in common with the recipe."""
    wanted = recipe.model_dump(mode="json")
    weight = _weight(recipe.base_encoder)

    def same_base(run: Run) -> bool:
        return bool(run.parameters["recipe"].get("base_encoder") == recipe.base_encoder)

    def in_common(run: Run) -> tuple[bool, int]:
        recipes_alike = (run.parameters["recipe"].get(key) == wanted[key] for key in _SETS_THE_PACE)
        return same_base(run), sum(recipes_alike)

    told = [
        run
        for run in list_runs(session, kind=KIND)
        if run.host == socket.gethostname() and run.result.get("steps", 0) >= TELLING_STEPS
    ]
    for run in sorted(told, key=in_common, reverse=True):  # newest first among equals
        lighter = 1.0
        if not same_base(run):
            other = _weight(str(run.parameters["recipe"].get("base_encoder", "")))
            lighter = other / weight if weight else 0.0
        paces = [pace for _, pace in metrics(session, run.id, name=PACE)]
        if paces and lighter:  # each of as many steps
            return lighter * len(paces) / sum(1 / pace for pace in paces), run.id
    return TEXTS_PER_SECOND * BUILT_IN_WEIGHT / (weight or BUILT_IN_WEIGHT), None


def _weight(encoder: str) -> float:
    """How heavy an encoder is; 0 where its files are not here or say nothing."""
    try:
        folder = local_folder(encoder)
    except HedgerowError:
        return 0.0
    return weight_of(folder) if folder else 0.0


def measuring_steps(pairs: int, texts_a_step: float) -> int:
    """As long as how many training steps the measuring of so many pairs takes, roughly."""
    return max(1, round(2 * pairs / FORWARD_ONLY / texts_a_step))
