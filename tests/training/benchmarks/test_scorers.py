"""Every architecture behind the same interface, each with a tiny model of random weights."""

from __future__ import annotations

import hashlib
import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any
from unittest.mock import Mock, call

import numpy as np
import pytest
from sqlalchemy import Engine

from curation.encoders.loading import fingerprint, load_model
from db.engine import reading, writing
from db.errors import HedgerowError
from db.settings import Settings
from tests.support.checkpoints import checkpoint, dpr, monot5, packaged
from tests.training.benchmarks.support.running import (
    add,
    nevir,
    ran,
    requested,
    results,
    semantoneg,
)
from tests.training.benchmarks.support.samples import NEVIR, semantoneg_rows, write_lines
from training.benchmarks.definition import Question
from training.benchmarks.results.queries import newest, newest_scores
from training.benchmarks.results.score_table import columns, lines
from training.benchmarks.results.single_items import token_matrix
from training.benchmarks.runs.measured_models import ModelChoice
from training.benchmarks.runs.model_choice import scoring_description, scoring_of
from training.benchmarks.scorers.architecture import architecture_of, load_scorer
from training.benchmarks.scorers.dpr import Halves, halves_of
from training.benchmarks.scorers.interface import Prompts, Random, TfIdf, measure
from training.benchmarks.scorers.monot5 import LONGEST
from training.benchmarks.tasks.nevir import NevIR
from training.benchmarks.tasks.semantoneg import SemAntoNeg
from training.models.display_names import short_name

if TYPE_CHECKING:
    pass


PAIRS = [
    ("Which bridge was shut?", "The old bridge was not open in winter."),
    ("Which bridge was shut?", "The old bridge was open. It is long."),
    ("It is cold.", "It is not warm."),
]

Vectors = Callable[[np.ndarray, np.ndarray], float]


def cosine(one: np.ndarray, two: np.ndarray) -> float:
    return float(one @ two / np.linalg.norm(one) / np.linalg.norm(two))


def both_sides(scorer: Any, compare: Vectors, **how: Any) -> list[float]:
    """The vectors of each pair, compared by hand."""
    first, second = (scorer.model.encode([pair[side] for pair in PAIRS], **how) for side in (0, 1))
    if how:
        first, second = first.numpy(), second.numpy()
    return [compare(a, b) for a, b in zip(first, second, strict=True)]


@pytest.fixture
def configured(tiny_encoder: Path, tmp_path: Path) -> Callable[..., Path]:
    """The tiny encoder with another configuration."""

    def made(**config: Any) -> Path:
        folder = tmp_path / "-".join(map(str, ["model", *config]))
        file = shutil.copytree(tiny_encoder, folder) / "config_sentence_transformers.json"
        file.write_text(json.dumps(json.loads(file.read_text()) | config))
        return folder

    return made


@pytest.mark.parametrize(
    ("name", "own"),
    [
        ("cosine", cosine),
        ("dot", lambda a, b: float(a @ b)),
        ("euclidean", lambda a, b: -float(np.linalg.norm(a - b))),
        ("manhattan", lambda a, b: -float(np.abs(a - b).sum())),
    ],
)
def test_documents_are_ranked_by_a_models_own_similarity_and_sentences_by_the_cosine(
    name: str, own: Vectors, configured: Callable[..., Path]
) -> None:
    scorer = load_scorer(str(configured(similarity_fn_name=name)))
    found = scorer.score(PAIRS, asks="relevance")
    assert found == pytest.approx(both_sides(scorer, own), rel=1e-4)
    cosines = both_sides(scorer, cosine)
    assert scorer.score(PAIRS, asks="similarity") == pytest.approx(cosines, abs=1e-6)


@pytest.mark.slow
def test_each_distinct_text_is_encoded_once(
    tiny_encoder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    scorer: Any = load_scorer(str(tiny_encoder))
    encode = Mock(wraps=scorer.model.encode)
    monkeypatch.setattr(scorer.model, "encode", encode)
    pairs = NevIR.read(write_lines(tmp_path / "n.jsonl", NEVIR))
    suite = SemAntoNeg.read(write_lines(tmp_path / "s.jsonl", semantoneg_rows()))
    for data in (pairs, suite):
        encode.reset_mock()
        result = measure(data, scorer)
        texts = [text for call in encode.call_args_list for text in call.args[0]]
        assert sorted(texts) == sorted(data.texts()), "the documents' cosines cost nothing"
        assert (0 < result.figures.get("documents", 0) <= 1) == (data is pairs)


@pytest.mark.slow
def test_a_cross_encoders_scores_are_its_numbers_before_squashing(
    tiny_cross: Path, tiny_nli: Path
) -> None:
    scorer: Any = load_scorer(str(tiny_cross))
    report = Mock()
    scores = scorer.score(PAIRS, asks="relevance", on_progress=report)
    assert 1 / (1 + np.exp(-scores)) == pytest.approx(scorer.model.predict(PAIRS), abs=1e-5)
    report.assert_called_once_with(3, 3)
    with pytest.raises(KeyboardInterrupt):
        scorer.score(PAIRS, asks="relevance", on_progress=Mock(side_effect=KeyboardInterrupt))
    inference: Any = load_scorer(str(tiny_nli), "cross-encoder")
    scores = inference.score(PAIRS, asks="similarity")
    entailed = inference.model.predict(PAIRS, apply_softmax=True)[:, 1]
    assert 1 / (1 + np.exp(-scores)) == pytest.approx(entailed, abs=1e-5)


def test_sparse_scores_are_dot_products_of_documents_and_cosines_of_sentences(
    tiny_splade: Path,
) -> None:
    scorer = load_scorer(str(tiny_splade), "sparse")
    for asks, compare in (("relevance", lambda a, b: float(a @ b)), ("similarity", cosine)):
        expected = both_sides(scorer, compare, convert_to_sparse_tensor=False)
        assert scorer.score(PAIRS, asks=asks) == pytest.approx(expected, rel=1e-5)  # type: ignore[arg-type]


@pytest.mark.slow
def test_late_interaction_and_the_tokens_behind_its_score(
    engine: Engine, settings: Settings, tiny_colbert: Path, tiny_encoder: Path
) -> None:
    with reading(engine) as session:
        found = token_matrix(session, settings, str(tiny_colbert), *PAIRS[0])
        with pytest.raises(HedgerowError, match="late-interaction"):
            token_matrix(session, settings, str(tiny_encoder), *PAIRS[0])
    scorer: Any = load_scorer(str(tiny_colbert))
    scores = scorer.score(PAIRS, asks="relevance")
    for pair, score in zip(PAIRS, scores, strict=True):
        tokens = scorer.tokens(*pair)
        assert tokens.score == pytest.approx(score, rel=1e-4)
        assert tokens.similarity.shape == (len(tokens.query), len(tokens.document))
        best = tokens.similarity[np.arange(len(tokens.query)), tokens.best]
        assert best.sum() == pytest.approx(score, rel=1e-4)
    assert found.similarity == pytest.approx(scorer.tokens(*PAIRS[0]).similarity)
    tokens = scorer.tokens(*PAIRS[1])
    assert "." not in tokens.document and "?" in tokens.query
    assert tokens.document[:4] == ("[CLS]", "the", "old", "bridge")


def test_baselines_count_words_or_depend_on_the_pair_and_the_seed_alone() -> None:
    count, chance = TfIdf(), Random(1)
    scores = count.score([*PAIRS, ("!", "It."), ("It is cold", "It is cold!")], asks="similarity")
    assert scores[0] == pytest.approx(scores[1], abs=0.2) and 0 < scores[2] < 1
    assert scores[3] == 0.0 and scores[4] == pytest.approx(1.0)
    assert count.score([("!", "?")], asks="similarity").tolist() == [0.0]
    scores = chance.score(PAIRS, asks="relevance")
    assert Random(1).score(PAIRS[::-1], asks="similarity").tolist() == scores[::-1].tolist()
    assert set(Random(2).score(PAIRS, asks="relevance")).isdisjoint(scores)
    many = chance.score([(str(n), "x") for n in range(4_000)], asks="relevance")
    assert 0.48 < many.mean() < 0.52 and many.min() >= 0 and many.max() < 1
    cold, no = Question("It is cold.", ("It is warm.", "It is cool.")), Question("No.", ("Yes.",))
    for scorer in (count, chance):
        first, second, third = scorer.answer([cold, no, cold], asks="similarity")
        assert first.tolist() == third.tolist() and first.shape == (2,) and second.shape == (1,)


def test_the_architecture_comes_from_a_models_files(
    tiny_encoder: Path, tiny_cross: Path, tiny_colbert: Path, tiny_splade: Path
) -> None:
    found = [architecture_of(p) for p in (tiny_encoder, tiny_cross, tiny_colbert, tiny_splade)]
    assert found == ["bi-encoder", "cross-encoder", "late-interaction", "bi-encoder"]


def test_models_without_scores_are_refused(
    tiny_encoder: Path, tiny_cross: Path, tiny_nli: Path, tmp_path: Path
) -> None:
    from training.benchmarks.scorers.embedding_models import Cross

    for wanted in ("cross-encoder", "sparse", "late-interaction"):
        with pytest.raises(HedgerowError, match=f"{wanted} in .*, found a bi-encoder"):
            load_scorer(str(tiny_encoder), wanted)
    (tmp_path / "config.json").write_text((tiny_cross / "config.json").read_text())
    (tmp_path / "pytorch_model.bin").write_bytes(b"cos\nsystem\n")
    with pytest.raises(HedgerowError, match="safetensors"):
        load_scorer(str(tmp_path))
    with pytest.raises(HedgerowError, match=r"bi-encoder, cross-encoder.*'magic'"):
        load_scorer(str(tmp_path), "magic")
    model = load_model(str(tiny_nli), "CrossEncoder")
    model.config.id2label = {0: "sad", 1: "glad", 2: "mixed"}
    with pytest.raises(HedgerowError, match="sad, glad, mixed"):
        Cross(model)
    scorer = Cross(load_model(str(tiny_cross), "CrossEncoder"))
    scorer.model.predict = lambda pairs, **_: np.full(len(pairs), np.nan)
    with pytest.raises(HedgerowError, match="not finite"):
        scorer.score(PAIRS, asks="relevance")


def prompted(before: tuple[str, str]) -> list[tuple[str, str]]:
    return [(before[0] + query, before[1] + document) for query, document in PAIRS]


@pytest.mark.parametrize(
    ("config", "given", "before"),
    [
        ({}, Prompts("a query: "), ("a query: ", "")),
        ({"prompts": {"query": "q: ", "passage": "p: "}}, Prompts(), ("q: ", "p: ")),
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
    folder = configured(**config)
    scorer, plain = load_scorer(str(folder), prompts=given), load_scorer(str(tiny_encoder))
    expected = plain.score(prompted(before), asks="relevance")
    assert scorer.score(PAIRS, asks="relevance") == pytest.approx(expected, abs=1e-5)
    own = load_scorer(str(folder)).score(PAIRS, asks="similarity")
    assert scorer.score(PAIRS, asks="similarity") == pytest.approx(own, abs=1e-6)


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["tiny_splade", "tiny_colbert", "tiny_cross"])
def test_the_other_architectures_take_prompts_too(
    kind: str, request: pytest.FixtureRequest
) -> None:
    name = str(request.getfixturevalue(kind))
    architecture = "sparse" if kind == "tiny_splade" else ""
    plain = load_scorer(name, architecture)
    asked = load_scorer(name, architecture, prompts=Prompts("not ", "the old "))
    expected = plain.score(prompted(("not ", "the old ")), asks="relevance")
    assert asked.score(PAIRS, asks="relevance") == pytest.approx(expected, rel=1e-4)
    assert expected != pytest.approx(plain.score(PAIRS, asks="relevance"), rel=1e-4)
    same = plain.score(PAIRS, asks="similarity")
    assert asked.score(PAIRS, asks="similarity") == pytest.approx(same, rel=1e-4)


def test_results_of_another_similarity_or_of_other_prompts_are_a_line_of_their_own(
    engine: Engine, settings: Settings, configured: Callable[..., Path]
) -> None:
    folder = configured(similarity_fn_name="dot")
    name, short = str(folder), folder.name
    asked = [
        ModelChoice(name=name, query_prompt="query: "),
        ModelChoice(name=name, query_prompt="query:"),
        ModelChoice(name=name, query_prompt="", document_prompt="Line\nbreak"),
    ]
    data = nevir(settings)
    ran(engine, settings, ModelChoice(name=name), benchmarks=(data, semantoneg(settings)))
    ran(engine, settings, *asked, *asked[:2], benchmarks=(data,))
    with writing(engine) as session:
        row = next(row for row in newest(session) if row.benchmark == "nevir")
        before = {"model": row.model, "model_hash": row.model_hash, "data_hash": row.data_hash}
        add(session, **before, score=88.0)  # as stored when all models were ranked by the cosine
        rows = newest_scores(session, settings.data_folder).rows
    assert {row.prompts for row in rows} == {Prompts(), *(choice.prompts for choice in asked)}
    assert len({row.file for row in rows}) == len(rows) == 6
    (column,) = [one.key for one in columns(rows) if one.benchmark == "nevir"]
    made = lines(rows, trained_from={})
    scores = {line.model: line.scores for line in made if not line.published}
    dot = f"{short} (dot product"
    assert scores.keys() == {
        short,
        f"{dot})",
        f'{dot}, query prompt "query: ")',
        f'{dot}, query prompt "query:")',
        f'{dot}, query prompt "", document prompt "Line\\nbreak")',
    }
    assert scores[short] == {column: 88.0}
    assert len(scores[f"{dot})"]) == 2, "SemAntoNeg has the same line"


def test_prompts_are_refused_if_nothing_takes_them(
    engine: Engine, settings: Settings, tiny_encoder: Path
) -> None:
    data = (nevir(settings),)
    for more in ({"architecture": "tf-idf"}, {"architecture": "chat", "name": "x"}):
        with pytest.raises(HedgerowError, match="has no query and document prompts"):
            requested(engine, settings, ModelChoice(query_prompt="a", **more), benchmarks=data)
    asked = ModelChoice(name=str(tiny_encoder), query_prompt="a")
    with pytest.raises(HedgerowError, match="mteb"):
        requested(engine, settings, asked, tasks=("STSBenchmark",))


def test_the_label_of_a_long_prompt_still_distinguishes_two(tmp_path: Path) -> None:
    one, other = (Prompts("word " * 30 + end) for end in ("a", "b"))
    descriptions = [
        scoring_description(scoring_of(None, "bi-encoder", given), given)[0]
        for given in (one, other)
    ]
    assert descriptions[0] != descriptions[1] and all(len(text) < 90 for text in descriptions)
    assert len(scoring_of(tmp_path, "bi-encoder", one)) <= 40


QUESTION, CONTEXT = "DPRQuestionEncoder", "DPRContextEncoder"

TEXTS = [
    ("is the soup cold?", "the soup was not cold, which was a very long one."),
    ("is the soup cold?", "the soup was warm, and the bread was warm, too."),
    ("no", "the"),
]


@pytest.fixture(scope="module")
def halves(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    return dpr(tmp_path_factory.mktemp("c++"))


@pytest.fixture(scope="module")
def name(halves: tuple[Path, Path]) -> str:
    return "+".join(map(str, halves))


def pooled(kind: str, folder: Path, text: str) -> np.ndarray:
    import transformers

    model = getattr(transformers, kind).from_pretrained(folder).eval()
    tokenizer = transformers.AutoTokenizer.from_pretrained(folder)
    output: np.ndarray = model(**tokenizer(text, return_tensors="pt")).pooler_output[0]
    return output.detach().numpy()


@pytest.mark.slow
def test_scores_are_dot_products_of_the_pooled_outputs(
    halves: tuple[Path, Path], name: str
) -> None:
    scorer = load_scorer(name)
    left = np.array([pooled(QUESTION, halves[0], pair[0]) for pair in TEXTS])
    right = np.array([pooled(CONTEXT, halves[1], pair[1]) for pair in TEXTS])
    products = (left * right).sum(axis=1)
    assert scorer.score(TEXTS, asks="relevance") == pytest.approx(products, abs=1e-4)
    cosines = products / np.linalg.norm(left, axis=1) / np.linalg.norm(right, axis=1)
    assert scorer.score(TEXTS, asks="similarity") == pytest.approx(cosines, abs=1e-5)
    report = Mock()
    scorer.score(TEXTS, asks="relevance", on_progress=report)
    assert report.mock_calls == [call(2, 5), call(5, 5)], "each distinct text is encoded once"
    asked = load_scorer(name, prompts=Prompts("q: ", "d: ")).score(TEXTS, asks="relevance")
    by_hand = [(f"q: {query}", f"d: {text}") for query, text in TEXTS]
    assert asked == pytest.approx(scorer.score(by_hand, asks="relevance"))


@pytest.mark.slow
@pytest.mark.parametrize(
    ("given", "wanted"),
    [
        (
            "facebook/question-nq-base+facebook/ctx",
            Halves("facebook/question-nq-base", "facebook/ctx"),
        ),
        ("a + b", Halves("a", "b")),
        ("a+", None),
        ("a", None),
        ("/nowhere/a+/nowhere/b", None),
        ("run 7: a+b", None),
    ],
)
def test_two_encoders_are_joined_by_a_plus_sign(
    given: str, wanted: Halves | None, halves: tuple[Path, Path], name: str
) -> None:
    assert halves_of(given) == wanted
    assert "+" in str(halves[0]) and halves_of(str(halves[0])) is None, "a folder is one model"
    assert halves_of(name) == tuple(map(str, halves))


@pytest.mark.slow
def test_encoders_are_measured_together_and_refused_alone_or_in_the_wrong_places(
    engine: Engine, settings: Settings, halves: tuple[Path, Path]
) -> None:
    first, second = map(str, halves)
    for given, architecture, fact in (
        (f"{second}+{first}", "", f"{QUESTION} before the '.', found {CONTEXT}"),
        (f"{first}+{first}", "", f"{CONTEXT} after the '.', found {QUESTION}"),
        (first, "", "one of the two encoders of a DPR model"),
        (first, "dpr", r"QUESTION_MODEL\+CONTEXT_MODEL"),
    ):
        choice = ModelChoice(name=given, architecture=architecture)
        with pytest.raises(HedgerowError, match=fact):
            requested(engine, settings, choice, benchmarks=(nevir(settings),))
        if given != first:
            with pytest.raises(HedgerowError, match=fact):
                load_scorer(given)
    whole = ModelChoice(name=f"{first}/+{second}/")
    ran(engine, settings, whole, benchmarks=(nevir(settings),))
    (row,) = results(engine).values()
    assert (row.title, row.architecture) == (f"{short_name(f'{first}+{second}')} (dpr)", "dpr")
    both = "\n".join(map(fingerprint, halves))
    assert row.model_hash == hashlib.sha256(both.encode()).hexdigest()
    assert row.summary["took"]["weight"] > 0


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return monot5(tmp_path_factory.mktemp("monot5"))


@pytest.fixture(scope="module")
def scorer(folder: Path) -> Any:
    return load_scorer(str(folder))


@pytest.fixture(scope="module")
def direct(folder: Path) -> Callable[[str], float]:
    """The log probability of 'true' against 'false' as the first generated token of a text."""
    from transformers import AutoTokenizer, T5ForConditionalGeneration

    model = T5ForConditionalGeneration.from_pretrained(folder).eval()
    tokenizer = AutoTokenizer.from_pretrained(folder)
    answers = tokenizer.convert_tokens_to_ids(["▁false", "▁true"])
    how = {"max_new_tokens": 1, "do_sample": False}
    how |= {"output_logits": True, "return_dict_in_generate": True}

    def score(text: str) -> float:
        given = model.generate(**tokenizer(text, return_tensors="pt"), **how)
        return float(given.logits[0][0, answers].log_softmax(0)[1])

    return score


@pytest.mark.slow
def test_scores_are_the_log_probability_of_true_against_false(
    scorer: Any, folder: Path, direct: Callable[[str], float]
) -> None:
    expected = [direct(f"Query: {query} Document: {text} Relevant:") for query, text in TEXTS]
    assert np.ptp(expected) > 0.01, "the model distinguishes the pairs"
    for asks in ("relevance", "similarity"):
        assert scorer.score(TEXTS, asks=asks) == pytest.approx(expected, abs=1e-5)
    one = [float(scorer.score([pair], asks="relevance")[0]) for pair in TEXTS]
    assert one == pytest.approx(expected, abs=1e-5), "padding changes nothing"
    asked = load_scorer(str(folder), "monot5", prompts=Prompts("no ", "the "))
    (query, text), *_ = TEXTS
    prompted = direct(f"Query: no {query} Document: the {text} Relevant:")
    for asks, wanted in (("relevance", prompted), ("similarity", expected[0])):
        found = asked.score([(query, text)], asks=asks)  # type: ignore[arg-type]
        assert found == pytest.approx([wanted], abs=1e-5)


@pytest.mark.slow
def test_a_long_document_loses_its_end_and_not_the_question(
    scorer: Any, direct: Callable[[str], float]
) -> None:
    query = "is the soup cold?"
    around = len(scorer.tokenizer(f"Query: {query} Document: Relevant:")["input_ids"])
    fits = " ".join(["not"] * (LONGEST - around))
    long = " ".join([fits, *["cold"] * 300])
    expected = direct(f"Query: {query} Document: {fits} Relevant:")
    found = scorer.score([(query, long), (query, fits)], asks="relevance")
    assert found == pytest.approx([expected, expected], abs=1e-5)


@pytest.mark.slow
def test_a_t5_is_an_encoder_only_if_its_files_say_so(folder: Path, tmp_path: Path) -> None:
    assert architecture_of(folder) == "monot5"
    bare = checkpoint("T5EncoderModel", tmp_path / "bare")
    for encoder in (bare, packaged("T5EncoderModel", tmp_path / "sentence-t5")):
        assert load_scorer(str(encoder)).architecture == "bi-encoder"
        with pytest.raises(HedgerowError, match=r"monot5 in .*, found a bi-encoder"):
            load_scorer(str(encoder), "monot5")


@pytest.mark.slow
def test_weights_or_answers_that_are_missing_are_not_made_up(tmp_path: Path) -> None:
    from safetensors.torch import load_file, save_file
    from transformers import T5Tokenizer

    file = monot5(tmp_path / "cut") / "model.safetensors"
    weights = load_file(file)
    del weights["encoder.final_layer_norm.weight"]
    save_file(weights, file, metadata={"format": "pt"})
    with pytest.raises(HedgerowError, match=r"encoder.final_layer_norm"):
        load_scorer(str(file.parent))
    letters = [(letter, -1.0) for letter in "trufals"]
    special = [("<pad>", 0.0), ("</s>", 0.0), ("<unk>", 0.0), ("▁", -1.0)]
    other = monot5(tmp_path / "letters")
    T5Tokenizer(vocab=[*special, *letters], extra_ids=0).save_pretrained(other)
    with pytest.raises(HedgerowError, match="a token for each of false and true"):
        load_scorer(str(other))
