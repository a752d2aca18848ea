"""The composition of a release, and the training runs of each study on it."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from sqlalchemy import Engine, update
from sqlalchemy.orm import Session
from sqlmodel import col

from curation.release.freezing import create_release, get_release
from curation.taxonomy.nli_types import CONTRADICTION, ENTAILMENT, ensure_types
from db.engine import reading, writing
from db.models import Polarity, Split, Variant
from tests.curation.support.families import add_family
from tests.support.databases import both_databases, one_database
from training.data.composition import Composition, Shape, composition
from training.data.families import training_families
from training.data.sampling import count_triples
from training.recipe.schema import Recipe
from training.studies.designs import NOTHING_HELD, ONCE_EACH, SIZES, Design, Study, design

pytestmark = both_databases

BASE = Recipe(batch_size=4, soup=1)


def filled(session: Session, *, rules: int = 0, originals: int = 0, families: int = 24) -> None:
    """Families of the train split. Of the first ones' variants, some are by rules, or original."""
    for number in range(families):
        add_family(session, f"Door {number} is open.", texts(number), split=Split.TRAIN)
    by_rules = [
        f"Door {number} is {how} open." for number in range(rules) for how in ("not", "probably")
    ]
    ruled = update(Variant).where(col(Variant.text).in_(by_rules)).values(provider="rules")
    session.execute(ruled)
    if originals:
        ensure_types(session, (ENTAILMENT, CONTRADICTION))
    for number in range(originals):
        sentences = {
            ENTAILMENT: [f"Gate {number} is ajar."],
            CONTRADICTION: ["It is locked."],
            "word": [f"Gate {number} may be ajar."],
            "verbal": ["It is not ajar."],
        }
        add_family(session, f"Gate {number} is wide open.", sentences, split=Split.TRAIN)
    create_release(session)


def texts(number: int) -> dict[str, list[str]]:
    found = {
        "verbal": [f"Door {number} is not open."],
        "lexical": [f"Door {number} is shut."],
        "word": [f"Door {number} is probably open."],
    }
    return found | ({"negated_antonym": [f"Door {number} is not shut."]} if number % 2 else {})


def test_a_composition_counts_the_triples_that_a_training_reads(engine: Engine) -> None:
    asked: list[tuple[Recipe, tuple[str, ...]]] = [
        (recipe, ())
        for recipe in (
            Recipe(),
            Recipe(data="negation"),
            Recipe(data="hedging"),
            Recipe(types={"word": 0}),
            Recipe(types={"verbal": 0, "lexical": 0}),
        )
    ]
    asked += [(Recipe(), ("rules",)), (Recipe(data="negation"), ("openai",))]
    with writing(engine) as session:
        filled(session, rules=6, originals=3)
    with reading(engine) as session:
        key = get_release(session).id
        data = composition(session)
        for recipe, providers in asked:
            families = training_families(
                session, key, split=Split.TRAIN, recipe=recipe, providers=providers
            )
            plan = data.left_by(recipe, providers)
            assert plan.anchors == len(families)
            assert plan.triples == sum(map(count_triples, families))
            assert plan.texts == sum(map(len, families))


def a_design(
    engine: Engine, study: Study, base: Recipe = BASE, **content: int
) -> tuple[Design, Composition]:
    with writing(engine) as session:
        filled(session, **content)
    with reading(engine) as session:
        data = composition(session)
    return design(study, data, base), data


@one_database
def test_the_data_study_is_table_2_and_names_the_replacements_for_originals(
    engine: Engine,
) -> None:
    found, _ = a_design(engine, Study.DATA)
    assert [arm.label for arm in found.arms] == ["All", "Only negation", "Only hedging"]
    assert [arm.recipe.data for arm in found.arms] == ["paper", "negation", "hedging"]
    assert {arm.recipe.retention for arm in found.arms} == {0.0} and NOTHING_HELD in found.notes
    assert found.notes[-1] == (
        "All runs: loss 'symmetric', no retention, interpolation with 0.75 of the finetuned "
        "weights."
    )
    assert [arm.plan.anchors for arm in found.arms] == [24, 12, 24]
    assert found.caution.startswith("No anchor has an original entailment")


@one_database
def test_each_arm_of_a_study_is_one_training(engine: Engine) -> None:
    found, data = a_design(engine, Study.DATA, BASE.with_overrides(["soup=2"]))
    plain = design(Study.DATA, data, BASE)
    assert found.arms == plain.arms
    assert found.notes == [*plain.notes, ONCE_EACH]


@one_database
def test_originals_that_were_imported_are_counted(engine: Engine) -> None:
    found, data = a_design(engine, Study.DATA, originals=5)
    assert data.originals == {ENTAILMENT: 5, CONTRADICTION: 5}
    assert "Of the 29 training anchors" in found.caution and "5 have an original" in found.caution


@one_database
def test_the_number_of_triples_doubles_up_to_all(engine: Engine) -> None:
    found, data = a_design(engine, Study.TRIPLES, Recipe(batch_size=2, soup=1))
    whole = data.left_by(BASE).triples
    limits = [arm.recipe.max_triples for arm in found.arms]
    assert whole == 12 * 2 + 12 * 4
    assert limits == [None, whole // 2, whole // 4, whole // 8]
    assert len({arm.recipe.model_copy(update={"max_triples": None}) for arm in found.arms}) == 1


@one_database
def test_each_type_of_the_release_is_left_out_once(engine: Engine) -> None:
    base = Recipe(batch_size=4, types={"lexical": 0}, soup=1)
    found, _ = a_design(engine, Study.TYPES, base)
    assert [arm.recipe.types for arm in found.arms] == [
        {"lexical": 0},
        {"lexical": 0, "word": 0},
        {"lexical": 0, "negated_antonym": 0},
    ]
    assert any(note.startswith("Left out: “Without Verbal") for note in found.notes)


@one_database
def test_rules_and_models_get_equally_many_triples(engine: Engine) -> None:
    base = Recipe(batch_size=2, soup=1)
    found, data = a_design(engine, Study.WRITERS, base, rules=10)
    everyone, rules, models = found.arms
    assert (rules.providers, models.providers) == (("rules",), ("openai",))
    assert rules.recipe.max_triples == models.recipe.max_triples == rules.plan.triples == 10
    assert everyone.recipe == base
    assert data.providers == ["openai", "rules"]


def composed(shapes: dict[Shape, int]) -> Composition:
    roles = {
        "verbal": "negation",
        "lexical": "negation",
        "word": "hedge",
        "phrase": "hedge",
        "negated_antonym": "paraphrase",
    }
    return Composition(1, 1, shapes, roles, {kind: kind for kind in roles})


PAIR = ((Polarity.NEGATIVE, "verbal", "rules"), (Polarity.POSITIVE, "word", "rules"))


def test_large_releases_are_compared_by_the_papers_numbers_of_triples() -> None:
    shape = Shape("Mine", (*PAIR, (Polarity.POSITIVE, "phrase", "rules")))
    found = design(Study.TRIPLES, composed({shape: 60_000}), BASE)
    assert [arm.recipe.max_triples for arm in found.arms] == [None, 100_000, 50_000, 10_000]
    assert set(SIZES) > {100_000, 50_000, 10_000}


def test_a_type_unused_by_the_recipe_gets_no_run_without_it() -> None:
    both = (*PAIR, (Polarity.POSITIVE, "negated_antonym", "rules"))
    data = composed({Shape("Mine", both): 40})
    labels = [
        [arm.label for arm in design(Study.TYPES, data, base).arms]
        for base in (BASE, BASE.with_overrides(["data=paper"]))
    ]
    assert labels[0] == ["All types", "Without word", "Without negated_antonym"]
    assert labels[1] == []  # without either, a family of two has nothing to compare


def test_sources_get_equally_many_triples() -> None:
    found = design(
        Study.SOURCES, composed({Shape("Mine", PAIR): 90, Shape("Theirs", PAIR): 40}), BASE
    )
    whole, mine, theirs = found.arms
    assert whole.recipe.max_triples is None and whole.plan.triples == 130
    assert [arm.label for arm in found.arms] == ["All sources", "Mine", "Theirs"]
    assert mine.recipe.max_triples == theirs.recipe.max_triples == 40
    assert list(mine.plan.amounts) == ["Mine"] and list(theirs.plan.amounts) == ["Theirs"]
    alone = design(Study.SOURCES, composed({Shape("Mine", PAIR): 90}), BASE)
    assert "triples from two sources" in alone.obstacle


@one_database
@pytest.mark.parametrize(
    ("study", "base", "obstacle"),
    [
        (Study.WRITERS, BASE, "none written by rules"),
        (Study.TRIPLES, Recipe(batch_size=16), "do not fill a batch of 16"),
        (Study.DATA, Recipe(batch_size=32), "a run needs 32 to fill a batch"),
    ],
)
def test_a_release_that_is_too_small_for_a_study_is_reported(
    engine: Engine, study: Study, base: Recipe, obstacle: str
) -> None:
    found, _ = a_design(engine, study, base)
    assert found.arms == [] and obstacle in found.obstacle


@given(
    counts=st.lists(st.integers(1, 400), min_size=1, max_size=4),
    batch=st.integers(2, 64),
    study=st.sampled_from(Study),
    share=st.sampled_from([0, 0.1, 1]),
)
def test_every_training_of_a_study_fills_its_batches(
    counts: list[int], batch: int, study: Study, share: float
) -> None:
    kinds = [
        (Polarity.NEGATIVE, "verbal", "rules"),
        (Polarity.POSITIVE, "word", "rules"),
        (Polarity.NEGATIVE, "lexical", "openai"),
        (Polarity.POSITIVE, "phrase", "openai"),
        (Polarity.POSITIVE, "negated_antonym", "openai"),
    ]
    shapes = {
        Shape(f"source {place}", tuple(kinds[: 2 + place])): count
        for place, count in enumerate(counts)
    }
    data = composed(shapes)
    base = Recipe(batch_size=batch, sources={"source 0": share})
    found = design(study, data, base)
    assert bool(found.arms) != bool(found.obstacle)
    assert len(found.arms) != 1
    for arm in found.arms:
        assert arm.plan.families(arm.recipe) >= batch
        assert arm.plan == data.left_by(arm.recipe, arm.providers)
