"""Where exports go: what they replace and keep. Nothing incomplete is left behind."""

import json
import shutil
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest
from sqlalchemy import Engine, select
from sqlmodel import col

from curation.partial_files import new_partial
from curation.release.export.export_run import work
from curation.release.export.release_folder import MANIFEST, export_release
from curation.release.export.zip_file import zip_export
from curation.release.freezing import create_release, get_release
from curation.taxonomy.built_in import TAXONOMY_VERSION
from db.engine import reading, writing
from db.errors import HedgerowError, RunCancelled
from db.execution import execute
from db.models import Source, TypeVersion
from db.runs import create_run
from db.settings import Settings
from tests.curation.support.exported import contents, opened, ten_anchors
from tests.curation.support.families import add_plain_family
from tests.support.checkout import ROOT


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
def test_a_folder_that_is_not_an_export_is_left_alone(
    engine: Engine, tmp_path: Path, kind: str
) -> None:
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
