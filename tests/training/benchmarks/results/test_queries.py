"""Queries for stored results: the newest, models and their bases, tests of two, the table."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import Engine
from sqlalchemy.orm import Session

from db.engine import reading, writing
from db.errors import HedgerowError
from db.models import BenchmarkResult, Encoder, RunState
from db.runs import create_run
from db.settings import Settings
from tests.support.databases import both_databases, one_database
from tests.training.benchmarks.support.running import nevir, ran, semantoneg
from training.benchmarks.catalogue import NEGATION_AVERAGE
from training.benchmarks.results.paper_tables import cells, latex
from training.benchmarks.results.published import published
from training.benchmarks.results.queries import (
    bases,
    full_result,
    newest,
    of_run,
    paired,
)
from training.benchmarks.results.score_file import as_table
from training.benchmarks.results.score_table import (
    NEGATION_COLUMN,
    columns,
    general_column,
    lines,
    points,
    unlike_published,
)
from training.benchmarks.results.statistics import compare
from training.benchmarks.runs.measured_models import ModelChoice
from training.benchmarks.tasks.general import SUITES

pytestmark = both_databases


def add(session: Session, **more: Any) -> BenchmarkResult:
    """A stored result. By default, it is that of a bi-encoder on some items of NevIR."""
    run_id = more.pop("run_id", None) or create_run(session, kind="benchmark", parameters={}).id
    values: dict[str, Any] = {
        "run_id": run_id,
        "kind": "negation",
        "benchmark": "nevir",
        "model": "a",
        "architecture": "bi-encoder",
        "data": "test.jsonl",
        "data_hash": "d" * 64,
        "metric": "pairwise accuracy",
        "score": 20.0,
        "n": 10,
    }
    row = BenchmarkResult(**values | more)
    session.add(row)
    session.flush()
    return row


def add_task(session: Session, model: str, task: str, type_: str, score: float) -> None:
    add(
        session,
        kind="general",
        benchmark=task,
        model=model,
        metric="cosine_spearman",
        n=0,
        data_hash="revision",
        summary={"type": type_},
        score=score,
    )


def test_the_newest_of_a_model_an_architecture_and_data_counts(engine: Engine) -> None:
    with writing(engine) as session:
        old = add(session, score=10.0)
        new = add(session, score=30.0)
        other = add(session, data_hash="e" * 64)
        sparse = add(session, architecture="sparse")
        task = add(session, kind="general", benchmark="SICK-R")
        ids = [row.id for row in (old, new, other, sparse, task)]
        run_id = new.run_id
    with reading(engine) as session:
        rows = newest(session)
        assert [row.id for row in rows] == ids[:0:-1]
        assert [row.title for row in rows] == ["a", "a (sparse)", "a", "a"]
        assert [row.id for row in newest(session, kind="general")] == ids[4:]
        assert [row.id for row in newest(session, benchmark="nevir")] == ids[3:0:-1]
        assert [row.id for row in of_run(session, run_id)] == [ids[1]]


def test_a_model_is_compared_with_the_one_it_was_trained_from(
    engine: Engine, tmp_path: Path
) -> None:
    with writing(engine) as session:
        base = Encoder(name="base", fingerprint="b" * 64)
        session.add(base)
        session.flush()
        session.add(
            Encoder(name="run 1: base", fingerprint="c" * 64, path="runs/1", base_id=base.id)
        )
        add(session, model="run 1: base", model_hash="c" * 64, score=50.0)
        add(session, model="/home/base", model_hash="b" * 64, score=20.0)
        add(session, model="other", model_hash="f" * 64, score=40.0)
    with reading(engine) as session:
        rows = newest(session)
        trained_from = bases(session, tmp_path, rows)
    assert trained_from == {("run 1: base", "bi-encoder", ""): ("/home/base", "bi-encoder", "")}
    shown = columns(rows)
    made = [line for line in lines(rows, trained_from=trained_from) if not line.published]
    table = cells(made, [column.key for column in shown])
    found = {
        line.model: (cell[shown[0].key].delta, cell[shown[0].key].place)
        for line, cell in zip(made, table, strict=True)
    }
    assert found == {
        "run 1": (30.0, "best"),
        "base": (None, ""),
        "other": (None, "second"),
    }


@one_database
def test_a_language_model_is_compared_with_its_base(engine: Engine, tmp_path: Path) -> None:
    folders = {name: f"runs/00001-finetune-llm/{name}" for name in ("model", "merged")}
    names = {name: str(tmp_path / folder) for name, folder in folders.items()}
    with writing(engine) as session:
        run = create_run(session, kind="finetune-llm", parameters={})
        run.state, run.result = RunState.DONE, folders | {"base_fingerprint": "b" * 64}
        add(session, model="/models/small", model_hash="b" * 64, architecture="causal-lm")
        for name in names.values():
            add(session, model=name, architecture="causal-lm")
        add(session, model="/elsewhere/runs/00001-finetune-llm/model", architecture="causal-lm")
    with reading(engine) as session:
        rows = newest(session)
        trained_from = bases(session, tmp_path, rows)
    base = ("/models/small", "causal-lm", "")
    assert trained_from == {(name, "causal-lm", ""): base for name in names.values()}
    assert {row.model: row.title for row in rows} == {
        "/models/small": "small (causal-lm)",
        names["merged"]: "run 1, merged (causal-lm)",
        names["model"]: f"{names['model']} (causal-lm)",
        "/elsewhere/runs/00001-finetune-llm/model": (
            "/elsewhere/runs/00001-finetune-llm/model (causal-lm)"
        ),
    }


@one_database
def test_published_lines_are_separate_and_next_to_the_largest_data(engine: Engine) -> None:
    with writing(engine) as session:
        add(session, score=90.0)
        add(session, score=10.0, data_hash="e" * 64, n=1380)
    with reading(engine) as session:
        rows = newest(session)
    shown = columns(rows)
    assert [(column.benchmark, column.n, column.chance) for column in shown] == [
        ("nevir", 1380, 25.0),
        ("nevir", 10, 25.0),
    ]
    made = lines(rows, trained_from={})
    reference = [line for line in made if line.published]
    assert len(made) - len(reference) == 1
    assert {key for line in reference for key in line.scores} == {shown[0].key}
    mine = {number.score for number in published() if number.benchmark == "nevir"}
    assert {line.scores[shown[0].key] for line in reference} <= mine and len(reference) > 20
    assert latex(made, {column.key: column.title for column in shown}).count("(published)") > 20


@one_database
def test_published_numbers_next_to_other_data_are_reported_and_keep_their_own(
    engine: Engine,
) -> None:
    with writing(engine) as session:
        add(session, benchmark="nevir", n=1383)
        add(session, benchmark="semantoneg", n=1383)
        add(session, benchmark="cannot", n=77_376, data="mine.tsv")
    with reading(engine) as session:
        rows = newest(session)
    shown, made = columns(rows), lines(rows, trained_from={})
    assert unlike_published(made, shown) == ["CANNOT", "SemAntoNeg"]
    assert unlike_published([line for line in made if not line.published], shown) == []
    head, table = as_table(made, shown)
    cannot = [dict(zip(head, row, strict=True)) for row in table if row[2] == "CANNOT"]
    assert {row["data"] for row in cannot if row["source"] == "measured"} == {"mine.tsv"}
    papers = [row for row in cannot if row["source"] == "published"]
    assert papers and all("Table" in row["data"] and row["items"] == "" for row in papers)


@one_database
def test_averages_and_the_scatter_take_whole_suites_only(engine: Engine) -> None:
    with writing(engine) as session:
        for model, score in (("a", 40.0), ("b", 60.0)):
            for name in NEGATION_AVERAGE:
                add(session, model=model, benchmark=name, score=score)
            for number, task in enumerate(SUITES["quick"]):
                if model == "a" or number:
                    add_task(session, model, task, "STS" if number < 2 else "Other", 80.0 - number)
        add(session, model="b", benchmark="cannot", data_hash="small", n=3, score=0.0)
    with reading(engine) as session:
        rows = newest(session)
    quick = general_column("quick")
    assert [column.key for column in columns(rows)[-2:]] == [NEGATION_COLUMN, quick]
    assert {column.benchmark for column in columns(rows, tasks=True)} >= set(SUITES["quick"])
    made = lines(rows, trained_from={})
    scores = {line.model: line.scores for line in made if not line.published}
    assert scores["a"][quick] == pytest.approx((79.5 + sum(range(73, 79)) / 6) / 2)
    assert quick not in scores["b"]
    assert (scores["a"][NEGATION_COLUMN], scores["b"][NEGATION_COLUMN]) == (40.0, 60.0)
    (point,) = points(made, negation=[NEGATION_COLUMN], general=quick)
    assert (point.model, point.negation, point.published) == ("a", 40.0, False)
    full = points(made, negation=[NEGATION_COLUMN], general=general_column("full"))
    assert full == []  # nobody measured it, so it has no column


@pytest.mark.slow
@one_database
def test_two_models_are_tested_on_the_same_items(engine: Engine, settings: Settings) -> None:
    models = [ModelChoice(architecture=kind) for kind in ("tf-idf", "random")]
    ran(engine, settings, *models, benchmarks=(semantoneg(settings), nevir(settings)))
    with reading(engine) as session:
        rows = {(row.architecture, row.benchmark): row for row in newest(session)}
    one, two = rows["tf-idf", "semantoneg"], rows["random", "semantoneg"]
    found = paired(settings.data_folder, one, two).comparison
    assert found == compare(
        full_result(settings.data_folder, one), full_result(settings.data_folder, two)
    )
    with pytest.raises(HedgerowError, match="the same items, found different data"):
        paired(settings.data_folder, one, rows["random", "nevir"])


@pytest.mark.slow
@one_database
def test_a_result_whose_file_is_gone(engine: Engine, settings: Settings) -> None:
    ran(engine, settings, ModelChoice(architecture="random"), benchmarks=(nevir(settings),))
    with reading(engine) as session:
        (row,) = newest(session)
    (settings.data_folder / Path(row.file)).unlink()
    with pytest.raises(HedgerowError, match="Could not read"):
        full_result(settings.data_folder, row)
