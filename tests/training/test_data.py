"""The data of a training: families, their number, batches, and where their texts come from."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from sqlalchemy import Engine, update
from sqlmodel import Session

from curation.corpora.corpus import CORPORA
from curation.editing.own_types import CONTRADICTION, ENTAILMENT, ensure_types
from curation.importing.corpora import KIND, add_families, missing_families
from curation.release import triples
from curation.release.freezing import get_release
from curation.review.rules import apply_rule, parse_rule
from curation.taxonomy.project_types import seed_taxonomy
from db.engine import reading, writing
from db.errors import HedgerowError
from db.models import Anchor, RunState, Split, Verdict
from db.runs import create_run
from db.settings import Settings
from tests.curation.support.families import add_family, add_plain_family, add_variant, decide
from tests.support.checkout import ROOT
from tests.support.databases import Fill, both_databases
from tests.support.factories import engine_of, freeze, model, person
from tests.training.support.trainings import FAMILIES, ask, read, train
from training.data.families import (
    composition,
    composition_now,
    sampled,
    training_families,
    with_prompts,
)
from training.data.sampling import (
    Batches,
    Epochs,
    FamilyBatches,
    TripleBatches,
    as_triples,
    count_triples,
    rows_in_an_epoch,
)
from training.finetune.setup import Course
from training.losses.families import Family, Member, Role
from training.recipe.schema import Recipe
from training.recipe.training_data import plan
from training.retention.texts import bundled_texts

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
        return freeze(session).release.id

    return fill(engine, made)


def families(
    engine: Engine, release: int, *, split: Split = Split.TRAIN, **recipe
) -> dict[str, dict[str, Role]]:
    """Anchor → type → role."""
    found = read(engine, training_families, release, split=split, recipe=Recipe(**recipe))
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


def test_a_data_mode_takes_some_roles(engine: Engine, release: int) -> None:
    """Only negation has the entailment as its positive, or else paraphrases. Only hedging has the
    contradiction as its negative, or else other anchors. The paper has neither."""
    negations = {"verbal": Role.NEGATION, "lexical": Role.NEGATION}
    assert families(engine, release, data="negation") == {
        "Tea is hot.": negations | {"entailment": Role.PARAPHRASE},
        "Soup is hot.": negations | {"negated_antonym": Role.PARAPHRASE},
    }
    without = families(engine, release, data="negation", types={"entailment": 0})
    assert without["Tea is hot."] == without["Soup is hot."]
    assert families(engine, release, data="hedging") == {
        "Tea is hot.": {"word": Role.HEDGE, "contradiction": Role.NEGATION},
        "Soup is hot.": {"word": Role.HEDGE},
        "Ice is cold.": {"word": Role.HEDGE},
    }
    paper = families(engine, release, data="paper")
    assert paper["Tea is hot."] == negations | {"word": Role.HEDGE}


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
    with pytest.raises(HedgerowError, match="'wrod'"):
        families(engine, release, types={"wrod": 0})


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


RECIPES = (
    Recipe(),
    Recipe(data="negation"),
    Recipe(data="hedging"),
    Recipe(data="negation", types={ENTAILMENT: 0}),
    Recipe(data="hedging", types={CONTRADICTION: 0}),
    Recipe(types={"verbal": 0, "word": 0}),
    Recipe(types={"word": 0.5}),
    Recipe(sources={"Others": 0}),
    Recipe(sources={"Others": 0, "A corpus": 0}),
)

WRITERS = ((Recipe(), ("nobody",)), (Recipe(data="negation"), ("openai",)))


def originals(session: Session) -> None:
    """Families with and without originals, paraphrases, or one side."""
    for number in range(3):
        add_plain_family(session, number, split=Split.TRAIN)
    ensure_types(session, [ENTAILMENT, CONTRADICTION])
    anchor = add_family(
        session,
        "The cat is big.",
        {
            "word": ["It may be big."],
            "verbal": ["It is not."],
            "absolute": ["It never is."],
            ENTAILMENT: ["There is a cat."],
            CONTRADICTION: ["It is a dog."],
            "negated_antonym": ["It is not small."],
        },
        split=Split.TRAIN,
    )
    of_rules = add_variant(session, anchor, "phrase", "I think it is big.")
    of_rules.provider = "rules"
    decide(session, of_rules, model(session))
    add_family(
        session,
        "The dog is old.",
        {
            "word": ["It may be old."],
            "negated_antonym": ["It is not young."],
            "lexical": ["It is young."],
        },
        split=Split.TRAIN,
    )
    add_family(session, "Only hedged.", {"phrase": ["Perhaps hedged."]}, split=Split.TRAIN)
    add_plain_family(session, 9, split=Split.TEST)
    add_plain_family(session, 10, split=Split.TRAIN, source="Others")


@pytest.mark.slow
@both_databases
def test_the_database_counts_what_a_training_finds(engine: Engine) -> None:
    with writing(engine) as session:
        originals(session)
        release = freeze(session).release
    with reading(engine) as session:
        accepted, released = composition_now(session), composition(session, release.number)
        everything = plan(session, release.number)
        assert released.letters["Others"] == everything.amounts["Others"].letters > 10
        for recipe, providers in (*((recipe, ()) for recipe in RECIPES), *WRITERS):
            found = training_families(
                session, release.id, split=Split.TRAIN, recipe=recipe, providers=providers
            )
            left = released.left_by(recipe, providers)
            expected = {
                source: (
                    sum(map(count_triples, families)),
                    len(families),
                    sum(recipe.types.get(m.type_id, 1.0) for family in families for m in family),
                )
                for source in ("A corpus", "Others")
                if (families := [one for one in found if one[0].source == source])
            }
            assert {source: of[:3] for source, of in left.amounts.items()} == expected, recipe
            assert accepted.left_by(recipe, providers) == left._replace(release=None), recipe


TRIPLES = as_triples(FAMILIES)
ROLES = list(Role)[1:]


def texts(row: Family) -> list[str]:
    return [member.text for member in row]


@pytest.mark.parametrize(
    ("kind", "rows", "weights"),
    [
        (FamilyBatches, FAMILIES, {}),
        (TripleBatches, TRIPLES, {}),
        (FamilyBatches, FAMILIES, {"sources": {"": 0.7}, "types": {"word": 0.4, "verbal": 0.7}}),
    ],
)
def test_a_step_has_the_same_batch_however_it_is_reached(
    kind: type[Batches], rows: list[Family], weights: dict[str, Any]
) -> None:
    straight, jumping, other = (kind(rows, size=4, seed=seed, **weights) for seed in (3, 3, 4))
    steps = range(1, 3 * (len(rows) // 4) + 1)
    found = {step: straight.rows_at(step) for step in steps}
    assert {step: jumping.rows_at(step) for step in reversed(steps)} == found
    assert {step: other.rows_at(step) for step in steps} != found
    assert all(len(batch) == 4 for batch in found.values())


def test_an_epoch_takes_each_family_once_in_an_order_of_its_own() -> None:
    batches = FamilyBatches(FAMILIES, size=5, seed=1)  # 2 steps per epoch, 2 families left out
    epochs = [
        [texts(row)[0] for step in steps for row in batches.rows_at(step)]
        for steps in ((1, 2), (3, 4))
    ]
    for taken in epochs:
        assert len(set(taken)) == len(taken) == 10
    assert epochs[0] != epochs[1]


def of_source(source: str, families: list[Family]) -> list[Family]:
    """The same families with another source, and therefore with other anchors."""
    return [
        [
            family[0]._replace(text=f"{source}: {family[0].text}", source=source),
            *(member._replace(text=f"{source}: {member.text}") for member in family[1:]),
        ]
        for family in families
    ]


MIXED = [*of_source("own", FAMILIES), *of_source("list", FAMILIES), *of_source("more", FAMILIES)]


def taken(batches: Batches, steps: range, source: str) -> list[str]:
    """The anchors of a source in these steps, in their order."""
    rows = [row for step in steps for row in batches.rows_at(step)]
    return [row[0].text for row in rows if row[0].source == source]


def test_an_epoch_takes_a_share_of_a_source_and_the_next_one_others_of_it() -> None:
    sources = {"list": 0.25, "more": 0.0, "elsewhere": 0.5}
    batches = FamilyBatches(MIXED, size=3, seed=1, sources=sources)
    assert rows_in_an_epoch(MIXED, sources) == 12 + 3
    epochs = [range(5 * epoch + 1, 5 * epoch + 6) for epoch in range(8)]
    for steps in epochs:
        assert len(set(taken(batches, steps, "own"))) == len(taken(batches, steps, "own")) == 12
        assert taken(batches, steps, "more") == []
    listed = [taken(batches, steps, "list") for steps in epochs]
    assert all(len(some) == 3 for some in listed)
    assert len({text for some in listed[:4] for text in some}) == 12  # all before a repetition
    assert [set(some) for some in listed[4:]] == [set(some) for some in listed[:4]]


@given(
    st.lists(st.integers(0, 2), min_size=1, max_size=40),
    st.lists(st.floats(0, 1), min_size=3, max_size=3),
    st.integers(0, 9),
)
def test_no_anchor_comes_again_before_all_of_its_source_have_come(
    sources: list[int], shares: list[float], seed: int
) -> None:
    anchors = [Member(f"{n}", Role.ANCHOR, source=f"{of}") for n, of in enumerate(sources)]
    weights = {f"{of}": share for of, share in enumerate(shares)}
    epochs = Epochs(anchors, shares=weights, seed=seed)
    seen: Counter[int] = Counter()
    for epoch in range(7):
        chosen = epochs.anchors_of(epoch)
        assert len(set(chosen)) == len(chosen) == len(epochs)
        seen.update(chosen)
        for source in set(sources):
            counts = [seen[n] for n, of in enumerate(sources) if of == source]
            assert max(counts) - min(counts) <= 1 and (sum(counts) > 0) == (shares[source] > 0)
    assert len(epochs) == rows_in_an_epoch([[anchor] for anchor in anchors], weights)
    assert len(epochs) == pytest.approx(sum(shares[of] for of in sources), abs=3)


def test_sources_that_are_taken_whole_change_no_batch() -> None:
    plain = FamilyBatches(MIXED, size=4, seed=5)
    whole = FamilyBatches(MIXED, size=4, seed=5, sources={"own": 1.0, "elsewhere": 0.1})
    assert [plain.rows_at(step) for step in range(1, 20)] == [
        whole.rows_at(step) for step in range(1, 20)
    ]


def test_a_variant_takes_part_as_often_as_its_type_says_and_the_anchor_always() -> None:
    weights = {"word": 0.25, "verbal": 0.75, "lexical": 0.01}
    batches = FamilyBatches(FAMILIES, size=12, seed=1, types=weights)
    counts: Counter[str] = Counter()
    for step in range(1, 201):
        rows = batches.rows_at(step)
        assert all(row[0].role == Role.ANCHOR for row in rows)
        counts.update(member.type_id for row in rows for member in row)
    of = 200 * 12
    assert counts[""] == counts["phrase"] == counts["negated_antonym"] == of
    for type_id, weight in weights.items():
        assert counts[type_id] / of == pytest.approx(weight, abs=0.04)


@pytest.mark.slow
def test_an_epoch_takes_anchors_of_a_source_with_all_their_triples() -> None:
    rows = as_triples(MIXED)
    sources = {"list": 0.25, "more": 0.0}
    batches = TripleBatches(rows, size=5, seed=2, sources=sources)
    assert rows_in_an_epoch(rows, sources) == 6 * (12 + 3)
    epochs = [range(18 * epoch + 1, 18 * epoch + 19) for epoch in range(4)]
    for steps in epochs:
        assert taken(batches, steps, "more") == []
        assert 1 <= len(set(taken(batches, steps, "list"))) <= 3
        assert len(set(taken(batches, steps, "own"))) == 12
    listed = {text for steps in epochs for text in taken(batches, steps, "list")}
    assert len(listed) == 12


@pytest.mark.slow
def test_no_batch_of_triples_holds_a_text_twice() -> None:
    """Otherwise a triple's positive would be another triple's negative (in-batch negatives)."""
    batches = TripleBatches(TRIPLES, size=6, seed=0)
    for step in range(1, 2 * len(TRIPLES) // 6):
        assert (
            max(Counter(text for row in batches.rows_at(step) for text in texts(row)).values()) == 1
        )


@pytest.mark.slow
def test_an_epoch_of_triples_is_full_even_if_a_few_anchors_have_most_of_them() -> None:
    anchor = FAMILIES[0][0]
    many = [
        (anchor, Member(f"positive {n}", Role.HEDGE), Member(f"negative {n}", Role.NEGATION))
        for n in range(40)
    ]
    batches = TripleBatches([*many, *TRIPLES], size=6, seed=0)
    for step in range(1, (40 + len(TRIPLES)) // 6 + 1):
        anchors = [row[0].text for row in batches.rows_at(step)]
        assert len(set(anchors)) == 6


@given(st.lists(st.lists(st.tuples(st.integers(0, 5), st.sampled_from(ROLES)), max_size=5)))
def test_flat_triples_are_every_positive_with_every_negative(
    sampled: list[list[tuple[int, Role]]],
) -> None:
    families = [
        [
            Member(f"anchor {n}", Role.ANCHOR),
            *(Member(f"{n} {text}", role) for text, role in dict(variants).items()),
        ]
        for n, variants in enumerate(sampled)
    ]
    expected = []
    for anchor, *variants in families:
        good = [m.text for m in variants if m.role in (Role.HEDGE, Role.PARAPHRASE)]
        bad = [m.text for m in variants if m.role == Role.NEGATION]
        expected += [[anchor.text, g, b] for g in good for b in bad]
        expected += [] if bad else [[anchor.text, g] for g in good]
    found = as_triples(families)
    assert [texts(row) for row in found] == sorted(expected)
    assert sum(map(count_triples, families)) == len(found)
    assert all(count_triples(row) == 1 for row in found)
    assert as_triples([*families, *families]) == found


def collate(rows: list[Family] = FAMILIES, **recipe: Any) -> Callable[[list[int]], dict[str, Any]]:
    from training.finetune.step import StepCollator

    batches = (TripleBatches if recipe else FamilyBatches)(rows, size=4, seed=1)
    return StepCollator(Course(batches, steps=3), Recipe(batch_size=4, **recipe))


def labels(batch: dict[str, Any]) -> Iterator[tuple[str, Role]]:
    """The text and role of each member of a collated batch."""
    for place, role in batch["label"].flatten(0, 1).tolist():
        if place >= 0:
            yield batch["texts"][place], Role(role)


@pytest.mark.slow
def test_a_collated_batch_has_each_text_once_with_its_family_and_role() -> None:
    batch = collate()([1])
    assert len(batch["texts"]) == len(set(batch["texts"])) == len(list(labels(batch)))
    assert len(batch["label"]) == 4
    anchors = [text for text, role in labels(batch) if role == Role.ANCHOR]
    assert len(anchors) == 4 and set(anchors) <= {family[0].text for family in FAMILIES}
    assert (batch["step"], batch["more"]) == (1, [])


@pytest.mark.slow
def test_a_collated_batch_follows_from_its_step_alone() -> None:
    first, second = collate(), collate()
    texts = [first([step])["texts"] for step in (1, 2, 3)]
    assert [second([step])["texts"] for step in (3, 1)] == [texts[2], texts[0]]
    assert len({text for batch in texts for text in batch}) == sum(map(len, texts))
    with pytest.raises(HedgerowError, match="4 triples"):
        collate(as_triples(FAMILIES[:1]), loss="triples")([1])


DATA = {
    "training/benchmarks/results/published.json",
    "training/benchmarks/results/semantoneg_table_8.json",
    "training/evaluation/bundled_cosines.json",
    "training/evaluation/paper_figure_1.json",
    "training/evaluation/probe_groups.jsonl",
    "training/evaluation/retrieval_questions.jsonl",
    "training/retention/documents.jsonl",
    "training/retention/topics.txt",
}
"""Figures of papers and of our own models, evaluation sentences, and retention text."""


def words(texts: Sequence[str]) -> set[str]:
    return {word.lower() for text in texts for word in re.findall(r"\w+", text)}


@pytest.mark.slow
def test_every_text_with_a_role_comes_from_the_release_and_the_others_are_retention_texts(
    project: Engine, settings: Settings, recipe: Recipe, monkeypatch: pytest.MonkeyPatch
) -> None:
    with writing(project) as session:
        for corpus in CORPORA.values():
            run = create_run(session, kind=KIND, parameters={})
            run.state = RunState.DONE
            missing = missing_families(session, corpus)
            add_families(session, corpus, dict([*missing.items()][:15]), run_id=run.id)
        ada, rule = person(session), parse_rule("levenshtein > 0")
        apply_rule(engine_of(session), rule, verdict=Verdict.ACCEPT, reviewer_id=ada)
        session.execute(update(Anchor).values(split=Split.TRAIN))
        freeze(session)
    made: list[dict[str, Any]] = []
    from training.finetune.step import StepCollator

    collate = StepCollator.__call__

    def recorded(self: StepCollator, items: Sequence[int]) -> dict[str, Any]:
        made.append(collate(self, items))
        return made[-1]

    monkeypatch.setattr(StepCollator, "__call__", recorded)
    changes = ["max_steps=none", "epochs=2", "sources=Hedgerow claims:0.5", "types=word:0.5"]
    run = train(project, settings, ask(project, recipe.with_overrides(changes)))
    assert run.state == RunState.DONE
    with reading(project) as session:
        families = list(triples.families(session, get_release(session).id))
        sources = {family.source for family in families}
    anchors = {family.anchor for family in families}
    variants = {variant.text for family in families for variant in family.variants}
    assert {corpus.source for corpus in CORPORA.values()} <= sources
    assert len(made) == run.result["steps"] > 20
    seen = {role: set[str]() for role in Role}
    for batch in made:
        for text, role in labels(batch):
            seen[role].add(text)
    assert all(seen.values()) and seen.pop(Role.ANCHOR) <= anchors
    assert set().union(*seen.values()) <= variants
    bundled = {entry.text for entry in bundled_texts()}
    others = {text for batch in made for text in batch["more"]} - bundled
    assert others & anchors
    assert words([*others]) <= words([*anchors])  # edited copies exchange words with each other


def test_training_ships_no_text_that_teaches_negation() -> None:
    found = {
        path.relative_to(ROOT).as_posix()
        for path in (ROOT / "training").rglob("*")
        if path.is_file() and path.suffix not in (".py", ".pyc")
    }
    assert found == DATA
