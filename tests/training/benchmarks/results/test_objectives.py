"""SemAntoNeg by training objective, as the paper's Tables 3 to 6 group its models."""

from __future__ import annotations

import statistics

import pytest

from training.benchmarks.results.objectives import (
    GENERAL,
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

TABLES = {
    GENERAL: "sentence-t5-xl sentence-t5-large sentence-t5-base all-roberta-large-v1 "
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


@pytest.mark.parametrize("objective", OBJECTIVES)
def test_a_name_says_the_objective_that_the_papers_table_has(objective: str) -> None:
    known = {model.model for model in published_accuracies()}
    names = TABLES[objective].split()
    assert set(names) <= known
    assert {name: objective_of(name) for name in names} == dict.fromkeys(names, objective)


@pytest.mark.parametrize(
    ("name", "objective"),
    [
        ("msmarco-distilbert-base-v4", OTHER),
        ("multi-qa-mpnet-base-cos-v1", OTHER),
        ("/models/all-MiniLM-L6-v2/", GENERAL),
        ("sentence-transformers/nli-bert-base", NLI),
        ("run 7: all-MiniLM-L6-v2", OTHER),
        ("run 12: paraphrase-mpnet-base-v2", OTHER),
        ("small-model", OTHER),
    ],
)
def test_other_names(name: str, objective: str) -> None:
    assert objective_of(name) == objective


def test_the_groups_are_of_published_models_only() -> None:
    published = published_accuracies()
    found = groups([*published, ModelAccuracy("nli-mine", 0.0, False, 6)])
    assert found == groups(published) and [g.objective for g in found] == list(OBJECTIVES)
    assert {g.objective: (g.models, round(g.mean, 1)) for g in found} == {
        GENERAL: (11, 32.8),
        PARAPHRASE: (18, 49.6),
        NLI: (27, 83.9),
        STSB: (16, 77.4),
    }
    nli = [m.accuracy for m in published if m.objective == NLI]
    assert found[2].variance == pytest.approx(statistics.variance(nli))
    assert (found[2].least, found[2].most) == (66.6, 93.6)
    assert groups([ModelAccuracy("nli-a", 1.0, True, 6)]) == [], "one model has no variance"


def test_the_tables() -> None:
    published = published_accuracies()
    rows = group_rows(groups(published))
    assert [len(row) for row in rows] == [len(GROUP_HEAD)] * 4
    first, *_, last = model_rows([ModelAccuracy("mine", 99.0, False, 6), *published])
    assert first == ("mine", OTHER, 99.0, 6, "measured")
    assert last[2:] == (0.0, 3152, "published")
