"""Cues and negators: counts, and the meaning of their entropy."""

import math
from collections import Counter

from hypothesis import given, settings
from hypothesis import strategies as st
from sqlalchemy import Engine, func, select
from sqlmodel import col

from curation.diagnostics.cue_use import (
    Diversity,
    cue_counts,
    cues_of,
    diversity,
    evenly,
    list_use,
    negators,
    new_negators,
)
from curation.diagnostics.distributions import EVERYTHING, Scope
from curation.taxonomy.cues import HEDGE_CUES
from db.engine import reading, writing
from db.models import Status, Variant
from tests.curation.support.measured import everything, fill
from tests.support.databases import both_databases, one_database
from tests.support.factories import add_family

pytestmark = both_databases


def test_entropy_of_known_distributions() -> None:
    assert diversity(dict.fromkeys("abcdefgh", 5)).entropy == 3
    assert diversity(dict.fromkeys("abcdefgh", 5)).evenness == 1
    skewed = diversity({"a": 3, "b": 1})
    assert math.isclose(skewed.entropy, 0.811278, abs_tol=1e-6)
    assert skewed.evenness == skewed.entropy
    assert diversity({"not": 12}) == Diversity(12, 1, 0.0, None)
    assert diversity({}).total == diversity({}).entropy == 0


@settings(max_examples=60)
@given(st.dictionaries(st.text(max_size=3), st.integers(0, 10**6), max_size=12))
def test_entropy_keeps_its_bounds(counts: dict[str, int]) -> None:
    found = diversity(counts)
    assert found.distinct == sum(number > 0 for number in counts.values())
    assert 0 <= found.entropy <= math.log2(max(1, found.distinct)) + 1e-9
    assert found.evenness is None or 0 <= found.evenness <= 1


def test_cues_are_counted_by_type_and_scope(engine: Engine) -> None:
    with writing(engine) as session:
        fill(session)
    with reading(engine) as session:
        rows, counts = everything(session), cue_counts(session)
    for scope in (EVERYTHING, Scope(status=Status.PENDING), Scope(("phrase",))):
        for type_id in ("word", "phrase", "verbal"):
            expected = Counter(
                row.cue
                for row in rows
                if row.type_id == type_id
                and row.cue
                and not row.retired
                and row.status != Status.SUPERSEDED
                and scope.holds(row.type_id, row.status)
            )
            assert cues_of(counts, scope, type_id) == expected


def test_all_of_the_paper_s_cues_can_be_used() -> None:
    for listed in HEDGE_CUES.values():
        use = list_use(listed, listed)
        assert use is not None
        assert (use.used, use.unused, use.others) == (listed, (), ())
    assert [len(listed) for listed in HEDGE_CUES.values()] == [134, 45]
    assert list_use(["not"], None) is None


def test_a_misprinted_cue_is_used_in_its_spelling_unless_that_is_listed() -> None:
    use = list_use(["Couldn't", "whether", "by all accounts"], HEDGE_CUES["word"])
    assert use is not None
    assert set(use.used) == {"couldnt", "whether"}
    assert {"wether", "probably"} <= set(use.unused)
    assert use.others == ("by all accounts",)
    assert len(use.used) + len(use.unused) == 134


def test_negators_are_those_the_anchor_has_not() -> None:
    assert new_negators("The bridge is safe.", "The bridge isn't safe.") == {"not"}
    assert new_negators("The bridge is safe.", "The bridge is unsafe.") == {"un-"}
    assert new_negators("The pain ended.", "The pain was endless.") == {"-less"}
    assert new_negators("No pier is open.", "No pier is closed.") == frozenset()
    assert new_negators("All came.", "No one came, and nothing helped.") == {"no one", "nothing"}


def test_a_hyphen_makes_no_other_affix() -> None:
    anchor = "The area is for smoking and the plan for a goal."
    for prefix in ("non", "non-"):
        text = f"The area is for {prefix}smoking and the plan for a goal."
        assert new_negators(anchor, text) == {"non-"}
    assert new_negators("The talk is suited.", "The talk is ill-suited.") == {"ill-"}
    for word in ("goalless", "goal-less"):
        assert new_negators("It was a match.", f"It was a {word} match.") == {"-less"}
    assert new_negators("It is a drink.", "It is a sugar-free drink.") == {"-free"}


def test_negators_of_all_variants_or_of_an_even_sample(engine: Engine) -> None:
    with writing(engine) as session:
        for number in range(40):
            add_family(session, f"Bridge {number} is safe.")
    types = ["verbal", "absolute", "affixal", "lexical"]
    with reading(engine) as session:
        found = negators(session, EVERYTHING, type_ids=types, sample=500)
        assert found.of == 160
        assert found.sampled == dict.fromkeys(types, 40)
        assert found.by_type["verbal"] == {"not": 40}
        assert found.by_type["absolute"] == {"no": 40}
        assert found.by_type["affixal"] == {"un-": 40}
        assert found.by_type["lexical"] == {"": 40}
        few = negators(session, EVERYTHING, type_ids=types, sample=80)
        assert few.of == 160
        assert 60 <= few.sampled.total() <= 100
        assert few == negators(session, EVERYTHING, type_ids=types, sample=80)


def test_an_even_sample_is_stable_and_nested(engine: Engine) -> None:
    with writing(engine) as session:
        for number in range(30):
            add_family(session, f"Bridge {number} is safe.")
    with reading(engine) as session:
        chosen = [
            set(session.execute(select(col(Variant.id)).where(evenly(share))).scalars())
            for share in (0.0, 0.1, 0.5, 1.0)
        ]
        total = session.execute(select(func.count()).select_from(Variant)).scalar_one()
        types = session.execute(
            select(col(Variant.type_id), func.count())
            .where(evenly(0.5))
            .group_by(col(Variant.type_id))
        ).all()
    assert (len(chosen[0]), len(chosen[-1])) == (0, total)
    assert abs(len(chosen[1]) - total / 10) <= 4
    assert chosen[1] < chosen[2] < chosen[3]
    assert all(abs(number - 15) <= 4 for _, number in types)


@one_database
def test_the_starter_corpus_uses_nearly_all_cues(starter_engine: Engine) -> None:
    with reading(starter_engine) as session:
        counts = cue_counts(session)
    words = list_use(cues_of(counts, EVERYTHING, "word"), HEDGE_CUES["word"])
    phrases = list_use(cues_of(counts, EVERYTHING, "phrase"), HEDGE_CUES["phrase"])
    assert words is not None and phrases is not None
    assert (len(words.used), len(phrases.used)) == (130, 45)
