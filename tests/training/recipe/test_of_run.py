"""Training runs by earlier versions of Hedgerow can be opened, whatever their recipes contain."""

from __future__ import annotations

from pathlib import Path

import pytest
from sqlalchemy import Engine

from db.engine import reading, writing
from db.errors import HedgerowError, RunEnded
from db.execution import execute
from db.models import RunState
from db.runs import create_run, get_run, list_runs
from db.settings import Settings
from tests.support.old_recipes import OLD_RECIPES
from tests.support.publishing import add_model
from training.hub.model_card import card_of
from training.recipe.of_run import recipe_of, values_of
from training.recipe.plan import KIND
from training.recipe.schema import Recipe
from training.retention.interpolation import ends_of
from training.retention.tradeoff_save import request_save
from training.runs.comparison_table import as_table, differing, finished, settings_of
from training.runs.removal import delete_run
from training.runs.trainings import work

pytestmark = pytest.mark.parametrize("version", list(OLD_RECIPES))


@pytest.fixture
def trainings(engine: Engine, tiny_encoder: Path, version: int) -> tuple[int, int]:
    """A finished run by this older version, and one by today's."""
    old = add_model(engine, tiny_encoder)
    with writing(engine) as session:
        run = get_run(session, old)
        again = create_run(session, kind=KIND, parameters=run.parameters)
        again.state, again.result = RunState.DONE, {"triples": 6, "steps": 4}
        run.parameters = {**run.parameters, "recipe": OLD_RECIPES[version]}
        return old, again.id


def test_an_older_training_is_listed_shown_compared_and_deleted(
    engine: Engine, settings: Settings, trainings: tuple[int, int], version: int
) -> None:
    old, new = trainings
    with reading(engine) as session:
        assert {run.id for run in list_runs(session, kind=KIND)} == {old, new}
        assert values_of(get_run(session, old)) == OLD_RECIPES[version]
        newest, oldest = finished(session)
        ends = ends_of(session, settings, get_run(session, old))
    assert (newest.run, oldest.run, oldest.triples) == (new, old, 6)
    lines = {line.key: line.values for line in differing([oldest, newest], settings_of(newest))}
    assert lines["version"] == [str(version), str(newest.recipe["version"])]
    share = OLD_RECIPES[version].get("interpolation")
    then = "–" if share is None else f"{share:g}"
    assert lines["interpolation"] == [then, f"{newest.recipe['interpolation']:g}"]
    header, (_, line) = as_table([newest, oldest])
    assert line[header.index("version")] == str(version)
    assert line[header.index("interpolation")] == ("" if share is None else then)
    assert ends.own_share == OLD_RECIPES[version].get("interpolation", 1.0)
    (folder,) = delete_run(engine, settings, old)
    assert not folder.exists()


def test_actions_on_an_older_recipe_are_refused_with_one_sentence(
    engine: Engine, settings: Settings, trainings: tuple[int, int], version: int
) -> None:
    old, _ = trainings
    sentence = (
        f"^The recipe of run {old} has version {version}, expected {Recipe().version}; an older "
        "Hedgerow wrote it, so start from a preset and set its values again.$"
    )
    with reading(engine) as session:
        run = get_run(session, old)
        with pytest.raises(HedgerowError, match=sentence):
            recipe_of(run)
        with pytest.raises(HedgerowError, match=sentence):
            card_of(session, run, run.result)
    with writing(engine) as session, pytest.raises(HedgerowError, match=sentence):
        request_save(session, settings, training=old, share=0.5)
    with writing(engine) as session:
        run = get_run(session, old)
        run.state = RunState.QUEUED  # it was requested, and Hedgerow was upgraded meanwhile
    with pytest.raises(RunEnded, match=sentence):
        execute(engine, settings, old, {KIND: work})
    with reading(engine) as session:
        assert get_run(session, old).state == RunState.FAILED
