"""Export formats from other packages: their input, and their files."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest
from sqlalchemy import Engine

from curation.release.export.export_formats import export_format, format_names
from curation.release.export.release_folder import MANIFEST, export_release
from curation.release.freezing import get_release
from db.engine import reading, writing
from db.errors import HedgerowError, RunCancelled
from tests.curation.support.exported import ten_anchors
from tests.support.plug_in_packages import install

CODE = """
from hedgerow.plug_ins import ExportFormat


class Mine(ExportFormat):
    purpose = "Counts *rows*."

    def write(self, release, folder):
        BODY
"""

Plug = Callable[[str], None]


@pytest.fixture
def plug(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Plug:
    """Installs a format 'mine' whose method has this body."""

    def made(body: str) -> None:
        code = CODE.replace("BODY", body.replace("\n", "\n        "))
        install(monkeypatch, tmp_path / "mine", "hedgerow.exports", code, mine="Mine")

    return made


@pytest.fixture
def released(engine: Engine) -> Engine:
    with writing(engine) as session:
        ten_anchors(session)
    return engine


def test_it_reads_rows_and_columns_and_its_files_are_in_the_manifest(
    plug: Plug, released: Engine, tmp_path: Path
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
    heard: list[tuple[int, int, str]] = []
    with reading(released) as session:
        place = export_release(
            session,
            get_release(session, None),
            tmp_path / "out",
            format="mine",
            progress=lambda *report: heard.append(report),
        )
    manifest = json.loads((place / MANIFEST).read_text())
    number, count = map(int, (place / "sub" / "count.txt").read_text().split())
    assert (manifest["format"], manifest["release"]) == ("mine", number)
    assert set(manifest["files"]) == {"README.md", "sub/count.txt"}
    assert sum(manifest["rows"]["pairs"].values()) == count > 0
    card = (place / "README.md").read_text()
    assert "The format is mine. Counts \\*rows\\*." in card and "Columns of pairs" in card
    assert heard[-1][2] == "Finishing." and all(done <= total for done, total, _ in heard)


def test_one_that_fails_leaves_nothing_behind(plug: Plug, released: Engine, tmp_path: Path) -> None:
    plug("(folder / 'half.txt').write_text('half')\nraise KeyError('text')")
    out = tmp_path / "exports" / "out"
    with (
        reading(released) as session,
        pytest.raises(HedgerowError, match="The plug-in 'mine' failed .KeyError: 'text'"),
    ):
        export_release(session, get_release(session, None), out, format="mine")
    assert list(out.parent.iterdir()) == []


def test_it_can_be_cancelled(plug: Plug, released: Engine, tmp_path: Path) -> None:
    plug("list(release.rows('variants'))")

    def stop(*report: object) -> None:
        raise RunCancelled

    with reading(released) as session:
        release = get_release(session, None)
        with pytest.raises(RunCancelled):
            export_release(session, release, tmp_path / "out", format="mine", progress=stop)


def test_a_format_of_ours_is_never_replaced(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    code = CODE.replace("BODY", "pass")
    install(monkeypatch, tmp_path / "mine", "hedgerow.exports", code, hf="Mine", other="Mine")
    assert format_names() == ("hf", "jsonl", "pairs", "messages", "completion", "openai", "other")
    assert export_format("hf").label == "Hugging Face data set"
    with pytest.raises(HedgerowError, match="hf, jsonl, pairs, .*other.*found 'xml'"):
        export_format("xml")
