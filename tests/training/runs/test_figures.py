"""The results of a training run: the parts of the data, and the measured sample of each."""

import pytest
from sqlalchemy import Engine, func, select, update
from sqlmodel import col

from db.engine import reading, writing
from db.models import Variant, VariantCosine
from db.settings import Settings
from tests.support.databases import both_databases
from tests.training.support.trainings import ask, train
from training.recipe.schema import Recipe
from training.runs.figures import Part, distributions


@both_databases
def test_distributions_keep_the_parts_separate(
    project: Engine, recipe: Recipe, settings: Settings
) -> None:
    run = train(project, settings, ask(project, recipe))
    with reading(project) as session:
        rows = distributions(session, run)
        stored = session.execute(select(col(VariantCosine.cosine))).scalars().all()
    counts = {part: sum(row.part == part for row in rows) for part in Part}
    assert counts == {Part.TRAINED: 2 * 27, Part.HELD_OUT: 2 * 3, Part.UNSEEN: 2 * 2}
    unseen = [(row.type, row.series) for row in rows if row.part == Part.UNSEEN]
    assert sorted(unseen) == [(t, s) for t in ("verbal", "word") for s in ("after", "before")]
    assert sorted(row.cosine for row in rows) == pytest.approx(sorted(stored))
    before, after = ([r.cosine for r in rows if r.series == s] for s in ("before", "after"))
    assert before != after


def test_the_distributions_of_many_values_match_those_of_few(
    project: Engine, recipe: Recipe, settings: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    run = train(project, settings, ask(project, recipe))
    with reading(project) as session:
        few = distributions(session, run)
        monkeypatch.setattr("training.runs.figures.FEW", 0)
        assert distributions(session, run) == few


def test_each_part_is_measured_on_a_fixed_sample(
    project: Engine, recipe: Recipe, settings: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    with writing(project) as session:
        session.execute(update(Variant).values(random_key=col(Variant.id) * 0.001))
    monkeypatch.setattr("training.runs.figures.SAMPLE", 5)
    run = train(project, settings, ask(project, recipe))
    assert run.result["sampled"]["trained on"] == {"measured": 5, "of": 27}
    with reading(project) as session:
        measured = session.execute(select(func.count(func.distinct(VariantCosine.variant_id))))
        assert measured.scalar_one() == 5 + 3 + 2
        rows = distributions(session, run)
    assert sum(row.part == Part.TRAINED for row in rows) == 2 * 5
