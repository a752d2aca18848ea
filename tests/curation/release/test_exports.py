"""Exports: how others read them, what they replace and keep, hostile texts, and equal bytes."""

import csv
import json
import re
import subprocess
import sys
import tempfile
import zipfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import Engine, select
from sqlalchemy.orm import Session
from sqlmodel import col

from curation.importing.labels import read_file
from curation.partial_files import new_partial
from curation.release.export import table_rows
from curation.release.export.export_formats import export_format, format_names
from curation.release.export.file_formats import CHUNK, TABLE_FILES, table_bytes
from curation.release.export.release_folder import (
    MANIFEST,
    export_release,
    work,
    zip_export,
    zipped,
)
from curation.release.export.table_rows import TABLES, TABLES_OF, cut, read_piece, read_table
from curation.release.freezing import get_release
from curation.release.triples import triple_rows
from curation.taxonomy.built_in import TAXONOMY_VERSION
from db.engine import reading, writing
from db.errors import HedgerowError, RunCancelled
from db.execution import execute
from db.models import Release, Run, Source, Split, TypeVersion
from db.runs import create_run
from db.settings import Settings
from tests.curation.support.deciding import MOMENT
from tests.curation.support.exported import body, contents, opened, tables_in, ten_anchors
from tests.curation.support.families import add_family, add_plain_family
from tests.support.checkout import ROOT
from tests.support.databases import both_databases, start_over
from tests.support.factories import freeze
from tests.support.hostile import stored
from tests.support.plug_in_packages import Plug, install, installer

HOSTILE = [*stored().values(), "'=already quoted", "'Tis the season", "-2", "x" * 5000]


def exported(session: Session, place: Path, **more: Any) -> Path:
    """The folder of an export of the newest release."""
    return export_release(session, get_release(session), place, **more)


def lines(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]


def manifest(folder: Path) -> dict[str, Any]:
    return json.loads((folder / MANIFEST).read_text(encoding="utf-8"))


@pytest.mark.slow
@both_databases
def test_datasets_opens_a_release_of_ten_anchors(session: Session, tmp_path: Path) -> None:
    release = ten_anchors(session)
    folder = exported(session, tmp_path / "out", format="hf")
    expected = {
        str(split): {row.triple for row in triple_rows(session, release.id, split=split)}
        for split in Split
    }
    assert set(tables_in(folder)) == {"triples", "variants", "families"}
    found = opened(folder, "triples", tmp_path / "cache")
    texts = {
        split: {(row["anchor"], row["positive"], row["negative"]) for row in rows}
        for split, rows in found.items()
    }
    assert texts == {split: triples for split, triples in expected.items() if triples}
    assert len(texts) < len(Split), "no file for a split without triples"
    assert all(row["split"] == split for split, rows in found.items() for row in rows)
    variants = opened(folder, "variants", tmp_path / "cache")
    assert sum(map(len, variants.values())) == 30
    assert variants["train"][0]["polarity"] in ("negative", "positive")
    assert variants["train"][0]["adjudicated"] is False
    files = manifest(folder)
    assert set(files["files"]) | {MANIFEST} == set(contents(folder))
    assert files["content_hash"] == release.content_hash
    assert sum(files["rows"]["triples"].values()) == 20


@pytest.mark.slow
@pytest.mark.parametrize(
    ("format", "tables"), [("jsonl", ["families", "triples", "variants"]), ("pairs", ["pairs"])]
)
def test_datasets_opens_the_other_formats_too(
    format: str, tables: list[str], session: Session, tmp_path: Path
) -> None:
    release = ten_anchors(session)
    folder = exported(session, tmp_path / "out", format=format)
    expected = {table: list(read_table(session, release.id, table)) for table in tables}  # type: ignore[arg-type]
    assert sorted(tables_in(folder)) == tables and tables_in(folder)[0] == TABLES_OF[format][0]
    for table in tables:
        found = opened(folder, table, tmp_path / "cache")
        assert list(found) == ["whole"]
        rows = [[value or "" for value in row.values()] for row in found["whole"]]
        assert rows == [[value or "" for value in row] for row in expected[table]]
    first = opened(folder, None, tmp_path / "cache")
    assert len(first["whole"]) == len(expected[TABLES_OF[format][0]]), "the first table"


@pytest.mark.slow
def test_every_split_with_rows_is_there_and_no_other(session: Session, tmp_path: Path) -> None:
    for number, split in enumerate(Split):
        add_plain_family(session, number, split=split)
    freeze(session)
    found = opened(exported(session, tmp_path / "all"), "triples", tmp_path / "cache")
    assert {name: len(rows) for name, rows in found.items()} == dict.fromkeys(map(str, Split), 2)
    start_over(session)
    # An anchor without a positive has variants, but no triples.
    add_family(session, "It is late.", {"verbal": ["It is not late."]}, split=Split.TEST)
    freeze(session)
    folder = exported(session, tmp_path / "none")
    assert tables_in(folder) == ["variants", "families"]
    assert "so there is no `triples`" in body(folder)
    add_plain_family(session, 1, split=Split.TRAIN)
    freeze(session)
    folder = exported(session, tmp_path / "some")
    assert set(opened(folder, "triples", tmp_path / "cache")) == {"train"}
    assert set(opened(folder, "variants", tmp_path / "cache")) == {"train", "test"}
    assert not (folder / "triples" / "test.parquet").exists()


@pytest.mark.slow
@both_databases
def test_a_family_groups_its_variants_by_role_and_pairs_leave_out_the_neutral(
    session: Session, tmp_path: Path
) -> None:
    texts = {
        "verbal": ["It is not late."],
        "unsupported": ["Nobody knows whether it is late."],
        "word": ["It may be late."],
        "negated_antonym": ["It is not early."],
    }
    add_family(session, "It is late.", texts, split=Split.TRAIN)
    add_family(session, "It is hot.", {"verbal": ["It is not hot."]}, split=Split.TEST)
    freeze(session)
    folder, json_lines, pairs = (
        exported(session, tmp_path / format, format=format) for format in ("hf", "jsonl", "pairs")
    )
    found = opened(folder, "families", tmp_path / "cache")
    (late,), (hot,) = found["train"], found["test"]
    assert late["paraphrases"] == ["It is not early."] and late["hedges"] == ["It may be late."]
    assert late["unsupported"] == ["Nobody knows whether it is late."]
    assert late["negations"] == ["It is not late."]
    assert (hot["anchor"], hot["hedges"]) == ("It is hot.", [])
    assert sorted(lines(json_lines / "families.jsonl"), key=str) == sorted([late, hot], key=str)
    polarities = {row["polarity"] for row in lines(json_lines / "variants.jsonl")}
    assert polarities == {"positive", "negative", "neutral"}
    with (pairs / "pairs.csv").open(encoding="utf-8-sig", newline="") as file:
        seconds = {row["sentence2"] for row in csv.DictReader(file)}
    assert seconds == {"It is not late.", "It may be late.", "It is not early.", "It is not hot."}


def hostile_release(session: Session) -> Release:
    for number, text in enumerate(HOSTILE):
        texts = {"word": [f"{text} (hedged)"], "verbal": [f"{text} (negated)"]}
        cue = text[:200] if number % 2 else None
        add_family(session, text, texts, split=Split.TRAIN, cue=cue)
    return freeze(session).release


@pytest.mark.slow
@both_databases
def test_hostile_texts_pass_unchanged(session: Session, tmp_path: Path) -> None:
    hostile_release(session)
    folder = exported(session, tmp_path / "hf", format="hf")
    json_lines = exported(session, tmp_path / "jsonl", format="jsonl")
    variants = opened(folder, "variants", tmp_path / "cache")["train"]
    assert {row["text"] for row in variants} == {
        f"{text} ({kind})" for text in HOSTILE for kind in ("hedged", "negated")
    }
    cues = {row["anchor"]: row["cue"] for row in variants}
    assert cues == {text: text[:200] if n % 2 else None for n, text in enumerate(HOSTILE)}
    assert lines(json_lines / "variants.jsonl") == variants
    triples = opened(folder, "triples", tmp_path / "cache")["train"]
    assert lines(json_lines / "triples.jsonl") == triples


@pytest.mark.slow
def test_no_cell_of_the_csv_file_is_a_formula(session: Session, tmp_path: Path) -> None:
    hostile_release(session)
    path = exported(session, tmp_path / "out", format="pairs") / "pairs.csv"
    with path.open(encoding="utf-8-sig", newline="") as file:
        rows = list(csv.DictReader(file))
    cells = [cell for row in rows for cell in row.values()]
    assert not [cell for cell in cells if cell[:1] in ("=", "+", "-", "@", "\t", "\r")]
    # After undoing the escapes as the card says, every text is unchanged.
    firsts = {row["sentence1"] for row in rows}
    assert {re.sub("^'(?='*[=+@＝＋－＠-])", "", text) for text in firsts} == set(HOSTILE)
    assert firsts >= {"''=already quoted", "'Tis the season", "'-2"}
    again = read_file(path.read_bytes(), name="pairs.csv")
    assert set(again.cells["sentence1"]) == set(HOSTILE) and again.notes
    labels = {(row["polarity"], row["label"]) for row in rows}
    assert labels == {("positive", "1"), ("negative", "0")}


@pytest.mark.slow
@pytest.mark.parametrize("format", ["hf", "jsonl", "pairs"])
def test_an_equal_release_gives_the_same_bytes(
    session: Session, tmp_path: Path, format: str
) -> None:
    packed = []
    for numbers in ([1, 2, 3], [3, 2, 1]):
        for number in numbers:
            add_plain_family(session, number)
        release = freeze(session).release
        release.created_at = MOMENT
        folder = export_release(session, release, tmp_path / f"{numbers[0]}/out", format=format)  # type: ignore[arg-type]
        packed.append((contents(folder), zip_export(folder).read_bytes()))
        start_over(session)
    assert packed[0] == packed[1]


@pytest.mark.slow
def test_the_zip_opens_as_the_folder_does_and_replaces_no_others(
    session: Session, tmp_path: Path
) -> None:
    ten_anchors(session)
    folder = exported(session, tmp_path / "doors.v1")
    packed = zip_export(folder)
    assert packed == tmp_path / "doors.v1.zip"
    with zipfile.ZipFile(packed) as archive:
        archive.extractall(tmp_path / "unpacked")
    assert contents(tmp_path / "unpacked") == contents(folder)
    assert opened(tmp_path / "unpacked", "triples", tmp_path / "cache")["train"]
    zip_export(folder)  # our own is replaced
    packed.write_bytes(b"mine")
    for place, fact in ((folder, "move it away"), (tmp_path, "an export")):
        with pytest.raises(HedgerowError, match=fact):
            zip_export(place)
    assert packed.read_bytes() == b"mine"


@pytest.mark.slow
def test_an_earlier_export_is_replaced(session: Session, tmp_path: Path) -> None:
    ten_anchors(session)
    exported(session, tmp_path / "out", format="hf")
    reports: list[tuple[int, int, str]] = []
    folder = exported(
        session, tmp_path / "out", format="jsonl", progress=lambda *one: reports.append(one)
    )
    tables = ("families.jsonl", "triples.jsonl", "variants.jsonl")
    assert set(contents(folder)) == {MANIFEST, "README.md", *tables}
    assert [path.name for path in tmp_path.iterdir() if "out" in path.name] == ["out"]
    assert (reports[0][0], reports[-1][:2]) == (0, (60, 60))


FOREIGN = {
    "a file": lambda place: place.write_text("mine"),
    "a foreign folder": lambda place: (place.mkdir(), (place / "thesis.txt").write_text("mine")),
    "another program's settings": lambda place: (
        place.mkdir(),
        (place / MANIFEST).write_text('{"my": "settings"}'),
    ),
    "a damaged manifest": lambda place: (
        place.mkdir(),
        (place / MANIFEST).write_text('{"hedgerow_export": 1, "files": [["a"]]}'),
    ),
    "a changed card": lambda place: (place / "README.md").write_text("mine"),
    "a note in an export": lambda place: (place / "notes.txt").write_text("mine"),
}


@pytest.mark.parametrize("kind", FOREIGN)
def test_a_folder_that_is_not_an_export_is_left_alone(
    session: Session, tmp_path: Path, kind: str
) -> None:
    ten_anchors(session)
    place = tmp_path / "exports" / "mine"
    place.parent.mkdir()
    if kind in ("a changed card", "a note in an export"):
        exported(session, place)
    FOREIGN[kind](place)
    before = contents(place.parent)
    with pytest.raises(HedgerowError, match=re.escape(str(place))):
        exported(session, place)
    assert contents(place.parent) == before


@pytest.mark.slow
def test_an_export_that_stops_leaves_what_was_there(session: Session, tmp_path: Path) -> None:
    def stop(done: int, total: int, message: str) -> None:
        if done == total:
            raise RunCancelled

    ten_anchors(session)
    place = tmp_path / "exports"
    exported(session, place / "out")
    before = contents(place)
    for target in (place / "out", place / "new"):
        with pytest.raises(RunCancelled):
            exported(session, target, format="jsonl", progress=stop)
    assert contents(place) == before and [path.name for path in place.iterdir()] == ["out"]


KILLED = """
import os, signal, sys
from pathlib import Path
from curation.partial_files import new_partial
from curation.overview.project_settings import open_project
from curation.release.export.release_folder import export_release
from curation.release.freezing import get_release
from db.engine import reading
from db.settings import load_settings

def die(*progress):
    if sys.argv[2] == "old":  # between taking the old one away and putting the new one there
        Path(sys.argv[1]).rename(new_partial(Path(sys.argv[1])).with_suffix(".old"))
    os.kill(os.getpid(), signal.SIGKILL)

with reading(open_project(load_settings())) as session:
    export_release(session, get_release(session, None), Path(sys.argv[1]), progress=die)
"""


@pytest.mark.slow
def test_the_next_export_removes_what_a_killed_one_left(
    engine: Engine, home: Path, tmp_path: Path
) -> None:
    place = tmp_path / "exports" / "out"
    with writing(engine) as session:
        export_release(session, ten_anchors(session), place)
    before = contents(place)
    for moment in ("part", "old"):
        killed = [sys.executable, "-c", KILLED, str(place), moment]
        assert subprocess.run(killed, cwd=ROOT, check=False).returncode == -9
        left = {path.suffix for path in place.parent.iterdir()}
        assert left == ({"", ".part"} if moment == "part" else {".part", ".old"})
    mine = [new_partial(place), place.with_name(".out.of-somebody.part")]
    for folder in mine:
        folder.mkdir()
    with reading(engine) as session:
        export_release(session, get_release(session, None), place)
    assert contents(place) == before and sorted(place.parent.iterdir()) == sorted([place, *mine])


def test_a_place_or_format_that_cannot_be_is_refused(session: Session, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    ten_anchors(session)
    with pytest.raises(HedgerowError, match="cannot be written"):
        exported(session, tmp_path / "file" / "out")
    with pytest.raises(HedgerowError, match="hf, jsonl, pairs.*found 'xml'"):
        exported(session, tmp_path / "out", format="xml")
    assert not (tmp_path / "out").exists()


@pytest.mark.slow
def test_a_run_exports_into_its_own_folder_or_the_place_it_names(
    engine: Engine, home: Path, tmp_path: Path
) -> None:
    def run(**parameters: Any) -> tuple[Run, dict[str, Any]]:
        with writing(engine) as session:
            run = create_run(session, kind="export", parameters=parameters)
        return run, execute(engine, settings, run.id, {"export": work})

    settings = Settings(home=home)
    with writing(engine) as session:
        ten_anchors(session)
    first, result = run(format="hf")
    assert (result["release"], sum(result["rows"]["triples"].values())) == (1, 20)
    folder = settings.data_folder / result["folder"]
    assert folder.parent == settings.data_folder / first.folder
    assert opened(folder, "triples", tmp_path / "cache")["train"]
    with zipfile.ZipFile(settings.data_folder / result["zip"]) as archive:
        assert "README.md" in archive.namelist()
    with writing(engine) as session:
        add_plain_family(session, 11)
        freeze(session)
    _, result = run(release=1, format="jsonl", folder="mine/out")
    assert result["folder"] == str(home / "mine" / "out")
    assert len(lines(home / "mine" / "out" / "variants.jsonl")) == 30


@pytest.mark.slow
def test_a_release_can_be_exported_after_its_variants_are_gone(
    session: Session, tmp_path: Path
) -> None:
    ten_anchors(session)
    before = contents(exported(session, tmp_path / "before"))
    for source in session.execute(select(Source).where(col(Source.name) != "")).scalars():
        source.note = source.licence = "changed"
    session.get_one(TypeVersion, ("verbal", TAXONOMY_VERSION)).definition = "changed"
    session.flush()
    assert contents(exported(session, tmp_path / "after")) == before


CODE = """
from hedgerow.plug_ins import ExportFormat


class Mine(ExportFormat):
    purpose = "Counts *rows*."

    def write(self, release, folder):
        BODY
"""


@pytest.fixture
def plug(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Plug:
    """Installs a format 'mine' whose method has this body."""
    return installer(monkeypatch, tmp_path, "hedgerow.exports", CODE)


@pytest.mark.slow
def test_a_plug_in_reads_rows_and_columns_and_its_files_are_in_the_manifest(
    plug: Plug, session: Session, tmp_path: Path
) -> None:
    plug(
        "names = [column.name for column in release.columns('pairs')]\n"
        "rows = list(release.rows('pairs'))\n"
        "assert all(list(row) == names for row in rows)\n"
        "splits = sum((list(release.rows('pairs', s)) for s in release.splits('pairs')), [])\n"
        "assert len(splits) == len(rows) == sum(release.splits('pairs').values())\n"
        "(folder / 'sub').mkdir()\n"
        "(folder / 'sub' / 'count.txt').write_text(f'{release.number} {len(rows)}')"
    )
    ten_anchors(session)
    heard: list[tuple[int, int, str]] = []
    place = exported(
        session, tmp_path / "out", format="mine", progress=lambda *report: heard.append(report)
    )
    found = manifest(place)
    number, count = map(int, (place / "sub" / "count.txt").read_text().split())
    assert (found["format"], found["release"]) == ("mine", number)
    assert set(found["files"]) == {"README.md", "sub/count.txt"}
    assert sum(found["rows"]["pairs"].values()) == count > 0
    card = body(place)
    assert "mine. Counts \\*rows\\*." in card and "Columns of pairs" in card
    assert all(done <= total for done, total, _ in heard)


@pytest.mark.slow
def test_a_plug_in_that_fails_or_is_cancelled_leaves_nothing_behind(
    plug: Plug, session: Session, tmp_path: Path
) -> None:
    def stop(*report: object) -> None:
        raise RunCancelled

    ten_anchors(session)
    out = tmp_path / "exports" / "out"
    plug("(folder / 'half.txt').write_text('half')\nlist(release.rows('variants'))\n{}['text']")
    with pytest.raises(HedgerowError, match="'mine' failed .KeyError: 'text'"):
        exported(session, out, format="mine")
    with pytest.raises(RunCancelled):
        exported(session, out, format="mine", progress=stop)
    assert list(out.parent.iterdir()) == []


def test_a_format_of_ours_is_never_replaced(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    code = CODE.replace("BODY", "pass")
    install(monkeypatch, tmp_path / "mine", "hedgerow.exports", code, hf="Mine", other="Mine")
    assert format_names() == ("hf", "jsonl", "pairs", "messages", "completion", "openai", "other")
    assert export_format("hf").label == "Hugging Face data set"
    with pytest.raises(HedgerowError, match="hf, jsonl, pairs, .*other.*found 'xml'"):
        export_format("xml")


@pytest.mark.slow
@both_databases
@pytest.mark.parametrize("file", TABLE_FILES)
def test_a_table_is_streamed_as_an_export_has_it(
    file: str, engine: Engine, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(table_rows, "PIECE", 4)  # the families have three variants each
    with writing(engine) as session:
        release = ten_anchors(session)
        format = "pairs" if file == "pairs.csv" else "jsonl"
        folder = exported(session, tmp_path / "out", format=format)
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
    assert all(CHUNK <= size < CHUNK + 2 * row for size in sizes) and read * row <= sum(sizes)


@pytest.mark.slow
@both_databases
def test_a_zip_has_the_bytes_of_the_one_in_a_folder_and_no_name(
    session: Session, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def stop(done: int, total: int, message: str) -> None:
        seen.extend(scratch.glob("hedgerow-*"))
        raise RunCancelled

    scratch, seen = tmp_path / "scratch", list[Path]()
    scratch.mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(scratch))
    release = ten_anchors(session)
    folder = exported(session, tmp_path / "out", format="jsonl")
    with zipped(session, release, "jsonl", compared=()) as packed:
        assert list(scratch.iterdir()) == [] and packed.read() == zip_export(folder).read_bytes()
    with pytest.raises(RunCancelled):
        zipped(session, release, "hf", compared=(), progress=stop)
    assert len(seen) == 1 and not seen[0].exists()
