"""Similar variants of other anchors, by embeddings in one file per encoder."""

from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
from sqlalchemy import func, select
from sqlalchemy.orm import Session
from sqlmodel import col

from curation.anchors.search import Hit, variant_hits
from curation.content_uids import UID_LENGTH
from curation.decisions.storing import rows_with
from curation.encoders.embeddings import encode_distinct
from curation.encoders.loading import check_encoder, fingerprint, load_encoder
from curation.encoders.registered import encoder_source, register_encoder
from curation.project.settings import ACTIVE_ENCODER, active_encoder_id, get_setting
from db.engine import reading, writing
from db.execution import RunContext
from db.models import Encoder, Status, Variant
from db.run_process import make_folder
from db.settings import Settings

# -- Look up the variants of other anchors that are most similar to a given one -------------------


_SPARE = 500
"""Extra neighbours to look up, because siblings and variants out of use are then left out."""

LOW_COSINE = 0.6
"""If the highest cosine is lower, no variant found says something similar."""

NONE_SIMILAR = "None of these variants is very similar: all cosine similarities are low."
"""A remark for that case."""


class SimilarVariant(NamedTuple):
    """A variant and its cosine similarity, in [-1, 1], to the given one."""

    hit: Hit
    cosine: float


class SimilarVariants(NamedTuple):
    """The result of a lookup.

    Attributes:
        found: the variants, most similar first; None if the given variant has no stored embedding.
        missing: number of variants without a stored embedding, which cannot be found.
    """

    found: list[SimilarVariant] | None
    missing: int


def similar_variants(
    session: Session, settings: Settings, variant: Variant, *, limit: int
) -> SimilarVariants:
    """The variants of other anchors that are most similar by the active encoder.

    Superseded and retired variants are left out.
    """
    encoder_id = active_encoder_id(session)
    total = session.execute(select(func.count()).select_from(Variant)).scalar_one()
    if encoder_id is None:
        return SimilarVariants(None, total)
    encoder = session.get_one(Encoder, encoder_id)
    stored = StoredEmbeddings(settings.data_folder, encoder.fingerprint)
    missing = max(0, total - len(stored))
    cosines = stored.nearest(variant.uid, limit=limit + _SPARE)
    if cosines is None:
        return SimilarVariants(None, max(1, missing))
    ids = _in_use(session, cosines, anchor_id=variant.anchor_id)
    first = [ids[uid] for uid in cosines if uid in ids][:limit]
    found = [
        SimilarVariant(hit, cosines[hit.variant_uid or ""]) for hit in variant_hits(session, first)
    ]
    return SimilarVariants(found, missing)


def _in_use(session: Session, uids: dict[str, float], *, anchor_id: int) -> dict[str, int]:
    """The ids, by uid, of the variants that are in use and have another anchor."""
    query = select(col(Variant.uid), col(Variant.id)).where(
        col(Variant.anchor_id) != anchor_id,
        col(Variant.retired).is_(False),
        col(Variant.status) != Status.SUPERSEDED,
    )
    return dict(rows_with(session, query, col(Variant.uid), uids))


# -- Embeddings of variants in one file per encoder, with one record per variant ------------------


FOLDER = "embeddings"
"""Folder in the data folder."""

_ROWS = 8192
"""Number of records converted to single precision at once."""


class StoredEmbeddings:
    """The stored embeddings of one encoder.

    Args:
        data_folder: the project's data folder.
        fingerprint: the encoder's fingerprint.
    """

    def __init__(self, data_folder: Path, fingerprint: str) -> None:
        self._folder = data_folder / FOLDER
        self._name = fingerprint[:16]

    def uids(self) -> set[str]:
        """The uids of the variants with stored embeddings."""
        return {uid.decode() for uid in self._records()["uid"].tolist()}

    def __len__(self) -> int:
        return len(self._records())

    def append(self, uids: list[str], embeddings: npt.NDArray[np.float32]) -> None:
        """Add the embeddings of these variants.

        Args:
            embeddings: shape (len(uids), dimension), each row of length 1.

        Raises:
            HedgerowError: the folder cannot be written.
        """
        size = embeddings.shape[1]
        records = np.empty(len(uids), _record(size))
        records["uid"], records["embedding"] = uids, embeddings
        path = make_folder(self._folder) / f"{self._name}-{size}.bin"
        with path.open("ab") as file:
            # A process that was killed while writing may have left part of a record.
            file.truncate(file.tell() // records.itemsize * records.itemsize)
            file.write(records.tobytes())

    def nearest(self, uid: str, *, limit: int) -> dict[str, float] | None:
        """The variants with the highest cosine, in [-1, 1], by uid, most similar first.

        Returns:
            At most ``limit`` variants; None if the given variant has no stored embedding.
        """
        records = self._records()
        own = np.flatnonzero(records["uid"] == uid.encode())
        if not len(own):
            return None
        query = records["embedding"][own[0]].astype(np.float32)
        cosines = np.empty(len(records), np.float32)
        for start in range(0, len(records), _ROWS):
            rows = slice(start, start + _ROWS)
            cosines[rows] = records["embedding"][rows].astype(np.float32) @ query
        cosines[own] = -np.inf
        first = np.argsort(-cosines, kind="stable")[: min(limit, len(records) - len(own))]
        return {records["uid"][row].decode(): float(np.clip(cosines[row], -1, 1)) for row in first}

    def _records(self) -> npt.NDArray[np.void]:
        """All complete records, memory-mapped."""
        path = next(iter(sorted(self._folder.glob(f"{self._name}-*.bin"))), None)
        if path is None:
            return np.empty(0, _record(0))
        kind = _record(int(path.stem.rpartition("-")[2]))
        whole = path.stat().st_size // kind.itemsize
        return np.memmap(path, kind, "r", shape=(whole,)) if whole else np.empty(0, kind)


def _record(size: int) -> np.dtype[np.void]:
    return np.dtype([("uid", f"S{UID_LENGTH}"), ("embedding", np.float16, (size,))])


# -- The run that computes the embeddings for finding similar variants ----------------------------


KIND = "embed"

BLOCK = 5_000
"""Number of variants encoded between two writes. A run that is stopped loses at most these."""


def work(context: RunContext) -> dict[str, Any]:
    """Store the embeddings of all variants that have none for the project's active encoder."""
    with reading(context.engine) as session:
        name = get_setting(session, ACTIVE_ENCODER)
        source = encoder_source(session, context.settings, name)
    context.update(0, 0, f"Loading the encoder {name}.")
    check_encoder(source)
    hash_ = fingerprint(source)
    model = load_encoder(source)
    with writing(context.engine) as session:
        register_encoder(session, name=name, hash_=hash_)
    stored = StoredEmbeddings(context.settings.data_folder, hash_)
    known = stored.uids()
    query = select(col(Variant.uid), col(Variant.text)).order_by(col(Variant.id))
    with reading(context.engine) as session:
        missing = [(uid, text) for uid, text in session.execute(query) if uid not in known]
    for start in range(0, len(missing), BLOCK):
        block = missing[start : start + BLOCK]

        def report(done: int, total: int, before: int = start) -> None:
            context.update(before + done, len(missing), "Computing embeddings.")

        embeddings = encode_distinct(model, [text for _, text in block], on_progress=report)
        stored.append([uid for uid, _ in block], embeddings)
    return {"encoder": name, "embeddings": len(missing)}
