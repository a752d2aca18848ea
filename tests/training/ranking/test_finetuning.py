"""Finetuning runs: each architecture learns, reports progress, can be stopped, and becomes a
model."""

from __future__ import annotations

import socket
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from sqlalchemy import Engine

from curation.encoders.loading import fingerprint, load_encoder
from db import execution
from db.engine import reading, writing
from db.errors import HedgerowError
from db.models import Run, RunState
from db.runs import request_cancel
from db.settings import Settings, load_settings
from tests.support.databases import stored_run
from tests.support.publishing import hub as hub
from tests.support.servers.hub_server import OWNER, HubServer
from tests.training.benchmarks.support.running import ran, results
from tests.training.ranking.support.finetunings import ENTRIES, ask, carry_out, entry, lines
from tests.training.support.trainings import perform
from training.benchmarks.runs.measured_models import ModelChoice
from training.benchmarks.scorers.architecture import architecture_of, load_scorer
from training.benchmarks.scorers.interface import Random, measure
from training.benchmarks.sources import keep_data
from training.benchmarks.tasks.nevir import DocumentPair, NevIR
from training.evaluation.general_ability import retrieval_items
from training.finetune.feasibility import PREPARING
from training.hub import push_run
from training.models.known import list_encoders, list_models, require_known_encoder
from training.ranking.figures import (
    CANDIDATES,
    DOCUMENTS,
    HIGH,
    LOW,
    NEVIR,
    QUANTILES,
    RERANKING,
    WHAT_IT_IS,
    RankingFigures,
    as_table,
    epochs_of,
    quantile,
    reciprocal_rank,
    with_candidates,
    with_epochs,
)
from training.ranking.pairs import kept_pairs, read_pairs
from training.ranking.request import (
    RankingRequest,
    characters_read,
    parts_asked,
    request_of,
    time_needed,
)
from training.runs.removal import delete_run

pytestmark = pytest.mark.slow


def trained(engine: Engine, settings: Settings, base: object, **values: Any) -> Run:
    return carry_out(engine, settings, ask(engine, settings, base=str(base), **values))


def figures(engine: Engine, run: Run) -> list[dict[str, float]]:
    with reading(engine) as session:
        return [epoch.figures for epoch in epochs_of(session, run)]


@pytest.mark.parametrize("architecture", ["bi-encoder", "cross-encoder", "late-interaction"])
def test_each_architecture_learns_what_differs_on_passages_it_never_saw(
    engine: Engine, settings: Settings, architecture: str, request: pytest.FixtureRequest
) -> None:
    fixtures = {"cross-encoder": "tiny_cross", "late-interaction": "tiny_colbert"}
    base = request.getfixturevalue(fixtures.get(architecture, "tiny_encoder"))
    easy = {"epochs": 12, "batch_size": 8, "learning_rate": 5e-3}
    run = trained(engine, settings, base, **easy)
    result = run.result
    assert result["architecture"] == architecture
    assert result["after"][NEVIR] >= 0.75 > result["before"][NEVIR] + 0.25, result["epochs"]
    assert [epoch["epoch"] for epoch in result["epochs"]] == list(range(13))
    found = figures(engine, run)
    assert (found[0], found[-1]) == (result["before"], result["after"])
    assert all(DOCUMENTS in one for one in found) == (architecture == "bi-encoder")
    if architecture == "bi-encoder":
        assert found[-1][DOCUMENTS] < found[0][DOCUMENTS], "the documents move apart (Figure 8)"

    folder = settings.data_folder / result["model"]
    assert architecture_of(folder) == architecture
    assert result["fingerprint"] == fingerprint(folder)
    held_out = parts_asked(settings.data_folder, request_of(run)).held_out
    again = RankingFigures(held_out).evaluate(load_scorer(str(folder)))
    assert again[NEVIR] == pytest.approx(result["after"][NEVIR])
    assert not list((settings.data_folder / run.folder).glob("checkpoint*"))


@pytest.mark.parametrize("architecture", ["cross-encoder", "late-interaction"])
def test_an_encoder_becomes_a_model_of_another_architecture(
    engine: Engine, settings: Settings, tiny_encoder: Path, architecture: str
) -> None:
    how = {"architecture": architecture, "epochs": 1, "max_length": 32, "max_pairs": 5}
    run = trained(engine, settings, tiny_encoder, **how)
    folder = settings.data_folder / run.result["model"]
    assert architecture_of(folder) == run.result["architecture"] == architecture
    scorer = load_scorer(str(folder))
    assert scorer.score([("Which bridge is open?", "It is open.")], asks="relevance").shape == (1,)


def test_a_finetuned_encoder_and_a_reranker_are_known_wherever_they_can_be_used(
    engine: Engine, settings: Settings, tiny_encoder: Path, tiny_cross: Path, hub: HubServer
) -> None:
    runs = [trained(engine, settings, tiny_encoder, epochs=1, max_pairs=5)]
    runs.append(trained(engine, settings, tiny_cross, epochs=1))
    encoder, reranker = (run.result["name"] for run in runs)

    (kept,) = kept_pairs(settings.data_folder)
    hash_ = read_pairs(settings.data_folder, kept.file).hash
    data = runs[0].result["data"]
    assert (data["name"], data["hash"], data["pairs"]) == ("pairs.jsonl", hash_, 20)
    assert (data["trained_on"], data["passages"], data["held_out"]) == (5, 5, 4)
    assert runs[0].inputs == {"data": hash_}
    folders = [settings.data_folder / run.result["model"] for run in runs]
    card = (folders[0] / "README.md").read_text("utf-8")
    assert hash_ in card and "pairs.jsonl" in card and "| training pairs | 5 |" in card
    assert str(settings.data_folder) not in card and str(tiny_encoder) not in card
    assert not any(one["doc1"] in card for one in ENTRIES)

    with reading(engine) as session:
        assert {encoder, reranker} <= set(list_models(session))
        assert encoder in list_encoders(session) and reranker not in list_encoders(session)
        require_known_encoder(session, encoder)
        with pytest.raises(HedgerowError, match="'run 2"):
            require_known_encoder(session, reranker)
        header, rows = as_table(with_epochs(session, runs))
    assert [row[:2] for row in rows] == [[1, 0], [1, 1], [2, 0], [2, 1]]
    assert {len(row) for row in rows} == {len(header)}
    assert None not in rows[0] and rows[2][-1] is None

    other = lines([entry(0, "inn"), entry(1, "pub")])
    test = keep_data(settings.data_folder, NevIR.id, {"test.jsonl": other})
    models = [ModelChoice(name=name) for name in (encoder, reranker)]
    ran(engine, settings, *models, benchmarks=(test.choice,))
    scored = {model: row.architecture for (model, _), row in results(engine).items()}
    assert scored == {encoder: "bi-encoder", reranker: "cross-encoder"}

    again = trained(engine, settings, reranker, epochs=1)
    assert again.result["before"] == pytest.approx(runs[1].result["after"])
    assert again.result["fingerprint"] != runs[1].result["fingerprint"]

    (folders[1] / "README.md").unlink()
    request = push_run.Push(run=runs[1].id, repo=f"{OWNER}/reranker")
    asked = perform(engine, push_run.PUSH, request)
    execution.execute(engine, load_settings(), asked.id, {push_run.KIND: push_run.work})
    files = hub.repos[("model", f"{OWNER}/reranker")].files
    assert (
        "model.safetensors" in files
        and f'CrossEncoder("{OWNER}/reranker")' in files["README.md"].decode()
    )

    delete_run(engine, settings, again.id)
    with reading(engine) as session:
        assert again.result["name"] not in list_models(session)
    assert not (settings.data_folder / again.folder).exists()


def test_a_run_that_was_interrupted_continues_after_its_last_epoch_and_ends_equal(
    engine: Engine, settings: Settings, tiny_encoder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    values: dict[str, Any] = {"base": str(tiny_encoder), "epochs": 4, "max_pairs": 8}
    whole = carry_out(engine, settings, ask(engine, settings, **values))
    other = carry_out(engine, settings, ask(engine, settings, **values | {"epochs": 1}, seed=7))
    run = ask(engine, settings, **values)
    measure, seen = RankingFigures.evaluate, list[int]()

    def failing(self: RankingFigures, scorer: Any) -> dict[str, float]:
        seen.append(1)
        if len(seen) == 4:  # after the third epoch
            raise HedgerowError("The power went out.")
        return measure(self, scorer)

    with monkeypatch.context() as patch:
        patch.setattr(RankingFigures, "evaluate", failing)
        with pytest.raises(HedgerowError, match="power went out"):
            carry_out(engine, settings, run)
    assert len(figures(engine, run)) == 3
    assert list((settings.data_folder / run.folder).glob("checkpoint-*"))
    monkeypatch.setattr(
        RankingFigures, "evaluate", lambda *given: (seen.append(2), measure(*given))[1]
    )
    again = carry_out(engine, settings, run)
    assert seen.count(2) == 2, "two epochs were left"
    assert again.result["epochs"] == whole.result["epochs"]
    assert figures(engine, again)[1] != figures(engine, other)[1], "it has another seed"
    assert again.result["fingerprint"] == whole.result["fingerprint"]
    assert again.result["name"] == whole.result["name"], "an equal encoder has one row"


def test_an_impossible_training_is_refused_and_nothing_is_stored(
    engine: Engine, settings: Settings, tiny_encoder: Path, tiny_cross: Path, tiny_nli: Path
) -> None:
    for values, fact in (
        ({"base": "./nowhere"}, "no model folder"),
        ({"base": str(tiny_cross), "architecture": "bi-encoder"}, r"bi-encoder in .*cross-enc"),
        ({"data": "ranking_pairs/nevir/none.jsonl"}, "in the data folder"),
    ):
        with pytest.raises(HedgerowError, match=fact):
            ask(engine, settings, **values)
    assert ask(engine, settings, base=str(tiny_encoder)).id == 1
    with pytest.raises(HedgerowError, match="Run 1"):
        ask(engine, settings, base=str(tiny_encoder))
    with pytest.raises(HedgerowError, match="one output"):
        trained(engine, settings, tiny_nli)
    keep_data(settings.data_folder, NevIR.id, {"test.jsonl": lines(ENTRIES[-1:])})
    with pytest.raises(HedgerowError, match="1 passage with 'test.jsonl'"):
        ask(engine, settings, base=str(tiny_encoder), seed=7)


def test_cancelling_ends_it_without_a_model(
    engine: Engine, settings: Settings, tiny_encoder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    run = ask(engine, settings, base=str(tiny_encoder), epochs=200)
    monkeypatch.setattr(execution, "HEARTBEAT_SECONDS", 0.01)
    real = execution.RunContext.metric

    def cancelling(context: execution.RunContext, step: int, name: str, value: float) -> None:
        real(context, step, name, value)
        with writing(engine) as session:
            request_cancel(session, run.id)

    monkeypatch.setattr(execution.RunContext, "metric", cancelling)
    with pytest.raises(HedgerowError, match="was cancelled"):
        carry_out(engine, settings, run)
    ended = stored_run(engine, run.id)
    assert ended.state == RunState.CANCELLED and ended.step < ended.total / 2
    assert not (settings.data_folder / run.folder / "model").exists()
    with reading(engine) as session:
        assert not any("NevIR" in name for name in list_models(session))


def test_a_training_that_diverges_says_so(
    engine: Engine, settings: Settings, tiny_cross: Path, monkeypatch: pytest.MonkeyPatch
) -> None:

    from training.ranking.trainers import CrossEncoderPairTrainer

    real = CrossEncoderPairTrainer.compute_loss
    monkeypatch.setattr(
        CrossEncoderPairTrainer,
        "compute_loss",
        lambda *given, **more: real(*given, **more) * float("inf"),
    )
    run = ask(engine, settings, base=str(tiny_cross), epochs=3, learning_rate=0.5)
    with pytest.raises(HedgerowError, match="diverged before step .*learning rate, now 0.5"):
        carry_out(engine, settings, run)
    assert not (settings.data_folder / run.folder / "model").exists()


PAIRS = [
    DocumentPair(f"{number}-2", (f"q {number}", f"r {number}"), (f"d {number}", f"e {number}"), 0)
    for number in range(9)
]


def test_texts_are_cut_in_training_alone_with_a_models_prompts_and_pairs_are_split_over_batches(
    tiny_encoder: Path, tmp_path: Path
) -> None:
    from training.finetune.progress import Progress
    from training.ranking.trainers import BiEncoderTrainer, Fit

    model = load_encoder(str(tiny_encoder))
    assert BiEncoderTrainer.prompts(model) is None
    model.prompts = {"query": "query: ", "passage": "passage: "}
    whole, seen = model.max_seq_length, list[int | None]()

    def measure() -> dict[str, float]:
        seen.append(model.max_seq_length)
        return {"nevir": 0.0}

    request = RankingRequest(data="-", batch_size=6, epochs=1, max_length=20)
    trainer = BiEncoderTrainer(model, Fit(PAIRS, request, measure, tmp_path, "it", Progress()))
    assert model.max_seq_length == 20
    batches = list(trainer.get_train_dataloader().batch_sampler)
    assert sorted(row for batch in batches for row in batch) == list(range(18))
    assert all(len({row // 2 for row in batch}) == len(batch) for batch in batches)
    wanted = {"query": "query: ", "positive": "passage: ", "negative": "passage: "}
    assert trainer.data_collator.prompts == wanted
    row = {name: texts[0] for name, texts in BiEncoderTrainer.rows(PAIRS).items()}
    ids = trainer.data_collator([row])["positive_input_ids"][0]
    assert "passage" in model.tokenizer.decode(ids)
    trainer.finish()
    assert seen == [whole, whole] and model.max_seq_length == whole
    model.default_prompt_name = "query"
    assert set(BiEncoderTrainer.prompts(model).values()) == {"query: "}


def test_a_question_has_ten_candidates_with_words_in_common_its_passage_first() -> None:
    items = retrieval_items()
    found = with_candidates(items)

    def common(one: str, other: str) -> int:
        return len(set(one.lower().split()) & set(other.lower().split()))

    for item, question in zip(items, found, strict=True):
        assert question.text == item.question
        first = (item.passage, *item.near_misses)
        assert question.candidates[: len(first)] == first
        assert len(set(question.candidates)) == len(question.candidates) == CANDIDATES
    shared = [common(q.text, passage) for q in found for passage in q.candidates[3:]]
    any_ = [common(item.question, other.passage) for item, other in pairwise(items)]
    assert np.mean(shared) > 1.5 * np.mean(any_)
    scores = [np.array(row) for row in ([3.0, 1.0, 2.0], [1.0, 1.0, 0.0], [0.0, 1.0, 2.0])]
    assert reciprocal_rank(scores) == pytest.approx((1 + 1 / 2 + 1 / 3) / 3), "a tie ranks below"
    by_chance = reciprocal_rank(Random(7).answer(found, asks="relevance"))
    assert by_chance == pytest.approx(0.29, abs=0.04) and "0.29" in WHAT_IT_IS


def test_an_encoders_documents_are_measured_as_in_the_benchmark(
    tiny_encoder: Path, tiny_cross: Path, tmp_path: Path
) -> None:
    path = tmp_path / "pairs.jsonl"
    path.write_bytes(lines(ENTRIES))
    nevir = NevIR.read(path)
    result = measure(nevir, load_scorer(str(tiny_encoder)))
    found = RankingFigures(nevir.items).evaluate(load_scorer(str(tiny_encoder)))
    assert found[NEVIR] == result.score / 100
    assert {name: found[name] for name in result.figures} == pytest.approx(dict(result.figures))
    box = [found[quantile(percent)] for percent in QUANTILES]
    assert box == sorted(box) and box[0] < found[DOCUMENTS] < box[-1]
    assert 0 < found[RERANKING] <= 1
    others = RankingFigures(nevir.items).evaluate(load_scorer(str(tiny_cross)))
    assert set(others) == {NEVIR, LOW, HIGH, RERANKING}


def test_the_time_needed_grows_with_what_is_read_at_the_pace_of_the_last_finetuning_here(
    engine: Engine, settings: Settings, tiny_encoder: Path
) -> None:
    run = ask(engine, settings, base=str(tiny_encoder))
    request = request_of(run)
    parts = parts_asked(settings.data_folder, request)
    few, many = (request.model_copy(update={"epochs": n}) for n in (1, 2))
    encoder = [characters_read(parts, one, "bi-encoder") for one in (few, many)]
    cross = characters_read(parts, few, "cross-encoder")
    assert cross > 2 * encoder[0], "it reads each question with ten passages"
    assert encoder[0] < encoder[1] < 2 * encoder[0], "the first evaluation happens once"
    queries, documents = (
        sum(len(text) + 9 for pair in parts.train for text in getattr(pair, part))
        for part in ("queries", "documents")
    )
    one_epoch = encoder[0] - 2 * (2 * encoder[0] - encoder[1])
    assert one_epoch == pytest.approx(queries + 2 * documents), "each is right and wrong once"

    def guess(**change: Any) -> tuple[float, int | None]:
        with reading(engine) as session:
            return time_needed(session, settings, request.model_copy(update=change), parts)

    assert guess()[1] is None
    wanted = characters_read(parts, request, "bi-encoder")
    with writing(engine) as session:
        stored = session.merge(run)
        stored.state, stored.host = RunState.DONE, socket.gethostname()
        stored.result = {"architecture": "bi-encoder", "pace": wanted / 60}
    assert guess() == (pytest.approx(PREPARING + 60), run.id)
    assert guess(architecture="cross-encoder")[1] is None
