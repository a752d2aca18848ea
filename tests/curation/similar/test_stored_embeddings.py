"""Embeddings in a file: added ones are found again, even after an interrupted write."""

from pathlib import Path

import numpy as np
import pytest

from curation.similar.stored_embeddings import FOLDER, StoredEmbeddings


def uid(number: int) -> str:
    return f"{number:016x}"


def unit_rows(*rows: tuple[float, ...]) -> np.ndarray:
    array = np.array(rows, np.float32)
    return array / np.linalg.norm(array, axis=1, keepdims=True)


@pytest.fixture
def stored(tmp_path: Path) -> StoredEmbeddings:
    return StoredEmbeddings(tmp_path, "f" * 64)


def test_the_nearest_come_first_and_without_the_one_asked_about(stored: StoredEmbeddings) -> None:
    stored.append([uid(1), uid(2)], unit_rows((1, 0, 0), (0, 1, 0)))
    stored.append([uid(3)], unit_rows((1, 1, 0)))
    near = stored.nearest(uid(1), limit=5)
    assert near is not None
    assert [one.uid for one in near] == [uid(3), uid(2)]
    assert [one.cosine for one in near] == pytest.approx([0.5**0.5, 0.0], abs=1e-3)
    assert stored.nearest(uid(1), limit=1) == near[:1]


def test_nothing_is_known_of_a_variant_that_is_not_stored(stored: StoredEmbeddings) -> None:
    assert stored.nearest(uid(1), limit=5) is None
    assert (len(stored), stored.uids()) == (0, set())
    stored.append([uid(1)], unit_rows((1, 0)))
    assert stored.nearest(uid(2), limit=5) is None


def test_half_a_record_is_skipped_and_replaced(stored: StoredEmbeddings, tmp_path: Path) -> None:
    stored.append([uid(1)], unit_rows((1, 0)))
    (file,) = (tmp_path / FOLDER).iterdir()
    file.write_bytes(file.read_bytes() + b"half")
    assert stored.uids() == {uid(1)}
    stored.append([uid(2)], unit_rows((0, 1)))
    assert stored.uids() == {uid(1), uid(2)}
    assert [one.uid for one in stored.nearest(uid(2), limit=5) or ()] == [uid(1)]


def test_each_encoder_has_a_file_of_its_own(stored: StoredEmbeddings, tmp_path: Path) -> None:
    stored.append([uid(1)], unit_rows((1, 0)))
    assert len(StoredEmbeddings(tmp_path, "0" * 64)) == 0


def test_more_records_than_are_converted_at_once(stored: StoredEmbeddings) -> None:
    angles = np.linspace(0, np.pi / 2, 20_000)
    rows = np.column_stack([np.cos(angles), np.sin(angles)]).astype(np.float32)
    stored.append([uid(number) for number in range(len(rows))], rows)
    near = stored.nearest(uid(0), limit=len(rows))
    assert near is not None
    assert len(near) == len(rows) - 1
    assert near[-1].uid in {uid(number) for number in range(19_990, 20_000)}  # half precision
