"""DPR's two encoders with a joint name, compared with transformers' own results."""

from __future__ import annotations

import hashlib
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from sqlalchemy import Engine

from curation.encoders.loading import fingerprint
from db.engine import create_engine, reading
from db.errors import HedgerowError
from db.settings import Settings
from tests.support.checkpoints import dpr
from tests.support.databases import Copies
from tests.training.benchmarks.support.running import nevir, ran, requested
from training.benchmarks.results.queries import newest
from training.benchmarks.runs.measured_models import ModelChoice
from training.benchmarks.scorers.architecture import load_scorer
from training.benchmarks.scorers.dpr import Dpr, Halves, halves_of
from training.benchmarks.scorers.interface import Prompts
from training.models.display_names import short_name

PAIRS = [
    ("Which bridge was shut?", "The old bridge was not open in winter, which was a very long one."),
    ("Which bridge was shut?", "The old bridge was open."),
    ("It is cold.", "It is not warm."),
]


@pytest.fixture(scope="module")
def halves(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    return dpr(tmp_path_factory.mktemp("c++"))


@pytest.fixture(scope="module")
def name(halves: tuple[Path, Path]) -> str:
    return "+".join(map(str, halves))


@pytest.fixture
def engine(home: Path, copies: Copies) -> Engine:
    return create_engine(copies.migrated(home / "hedgerow.db"))


def pooled(kind: str, folder: Path, text: str) -> np.ndarray:
    import transformers

    loader: Any = getattr(transformers, kind)
    model = loader.from_pretrained(folder).eval()
    tokenizer = transformers.AutoTokenizer.from_pretrained(folder)
    output: np.ndarray = model(**tokenizer(text, return_tensors="pt")).pooler_output[0]
    return output.detach().numpy()


def test_scores_are_dot_products_of_the_pooled_outputs(
    halves: tuple[Path, Path], name: str
) -> None:
    scorer = load_scorer(name)
    assert isinstance(scorer, Dpr)
    left = [pooled("DPRQuestionEncoder", halves[0], pair[0]) for pair in PAIRS]
    right = [pooled("DPRContextEncoder", halves[1], pair[1]) for pair in PAIRS]
    products = [float(a @ b) for a, b in zip(left, right, strict=True)]
    assert scorer.score(PAIRS, asks="relevance") == pytest.approx(products, abs=1e-4)
    lengths = [np.linalg.norm(a) * np.linalg.norm(b) for a, b in zip(left, right, strict=True)]
    cosines = np.array(products) / lengths
    assert scorer.score(PAIRS, asks="similarity") == pytest.approx(cosines, abs=1e-5)
    seen: list[tuple[int, int]] = []
    scorer.score(PAIRS, asks="relevance", on_progress=lambda *done: seen.append(done))
    assert seen == [(2, 5), (5, 5)], "each distinct text is encoded once"


def test_prompts_come_before_question_and_text(name: str) -> None:
    plain, asked = load_scorer(name), load_scorer(name, prompts=Prompts("q: ", "d: "))
    by_hand = [(f"q: {query}", f"d: {text}") for query, text in PAIRS]
    assert asked.score(PAIRS, asks="relevance") == pytest.approx(
        plain.score(by_hand, asks="relevance")
    )


@pytest.mark.parametrize(
    ("given", "halves"),
    [
        (
            "facebook/dpr-question_encoder-single-nq-base+facebook/dpr-ctx_encoder-single-nq-base",
            Halves(
                "facebook/dpr-question_encoder-single-nq-base",
                "facebook/dpr-ctx_encoder-single-nq-base",
            ),
        ),
        ("a + b", Halves("a", "b")),
        ("a+", None),
        ("a", None),
        ("/nowhere/a+/nowhere/b", None),
        ("run 7: a+b", None),
    ],
)
def test_two_encoders_are_joined_by_a_plus_sign(given: str, halves: Halves | None) -> None:
    assert halves_of(given) == halves


def test_a_folder_with_a_plus_sign_is_one_model(
    halves: tuple[Path, Path], name: str, tmp_path: Path
) -> None:
    assert "+" in str(halves[0])
    assert halves_of(str(halves[0])) is None
    assert halves_of(name) == tuple(map(str, halves))


def test_it_is_measured_under_both_names(
    engine: Engine, settings: Settings, halves: tuple[Path, Path], name: str
) -> None:
    shorter = f"{halves[0]}/+{halves[1]}/"
    assert ran(engine, settings, ModelChoice(name=shorter), benchmarks=(nevir(settings),))
    with reading(engine) as session:
        (row,) = newest(session)
    assert (row.title, row.architecture) == (f"{short_name(name)} (dpr)", "dpr")
    both = "\n".join(map(fingerprint, halves))
    assert row.model_hash == hashlib.sha256(both.encode()).hexdigest()
    assert row.summary["took"]["weight"] > 0


@pytest.mark.parametrize(
    ("order", "message"),
    [
        ((1, 0), "Expected a DPRQuestionEncoder before the '.', found DPRContextEncoder"),
        ((0, 0), "Expected a DPRContextEncoder after the '.', found DPRQuestionEncoder"),
    ],
)
def test_encoders_in_the_wrong_places_are_refused(
    engine: Engine,
    settings: Settings,
    halves: tuple[Path, Path],
    order: tuple[int, int],
    message: str,
) -> None:
    name = "+".join(str(halves[number]) for number in order)
    with pytest.raises(HedgerowError, match=message):
        requested(engine, settings, ModelChoice(name=name), benchmarks=(nevir(settings),))
    with pytest.raises(HedgerowError, match=message):
        load_scorer(name)


def test_one_encoder_alone_is_refused(
    engine: Engine, settings: Settings, halves: tuple[Path, Path]
) -> None:
    for architecture, message in (
        ("", "one of the two encoders of a DPR model, which benchmarks use together"),
        ("dpr", r"both encoders of a DPR model as QUESTION_MODEL\+CONTEXT_MODEL, found"),
    ):
        choice = ModelChoice(name=str(halves[0]), architecture=architecture)
        with pytest.raises(HedgerowError, match=message):
            requested(engine, settings, choice, benchmarks=(nevir(settings),))
