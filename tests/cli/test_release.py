"""Releases on the command line: create, list, export."""

from pathlib import Path

import pytest

from tests.cli.support.commands import ask, complaint, show


@pytest.mark.slow
def test_a_release_is_made_once_listed_and_exported(loaded_home: Path, tmp_path: Path) -> None:
    first = ask("release", "create", "--name", "[red]first[/red]")
    again = ask("release", "create")
    assert (first["release"], first["created"]) == (1, True)
    assert (again["release"], again["created"]) == (1, False)
    assert "It is still called '[red]first[/red]'." in show("release", "create", "--name", "second")
    assert "[red]first[/red]" in show("release", "list")
    assert [row["hash"] for row in ask("release", "list")["releases"]] == [first["hash"]]
    place = tmp_path / "export"
    answer = ask("export", str(place), "--format", "pairs", "--zip")
    assert answer == {
        "release": 1,
        "format": "pairs",
        "folder": str(place),
        "zip": f"{place}.zip",
    }
    assert {"README.md", "hedgerow.json", "pairs.csv"} == {p.name for p in place.iterdir()}
    assert Path(answer["zip"]).stat().st_size > 0
    Path(answer["zip"]).write_text("mine")
    before = (place / "hedgerow.json").read_bytes()
    assert "is not the zip file of an export" in complaint("export", str(place), "--zip")
    assert (place / "hedgerow.json").read_bytes() == before


def test_without_a_release_nothing_is_exported(tmp_path: Path) -> None:
    ask("init", "--empty")
    assert "release create" in complaint("export", str(tmp_path / "export"))
    assert "accepted" in complaint("release", "create")
    assert show("release", "list") == "There is no release yet.\n"
    assert not (tmp_path / "export").exists()


@pytest.mark.slow
def test_a_report_is_printed_or_written_to_a_file(loaded_home: Path, tmp_path: Path) -> None:
    hash = ask("release", "create", "--name", "first")["hash"]
    printed = show("release", "report")
    assert f"% Release 1, SHA-256 {hash}" in printed
    assert r"\begin{tabular}{lrrr}" in printed and r"\end{table*}" in printed
    file = tmp_path / "data.md"
    place = ("--format", "markdown", "--output", str(file))
    assert show("release", "report", *place) == f"The report on release 1 is in {file}.\n"
    assert file.read_text("utf-8").startswith("# Data: release 1\n")
    answer = ask("release", "report", "--release", "1")
    assert (answer["release"], answer["hash"], answer["file"]) == (1, hash, None)
    assert "There is no release 2" in complaint("release", "report", "--release", "2")
