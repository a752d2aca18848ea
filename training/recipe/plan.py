"""What a training would work on, and about how long it would take."""

from __future__ import annotations

import socket
from collections.abc import Collection
from typing import NamedTuple

from sqlalchemy import Label, Select, Subquery, and_, case, func, select
from sqlalchemy.orm import Mapped, Session
from sqlmodel import col

from curation.anchors.sources import of_sources
from curation.encoders.model_folders import local_folder
from curation.release.contents import only_sources
from curation.release.freezing import get_release, list_releases
from db.columns import Columns
from db.errors import HedgerowError
from db.models import Anchor, Polarity, Run, Split, Status, TypeRow, Variant
from db.runs import list_runs, metrics
from training.data.antonym_pairs import SHARES_FRAMED, TEXTS_OF_A_STANCE
from training.finetune.curve_names import PACE
from training.models.size import BUILT_IN_WEIGHT, weight_of
from training.recipe.schema import Recipe
from training.runs.figures import SAMPLE, Part

KIND = "train"
"""The kind of a training's run."""

TEXTS_PER_SECOND = 190.0
"""Forwards and backwards through the built-in encoder on two free CPU cores, looks at the held-out
part included: the default training on the starter corpus, 1,778 steps of 126 texts, takes 20
minutes there. What is told before this machine has trained once."""

TELLING_STEPS = 20
"""A shorter training is mostly loading; its pace says nothing about that of others."""

FORWARD_ONLY = 3
"""How many texts are measured in the time in which one is trained on: backwards costs twice as much
as forwards."""

_SETS_THE_PACE = ("precision", "max_seq_length", "context", "lora_rank")
"""What of a recipe, beside the encoder, decides how long a text takes."""

PREPARING = 10.0
"""Seconds until the first step: reading, loading the encoder."""


TEXTS_OF_OPPOSITES = 4.9
"""Of a family of `training.data.antonym_pairs`, about; they are short ones."""


class TrainingPlan(NamedTuple):
    """What a training would work on.

    Attributes:
        release: its number; None where the training would make the first one.
        variants: accepted variants, in all splits.
        triples: of the train split; as many as are trained on unless the recipe limits them.
        anchors: of the train split, with at least one triple.
        texts: of the train split, anchors and variants.
        sources: names of the sources that the release is narrowed to; none where it takes all.
    """

    release: int | None
    variants: int
    triples: int
    anchors: int
    texts: int
    sources: tuple[str, ...] = ()

    def rows(self, recipe: Recipe) -> int:
        """How many families, or triples, a training goes through in an epoch, about."""
        triples = min(self.triples, recipe.max_triples or self.triples)
        if recipe.loss == "triples":
            return triples
        return round(self.anchors * triples / max(1, self.triples))

    def texts_a_step(self, recipe: Recipe) -> float:
        """How many texts a step passes forwards and backwards, about."""
        of_row = 3.0 if recipe.loss == "triples" else self.texts / max(1, self.anchors)
        made = 0.0
        if recipe.makes_opposites:
            of_row += sum(SHARES_FRAMED.values()) if recipe.framed_anchors else 0.0
            made = TEXTS_OF_OPPOSITES * recipe.opposites + TEXTS_OF_A_STANCE * recipe.stances
        return recipe.batch_size * of_row + made + recipe.unrelated_texts

    def recipe(self) -> Recipe:
        """The default recipe; where there are fewer anchors than a batch needs, smaller batches."""
        default = Recipe()
        return Recipe(batch_size=max(2, min(default.batch_size, self.anchors)))


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
        return TrainingPlan(None, count_accepted(session), *_totals(session, _accepted_families()))
    release = get_release(session, release_number)
    part = release.summary["splits"].get(Split.TRAIN)
    if not part:
        return TrainingPlan(
            release.number, release.summary["variants"], 0, 0, 0, only_sources(release)
        )
    return TrainingPlan(
        release.number,
        release.summary["variants"],
        part["triples"],
        part["anchors"] - part["without_triples"],
        part["anchors"] + part["variants"],
        only_sources(release),
    )


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
    """Positives, negatives and all variants of each anchor in the train split of a release made
    now."""
    columns = (*_sides(col(TypeRow.polarity)), func.count().label("variants"))
    sides = trained_on_now(select(*columns).select_from(Variant))
    return sides.group_by(col(Variant.anchor_id)).subquery()


def _totals(session: Session, families: Subquery) -> tuple[int, int, int]:
    """(triples, anchors with a triple, texts of all anchors and variants)."""
    product = families.c.positive * families.c.negative
    query = select(
        func.sum(product),
        func.sum(case((product > 0, 1), else_=0)),
        func.sum(families.c.variants + 1),
    )
    triples, anchors, texts = (int(total or 0) for total in session.execute(query).one())
    return triples, anchors, texts


def estimate(session: Session, plan: TrainingPlan, recipe: Recipe) -> TimeEstimate:
    """About how long a training takes here, by the pace of the last one like it.

    The pace of another encoder counts by how heavy both are (`training.models.size`).
    """
    variants = session.execute(select(func.count()).select_from(Variant)).scalar_one()
    measured = 2 * min(variants, SAMPLE * len(Part)) / FORWARD_ONLY
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
