"""Probes in the database: the paper's Figure 1 and a project's own sentence pairs.

Cosines are kept per encoder, so that a pair is measured once under each.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

from sqlalchemy import delete, func, insert, select
from sqlmodel import Session, col

from curation.review import MAX_TEXT
from curation.text import canonical
from db.errors import HedgerowError
from db.models import Probe as ProbeRecord
from db.models import ProbeCosine, ProbeSet
from training.similarity import FIGURE_1, Probe

FIGURE_1_SET = "Figure 1 of the paper"
OWN_SET = "Own probes"

MAX_OWN = 30
"""More pairs than this would not fit into one readable chart."""


class StoredProbe(NamedTuple):
    """A stored pair; `id` is its row."""

    id: int
    probe: Probe


def figure_1_probes(session: Session) -> list[StoredProbe]:
    """The stored pairs of Figure 1, in the order of `FIGURE_1`; none before the first training."""
    return _stored(session, FIGURE_1_SET)


def own_probes(session: Session) -> list[StoredProbe]:
    """The project's own pairs, in the order in which they were added."""
    return _stored(session, OWN_SET)


def _stored(session: Session, name: str) -> list[StoredProbe]:
    query = (
        select(ProbeRecord)
        .join(ProbeSet, col(ProbeSet.id) == ProbeRecord.set_id)
        .where(col(ProbeSet.name) == name)
        .order_by(col(ProbeRecord.ordinal))
    )
    return [
        StoredProbe(row.id or 0, Probe(row.anchor, row.text, row.label))
        for row in session.execute(query).scalars()
    ]


def ensure_figure_1(session: Session) -> list[StoredProbe]:
    """The stored pairs of Figure 1, stored first where they are not."""
    if not _stored(session, FIGURE_1_SET):
        set_id = _set_id(session, FIGURE_1_SET, author_id=None)
        for ordinal, probe in enumerate(FIGURE_1):
            session.add(ProbeRecord(set_id=set_id, ordinal=ordinal, **probe._asdict()))
        session.flush()
    return _stored(session, FIGURE_1_SET)


def add_own_probe(
    session: Session, *, anchor: str, text: str, author_id: int | None = None
) -> StoredProbe:
    """Store a pair of the project's own.

    Raises:
        HedgerowError: one of the sentences is empty, too long or not plain text; the pair is
            there already; or there are `MAX_OWN` pairs.
    """
    pair = {"anchor": canonical(anchor), "text": canonical(text)}
    for name, sentence in zip(("first", "second"), pair.values(), strict=True):
        if not sentence:
            raise HedgerowError(f"The {name} sentence of the pair is empty; write one.")
        if len(sentence) > MAX_TEXT:
            raise HedgerowError(
                f"Expected at most {MAX_TEXT} characters in the {name} sentence, found "
                f"{len(sentence)}; shorten it."
            )
    there = own_probes(session)
    if any((p.probe.anchor, p.probe.text) == tuple(pair.values()) for p in there):
        raise HedgerowError("This pair is among your probes already.")
    if len(there) >= MAX_OWN:
        raise HedgerowError(f"There is room for {MAX_OWN} pairs; remove one first.")
    set_id = _set_id(session, OWN_SET, author_id=author_id)
    last = session.execute(
        select(func.max(ProbeRecord.ordinal)).where(col(ProbeRecord.set_id) == set_id)
    ).scalar()
    row = ProbeRecord(
        set_id=set_id,
        ordinal=0 if last is None else last + 1,
        anchor=pair["anchor"],
        text=pair["text"],
    )
    session.add(row)
    session.flush()
    return StoredProbe(row.id or 0, Probe(row.anchor, row.text, row.label))


def remove_own_probe(session: Session, probe_id: int) -> None:
    """Remove a pair of the project's own with its cosines; one that is gone already is no error."""
    if probe_id in {stored.id for stored in own_probes(session)}:
        session.execute(delete(ProbeCosine).where(col(ProbeCosine.probe_id) == probe_id))
        session.execute(delete(ProbeRecord).where(col(ProbeRecord.id) == probe_id))


def _set_id(session: Session, name: str, *, author_id: int | None) -> int:
    row = session.execute(select(ProbeSet).where(col(ProbeSet.name) == name)).scalar()
    if row is None:
        row = ProbeSet(name=name, author_id=author_id)
        session.add(row)
        session.flush()
    return row.id or 0


def probe_cosines(session: Session, encoder_id: int, ids: Sequence[int]) -> dict[int, float]:
    """The stored cosines of these probes under an encoder; those not measured are left out."""
    query = select(ProbeCosine.probe_id, ProbeCosine.cosine).where(  # type: ignore[call-overload]
        col(ProbeCosine.encoder_id) == encoder_id, col(ProbeCosine.probe_id).in_(ids)
    )
    return {row.probe_id: row.cosine for row in session.execute(query)}


def save_probe_cosines(session: Session, cosines: Mapping[int, float], *, encoder_id: int) -> None:
    """Store cosines by probe id; what is stored already, or whose probe is gone, is left out."""
    there = session.execute(
        # Locked, so that nobody removes one before its cosine is stored (SQLite has one writer).
        select(ProbeRecord.id).where(col(ProbeRecord.id).in_(cosines)).with_for_update()  # type: ignore[call-overload]
    ).scalars()
    stored = probe_cosines(session, encoder_id, list(cosines))
    fresh = [
        {"encoder_id": encoder_id, "probe_id": key, "cosine": cosines[key]}
        for key in there
        if key not in stored
    ]
    if fresh:
        session.execute(insert(ProbeCosine), fresh)
