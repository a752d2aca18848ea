"""The families of a release for training: roles, data modes, filters, and samples."""

from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st
from sqlalchemy import Engine
from sqlmodel import Session

from curation.release.freezing import create_release
from curation.taxonomy.nli_types import ensure_types
from curation.taxonomy.project_types import seed_taxonomy
from db.engine import reading, writing
from db.errors import HedgerowError
from db.models import Split
from hedgerow.losses.families import Family, Member, Role
from tests.curation.support.families import (
    add_anchor,
    add_family,
    add_plain_family,
    add_variant,
    decide,
    model,
)
from tests.support.databases import Fill, both_databases
from training.data.families import sampled, training_families, with_prompts
from training.data.sampling import as_triples, count_triples
from training.recipe.schema import Recipe
from training.runs.trainings import request_training

ORIGINALS = ("entailment", "contradiction")


@pytest.fixture
def release(engine: Engine, fill: Fill) -> int:
    """Two complete families in the training part, the first with originals; others that lack a
    side; and one that is held out."""

    def made(session: Session) -> int:
        seed_taxonomy(session)
        ensure_types(session, ORIGINALS)
        for name, more in (("Tea", {kind: [f"Tea, {kind}."] for kind in ORIGINALS}), ("Soup", {})):
            add_family(
                session,
                f"{name} is hot.",
                {
                    "word": [f"{name} is hot-ish."],
                    "negated_antonym": [f"{name} is not cold."],
                    "verbal": [f"{name} is not hot."],
                    "lexical": [f"{name} is cold."],
                }
                | more,
                split=Split.TRAIN,
            )
        add_family(session, "Ice is cold.", {"word": ["Ice may be cold."]}, split=Split.TRAIN)
        add_family(session, "Fog is wet.", {"verbal": ["Fog is not wet."]}, split=Split.TRAIN)
        add_family(
            session,
            "Sand is dry.",
            {"word": ["Sand may be dry."], "verbal": ["Sand is not dry."]},
            split=Split.VALIDATION,
        )
        return create_release(session).release.id

    return fill(engine, made)


def families(
    engine: Engine, release: int, *, split: Split = Split.TRAIN, **recipe
) -> dict[str, dict[str, Role]]:
    """Anchor → type → role."""
    with reading(engine) as session:
        found = training_families(session, release, split=split, recipe=Recipe(**recipe))
    assert all(family[0].role == Role.ANCHOR for family in found)
    return {
        family[0].text: {member.type_id: member.role for member in family[1:]} for family in found
    }


@both_databases
def test_all_variants_take_part_in_the_role_of_their_type(engine: Engine, release: int) -> None:
    common = {
        "word": Role.HEDGE,
        "negated_antonym": Role.PARAPHRASE,
        "verbal": Role.NEGATION,
        "lexical": Role.NEGATION,
    }
    originals = {"entailment": Role.PARAPHRASE, "contradiction": Role.NEGATION}
    assert families(engine, release) == {"Tea is hot.": common | originals, "Soup is hot.": common}
    assert list(families(engine, release, split=Split.VALIDATION)) == ["Sand is dry."]


def test_only_negation_has_the_entailment_as_its_positive_or_else_paraphrases(
    engine: Engine, release: int
) -> None:
    negations = {"verbal": Role.NEGATION, "lexical": Role.NEGATION}
    assert families(engine, release, data="negation") == {
        "Tea is hot.": negations | {"entailment": Role.PARAPHRASE},
        "Soup is hot.": negations | {"negated_antonym": Role.PARAPHRASE},
    }
    without = families(engine, release, data="negation", types={"entailment": 0})
    assert without["Tea is hot."] == without["Soup is hot."]


def test_only_hedging_has_the_contradiction_as_its_negative_or_else_other_anchors(
    engine: Engine, release: int
) -> None:
    assert families(engine, release, data="hedging") == {
        "Tea is hot.": {"word": Role.HEDGE, "contradiction": Role.NEGATION},
        "Soup is hot.": {"word": Role.HEDGE},
        "Ice is cold.": {"word": Role.HEDGE},
    }


def test_sources_are_left_out_and_the_others_stay(engine: Engine) -> None:
    with writing(engine) as session:
        for number in range(2):
            add_plain_family(session, number, split=Split.TRAIN, source=f"Source {number}")
        release = create_release(session).release.id
    assert list(families(engine, release)) == ["Door 0 is open.", "Door 1 is open."]
    one = families(engine, release, sources={"Source 0": 0, "Source 1": 0.1, "Elsewhere": 0})
    assert list(one) == ["Door 1 is open."]
    assert families(engine, release, sources={"Source 0": 0, "Source 1": 0}) == {}


def test_the_papers_portion_is_its_negations_and_hedges(engine: Engine, release: int) -> None:
    assert families(engine, release, data="paper")["Tea is hot."] == {
        "word": Role.HEDGE,
        "verbal": Role.NEGATION,
        "lexical": Role.NEGATION,
    }


def test_prompts_are_put_in_front_of_anchors_and_of_variants() -> None:
    family = [Member("Tea is hot.", Role.ANCHOR), Member("Tea may be hot.", Role.HEDGE)]
    prompted = with_prompts(family, Recipe(query_prompt="query:", document_prompt="passage:"))
    assert [m.text for m in prompted] == ["query: Tea is hot.", "passage: Tea may be hot."]
    assert with_prompts(family, Recipe()) == family


def test_excluding_types_also_excludes_anchors_that_then_lack_a_side(
    engine: Engine, release: int
) -> None:
    found = families(engine, release, types={"verbal": 0, "word": 0, "contradiction": 0})
    assert found["Soup is hot."] == {"negated_antonym": Role.PARAPHRASE, "lexical": Role.NEGATION}
    positives = ["word", "negated_antonym"]
    assert list(families(engine, release, types=dict.fromkeys(positives, 0))) == ["Tea is hot."]


def test_a_type_that_the_project_lacks_is_not_silently_left_out(
    engine: Engine, release: int
) -> None:
    with pytest.raises(HedgerowError, match="found 'wrod'"):
        families(engine, release, types={"wrod": 0})


def test_variants_of_other_providers_are_left_out(engine: Engine) -> None:
    with writing(engine) as session:
        anchor = add_anchor(session, "It rains.", split=Split.TRAIN)
        for provider in ("openai", "rules"):
            for kind in ("word", "verbal"):
                variant = add_variant(session, anchor, kind, f"{kind} of {provider}")
                variant.provider = provider
                decide(session, variant, model(session))
        release = create_release(session).release.id
    with reading(engine) as session:
        (family,) = training_families(
            session, release, split=Split.TRAIN, recipe=Recipe(), providers=["rules"]
        )
        assert {member.text for member in family[1:]} == {"word of rules", "verbal of rules"}
        nobodys = training_families(
            session, release, split=Split.TRAIN, recipe=Recipe(), providers=["nobody"]
        )
    assert nobodys == []


@st.composite
def sampled_from(draw: st.DrawFn) -> list[Family]:
    sizes = st.tuples(st.integers(1, 3), st.integers(0, 4))
    return [
        [
            Member(f"{n}", Role.ANCHOR),
            *(Member(f"{n} hedge {i}", Role.HEDGE) for i in range(positives)),
            *(Member(f"{n} not {i}", Role.NEGATION) for i in range(negatives)),
        ]
        for n, (positives, negatives) in enumerate(draw(st.lists(sizes, min_size=1, max_size=12)))
    ]


@given(sampled_from(), st.integers(2, 60), st.integers(0, 5))
def test_a_draw_takes_whole_families_up_to_so_many_triples(
    families: list[Family], limit: int, seed: int
) -> None:
    found = sampled(families, max_triples=limit, seed=seed)
    assert found == sampled(families, max_triples=limit, seed=seed)
    assert found == [family for family in families if family in found]  # in their order
    triples = sum(map(count_triples, found))
    assert found and (triples <= limit or len(found) == 1)
    if len(found) < len(families):
        most = max(map(count_triples, families))
        assert triples > limit - most
    flat = as_triples(families)
    assert len(sampled(flat, max_triples=limit, seed=seed)) == min(limit, len(flat))


def test_without_a_limit_all_is_taken_and_seeds_draw_differently() -> None:
    families = [[Member(f"{n}", Role.ANCHOR), Member(f"{n}h", Role.HEDGE)] for n in range(100)]
    assert sampled(families, max_triples=None, seed=1) == families
    taken = Counter(
        family[0].text
        for seed in range(40)
        for family in sampled(families, max_triples=25, seed=seed)
    )
    assert len(taken) > 90  # every family has a chance


def test_a_training_that_excludes_an_unknown_type_is_refused(engine: Engine, release: int) -> None:
    recipe = Recipe(types={"entailments": 0.5})
    with writing(engine) as session, pytest.raises(HedgerowError, match="found 'entailments'"):
        request_training(session, release_number=1, recipe=recipe, seed=1, requested_by=None)
