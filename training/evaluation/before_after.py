"""Measuring a trained encoder and its base: variants and probes (Figure 1, the sixty groups, the
project's own)."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

from sqlalchemy import Engine, select
from sqlalchemy.orm import Session
from sqlmodel import col

from curation.decisions.storing import chunks
from curation.diagnostics.cosines import save_cosines, variant_texts
from curation.encoders.embeddings import pair_cosines
from curation.encoders.loading import load_encoder
from db.engine import reading, writing
from db.models import Encoder, VariantCosine
from training.evaluation.probe_sets import BUNDLED, StoredProbe, stored_probes
from training.evaluation.probes import own_probes, probe_cosines, save_probe_cosines

Report = Callable[[int, int], None]
"""Called with (texts done, total texts). May raise to stop."""


class _Task(NamedTuple):
    """The texts to measure with one encoder."""

    variants: dict[int, tuple[str, str]]
    probes: list[StoredProbe]

    @property
    def pairs(self) -> list[tuple[str, str]]:
        probes = ((stored.probe.anchor, stored.probe.text) for stored in self.probes)
        return [*self.variants.values(), *probes]

    @property
    def texts(self) -> int:
        """The number of distinct texts to encode."""
        return len({text for pair in self.pairs for text in pair})


class _Measured(NamedTuple):
    """Cosines by the ids of variants and of probes."""

    variants: dict[int, float]
    probes: dict[int, float]


def measure_before_and_after(
    engine: Engine,
    *,
    trained: Encoder,
    folder: Path,
    base_id: int,
    base: str,
    variant_ids: Sequence[int],
    report: Report,
) -> int:
    """Measure these variants and all probes with both encoders, and store everything at once.

    With the base encoder, only missing cosines are measured. Either everything is stored, including
    the trained encoder's row, or nothing.

    Args:
        trained: the row to store, unless there is a row of an equal encoder.
        folder: the trained encoder.
        base_id, base: the row and the name of the encoder it started from.

    Returns:
        The id of the trained encoder's row.
    """
    with reading(engine) as session:
        after = _task(session, variant_ids)
        before = _without_known(session, after, encoder_id=base_id)
    total = after.texts + before.texts
    new = _measured(str(folder), after, report=lambda done, _: report(done, total))
    old = _measured(base, before, report=lambda done, _: report(after.texts + done, total))
    with writing(engine) as session:
        encoder_id = _store_encoder(session, trained)
        for key, values in ((base_id, old), (encoder_id, new)):
            save_cosines(session, values.variants, encoder_id=key, texts=after.variants)
            save_probe_cosines(session, values.probes, encoder_id=key)
    return encoder_id


def _task(session: Session, variant_ids: Sequence[int]) -> _Task:
    texts: dict[int, tuple[str, str]] = {}
    for ids in chunks(variant_ids):
        texts |= variant_texts(session, ids)
    bundled = [stored for name in BUNDLED for stored in stored_probes(session, name)]
    return _Task(texts, bundled + own_probes(session))


def _without_known(session: Session, task: _Task, *, encoder_id: int) -> _Task:
    known = _known_variants(session, task.variants, encoder_id=encoder_id)
    known_probes = probe_cosines(session, encoder_id, [stored.id for stored in task.probes])
    return _Task(
        {key: pair for key, pair in task.variants.items() if key not in known},
        [stored for stored in task.probes if stored.id not in known_probes],
    )


def _known_variants(session: Session, ids: Mapping[int, object], *, encoder_id: int) -> set[int]:
    known: set[int] = set()
    for some in chunks(ids):
        query = select(col(VariantCosine.variant_id)).where(
            col(VariantCosine.encoder_id) == encoder_id, col(VariantCosine.variant_id).in_(some)
        )
        known.update(session.execute(query).scalars())
    return known


def _measured(name: str, task: _Task, *, report: Report) -> _Measured:
    """The cosines of a task; each distinct text is encoded once."""
    if not task.pairs:
        return _Measured({}, {})
    cosines = [float(c) for c in pair_cosines(load_encoder(name), task.pairs, on_progress=report)]
    split = len(task.variants)
    probes = [stored.id for stored in task.probes]
    return _Measured(
        dict(zip(task.variants, cosines[:split], strict=True)),
        dict(zip(probes, cosines[split:], strict=True)),
    )


def _store_encoder(session: Session, trained: Encoder) -> int:
    """The row of the trained encoder, or of an equal encoder from another run."""
    query = select(Encoder).where(col(Encoder.fingerprint) == trained.fingerprint)
    row: Encoder | None = session.execute(query).scalar()
    if row is None:
        session.add(row := trained)
        session.flush()
    return row.id
