"""Embeddings of variants in one file per encoder, with one record per variant.

A record is the variant's uid and its embedding in half precision: 784 bytes for 384 dimensions. The
uid is a hash of the content, so the file stays valid when the database is restored or copied. The
file can be deleted at any time; the embeddings are then computed again.
"""

from pathlib import Path
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from curation.content_uids import UID_LENGTH
from db.run_folders import make_folder

FOLDER = "embeddings"
"""Folder in the data folder."""

_ROWS = 8192
"""Number of records converted to single precision at once."""


class Neighbour(NamedTuple):
    """A variant's uid and its cosine similarity to the given variant, in [-1, 1]."""

    uid: str
    cosine: float


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

    def nearest(self, uid: str, *, limit: int) -> list[Neighbour] | None:
        """The variants with the highest cosine, most similar first.

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
        return [
            Neighbour(records["uid"][row].decode(), float(np.clip(cosines[row], -1, 1)))
            for row in first
        ]

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
