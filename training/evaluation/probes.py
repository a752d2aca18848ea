"""The probes of every training run: the paper's Figure 1 and the project's own sentence pairs.

Cosines are stored per encoder, so that each pair is measured once with each encoder.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from sqlalchemy import insert, select
from sqlalchemy.orm import Session
from sqlmodel import col

from curation.content_uids import canonical
from curation.review.actions import MAX_TEXT
from db.errors import HedgerowError
from db.models import Probe as ProbeRecord
from db.models import ProbeCosine
from training.evaluation.probe_files import Pasted
from training.evaluation.probe_sets import (
    FIGURE_1_SET,
    MAX_OWN,
    OWN_SET,
    StoredProbe,
    add_to_set,
    remove_from_set,
    stored_probes,
)
from training.evaluation.similarity import ProbePair


def figure_1_probes(session: Session) -> list[StoredProbe]:
    """The stored pairs of Figure 1, in the order of `FIGURE_1`; empty before the first training
    run."""
    return stored_probes(session, FIGURE_1_SET)


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
