"""The papers' numbers, their models by training objective, and the guide to the papers."""

from __future__ import annotations

import json
import re
import shlex
import statistics

import pytest
from typer.testing import CliRunner

import cli
from tests.support.checkout import ROOT
from training.benchmarks.catalogue import NEGATION_AVERAGE
from training.benchmarks.results.objectives import GENERAL as GENERAL_OBJECTIVE
from training.benchmarks.results.objectives import (
    GROUP_HEAD,
    NLI,
    OBJECTIVES,
    OTHER,
    PARAPHRASE,
    STSB,
    ModelAccuracy,
    group_rows,
    groups,
    model_rows,
    objective_of,
    published_accuracies,
)
from training.benchmarks.results.published import GENERAL, LANGUAGE, NEGATION, SEMANTONEG, published

MISPRINTED = {
    ("hedgetriple_table_2", "Only negation"),
    ("hedgetriple_table_2", "Only hedging"),
    ("hedgetriple_table_3", "Llama-3-8B-Instruct"),
    ("hedgetriple_table_3", "Only negation"),
    ("hedgetriple_table_3", "Only hedging"),
}
"""Averages that do not match the lines above them."""


def by_model(table: str) -> dict[str, dict[str, float]]:
    found: dict[str, dict[str, float]] = {}
    for number in published():
        if number.table == table:
            found.setdefault(number.model, {})[number.benchmark] = number.score
    return found


def test_the_averages_are_the_papers() -> None:
    """A general average is the mean of the seven kinds of tasks, not of the data sets."""
    assert len(published()) == 283
    assert all(n.published and n.paper and n.title and n.label for n in published())
    for table in ("hedgetriple_table_1", "hedgetriple_table_2", "hedgetriple_table_3"):
        for model, scores in by_model(table).items():
            mean = sum(scores[name] for name in NEGATION_AVERAGE) / len(NEGATION_AVERAGE)
            follows = mean == pytest.approx(scores[NEGATION], abs=0.011)
            assert follows == ((table, model) not in MISPRINTED)
            general, tasks = (LANGUAGE, 3) if table.endswith("3") else (GENERAL, 7)
            parts = [score for name, score in scores.items() if name.startswith(f"{general}:")]
            if (table, model) != ("hedgetriple_table_3", "HedgeMPNet"):  # an encoder
                assert len(parts) == tasks
                assert sum(parts) / tasks == pytest.approx(scores[general], abs=0.03), "rounded"


def test_semantonegs_table_8_is_whole() -> None:
    scores = json.loads(SEMANTONEG.read_text(encoding="utf-8"))["scores"]
    assert len(scores) == 123
    given = {name: score for name, score in scores.items() if score is not None}
    shown = {n.model: n for n in published() if n.benchmark == "semantoneg"}
    assert {name: n.score for name, n in shown.items()} == given and len(given) == 114
    known = {  # as in Tables 1 and 3 to 7 of the paper
        "all-MiniLM-L6-v2": 1.9,
        "all-mpnet-base-v2": 31.9,
        "sentence-t5-xl": 81.2,
        "paraphrase-multilingual-mpnet-base-v2": 79.9,
        "distilbert-multilingual-nli-stsb-quora-ranking": 47.1,
        "bert-base-nli-mean-tokens": 83.3,
        "roberta-large-nli-mean-tokens": 93.6,
        "stsb-distilroberta-base-v2": 58.7,
        "paraphrase-MiniLM-L3-v2": 0.0,
        "sentence-t5-xxl": None,
        "clip-ViT-L-14": None,
        "average_word_embeddings_komninos": None,
    }
    assert known.items() <= scores.items()
    assert shown["all-mpnet-base-v2"].hub == "sentence-transformers/all-mpnet-base-v2"


TABLES = {
    GENERAL_OBJECTIVE: "sentence-t5-xl sentence-t5-large sentence-t5-base all-roberta-large-v1 "
    "all-mpnet-base-v2 all-mpnet-base-v1 all-distilroberta-v1 all-MiniLM-L12-v1 "
    "all-MiniLM-L12-v2 all-MiniLM-L6-v1 all-MiniLM-L6-v2",
    PARAPHRASE: "paraphrase-multilingual-mpnet-base-v2 paraphrase-mpnet-base-v2 "
    "paraphrase-TinyBERT-L6-v2 paraphrase-distilroberta-base-v2 quora-distilbert-base "
    "paraphrase-multilingual-MiniLM-L12-v2 paraphrase-albert-small-v2 "
    "paraphrase-albert-base-v2 paraphrase-MiniLM-L12-v2 quora-distilbert-multilingual "
    "paraphrase-MiniLM-L6-v2 paraphrase-xlm-r-multilingual-v1 "
    "xlm-r-distilroberta-base-paraphrase-v1 paraphrase-distilroberta-base-v1 "
    "paraphrase-MiniLM-L3-v2",
    NLI: "roberta-large-nli-mean-tokens roberta-base-nli-mean-tokens bert-large-nli-mean-tokens "
    "nli-bert-large-cls-pooling nli-bert-large-max-pooling xlm-r-large-en-ko-nli-ststb "
    "xlm-r-bert-base-nli-mean-tokens bert-base-nli-cls-token bert-base-nli-mean-tokens "
    "nli-distilbert-base-max-pooling distilbert-base-nli-mean-tokens bert-base-nli-max-tokens "
    "nli-roberta-base-v2 nli-mpnet-base-v2 nli-distilroberta-base-v2",
    STSB: "stsb-bert-large stsb-roberta-large stsb-roberta-base stsb-xlm-r-multilingual "
    "stsb-bert-base stsb-distilbert-base stsb-roberta-base-v2 stsb-mpnet-base-v2 "
    "stsb-distilroberta-base-v2",
}
"""The models of Tables 3, 4, 5 and 6."""


def test_a_name_says_the_objective_that_the_papers_table_has() -> None:
    known = {model.model for model in published_accuracies()}
    for objective in OBJECTIVES:
        names = TABLES[objective].split()
        assert set(names) <= known and {objective_of(name) for name in names} == {objective}
    found = {
        "msmarco-distilbert-base-v4": OTHER,
        "multi-qa-mpnet-base-cos-v1": OTHER,
        "/models/all-MiniLM-L6-v2/": GENERAL_OBJECTIVE,
        "sentence-transformers/nli-bert-base": NLI,
        "run 7: all-MiniLM-L6-v2": OTHER,
        "run 12: paraphrase-mpnet-base-v2": OTHER,
        "small-model": OTHER,
    }
    assert {name: objective_of(name) for name in found} == found


def test_the_groups_are_of_published_models_only() -> None:
    published = published_accuracies()
    found = groups([*published, ModelAccuracy("nli-mine", 0.0, False, 6)])
    assert found == groups(published) and [g.objective for g in found] == list(OBJECTIVES)
    assert {g.objective: (g.models, round(g.mean, 1)) for g in found} == {
        GENERAL_OBJECTIVE: (11, 32.8),
        PARAPHRASE: (18, 49.6),
        NLI: (27, 83.9),
        STSB: (16, 77.4),
    }
    nli = [m.accuracy for m in published if m.objective == NLI]
    assert found[2].variance == pytest.approx(statistics.variance(nli))
    assert (found[2].least, found[2].most) == (66.6, 93.6)
    assert groups([ModelAccuracy("nli-a", 1.0, True, 6)]) == [], "one model has no variance"
    assert [len(row) for row in group_rows(found)] == [len(GROUP_HEAD)] * 4
    first, *_, last = model_rows([ModelAccuracy("mine", 99.0, False, 6), *published])
    assert first == ("mine", OTHER, 99.0, 6, "measured") and last[2:] == (0.0, 3152, "published")


@pytest.mark.slow
def test_every_command_and_page_of_the_guide_exists() -> None:
    lines = (ROOT / "docs" / "papers.md").read_text(encoding="utf-8").splitlines()
    rows = [line.split(" | ")[1] for line in lines if re.match(r"\| (?!in the paper)", line)]
    named = [found for cell in rows for found in re.findall("`((?:hedgerow |/)[^`]*)`", cell)]
    assert len(named) > 40
    for command in filter(lambda text: text.startswith("hedgerow "), named):
        arguments = [*shlex.split(command)[1:], "--help"]  # after all its options were found
        assert CliRunner().invoke(cli.app, arguments).exit_code == 0, command
    for address in filter(lambda text: text.startswith("/"), named):
        page = address.removeprefix("/").partition("?")[0]
        assert (ROOT / "pages" / f"{page}.py").is_file(), address
