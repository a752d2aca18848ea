"""The estimated time of a finetuning run on NevIR's pairs."""

from __future__ import annotations

import socket
from pathlib import Path

import pytest
from sqlalchemy import Engine

from db.engine import reading, writing
from db.models import RunState
from db.settings import Settings
from tests.training.ranking.support.finetunings import ask
from training.ranking.request import RankingRequest, parts_asked, request_of
from training.ranking.time_needed import characters_read, estimate
from training.recipe.time_estimate import PREPARING


def test_a_cross_encoder_and_further_epochs_read_more(engine: Engine, settings: Settings) -> None:
    request = request_of(ask(engine, settings))
    parts = parts_asked(settings.data_folder, request)
    few, many = (request.model_copy(update={"epochs": n}) for n in (1, 2))
    encoder = [characters_read(parts, one, "bi-encoder") for one in (few, many)]
    cross = [characters_read(parts, one, "cross-encoder") for one in (few, many)]
    assert cross[0] > 2 * encoder[0], "it reads each question with ten passages"
    assert encoder[0] < encoder[1] < 2 * encoder[0], "the first evaluation happens once"
    queries = sum(len(text) + 9 for pair in parts.train for text in pair.queries)
    documents = sum(len(text) + 9 for pair in parts.train for text in pair.documents)
    one_measuring = 2 * encoder[0] - encoder[1]
    one_epoch = encoder[0] - 2 * one_measuring
    assert one_epoch == pytest.approx(queries + 2 * documents), "each is right and wrong once"


def test_the_last_finetuning_here_tells_the_pace(
    engine: Engine, settings: Settings, tiny_encoder: Path
) -> None:
    run = ask(engine, settings, base=str(tiny_encoder))
    request = request_of(run)
    parts = parts_asked(settings.data_folder, request)
    wanted = characters_read(parts, request, "bi-encoder")

    def guess(request: RankingRequest) -> tuple[float, int | None]:
        with reading(engine) as session:
            return estimate(session, settings, request, parts)

    assert guess(request)[1] is None
    with writing(engine) as session:
        stored = session.merge(run)
        stored.state, stored.host = RunState.DONE, socket.gethostname()
        stored.result = {"architecture": "bi-encoder", "pace": wanted / 60}
    assert guess(request) == (pytest.approx(PREPARING + 60), run.id)
    assert guess(request.model_copy(update={"architecture": "cross-encoder"}))[1] is None
