"""Evaluating a language model that was finetuned here: its adapter, and the merged model."""

from __future__ import annotations

from pathlib import Path

import pytest

from curation.project.opening import open_project
from curation.release.freezing import create_release
from db.engine import reading, writing
from db.models import Split
from db.settings import load_settings
from tests.cli.support.commands import ask
from tests.curation.support.families import add_plain_family
from tests.training.benchmarks.support.samples import NEVIR, SENTENCES, write_lines, write_table
from training.llm.finetuned_folders import finetuned_folders


@pytest.mark.slow
def test_an_adapter_and_its_merged_model_come_to_the_same(small_llama: Path, home: Path) -> None:
    engine = open_project(load_settings())
    with writing(engine) as session:
        for number in range(4):
            add_plain_family(session, number, split=Split.TRAIN)
        create_release(session)
    settings = ("epochs=2", "learning_rate=0.05", "gradient_checkpointing=false")
    changes = [part for value in settings for part in ("--set", value)]
    trained = ask("llm", "train", "--base", str(small_llama), *changes, "--merge")
    pairs = [(a, b, 1) for a, b, _, _ in SENTENCES] + [(a, d, 0) for a, _, _, d in SENTENCES]
    data = {
        "nevir": write_lines(home / "nevir.jsonl", NEVIR),
        "cannot": write_table(home / "cannot.tsv", "premise\thypothesis\tlabel", pairs),
    }
    hashes = set()
    for name, file in data.items():
        found = [
            ask("llm", "evaluate", name, "--model", str(model), "--data", str(file))
            for model in (trained["model"], trained["merged"], small_llama)
        ]
        assert [one["architecture"] for one in found] == ["causal-lm"] * 3
        hashes |= {one["model_hash"] for one in found}
        adapter, merged, base = ([one["score"], one["asked"], one["figures"]] for one in found)
        assert adapter[:2] == merged[:2]
        if name == "cannot":  # the mean similarity of each label
            assert adapter[2] == pytest.approx(merged[2], abs=1e-4)
            assert adapter[2] != pytest.approx(base[2], abs=1e-3), "the adapter changes something"
    assert len(hashes) == 3
    with reading(engine) as session:
        offered = finetuned_folders(session, load_settings().data_folder)
    assert offered == [found[0]["model"]], "the page offers it by the name of its results"
