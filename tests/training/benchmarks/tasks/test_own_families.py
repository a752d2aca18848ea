"""Hedgerow's own benchmark on the test split of a release."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from sqlalchemy import Engine

from curation.encoders.loading import load_encoder
from curation.release.freezing import create_release
from db.engine import reading, writing
from db.errors import HedgerowError
from db.models import Split
from training.benchmarks.results.measure import measure
from training.benchmarks.scorers.embedding_models import BiEncoder
from training.benchmarks.tasks.own_families import FamilyText, Hedgerow, Kin
from training.data.families import training_families
from training.evaluation.held_out import FAMILIES, RANKED, HeldOut
from training.recipe.schema import Recipe

KIN = Kin(
    "uid",
    "It is cold.",
    (FamilyText("word", "It is probably cold."), FamilyText("phrase", "It seems to be cold.")),
    (
        FamilyText("verbal", "It is not cold."),
        FamilyText("lexical", "It is warm."),
        FamilyText("verbal", "It isn't cold."),
    ),
)


def test_every_positive_must_be_nearer_than_every_negative() -> None:
    result = Hedgerow([KIN]).evaluate([np.array([0.9, 0.6, 0.7, 0.1, 0.2])])
    assert (result.score, result.rows[0].outcome, result.rows[0].uids["anchor"]) == (
        0.0,
        "wrong",
        "uid",
    )
    types = result.breakdowns["positive type"] | result.breakdowns["negative type"]
    assert {name: part.score for name, part in types.items()} == {
        "word": 100.0,
        "phrase": 0.0,
        "verbal": 0.0,
        "lexical": 100.0,
    }
    pairs = result.breakdowns["pair of types"]
    assert pairs["phrase>verbal"] == (50.0, 2) and pairs["word>verbal"] == (100.0, 2)
    assert result.rows[0].texts["verbal 2"] == "It isn't cold."


def test_open_claims_have_a_breakdown_and_do_not_affect_the_score() -> None:
    open_ = (FamilyText("unsupported", "Nobody knows if it is cold."),)
    scores = [
        [0.9, 0.8, 0.5, 0.1, 0.2, 0.3],  # in order
        [0.9, 0.6, 0.7, 0.1, 0.2, 0.3],  # nearer than a hedge
        [0.9, 0.8, 0.2, 0.1, 0.2, 0.3],  # farther than a negation
    ]
    result = Hedgerow([KIN._replace(open=open_)] * 3).evaluate([np.array(row) for row in scores])
    assert result.score == 100.0
    assert {name: part.score for name, part in result.breakdowns["levels"].items()} == {
        "farther than positives": pytest.approx(200 / 3),
        "nearer than negations": pytest.approx(200 / 3),
        "both: in order": pytest.approx(100 / 3),
    }
    assert list(result.rows[0].texts)[1:4] == ["word", "phrase", "unsupported"]
    assert "levels" not in Hedgerow([KIN]).evaluate([np.array(scores[0][:5])]).breakdowns


def test_a_tie_is_wrong_and_reported() -> None:
    result = Hedgerow([KIN]).evaluate([np.array([0.9, 0.6, 0.6, 0.1, 0.2])])
    assert (result.score, result.ties, result.rows[0].outcome) == (0.0, 1, "tied")


def test_the_test_split_of_a_release_agrees_with_what_a_training_measures(
    project: Engine, tiny_encoder: Path
) -> None:
    with writing(project) as session:
        release = create_release(session).release
        release_id = release.id
    model = load_encoder(str(tiny_encoder))
    for split in (Split.TEST, Split.TRAIN):
        with reading(project) as session:
            read = Hedgerow.of_release(session, release_id, split=split)
            held_out = training_families(session, release_id, split=split, recipe=Recipe())
        figures = HeldOut(model, held_out).before
        result = measure(read, BiEncoder(model))
        assert result.n == len(held_out) == (1 if split is Split.TEST else 9)
        assert result.score == pytest.approx(100 * figures[FAMILIES])
        row = result.rows[0]
        assert row.uids.keys() == row.texts.keys() and all(map(len, row.uids.values()))
        pairs = result.breakdowns["pair of types"]
        assert {f"{RANKED}:{name}": part.score for name, part in pairs.items()} == {
            name: pytest.approx(100 * figure)
            for name, figure in figures.items()
            if name.startswith(f"{RANKED}:")
        }
    with reading(project) as session, pytest.raises(HedgerowError, match="in the validation split"):
        Hedgerow.of_release(session, release_id, split=Split.VALIDATION)
