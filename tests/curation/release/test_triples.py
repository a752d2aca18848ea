"""Triples: every accepted positive with every accepted negative, in a fixed order."""

from collections import defaultdict

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from sqlalchemy import Engine

from curation.release.freezing import create_release
from curation.release.triples import Triple, families, triple_rows
from db.engine import reading, writing
from db.models import Release, Split
from tests.curation.support.families import NEGATIVES, POSITIVES, add_family, add_plain_family
from tests.support.databases import both_databases

SHAPES = st.lists(
    st.tuples(
        st.lists(st.sampled_from(POSITIVES), max_size=4),
        st.lists(st.sampled_from(NEGATIVES), max_size=4),
        st.sampled_from(Split),
    ),
    max_size=4,
)


@pytest.mark.slow
@settings(
    max_examples=20,
    deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture],
)
@given(shapes=SHAPES)
def test_there_are_as_many_triples_as_positives_times_negatives(
    engine: Engine, shapes: list[tuple[list[str], list[str], Split]]
) -> None:
    with writing(engine) as session:
        add_family(session, "Always here.", {"verbal": ["Not here."]}, split=Split.TRAIN)
        expected = dict.fromkeys(Split, 0)
        for number, (positives, negatives, split) in enumerate(shapes):
            variants = defaultdict(list)
            for position, type_id in enumerate(positives + negatives):
                variants[type_id].append(f"Variant {position} of {number}.")
            add_family(session, f"Anchor {number}.", variants, split=split)
            expected[split] += len(positives) * len(negatives)
        release = create_release(session).release
        for split in Split:
            found = list(triple_rows(session, release.id, split=split))
            assert len(found) == len(set(found)) == expected[split]
            assert all(row.split == split for row in found)
            assert all(row.positive_type in POSITIVES for row in found)
            assert all(row.negative_type in NEGATIVES for row in found)
        assert release.summary["triples"] == sum(expected.values())
        empty = sum(1 for positives, negatives, _ in shapes if not positives or not negatives)
        shapeless = sum(1 for positives, negatives, _ in shapes if not positives + negatives)
        assert release.summary["anchors_without_triples"] == 1 + empty - shapeless
        session.rollback()


def test_a_triple_is_an_anchor_and_two_of_its_own_variants(engine: Engine) -> None:
    with writing(engine) as session:
        for number in (1, 2):
            add_plain_family(session, number)
        release = create_release(session).release
    with reading(engine) as session:
        assert {row.triple for row in triple_rows(session, release.id)} == {
            Triple(f"Door {n} is open.", f"Door {n} is probably open.", negative)
            for n in (1, 2)
            for negative in (f"Door {n} is not open.", f"Door {n} is shut.")
        }


@both_databases
def test_the_order_depends_on_uids_alone(engine: Engine) -> None:
    def rows(numbers: list[int]) -> list[object]:
        with writing(engine) as session:
            for number in numbers:
                add_plain_family(session, number)
            release: Release = create_release(session).release
            found: list[object] = list(triple_rows(session, release.id))
            session.rollback()
        return found

    forwards, backwards = rows([1, 2, 3, 4, 5, 6]), rows([6, 5, 4, 3, 2, 1])
    assert forwards == backwards
    keys = [(row.anchor_uid, row.positive_uid, row.negative_uid) for row in forwards]  # type: ignore[attr-defined]
    assert keys == sorted(keys)


def test_a_family_without_triples_is_still_a_family(engine: Engine) -> None:
    with writing(engine) as session:
        add_family(session, "It is late.", {"verbal": ["It is not late.", "It isn't late."]})
        release = create_release(session).release
    with reading(engine) as session:
        (family,) = families(session, release.id)
        assert family.positives == []
        assert {member.text for member in family.negatives} == {"It is not late.", "It isn't late."}
        assert list(triple_rows(session, release.id)) == []
