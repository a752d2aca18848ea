"""Question pairs on the command line."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

import hedgerow
from curation.generation.providers import waiting
from curation.overview.project_settings import open_project
from db.engine import reading, writing
from db.models import Split
from db.settings import load_settings
from tests.cli.commands import ask, complaint, ended, process, show
from tests.curation.support.families import add_family, add_plain_family
from tests.support.factories import freeze
from tests.support.generating import Serve
from tests.support.generating import serve_chat as serve_chat
from tests.support.harness_tasks import save_own_tasks
from tests.training.benchmarks.support.samples import NEVIR, SENTENCES, write_lines, write_table
from training.models.finetuned import finetuned_folders


@pytest.fixture
def released(opened_home: Path) -> None:
    """Three families for training, and one for validation."""
    with writing(open_project(load_settings())) as session:
        for number in range(3):
            add_plain_family(session, number, split=Split.TRAIN)
        add_plain_family(session, 10, split=Split.VALIDATION)
        freeze(session)


@pytest.mark.parametrize("form", ["messages", "completion", "openai"])
def test_a_release_is_written_as_question_pairs(released: None, tmp_path: Path, form: str) -> None:
    folder = tmp_path / "pairs"
    answer = ask("llm", "pairs", str(folder), "--format", form)
    assert answer["pairs"] == {"train": 12, "validation": 4} and answer["format"] == form
    assert answer["notes"][0] == "16 question pairs, half of them with the answer Yes."
    where = folder if form == "openai" else folder / form
    assert len((where / "train.jsonl").read_text(encoding="utf-8").splitlines()) == 12
    output = show("llm", "pairs", str(folder), "--format", form)
    assert "question pairs of release 1" in output and ("tokens" in output) == (form == "openai")


def test_hedgerow_export_writes_the_same(released: None, tmp_path: Path) -> None:
    ask("llm", "pairs", str(tmp_path / "a"))
    ask("export", str(tmp_path / "b"), "--format", "messages")
    train = [(tmp_path / name / "messages/train.jsonl").read_bytes() for name in "ab"]
    assert train[0] == train[1]


def test_texts_with_braces_and_line_breaks_stay_one_line_each(
    opened_home: Path, tmp_path: Path
) -> None:
    with writing(open_project(load_settings())) as session:
        texts = {"verbal": ["{answer} is not\nlate."], "word": ['It is "maybe" late.']}
        add_family(session, "{0} is late.", texts, split=Split.TRAIN)
        freeze(session)
    ask("llm", "pairs", str(tmp_path / "x"))
    lines = (tmp_path / "x/messages/train.jsonl").read_text(encoding="utf-8").splitlines()
    asked = [json.loads(line)["messages"][0]["content"] for line in lines]
    assert len(asked) == 2 and all("{0} is late." in question for question in asked)


QUICK = ("--set", "epochs=1", "--set", "gradient_checkpointing=false")


@pytest.fixture
def released_families(home: Path) -> None:
    engine = open_project(load_settings())
    with writing(engine) as session:
        for number in range(6):
            add_plain_family(session, number, split=Split.TRAIN)
        add_plain_family(session, 6, split=Split.VALIDATION)
        freeze(session)
    engine.dispose()


@pytest.mark.usefixtures("released_families")
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


@pytest.mark.usefixtures("released_families")
def test_a_stored_run_waits_and_is_carried_out_by_its_number(small_llama: Path) -> None:
    recipe = Path("recipe.yaml")
    recipe.write_text("epochs: 1\nmax_pairs: 8\n")
    queued = ask("llm", "train", "--base", str(small_llama), "--recipe", str(recipe), "--queue")
    assert (queued["run"], queued["state"], queued["steps"]) == (1, "queued", 1)
    assert "queued; nothing was measured yet" in show("llm", "show", "1")
    assert ask("run", "1")["pairs"]["train"] == 8


@pytest.mark.usefixtures("released_families")
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


@pytest.mark.slow
def test_an_adapter_and_its_merged_model_come_to_the_same(small_llama: Path, home: Path) -> None:
    engine = open_project(load_settings())
    with writing(engine) as session:
        for number in range(4):
            add_plain_family(session, number, split=Split.TRAIN)
        freeze(session)
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


@pytest.fixture
def empty_project(opened_home: Path) -> None:
    """An empty project."""


@pytest.fixture
def tasks(tmp_path: Path) -> str:
    return str(save_own_tasks(tmp_path / "tasks"))


@pytest.mark.usefixtures("empty_project")
@pytest.mark.slow
def test_a_user_defined_task(small_llama: Path, tasks: str) -> None:
    model = ("--model", str(small_llama))
    ended = process("benchmark", "lm_eval:opposites", *model, "--data", tasks, "--json")
    answer = json.loads(ended.stdout)
    assert ended.stderr == "", "the harness says nothing of its own"
    assert answer["benchmark"] == "lm_eval:opposites" and answer["metric"] == "accuracy"
    assert (answer["n"], answer["architecture"]) == (4, "causal-lm")
    assert answer["figures"] == {"acc": answer["score"]}
    low, high = answer["interval"]
    assert 0 <= low <= answer["score"] <= high <= 100
    plan = ask("benchmark", "lm_eval:sums", *model, "--data", tasks, "--dry-run")
    assert plan["tasks"] == ["sums"]
    score = hedgerow.open().benchmark(small_llama, "lm_eval:sums", data=tasks)
    assert (score.benchmark, score.n, score.score) == ("lm_eval:sums", 3, 0.0)
    assert score.items()["right answer"].tolist() == ["1", "2", "3"]

    table = ask("benchmarks", "--table")
    assert table["columns"] == ["opposites", "sums"]
    (line,) = table["lines"]
    assert line["kind"] == "causal-lm" and line["seconds_per_item"] > 0
    assert (line["published"], line["cost_per_item"]) == (False, None)
    assert line["scores"] == {"opposites": answer["score"], "sums": 0.0}
    head, row = show("benchmarks", "--table").splitlines()[:2]
    assert head.split()[:2] == ["model", "Kind"] and "causal-lm" in row


@pytest.mark.usefixtures("empty_project")
@pytest.mark.slow
def test_without_a_network(small_llama: Path) -> None:
    output = complaint("benchmark", "lm_eval:table3", "--model", str(small_llama))
    assert "is not on this machine, and the model hub cannot be reached; connect to" in output


@pytest.mark.usefixtures("empty_project")
def test_names_and_data_that_do_not_fit(small_llama: Path, tasks: str) -> None:
    model = ("--model", str(small_llama))
    output = complaint("benchmark", "lm_eval:arc", *model)
    assert "Expected a task of lm_eval (mmlu, hellaswag, gsm8k) or the suite table3" in output
    assert "uses its own" in complaint("benchmark", "lm_eval:mmlu", *model, "--data", tasks)
    output = complaint("benchmark", "lm_eval:none", *model, "--data", tasks)
    assert "found opposites, sums" in output
    output = complaint("benchmark", "lm_eval:mmlu", "--architecture", "tf-idf")
    assert "Expected a language model (causal-lm)" in output


@pytest.fixture
def provider_release(opened_home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Three families for training."""
    monkeypatch.setattr(waiting, "POLL_SECONDS", 0.01)
    with writing(open_project(load_settings())) as session:
        for number in range(3):
            add_plain_family(session, number, split=Split.TRAIN)
        freeze(session)


@pytest.mark.usefixtures("provider_release")
def test_a_dry_run_estimates_tokens_and_cost_and_sends_nothing(serve_chat: Serve) -> None:
    asked = ["llm", "provider", "--model", "gpt-4o-mini", "--epochs", "2", "--dry-run"]
    found = ask(*asked)
    assert (found["train"], found["validation"], found["release"]) == (12, 0, 1)
    assert found["cost"] == pytest.approx(found["tokens"] * 2 * 3 / 1e6)
    assert "12 question pairs of release 1" in show(*asked) and "for 2 epochs" in show(*asked)
    address, server = serve_chat()
    output = show("llm", "provider", "--model", "small", "--base-url", address, "--dry-run")
    assert "Its price is not known" in output and not server.batches.uploads
    assert ask("status")["runs"] == []


@pytest.mark.usefixtures("provider_release")
def test_a_finetuning_ends_with_the_models_name(serve_chat: Serve) -> None:
    address, _ = serve_chat()
    asked = ["llm", "provider", "--model", "small", "--base-url", address]
    found = ask(*asked, "--seed", "3", "--arm", "paper")
    assert found["fine_tuned_model"] == "ft:small:org::ftjob-1"
    assert (found["state"], found["arm"], found["seed"]) == ("done", "paper", 3)
    assert "Its name at the provider is ft:small:org" in show(*asked)
    shown = ask("runs", "show", str(found["run"]))
    assert shown["kind"] == "finetune-provider" and shown["figures"]["loss"] == 0.25


@pytest.mark.usefixtures("provider_release")
def test_a_failure_gives_one_sentence(serve_chat: Serve, monkeypatch: pytest.MonkeyPatch) -> None:
    address, server = serve_chat()
    asked = ["llm", "provider", "--model", "small", "--base-url", address]
    server.finetuning.fails = "No."
    code, found = ended(*asked)
    assert code == 1 and found["state"] == "failed" and found["error"].endswith("provider: No.")
    assert "--model is not usable: name the model" in complaint("llm", "provider")
    monkeypatch.setenv("HEDGEROW_OPENAI_API_KEY", "")
    assert "needs an API key" in complaint("llm", "provider", "--model", "gpt-4o")
