"""Language models on the command line: finetune, show, compare by arm."""

from __future__ import annotations

from pathlib import Path

import pytest

from curation.project.opening import open_project
from curation.release.freezing import create_release
from db.engine import writing
from db.models import Split
from db.settings import load_settings
from tests.cli.support.commands import ask, complaint, show
from tests.curation.support.families import add_plain_family

QUICK = ("--set", "epochs=1", "--set", "gradient_checkpointing=false")


@pytest.fixture(autouse=True)
def _project(home: Path) -> None:
    engine = open_project(load_settings())
    with writing(engine) as session:
        for number in range(6):
            add_plain_family(session, number, split=Split.TRAIN)
        add_plain_family(session, 6, split=Split.VALIDATION)
        create_release(session)
    engine.dispose()


def test_a_finetuning_says_where_the_model_is_and_can_be_shown_again(
    small_llama: Path, home: Path
) -> None:
    base = ("--base", str(small_llama))
    promised = ask("llm", "train", *base, *QUICK, "--dry-run")
    assert promised["pairs"] == {"train": 24, "validation": 4} and promised["steps"] == 3
    trained = ask("llm", "train", *base, *QUICK, "--arm", "both", "--merge", "--seed", "3")
    assert (trained["run"], trained["state"], trained["steps"]) == (1, "done", 3)
    assert (Path(trained["model"]) / "adapter_model.safetensors").is_file()
    assert (Path(trained["merged"]) / "model.safetensors").is_file()
    shown = ask("llm", "show", "1")
    assert shown["looks"] == trained["looks"] and len(shown["looks"]) == 2
    assert shown["recipe"]["arm"] == "both" and shown["model"] == trained["model"]
    output = show("llm", "show", "1")
    assert "Finetuned " in output and "validation questions answered correctly" in output
    assert "Finetune a language model" in show("runs", "list")


def test_a_stored_run_waits_and_is_carried_out_by_its_number(small_llama: Path) -> None:
    recipe = Path("recipe.yaml")
    recipe.write_text("epochs: 1\nmax_pairs: 8\n")
    queued = ask("llm", "train", "--base", str(small_llama), "--recipe", str(recipe), "--queue")
    assert (queued["run"], queued["state"], queued["steps"]) == (1, "queued", 1)
    assert "queued; nothing was measured yet" in show("llm", "show", "1")
    assert ask("run", "1")["pairs"]["train"] == 8


def test_a_model_that_cannot_be_finetuned_gives_one_sentence(
    small_llama: Path, tiny_encoder: Path, home: Path
) -> None:
    base = ("--base", str(small_llama))
    assert "Expected a causal language model" in complaint(
        "llm", "train", "--base", str(tiny_encoder)
    )
    assert "There is no release 7" in complaint("llm", "train", *base, "--release", "7")
    assert "no key 'ranks'" in complaint("llm", "train", *base, "--set", "ranks=4")
    assert "arm should be" in complaint("llm", "train", *base, "--set", "arm=all")
    assert "There is not enough data to compare" in complaint("llm", "study", *base)
    ask("llm", "train", *base, *QUICK, "--queue")
    assert "run 9" in complaint("llm", "show", "9")
