"""Benchmarks on the command line."""

from __future__ import annotations

import json
import time
from pathlib import Path

import pytest
from typer.testing import CliRunner

import cli
from curation.encoders.model_folders import DEFAULT_ENCODER, TRAINED_ENCODER
from curation.overview.project_settings import open_project
from db.engine import writing
from db.models import Split
from db.settings import load_settings
from tests.cli.commands import ask, complaint, ended, show
from tests.curation.support.families import add_plain_family
from tests.support.checkpoints import dpr
from tests.support.databases import stored_run
from tests.support.factories import freeze
from tests.support.overlapping import SAID, keep_doors
from tests.training.benchmarks.support.samples import (
    NEVIR,
    SENTENCES,
    semantoneg_rows,
    write_lines,
    write_table,
)


@pytest.fixture(autouse=True)
def project(opened_home: Path) -> None:
    """An empty project."""


@pytest.fixture
def sample(tmp_path: Path) -> str:
    return str(write_lines(tmp_path / "sample.jsonl", semantoneg_rows()))


@pytest.fixture
def nevir(tmp_path: Path) -> str:
    return str(write_lines(tmp_path / "nevir.jsonl", NEVIR))


def test_a_benchmark_returns_the_fields_of_the_contract(tiny_encoder: Path, sample: str) -> None:
    answer = ask("benchmark", "semantoneg", "--model", str(tiny_encoder), "--data", sample)
    assert (answer["benchmark"], answer["metric"], answer["n"]) == ("semantoneg", "accuracy", 6)
    low, high = answer["interval"]
    assert 0 <= low <= answer["score"] <= high <= 100
    assert len(answer["model_hash"]) == len(answer["data_hash"]) == 64
    assert (answer["data"], answer["architecture"]) == ("sample.jsonl", "bi-encoder")
    again = ask("benchmark", "semantoneg", "--architecture", "tf-idf")
    assert again["data_hash"] == answer["data_hash"], "the file that was named last"
    listed = ask("benchmarks")["results"]
    assert [row["model"] for row in listed] == ["TF-IDF", str(tiny_encoder)]
    assert ask("benchmarks", "--benchmark", "nevir") == {"results": []}
    assert "TF-IDF" in show("benchmarks").splitlines()[1]


def test_user_defined_prompts_are_reported_with_the_result(tiny_encoder: Path, nevir: str) -> None:
    asked = ["benchmark", "nevir", "--data", nevir, "--model", str(tiny_encoder)]
    plain = ask(*asked)
    assert (plain["scoring"], plain["query_prompt"], plain["document_prompt"]) == ("", None, None)
    answer = ask(*asked, "--query-prompt", "query: ", "--document-prompt", "")
    assert (answer["query_prompt"], answer["document_prompt"]) == ("query: ", "")
    assert answer["scoring"].startswith("prompts ")
    assert len(ask("benchmarks")["results"]) == 2
    assert 'query prompt "query: "' in " ".join(show("benchmarks").split())


def test_two_encoders_of_dpr_are_named_together(nevir: str, tmp_path: Path) -> None:
    name = "+".join(map(str, dpr(tmp_path)))
    asked = ["benchmark", "nevir", "--model", name, "--data", nevir]
    answer = ask(*asked)
    assert (answer["model"], answer["architecture"], answer["n"]) == (name, "dpr", 2)
    assert ask(*asked, "--dry-run")["seconds"] > 0


def test_a_language_model_is_measured_by_its_folder(small_llama: Path, nevir: str) -> None:
    asked = ["benchmark", "nevir", "--data", nevir, "--model", str(small_llama)]
    answer = ask(*asked)
    assert (answer["architecture"], answer["n"], answer["scoring"]) == ("causal-lm", 2, "")
    assert (answer["unanswered"], answer["unanswered_share"]) == (0, 0.0)
    prompting = answer["asked"]
    assert (
        prompting["prompt"],
        prompting["version"],
        prompting["orders"],
        prompting["prompts"],
    ) == (
        "relevance",
        1,
        2,
        8,
    )
    assert 0 <= prompting["first_share"] <= 100 and 0 <= prompting["changed_share"] <= 100
    again = ask("llm", "evaluate", *asked[1:])
    assert (again["score"], again["asked"]) == (answer["score"], prompting), "the same command"
    assert ask(*asked, "--dry-run")["seconds"] > 0
    shown = " ".join(show("benchmarks").split())
    assert "Prompt: relevance, version 1, in 2 orders:" in shown


def test_a_user_defined_prompt_is_a_version_and_another_line(
    small_llama: Path, nevir: str, tmp_path: Path
) -> None:
    file = tmp_path / "mine.txt"
    file.write_text("{query}\n1: {first}\n2: {second}\nWhich one?")
    assert ask("prompts", "add", "relevance", str(file))["version"] == 2
    asked = ["benchmark", "nevir", "--data", nevir, "--model", str(small_llama)]
    newest, first = ask(*asked), ask(*asked, "--prompt", "relevance=1")
    assert (newest["asked"]["version"], first["asked"]["version"]) == (2, 1)
    assert newest["scoring"].startswith("prompts ") and first["scoring"] == ""
    assert len(ask("benchmarks")["results"]) == 2
    listed = [row["prompt"] for row in ask("prompts", "list")["prompts"]]
    assert listed.count("relevance") == 2 and listed.count("paraphrase_choice") == 1
    message = complaint(*asked, "--prompt", "relevance")
    assert "Expected --prompt relevance=2 or the like, found relevance." in message
    assert "found 'hedge'" in complaint(*asked, "--prompt", "hedge=1")
    assert "from 1 to 2, found 3" in complaint(*asked, "--prompt", "relevance=3")
    encoder = ["benchmark", "nevir", "--data", nevir, "--model", DEFAULT_ENCODER]
    assert "remove the versions" in complaint(*encoder, "--prompt", "relevance=1")


def test_a_model_that_is_not_causal_is_refused_with_one_sentence(
    tiny_encoder: Path, small_llama: Path, nevir: str, tmp_path: Path
) -> None:
    asked = ["benchmark", "nevir", "--data", nevir, "--model"]
    causal = ["--architecture", "causal-lm"]
    message = complaint(*asked, str(tiny_encoder), *causal)
    assert "Expected a causal-lm in" in message and "found a bi-encoder" in message
    assert "Expected a model in" in complaint(*asked, str(tmp_path), *causal)
    message = complaint(*asked, str(small_llama), "--query-prompt", "query: ")
    assert "has no query and document prompts" in message


def test_a_dry_run_estimates_the_time_and_measures_nothing(sample: str) -> None:
    chat = ["--architecture", "chat", "--model", "gpt-4o-mini", "--max-tokens", "100"]
    answer = ask("benchmark", "semantoneg", "--data", sample, *chat, "--budget", "5", "--dry-run")
    assert (answer["items"], answer["texts"], answer["chat"]["prompts"]) == (6, 12, 18)
    assert 0 < answer["chat"]["cost"] < answer["chat"]["most"]
    random = ["benchmark", "semantoneg", "--architecture", "random", "--dry-run"]
    shown = show(*random, "--data", sample)
    assert ["items", "6"] in map(str.split, shown.splitlines()) and "prompts" not in shown
    of_mteb = show("benchmark", "mteb:quick", "--model", DEFAULT_ENCODER, "--dry-run")
    assert "tasks " in of_mteb and "items" not in of_mteb
    assert ask("benchmarks") == {"results": []}
    assert "SemAntoNeg is not on the model hub" in complaint(*random), "no file was named for good"


def test_a_suite_of_the_users_sentences_is_written_and_measured(tmp_path: Path) -> None:
    forms = write_table(tmp_path / "own.tsv", "original\tnegation\tantonym\tboth", SENTENCES)
    out = tmp_path / "suite.jsonl"
    assert ask("benchmarks", "suite", str(out), "--forms", str(forms)) == {
        "file": str(out),
        "items": 4 * len(SENTENCES),
    }
    answer = ask("benchmark", "semantoneg", "--architecture", "random", "--data", str(out))
    assert answer["n"] == 4 * len(SENTENCES)
    message = complaint("benchmarks", "suite", str(tmp_path / "new"))
    assert message.startswith("Expected --sentences or --forms with a file, or a release")
    nowhere = str(tmp_path / "nowhere" / "suite.jsonl")
    message = complaint("benchmarks", "suite", nowhere, "--forms", str(forms))
    assert "Expected a folder for 'suite.jsonl'" in message


def test_a_suite_is_built_from_sentences_and_those_without_forms_are_reported(
    tmp_path: Path,
) -> None:
    sentences, out = tmp_path / "own.txt", tmp_path / "suite.jsonl"
    sentences.write_text("The soup is not hot.\nThe sea is not purple.\nI'm not guilty.\n")
    suite = ["benchmarks", "suite", str(out), "--sentences", str(sentences)]
    assert ask(*suite) == {
        "file": str(out),
        "items": 8,
        "unturned": [
            {
                "sentence": "The sea is not purple.",
                "reason": "WordNet has no antonym of its adjective: 'purple'",
            }
        ],
    }
    answer = ask("benchmark", "semantoneg", "--architecture", "random", "--data", str(out))
    assert answer["n"] == 8
    forms = tmp_path / "forms.jsonl"
    shown = show("benchmarks", "suite", str(forms), *suite[3:], "--as-forms")
    assert "Wrote 2 sentences in four forms" in shown and "The sea is not purple." in shown
    again = tmp_path / "again.jsonl"
    ask("benchmarks", "suite", str(again), "--forms", str(forms))
    assert again.read_bytes() == out.read_bytes()
    message = complaint(
        "benchmarks", "suite", str(tmp_path / "x"), *suite[3:], "--forms", str(forms)
    )
    assert message == "Expected --forms or --sentences, found both; remove one."
    sentences.write_text("The sea is blue.\n")
    assert "none in 1 sentence; the first, 'The sea is blue.'" in complaint(
        "benchmarks", "suite", str(tmp_path / "x"), *suite[3:]
    )
    assert not (tmp_path / "x").exists()


@pytest.mark.slow
def test_a_suite_never_takes_the_place_of_a_file(home: Path, tmp_path: Path) -> None:
    forms = write_table(tmp_path / "own.tsv", "original\tnegation\tantonym\tboth", SENTENCES)
    for file in (home / "hedgerow.db", forms):
        before = file.read_bytes()
        message = complaint("benchmarks", "suite", str(file), "--forms", str(forms))
        assert f"Expected a new file, but '{file}' already exists" in message
        assert file.read_bytes() == before


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (
            ["glue", "--architecture", "random"],
            "Expected a benchmark (nevir, excluir, cannot, m3, semantoneg, hedgerow), found 'glue'",
        ),
        (["nevir"], "--model is missing: enter the model's name."),
        (
            ["nevir", "--model", "x", "--architecture", "chat", "--base-url", "http://h:99999"],
            "--base-url is not usable: expected a port from 1 to 65535",
        ),
        (
            ["nevir", "--model", "x", "--architecture", "chat", "--max-tokens", "0"],
            "--max-tokens is not usable: it should be greater than",
        ),
        (
            ["nevir", "--model", "x", "--architecture", "lstm"],
            "Expected an architecture (bi-encoder,",
        ),
        (["nevir", "--model", "a", "--architecture", "dpr"], "as QUESTION_MODEL+CONTEXT_MODEL"),
        (
            ["nevir", "--architecture", "random", "--query-prompt", "q"],
            "has no query and document prompts",
        ),
        (
            ["nevir", "--model", "x", "--document-prompt", "d" * 1001],
            "--document-prompt is not usable",
        ),
        (["semantoneg", "--architecture", "random"], "SemAntoNeg is not on the model hub"),
        (["mteb:quick", "--architecture", "tf-idf"], "an embedding model"),
        (
            ["nevir", "--architecture", "random", "--budget", "1"],
            "--budget requires --architecture chat",
        ),
        (["nevir", "--architecture", "chat", "--model", "x", "--budget", "1"], "needs a price"),
        (["nevir", "--architecture", "chat", "--model", "x"], "OpenAI needs an API key"),
        (["mteb:quick", "--model", "x", "--data", "y"], "Expected no data"),
        (["hedgerow", "--architecture", "random"], "There is no release yet"),
    ],
)
def test_models_that_cannot_be_measured(arguments: list[str], sentence: str) -> None:
    assert sentence in complaint("benchmark", *arguments)


def test_without_a_network_a_benchmark_of_the_hub_fails_at_once(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """The hub's client would ask six times, for half a minute."""
    from huggingface_hub import constants

    ask("init", "--empty")
    monkeypatch.setattr(constants, "HF_HUB_OFFLINE", False)
    for name in ("ENDPOINT", "HUGGINGFACE_CO_URL_TEMPLATE"):
        value = getattr(constants, name).replace(constants.ENDPOINT, "http://127.0.0.1:9")
        monkeypatch.setattr(constants, name, value)
    waits: list[float] = []
    monkeypatch.setattr(time, "sleep", waits.append)
    message = complaint("benchmark", "nevir", "--architecture", "random")
    assert "connect to the network, or use a file on this machine" in message
    assert [seconds for seconds in waits if seconds >= 1] == []
    assert constants.HF_HUB_OFFLINE is False
    assert ask("runs", "list") == {"runs": []}, "nothing that failed is stored"


@pytest.mark.parametrize("classes", [{}, {"id2label": {"0": "bad", "1": "good"}}], ids=str)
def test_a_classifier_that_gives_no_score_is_refused_before_a_run_is_stored(
    classes: dict[str, object], sample: str, tmp_path: Path
) -> None:
    folder = tmp_path / "classifier"
    folder.mkdir()
    config = {"model_type": "bert", "architectures": ["BertForSequenceClassification"]} | classes
    (folder / "config.json").write_text(json.dumps(config))
    (folder / "model.safetensors").write_bytes(b"weights")
    message = complaint("benchmark", "semantoneg", "--data", sample, "--model", str(folder))
    assert "Expected a cross-encoder with one output, or with a class 'entailment'" in message
    assert ask("runs", "list") == {"runs": []}


def _project() -> None:
    settings = load_settings()
    engine = open_project(settings)
    with writing(engine) as session:
        for number in range(6):
            add_plain_family(session, number, split=Split.TRAIN)
        freeze(session)
    keep_doors(settings.data_folder)


def test_training_warns_before_it_starts(tiny_encoder: Path) -> None:
    _project()
    short = [f"base_encoder={tiny_encoder}", "batch_size=4", "max_steps=2"]
    options = [word for change in short for word in ("--set", change)]
    result = CliRunner().invoke(cli.app, ["train", *options])
    assert result.exit_code == 0, result.output
    assert SAID in result.stderr and SAID in result.stdout
    assert "Overlapping items by field (release / SemAntoNeg (doors.jsonl)): " in result.stdout
    bundled = "No item in the benchmark files shares 5 consecutive words with the bundled"
    assert bundled in result.stdout and bundled not in result.stderr  # nothing to warn of
    (found,) = stored_run(open_project(load_settings()), 1).result["overlap"]
    assert (found["benchmark"], found["items"], found["overlapping"]) == ("semantoneg", 4, 2)


def test_the_card_of_an_export_names_them(home: Path) -> None:
    _project()
    show("export", str(home / "out"))
    card = (home / "out" / "README.md").read_text("utf-8")
    assert "| SemAntoNeg | doors.jsonl | 4 | 5 | 2 | 50.0% | 2 |" in card
    assert "| SemAntoNeg | doors.jsonl | anchor | " in card


def broken(tmp_path: Path) -> str:
    """A folder with the configuration of a model, but unreadable weights."""
    folder = tmp_path / "broken"
    folder.mkdir()
    config = {"model_type": "bert", "architectures": ["BertModel"], "hidden_size": 8}
    (folder / "config.json").write_text(json.dumps(config))
    (folder / "model.safetensors").write_bytes(b"no weights")
    return str(folder)


def test_several_models_are_measured_and_those_that_cannot_be_are_skipped(
    tiny_encoder: Path, sample: str, tmp_path: Path
) -> None:
    unreadable, missing = broken(tmp_path), str(tmp_path / "missing")
    listed = tmp_path / "models.txt"
    listed.write_text(f"# ours\n{TRAINED_ENCODER}\n\n{missing}\n{unreadable}\n{tiny_encoder}\n")
    arguments = ["benchmark", "semantoneg", "--data", sample, "--models", str(listed)]
    answer = ask(*arguments, "--model", str(tiny_encoder))
    measured = [str(tiny_encoder), TRAINED_ENCODER]
    assert [result["model"] for result in answer["results"]] == measured
    assert {result["data_hash"] for result in answer["results"]} == {
        answer["results"][0]["data_hash"]
    }
    assert [one["model"] for one in answer["skipped"]] == [missing, unreadable]
    assert all(one["model"] in one["problem"] for one in answer["skipped"])
    assert answer["state"] == "failed", "'hedgerow run' measures what is missing"
    assert [row["model"] for row in ask("benchmarks")["results"]] == measured[::-1]
    shown = show(*arguments)
    assert "Skipped: " in shown and missing in shown and TRAINED_ENCODER in shown


def test_shared_errors_of_several_models(tiny_encoder: Path, sample: str) -> None:
    nothing = complaint("benchmarks", "errors", "semantoneg")
    assert "at least two models on the same items, found none" in nothing
    models = [word for name in (str(tiny_encoder), TRAINED_ENCODER) for word in ("--model", name)]
    scores = ask("benchmark", "semantoneg", "--data", sample, *models)["results"]
    ask("benchmark", "semantoneg", "--data", sample, "--architecture", "random")
    wrong = [round(score["n"] * (1 - score["score"] / 100)) for score in scores]
    every = ask("benchmarks", "errors", "semantoneg", *models, "--at-least", "1")
    assert every["models"] == [TRAINED_ENCODER, str(tiny_encoder)] and every["items"] == 6
    assert sum(len(error["wrong"]) for error in every["errors"]) == sum(wrong)
    found = ask("benchmarks", "errors", "semantoneg", *models)
    assert found["at_least"] == 2 and len(found["errors"]) == found["by_count"][2] <= min(wrong)
    assert sum(found["by_count"]) == 6
    other = Path(sample).with_name("other.jsonl")
    other.write_text("".join(Path(sample).read_text().splitlines(keepends=True)[:2]))
    ask("benchmark", "semantoneg", "--data", str(other), "--architecture", "tf-idf")
    shown = show("benchmarks", "errors", "semantoneg", "--at-least", "1")
    assert "items of SemAntoNeg (sample.jsonl) are wrong in at least 1 of 3 models" in shown
    assert "cold / hot" in shown
    assert "from 1 to 2, found 3" in complaint(
        "benchmarks", "errors", "semantoneg", *models, "--at-least", "3"
    )


def test_semantoneg_by_training_objective(sample: str) -> None:
    ask("benchmark", "semantoneg", "--data", sample, "--architecture", "tf-idf")
    answer = ask("benchmarks", "objectives")
    assert {group["objective"]: group["models"] for group in answer["groups"]} == {
        "general purpose": 11,
        "paraphrase": 18,
        "NLI": 27,
        "STSB": 16,
    }
    assert len(answer["models"]) == 115
    (own,) = [model for model in answer["models"] if model["source"] == "measured"]
    assert (own["model"], own["objective"]) == ("TF-IDF", "other")
    shown = show("benchmarks", "objectives")
    assert "TF-IDF" in shown and "42 of them have another objective" in shown


@pytest.mark.parametrize(
    ("content", "sentence"),
    [
        ("\n# nothing\n", "Expected one model per line in"),
        ("one\ntwo\n", "Expected models that can be measured, found none of 2. First: one: "),
    ],
)
def test_a_list_with_nothing_to_measure(
    content: str, sentence: str, sample: str, tmp_path: Path
) -> None:
    listed = tmp_path / "models.txt"
    listed.write_text(content.replace("one", str(tmp_path / "one")).replace("two", "./two"))
    expected = sentence.replace("one: ", str(tmp_path / "one"))
    arguments = ["benchmark", "semantoneg", "--data", sample, "--models", str(listed)]
    assert expected in complaint(*arguments)
    assert ask("runs", "list") == {"runs": []}
    code, answer = ended(*arguments)
    assert code == 1 and expected in answer["error"]


MINILM = "all-MiniLM-L6-v2"


def test_a_set_of_groups_is_ranked_and_needs_no_project(home: Path) -> None:
    answer = ask("similarity", "--model", MINILM, "--probe-set", "Figure 1 of the paper")
    assert {row["series"] for row in answer["similarities"]} >= {"after", "paper: HedgeMPNet"}
    scores = answer["scores"]["after"]
    assert (scores["groups"], scores["ranked"], scores["below_affirmed"]) == (1, 0.0, 1.0)
    assert scores["means"]["weakened"] == pytest.approx(0.755, abs=0.001)


def test_a_file_and_a_set_at_once_are_refused(tmp_path: Path) -> None:
    both = ("--probes", str(tmp_path / "p.csv"), "--probe-set", "Sixty groups")
    assert "remove one" in complaint("similarity", "--model", MINILM, *both)
    unknown = complaint("similarity", "--model", "x", "--probe-set", "weather")
    assert "no probe set 'weather'" in unknown


def test_a_model_in_a_relative_folder_is_printed_with_its_full_path(
    tiny_encoder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tiny_encoder.parent)
    answer = ask("similarity", "--model", tiny_encoder.name, "--before", MINILM)
    assert (answer["model"], answer["before"]) == (str(tiny_encoder), MINILM)
