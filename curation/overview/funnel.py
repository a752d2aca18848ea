"""The funnel from anchors to models, per type.

The database counts from its indexes, so that counts stay fast in large projects. The contents of a
release were counted when it was created.
"""

from collections import Counter
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from sqlalchemy import Row, and_, case, func, select, union
from sqlalchemy.orm import Session
from sqlmodel import col

from curation.anchors.lookup import count_in_use
from curation.project.settings import active_encoder_id
from curation.release.contents import (
    CountsByType,
    count_triples_by_type,
    triples_by_type,
    types_of_source,
)
from curation.release.freezing import list_releases
from curation.taxonomy.project_types import list_types
from db.columns import limited_to
from db.models import (
    Anchor,
    Diagnostic,
    Encoder,
    Polarity,
    Release,
    Source,
    Split,
    Status,
    Variant,
    VariantCosine,
)


@dataclass(frozen=True)
class FunnelRow:
    """The counts of one type, or of all types.

    Attributes:
        type_id: '' for the total.
        role: ``negation``, ``hedge`` or ``paraphrase``; '' for the total and for retired types.
        anchors: anchors that have a variant of the type; in the total, all anchors in use.
        variants: variants in use; an edited variant counts once.
        diagnosed: fully measured variants, including the active encoder's cosine.
        decided: variants that are no longer pending.
        accepted, rejected, conflict: variants with this status.
        released: variants in the newest release.
        triples: triples of the newest release that contain a variant of the type; in the total, all
            its triples.
        trained: variants in the training split of the newest model's release.
    """

    type_id: str
    label: str
    role: str
    anchors: int = 0
    variants: int = 0
    diagnosed: int = 0
    decided: int = 0
    accepted: int = 0
    rejected: int = 0
    conflict: int = 0
    released: int = 0
    triples: int = 0
    trained: int = 0

    @property
    def pending(self) -> int:
        """Undecided variants."""
        return self.variants - self.decided


@dataclass(frozen=True)
class Funnel:
    """The rows in taxonomy order, their total, and the models.

    Attributes:
        rows: one row per type with variants.
        models: encoders trained in this project.
        trained_release: number of the release that the newest encoder was trained on.
    """

    rows: tuple[FunnelRow, ...]
    total: FunnelRow
    newest: Release | None
    models: int
    trained_release: int | None


def funnel(
    session: Session, *, source_id: int | None = None, known: CountsByType | None = None
) -> Funnel:
    """Count the variants of each type at each stage.

    Args:
        source_id: only count anchors of this source and their variants; None for all.
        known: the result of ``surplus`` for all sources, if known.
    """
    releases = list_releases(session)
    newest = releases[0] if releases else None
    models, learnt_from = _models(session)
    trained = next((release for release in releases if release.id == learnt_from), None)
    rows = _all_variants(session, source_id)
    if known is None or source_id is not None:
        known = surplus(session, source_id)
    columns = {
        "anchors": _anchors_by_type(rows, known),
        **_by_status(rows),
        **_released(session, newest, trained, source_id),
    }
    unmeasured = _unmeasured(session, columns["variants"], source_id)
    columns["diagnosed"] = {
        key: number - unmeasured.get(key, 0) for key, number in columns["variants"].items()
    }
    by_type = tuple(_rows(session, columns))
    # Not sums over types: an anchor has variants of several types, and a triple of two.
    total = _sums(by_type) | {
        "anchors": count_in_use(session, source_id),
        "triples": total_triples(newest, columns["triples"]),
    }
    return Funnel(
        rows=by_type,
        total=FunnelRow("", "All types", "", **total),
        newest=newest,
        models=models,
        trained_release=trained.number if trained else None,
    )


_COLUMNS = (
    "anchors",
    "variants",
    "diagnosed",
    "decided",
    "accepted",
    "rejected",
    "conflict",
    "released",
    "triples",
    "trained",
)


def _rows(session: Session, columns: Mapping[str, CountsByType]) -> Iterator[FunnelRow]:
    for entry in list_types(session, retired=True):
        numbers = {name: columns[name].get(entry.id, 0) for name in _COLUMNS}
        if not any(number for name, number in numbers.items() if name != "anchors"):
            continue
        if entry.retired:
            yield FunnelRow(entry.id, f"{entry.label} (retired)", "", **numbers)
        else:
            yield FunnelRow(entry.id, entry.label, entry.role, **numbers)


def _sums(rows: Collection[FunnelRow]) -> dict[str, int]:
    return {name: sum(getattr(row, name) for row in rows) for name in _COLUMNS}


_Rows = Sequence[Row[Status, bool, str, int]]
"""Numbers of variants by status, retirement and type."""


def _anchors_by_type(rows: _Rows, more: CountsByType) -> CountsByType:
    found = Counter[str]()
    for _, _, type_id, number in rows:
        found[type_id] += number
    found.subtract(more)
    return found


def surplus(session: Session, source_id: int | None = None) -> CountsByType:
    """Type → number of variants minus number of anchors in use with a variant.

    This is the number of additional variants of the same anchor plus variants of retired anchors,
    for one source or for all. Edits change it, but other decisions do not.
    """
    of_source = limited_to(col(Variant.source_id), source_id)
    type_id, anchor_id = col(Variant.type_id), col(Variant.anchor_id)
    several = (
        select(type_id, (func.count() - 1).label("further"))
        .where(of_source)
        .group_by(anchor_id, type_id)
        .having(func.count() > 1)
        .subquery()
    )
    further = select(several.c.type_id, func.sum(several.c.further)).group_by(several.c.type_id)
    retired = select(col(Anchor.id)).where(col(Anchor.retired_at).is_not(None))
    out_of_use = (
        select(type_id, func.count(anchor_id.distinct()))
        .where(anchor_id.in_(retired), of_source)
        .group_by(type_id)
    )
    found = Counter[str]()
    for query in (further, out_of_use):
        found.update({key: int(number) for key, number in session.execute(query)})
    return found


def surplus_version(session: Session) -> tuple[Any, ...]:
    """A version that changes whenever ``surplus`` may change, but not with decisions."""
    retired = col(Anchor.retired_at)
    query = select(
        select(func.max(col(Variant.id))).scalar_subquery(), func.count(retired), func.max(retired)
    )
    return tuple(session.execute(query).one())


def _all_variants(session: Session, source_id: int | None) -> _Rows:
    by = (col(Variant.status), col(Variant.retired), col(Variant.type_id))
    query = (
        select(*by, func.count()).where(limited_to(col(Variant.source_id), source_id)).group_by(*by)
    )
    return session.execute(query).all()


def _by_status(rows: _Rows) -> dict[str, Counter[str]]:
    """``variants``, ``decided``, ``accepted``, ``rejected`` and ``conflict`` per type."""
    found = {
        name: Counter[str]() for name in ("variants", "decided", "accepted", "rejected", "conflict")
    }
    for status, retired, type_id, number in rows:
        if retired or status == Status.SUPERSEDED:
            continue
        names = ["variants"] if status == Status.PENDING else ["variants", "decided", status.value]
        for name in names:
            found[name][type_id] += number
    return found


def _unmeasured(session: Session, variants: CountsByType, source_id: int | None) -> CountsByType:
    """The number of variants without measurements or without the active encoder's cosine."""
    encoder_id = active_encoder_id(session)
    if encoder_id is None:
        return variants
    # Each measurement belongs to one variant, so equal counts mean that none is missing. Counting
    # is a hundred times faster than searching.
    of_encoder = col(VariantCosine.encoder_id) == encoder_id
    everything, measured, cosines = session.execute(
        select(
            select(func.count()).select_from(Variant).scalar_subquery(),
            select(func.count()).select_from(Diagnostic).scalar_subquery(),
            select(func.count()).select_from(VariantCosine).where(of_encoder).scalar_subquery(),
        )
    ).one()
    if everything == measured == cosines:
        return {}
    measures = select(Diagnostic).where(col(Diagnostic.variant_id) == col(Variant.id))
    cosine = select(VariantCosine).where(
        col(VariantCosine.variant_id) == col(Variant.id), of_encoder
    )
    missing = union(
        select(col(Variant.id)).where(~measures.exists()),
        select(col(Variant.id)).where(~cosine.exists()),
    ).subquery()
    in_use = and_(
        col(Variant.retired).is_(False),
        col(Variant.status) != Status.SUPERSEDED,
        limited_to(col(Variant.source_id), source_id),
    )
    # A join without other conditions: with one, SQLite would scan all variants in use.
    query = (
        select(col(Variant.type_id), func.sum(case((in_use, 1), else_=0)))
        .select_from(missing)
        .join(Variant, col(Variant.id) == missing.c.id)
        .group_by(col(Variant.type_id))
    )
    return dict(session.execute(query).all())


def _models(session: Session) -> tuple[int, int | None]:
    """Number of encoders trained in this project, and the release id of the newest one."""
    ours = col(Encoder.release_id).is_not(None)
    count = session.execute(select(func.count()).select_from(Encoder).where(ours)).scalar_one()
    newest = select(col(Encoder.release_id)).where(ours).order_by(col(Encoder.id).desc()).limit(1)
    return count, session.execute(newest).scalar()


def _released(
    session: Session, newest: Release | None, trained: Release | None, source_id: int | None
) -> dict[str, CountsByType]:
    """``released``, ``triples`` and ``trained`` per type."""
    if source_id is None:
        return {
            "released": newest.summary["types"] if newest else {},
            "triples": triples_by_type(session, newest) if newest else {},
            "trained": _training_part(trained),
        }
    source = session.get_one(Source, source_id).name
    return {
        "released": types_of_source(session, newest, source) if newest else {},
        "triples": count_triples_by_type(session, newest, source) if newest else {},
        "trained": types_of_source(session, trained, source, Split.TRAIN) if trained else {},
    }


def total_triples(release: Release | None, triples: CountsByType) -> int:
    """The total number of triples; each has exactly one positive variant."""
    polarities = release.taxonomy if release else {}
    return sum(
        number
        for type_id, number in triples.items()
        if polarities[type_id]["polarity"] == Polarity.POSITIVE
    )


def _training_part(release: Release | None) -> CountsByType:
    if release is None:
        return {}
    by_split = release.summary["types_by_split"]
    return {type_id: splits.get(Split.TRAIN, 0) for type_id, splits in by_split.items()}
