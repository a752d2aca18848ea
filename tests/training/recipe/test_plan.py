"""The plan of a training run, and the guide's description of recipes."""

import re

import pytest
from sqlalchemy import Engine

from curation.encoders.reading_pace import MARKS, PER_TOKEN
from curation.release.freezing import create_release
from curation.release.selection import Selection
from db.engine import reading, writing
from db.models import Split
from tests.curation.support.families import add_family, add_plain_family
from tests.support.checkout import ROOT
from tests.support.databases import both_databases
from training.recipe.plan import Amount, TrainingPlan, plan
from training.recipe.schema import Recipe

PLAN = TrainingPlan(1, 70, {"Mine": Amount(triples=120, anchors=10, texts=80, letters=41)})
RECIPE = Recipe(loss="family", batch_size=5, epochs=3)
OF_A_TEXT = 41 + MARKS


def test_the_plan_counts_what_a_training_will_work_on(project: Engine) -> None:
    with reading(project) as session:
        before = plan(session)
    with writing(project) as session:
        create_release(session)
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
        create_release(session, selection=Selection(("A corpus", "Source 0")))
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


def test_passages_are_longer_and_long_texts_are_cut() -> None:
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
