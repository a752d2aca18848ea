"""The guides: the index lists all, each has an example or a picture, and versions agree."""

import json
import re
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest
import yaml
from PIL import Image

from docs.make_images import COLOURS
from docs.site.sources import DOCS, ROOT, places

_LISTED = re.compile(r"^- \[[^\]]+\]\(([\w./-]+\.md)\)", re.MULTILINE)
_EXAMPLE = re.compile(r"^ *```\w*\n|^ *!\[[^\]]+\]\([^)]+\)$", re.MULTILINE)
LISTED = [
    (DOCS / path).resolve()
    for path in _LISTED.findall((DOCS / "index.md").read_text(encoding="utf-8"))
]


def test_the_index_lists_every_guide_once() -> None:
    assert sorted(LISTED) == sorted(set(places()) - {DOCS / "index.md"})


def test_every_guide_has_a_picture_or_an_example() -> None:
    assert not _EXAMPLE.search("# A guide\n\nSee `hedgerow status` and [there](there.md).\n")
    guides = DOCS.glob("*.md")
    assert [path for path in guides if not _EXAMPLE.search(path.read_text("utf-8"))] == []


@pytest.mark.soak("pictures")
def test_the_pictures_can_be_taken_again(tmp_path: Path) -> None:
    command = [sys.executable, "docs/make_images.py", "--to", str(tmp_path)]
    options = ["--train-option", "max_steps=2", "--train-option", "max_triples=64"]
    subprocess.run([*command, *options], cwd=ROOT, check=True)
    for stored in (DOCS / "images").glob("*.png"):
        with Image.open(stored) as before, Image.open(tmp_path / stored.name) as taken:
            assert taken.size == before.size
            assert len(taken.getcolors(COLOURS) or ()) > 20  # an empty page has fewer


def test_the_version_is_the_same_wherever_it_is_stated() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    version = project["version"]
    citation = yaml.safe_load((ROOT / "CITATION.cff").read_text(encoding="utf-8"))
    assert citation["version"] == version
    changes = (ROOT / "CHANGELOG.md").read_text(encoding="utf-8")
    latest, date = re.findall(r"^## \[(\d\S*)\] - (\S+)$", changes, re.MULTILINE)[0]
    assert (latest, date) == (version, str(citation["date-released"]))
    guide = (DOCS / "http.md").read_text(encoding="utf-8")
    (answer,) = re.findall(r"^```json\n(.*?)^```", guide, re.DOTALL | re.MULTILINE)
    assert json.loads(answer)["version"] == version
