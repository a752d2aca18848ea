"""The guide to Python is a notebook, and its blocks are executed in order."""

import json
import re
from pathlib import Path
from typing import Any

import pytest

import hedgerow
from tests.support.checkout import ROOT
from tests.support.checkpoints import checkpoint
from tests.support.publishing import hub as hub
from tests.support.servers.hub_server import OWNER, HubServer
from tests.training.benchmarks.support.samples import semantoneg_rows, write_lines

GUIDE = (ROOT / "docs" / "python.md").read_text(encoding="utf-8")


def blocks(language: str) -> list[str]:
    """The fenced blocks of a language, in order."""
    return re.findall(f"^```{language}\n(.*?)^```", GUIDE, re.DOTALL | re.MULTILINE)


@pytest.mark.slow
def test_the_walk_ends_in_a_score_and_on_the_hub(
    tmp_path: Path, small_llama: Path, monkeypatch: pytest.MonkeyPatch, hub: HubServer
) -> None:
    """A few steps of tiny models replace the training runs, and the owner is one that the test hub
    knows. Everything else is executed as printed."""
    monkeypatch.chdir(tmp_path)
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
    assert names["release"].name == "claims and starter"
    assert {"train", "test"} <= set(names["data"])
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
