"""The benchmark files that are stored with a project."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from db.errors import HedgerowError
from tests.training.benchmarks.support.running import lines
from tests.training.benchmarks.support.samples import (
    CORPUS,
    EXCLUIR,
    NEVIR,
    semantoneg_rows,
    write_lines,
)
from training.benchmarks.data import sources
from training.benchmarks.data.sources import (
    DataChoice,
    keep_data,
    keep_file_here,
    kept_data,
    open_data,
    require_data,
)
from training.benchmarks.tasks.semantoneg import SemAntoNeg

GOOD = lines(semantoneg_rows())
EXCLUIR_FILES = {
    "corpus (1).json": json.dumps(CORPUS).encode(),
    "manual.json": json.dumps(EXCLUIR).encode(),
}


def everything(folder: Path) -> list[Path]:
    return [path for path in folder.rglob("*") if path.is_file()]


def test_a_file_is_kept_once_under_its_content_and_name(tmp_path: Path) -> None:
    first = keep_data(tmp_path, "semantoneg", {"my sample.jsonl": GOOD})
    assert first == keep_data(tmp_path, "semantoneg", {"my sample.jsonl": GOOD})
    assert first.name == "my_sample.jsonl" and kept_data(tmp_path) == [first]
    assert [path.read_bytes() for path in everything(tmp_path)] == [GOOD]
    assert SemAntoNeg.read(tmp_path / first.file).items


@pytest.mark.parametrize("name", ["../../up.jsonl", "..", "/etc/x.jsonl", "a\\b\\..", "é" * 300])
def test_no_name_leaves_the_folder(tmp_path: Path, name: str) -> None:
    kept = keep_data(tmp_path / "data", "semantoneg", {name: GOOD})
    path = (tmp_path / "data" / kept.file).resolve()
    assert path.parent == (tmp_path / "data" / "benchmarks" / "semantoneg").resolve()
    assert everything(tmp_path) == [path]


def test_a_wrong_file_is_refused_by_its_own_name_and_leaves_nothing(tmp_path: Path) -> None:
    with pytest.raises(HedgerowError, match=r"on line 1 of 'nevir.jsonl'") as raised:
        keep_data(tmp_path, "semantoneg", {"nevir.jsonl": lines(NEVIR)})
    assert str(tmp_path) not in str(raised.value)
    with pytest.raises(HedgerowError, match=r"UTF-8 text in 'x.jsonl'"):
        keep_data(tmp_path, "semantoneg", {"x.jsonl": b"\xff\xfe"})
    assert everything(tmp_path) == [] and kept_data(tmp_path) == []


def test_excluir_has_two_files_with_any_names(tmp_path: Path) -> None:
    kept = keep_data(tmp_path, "excluir", EXCLUIR_FILES)
    with pytest.raises(HedgerowError, match="found 1 file; choose both"):
        keep_data(tmp_path, "excluir", {"manual.json": EXCLUIR_FILES["manual.json"]})
    opened = open_data(None, tmp_path, kept.choice)  # type: ignore[arg-type]
    assert len(opened.benchmark.items) == len(EXCLUIR)
    folder = tmp_path / kept.file
    assert keep_file_here(tmp_path, "excluir", folder)._replace(name="") == keep_file_here(
        tmp_path, "excluir", folder / "test_manual_final.json"
    )._replace(name="")
    assert len({data.file.split("-")[0] for data in kept_data(tmp_path)}) == 1
    corpus = keep_file_here(tmp_path, "excluir", folder / "corpus.json")
    assert kept_data(tmp_path, "excluir")[0] == corpus, "either file gives both"


def test_excluir_from_a_place_that_lacks_a_file_asks_for_the_folder(tmp_path: Path) -> None:
    (tmp_path / "mine.json").write_bytes(EXCLUIR_FILES["manual.json"])
    with pytest.raises(HedgerowError, match=r"has no corpus.json; use a folder with both"):
        keep_file_here(tmp_path, "excluir", tmp_path / "mine.json")
    with pytest.raises(HedgerowError, match=r"no test_manual_final.json and no corpus.json; use"):
        keep_file_here(tmp_path, "excluir", tmp_path)


def test_the_users_sentences_become_a_suite(tmp_path: Path) -> None:
    header = "original,negation,antonym,both"
    rows = ["It is hot.,It is not hot.,It is cold.,It is not cold.", "A,B,C,A"]
    kept = keep_data(tmp_path, "semantoneg", {"own.csv": "\n".join([header, rows[0]]).encode()})
    assert kept.name == "own.jsonl"
    assert len(SemAntoNeg.read(tmp_path / kept.file).items) == 4
    with pytest.raises(HedgerowError, match=r"four different forms on line 3 of 'own.csv'"):
        keep_data(tmp_path, "semantoneg", {"own.csv": "\n".join([header, *rows]).encode()})
    assert kept_data(tmp_path) == [kept]


def test_downloaded_data_is_kept(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    given = write_lines(tmp_path / "test.jsonl", NEVIR)
    monkeypatch.setattr(sources, "local", lambda source: given)
    opened = open_data(None, tmp_path, DataChoice(benchmark="nevir"))  # type: ignore[arg-type]
    assert opened.where == "orionweller/NevIR/test.jsonl on the model hub"
    (kept,) = kept_data(tmp_path, "nevir")
    assert kept.name == "NevIR-test.jsonl" and opened.origin == {"file": kept.file}


@pytest.mark.parametrize("data", ["benchmarks/semantoneg/gone.jsonl", "../secret", "/etc/passwd"])
def test_data_that_are_not_there(tmp_path: Path, data: str) -> None:
    choice = DataChoice(benchmark="semantoneg", data=data)
    with pytest.raises(HedgerowError, match="in the data folder, found none"):
        require_data(None, tmp_path, choice)  # type: ignore[arg-type]


def test_data_that_have_to_be_fetched_first(tmp_path: Path) -> None:
    with pytest.raises(HedgerowError, match="SemAntoNeg is not on the model hub; download it"):
        require_data(None, tmp_path, DataChoice(benchmark="semantoneg"))  # type: ignore[arg-type]
    with pytest.raises(HedgerowError, match="Expected a benchmark .*, found 'glue'"):
        keep_data(tmp_path, "glue", {"x": b""})
    with pytest.raises(HedgerowError, match="Expected a release"):
        keep_data(tmp_path, "hedgerow", {"x": b""})
