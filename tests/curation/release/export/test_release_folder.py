"""Exports: what other programs read of them, hostile texts, and that no half export is left."""

import csv
import json
import re
import shutil
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest
from sqlalchemy import Engine, select
from sqlalchemy.orm import Session
from sqlmodel import col

from curation.anchors.importing.formats import read_file
from curation.partial_files import new_partial
from curation.release.export.export_run import work
from curation.release.export.release_folder import MANIFEST, export_release
from curation.release.export.table_rows import TABLES_OF, read_table
from curation.release.export.zip_file import zip_export
from curation.release.freezing import create_release, get_release
from curation.release.triples import triple_rows
from curation.taxonomy.built_in import TAXONOMY_VERSION
from db.engine import reading, writing
from db.errors import HedgerowError, RunCancelled
from db.execution import execute
from db.models import Release, Source, Split, TypeVersion
from db.runs import create_run
from db.settings import Settings
from tests.curation.support.exported import body, contents, opened, tables_in, ten_anchors
from tests.curation.support.families import add_family, add_plain_family
from tests.support.checkout import ROOT
from tests.support.databases import both_databases
from tests.support.hostile import stored

HOSTILE = [*stored().values(), "'=already quoted", "'Tis the season", "-2", "x" * 5000]


@both_databases
def test_datasets_opens_a_release_of_ten_anchors(engine: Engine, tmp_path: Path) -> None:
    with writing(engine) as session:
        release = ten_anchors(session)
    with reading(engine) as session:
        folder = export_release(session, release, tmp_path / "out", format="hf")
        expected = {
            split: {row.triple for row in triple_rows(session, release.id, split=split)}
            for split in Split
        }
    assert set(tables_in(folder)) == {"triples", "variants", "families"}
    found = opened(folder, "triples", tmp_path / "cache")
    assert set(found) == {split for split in Split if expected[split]} < set(Split)
    for split, rows in found.items():
        texts = [(row["anchor"], row["positive"], row["negative"]) for row in rows]
        assert set(texts) == expected[Split(split)]
        assert all(row["split"] == split for row in rows)
    variants = opened(folder, "variants", tmp_path / "cache")
    assert sum(map(len, variants.values())) == 30
    assert variants["train"][0]["polarity"] in ("negative", "positive")
    assert variants["train"][0]["adjudicated"] is False


@pytest.mark.parametrize(
    ("format", "tables"), [("jsonl", ["families", "triples", "variants"]), ("pairs", ["pairs"])]
)
def test_datasets_opens_the_other_formats_too(
    format: str, tables: list[str], engine: Engine, tmp_path: Path
) -> None:
    with writing(engine) as session:
        release = ten_anchors(session)
    with reading(engine) as session:
        folder = export_release(session, release, tmp_path / "out", format=format)
        expected = {
            table: list(read_table(session, release.id, table)) for table in TABLES_OF[format]
        }
    assert sorted(tables_in(folder)) == tables
    assert tables_in(folder)[0] == TABLES_OF[format][0]
    for table in tables:
        found = opened(folder, table, tmp_path / "cache")
        assert list(found) == ["whole"]
        rows = [[value or "" for value in row.values()] for row in found["whole"]]
        assert rows == [[value or "" for value in row] for row in expected[table]]
    first = opened(folder, None, tmp_path / "cache")
    assert len(first["whole"]) == len(expected[TABLES_OF[format][0]]), "the first table"


def test_every_split_with_rows_is_there(engine: Engine, tmp_path: Path) -> None:
    with writing(engine) as session:
        for number, split in enumerate(Split):
            add_plain_family(session, number, split=split)
        release = create_release(session).release
        folder = export_release(session, release, tmp_path / "out")
    found = opened(folder, "triples", tmp_path / "cache")
    assert {name: len(rows) for name, rows in found.items()} == dict.fromkeys(map(str, Split), 2)
    assert found["validation"][0]["anchor"] == "Door 1 is open."


def test_only_the_train_split_where_only_that_has_rows(engine: Engine, tmp_path: Path) -> None:
    with writing(engine) as session:
        add_plain_family(session, 1, split=Split.TRAIN)
        # A test anchor without a positive: there are variants to test on, but no triples.
        add_family(session, "It is late.", {"verbal": ["It is not late."]}, split=Split.TEST)
        release = create_release(session).release
        folder = export_release(session, release, tmp_path / "out")
    assert set(opened(folder, "triples", tmp_path / "cache")) == {"train"}
    assert set(opened(folder, "variants", tmp_path / "cache")) == {"train", "test"}
    assert not (folder / "triples" / "test.parquet").exists()


def test_a_release_without_triples_has_variants_and_says_so(engine: Engine, tmp_path: Path) -> None:
    with writing(engine) as session:
        add_family(session, "It is late.", {"verbal": ["It is not late."]}, split=Split.TRAIN)
        folder = export_release(session, create_release(session).release, tmp_path / "out")
    assert tables_in(folder) == ["variants", "families"]
    assert len(opened(folder, "variants", tmp_path / "cache")["train"]) == 1
    assert "so there is no `triples`" in body(folder)


def test_pairs_leave_out_what_is_neither_the_same_nor_a_contradiction(
    engine: Engine, tmp_path: Path
) -> None:
    texts = {"verbal": ["It is not late."], "unsupported": ["Nobody knows whether it is late."]}
    with writing(engine) as session:
        add_family(session, "It is late.", texts, split=Split.TRAIN)
        release = create_release(session).release
        pairs = export_release(session, release, tmp_path / "pairs", format="pairs")
        lines = export_release(session, release, tmp_path / "jsonl", format="jsonl")
    with (pairs / "pairs.csv").open(encoding="utf-8-sig", newline="") as file:
        assert [row["sentence2"] for row in csv.DictReader(file)] == ["It is not late."]
    found = [json.loads(line) for line in (lines / "variants.jsonl").open(encoding="utf-8")]
    assert {row["polarity"] for row in found} == {"negative", "neutral"}


@both_databases
def test_a_family_has_its_variants_by_what_they_do_with_the_claim(
    engine: Engine, tmp_path: Path
) -> None:
    texts = {
        "verbal": ["It is not late."],
        "unsupported": ["Nobody knows whether it is late."],
        "word": ["It may be late."],
        "negated_antonym": ["It is not early."],
    }
    with writing(engine) as session:
        add_family(session, "It is late.", texts, split=Split.TRAIN)
        add_family(session, "It is hot.", {"verbal": ["It is not hot."]}, split=Split.TEST)
        release = create_release(session).release
        folder = export_release(session, release, tmp_path / "hf", format="hf")
        lines = export_release(session, release, tmp_path / "jsonl", format="jsonl")
    found = opened(folder, "families", tmp_path / "cache")
    (late,), (hot,) = found["train"], found["test"]
    assert late["paraphrases"] == ["It is not early."] and late["hedges"] == ["It may be late."]
    assert late["unsupported"] == ["Nobody knows whether it is late."]
    assert late["negations"] == ["It is not late."]
    assert (hot["anchor"], hot["hedges"]) == ("It is hot.", [])
    rows = [json.loads(line) for line in (lines / "families.jsonl").open(encoding="utf-8")]
    assert sorted(rows, key=str) == sorted([late, hot], key=str)


def hostile_release(session: Session) -> Release:
    for number, text in enumerate(HOSTILE):
        add_family(
            session,
            text,
            {"word": [f"{text} (hedged)"], "verbal": [f"{text} (negated)"]},
            split=Split.TRAIN,
            cue=text[:200] if number % 2 else None,
        )
    return create_release(session).release


@both_databases
def test_hostile_texts_pass_unchanged(engine: Engine, tmp_path: Path) -> None:
    with writing(engine) as session:
        release = hostile_release(session)
        folder = export_release(session, release, tmp_path / "hf", format="hf")
        lines = export_release(session, release, tmp_path / "jsonl", format="jsonl")
    variants = opened(folder, "variants", tmp_path / "cache")["train"]
    assert {row["anchor"] for row in variants} == set(HOSTILE)
    assert {row["text"] for row in variants} == {
        f"{text} ({kind})" for text in HOSTILE for kind in ("hedged", "negated")
    }
    cues = {row["anchor"]: row["cue"] for row in variants}
    assert cues == {text: text[:200] if n % 2 else None for n, text in enumerate(HOSTILE)}
    found = [json.loads(line) for line in (lines / "variants.jsonl").open(encoding="utf-8")]
    assert found == variants
    pairs = [json.loads(line) for line in (lines / "triples.jsonl").open(encoding="utf-8")]
    assert pairs == opened(folder, "triples", tmp_path / "cache")["train"]


def test_no_cell_of_the_csv_file_is_a_formula(engine: Engine, tmp_path: Path) -> None:
    with writing(engine) as session:
        release = hostile_release(session)
        folder = export_release(session, release, tmp_path / "out", format="pairs")
    with (folder / "pairs.csv").open(encoding="utf-8-sig", newline="") as file:
        rows = list(csv.DictReader(file))
    cells = [cell for row in rows for cell in row.values()]
    assert not [cell for cell in cells if cell[:1] in ("=", "+", "-", "@", "\t", "\r")]
    # Undone as the card says, every text is what it was.
    undone = {re.sub("^'(?='*[=+@＝＋－＠-])", "", row["sentence1"]) for row in rows}
    assert undone == set(HOSTILE)
    again = read_file((folder / "pairs.csv").read_bytes(), name="pairs.csv")
    assert set(again.cells["sentence1"]) == set(HOSTILE)
    assert again.notes
    assert {row["sentence1"] for row in rows} >= {"''=already quoted", "'Tis the season", "'-2"}
    assert {(row["polarity"], row["label"]) for row in rows} == {
        ("positive", "1"),
        ("negative", "0"),
    }


def test_the_same_release_gives_the_same_bytes(engine: Engine, tmp_path: Path) -> None:
    with writing(engine) as session:
        release = ten_anchors(session)
    for format in ("hf", "jsonl", "pairs"):
        with reading(engine) as session:
            first = export_release(session, release, tmp_path / "a", format=format)  # type: ignore[arg-type]
            second = export_release(session, release, tmp_path / "b", format=format)  # type: ignore[arg-type]
        assert contents(first) == contents(second)
        assert zip_export(first).read_bytes() == zip_export(second).read_bytes()


def test_equal_releases_of_two_databases_give_equal_tables(engine: Engine, tmp_path: Path) -> None:
    tables = []
    for numbers in ([1, 2, 3], [3, 2, 1]):
        with writing(engine) as session:
            for number in numbers:
                add_plain_family(session, number)
            release = create_release(session).release
            folder = export_release(session, release, tmp_path / "out")
            tables.append({k: v for k, v in contents(folder).items() if k.endswith(".parquet")})
            session.rollback()
    assert tables[0] == tables[1]


def test_the_manifest_names_every_file(engine: Engine, tmp_path: Path) -> None:
    with writing(engine) as session:
        release = ten_anchors(session)
        folder = export_release(session, release, tmp_path / "out")
    manifest = json.loads((folder / MANIFEST).read_text(encoding="utf-8"))
    assert set(manifest["files"]) | {MANIFEST} == set(contents(folder))
    assert manifest["content_hash"] == release.content_hash
    assert sum(manifest["rows"]["triples"].values()) == 20


def test_an_earlier_export_is_replaced(engine: Engine, tmp_path: Path) -> None:
    with writing(engine) as session:
        release = ten_anchors(session)
        folder = export_release(session, release, tmp_path / "out", format="hf")
        export_release(session, release, tmp_path / "out", format="jsonl")
    assert set(contents(folder)) == {
        *(MANIFEST, "README.md"),
        *("families.jsonl", "triples.jsonl", "variants.jsonl"),
    }
    assert [path.name for path in tmp_path.iterdir() if "out" in path.name] == ["out"]


@pytest.mark.parametrize(
    "kind",
    [
        "file",
        "foreign folder",
        "note in an export",
        "changed card",
        "another program's settings",
        "damaged manifest",
    ],
)
def test_what_is_not_an_export_is_left_alone(engine: Engine, tmp_path: Path, kind: str) -> None:
    place = tmp_path / "exports" / "mine"
    place.parent.mkdir()
    with writing(engine) as session:
        release = ten_anchors(session)
        if kind == "file":
            place.write_text("mine")
        elif kind == "foreign folder":
            (place / "inside").mkdir(parents=True)
            (place / "inside" / "thesis.txt").write_text("mine")
        elif kind == "another program's settings":
            place.mkdir()
            (place / MANIFEST).write_text('{"my": "settings"}')
        elif kind == "damaged manifest":
            place.mkdir()
            (place / MANIFEST).write_text('{"hedgerow_export": 1, "files": [["a"]]}')
        elif kind == "changed card":
            with (export_release(session, release, place) / "README.md").open("a") as card:
                card.write("mine")
        else:
            export_release(session, release, place)
            (place / "notes.txt").write_text("mine")
        before = contents(place.parent)
        with pytest.raises(HedgerowError, match=r"choose another") as refusal:
            export_release(session, release, place)
    assert str(place) in str(refusal.value)
    assert contents(place.parent) == before


def test_an_export_that_stops_leaves_what_was_there(engine: Engine, tmp_path: Path) -> None:
    def stop(done: int, total: int, message: str) -> None:
        if done == total:
            raise RunCancelled

    with writing(engine) as session:
        release = ten_anchors(session)
        place = tmp_path / "exports"
        folder = export_release(session, release, place / "out")
        before = contents(place)
        for target in (folder, place / "new"):
            with pytest.raises(RunCancelled):
                export_release(session, release, target, format="jsonl", progress=stop)
    assert contents(place) == before
    assert [path.name for path in place.iterdir()] == ["out"]


KILLED = """
import os, signal, sys
from pathlib import Path
from curation.partial_files import new_partial
from curation.project.opening import open_project
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
        release = ten_anchors(session)
        export_release(session, release, place)
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
    assert contents(place) == before
    assert sorted(place.parent.iterdir()) == sorted([place, *mine])


def test_a_place_that_cannot_be_written_is_one_sentence(engine: Engine, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with writing(engine) as session:
        release = ten_anchors(session)
        with pytest.raises(HedgerowError, match="cannot be written"):
            export_release(session, release, tmp_path / "file" / "out")


def test_an_unknown_format_is_one_sentence(engine: Engine, tmp_path: Path) -> None:
    with writing(engine) as session:
        release = ten_anchors(session)
        with pytest.raises(HedgerowError, match="hf, jsonl, pairs.*found 'xml'"):
            export_release(session, release, tmp_path / "out", format="xml")  # type: ignore[arg-type]
    assert not (tmp_path / "out").exists()


def test_progress_ends_at_the_number_of_rows(engine: Engine, tmp_path: Path) -> None:
    reports: list[tuple[int, int, str]] = []
    with writing(engine) as session:
        release = ten_anchors(session)
        export_release(
            session, release, tmp_path / "out", progress=lambda *report: reports.append(report)
        )
    assert reports[0][0] == 0
    assert reports[-1][:2] == (60, 60)


def test_the_zip_opens_as_the_folder_does(engine: Engine, tmp_path: Path) -> None:
    with writing(engine) as session:
        release = ten_anchors(session)
        folder = export_release(session, release, tmp_path / "doors.v1")
    packed = zip_export(folder)
    assert packed == tmp_path / "doors.v1.zip"
    with zipfile.ZipFile(packed) as archive:
        archive.extractall(tmp_path / "unpacked")
    assert contents(tmp_path / "unpacked") == contents(folder)
    assert opened(tmp_path / "unpacked", "triples", tmp_path / "cache")["train"]


def test_a_zip_in_the_way_is_left_alone(engine: Engine, tmp_path: Path) -> None:
    with writing(engine) as session:
        folder = export_release(session, ten_anchors(session), tmp_path / "out")
    zip_export(folder)
    zip_export(folder)  # our own is replaced
    (tmp_path / "out.zip").write_bytes(b"mine")
    with pytest.raises(HedgerowError, match="move it away"):
        zip_export(folder)
    assert (tmp_path / "out.zip").read_bytes() == b"mine"
    with pytest.raises(HedgerowError, match="Expected an export"):
        zip_export(tmp_path)


def test_a_run_exports_into_its_own_folder(engine: Engine, home: Path, tmp_path: Path) -> None:
    settings = Settings(home=home)
    with writing(engine) as session:
        ten_anchors(session)
        run = create_run(session, kind="export", parameters={"format": "hf"})
    result = execute(engine, settings, run.id, {"export": work})
    assert result["release"] == 1
    assert sum(result["rows"]["triples"].values()) == 20
    folder = settings.data_folder / result["folder"]
    assert folder.parent == settings.data_folder / run.folder
    assert opened(folder, "triples", tmp_path / "cache")["train"]
    with zipfile.ZipFile(settings.data_folder / result["zip"]) as archive:
        assert "README.md" in archive.namelist()


def test_a_run_exports_the_release_and_the_place_it_names(engine: Engine, home: Path) -> None:
    with writing(engine) as session:
        ten_anchors(session)
        add_plain_family(session, 11)
        create_release(session)
        parameters = {"release": 1, "format": "jsonl", "folder": "mine/out"}
        run = create_run(session, kind="export", parameters=parameters)
    result = execute(engine, Settings(home=home), run.id, {"export": work})
    assert result["folder"] == str(home / "mine" / "out")
    assert len((home / "mine" / "out" / "variants.jsonl").read_text().splitlines()) == 30


def test_a_release_can_be_exported_after_its_variants_are_gone(
    engine: Engine, tmp_path: Path
) -> None:
    with writing(engine) as session:
        release = ten_anchors(session)
        before = contents(export_release(session, release, tmp_path / "out"))
        shutil.rmtree(tmp_path / "out")
        for source in session.execute(select(Source).where(col(Source.name) != "")).scalars():
            source.note = source.licence = "changed"
        session.get_one(TypeVersion, ("verbal", TAXONOMY_VERSION)).definition = "changed"
    with reading(engine) as session:
        folder = export_release(session, get_release(session, 1), tmp_path / "out")
    assert contents(folder) == before
