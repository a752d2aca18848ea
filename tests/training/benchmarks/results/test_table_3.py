"""HedgeTriple's Table 3: language models next to encoders, with averages, kinds, time and cost."""

from __future__ import annotations

from typing import Any

import pytest
from sqlalchemy import Engine
from sqlalchemy.orm import Session

from db.engine import reading, writing
from db.models import BenchmarkResult
from db.runs import create_run
from training.benchmarks.results.paper_tables import Line, latex
from training.benchmarks.results.published import published
from training.benchmarks.results.queries import newest
from training.benchmarks.results.score_file import as_table, titles
from training.benchmarks.results.score_table import (
    NEGATION_COLUMN,
    columns,
    general_column,
    lines,
    unlike_published,
)
from training.benchmarks.results.spending import DETAILS, details, per_item, shown

NEGATION = {"nevir": 40.0, "excluir": 70.0, "cannot": 50.0, "m3": 60.0}
TASKS = {"mmlu": (60.0, 14_042), "hellaswag": (70.0, 10_042), "gsm8k": (50.0, 100)}

TABLE = general_column("table3")

HEDGE = "Llama-3-8B-Hedge"


def add(session: Session, model: str, benchmark: str, score: float, **more: Any) -> None:
    run = create_run(session, kind="benchmark", parameters={})
    values: dict[str, Any] = {
        "kind": "negation",
        "architecture": "causal-lm",
        "data": "data",
        "data_hash": "d" * 64,
        "metric": "metric",
        "n": 10,
    }
    row = {"run_id": run.id, "benchmark": benchmark, "model": model, "score": score}
    session.add(BenchmarkResult(**row | values | more))
    session.flush()


def add_task(session: Session, model: str, name: str, **more: Any) -> None:
    score, n = TASKS.get(name, (10.0, 4))
    values = {"kind": "general", "n": n, "file": "rows.jsonl"} | more
    add(session, model, f"lm_eval:{name}", score, **values)


def shown_lines(engine: Engine) -> tuple[list[Line], dict[str, str]]:
    with reading(engine) as session:
        rows = newest(session)
    return lines(rows, trained_from={}), dict(titles(columns(rows)))


def named(made: list[Line], model: str, source: str = "") -> Line:
    (found,) = (one for one in made if one.model == model and source in one.source)
    return found


@pytest.fixture
def both(engine: Engine) -> None:
    """An encoder with the four benchmarks, and a language model with these and the three tasks."""
    with writing(engine) as session:
        for name, score in NEGATION.items():
            add(session, "encoder", name, score, architecture="bi-encoder")
            add(session, "llama", name, score + 10, summary={"seconds": 20.0, "cost": None})
        for name in TASKS:
            add_task(session, "llama", name, summary={"seconds": 5.0, "cost": None})
        add(session, "gpt", "nevir", 80.0, architecture="chat", summary={"seconds": 5, "cost": 1.2})
        add_task(session, "llama", "my_own")


def test_encoders_and_language_models_are_in_one_table(engine: Engine, both: None) -> None:
    made, names = shown_lines(engine)
    assert list(names.values()) == [
        *("NevIR", "ExcluIR", "CANNOT", "M3-Counterfactual", "Negation average"),
        *("MMLU (5-shot)", "HellaSwag (0-shot)", "GSM8K (5-shot, CoT)", "my_own"),
        "General, Table 3",
    ]
    llama, encoder = named(made, "llama (causal-lm)"), named(made, "encoder")
    assert llama.scores[NEGATION_COLUMN] == 65.0 and llama.scores[TABLE] == 60.0
    assert encoder.scores[NEGATION_COLUMN] == 55.0 and TABLE not in encoder.scores
    keys = {title: key for key, title in names.items()}
    hedge = named(made, HEDGE)
    assert (hedge.kind, hedge.source) == ("causal-lm", "HedgeTriple, Table 3: language models")
    assert {title: hedge.scores[key] for title, key in keys.items() if key in hedge.scores} == {
        "NevIR": 78.13,
        "ExcluIR": 93.4,
        "CANNOT": 60.89,
        "M3-Counterfactual": 76.27,
        "Negation average": 77.17,
        "MMLU (5-shot)": 63.03,
        "HellaSwag (0-shot)": 75.31,
        "GSM8K (5-shot, CoT)": 67.1,
        "General, Table 3": 68.48,
    }
    mpnet = named(made, "HedgeMPNet")
    assert mpnet.kind == "bi-encoder" and mpnet.scores[NEGATION_COLUMN] == 54.17
    assert named(made, "Only negation", "Table 2").kind == "bi-encoder"
    assert named(made, "Only negation", "Table 3").kind == "causal-lm"


def test_the_general_average_needs_all_three(engine: Engine) -> None:
    with writing(engine) as session:
        add_task(session, "llama", "mmlu")
        add_task(session, "llama", "hellaswag")
    made, names = shown_lines(engine)
    assert list(names.values()) == ["MMLU (5-shot)", "HellaSwag (0-shot)"]
    assert TABLE not in named(made, "llama (causal-lm)").scores
    with writing(engine) as session:
        add_task(session, "other", "gsm8k")
    assert "General, Table 3" not in shown_lines(engine)[1].values(), "two models have them"


def test_published_averages_of_language_models_follow_from_their_lines() -> None:
    scores: dict[str, dict[str, float]] = {}
    for number in published():
        if number.benchmark.startswith("lm_eval"):
            scores.setdefault(number.model, {})[number.benchmark] = number.score
    assert len(scores) == 4
    for found in scores.values():
        assert found.pop("lm_eval") == pytest.approx(sum(found.values()) / 3, abs=0.006)


def test_time_and_cost_for_an_item(engine: Engine, both: None) -> None:
    made, names = shown_lines(engine)
    nevir = next(key for key, title in names.items() if title == "NevIR")
    llama, gpt = named(made, "llama (causal-lm)"), named(made, "gpt (chat)")
    assert per_item(llama, [nevir]) == (2.0, None)
    assert per_item(gpt, names) == (0.5, 0.12)
    assert details(gpt, DETAILS, list(names)) == ["chat", "0.50", "0.12"]
    assert details(named(made, "encoder"), DETAILS, list(names)) == ["bi-encoder", "–", "–"]
    four = (2.0 * 4 + 5 / 14_042 + 5 / 10_042 + 5 / 100) / 7
    assert per_item(llama, names).seconds == pytest.approx(four)
    assert [shown(value) for value in (None, 0.0, 1234.56, 0.000123, 45.67)] == [
        *("–", "0", "1,234.6", "0.00012", "45.7")
    ]


def test_the_table_as_files(engine: Engine, both: None) -> None:
    with reading(engine) as session:
        rows = newest(session)
    found = columns(rows)
    made = lines(rows, trained_from={})
    head, body = as_table(made, found)
    cells = [dict(zip(head, row, strict=True)) for row in body]
    (gpt,) = (cell for cell in cells if cell["model"] == "gpt (chat)")
    assert (gpt["kind"], gpt["seconds per item"], gpt["US dollars per item"]) == ("chat", 0.5, 0.12)
    (hedge,) = (c for c in cells if (c["model"], c["benchmark"]) == (HEDGE, "MMLU (5-shot)"))
    assert (hedge["source"], hedge["kind"], hedge["score"]) == ("published", "causal-lm", 63.03)
    kinds = {"Kind": [line.kind for line in made]}
    table = latex(made, titles(found), details=kinds)
    assert r"\begin{tabular}{llrrrrrrrrrr}" in table and "Model & Kind & NevIR" in table
    assert r"\textit{Llama-3-8B-Hedge} (published) & causal-lm & 78.1" in table
    unlike = unlike_published(made, found)
    assert "GSM8K (5-shot, CoT)" in unlike and "MMLU (5-shot)" not in unlike, "100 items of 1,319"
