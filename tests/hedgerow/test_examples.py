"""Examples, the guide, and new processes: what they load, and users' modules with our names."""

import doctest
import importlib
import inspect
import json
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

import hedgerow
from curation.corpora.corpus import Corpus
from curation.diagnostics import measuring
from hedgerow.anchors import Anchors
from hedgerow.studies import Tradeoff
from hedgerow.variants import Variants
from tests.hedgerow.conftest import Example
from tests.support.checkout import ROOT
from tests.support.checkpoints import checkpoint
from tests.support.publishing import hub as hub
from tests.support.servers.hub_server import OWNER, HubServer
from tests.training.benchmarks.support.samples import semantoneg_rows, write_lines

MODULES = (
    "anchors releases variants generating judging modelling project reviewing upkeep"
).split()

IN_DOCS = set("train finetune_language_model study tradeoff save push benchmark".split())
"""These take a while or need a server. Their examples are in docs/python.md, which has its own
test."""


@pytest.mark.slow
@pytest.mark.parametrize("name", MODULES)
def test_examples(
    name: str, example_project: Example, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(measuring, "start_process", lambda *_: None)
    module = importlib.import_module(f"hedgerow.{name}")
    found = doctest.DocTestFinder(exclude_empty=True).find(
        module, extraglobs={"hedgerow": hedgerow, "example_project": example_project}
    )
    examples = [test for test in found if test.examples]
    assert examples
    for test in examples:
        runner = doctest.DocTestRunner(optionflags=doctest.NORMALIZE_WHITESPACE)
        output: list[str] = []
        runner.run(test, out=output.append)
        assert not runner.failures, "".join(output)


def test_each_public_method_has_an_example() -> None:
    public = [
        (name, method)
        for kind in (hedgerow.Project, hedgerow.Release, Anchors, Variants, Tradeoff)
        for name, method in inspect.getmembers(kind, inspect.isfunction)
        if not name.startswith("_")
    ]
    without = {name for name, method in public if ">>>" not in (method.__doc__ or "")}
    assert without == IN_DOCS


GUIDE = (ROOT / "docs" / "python.md").read_text(encoding="utf-8")


def blocks(language: str) -> list[str]:
    """The fenced blocks of a language, in order."""
    return re.findall(f"^```{language}\n(.*?)^```", GUIDE, re.DOTALL | re.MULTILINE)


@pytest.mark.slow
def test_the_walk_ends_in_a_score_and_on_the_hub(
    tmp_path: Path, small_llama: Path, monkeypatch: pytest.MonkeyPatch, hub: HubServer
) -> None:
    """A few steps of tiny models replace the training runs, a part of each corpus the whole, and
    the owner is one that the test hub knows. Everything else is executed as printed."""
    monkeypatch.chdir(tmp_path)
    read = Corpus.families
    monkeypatch.setattr(Corpus, "families", lambda one: read(one)[:100])
    tiny = checkpoint("BertForMaskedLM", tmp_path / "tiny")
    (table,) = blocks("text")
    Path("claims.csv").write_text(table, encoding="utf-8")
    write_lines(tmp_path / "semantoneg.jsonl", semantoneg_rows())
    names: dict[str, Any] = {}
    for block in blocks("python"):
        short = block.replace(
            'preset="quick"', f'preset="quick", max_steps=2, base_encoder={str(tiny)!r}'
        ).replace('base="my_llama"', f"base={str(small_llama)!r}, max_pairs=8")
        short = short.replace('"me/', f'"{OWNER}/')
        exec(compile(short, "docs/python.md", "exec"), names)  # noqa: S102  (our own guide)
    project: hedgerow.Project = names["project"]
    assert names["done"].count == 3
    own = project.variants(source="My claims")
    assert (own["status"] == "accepted").sum() > 5 and own["cosine"].notna().all()
    assert names["release"].name == "claims and starter" and {"train", "test"} <= set(names["data"])
    assert json.loads(Path("exported/hedgerow.json").read_text())["release"] == 1
    assert set(names["model"].figures) == {"before", "after"}
    llama: hedgerow.LanguageModel = names["llama"]
    assert (llama.folder / "adapter_model.safetensors").is_file() and llama.merged is None
    assert llama.figures.loc["right"].between(0, 1).all()
    assert names["after"].model.startswith("run ") and names["after"].n == names["before"].n > 0
    assert len(names["after"].items()) == names["after"].n
    assert names["study"].trainings["state"].tolist() == ["done"] * 3
    assert len(names["study"].scores) == 4
    assert set(hub.repos) == {("model", f"{OWNER}/gentle-encoder"), ("dataset", f"{OWNER}/claims")}


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
@pytest.mark.slow
def test_opening_names_the_folder_that_shadows_our_package(tmp_path: Path, name: str) -> None:
    theirs = tmp_path / name
    theirs.parent.mkdir(exist_ok=True)
    theirs.write_text("mine = True\n")
    done = python(tmp_path, "-c", "import hedgerow; hedgerow.open('here')")
    place = theirs.parent if theirs.name == "__init__.py" else theirs
    package = name.partition("/")[0].removesuffix(".py")
    last = done.stderr.splitlines()[-1]
    assert all(word in last for word in (f"'{package}'", str(ROOT), str(place)))
    assert done.returncode == 1 and not (tmp_path / "here").exists()


@pytest.mark.slow
def test_folders_that_hold_no_package_are_in_nobodys_way(tmp_path: Path) -> None:
    for name in ("training", "db", "pages", "curation", "cli"):
        (tmp_path / name).mkdir()
    done = python(tmp_path, "-c", "import hedgerow; print(len(hedgerow.open('here').anchors()))")
    assert (done.returncode, done.stdout) == (0, "0\n"), done.stderr


@pytest.mark.slow
def test_the_command_names_it_too(tmp_path: Path) -> None:
    name = "cli"
    (tmp_path / name).mkdir()
    (tmp_path / name / "__init__.py").write_text("")
    done = python(tmp_path, "-m", "hedgerow", "status")
    assert done.returncode == 1 and done.stdout == ""
    (line,) = done.stderr.splitlines()
    assert f"'{name}'" in line and str(tmp_path / name) in line


@pytest.mark.slow
def test_the_module_is_the_command(tmp_path: Path) -> None:
    done = python(tmp_path, "-m", "hedgerow", "--version")
    assert done.returncode == 0 and "hedgerow" in done.stdout.lower()


NOT_LOADED = (
    "app cli curation db pages alembic altair openai pydantic_settings sqlalchemy "
    "sqlmodel streamlit typer"
).split()


def loaded(folder: Path, code: str) -> set[str]:
    """The names of the modules that a new Python process has loaded after this code."""
    done = python(folder, "-c", f"{code}\nimport json, sys\nprint(json.dumps(sorted(sys.modules)))")
    return set(json.loads(done.stdout.splitlines()[-1]))


@pytest.mark.slow
def test_the_losses_load_nothing_else_of_ours_and_torch_with_the_first_name_that_needs_it(
    tmp_path: Path,
) -> None:
    found = loaded(tmp_path, "import hedgerow.losses, training.losses.contrastive")
    assert found.isdisjoint({*NOT_LOADED, "torch", "sentence_transformers"})
    found = loaded(
        tmp_path, "from hedgerow.losses import FamilyBatchSampler, FamilyCollator, FamilyLoss"
    )
    assert found.isdisjoint(NOT_LOADED) and "torch" in found
    ours = {name for name in found if name.partition(".")[0] in ("hedgerow", "training")}
    assert {name for name in ours if not name.startswith("training.losses")} == {
        *("hedgerow", "hedgerow.losses", "training")
    }
