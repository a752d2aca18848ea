"""The guides: the index lists all, each has an example or a picture, and versions agree."""

import json
import re
import tomllib
from pathlib import Path

import pytest
import yaml

from docs.site.sources import DOCS, ROOT, places

_LISTED = re.compile(r"^- \[[^\]]+\]\(([\w./-]+\.md)\)", re.MULTILINE)
_EXAMPLE = re.compile(r"^ *```\w*\n|^ *!\[[^\]]+\]\([^)]+\)$", re.MULTILINE)
LISTED = [
    (DOCS / path).resolve()
    for path in _LISTED.findall((DOCS / "index.md").read_text(encoding="utf-8"))
]


def test_the_index_lists_every_guide_once() -> None:
    assert sorted(LISTED) == sorted(set(places()) - {DOCS / "index.md"})


@pytest.mark.parametrize("path", sorted(DOCS.glob("*.md")), ids=lambda path: path.name)
def test_every_guide_has_a_picture_or_an_example(path: Path) -> None:
    assert _EXAMPLE.search(path.read_text(encoding="utf-8"))


def test_a_text_without_a_picture_or_a_code_block_is_noticed() -> None:
    assert not _EXAMPLE.search("# A guide\n\nSee `hedgerow status` and [there](there.md).\n")


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
