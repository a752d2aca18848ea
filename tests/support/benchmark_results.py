"""Stored results of benchmarks in a project, as after a run, including hostile texts."""

from __future__ import annotations

from itertools import pairwise
from pathlib import Path

import numpy as np
from sqlalchemy.orm import Session

from curation.release.freezing import get_release
from db.errors import HedgerowError
from db.models import BenchmarkResult, Run, RunState, Split
from db.runs import create_run
from training.benchmarks.definition import Result
from training.benchmarks.results.saved import write_result
from training.benchmarks.results.statistics import interval
from training.benchmarks.runs.request import KIND
from training.benchmarks.tasks.general import QUICK
from training.benchmarks.tasks.own_families import Hedgerow
from training.benchmarks.tasks.semantoneg import Entry, SemAntoNeg

BI = "bi-encoder"


def add_result(
    session: Session,
    data_folder: Path,
    model: str,
    result: Result,
    *,
    hash_: str = "",
    data: str = "sample.jsonl",
    architecture: str = BI,
    scoring: str = "",
) -> Run:
    """Store a result of a model, and its items as a file."""
    run = create_run(
        session, kind=KIND, parameters={"models": [{"name": model}], "suites": ["quick"]}
    )
    run.state, run.result = RunState.DONE, {"measured": 1, "left_out": []}
    folder = data_folder / f"results-{run.id}"
    folder.mkdir(parents=True)
    write_result(result, folder / "rows.jsonl")
    session.add(
        BenchmarkResult(
            run_id=run.id,
            kind="negation",
            benchmark=result.benchmark,
            model=model,
            model_hash=hash_,
            architecture=architecture,
            scoring=scoring,
            data=data,
            data_hash=result.data_hash,
            metric=result.metric,
            score=result.score,
            n=result.n,
            ties=result.ties,
            unanswered=result.unanswered,
            summary=result.summary | {"interval": interval(result)._asdict()},
            file=f"{folder.name}/rows.jsonl",
        )
    )
    return run


def add_suite(session: Session, model: str, run: Run, score: float) -> None:
    """Store the tasks of mteb's suite 'quick', all with the same score."""
    for task in QUICK:
        session.add(
            BenchmarkResult(
                run_id=run.id,
                kind="general",
                benchmark=task,
                model=model,
                architecture=BI,
                data=f"mteb/{task}",
                data_hash="revision",
                metric="main",
                score=score,
                summary={"type": "STS", "suites": ["quick"]},
            )
        )


def add_hostile_results(session: Session, data_folder: Path, texts: list[str]) -> None:
    """Two models with this text as their name, on items with such texts, and on the newest
    release."""
    entries = [
        Entry(text, text, (other, f"{text} {other}", f"{other} {text}"))
        for text, other in pairwise(texts)
    ]
    semantoneg = SemAntoNeg(entries)
    own = _own(session)
    for number, model in enumerate(texts[:2]):
        random = np.random.default_rng(number)
        for benchmark in (semantoneg, own):
            scores = [random.random(len(question.candidates)) for question in benchmark.questions()]
            result = benchmark.evaluate(scores)
            run = add_result(session, data_folder, model[:300], result, data=texts[2][:300])
        add_suite(session, model[:300], run, 40.0 + number)


def _own(session: Session) -> Hedgerow:
    """The families of the newest release, from a split that has some."""
    release = get_release(session, None)
    for split in Split:
        try:
            return Hedgerow.of_release(session, release.id, split=split)
        except HedgerowError:
            continue
    raise AssertionError("the release has no family with both sides")
