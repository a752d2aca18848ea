"""The plan of a training run: its data."""

from collections.abc import Mapping
from typing import Any, NamedTuple

from sqlalchemy import Label, Select, Subquery, case, func, select
from sqlalchemy.orm import Mapped, Session
from sqlmodel import col

from curation.encoders import embeddings
from curation.release.contents import count_accepted
from curation.release.freezing import get_release, list_releases
from curation.release.selection import Selection, default_selection, selection_of
from db.columns import Columns
from db.models import (
    Anchor,
    Polarity,
    ReleaseItem,
    Source,
    Split,
    Status,
    TypeRow,
    Variant,
)
from training.recipe.schema import Recipe

KIND = "train"
"""Kind of the training runs."""


class Amount(NamedTuple):
    """The train split's data from one source.

    Attributes:
        triples: the number of triples for training, unless the recipe limits it.
        anchors: the number of anchors with at least one triple.
        texts: the number of these anchors and their variants.
        letters: the mean length of these texts in characters, if an anchor is as long as its
            variants.
    """

    triples: int
    anchors: int
    texts: float
    letters: float


class TrainingPlan(NamedTuple):
    """The data of a training run.

    Attributes:
        release: its number; None if training would create the first one.
        variants: the number of accepted variants in all splits.
        amounts: the data of the train split by source name, without sources that have no triple.
        selection: which accepted variants the release contains.
    """

    release: int | None
    variants: int
    amounts: Mapping[str, Amount]
    selection: Selection = Selection()

    @property
    def triples(self) -> int:
        """The number of triples in the train split."""
        return sum(amount.triples for amount in self.amounts.values())

    @property
    def anchors(self) -> int:
        """The number of anchors in the train split with at least one triple."""
        return sum(amount.anchors for amount in self.amounts.values())

    @property
    def texts(self) -> int:
        """The approximate number of these anchors and their variants."""
        return round(sum(amount.texts for amount in self.amounts.values()))

    def families(self, recipe: Recipe) -> int:
        """The number of families in an epoch, before sampling `max_triples`."""
        return sum(sampled for sampled, _ in self._sampled(recipe))

    def rows(self, recipe: Recipe) -> int:
        """The approximate number of families or triples in an epoch."""
        kept = min(1.0, (recipe.max_triples or self.triples) / max(1, self.triples))
        if recipe.loss != "triples":
            return round(self.families(recipe) * kept)
        sampled = sum(sampled * of.triples / of.anchors for sampled, of in self._sampled(recipe))
        return round(sampled * kept)

    @property
    def letters(self) -> float:
        """The mean length of a text in the train split, in characters."""
        of_all = sum(amount.texts * amount.letters for amount in self.amounts.values())
        return of_all / max(1.0, sum(amount.texts for amount in self.amounts.values()))

    def characters_a_row(self, recipe: Recipe) -> float:
        """The approximate number of characters in a row of a batch."""
        read = 0.0
        for sampled, of in self._sampled(recipe):
            texts = 3.0 if recipe.loss == "triples" else of.texts / of.anchors
            longest = recipe.max_seq_length
            read += sampled * texts * embeddings.length(of.letters, longest=longest)
        return read / max(1, self.families(recipe))

    def _sampled(self, recipe: Recipe) -> list[tuple[int, Amount]]:
        """The number of anchors of each source in an epoch."""
        return [
            (anchors_in_an_epoch(amount.anchors, recipe.sources.get(source, 1.0)), amount)
            for source, amount in self.amounts.items()
        ]


def plan(session: Session, release_number: int | None = None) -> TrainingPlan:
    """The plan of a training run on this release, or without a number, on the newest one.

    Raises:
        HedgerowError: there is no such release.
    """
    if release_number is None and not list_releases(session):
        names = dict(session.execute(select(col(Source.id), col(Source.name))).all())
        now = _amounts(session, _accepted_families(session))
        amounts = {names[source]: amount for source, amount in now.items()}
        selection = default_selection(session)
        return TrainingPlan(None, count_accepted(session, selection), amounts, selection)
    release = get_release(session, release_number)
    amounts = _amounts(session, _released_families(release.id))
    return TrainingPlan(release.number, release.summary["variants"], amounts, selection_of(release))


def trained_on_now(session: Session, query: Select[*Columns]) -> Select[*Columns]:
    """The query over `Variant`, narrowed to the train split of a release created now, with the
    anchor and the type of each variant."""
    return (
        query.join(Anchor, col(Anchor.id) == Variant.anchor_id)
        .join(TypeRow, col(TypeRow.id) == Variant.type_id)
        .where(
            col(Variant.status) == Status.ACCEPTED,
            col(Variant.retired).is_(False),
            col(Anchor.retired_at).is_(None),
            col(Anchor.split) == Split.TRAIN,
            default_selection(session).takes(session),
        )
    )


def _sides(polarity: Mapped[Polarity]) -> tuple[Label[int], Label[int]]:
    positive, negative = (
        func.sum(case((polarity == side, 1), else_=0)).label(side.value)
        for side in (Polarity.POSITIVE, Polarity.NEGATIVE)
    )
    return positive, negative


def _accepted_families(session: Session) -> Subquery:
    """Positives, negatives, all variants with their letters, and the source's id, for each anchor
    in the train split of a release created now."""
    columns = (
        *_sides(col(TypeRow.polarity)),
        func.count().label("variants"),
        func.sum(func.length(col(Variant.text))).label("letters"),
        func.max(col(Anchor.source_id)).label("source"),
    )
    sides = trained_on_now(session, select(*columns).select_from(Variant))
    return sides.group_by(col(Variant.anchor_id)).subquery()


def _released_families(release_id: int) -> Subquery:
    """The same for each anchor in the train split of a release, with the source's name."""
    columns = (
        *_sides(col(ReleaseItem.polarity)),
        func.count().label("variants"),
        func.sum(func.length(col(ReleaseItem.text))).label("letters"),
        func.max(col(ReleaseItem.source)).label("source"),
    )
    sides = select(*columns).where(
        col(ReleaseItem.release_id) == release_id, col(ReleaseItem.split) == Split.TRAIN
    )
    return sides.group_by(col(ReleaseItem.anchor_uid)).subquery()


def _amounts(session: Session, families: Subquery) -> dict[Any, Amount]:
    """The data of each source, by the source's id or name as in `families`."""
    product = families.c.positive * families.c.negative
    query = (
        select(
            families.c.source,
            func.sum(product),
            func.count(),
            func.sum(families.c.variants),
            func.sum(families.c.letters),
        )
        .where(product > 0)
        .group_by(families.c.source)
        .order_by(families.c.source)
    )
    return {
        source: Amount(
            int(triples), int(anchors), int(variants) + int(anchors), int(letters) / int(variants)
        )
        for source, triples, anchors, variants, letters in session.execute(query)
    }


def anchors_in_an_epoch(anchors: int, share: float) -> int:
    """The number of a source's anchors in an epoch: at least one, unless the share is 0."""
    return max(1, round(anchors * share)) if anchors and share else 0
