"""Stored results: queries, and the table of all models' scores with those of papers."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from sqlalchemy import Engine
from sqlalchemy.orm import Session

from curation.encoders.model_folders import TRAINED_ENCODER
from db.engine import reading, writing
from db.errors import HedgerowError
from db.models import Encoder, Release, RunState, Split
from db.runs import create_run
from db.settings import Settings
from tests.curation.support.families import add_family
from tests.support.benchmark_results import add_result
from tests.support.databases import both_databases
from tests.support.factories import freeze
from tests.training.benchmarks.support.running import add, add_task
from tests.training.benchmarks.support.samples import semantoneg_rows, write_lines
from training.benchmarks.definition import Result
from training.benchmarks.results.paper_tables import (
    Line,
    cells,
    latex,
    paper_of,
    published,
    shortened,
)
from training.benchmarks.results.queries import bases, newest, of_run
from training.benchmarks.results.score_file import as_table, titles
from training.benchmarks.results.score_table import (
    DETAILS,
    NEGATION_COLUMN,
    ScoreColumn,
    columns,
    details,
    general_column,
    lines,
    per_item,
    points,
    shown,
    unlike_published,
)
from training.benchmarks.results.semantoneg_analyses import (
    UnseenScore,
    pairs_in_corpora,
    taught_pairs,
    unseen_scores,
)
from training.benchmarks.tasks.general import SUITES
from training.benchmarks.tasks.semantoneg import Entry, SemAntoNeg

NEGATION = {"nevir": 40.0, "excluir": 70.0, "cannot": 50.0, "m3": 60.0}
TASKS = {"mmlu": (60.0, 14_042), "hellaswag": (70.0, 10_042), "gsm8k": (50.0, 100)}
TABLE = general_column("table3")
HEDGE = "Llama-3-8B-Hedge"


def named(made: list[Line], model: str, source: str = "") -> Line:
    (found,) = (one for one in made if one.model == model and source in one.source)
    return found


def add_language_task(session: Session, model: str, name: str, **more: Any) -> None:
    score, n = TASKS.get(name, (10.0, 4))
    values = {"kind": "general", "n": n, "file": "rows.jsonl", "architecture": "causal-lm"} | more
    add(session, benchmark=f"lm_eval:{name}", model=model, score=score, **values)


def shown_lines(engine: Engine, **how: Any) -> tuple[list[ScoreColumn], list[Line]]:
    with reading(engine) as session:
        rows = newest(session)
    return columns(rows, **how), lines(rows, trained_from={})


@pytest.fixture
def both(engine: Engine) -> tuple[list[ScoreColumn], list[Line]]:
    """The table of an encoder with the four benchmarks, a language model with these and the three
    tasks, and a chat model."""
    with writing(engine) as session:
        for name, score in NEGATION.items():
            add(session, model="encoder", benchmark=name, score=score)
            llama = {"model": "llama", "architecture": "causal-lm", "score": score + 10}
            add(session, **llama, benchmark=name, summary={"seconds": 20.0, "cost": None})
        for name in TASKS:
            add_language_task(session, "llama", name, summary={"seconds": 5.0, "cost": None})
        spent = {"seconds": 5, "cost": 1.2}
        add(session, model="gpt", score=80.0, architecture="chat", summary=spent)
        add_language_task(session, "llama", "my_own")
    return shown_lines(engine)


def test_encoders_and_language_models_are_in_one_table(both: tuple[Any, list[Line]]) -> None:
    found, made = both
    names = {column.title: column.key for column in found}
    assert list(names) == [
        *("NevIR", "ExcluIR", "CANNOT", "M3-Counterfactual", "Negation average"),
        *("MMLU (5-shot)", "HellaSwag (0-shot)", "GSM8K (5-shot, CoT)", "my_own"),
        "General, Table 3",
    ]
    llama, encoder = named(made, "llama (causal-lm)"), named(made, "encoder")
    assert llama.scores[NEGATION_COLUMN] == 65.0 and llama.scores[TABLE] == 60.0
    assert encoder.scores[NEGATION_COLUMN] == 55.0 and TABLE not in encoder.scores
    hedge = named(made, HEDGE)
    assert (hedge.kind, hedge.source) == ("causal-lm", "HedgeTriple, Table 3: language models")
    assert [hedge.scores.get(key) for key in names.values()] == [
        *(78.13, 93.4, 60.89, 76.27, 77.17, 63.03, 75.31, 67.1, None, 68.48)
    ]
    mpnet = named(made, "HedgeMPNet")
    assert mpnet.kind == "bi-encoder" and mpnet.scores[NEGATION_COLUMN] == 54.17
    kinds = [named(made, "Only negation", f"Table {n}").kind for n in (2, 3)]
    assert kinds == ["bi-encoder", "causal-lm"]


def test_time_and_cost_for_an_item(both: tuple[list[ScoreColumn], list[Line]]) -> None:
    found, made = both
    keys = [column.key for column in found]
    llama, gpt = named(made, "llama (causal-lm)"), named(made, "gpt (chat)")
    assert per_item(llama, keys[:1]) == (2.0, None)
    assert per_item(gpt, keys) == (0.5, 0.12)
    assert details(gpt, DETAILS, keys) == ["chat", "0.50", "0.12"]
    assert details(named(made, "encoder"), DETAILS, keys) == ["bi-encoder", "–", "–"]
    four = (2.0 * 4 + 5 / 14_042 + 5 / 10_042 + 5 / 100) / 7
    assert per_item(llama, keys).seconds == pytest.approx(four)
    numbers = [shown(value) for value in (None, 0.0, 1234.56, 0.000123, 45.67)]
    assert numbers == ["–", "0", "1,234.6", "0.00012", "45.7"]


def test_the_table_as_files(both: tuple[list[ScoreColumn], list[Line]]) -> None:
    found, made = both
    head, body = as_table(made, found)
    cells = [dict(zip(head, row, strict=True)) for row in body]
    (gpt,) = (cell for cell in cells if cell["model"] == "gpt (chat)")
    assert (gpt["kind"], gpt["seconds per item"], gpt["US dollars per item"]) == ("chat", 0.5, 0.12)
    (hedge,) = (c for c in cells if (c["model"], c["benchmark"]) == (HEDGE, "MMLU (5-shot)"))
    assert (hedge["source"], hedge["kind"], hedge["score"]) == ("published", "causal-lm", 63.03)
    table = latex(made, titles(found), details={"Kind": [line.kind for line in made]})
    assert r"\begin{tabular}{llrrrrrrrrrr}" in table and "Model & Kind & NevIR" in table
    assert r"\textit{Llama-3-8B-Hedge} (published) & causal-lm & 78.1" in table
    unlike = unlike_published(made, found)
    assert "GSM8K (5-shot, CoT)" in unlike and "MMLU (5-shot)" not in unlike, "100 items of 1,319"


def test_published_lines_are_next_to_the_largest_data_and_keep_their_own(engine: Engine) -> None:
    with writing(engine) as session:
        add(session, score=90.0)
        add(session, score=10.0, data_hash="e" * 64, n=1383)
        add(session, benchmark="semantoneg", n=1383)
        add(session, benchmark="cannot", n=77_376, data="mine.tsv")
    found, made = shown_lines(engine)
    large, small, *_ = found
    assert (large.benchmark, large.n, small.n, large.chance) == ("nevir", 1383, 10, 25.0)
    mine, reference = ([line for line in made if line.published == side] for side in (False, True))
    assert len(mine) == 1 and not any(small.key in line.scores for line in reference)
    papers = {number.score for number in published() if number.benchmark == "nevir"}
    shown = [line.scores[large.key] for line in reference if large.key in line.scores]
    assert set(shown) <= papers and len(shown) > 20
    assert latex(made, titles(found)).count("(published)") == len(reference)
    assert unlike_published(made, found) == ["CANNOT", "SemAntoNeg"]
    assert unlike_published(mine, found) == []
    head, table = as_table(made, found)
    cannot = [dict(zip(head, row, strict=True)) for row in table if row[2] == "CANNOT"]
    assert {row["data"] for row in cannot if row["source"] == "measured"} == {"mine.tsv"}
    papers_rows = [row for row in cannot if row["source"] == "published"]
    assert papers_rows and all("Table" in row["data"] for row in papers_rows)
    assert {row["items"] for row in papers_rows} == {""}


def test_averages_and_the_scatter_take_whole_suites_only(engine: Engine) -> None:
    with writing(engine) as session:
        for model, score in (("a", 40.0), ("b", 60.0)):
            for name in NEGATION:
                add(session, model=model, benchmark=name, score=score)
            for number, task in enumerate(SUITES["quick"]):
                if model == "a" or number:
                    add_task(session, model, task, "STS" if number < 2 else "Other", 80.0 - number)
        add(session, model="b", benchmark="cannot", data_hash="small", n=3, score=0.0)
        for model, task in (("b", "mmlu"), ("b", "hellaswag"), ("other", "gsm8k")):
            add_language_task(session, model, task)
    quick = general_column("quick")
    found, made = shown_lines(engine)
    keys = [column.key for column in found]
    assert {NEGATION_COLUMN, quick} < set(keys) and TABLE not in keys
    tasks, _ = shown_lines(engine, tasks=True)
    assert {column.benchmark for column in tasks} >= set(SUITES["quick"])
    scores = {line.model: line.scores for line in made if not line.published}
    assert scores["a"][quick] == pytest.approx((79.5 + sum(range(73, 79)) / 6) / 2)
    assert quick not in scores["b"]
    assert (scores["a"][NEGATION_COLUMN], scores["b"][NEGATION_COLUMN]) == (40.0, 60.0)
    (point,) = points(made, negation=[NEGATION_COLUMN], general=quick)
    assert (point.model, point.negation, point.published) == ("a", 40.0, False)
    assert points(made, negation=[NEGATION_COLUMN], general=general_column("full")) == []


THREE = [
    Line("base", {"nevir": 8.1, "m3": 16.2}),
    Line("mine_2", {"nevir": 40.6, "m3": -3.04}, base="base"),
    Line("Paper's", {"nevir": 50.6}, published=True),
]


def test_published_scores_are_neither_ranked_nor_compared() -> None:
    base, mine, paper = cells(THREE, ["nevir", "m3"])
    assert (mine["nevir"].place, base["nevir"].place) == ("best", "second")
    assert mine["nevir"].delta == pytest.approx(32.5) and base["nevir"].delta is None
    assert (paper["nevir"].place, paper["nevir"].delta) == ("", None) and "m3" not in paper
    assert base["m3"].place == "best" and mine["m3"].delta == pytest.approx(-19.24)
    alone = [replace(line, base="") for line in THREE]
    assert all(cell.delta is None for line in cells(alone, ["nevir"]) for cell in line.values())
    with pytest.raises(HedgerowError, match="Paper's"):
        cells([replace(THREE[0], base="Paper's"), THREE[2]], ["nevir"])


def test_latex() -> None:
    made = latex([THREE[2], *THREE[:2]], {"nevir": "NevIR", "m3": "M3 & co"}, caption="50%")
    body = made.splitlines()
    assert body[4:10] == [
        r"Model & NevIR & M3 \& co \\",
        r"\midrule",
        r"base & \underline{8.1} & \textbf{16.2} \\",
        r"mine\_2 & \textbf{40.6} & $-$3.0 \\",
        r"\midrule",
        r"\textit{Paper's} (published) & 50.6 & -- \\",
    ]
    assert r"\caption{50\%}" in body and made.count("{") == made.count("}")


MANY = [
    Line(f"model-{n}", {"s": float(n)}, published=True, source="Large, Table 8") for n in range(50)
]

FEW = [Line(name, {"n": 1.0}, published=True, source="Small, Table 2") for name in "ab"]
OWN = [Line("/somewhere/Model-3", {"s": 1.0}), Line("mine", {"s": 2.0})]


def test_a_long_paper_has_what_is_measured_here_and_its_best_unless_one_searches() -> None:
    shown, left_out = shortened([*OWN, *FEW, *MANY], most=5)
    best = ["model-49", "model-48", "model-47", "model-46"]
    assert [line.model for line in shown] == [*(o.model for o in OWN), "a", "b", *best, "model-3"]
    assert left_out == 45
    shown, left_out = shortened([*OWN, *FEW, *MANY], search=" 4 MODEL ", most=5)
    wanted = [line.model for line in reversed(MANY) if "4" in line.model]
    assert len(wanted) == 14 and left_out == 50 - len(wanted)
    assert [line.model for line in shown] == [*(o.model for o in OWN), "a", "b", *wanted]
    assert shortened([*OWN, *MANY], search="nothing")[0] == OWN
    assert paper_of(MANY[0]) == "Large" and paper_of(OWN[0]) == ""


@both_databases
def test_the_newest_of_a_model_an_architecture_and_data_counts(engine: Engine) -> None:
    chat = {"model": "llm", "architecture": "chat"}
    with writing(engine) as session:
        rows = [
            add(session, score=10.0),
            add(session, score=30.0),
            add(session, data_hash="e" * 64),
            add(session, architecture="sparse"),
            add(session, **chat),  # as stored when each question had one order
            add(session, **chat, scoring="both orders"),
            add(session, kind="general", benchmark="SICK-R"),
        ]
        ids, run_id = [row.id for row in rows], rows[1].run_id
    with reading(engine) as session:
        found = newest(session)
        assert [row.id for row in found] == ids[:0:-1]
        titles = ["a", "llm (chat, both orders)", "llm (chat)", "a (sparse)", "a", "a"]
        assert [row.title for row in found] == titles and found[1].asked == {}
        assert [row.id for row in newest(session, kind="general")] == ids[6:]
        assert [row.id for row in newest(session, benchmark="nevir")] == ids[5:0:-1]
        assert [row.id for row in of_run(session, run_id)] == [ids[1]]


@both_databases
def test_a_model_is_compared_with_the_one_it_was_trained_from(
    engine: Engine, tmp_path: Path
) -> None:
    with writing(engine) as session:
        base = Encoder(name="base", fingerprint="b" * 64)
        session.add(base)
        session.flush()
        trained = {"name": "run 1: base", "fingerprint": "c" * 64, "path": "runs/1"}
        session.add(Encoder(**trained, base_id=base.id))
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
    assert found == {"run 1": (30.0, "best"), "base": (None, ""), "other": (None, "second")}


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


def release_of(session: Session, anchor: str, lexical: str, both: str) -> Release:
    """The next release, with one more anchor."""
    forms = {"verbal": [f"{anchor} Not."], "lexical": [lexical], "negated_antonym": [both]}
    add_family(session, anchor, forms, split=Split.TRAIN)
    return freeze(session).release


def add_encoder(session: Session, name: str, letter: str, **more: Any) -> Encoder:
    row = Encoder(name=name, fingerprint=letter * 64, **more)
    session.add(row)
    session.flush()
    return row


def unseen(
    engine: Engine, settings: Settings, models: dict[str, str], result: Result
) -> dict[str, UnseenScore]:
    """The scores without antonym pairs that a model was taught, if all models have this result."""
    with writing(engine) as session:
        for name, letter in models.items():
            add_result(session, settings.data_folder, name, result, hash_=letter * 64)
    with reading(engine) as session:
        rows = {row.id: row.model for row in newest(session)}
        found = unseen_scores(session, settings.data_folder, newest(session))
    return {rows[key]: score for key, score in found.items()}


@both_databases
def test_the_antonyms_that_a_release_teaches(engine: Engine) -> None:
    """One word is in an anchor and the other is new in a variant, whatever else differs."""
    asked = {"cold / hot", "cold / warm", "narrow / wide", "easy / hard"}
    with writing(engine) as session:
        first = release_of(session, "Tea is cold.", "Tea is hot.", "Tea is by no means warm.")
        tea = {"cold / hot", "cold / warm"}
        assert taught_pairs(session, first, asked) == tea
        second = release_of(session, "A road is narrow.", "It is no road.", "It is far from wide.")
        assert taught_pairs(session, second, asked) == tea | {"narrow / wide"}
        assert taught_pairs(session, first, asked) == tea
        assert taught_pairs(session, second, {"easy / hard"}) == set()


def test_only_training_data_of_a_model_and_its_bases_is_left_out(
    engine: Engine, settings: Settings, tmp_path: Path
) -> None:
    """Six items: two of cold and hot, two of narrow and wide, two of easy and hard."""
    data = SemAntoNeg.read(write_lines(tmp_path / "s.jsonl", semantoneg_rows()))
    right, wrong = np.array([0.1, 0.2, 0.9]), np.array([0.9, 0.2, 0.1])
    with writing(engine) as session:
        one = release_of(session, "Tea is cold.", "Tea is hot.", "Tea is not hot.")
        two = release_of(session, "A road is wide.", "A road is narrow.", "A road is not narrow.")
        base = add_encoder(session, "base", "a")
        first = add_encoder(session, "run 1", "b", base_id=base.id, release_id=one.id)
        add_encoder(session, "run 2", "c", base_id=first.id, release_id=two.id)
    models = {"base": "a", "run 1": "b", "run 2": "c", "other": "f"}
    result = data.evaluate([right, right, right, wrong, wrong, wrong])
    found = unseen(engine, settings, models, result)
    assert found == {
        "run 1": UnseenScore((1,), 25.0, 4, 2),
        "run 2": UnseenScore((1, 2), 0.0, 2, 4),
    }
    wanted = {"releases": [1, 2], "score": 0.0, "n": 2, "left_out": 4, "bundled": False}
    assert found["run 2"].facts == wanted


@pytest.mark.slow
def test_the_bundled_model_and_what_was_trained_from_it_were_taught_the_corpora(
    engine: Engine, settings: Settings
) -> None:
    pairs = [("cold", "hot"), ("flurbish", "quorvid")]
    corpora = pairs_in_corpora(frozenset(" / ".join(pair) for pair in pairs))
    assert corpora == {"cold / hot"}
    items = [
        Entry(str(n), f"Tea is {one}.", (f"Tea is {other}.", "Tea is it.", f"Not {other}."))
        for n, (one, other) in enumerate(pairs)
    ]
    with writing(engine) as session:
        base = add_encoder(session, TRAINED_ENCODER, "a")
        add_encoder(session, "run 1", "b", base_id=base.id)
    models = {TRAINED_ENCODER: "a", "run 1": "b", "other": "f"}
    scores = [np.array([0.9, 0.2, 0.1]), np.array([0.1, 0.2, 0.9])]
    found = unseen(engine, settings, models, SemAntoNeg(items).evaluate(scores))
    score = UnseenScore((), 100.0, 1, 1, bundled=True)
    assert found == {TRAINED_ENCODER: score, "run 1": score}
    assert "100.0 over the 1 item" in score.description
    assert "None" not in UnseenScore((3,), None, 0, 6).description
