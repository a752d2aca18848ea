"""Requests for training runs: what they store, and what is refused."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest
from sqlalchemy import Engine

from curation.release.freezing import create_release, get_release, list_releases
from db.engine import reading, writing
from db.errors import HedgerowError
from db.models import Encoder, Run, RunState, Split
from db.runs import get_run
from db.settings import Settings
from tests.curation.support.families import (
    add_anchor,
    add_family,
    add_plain_family,
    add_variant,
    decide,
    model,
)
from tests.support.checkpoints import checkpoint
from tests.training.support.trainings import ask, count, train
from training.recipe.plan import plan
from training.recipe.presets import PRESETS, recipe_for
from training.recipe.schema import Recipe
from training.runs.trainings import request_training


def test_a_training_creates_the_first_release_and_stores_its_inputs(
    project: Engine, recipe: Recipe
) -> None:
    run_id = ask(project, recipe, seed=7)
    with reading(project) as session:
        run, release = get_run(session, run_id), get_release(session)
        assert run.parameters == {
            "release": 1,
            "preset": None,
            "recipe": recipe.model_dump(mode="json"),
            "seed": 7,
        }
        assert run.inputs == {"release": release.content_hash, "recipe": recipe.hash}
        assert run.state == RunState.QUEUED


def test_a_run_stores_the_name_of_its_preset(project: Engine) -> None:
    with reading(project) as session:
        whole = plan(session)
    quick = recipe_for(PRESETS["quick"], whole)
    runs = [ask(project, recipe) for recipe in (quick, quick.with_overrides(["epochs=5"]))]
    with reading(project) as session:
        assert [get_run(session, key).parameters["preset"] for key in runs] == ["quick", None]


def test_a_training_takes_the_newest_release_or_the_one_named(
    project: Engine, recipe: Recipe
) -> None:
    with writing(project) as session:
        create_release(session)
        add_plain_family(session, 77, split=Split.TRAIN)
        create_release(session)
    runs = [ask(project, recipe), ask(project, recipe, release=1)]
    with reading(project) as session:
        assert [get_run(session, key).parameters["release"] for key in runs] == [2, 1]
        assert len(list_releases(session)) == 2


def test_without_anything_accepted_no_training_and_no_release_is_left(
    engine: Engine, recipe: Recipe
) -> None:
    with pytest.raises(HedgerowError, match="no variant is accepted"):
        ask(engine, recipe)


def test_a_release_without_triples_cannot_be_trained_on(engine: Engine, recipe: Recipe) -> None:
    with writing(engine) as session:
        add_plain_family(session, 1, split=Split.TEST)
    with pytest.raises(HedgerowError, match="has no triples to train on"):
        ask(engine, recipe)
    with reading(engine) as session:
        assert list_releases(session) == []
        assert count(session, Run) == 0


@pytest.mark.parametrize(
    ("change", "sentence"),
    [
        ({"base_encoder": "./nowhere"}, "no model folder"),
        ({"batch_size": 64}, "at least 64 anchors .* for a batch, found 9; lower batch_size"),
        ({"types": {"verbal": 0.0, "lexical": 0.0}}, "a recipe that leaves anchors .* leaves none"),
        ({"max_triples": 3}, "A batch needs 4 anchors"),
    ],
)
def test_a_recipe_that_cannot_be_trained_leaves_no_run_and_no_release(
    project: Engine, recipe: Recipe, change: dict[str, object], sentence: str
) -> None:
    with pytest.raises(HedgerowError, match=sentence):
        ask(project, recipe.model_copy(update=change))
    with reading(project) as session:
        assert (list_releases(session), count(session, Run)) == ([], 0)


def test_the_same_training_is_refused_while_it_is_in_progress(
    project: Engine, recipe: Recipe
) -> None:
    first = ask(project, recipe)
    with pytest.raises(
        HedgerowError, match=f"Run {first} is already training with the same settings"
    ):
        ask(project, recipe)
    assert ask(project, recipe, seed=2) > first
    with writing(project) as session:
        get_run(session, first).state = RunState.CANCELLED
    assert ask(project, recipe) > first


@pytest.mark.parametrize(
    "architecture",
    ["T5ForConditionalGeneration", "LlamaForCausalLM", "BertForSequenceClassification"],
)
def test_a_base_that_is_not_an_encoder_leaves_no_run_and_no_release(
    project: Engine, recipe: Recipe, tmp_path: Path, architecture: str
) -> None:
    base = checkpoint(architecture, tmp_path / "base")
    with pytest.raises(HedgerowError, match=f"Expected a text encoder in .*{architecture}"):
        ask(project, recipe.model_copy(update={"base_encoder": str(base)}))
    with reading(project) as session:
        assert (list_releases(session), count(session, Run)) == ([], 0)


def test_a_base_that_is_no_longer_an_encoder_is_not_listed(
    project: Engine, recipe: Recipe, settings: Settings, tmp_path: Path
) -> None:
    base = checkpoint("BertModel", tmp_path / "base")
    run_id = ask(project, recipe.model_copy(update={"base_encoder": str(base)}))
    shutil.rmtree(base)
    checkpoint("BertForSequenceClassification", base)
    with pytest.raises(HedgerowError, match="found BertForSequenceClassification"):
        train(project, settings, run_id)
    with reading(project) as session:
        assert count(session, Encoder) == 0


def test_a_training_may_be_on_the_variants_of_some_writers_alone(
    project: Engine, recipe: Recipe, settings: Settings
) -> None:
    """As in a study that compares writers."""
    with writing(project) as session:
        for number in range(4):
            anchor = add_anchor(session, f"Gate {number} is old.", split=Split.TRAIN)
            for kind, how in (("word", "probably"), ("verbal", "not")):
                variant = add_variant(session, anchor, kind, f"Gate {number} is {how} old.")
                variant.provider = "rules"
                decide(session, variant, model(session))
        run = request_training(
            session,
            release_number=None,
            recipe=recipe,
            seed=1,
            requested_by=None,
            providers=["rules"],
        )
    run = train(project, settings, run.id)
    assert (run.result["triples"], run.result["anchors"]) == (4, 4)
    card = (settings.data_folder / run.result["model"] / "README.md").read_text("utf-8")
    assert "| variants by | rules |" in card


def test_hedges_alone_are_enough_if_other_anchors_are_the_negatives(
    engine: Engine, recipe: Recipe, settings: Settings
) -> None:
    with writing(engine) as session:
        for number in range(4):
            text = f"Door {number} is open."
            add_family(session, text, {"word": [f"Maybe {text.lower()}"]}, split=Split.TRAIN)
    with pytest.raises(HedgerowError, match="has no triples to train on"):
        ask(engine, recipe)
    run = train(engine, settings, ask(engine, recipe.model_copy(update={"data": "hedging"})))
    assert (run.result["triples"], run.result["anchors"]) == (4, 4)


@pytest.mark.parametrize(
    ("release", "seed", "sentence"),
    [(3, 1, "There is no release"), (None, -1, "Expected a seed"), (None, 2**32, "seed from 0")],
)
def test_an_impossible_request_is_refused_with_one_sentence(
    project: Engine, recipe: Recipe, release: int | None, seed: int, sentence: str
) -> None:
    with pytest.raises(HedgerowError, match=sentence):
        ask(project, recipe, release=release, seed=seed)
