"""Finetuning runs: each architecture learns, reports progress, can be stopped, and becomes a
model."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import Engine

from curation.encoders.loading import fingerprint
from db import execution
from db.engine import reading, writing
from db.errors import HedgerowError
from db.execution import RunContext
from db.models import Run, RunState
from db.runs import get_run, request_cancel
from db.settings import Settings, load_settings
from tests.support.publishing import hub as hub
from tests.support.servers.hub_server import OWNER, HubServer
from tests.training.benchmarks.support.running import ran
from tests.training.ranking.support.finetunings import (
    ENTRIES,
    ask,
    carry_out,
    entry,
    lines,
    stored,
)
from training.benchmarks.data.sources import keep_data
from training.benchmarks.results.queries import newest
from training.benchmarks.runs.measured_models import ModelChoice
from training.benchmarks.scorers.architecture import architecture_of, load_scorer
from training.benchmarks.tasks.nevir import NevIR
from training.hub import push_run
from training.hub.push_run import Subject, request_push
from training.models.known import list_encoders, list_models, require_known_encoder
from training.ranking.epochs import as_table, epochs_of, with_epochs
from training.ranking.figures import DOCUMENTS, NEVIR, RankingFigures
from training.ranking.pairs import kept_pairs, read_pairs
from training.ranking.request import request_of
from training.runs.removal import delete_run

Tiny = Callable[[str], Path]

EASY = {"epochs": 12, "batch_size": 8, "learning_rate": 5e-3}
"""Settings with which a tiny model learns the easy pairs."""


@pytest.fixture
def tiny(tiny_encoder: Path, tiny_cross: Path, tiny_colbert: Path) -> Tiny:
    found = {
        "bi-encoder": tiny_encoder,
        "cross-encoder": tiny_cross,
        "late-interaction": tiny_colbert,
    }
    return lambda architecture: found[architecture]


def figures(engine: Engine, run: Run) -> list[dict[str, float]]:
    with reading(engine) as session:
        return [epoch.figures for epoch in epochs_of(session, run)]


@pytest.mark.slow
@pytest.mark.parametrize("architecture", ["bi-encoder", "cross-encoder", "late-interaction"])
def test_each_architecture_learns_what_differs_on_passages_it_never_saw(
    engine: Engine, settings: Settings, tiny: Tiny, architecture: str
) -> None:
    run = carry_out(engine, settings, ask(engine, settings, base=str(tiny(architecture)), **EASY))
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
    held_out = read_pairs(settings.data_folder, request_of(run).data)
    again = RankingFigures([p for p in held_out.pairs if p.key in _held_out(run, held_out.pairs)])
    assert again.of(load_scorer(str(folder)))[NEVIR] == pytest.approx(result["after"][NEVIR])
    assert not list((settings.data_folder / run.folder).glob("checkpoint*"))


def _held_out(run: Run, pairs: Any) -> set[str]:
    from training.ranking.pairs import divided

    return {pair.key for pair in divided(pairs, name="").held_out}


def test_the_training_data_of_a_model_is_recorded_and_on_its_card(
    engine: Engine, settings: Settings, tiny_encoder: Path
) -> None:
    run = carry_out(
        engine, settings, ask(engine, settings, base=str(tiny_encoder), epochs=1, max_pairs=5)
    )
    (kept,) = kept_pairs(settings.data_folder)
    expected = read_pairs(settings.data_folder, kept.file)
    data = run.result["data"]
    assert (data["name"], data["hash"], data["pairs"]) == ("pairs.jsonl", expected.hash, 20)
    assert (data["trained_on"], data["passages"], data["held_out"]) == (5, 5, 4)
    assert run.inputs == {"data": expected.hash}
    card = (settings.data_folder / run.result["model"] / "README.md").read_text("utf-8")
    for text in (expected.hash, "pairs.jsonl", "| training pairs | 5 |", "Multiple", "a local"):
        assert text in card
    assert str(settings.data_folder) not in card and str(tiny_encoder) not in card
    assert not any(one["doc1"] in card for one in ENTRIES)


def test_a_finetuned_model_is_known_wherever_it_can_be_used(
    engine: Engine, settings: Settings, tiny_encoder: Path, tiny_cross: Path
) -> None:
    encoder, reranker = (
        carry_out(engine, settings, ask(engine, settings, base=str(base), epochs=1)).result["name"]
        for base in (tiny_encoder, tiny_cross)
    )
    with reading(engine) as session:
        assert {encoder, reranker} <= set(list_models(session))
        assert encoder in list_encoders(session) and reranker not in list_encoders(session)
        require_known_encoder(session, encoder)
        with pytest.raises(HedgerowError, match="Expected a text encoder, found 'run 2"):
            require_known_encoder(session, reranker)
    test = keep_data(
        settings.data_folder, NevIR.id, {"test.jsonl": lines([entry(0, "inn"), entry(1, "pub")])}
    )
    models = [ModelChoice(name=name) for name in (encoder, reranker)]
    ran(engine, settings, *models, benchmarks=(test.choice,))
    with reading(engine) as session:
        scored = {row.model: row.architecture for row in newest(session)}
    assert scored == {encoder: "bi-encoder", reranker: "cross-encoder"}


@pytest.mark.parametrize("architecture", ["cross-encoder", "late-interaction"])
def test_an_encoder_becomes_a_model_of_another_architecture(
    engine: Engine, settings: Settings, tiny_encoder: Path, architecture: str
) -> None:
    asked = ask(
        engine, settings, base=str(tiny_encoder), architecture=architecture, epochs=1, max_length=32
    )
    run = carry_out(engine, settings, asked)
    folder = settings.data_folder / run.result["model"]
    assert architecture_of(folder) == run.result["architecture"] == architecture
    scorer = load_scorer(str(folder))
    assert scorer.score([("Which bridge is open?", "It is open.")], asks="relevance").shape == (1,)


def test_a_finetuned_model_can_be_finetuned_again(
    engine: Engine, settings: Settings, tiny_cross: Path
) -> None:
    first = carry_out(engine, settings, ask(engine, settings, base=str(tiny_cross), epochs=1))
    second = carry_out(engine, settings, ask(engine, settings, base=first.result["name"], epochs=1))
    assert second.result["before"] == pytest.approx(first.result["after"])
    assert second.result["fingerprint"] != first.result["fingerprint"]


def test_equal_requests_make_equal_models(
    engine: Engine, settings: Settings, tiny_encoder: Path
) -> None:
    runs = [
        carry_out(engine, settings, ask(engine, settings, base=str(tiny_encoder), epochs=2, **more))
        for more in ({}, {}, {"seed": 7})
    ]
    first, same, other = (run.result["fingerprint"] for run in runs)
    assert first == same != other
    assert runs[0].result["name"] == runs[1].result["name"], "an equal encoder has one row"


@pytest.mark.slow
def test_a_run_that_was_interrupted_continues_after_its_last_epoch(
    engine: Engine, settings: Settings, tiny_encoder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    values = {"base": str(tiny_encoder), "epochs": 4}
    whole = carry_out(engine, settings, ask(engine, settings, **values))
    run = ask(engine, settings, **values)
    measure, seen = RankingFigures.of, list[int]()

    def failing(self: RankingFigures, scorer: Any) -> dict[str, float]:
        seen.append(1)
        if len(seen) == 4:  # after the third epoch
            raise HedgerowError("The power went out.")
        return measure(self, scorer)

    with monkeypatch.context() as patch:
        patch.setattr(RankingFigures, "of", failing)
        with pytest.raises(HedgerowError, match="power went out"):
            carry_out(engine, settings, run)
    assert len(figures(engine, run)) == 3
    assert list((settings.data_folder / run.folder).glob("checkpoint-*"))
    monkeypatch.setattr(RankingFigures, "of", lambda *given: (seen.append(2), measure(*given))[1])
    again = carry_out(engine, settings, run)
    assert seen.count(2) == 2, "two epochs were left"
    assert again.result["epochs"] == whole.result["epochs"]
    assert again.result["fingerprint"] == whole.result["fingerprint"]


def test_cancelling_ends_it_without_a_model(
    engine: Engine, settings: Settings, tiny_encoder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    run = ask(engine, settings, base=str(tiny_encoder), epochs=200)
    monkeypatch.setattr(execution, "HEARTBEAT_SECONDS", 0.01)
    real = RunContext.metric

    def cancelling(context: RunContext, step: int, name: str, value: float) -> None:
        real(context, step, name, value)
        with writing(engine) as session:
            request_cancel(session, run.id)

    monkeypatch.setattr(RunContext, "metric", cancelling)
    with pytest.raises(HedgerowError, match="was cancelled"):
        carry_out(engine, settings, run)
    ended = stored(engine, run)
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


@pytest.mark.parametrize(
    ("values", "sentence"),
    [
        ({"base": "./nowhere"}, "no model folder"),
        ({"base": "TINY", "architecture": "bi-encoder"}, "Expected a bi-encoder in .*cross-enc"),
        ({"base": "NLI"}, "with one output"),
        ({"data": "ranking_pairs/nevir/none.jsonl"}, "in the data folder, found none"),
    ],
)
def test_an_impossible_training_is_refused_and_nothing_is_stored(
    engine: Engine,
    settings: Settings,
    tiny_cross: Path,
    tiny_nli: Path,
    values: dict[str, Any],
    sentence: str,
) -> None:
    names = {"TINY": str(tiny_cross), "NLI": str(tiny_nli)}
    values = {key: names.get(value, value) for key, value in values.items()}
    with pytest.raises(HedgerowError, match=sentence):
        carry_out(engine, settings, ask(engine, settings, **values))


def test_pairs_of_a_tested_passage_are_refused(
    engine: Engine, settings: Settings, tiny_encoder: Path
) -> None:
    keep_data(settings.data_folder, NevIR.id, {"test.jsonl": lines(ENTRIES[-1:])})
    with pytest.raises(HedgerowError, match="shares 1 passage with 'test.jsonl'"):
        ask(engine, settings, base=str(tiny_encoder))
    with reading(engine) as session, pytest.raises(HedgerowError, match="no run 1"):
        get_run(session, 1)


def test_the_same_twice_at_once_is_refused(
    engine: Engine, settings: Settings, tiny_encoder: Path
) -> None:
    ask(engine, settings, base=str(tiny_encoder))
    with pytest.raises(HedgerowError, match="Run 1 is already training with the same settings"):
        ask(engine, settings, base=str(tiny_encoder))


def test_figures_of_several_runs_are_one_table(
    engine: Engine, settings: Settings, tiny_encoder: Path, tiny_cross: Path
) -> None:
    runs = [
        carry_out(engine, settings, ask(engine, settings, base=str(base), epochs=1))
        for base in (tiny_encoder, tiny_cross)
    ]
    with reading(engine) as session:
        header, rows = as_table(with_epochs(session, runs))
    assert header[:4] == ["run", "epoch", "step", "NevIR pairwise accuracy"]
    assert [row[:2] for row in rows] == [[1, 0], [1, 1], [2, 0], [2, 1]]
    assert all(len(row) == len(header) for row in rows)
    assert None not in rows[0] and rows[2][-1] is None


def test_a_reranker_is_published_with_its_card(
    engine: Engine, settings: Settings, tiny_cross: Path, hub: HubServer
) -> None:
    run = carry_out(engine, settings, ask(engine, settings, base=str(tiny_cross), epochs=1))
    (settings.data_folder / run.result["model"] / "README.md").unlink()
    with writing(engine) as session:
        asked = request_push(session, Subject(run=run.id), repo=f"{OWNER}/reranker")
    execution.execute(engine, load_settings(), asked.id, {push_run.KIND: push_run.work})
    files = hub.repos[("model", f"{OWNER}/reranker")].files
    assert "model.safetensors" in files
    assert f'CrossEncoder("{OWNER}/reranker")' in files["README.md"].decode()


def test_a_deleted_run_takes_its_model_along(
    engine: Engine, settings: Settings, tiny_cross: Path
) -> None:
    run = carry_out(engine, settings, ask(engine, settings, base=str(tiny_cross), epochs=1))
    delete_run(engine, settings, run.id)
    with reading(engine) as session:
        assert run.result["name"] not in list_models(session)
    assert not (settings.data_folder / run.folder).exists()
