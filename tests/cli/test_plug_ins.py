"""The package from docs/plug_ins.md on the command line: offered, listed and used."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest
from sqlalchemy import select

from curation.generation.providers.provider_run import seed_of
from curation.overview.project_settings import open_project
from db.engine import reading, writing
from db.models import Encoder, Source, Variant, VariantCosine
from db.settings import load_settings
from tests.cli.commands import add_small_project, ask, complaint, show
from tests.support.databases import stored_run
from tests.support.factories import add_anchor
from tests.support.plug_in_packages import install, install_example
from tests.training.benchmarks.support.samples import write_lines

NAMES = ["denials", "tsv", "letters", "opposites", "words-in-common"]
ITEMS = [
    {
        "sentence": "The soup is hot.",
        "paraphrase": "The soup is not cold.",
        "opposite": "It rains.",
    },
    {"sentence": "The road is wide.", "paraphrase": "Zzz.", "opposite": "The road is narrow."},
]


@pytest.fixture
def example(opened_home: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A project with two anchors, and the installed package. Returns a folder for the test."""
    monkeypatch.setattr("curation.diagnostics.measuring.work", lambda context: {})
    with writing(open_project(load_settings())) as session:
        session.add(Source(id=1, name="test"))
        session.flush()
        for number in range(2):
            add_anchor(session, f"The bridge number {number} is safe.")
    install_example(monkeypatch, tmp_path / "site")
    return tmp_path


def test_all_are_listed_and_a_broken_one_says_what_is_wrong(
    example: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    install(monkeypatch, example / "broken", "hedgerow.exports", "import nothing_such", bad="Bad")
    install(monkeypatch, example / "rival", "hedgerow.exports", "", hf="Hf", tsv="Tsv")
    found = {(one["name"], one["package"]): one for one in ask("plugins")["plug_ins"]}
    for name in NAMES:
        one = found[name, "hedgerow-example"]
        assert (one["version"], one["problem"]) == ("1.0", "") or name == "tsv"
    assert "cannot be loaded (ModuleNotFoundError" in found["bad", "broken"]["problem"]
    assert "is Hedgerow's own" in found["hf", "rival"]["problem"]
    twice = [one["problem"] for (name, _), one in found.items() if name == "tsv"]
    assert sum("Another package has" in problem for problem in twice) == 1
    shown = show("plugins")
    assert "hedgerow-example" in shown and "No module named 'nothing_such'" in shown


def test_without_plug_ins_the_list_says_where_to_read_on(opened_home: Path) -> None:
    assert ask("plugins") == {"plug_ins": []}
    assert "docs/plug_ins.md" in show("plugins")


def test_the_help_names_them_and_imports_none(
    example: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    groups = ("providers", "exports", "encoders", "benchmarks", "scorers")
    for group in groups:
        place = example / f"loud_{group}"
        install(monkeypatch, place, f"hedgerow.{group}", "raise SystemExit(9)", **{group: "Loud"})
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join(sys.path))
    for command, names in {
        "generate": ["denials", "providers"],
        "export": ["tsv", "exports"],
        "diagnose": ["letters", "encoders"],
        "benchmark": ["opposites", "words-in-common", "benchmarks", "scorers"],
    }.items():
        ended = subprocess.run(
            [sys.executable, "-m", "cli", command, "--help"], capture_output=True, text=True
        )
        assert ended.returncode == 0
        shown = " ".join(ended.stdout.split()).replace("- ", "-")  # lines are wrapped after hyphens
        assert all(name in shown for name in names), command


def test_a_provider_writes_variants_that_name_its_package(example: Path) -> None:
    asked = ["generate", "--provider", "denials", "--types", "free_contradiction"]
    asked += ["--roles", "negation"]
    forecast = ask(*asked, "--dry-run")
    assert (forecast["variants"], forecast["cost"]) == ({"free_contradiction": 2}, 0.0)
    answer = ask(*asked, "--seed", "7")
    assert (answer["done"], answer["complete"]) == (2, True)
    engine = open_project(load_settings())
    run = stored_run(engine, answer["run"])
    assert run.parameters["provider"] == "denials"
    assert run.versions["hedgerow-example"] == "1.0"
    with reading(engine) as session:
        rows = list(session.execute(select(Variant)).scalars())
    assert {(row.provider, row.model) for row in rows} == {("denials", "hedgerow-example 1.0")}
    assert {row.status for row in rows} == {"pending"}
    assert all(" the bridge number " in row.text for row in rows)
    assert "does not write verbal" in complaint(
        "generate", "--provider", "denials", "--types", "verbal", "--roles", "negation"
    )
    assert seed_of(7, "a") == seed_of(7, "a") != seed_of(8, "a")


def test_a_release_is_written_in_a_format_of_theirs(example: Path) -> None:
    ask("corpora", "add", "exclusions")
    ask("release", "create")
    folder = example / "out"
    assert ask("export", str(folder), "--format", "tsv")["format"] == "tsv"
    lines = (folder / "variants.tsv").read_text(encoding="utf-8").splitlines()
    assert len(lines) > 100 and all(line.count("\t") == 3 for line in lines)
    card = (folder / "README.md").read_text(encoding="utf-8")
    assert "The format is Tab\\-separated" in card or "The format is Tab-separated" in card
    assert "configs:" not in card
    assert ask("export", str(folder), "--format", "tsv"), "it replaces an earlier export"


def test_an_encoder_is_compared_and_measured_by_its_name(example: Path) -> None:
    pairs = ask("similarity", "--model", "letters:aeiou", "--before", "letters")["similarities"]
    assert all(0 < pair["cosine"] <= 1 for pair in pairs)
    items = write_lines(example / "items.jsonl", ITEMS)
    answer = ask("benchmark", "opposites", "--data", str(items), "--model", "letters")
    assert (answer["architecture"], answer["n"]) == ("bi-encoder", 2)
    other = ask("benchmark", "opposites", "--model", "letters:xyz")
    assert other["model_hash"] != answer["model_hash"]
    ask("corpora", "add", "exclusions")
    assert "which a plug-in loads" in complaint("train", "--set", "base_encoder=letters")


def test_a_benchmark_is_measured_with_a_scorer_and_listed(example: Path) -> None:
    items = write_lines(example / "items.jsonl", ITEMS)
    kind = ["--architecture", "words-in-common"]
    answer = ask("benchmark", "opposites", "--data", str(items), *kind)
    assert (answer["score"], answer["metric"], answer["n"]) == (50.0, "accuracy", 2)
    assert "words-in-common" in show("benchmarks", "--benchmark", "opposites")
    ask("benchmark", "opposites", "--architecture", "random")
    errors = ask("benchmarks", "errors", "opposites")
    assert errors["items"] == 2
    items.write_text('{"sentence": "A."}\n')
    assert "Expected 'paraphrase' on line 1" in complaint(
        "benchmark", "opposites", "--data", str(items), *kind
    )


def test_variants_are_measured_under_an_encoder_of_theirs(
    opened_home: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    add_small_project()
    install_example(monkeypatch, tmp_path / "site")
    ask("diagnose", "--encoder", "letters:nt")
    engine = open_project(load_settings())
    with reading(engine) as session:
        cosines = list(session.execute(select(VariantCosine)).scalars())
        encoder = session.execute(select(Encoder)).scalar_one()
    assert (encoder.name, len(cosines)) == ("letters:nt", 2)
    assert ask("diagnose", "--encoder", "letters:nt")["state"] == "done", "nothing is left to do"
