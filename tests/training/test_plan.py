"""Before a training: what it will work on, how long that takes, and the recipe as text."""

import re
from pathlib import Path

import pytest
from sqlalchemy import Engine

from curation.release import create_release
from db.engine import reading, writing
from db.errors import HedgerowError
from db.runs import create_run
from training.plan import estimate, parse_recipe, plan
from training.recipe import Recipe
from training.runs import KIND


def test_the_plan_counts_what_a_training_will_work_on(project: Engine) -> None:
    with reading(project) as session:
        before = plan(session)
    with writing(project) as session:
        create_release(session)
        after = plan(session)
    assert before == (None, 30, 18, 9)
    assert after == (1, 30, 18, 9)
    assert after.recipe().batch_size == 9  # a batch needs as many anchors


def test_the_estimate_goes_by_the_last_training_of_some_length(project: Engine) -> None:
    recipe = Recipe(batch_size=4)
    with writing(project) as session:
        create_release(session)
        wanted = plan(session)
        guess = estimate(session, wanted, recipe)
        parameters = {"recipe": recipe.model_dump(mode="json")}
        for steps, seconds in ((100, 50.0), (2, 900.0)):
            run = create_run(session, kind=KIND, parameters=parameters)
            run.total, run.result = steps, {"steps": steps, "seconds": seconds}
            session.flush()
        judged = estimate(session, wanted, recipe)
        longer = estimate(session, wanted, Recipe(batch_size=4, epochs=10))
    assert guess.by_run is None and guess.seconds > 0
    assert judged.by_run == 1
    # 4 steps of training and 1 of measuring, at half a second a step
    assert judged.seconds == pytest.approx(2.5)
    assert longer.seconds == pytest.approx((40 + 1) * 0.5)


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("", "Expected 'key: value' lines"),
        ("- 1", "Expected 'key: value' lines"),
        ("epochs: 1\nscale: [", "not YAML at line"),
        ("epoch: 1", "nearest one is 'epochs'"),
        ("epochs: !!python/object/apply:os.getcwd []", "not YAML"),
        ("#" * 100_000, "too long"),
    ],
)
def test_a_text_that_is_no_recipe_is_refused(text: str, sentence: str) -> None:
    with pytest.raises(HedgerowError, match=sentence) as caught:
        parse_recipe(text)
    assert "\n" not in str(caught.value)


def test_a_recipe_as_shown_is_read_back_the_same() -> None:
    recipe = Recipe(epochs=0.5, base_encoder="owner/näme")
    assert parse_recipe(recipe.to_yaml()) == recipe


def test_the_guide_names_every_key_of_the_recipe_with_its_default() -> None:
    guide = Path(__file__).parents[2] / "docs" / "training.md"
    table = guide.read_text(encoding="utf-8").partition("| key | default |")[2]
    told: dict[str, str] = {}
    for line in table.splitlines():
        if line.startswith("| `"):
            keys, defaults = line.split(" | ")[:2]
            told |= zip(
                re.findall(r"\w+", keys), defaults.replace("`", "").split(", "), strict=True
            )
    assert set(told) == set(Recipe.model_fields) - {"version"}
    words = [f"{key}={value}" for key, value in told.items()]
    assert Recipe(max_steps=1, scale=1).with_overrides(words) == Recipe()
