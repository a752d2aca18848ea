"""Requests for trainings: what they store, what is refused, and what they will take."""

from __future__ import annotations

import re
import shutil
import socket
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import Engine, select
from sqlalchemy.orm import Session
from sqlmodel import col

from curation.diagnostics.measuring import KIND as MEASURING
from curation.encoders.embeddings import MARKS, PER_TOKEN
from curation.encoders.model_folders import DEFAULT_ENCODER
from curation.release.freezing import get_release, list_releases
from curation.release.selection import Selection
from db.engine import reading, writing
from db.errors import HedgerowError
from db.models import Encoder, Run, RunMetric, RunState, Split, Variant, VariantCosine
from db.runs import create_run, get_run, request_cancel
from db.settings import Settings
from tests.curation.support.families import add_family, add_plain_family, add_variant, decide
from tests.support.checkout import ROOT
from tests.support.checkpoints import checkpoint
from tests.support.databases import both_databases
from tests.support.factories import add_anchor, freeze, model
from tests.training.support.trainings import ask, count, read, train, write
from training.encoder_run.training_run import store_training
from training.finetune import feasibility
from training.finetune.curves import PACE, STEP
from training.finetune.feasibility import (
    CHARACTERS_PER_SECOND,
    OVERHEAD,
    PREPARING,
    TELLING_STEPS,
    estimate,
    forward_only,
    measuring_steps,
)
from training.recipe.presets import PRESETS, recipe_for
from training.recipe.schema import Recipe
from training.recipe.training_data import KIND, Amount, TrainingPlan, plan
from training.retention import distillation


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


@pytest.mark.slow
def test_a_run_stores_the_name_of_its_preset(project: Engine) -> None:
    whole = read(project, plan)
    quick = recipe_for(PRESETS["quick"], whole)
    runs = [ask(project, recipe) for recipe in (quick, quick.with_overrides(["epochs=5"]))]
    assert [read(project, get_run, key).parameters["preset"] for key in runs] == ["quick", None]


def test_a_training_takes_the_newest_release_or_the_one_named(
    project: Engine, recipe: Recipe
) -> None:
    with writing(project) as session:
        freeze(session)
        add_plain_family(session, 77, split=Split.TRAIN)
        freeze(session)
    runs = [ask(project, recipe), ask(project, recipe, release=1)]
    with reading(project) as session:
        assert [get_run(session, key).parameters["release"] for key in runs] == [2, 1]
        assert len(list_releases(session)) == 2


def test_without_triples_no_training_and_no_release_is_left(engine: Engine, recipe: Recipe) -> None:
    with pytest.raises(HedgerowError, match="accepted"):
        ask(engine, recipe)
    with writing(engine) as session:
        add_plain_family(session, 1, split=Split.TEST)
        for number in range(4):
            text = f"Gate {number} is open."
            add_family(session, text, {"word": [f"Maybe {text.lower()}"]}, split=Split.TRAIN)
    with pytest.raises(HedgerowError, match="triples"):
        ask(engine, recipe)
    with reading(engine) as session:
        assert (list_releases(session), count(session, Run)) == ([], 0)
    # hedges alone are enough if other anchors are the negatives
    assert ask(engine, recipe.model_copy(update={"data": "hedging"})) == 1


@pytest.mark.parametrize(
    ("change", "how", "fact"),
    [
        ({"base_encoder": "./nowhere"}, {}, "no model folder"),
        ({"base_encoder": "t5"}, {}, "T5ForConditionalGeneration"),
        ({"batch_size": 64}, {}, "64 anchors.*found 9; lower batch_size"),
        ({"types": {"verbal": 0.0, "lexical": 0.0}}, {}, "leaves none"),
        ({"types": {"entailments": 0.5}}, {}, "'entailments'"),
        ({"max_triples": 3}, {}, "4 anchors"),
        ({}, {"release": 3}, "no release"),
        ({}, {"seed": -1}, "a seed"),
        ({}, {"seed": 2**32}, "a seed"),
    ],
)
def test_what_cannot_be_trained_leaves_no_run_and_no_release(
    project: Engine, recipe: Recipe, home: Path, change: dict[str, Any], how: Any, fact: str
) -> None:
    if change.get("base_encoder") == "t5":
        checkpoint("T5ForConditionalGeneration", home / "t5")
        change = {"base_encoder": str(home / "t5")}
    with pytest.raises(HedgerowError, match=fact):
        ask(project, recipe.model_copy(update=change), **how)
    with reading(project) as session:
        assert (list_releases(session), count(session, Run)) == ([], 0)


def test_the_same_training_is_refused_while_it_is_in_progress(
    project: Engine, recipe: Recipe
) -> None:
    first = ask(project, recipe)
    with pytest.raises(HedgerowError, match=f"Run {first} "):
        ask(project, recipe)
    assert ask(project, recipe, seed=2) > first
    write(project, request_cancel, first)
    assert ask(project, recipe) > first


@pytest.mark.slow
def test_a_base_that_is_no_longer_an_encoder_is_not_listed(
    project: Engine, recipe: Recipe, settings: Settings, tmp_path: Path
) -> None:
    base = checkpoint("BertModel", tmp_path / "base")
    run_id = ask(project, recipe.model_copy(update={"base_encoder": str(base)}))
    shutil.rmtree(base)
    checkpoint("BertForSequenceClassification", base)
    with pytest.raises(HedgerowError, match="found BertForSequenceClassification"):
        train(project, settings, run_id)
    assert read(project, count, Encoder) == 0


@pytest.mark.slow
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
        freeze(session)
        run = store_training(
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
    assert "| rules |" in card


PLAN = TrainingPlan(1, 70, {"Mine": Amount(triples=120, anchors=10, texts=80, letters=41)})
RECIPE = Recipe(loss="family", batch_size=5, epochs=3, retention=0, lora_rank=None)
OF_A_TEXT = 41 + MARKS


def test_the_plan_counts_what_a_training_will_work_on(project: Engine) -> None:
    before = read(project, plan)
    with writing(project) as session:
        freeze(session)
        after = plan(session)
    amount = before.amounts["A corpus"]
    assert amount[:3] == (18, 9, 36)
    assert amount.letters == pytest.approx(58 / 3)  # from three variants per door
    assert before == (None, 30, {"A corpus": amount}, Selection(max_distance=60))
    assert after == (1, 30, {"A corpus": amount}, Selection(max_distance=60))


@both_databases
def test_the_plan_counts_each_source(engine: Engine) -> None:
    with writing(engine) as session:
        for number in range(5):
            add_plain_family(session, number, split=Split.TRAIN, source=f"Source {number % 2}")
        add_family(session, "It rains.", {"word": ["It may rain."]}, split=Split.TRAIN)
        add_plain_family(session, 9, split=Split.TEST, source="Held out")
        before = plan(session)
        freeze(session, selection=Selection(("A corpus", "Source 0")))
        after = plan(session)
    counts = {source: amount[:3] for source, amount in before.amounts.items()}
    assert counts == {"Source 0": (6, 3, 12), "Source 1": (4, 2, 8)}
    assert (before.triples, before.anchors, before.texts) == (10, 5, 20)
    assert after.amounts == {"Source 0": before.amounts["Source 0"]}
    assert after.selection.sources == ("A corpus", "Source 0")


def test_rows_and_what_there_is_to_read_in_them_are_those_of_the_loss() -> None:
    flat = RECIPE.with_overrides(["loss=triples"])
    assert (PLAN.rows(RECIPE), PLAN.characters_a_row(RECIPE)) == (10, 8 * OF_A_TEXT)
    assert (PLAN.rows(flat), PLAN.characters_a_row(flat)) == (120, 3 * OF_A_TEXT)
    half = ["max_triples=60"]
    assert PLAN.rows(RECIPE.with_overrides(half)) == 5
    assert PLAN.rows(flat.with_overrides(half)) == 60
    cut = RECIPE.with_overrides(["max_seq_length=8"])
    assert PLAN.characters_a_row(cut) == pytest.approx(8 * 8 * PER_TOKEN)


def test_an_epoch_has_a_source_s_share_of_its_families() -> None:
    lists = Amount(triples=400, anchors=100, texts=300, letters=21)
    plan = PLAN._replace(amounts=PLAN.amounts | {"Lists": lists})
    some = RECIPE.with_overrides(["sources=Lists:0.3,Elsewhere:0"])
    assert (plan.families(some), plan.rows(some)) == (40, 40)
    assert plan.characters_a_row(some) == (80 * OF_A_TEXT + 90 * (21 + MARKS)) / 40
    assert plan.letters == (80 * 41 + 300 * 21) / 380
    flat = some.with_overrides(["loss=triples"])
    assert (plan.families(flat), plan.rows(flat)) == (40, 120 + 30 * 4)
    assert (plan.families(RECIPE), plan.rows(RECIPE)) == (110, 110)
    none = RECIPE.with_overrides(["sources=Lists:0"])
    assert (plan.families(none), plan.characters_a_row(none)) == (10, 8 * OF_A_TEXT)


def test_the_guide_names_every_key_of_the_recipe_with_its_default() -> None:
    guide = ROOT / "docs" / "recipes.md"
    table = guide.read_text(encoding="utf-8").partition("| key | default |")[2].partition("\n\n")[0]
    described: dict[str, str] = {}
    for line in table.splitlines():
        if line.startswith("| `"):
            keys, defaults = line.split(" | ")[:2]
            described |= zip(
                re.findall(r"\w+", keys), defaults.replace("`", "").split(", "), strict=True
            )
    assert set(described) == set(Recipe.model_fields) - {"version"}
    words = [f"{key}={value}" for key, value in described.items()]
    assert Recipe(max_steps=1, scale=1).with_overrides(words) == Recipe()


MEASURED = {"kind": MEASURING, "encoder": DEFAULT_ENCODER}
STEPS = 6
OF_STEPS = STEPS * (STEP + 5 * 8 * OF_A_TEXT)

OF_EVALUATIONS = (1 + 3 + 1) * 10 * 0.05 / 0.9 * 8 * OF_A_TEXT
"""Before the first step, after each epoch, and for the final model; 5 families for 90 in
training."""

OF_MEASURING = 2 * 32 * OF_A_TEXT
"""The project's variants, before and after."""

READ = OF_STEPS + (OF_EVALUATIONS + OF_MEASURING) / forward_only()


@pytest.fixture(autouse=True)
def no_retrieval(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(feasibility, "retrieval_characters", lambda: 0)


def seconds(engine: Engine, plan: TrainingPlan = PLAN, recipe: Recipe = RECIPE) -> float:
    """Without the preparation."""
    return read(engine, estimate, plan, recipe).seconds - PREPARING - OVERHEAD


def add_pace(
    session: Session,
    recipe: Recipe,
    *paces: float,
    kind: str = KIND,
    steps: int = 100,
    host: str = "",
    encoder: str = "",
) -> int:
    """The number of a run with these paces."""
    run = create_run(session, kind=kind, parameters={"recipe": recipe.model_dump(mode="json")})
    run.result = {"steps": steps} | ({"encoder": encoder} if encoder else {})
    run.host = host or socket.gethostname()
    session.flush()
    for step, pace in enumerate(paces, start=1):
        session.add(RunMetric(run_id=run.id, name=PACE, step=step, value=pace))
    session.flush()
    return run.id


def test_before_anything_was_read_here_the_time_is_that_of_two_cores(
    project: Engine, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert seconds(project) == pytest.approx(READ / CHARACTERS_PER_SECOND)
    assert read(project, estimate, PLAN, RECIPE).by_run is None
    monkeypatch.setattr(feasibility, "retrieval_characters", lambda: 5_000)
    more = 2 * 5_000 / forward_only()  # before and after
    assert seconds(project) == pytest.approx((READ + more) / CHARACTERS_PER_SECOND)


def test_known_cosines_of_the_base_encoder_are_not_measured_again(project: Engine) -> None:
    with writing(project) as session:
        session.add(base := Encoder(name=DEFAULT_ENCODER, fingerprint="x"))
        session.flush()
        for key in session.execute(select(col(Variant.id))).scalars().all():
            session.add(VariantCosine(encoder_id=base.id, variant_id=key, cosine=0.5))
    less = OF_MEASURING / 2 / forward_only()
    assert seconds(project) == pytest.approx((READ - less) / CHARACTERS_PER_SECOND)


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
    long = PLAN._replace(amounts={"Mine": Amount(120, 10, 80, 2 * 41 + MARKS)})
    of_texts = READ - STEPS * STEP  # texts that are twice as long take twice the time
    assert seconds(project, long) == pytest.approx((READ + of_texts) / CHARACTERS_PER_SECOND)


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
        unlike = add_pace(session, RECIPE.with_overrides(["dropout=0.1", "lora_rank=4"]), 10.0)
        assert estimate(session, PLAN, RECIPE).by_run == unlike  # it tells more than none
        add_pace(session, RECIPE, 500.0)
        like = add_pace(session, RECIPE, 2_000.0, 6_000.0)  # equal shares: 3,000 per second
        add_pace(session, RECIPE.with_overrides(["dropout=0.1"]), 100.0)
        add_pace(session, RECIPE, 100.0, steps=TELLING_STEPS - 1)
        add_pace(session, RECIPE, 100.0, host="elsewhere")
        add_pace(session, RECIPE.with_overrides(["base_encoder=other"]), 100.0)
        add_pace(session, RECIPE)  # interrupted before its first point
        add_pace(session, RECIPE, 100.0, **MEASURED)
        assert estimate(session, PLAN, RECIPE).by_run == like
    assert seconds(project) == pytest.approx(READ / 3_000)


def test_before_the_first_training_it_goes_by_the_last_measuring_here(project: Engine) -> None:
    with writing(project) as session:
        add_pace(session, RECIPE, 100.0, **MEASURED)
        newest = add_pace(session, RECIPE, 9_000.0, **MEASURED)
        add_pace(session, RECIPE, **MEASURED)  # too few to be representative
        add_pace(session, RECIPE, 100.0, **MEASURED, host="elsewhere")
        assert estimate(session, PLAN, RECIPE).by_run == newest
    assert seconds(project) == pytest.approx(READ / (9_000 / forward_only()))


def test_another_encoder_takes_as_much_longer_as_it_is_heavier(
    project: Engine, tmp_path: Path
) -> None:
    heavy = RECIPE.with_overrides([f"base_encoder={tmp_path}"])
    (tmp_path / "config.json").write_text('{"num_hidden_layers": 12, "hidden_size": 768}')
    assert seconds(project, recipe=heavy) == pytest.approx(8 * READ / CHARACTERS_PER_SECOND)
    with writing(project) as session:
        run = add_pace(session, RECIPE, 8_000.0)
        assert estimate(session, PLAN, heavy).by_run == run
    assert seconds(project, recipe=heavy) == pytest.approx(READ / 1_000)


def test_measuring_counts_as_the_steps_that_take_as_long() -> None:
    assert measuring_steps(600, 40) == round(2 * 600 / forward_only() / 40)
    assert measuring_steps(0, 40) == 1
