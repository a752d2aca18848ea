"""Releases as streams: the bytes of an export, read piece by piece, with nothing left behind."""

import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest
from sqlalchemy import Engine

from curation.release.export import table_rows
from curation.release.export.release_folder import export_release
from curation.release.export.streams import CHUNK, TABLE_FILES, table_bytes, zipped
from curation.release.export.table_rows import TABLES, cut, read_piece
from curation.release.export.zip_file import zip_export
from db.engine import reading, writing
from db.errors import RunCancelled
from tests.curation.support.exported import ten_anchors
from tests.support.databases import both_databases

PIECE = 4
"""Number of variants. The families of the release have three each."""


@both_databases
@pytest.mark.parametrize("file", TABLE_FILES)
def test_a_table_is_streamed_as_an_export_has_it(
    file: str, engine: Engine, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(table_rows, "PIECE", PIECE)
    with writing(engine) as session:
        release = ten_anchors(session)
    format = "pairs" if file == "pairs.csv" else "jsonl"
    with reading(engine) as session:
        folder = export_release(session, release, tmp_path / "out", format=format)
        pieces = cut(session, release.id)
    assert [len(piece) for piece in pieces] == [6] * 5  # whole families

    def rows() -> Iterator[tuple[object, ...]]:
        for ids in pieces:
            with reading(engine) as session:
                found = read_piece(session, release.id, TABLE_FILES[file], ids)
            yield from found  # the session is closed

    assert b"".join(table_bytes(file, rows())) == (folder / file).read_bytes()


def test_the_first_bytes_go_out_before_the_rest_is_read() -> None:
    read = 0

    def rows() -> Iterator[tuple[object, ...]]:
        nonlocal read
        while True:  # without an end
            read += 1
            yield ("x" * 1000,) * len(TABLES["variants"])

    chunks = table_bytes("variants.jsonl", rows())
    sizes = [len(next(chunks)) for _ in range(3)]
    row = 1000 * len(TABLES["variants"])
    assert all(CHUNK <= size < CHUNK + 2 * row for size in sizes)
    assert read * row <= sum(sizes)


@both_databases
def test_a_zip_has_the_bytes_of_the_one_in_a_folder_and_no_name(
    engine: Engine, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    scratch = tmp_path / "scratch"
    scratch.mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(scratch))
    with writing(engine) as session:
        release = ten_anchors(session)
    with reading(engine) as session:
        folder = export_release(session, release, tmp_path / "out", format="jsonl")
        with zipped(session, release, "jsonl", compared=()) as packed:
            assert list(scratch.iterdir()) == []
            assert packed.read() == zip_export(folder).read_bytes()


def test_a_zip_that_is_stopped_leaves_nothing(
    engine: Engine, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    seen: list[str] = []

    def stop(done: int, total: int, message: str) -> None:
        seen.extend(str(path) for path in tmp_path.glob("hedgerow-*"))
        raise RunCancelled

    with writing(engine) as session:
        release = ten_anchors(session)
    with reading(engine) as session, pytest.raises(RunCancelled):
        zipped(session, release, "hf", compared=(), progress=stop)
    assert len(seen) == 1
    assert not Path(seen[0]).exists()
