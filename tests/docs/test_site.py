"""The site builds without warnings and has all of its sources; the index lists all guides, each has
an example or a picture, and versions agree."""

import ast
import json
import re
import shutil
import subprocess
import sys
import tomllib
from collections.abc import Callable
from pathlib import Path

import pytest
import yaml
from PIL import Image
from typer.main import get_command

import cli
from curation.taxonomy.built_in import TAXONOMY
from curation.taxonomy.guideline import ExampleKind, parse_guideline
from db.settings import Settings, variable
from docs.make_images import COLOURS
from docs.site.building import build, sphinx
from docs.site.command_page import command_page
from docs.site.guideline_page import guideline_page
from docs.site.settings_page import env_example, settings_page
from docs.site.sources import DOCS, contents, places, with_links_of_site
from docs.site.stored_pages import STORED_PAGES
from tests.support.checkout import ROOT


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The built site's folder. A warning stops the build, and is in the test's output."""
    return build(tmp_path_factory.mktemp("site")).parent


@pytest.mark.soak("pictures")
def test_every_page_is_in_the_site_and_can_be_reached_from_the_first(site: Path) -> None:
    made = {"commands.html", "settings.html", "python_reference.html"}
    pages = {str(Path(page).with_suffix(".html")) for page in places().values()} | made
    assert [page for page in pages if not (site / page).exists()] == []
    first = (site / "index.html").read_text(encoding="utf-8")
    linked = set(re.findall(r'class="reference internal" href="([\w/]+\.html)"', first))
    assert pages - linked == {"index.html"}


@pytest.mark.soak("pictures")
def test_the_reference_has_the_methods_of_a_project(site: Path) -> None:
    page = (site / "python_reference.html").read_text(encoding="utf-8")
    for name in ("open", "Project.generate", "Project.train", "Release.to_datasets"):
        assert f'id="hedgerow.{name}"' in page
    assert 'id="hedgerow.losses.FamilyLoss"' in page


BROKEN = """# A

[there](nowhere.md) [there](#no-such-heading)

![](images/none.png)

```nonsense
x
```
"""


@pytest.mark.soak("pictures")
def test_a_broken_link_ends_the_build_and_is_named(tmp_path: Path) -> None:
    source = tmp_path / "source"
    source.mkdir()
    (source / "index.md").write_text(BROKEN, encoding="utf-8")
    done = sphinx(source, tmp_path / "html", tmp_path / "doctrees")
    assert done.returncode != 0
    for problem in ("nowhere.md", "no-such-heading", "none.png", "nonsense"):
        assert problem in done.stderr


PARSERS: dict[str, Callable[[str], object]] = {
    "json": json.loads,
    "python": ast.parse,
    "toml": tomllib.loads,
    "yaml": yaml.safe_load,
}
_FENCE = re.compile(r"^( *)```(\w*)\n(.*?)^ *```$", re.DOTALL | re.MULTILINE)


@pytest.mark.parametrize("path", places(), ids=lambda path: str(path.relative_to(ROOT)))
def test_code_blocks_are_in_the_language_that_they_name(path: Path) -> None:
    for indent, language, code in _FENCE.findall(path.read_text(encoding="utf-8")):
        if parse := PARSERS.get(language):
            parse(re.sub(f"^{indent}", "", code, flags=re.MULTILINE))
        elif language in ("", "bash", "sh"):
            done = subprocess.run(["bash", "-n"], input=code, capture_output=True, text=True)
            assert done.stderr == ""
        else:
            assert language in ("text", "bibtex", "nginx", "caddyfile")  # only highlighted


@pytest.mark.parametrize("path", STORED_PAGES, ids=lambda path: path.name)
def test_a_stored_page_is_what_the_code_makes(path: Path) -> None:
    assert path.read_text(encoding="utf-8") == STORED_PAGES[path](), "run `make docs`"


def test_the_guideline_has_every_type_with_all_its_rules_and_examples() -> None:
    page = guideline_page()
    for entry in TAXONOMY:
        start = page.index(f"\n## {entry.label}\n")
        section = page[start : page.find("\n## ", start + 1)]
        guideline = parse_guideline(entry.guideline)
        assert section.count("\n- **") == len(guideline.rules)
        assert section.count("\n  → *") == len(guideline.examples)
        for kind in ExampleKind:
            assert f"**{kind.value.capitalize()}**\n" in section


def test_every_command_is_on_its_page_with_its_options() -> None:
    page = command_page()
    headings = re.findall(r"^#+ (hedgerow.*)$", page, re.MULTILINE)
    assert headings == list(names(get_command(cli.app), "hedgerow"))
    section = page[page.index("## hedgerow train\n") :]
    assert "--preset" in section[: section.index("\n## ", 1)]


def names(command: object, name: str) -> list[str]:
    """The names of a group and its commands, in the order of the help."""
    commands = getattr(command, "list_commands", lambda context: ())(None)
    found = [name]
    for its_name in commands:
        found += names(command.get_command(None, its_name), f"{name} {its_name}")  # type: ignore[attr-defined]
    return found


def test_every_setting_is_in_the_example_and_on_the_page_and_no_other() -> None:
    expected = [variable(name) for name in Settings.model_fields]
    assert re.findall(r"^#?(\w+)=", env_example(), re.MULTILINE) == expected
    assert re.findall(r"^\| `(\w+)` \|", settings_page(), re.MULTILINE) == expected
    assert all(field.title and field.description for field in Settings.model_fields.values())


def test_the_example_of_settings_can_be_read_unchanged(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    shutil.copy(ROOT / ".env.example", tmp_path / ".env")
    for name in Settings.model_fields:
        monkeypatch.delenv(variable(name), raising=False)
    monkeypatch.chdir(tmp_path)
    assert Settings() == Settings(_env_file=None)
    (tmp_path / ".env").write_text(env_example().replace("#HEDGEROW_", "HEDGEROW_"))
    assert Settings() == Settings(_env_file=None)


def test_links_lead_to_the_same_page_in_the_site() -> None:
    known = places()
    text = "[a](../CONTRIBUTING.md#set-up) [b](team.md) ![c](images/x.png) [d](https://e.example)"
    assert with_links_of_site(text, ROOT / "docs" / "index.md", known) == (
        "[a](contributing.md#set-up) [b](team.md) ![c](images/x.png) [d](https://e.example)"
    )
    text = "[e](docs/team.md) [f](docs/examples/finetune_own_encoder.py) [g](cli/serve.py)"
    assert with_links_of_site(text, ROOT / "CHANGELOG.md", known) == (
        "[e](team.md) [f](examples/finetune_own_encoder.py) [g](cli/serve.py)"
    )
    starter = ROOT / "curation" / "corpora" / "starter" / "README.md"
    assert with_links_of_site("[h](../claims/README.md)", starter, known) == "[h](claims.md)"
    assert with_links_of_site("[i](../../../docs/team.md)", starter, known) == "[i](../team.md)"


def test_the_sections_of_the_first_page_become_the_contents() -> None:
    index = "# A\n[x](x.md)\n## One\n- [y](y.md): y\n- [z](c/z.rst)\n## None\n## Two\n- [w](w.md)\n"
    trees = contents(index).split("```{toctree}\n")[1:]
    assert [tree.split() for tree in trees] == [
        [":hidden:", ":caption:", "One", "y", "c/z", "```"],
        [":hidden:", ":caption:", "Two", "w", "```"],
    ]


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
    options = ["--train-option", "max_steps=2", "--train-option", "max_triples=128"]
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
