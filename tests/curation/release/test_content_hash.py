"""The content hash of a release: equal content has an equal hash, and is only released once."""

import hashlib
import threading
from collections.abc import Sequence

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from sqlalchemy import Engine, func, select, update
from sqlalchemy.orm import Session

from curation.release.freezing import create_release, list_releases
from db.engine import reading, writing
from db.models import (
    ReleaseItem,
    Split,
    Variant,
    Verdict,
)
from tests.curation.support.families import (
    add_anchor,
    add_family,
    add_plain_family,
    add_variant,
    decide,
    person,
)
from tests.support.databases import both_databases


def test_an_equal_release_is_returned(engine: Engine) -> None:
    with writing(engine) as session:
        add_plain_family(session, 1)
        create_release(session, name="one")
    with writing(engine) as session:
        again, created = create_release(session, name="two")
        assert not created
        assert (again.number, again.name) == (1, "one")
    with reading(engine) as session:
        assert [release.number for release in list_releases(session)] == [1]
        assert session.execute(select(func.count()).select_from(ReleaseItem)).scalar() == 3


def test_another_provenance_is_another_release_of_the_same_hash(engine: Engine) -> None:
    with writing(engine) as session:
        add_plain_family(session, 1)
        first = create_release(session).release
        variant = session.execute(select(Variant)).scalars().first()
        assert variant is not None
        decide(session, variant, person(session))
        second, created = create_release(session)
        assert created
        assert second.number == 2
        assert second.content_hash == first.content_hash
        assert second.summary["decided_by"] == {"model": 2, "person": 1}


def test_an_older_release_is_not_returned(engine: Engine) -> None:
    with writing(engine) as session:
        anchor = add_plain_family(session, 1)
        first = create_release(session).release
        extra = add_variant(session, anchor, "phrase", "It seems that door 1 is open.")
        decide(session, extra, person(session))
        assert create_release(session).release.content_hash != first.content_hash
        decide(session, extra, person(session), Verdict.REJECT, reason="other")
        third, created = create_release(session)
        assert created
        assert (third.number, third.content_hash) == (3, first.content_hash)


@both_databases
def test_two_at_once_get_one_number_each(engine: Engine) -> None:
    with writing(engine) as session:
        add_plain_family(session, 1)
    outcomes: list[tuple[int, bool]] = []

    def create() -> None:
        with writing(engine) as session:
            release, created = create_release(session)
            outcomes.append((release.number, created))

    threads = [threading.Thread(target=create) for _ in range(3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(outcomes) == [(1, False), (1, False), (1, True)]


FAMILIES = {
    "It rains.": {"word": ["Maybe it rains."], "verbal": ["It does not rain."]},
    "It snows.": {
        "phrase": ["It seems to snow."],
        "verbal": ["It does not snow.", "It won't snow."],
    },
    "It is warm.": {"lexical": ["It is cold."]},
}


def build(session: Session, order: Sequence[str], *, who: str, reverse: bool) -> str:
    for text in order:
        variants = list(FAMILIES[text].items())
        chosen = dict(reversed(variants) if reverse else variants)
        add_family(session, text, chosen, by=person(session, who), cue="maybe")
    return create_release(session, name=who).release.content_hash


@pytest.mark.slow
@both_databases
@settings(
    max_examples=12, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@given(
    order=st.permutations(list(FAMILIES)),
    who=st.sampled_from(["Ada", "Ben"]),
    reverse=st.booleans(),
    noise=st.integers(min_value=0, max_value=2),
)
def test_the_hash_does_not_depend_on_ids_order_or_names(
    engine: Engine, order: list[str], who: str, reverse: bool, noise: int
) -> None:
    with writing(engine) as session:
        expected = build(session, list(FAMILIES), who="Cem", reverse=False)
        session.rollback()
        for number in range(noise):  # uses up ids and is not released
            add_variant(session, add_anchor(session, f"Noise {number}."), "word", "Maybe noise.")
        assert build(session, order, who=who, reverse=reverse) == expected
        session.rollback()


def test_the_hash_is_the_documented_one(engine: Engine) -> None:
    with writing(engine) as session:
        add_family(
            session,
            "It rains.",
            {"word": ["Maybe it rains."], "verbal": ["It doesn't, “no”."]},
            split=Split.TRAIN,
            cue="maybe",
        )
        found = create_release(session).release.content_hash
    lines = (
        '["It rains.","It doesn\'t, “no”.","verbal","maybe","train"]\n'
        '["It rains.","Maybe it rains.","word","maybe","train"]\n'
    )
    assert found == hashlib.sha256(lines.encode()).hexdigest()


@pytest.mark.parametrize(
    "change",
    [
        {"text": "Perhaps it rains."},
        {"type_id": "phrase"},
        {"cue": "perhaps"},
        {"cue": None},
    ],
)
def test_the_hash_depends_on_what_a_reader_sees(engine: Engine, change: dict[str, str]) -> None:
    with writing(engine) as session:
        add_family(session, "It rains.", {"word": ["Maybe it rains."]}, cue="maybe")
        first = create_release(session).release
        session.execute(update(Variant).values(**change))
        session.expire_all()
        second, created = create_release(session)
        assert created
        assert second.content_hash != first.content_hash
