"""The estimated time of a training run, and the earlier runs that it is based on."""

from __future__ import annotations

import socket
from pathlib import Path

import pytest
from sqlalchemy import Engine, select
from sqlalchemy.orm import Session
from sqlmodel import col

from curation.diagnostics.measuring import KIND as MEASURING
from curation.encoders.model_folders import DEFAULT_ENCODER
from curation.encoders.reading_pace import MARKS
from db.engine import reading, writing
from db.models import Encoder, Run, RunMetric, Variant, VariantCosine
from db.runs import create_run
from training.finetune.curve_names import PACE, STEP
from training.recipe import time_estimate
from training.recipe.plan import KIND, Amount, TrainingPlan
from training.recipe.schema import Recipe
from training.recipe.time_estimate import (
    CHARACTERS_PER_SECOND,
    OVERHEAD,
    PREPARING,
    TELLING_STEPS,
    estimate,
    forward_only,
    measuring_steps,
)
from training.retention import distillation

PLAN = TrainingPlan(1, 70, {"Mine": Amount(triples=120, anchors=10, texts=80, letters=41)})
RECIPE = Recipe(loss="family", batch_size=5, epochs=3, retention=0, lora_rank=None)
STEPS = 6
OF_A_TEXT = 41 + MARKS
OF_STEPS = STEPS * (STEP + 5 * 8 * OF_A_TEXT)

OF_EVALUATIONS = (1 + 3 + 1) * 10 * 0.05 / 0.9 * 8 * OF_A_TEXT
"""Before the first step, after each epoch, and for the final model; 5 families for 90 in
training."""

OF_MEASURING = 2 * 32 * OF_A_TEXT
"""The project's variants, before and after."""

READ = OF_STEPS + (OF_EVALUATIONS + OF_MEASURING) / forward_only()


@pytest.fixture(autouse=True)
def no_retrieval(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(time_estimate, "retrieval_characters", lambda: 0)


def seconds(engine: Engine, plan: TrainingPlan = PLAN, recipe: Recipe = RECIPE) -> float:
    """Without the preparation."""
    with reading(engine) as session:
        return estimate(session, plan, recipe).seconds - PREPARING - OVERHEAD


def add_pace(session: Session, kind: str, *paces: float, host: str = "", **result: object) -> int:
    """The number of a run with these paces."""
    run = create_run(session, kind=kind, parameters={"recipe": RECIPE.model_dump(mode="json")})
    run.result, run.host = result, host or socket.gethostname()
    session.flush()
    for step, pace in enumerate(paces, start=1):
        session.add(RunMetric(run_id=run.id, name=PACE, step=step, value=pace))
    session.flush()
    return run.id


def trained(
    session: Session, recipe: Recipe, *paces: float, steps: int = 100, host: str = ""
) -> int:
    number = add_pace(session, KIND, *paces, host=host, steps=steps)
    run = session.get_one(Run, number)
    run.parameters = {"recipe": recipe.model_dump(mode="json")}
    return number


def test_before_anything_was_read_here_the_time_is_that_of_two_cores(project: Engine) -> None:
    assert seconds(project) == pytest.approx(READ / CHARACTERS_PER_SECOND)
    with reading(project) as session:
        assert estimate(session, PLAN, RECIPE).by_run is None


def test_retrieval_is_read_before_and_after(
    project: Engine, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(time_estimate, "retrieval_characters", lambda: 5_000)
    more = 2 * 5_000 / forward_only()
    assert seconds(project) == pytest.approx((READ + more) / CHARACTERS_PER_SECOND)


def test_known_cosines_of_the_base_encoder_are_not_measured_again(project: Engine) -> None:
    with writing(project) as session:
        session.add(base := Encoder(name=DEFAULT_ENCODER, fingerprint="x"))
        session.flush()
        for key in session.execute(select(col(Variant.id))).scalars().all():
            session.add(VariantCosine(encoder_id=base.id, variant_id=key, cosine=0.5))
    less = OF_MEASURING / 2 / forward_only()
    assert seconds(project) == pytest.approx((READ - less) / CHARACTERS_PER_SECOND)


def test_texts_that_are_twice_as_long_take_twice_the_time(project: Engine) -> None:
    long = PLAN._replace(amounts={"Mine": Amount(120, 10, 80, 2 * 41 + MARKS)})
    of_texts = READ - STEPS * STEP
    assert seconds(project, long) == pytest.approx((READ + of_texts) / CHARACTERS_PER_SECOND)


def test_retention_text_counts_in_each_step_and_once_before_them(
    project: Engine, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(distillation, "TEXTS_A_STEP", 16)
    monkeypatch.setattr(distillation, "TOPICS_A_STEP", 0)
    monkeypatch.setattr(distillation, "DOCUMENTS_A_STEP", 0)
    monkeypatch.setattr(distillation, "EVERY", 4)
    a_step = 16 * OF_A_TEXT / 4
    more = STEPS * a_step + STEPS * a_step / forward_only()
    held = RECIPE.with_overrides(["retention=1"])
    assert seconds(project, recipe=held) == pytest.approx((READ + more) / CHARACTERS_PER_SECOND)


def test_files_of_the_recipe_count_by_their_length(project: Engine, tmp_path: Path) -> None:
    passages, pairs = tmp_path / "passages.txt", tmp_path / "pairs.tsv"
    passages.write_text(f"{'long ' * 60}\n" * 500, encoding="utf-8")
    pairs.write_text("0.5\tA dog.\tA hound.\n" * 5_000, encoding="utf-8")
    held = RECIPE.with_overrides(["retention=1"])
    with_passages = held.with_overrides([f"retention_file={passages}"])
    with_pairs = held.with_overrides([f"sts_file={pairs}"])
    plain = seconds(project, recipe=held)
    assert seconds(project, recipe=with_passages) > 1.1 * plain
    more = 5 * pairs.stat().st_size / forward_only() / CHARACTERS_PER_SECOND
    assert seconds(project, recipe=with_pairs) == pytest.approx(plain + more)
    gone = held.with_overrides(["retention_file=gone.txt", "sts_file=gone.tsv"])
    assert seconds(project, recipe=gone) == pytest.approx(plain)


def test_the_estimate_uses_the_speed_of_the_newest_similar_training(project: Engine) -> None:
    with writing(project) as session:
        trained(session, RECIPE, 500.0)
        like = trained(session, RECIPE, 2_000.0, 6_000.0)  # equal shares: 3,000 per second
        trained(session, RECIPE.with_overrides(["dropout=0.1"]), 100.0)
        trained(session, RECIPE, 100.0, steps=TELLING_STEPS - 1)
        trained(session, RECIPE, 100.0, host="elsewhere")
        trained(session, RECIPE.with_overrides(["base_encoder=other"]), 100.0)
        trained(session, RECIPE)  # interrupted before its first point
        add_pace(session, MEASURING, 100.0, encoder=DEFAULT_ENCODER)
        assert estimate(session, PLAN, RECIPE).by_run == like
    assert seconds(project) == pytest.approx(READ / 3_000)


def test_before_the_first_training_it_goes_by_the_last_measuring_here(project: Engine) -> None:
    with writing(project) as session:
        add_pace(session, MEASURING, 100.0, encoder=DEFAULT_ENCODER)
        newest = add_pace(session, MEASURING, 9_000.0, encoder=DEFAULT_ENCODER)
        add_pace(session, MEASURING, encoder=DEFAULT_ENCODER)  # too few to be representative
        add_pace(session, MEASURING, 100.0, encoder=DEFAULT_ENCODER, host="elsewhere")
        assert estimate(session, PLAN, RECIPE).by_run == newest
    assert seconds(project) == pytest.approx(READ / (9_000 / forward_only()))


def test_another_encoder_takes_as_much_longer_as_it_is_heavier(
    project: Engine, tmp_path: Path
) -> None:
    heavy = RECIPE.with_overrides([f"base_encoder={tmp_path}"])
    (tmp_path / "config.json").write_text('{"num_hidden_layers": 12, "hidden_size": 768}')
    assert seconds(project, recipe=heavy) == pytest.approx(8 * READ / CHARACTERS_PER_SECOND)
    with writing(project) as session:
        run = trained(session, RECIPE, 8_000.0)
        assert estimate(session, PLAN, heavy).by_run == run
    assert seconds(project, recipe=heavy) == pytest.approx(READ / 1_000)


def test_an_unlike_training_from_the_same_encoder_tells_more_than_none(project: Engine) -> None:
    with writing(project) as session:
        unlike = trained(session, RECIPE.with_overrides(["dropout=0.1", "lora_rank=4"]), 10.0)
        assert estimate(session, PLAN, RECIPE).by_run == unlike


def test_measuring_counts_as_the_steps_that_take_as_long() -> None:
    assert measuring_steps(600, 40) == round(2 * 600 / forward_only() / 40)
    assert measuring_steps(0, 40) == 1
