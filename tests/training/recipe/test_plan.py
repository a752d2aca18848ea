"""Before a training: what it will work on, how long that takes, and what the guide tells."""

import re
import socket
from pathlib import Path

import pytest
from sqlalchemy import Engine
from sqlalchemy.orm import Session

from curation.release.freezing import create_release
from db.engine import reading, writing
from db.models import RunMetric, Split
from db.runs import create_run
from tests.curation.support.families import add_family, add_plain_family
from tests.support.checkout import ROOT
from tests.support.databases import both_databases
from training.evaluation.retrieval import SENTENCES
from training.finetune.curve_names import PACE
from training.recipe.plan import (
    FORWARD_ONLY,
    KIND,
    PREPARING,
    TELLING_STEPS,
    TEXTS_PER_SECOND,
    Amount,
    TrainingPlan,
    estimate,
    measuring_steps,
    plan,
)
from training.recipe.schema import Recipe
from training.retention import distillation

PLAN = TrainingPlan(1, 70, {"Mine": Amount(triples=120, anchors=10, texts=80)})
RECIPE = Recipe(loss="family", batch_size=5, epochs=3, retention=0, max_steps=None, soup=1)
STEPS = 6
OF_A_STEP = 5 * 8


def test_the_plan_counts_what_a_training_will_work_on(project: Engine) -> None:
    with reading(project) as session:
        before = plan(session)
    with writing(project) as session:
        create_release(session)
        after = plan(session)
    assert before == (None, 30, {"A corpus": (18, 9, 36)}, ())
    assert after == (1, 30, {"A corpus": (18, 9, 36)}, ())
    assert after.recipe().batch_size <= 9  # a batch needs as many anchors


@both_databases
def test_the_plan_counts_each_source(engine: Engine) -> None:
    with writing(engine) as session:
        for number in range(5):
            add_plain_family(session, number, split=Split.TRAIN, source=f"Source {number % 2}")
        add_family(session, "It rains.", {"word": ["It may rain."]}, split=Split.TRAIN)
        add_plain_family(session, 9, split=Split.TEST, source="Held out")
        before = plan(session)
        create_release(session, sources=["Source 0", "A corpus"])
        after = plan(session)
    amounts = {"Source 0": Amount(6, 3, 12), "Source 1": Amount(4, 2, 8)}
    assert before.amounts == amounts
    assert (before.triples, before.anchors, before.texts) == (10, 5, 20)
    assert after.amounts == {"Source 0": amounts["Source 0"]}
    assert after.sources == ("A corpus", "Source 0")


def test_rows_and_texts_are_those_of_the_loss(monkeypatch: pytest.MonkeyPatch) -> None:
    flat = RECIPE.with_overrides(["loss=triples"])
    assert (PLAN.rows(RECIPE), PLAN.texts_a_step(RECIPE)) == (10, OF_A_STEP)
    assert (PLAN.rows(flat), PLAN.texts_a_step(flat)) == (120, 5 * 3)
    held = RECIPE.with_overrides(["retention=1"])
    monkeypatch.setattr(distillation, "TEXTS_A_STEP", 16)
    monkeypatch.setattr(distillation, "TOPICS_A_STEP", 2)
    monkeypatch.setattr(distillation, "EVERY", 4)
    assert PLAN.texts_a_step(held) == OF_A_STEP + (16 + 2 * 4) / 4
    half = ["max_triples=60"]
    assert PLAN.rows(RECIPE.with_overrides(half)) == 5
    assert PLAN.rows(flat.with_overrides(half)) == 60


def test_an_epoch_has_a_source_s_share_of_its_families() -> None:
    plan = PLAN._replace(amounts=PLAN.amounts | {"Lists": Amount(400, 100, 300)})
    some = RECIPE.with_overrides(["sources=Lists:0.3,Elsewhere:0"])
    assert (plan.families(some), plan.rows(some)) == (40, 40)
    assert plan.texts_a_step(some) == 5 * (80 + 90) / 40
    flat = some.with_overrides(["loss=triples"])
    assert (plan.families(flat), plan.rows(flat)) == (40, 120 + 30 * 4)
    assert (plan.families(RECIPE), plan.rows(RECIPE)) == (110, 110)
    none = RECIPE.with_overrides(["sources=Lists:0"])
    assert (plan.families(none), plan.texts_a_step(none)) == (10, PLAN.texts_a_step(RECIPE))


def trained(
    session: Session, recipe: Recipe, *paces: float, steps: int = 100, host: str = ""
) -> int:
    run = create_run(session, kind=KIND, parameters={"recipe": recipe.model_dump(mode="json")})
    run.result, run.host = {"steps": steps}, host or socket.gethostname()
    session.flush()
    for step, pace in enumerate(paces, start=1):
        session.add(RunMetric(run_id=run.id, name=PACE, step=step, value=pace))
    session.flush()
    return run.id


def test_before_the_first_training_the_time_is_that_of_two_cores(project: Engine) -> None:
    with reading(project) as session:
        guess = estimate(session, PLAN, RECIPE)
    # 32 variants and the retrieval questions, measured before and after
    texts = STEPS * OF_A_STEP + 2 * (32 + SENTENCES) / FORWARD_ONLY
    assert guess.by_run is None
    assert guess.seconds == pytest.approx(PREPARING + texts / TEXTS_PER_SECOND)


def test_the_estimate_goes_by_the_pace_of_the_newest_training_like_it(project: Engine) -> None:
    with writing(project) as session:
        trained(session, RECIPE, 5.0)
        like = trained(session, RECIPE, 20.0, 60.0)  # as many texts each: 30 a second
        trained(session, RECIPE.with_overrides(["context=1"]), 1.0)
        trained(session, RECIPE, 1.0, steps=TELLING_STEPS - 1)
        trained(session, RECIPE, 1.0, host="elsewhere")
        trained(session, RECIPE.with_overrides(["base_encoder=other"]), 1.0)
        trained(session, RECIPE)  # cut off before its first point
        judged = estimate(session, PLAN, RECIPE)
        longer = estimate(session, PLAN, RECIPE.with_overrides(["epochs=6"]))
    assert judged.by_run == like
    assert longer.seconds - judged.seconds == pytest.approx(STEPS * OF_A_STEP / 30)


def test_another_encoder_takes_as_much_longer_as_it_is_heavier(
    project: Engine, tmp_path: Path
) -> None:
    heavy = RECIPE.with_overrides([f"base_encoder={tmp_path}"])
    (tmp_path / "config.json").write_text('{"num_hidden_layers": 12, "hidden_size": 768}')
    with writing(project) as session:
        first = estimate(session, PLAN, RECIPE).seconds - PREPARING
        assert estimate(session, PLAN, heavy).seconds - PREPARING == pytest.approx(8 * first)
        run = trained(session, RECIPE, 80.0)
        judged = estimate(session, PLAN, heavy)
        assert judged.by_run == run
        assert judged.seconds - PREPARING == pytest.approx(first * TEXTS_PER_SECOND / 10)


def test_the_default_training_on_the_starter_corpus_is_said_to_take_some_minutes(
    project: Engine,
) -> None:
    """1,778 steps, each with four families and the retention text."""
    starter = TrainingPlan(None, 7741, {"Hedgerow starter corpus": Amount(11949, 1016, 8067)})
    assert Recipe().steps(starter.rows(Recipe())) == 1778
    assert starter.texts_a_step(Recipe()) == pytest.approx(4 * 7.94 + 22, abs=0.1)
    with reading(project) as session:
        assert estimate(session, starter, Recipe()).seconds == pytest.approx(9 * 60, rel=0.1)


def test_an_unlike_training_from_the_same_encoder_tells_more_than_none(project: Engine) -> None:
    with writing(project) as session:
        unlike = trained(session, RECIPE.with_overrides(["context=1", "lora_rank=4"]), 10.0)
        assert estimate(session, PLAN, RECIPE).by_run == unlike


def test_measuring_counts_as_the_steps_that_take_as_long() -> None:
    assert measuring_steps(600, 40) == round(2 * 600 / FORWARD_ONLY / 40)
    assert measuring_steps(0, 40) == 1


def test_the_guide_names_every_key_of_the_recipe_with_its_default() -> None:
    guide = ROOT / "docs" / "training.md"
    table = guide.read_text(encoding="utf-8").partition("| key | default |")[2].partition("\n\n")[0]
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
