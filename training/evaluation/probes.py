"""The probes of every training run: Figure 1 and the project's own, before and after.

Cosines are stored per encoder, so that each pair is measured once with each encoder.
"""

from collections.abc import Callable, Mapping, Sequence
from typing import NamedTuple

from sqlalchemy import Engine, insert, select
from sqlalchemy.orm import Session
from sqlmodel import col

from curation.content_uids import canonical
from curation.decisions.storing import chunks
from curation.diagnostics.cosines import save_cosines, variant_texts
from curation.encoders.embeddings import pair_cosines
from curation.encoders.loading import load_encoder
from curation.review.deciding import MAX_TEXT
from db.engine import reading, writing
from db.errors import HedgerowError
from db.models import Encoder, ProbeCosine, VariantCosine
from db.models import Probe as ProbeRecord
from db.settings import Settings
from training.evaluation.probe_files import Pasted
from training.evaluation.probe_sets import (
    BUNDLED,
    MAX_OWN,
    OWN_SET,
    StoredProbe,
    add_to_set,
    remove_from_set,
    stored_probes,
)
from training.evaluation.similarity import ProbePair
from training.models.known import store_encoder


def own_probes(session: Session) -> list[StoredProbe]:
    """The project's own pairs, in the order in which they were added."""
    return stored_probes(session, OWN_SET)


def add_own_probe(
    session: Session, *, anchor: str, text: str, author_id: int | None = None
) -> StoredProbe:
    """Store a pair of the project's own.

    Raises:
        HedgerowError: a sentence is empty, too long or not plain text, the pair already exists, or
            there are already `MAX_OWN` pairs.
    """
    probe = ProbePair(canonical(anchor), canonical(text), "")
    for name, sentence in zip(("first", "second"), probe[:2], strict=True):
        if not sentence:
            raise HedgerowError(f"The {name} sentence of the pair is empty; enter one.")
        if len(sentence) > MAX_TEXT:
            raise HedgerowError(
                f"Expected at most {MAX_TEXT} characters in the {name} sentence, found "
                f"{len(sentence)}; shorten it."
            )
    if any(stored.probe[:2] == probe[:2] for stored in own_probes(session)):
        raise HedgerowError("This pair is already in your list.")
    if len(own_probes(session)) >= MAX_OWN:
        raise HedgerowError(f"You can have at most {MAX_OWN} pairs; remove one first.")
    add_to_set(session, OWN_SET, Pasted([probe], []), author_id=author_id)
    return own_probes(session)[-1]


def remove_own_probe(session: Session, probe_id: int) -> None:
    """Remove one of the project's own pairs and its cosines, if it still exists."""
    remove_from_set(session, OWN_SET, [probe_id])


def probe_cosines(session: Session, encoder_id: int, ids: Sequence[int]) -> dict[int, float]:
    """The stored cosines of these probes under an encoder, by probe id. Missing ones are left
    out."""
    query = select(col(ProbeCosine.probe_id), col(ProbeCosine.cosine)).where(
        col(ProbeCosine.encoder_id) == encoder_id, col(ProbeCosine.probe_id).in_(ids)
    )
    return {row.probe_id: row.cosine for row in session.execute(query)}


def save_probe_cosines(session: Session, cosines: Mapping[int, float], *, encoder_id: int) -> None:
    """Store cosines by probe id. Probes with a stored cosine and deleted probes are skipped."""
    there = session.execute(
        # Locked, so that nobody removes one before its cosine is stored (SQLite has one writer).
        select(col(ProbeRecord.id)).where(col(ProbeRecord.id).in_(cosines)).with_for_update()
    ).scalars()
    stored = probe_cosines(session, encoder_id, list(cosines))
    fresh = [
        {"encoder_id": encoder_id, "probe_id": key, "cosine": cosines[key]}
        for key in there
        if key not in stored
    ]
    if fresh:
        session.execute(insert(ProbeCosine), fresh)


# -- before after ---------------------------------------------------------------------------------
#
# Measuring a trained encoder and its base: variants and probes (Figure 1, the sixty groups, the
# project's own).


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
    settings: Settings,
    *,
    trained: Encoder,
    base_id: int,
    base: str,
    variant_ids: Sequence[int],
    report: Report,
) -> int:
    """Measure these variants and all probes with both encoders, and store everything at once.

    With the base encoder, only missing cosines are measured. Either everything is stored, including
    the trained encoder's row, or nothing.

    Args:
        trained: the row to store, as in `store_encoder`.
        base_id, base: the row and the name of the encoder it started from.

    Returns:
        The id of the trained encoder's row.
    """
    with reading(engine) as session:
        after = _task(session, variant_ids)
        before = _without_known(session, after, encoder_id=base_id)
    total = after.texts + before.texts
    folder = settings.data_folder / trained.path
    new = _measured(str(folder), after, report=lambda done, _: report(done, total))
    old = _measured(base, before, report=lambda done, _: report(after.texts + done, total))
    with writing(engine) as session:
        encoder_id = store_encoder(session, settings, trained).id
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
