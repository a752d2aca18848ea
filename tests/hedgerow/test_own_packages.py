"""A user's folder or file with the name of one of our packages is reported and not used."""

import subprocess
import sys
from pathlib import Path

import pytest

from tests.support.checkout import ROOT

pytestmark = pytest.mark.slow


def python(folder: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    """Run Python in a folder, where it looks for modules first."""
    return subprocess.run(
        [sys.executable, *arguments],
        cwd=folder,
        capture_output=True,
        text=True,
        timeout=120,
        env={"PATH": "/usr/bin:/bin", "PYTHONPATH": f"{folder}:{ROOT}", "HOME": str(folder)},
        check=False,
    )


@pytest.mark.parametrize("name", ["training/__init__.py", "db.py", "curation/__init__.py"])
def test_opening_names_the_folder_that_shadows_our_package(tmp_path: Path, name: str) -> None:
    theirs = tmp_path / name
    theirs.parent.mkdir(exist_ok=True)
    theirs.write_text("mine = True\n")
    done = python(tmp_path, "-c", "import hedgerow; hedgerow.open('here')")
    place = theirs.parent if theirs.name == "__init__.py" else theirs
    package = name.partition("/")[0].removesuffix(".py")
    last = done.stderr.splitlines()[-1]
    assert f"Expected Hedgerow's package '{package}' in {ROOT}, found {place};" in last
    assert done.returncode == 1 and not (tmp_path / "here").exists()


def test_folders_that_hold_no_package_are_in_nobodys_way(tmp_path: Path) -> None:
    for name in ("training", "db", "pages", "curation", "cli"):
        (tmp_path / name).mkdir()
    done = python(tmp_path, "-c", "import hedgerow; print(len(hedgerow.open('here').anchors()))")
    assert (done.returncode, done.stdout) == (0, "0\n"), done.stderr


@pytest.mark.parametrize("name", ["cli", "pages"])
def test_the_command_names_it_too(tmp_path: Path, name: str) -> None:
    (tmp_path / name).mkdir()
    (tmp_path / name / "__init__.py").write_text("")
    done = python(tmp_path, "-m", "hedgerow", "status")
    assert done.returncode == 1 and done.stdout == ""
    assert done.stderr.splitlines() == [
        f"Expected Hedgerow's package '{name}' in {ROOT}, found {tmp_path / name}; rename it, "
        "or work in another folder."
    ]


def test_the_module_is_the_command(tmp_path: Path) -> None:
    done = python(tmp_path, "-m", "hedgerow", "--version")
    assert done.returncode == 0 and "hedgerow" in done.stdout.lower()
