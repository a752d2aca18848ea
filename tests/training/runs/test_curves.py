"""Evaluations on the held-out part as rows for charts."""

import pytest
from sqlalchemy import Engine

from db.engine import reading, writing
from db.models import RunMetric
from db.runs import create_run
from tests.support.databases import both_databases
from training.runs.curves import (
    Band,
    CurvePoint,
    Evaluations,
    PairShare,
    cosines,
    general,
    pair_shares,
    read_evaluations,
    shares,
)

pytestmark = both_databases

STORED = {
    (0, "epoch"): 0.0,
    (0, "ranked"): 0.5,
    (0, "ranked:word>verbal"): 0.25,
    (0, "sts"): 0.8,
    (0, "cosine:hedge"): 0.9,
    (0, "cosine:hedge:sd"): 0.05,
    (6, "epoch"): 0.5,
    (6, "ranked"): 0.75,
    (6, "ranked:word>verbal"): 0.5,
    (6, "sts"): 0.79,
    (6, "cosine:hedge"): 0.8,
    (6, "cosine:hedge:sd"): 0.1,
    (5, "loss"): 2.5,
    (5, "learning_rate"): 1e-5,
    (5, "characters_per_second"): 30.0,
}


def test_looks_are_read_as_rows_by_epoch(engine: Engine) -> None:
    with writing(engine) as session:
        run_id = create_run(session, kind="train", parameters={}).id
        other = create_run(session, kind="train", parameters={}).id
        for (step, name), value in STORED.items():
            session.add(RunMetric(run_id=run_id, name=name, step=step, value=value))
        session.add(RunMetric(run_id=other, name="loss", step=1, value=1.0))
    with reading(engine) as session:
        evaluations = read_evaluations(session, run_id)
        assert read_evaluations(session, other) is None
    assert evaluations is not None and evaluations.last == 6
    assert shares(evaluations) == [
        CurvePoint(0.0, 0, "triples ranked correctly", 0.5),
        CurvePoint(0.5, 6, "triples ranked correctly", 0.75),
    ]
    assert [point.value for point in general(evaluations, "sts")] == [0.8, 0.79]
    assert general(evaluations, "drift") == []
    assert cosines(evaluations)[1] == Band(0.5, 6, "hedges", 0.8, 0.8 - 0.1, 0.8 + 0.1)
    assert pair_shares(evaluations) == [PairShare("word", "verbal", 0.25, 0.5)]


def test_no_band_exceeds_the_range_of_a_cosine() -> None:
    figures = {"cosine:hedge": {0: 0.97, 6: -0.98}, "cosine:hedge:sd": {0: 0.032, 6: 0.05}}
    evaluations = Evaluations(epochs={0: 0.0, 6: 1.0}, figures=figures)
    assert [band.upper for band in cosines(evaluations)] == [1.0, pytest.approx(-0.93)]
    assert [band.lower for band in cosines(evaluations)] == [pytest.approx(0.938), -1.0]
