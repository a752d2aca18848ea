"""A model's own similarity and user-defined prompts: their effect on its scores and results."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from sqlalchemy import Engine

from db.engine import create_engine, reading, writing
from db.errors import HedgerowError
from db.settings import Settings
from tests.support.databases import Copies
from tests.training.benchmarks.conftest import tiny_colbert as tiny_colbert
from tests.training.benchmarks.conftest import tiny_cross as tiny_cross
from tests.training.benchmarks.conftest import tiny_splade as tiny_splade
from tests.training.benchmarks.conftest import tokenizer as tokenizer
from tests.training.benchmarks.results.test_queries import add
from tests.training.benchmarks.support.running import nevir, ran, requested, semantoneg
from training.benchmarks.definition import Asks
from training.benchmarks.results.queries import newest, newest_scores
from training.benchmarks.results.score_table import columns, lines
from training.benchmarks.runs.measured_models import ModelChoice
from training.benchmarks.scorers.architecture import load_scorer
from training.benchmarks.scorers.embedding_models import BiEncoder
from training.benchmarks.scorers.interface import Prompts
from training.benchmarks.scorers.scoring import scoring_description, scoring_of

PAIRS = [
    ("Which bridge was shut?", "The old bridge was not open in winter."),
    ("Which bridge was shut?", "The old bridge was open. It is long."),
    ("It is cold.", "It is not warm."),
]


@pytest.fixture
def engine(home: Path, copies: Copies) -> Engine:
    return create_engine(copies.migrated(home / "hedgerow.db"))


@pytest.fixture
def configured(tiny_encoder: Path, tmp_path: Path) -> Callable[..., Path]:
    """The tiny encoder with another configuration."""

    def made(**config: Any) -> Path:
        folder = tmp_path / "-".join(map(str, config))
        shutil.copytree(tiny_encoder, folder)
        file = folder / "config_sentence_transformers.json"
        file.write_text(json.dumps(json.loads(file.read_text()) | config))
        return folder

    return made


OWN: dict[str, Callable[[np.ndarray, np.ndarray], float]] = {
    "dot": lambda a, b: float(a @ b),
    "euclidean": lambda a, b: -float(np.linalg.norm(a - b)),
    "manhattan": lambda a, b: -float(np.abs(a - b).sum()),
}


@pytest.mark.parametrize("name", OWN)
def test_documents_are_ranked_by_a_models_own_similarity_and_sentences_by_the_cosine(
    name: str, configured: Callable[..., Path], tiny_encoder: Path
) -> None:
    scorer = load_scorer(str(configured(similarity_fn_name=name)))
    assert isinstance(scorer, BiEncoder)
    first, second = (scorer.model.encode([pair[side] for pair in PAIRS]) for side in (0, 1))
    expected = [OWN[name](a, b) for a, b in zip(first, second, strict=True)]
    assert scorer.score(PAIRS, asks="relevance") == pytest.approx(expected, rel=1e-4)
    cosines = load_scorer(str(tiny_encoder)).score(PAIRS, asks="similarity")
    assert scorer.score(PAIRS, asks="similarity") == pytest.approx(cosines, abs=1e-6)
    assert cosines == pytest.approx(
        [a @ b / np.linalg.norm(a) / np.linalg.norm(b) for a, b in zip(first, second, strict=True)],
        abs=1e-6,
    )


def test_results_of_another_similarity_are_a_line_of_their_own(
    engine: Engine, settings: Settings, configured: Callable[..., Path]
) -> None:
    folder = configured(similarity_fn_name="dot")
    data = nevir(settings)
    ran(engine, settings, ModelChoice(name=str(folder)), benchmarks=(data, semantoneg(settings)))
    with writing(engine) as session:
        row = next(row for row in newest(session) if row.benchmark == "nevir")
        before = {"model": row.model, "model_hash": row.model_hash, "data_hash": row.data_hash}
        add(session, **before, score=88.0)  # as stored when all models were ranked by the cosine
        rows = newest_scores(session, settings.data_folder).rows
        assert len(rows) == 3
        made = lines(rows, trained_from={})
        (column,) = [one.key for one in columns(rows) if one.benchmark == "nevir"]
    scores = {line.model: line.scores for line in made if not line.published}
    assert scores[folder.name] == {column: 88.0}
    assert len(scores[f"{folder.name} (dot product)"]) == 2, "SemAntoNeg has the same line"


def by_hand(scorer: Any, before: tuple[str, str], asks: Asks = "relevance") -> np.ndarray:
    pairs = [(before[0] + query, before[1] + document) for query, document in PAIRS]
    found: np.ndarray = scorer.score(pairs, asks=asks)
    return found


@pytest.mark.parametrize(
    ("config", "given", "before"),
    [
        ({}, Prompts("a query: "), ("a query: ", "")),
        ({"prompts": {"query": "q: ", "passage": "p: "}}, Prompts("a "), ("a ", "p: ")),
        ({"prompts": {"query": "q: ", "document": "p: "}}, Prompts(None, "d "), ("q: ", "d ")),
        ({"prompts": {"query": "q: ", "document": "p: "}}, Prompts("", ""), ("", "")),
        (
            {"prompts": {"query": "q: ", "x": "all: "}, "default_prompt_name": "x"},
            Prompts("a "),
            ("a ", "all: "),
        ),
    ],
)
def test_given_prompts_replace_the_models_prompts(
    configured: Callable[..., Path],
    tiny_encoder: Path,
    config: dict[str, Any],
    given: Prompts,
    before: tuple[str, str],
) -> None:
    folder = configured(**config) if config else tiny_encoder
    scorer, plain = load_scorer(str(folder), prompts=given), load_scorer(str(tiny_encoder))
    expected = by_hand(plain, before)
    assert scorer.score(PAIRS, asks="relevance") == pytest.approx(expected, abs=1e-5)
    own = load_scorer(str(folder)).score(PAIRS, asks="similarity")
    assert scorer.score(PAIRS, asks="similarity") == pytest.approx(own, abs=1e-6)


@pytest.mark.parametrize("kind", ["tiny_splade", "tiny_colbert", "tiny_cross"])
def test_the_other_architectures_take_prompts_too(
    kind: str, request: pytest.FixtureRequest
) -> None:
    name = str(request.getfixturevalue(kind))
    architecture = "sparse" if kind == "tiny_splade" else ""
    plain = load_scorer(name, architecture)
    asked = load_scorer(name, architecture, prompts=Prompts("not ", "the old "))
    expected = by_hand(plain, ("not ", "the old "))
    assert asked.score(PAIRS, asks="relevance") == pytest.approx(expected, rel=1e-4)
    assert expected != pytest.approx(plain.score(PAIRS, asks="relevance"), rel=1e-4)
    same = plain.score(PAIRS, asks="similarity")
    assert asked.score(PAIRS, asks="similarity") == pytest.approx(same, rel=1e-4)


def test_a_model_with_other_prompts_is_a_line_of_its_own(
    engine: Engine, settings: Settings, tiny_encoder: Path
) -> None:
    name = str(tiny_encoder)
    choices = [
        ModelChoice(name=name),
        ModelChoice(name=name, query_prompt="query: "),
        ModelChoice(name=name, query_prompt="query:"),
        ModelChoice(name=name, query_prompt="", document_prompt="Line\nbreak"),
    ]
    ran(engine, settings, *choices, *choices[:2], benchmarks=(nevir(settings),))
    with reading(engine) as session:
        rows = newest(session)
    short = Path(name).name
    assert {row.title for row in rows} == {
        short,
        f'{short} (query prompt "query: ")',
        f'{short} (query prompt "query:")',
        f'{short} (query prompt "", document prompt "Line\\nbreak")',
    }
    assert {row.prompts for row in rows} == {choice.prompts for choice in choices}
    assert len({row.file for row in rows}) == 4


def test_prompts_are_refused_if_nothing_takes_them(
    engine: Engine, settings: Settings, tiny_encoder: Path
) -> None:
    data = (nevir(settings),)
    for more in ({"architecture": "tf-idf"}, {"architecture": "chat", "name": "x"}):
        with pytest.raises(HedgerowError, match="has no query and document prompts"):
            requested(engine, settings, ModelChoice(query_prompt="a", **more), benchmarks=data)
    asked = ModelChoice(name=str(tiny_encoder), query_prompt="a")
    with pytest.raises(HedgerowError, match="with its own prompts for mteb tasks, found none"):
        requested(engine, settings, asked, tasks=("STSBenchmark",))


def test_the_label_of_a_long_prompt_still_distinguishes_two(tmp_path: Path) -> None:
    one, other = (Prompts("word " * 30 + end) for end in ("a", "b"))
    descriptions = [
        scoring_description(scoring_of(None, "bi-encoder", given), given)[0]
        for given in (one, other)
    ]
    assert descriptions[0] != descriptions[1] and all(len(text) < 90 for text in descriptions)
    assert len(scoring_of(tmp_path, "bi-encoder", one)) <= 40
