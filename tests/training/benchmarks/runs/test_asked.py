"""Runs with language models: prompt versions, separate results, and estimates."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest
from sqlalchemy import Engine

from curation.generation.prompts import find_version, save_copy, seed_prompts
from curation.token_estimate import tokens
from db.engine import create_engine, reading, writing
from db.errors import HedgerowError
from db.models import BenchmarkResult
from db.runs import get_run
from db.settings import Settings
from tests.support.databases import Copies
from tests.support.generating import Serve
from tests.support.generating import serve_chat as serve_chat
from tests.training.benchmarks.support.running import nevir, ran, requested, semantoneg
from training.benchmarks.data.sizes import size
from training.benchmarks.results.queries import Scored, full_result, newest
from training.benchmarks.runs.cost_forecast import plan_benchmarks
from training.benchmarks.runs.measured_models import ModelChoice
from training.benchmarks.runs.paces import units
from training.benchmarks.scorers.prompted.wording import PromptVersions

EDITED = "A: {first}\nB: {second}\nSearch: {query}\nWhich one, 1 (A) or 2 (B)?"


@pytest.fixture
def engine(home: Path, copies: Copies) -> Engine:
    return create_engine(copies.migrated(home / "hedgerow.db"))


def edit_relevance(engine: Engine) -> None:
    with writing(engine) as session:
        seed_prompts(session)
        save_copy(session, find_version(session, "relevance", None), EDITED, author_id=None)


def lines(engine: Engine) -> list[Scored]:
    with reading(engine) as session:
        return newest(session)


def test_a_causal_model_is_measured_and_results_of_other_prompts_are_another_line(
    engine: Engine, settings: Settings, small_llama: Path
) -> None:
    data, model = (nevir(settings), semantoneg(settings)), ModelChoice(name=str(small_llama))
    ran(engine, settings, model, benchmarks=data)
    edit_relevance(engine)
    ran(engine, settings, model, benchmarks=data)
    ran(engine, settings, model, benchmarks=data[:1], asked_with=PromptVersions(relevance=1))
    rows = lines(engine)
    assert (rows[0].benchmark, rows[0].scoring) == ("nevir", ""), "the version that was named"
    assert {row.title for row in rows} == {
        f"{small_llama.name} (causal-lm)",
        f"{small_llama.name} (causal-lm, relevance prompt 2)",
    }
    (edited,) = [row for row in rows if row.scoring]
    assert edited.scoring.startswith("prompts ") and edited.asked["template"] == EDITED
    assert (edited.asked["prompt"], edited.asked["version"]) == ("relevance", 2)
    (three,) = [row for row in rows if row.benchmark == "semantoneg"]
    assert three.scoring == "", "it is not asked with the prompt that was edited"
    assert (three.asked["prompt"], three.asked["orders"]) == ("paraphrase_choice", 3)
    assert full_result(settings.data_folder, three).asked == three.asked
    assert three.architecture == "causal-lm" and len(three.model_hash) == 64


def test_a_run_keeps_the_versions_that_were_the_newest_when_it_was_requested(
    engine: Engine, settings: Settings, small_llama: Path
) -> None:
    run = requested(
        engine, settings, ModelChoice(name=str(small_llama)), benchmarks=(nevir(settings),)
    )
    edit_relevance(engine)
    with reading(engine) as session:
        stored = get_run(session, run.id).parameters["asked_with"]
    assert stored == {"relevance": 1, "similarity": 1, "paraphrase_choice": 1}


def test_versions_are_refused_if_nothing_is_asked(
    engine: Engine, settings: Settings, tiny_encoder: Path
) -> None:
    versions = PromptVersions(relevance=1)
    with pytest.raises(HedgerowError, match="need a language model"):
        requested(
            engine,
            settings,
            ModelChoice(name=str(tiny_encoder)),
            benchmarks=(nevir(settings),),
            asked_with=versions,
        )
    chat = ModelChoice(name="some-llm", architecture="chat")
    with pytest.raises(HedgerowError, match="prompt relevance from 1 to 1, found 7"):
        requested(
            engine,
            settings,
            chat,
            benchmarks=(nevir(settings),),
            asked_with=PromptVersions(relevance=7),
        )


def test_results_of_earlier_versions_stay_readable_and_separate(
    engine: Engine, settings: Settings, serve_chat: Serve
) -> None:
    address, server = serve_chat()
    server.says = lambda prompt: "1"
    chat = ModelChoice(name="some-llm", architecture="chat", base_url=address)
    ran(engine, settings, chat, benchmarks=(nevir(settings),))
    (new,) = lines(engine)
    with writing(engine) as session:  # as stored when each question had one order
        row = session.get_one(BenchmarkResult, new.id)
        file = settings.data_folder / row.file
        head, *rest = file.read_text().splitlines()
        values = json.loads(head)
        del values["asked"]
        old = file.with_name("old.jsonl")
        old.write_text("\n".join([json.dumps(values), *rest]) + "\n")
        summary = {name: value for name, value in row.summary.items() if name != "asked"}
        fields = row.model_dump(exclude={"id", "scoring", "summary", "file", "created_at"})
        path = str(old.relative_to(settings.data_folder))
        session.add(BenchmarkResult(**fields, scoring="", summary=summary, file=path))
    first, second = lines(engine)
    assert [first.title, second.title] == ["some-llm (chat)", "some-llm (chat, both orders)"]
    assert first.asked == {} and full_result(settings.data_folder, first).asked == {}


def test_the_estimate_for_edited_prompts_is_reported_before_the_run(
    engine: Engine, settings: Settings, serve_chat: Serve
) -> None:
    address, server = serve_chat()
    server.says = lambda prompt: "1"
    edit_relevance(engine)
    chat = ModelChoice(name="some-llm", architecture="chat", base_url=address)
    data = (nevir(settings),)
    with reading(engine) as session:
        (planned,) = plan_benchmarks(session, settings, (chat,), data).models
    ran(engine, settings, chat, benchmarks=data)
    assert planned.chats and planned.chats.prompts == len(server.asked) == 8
    assert planned.chats.tokens_in == tokens(sum(map(len, server.asked)))
    assert all(prompt.startswith("A: ") for prompt in server.asked)


def test_a_causal_models_work_is_measured_in_prompts(
    engine: Engine, settings: Settings, small_llama: Path
) -> None:
    data = nevir(settings)
    with reading(engine) as session:
        found = size(session, settings.data_folder, data)
        (planned,) = plan_benchmarks(
            session, settings, (ModelChoice(name=str(small_llama)),), (data,)
        ).models
    assert found and units(found, "causal-lm") == found.prompt_letters > 2 * found.pair_letters
    assert planned.seconds and planned.chats is None


@pytest.mark.parametrize("file", ["config.json", "tokenizer.json"])
def test_a_damaged_model_is_one_sentence(
    engine: Engine, settings: Settings, small_llama: Path, tmp_path: Path, file: str
) -> None:
    folder = Path(shutil.copytree(small_llama, tmp_path / "damaged"))
    (folder / file).write_text("{")
    with pytest.raises(HedgerowError, match="Expected JSON in|Could not load the model"):
        ran(engine, settings, ModelChoice(name=str(folder)), benchmarks=(nevir(settings),))
