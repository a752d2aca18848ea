"""The results of a training run as tidy rows.

They come from the database. No encoder is needed, so a page opens at once.
"""

from collections.abc import Iterable
from enum import StrEnum
from typing import Any, NamedTuple

from sqlalchemy import ColumnElement, Select, and_, func, select
from sqlalchemy.orm import Session, aliased
from sqlmodel import col

from db.columns import Columns
from db.models import (
    Anchor,
    AnchorRevision,
    Encoder,
    Release,
    ReleaseItem,
    Run,
    Split,
    Status,
    Variant,
    VariantCosine,
)
from db.runs import metrics
from training.evaluation.probe_sets import FIGURE_1_SET, StoredProbe, stored_probes
from training.evaluation.probes import own_probes, probe_cosines
from training.evaluation.similarity import (
    FIGURE_1,
    DistributionRow,
    ProbeRow,
    distribution_rows,
    figure_1_rows,
    probe_rows,
)

SAMPLE = 3_000
"""Number of measured variants of each part. On the starter corpus, the median of a type then has a
standard error of 0.01."""

FEW = 20_000
"""Maximum number of variants for which looking up the rows of each is faster than reading a whole
release. There are fewer if an encoder measured only its samples."""


class Part(StrEnum):
    """Whether a run was trained on a variant. An anchor and its variants are in the same part."""

    TRAINED = "trained on"
    """In the release's train split."""
    HELD_OUT = "held out"
    """In its validation or test split."""
    UNSEEN = "not in the release"
    """Pending or accepted later, for an anchor with no variant in the release."""


class LossPoint(NamedTuple):
    """The mean training loss since the previous point."""

    step: int
    loss: float


def sample(session: Session, release_id: int, part: Part) -> list[int]:
    """The ids of at most `SAMPLE` variants of a part: those of the smallest random key."""
    query = _of_part(select(col(Variant.id)), release_id=release_id, part=part)
    return list(session.execute(query.order_by(*_sampled()).limit(SAMPLE)).scalars())


def count_part(session: Session, release_id: int, part: Part) -> int:
    """The number of variants in a part."""
    query = _of_part(select(func.count(col(Variant.id))), release_id=release_id, part=part)
    return session.execute(query).scalar_one()


def _sampled() -> tuple[Any, ...]:
    return col(Variant.random_key).asc(), col(Variant.id).asc()


def _of_part(
    query: Select[*Columns], *, release_id: int, part: Part, of_few: bool = False
) -> Select[*Columns]:
    """The query over `Variant`, narrowed to a part. ``of_few`` means that it has few variants.

    For few variants, the release's rows are looked up one by one. Otherwise SQLite reads all of
    them.
    """
    its = col(ReleaseItem.release_id)
    of_release = (_unindexed(its) if of_few else its) == release_id
    if part is Part.UNSEEN:
        released = select(col(ReleaseItem.anchor_uid)).where(of_release)
        unreleased: ColumnElement[bool] = col(Anchor.uid).not_in(released)
        if of_few:
            sibling = aliased(Variant)
            released = (
                released.join(sibling, col(sibling.uid) == ReleaseItem.variant_uid)
                .where(col(sibling.anchor_id) == Variant.anchor_id)
                .correlate(Variant)
            )
            unreleased = ~released.exists()
        return (
            query.join(Anchor, col(Anchor.id) == Variant.anchor_id)
            .where(unreleased, col(Anchor.retired_at).is_(None))
            # A rejected sentence does not represent its type, so its cosine would not be
            # meaningful.
            .where(col(Variant.status).in_([Status.PENDING, Status.ACCEPTED]))
            .where(col(Variant.retired).is_(False))
        )
    split = col(ReleaseItem.split)
    return query.join(
        ReleaseItem, (col(ReleaseItem.variant_uid) == Variant.uid) & of_release
    ).where(split == Split.TRAIN if part is Part.TRAINED else split != Split.TRAIN)


def figure_1(session: Session, run: Run) -> list[ProbeRow]:
    """Figure 1 for a finished training run: published values, before, and after training."""
    measured = _measured(session, run, stored_probes(session, FIGURE_1_SET))
    if len(measured) < len(FIGURE_1):
        return []
    return figure_1_rows(before=[m.before for m in measured], after=[m.after for m in measured])


def own_figure(session: Session, run: Run) -> list[ProbeRow]:
    """The project's own probes before and after. Probes that were added after training are left
    out."""
    measured = _measured(session, run, own_probes(session))
    return probe_rows(
        [m.stored.probe for m in measured],
        before=[m.before for m in measured],
        after=[m.after for m in measured],
    )


class ProbeFigures(NamedTuple):
    """Similarities before and after training.

    Attributes:
        paper: the rows of the paper's Figure 1.
        own: the rows of the project's own probes.
        added_since: the number of own probes that were not measured.
    """

    paper: list[ProbeRow]
    own: list[ProbeRow]
    added_since: int


def probe_figures(session: Session, run: Run) -> ProbeFigures:
    """The cosines of the probes before and after training."""
    own = own_figure(session, run)
    added = len(own_probes(session)) - len({(row.anchor, row.text) for row in own})
    return ProbeFigures(figure_1(session, run), own, added)


class EncoderNames(NamedTuple):
    """The names of a run's encoders before and after training; None if a row is gone."""

    before: str | None
    after: str | None


def encoder_names(session: Session, run: Run) -> EncoderNames:
    """The names of the encoders before and after training."""
    rows = (session.get(Encoder, key) for key in _encoders(run))
    return EncoderNames(*(None if row is None else row.name for row in rows))


class _Measured(NamedTuple):
    stored: StoredProbe
    before: float
    after: float


def _measured(session: Session, run: Run, probes: list[StoredProbe]) -> list[_Measured]:
    ids = [stored.id for stored in probes]
    before, after = (probe_cosines(session, key, ids) for key in _encoders(run))
    return [
        _Measured(stored, before[stored.id], after[stored.id])
        for stored in probes
        if stored.id in before and stored.id in after
    ]


def _encoders(run: Run) -> tuple[int, int]:
    """The rows of the encoders before and after. Before the run has ended, they are 0, which no row
    has."""
    return run.result.get("before_encoder_id", 0), run.result.get("encoder_id", 0)


def distributions(
    session: Session, run: Run, parts: Iterable[Part] = tuple(Part)
) -> list[DistributionRow]:
    """Cosine of anchor and variant, before and after, for each measured variant of the parts."""
    release_id = session.execute(
        select(col(Release.id)).where(col(Release.number) == run.result.get("release", 0))
    ).scalar()
    if release_id is None:
        return []
    of_few = _measured_after(session, run) <= FEW
    return [row for part in parts for row in _part_rows(session, run, release_id, part, of_few)]


def distributions_version(session: Session, run: Run) -> tuple[Any, ...]:
    """A value that changes with the `distributions` of the parts in the release.

    The distributions of a finished run change only when an anchor is corrected, or when all
    variants are measured with its encoder.
    """
    wordings = session.execute(select(func.count()).select_from(AnchorRevision)).scalar_one()
    return run.id, run.finished_at, _measured_after(session, run), wordings


class UnseenRows(NamedTuple):
    """The `distributions` of the part outside the release, and the `distributions_version` of the
    others at that moment."""

    version: tuple[Any, ...]
    rows: list[DistributionRow]


def unseen_distributions(session: Session, run: Run) -> UnseenRows:
    """The distributions of the part that changes with every new variant."""
    return UnseenRows(
        distributions_version(session, run), distributions(session, run, (Part.UNSEEN,))
    )


def _measured_after(session: Session, run: Run) -> int:
    of_after = col(VariantCosine.encoder_id) == _encoders(run)[1]
    query = select(func.count()).select_from(VariantCosine).where(of_after)
    return session.execute(query).scalar_one()


def _part_rows(
    session: Session, run: Run, release_id: int, part: Part, of_few: bool
) -> list[DistributionRow]:
    first, second = _encoders(run)
    before, after = aliased(VariantCosine), aliased(VariantCosine)
    encoder = col(before.encoder_id)
    of_before = (_unindexed(encoder) if of_few else encoder) == first
    query = (
        select(col(Variant.type_id), col(before.cosine), col(after.cosine))
        .select_from(after)
        .join(Variant, col(Variant.id) == after.variant_id)
        .join(before, and_(col(before.variant_id) == Variant.id, of_before))
        .where(col(after.encoder_id) == second)
    )
    query = _of_part(query, release_id=release_id, part=part, of_few=of_few)
    rows = session.execute(query.order_by(*_sampled()).limit(SAMPLE)).all()
    if not rows:
        return []
    types, old, new = zip(*rows, strict=True)
    return distribution_rows(types=types, parts=[part.value] * len(rows), before=old, after=new)


def _unindexed(number: Any) -> ColumnElement[int]:
    """SQL for the same number, for which SQLite does not use an index."""
    return number + 0


def loss_curve(session: Session, run: Run) -> list[LossPoint]:
    """The training loss by step so far."""
    return [LossPoint(*point) for point in metrics(session, run.id, name="loss")]
