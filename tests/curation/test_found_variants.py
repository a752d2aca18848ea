"""Variants are found by their measures, all of them, the ones to look at first in front."""

import pytest
from sqlalchemy import Engine
from sqlmodel import Session

from curation.distributions import EVERYTHING, Scope
from curation.found_variants import First, Found, Wanted, find, rows, sample
from curation.measures import Flag
from db.engine import reading, writing
from db.models import Status, Variant
from tests.curation.measured import Measured, everything, fill
from tests.databases import one_database

WANTED = [
    Wanted(),
    Wanted(levenshtein=(10, 40)),
    Wanted(cosine=(-0.5, 0.5)),
    Wanted(levenshtein=(0, 60), cosine=(0.0, 1.0)),
    Wanted(Scope(("word", "verbal")), levenshtein=(20, 80)),
    Wanted(Scope(status=Status.REJECTED), cosine=(-1.0, 1.0)),
    Wanted(flag=Flag.WRONG_SURFACE, first=First.SUSPICIOUS),
    Wanted(Scope(("phrase",), Status.PENDING), flag=Flag.UNCHANGED),
    Wanted(levenshtein=(91, 99)),
]


def matches(wanted: Wanted, row: Measured) -> bool:
    def within(bounds: tuple[float, float] | None, value: float | None) -> bool:
        return bounds is None or (value is not None and bounds[0] <= value <= bounds[1])

    in_use = not row.retired and row.status != Status.SUPERSEDED
    return (
        in_use
        and wanted.scope.holds(row.type_id, row.status)
        and within(wanted.levenshtein, row.levenshtein)
        and within(wanted.cosine, row.cosine)
        and (wanted.flag is None or wanted.flag in row.flags)
    )


def key_of(session: Session, wanted: Wanted, variant_id: int) -> tuple[float, int]:
    variant = session.get_one(Variant, variant_id)
    return -getattr(variant, wanted.first.value), variant_id


def test_what_is_found_is_what_matches(engine: Engine) -> None:
    with writing(engine) as session:
        fill(session)
    with reading(engine) as session:
        known = everything(session)
        for wanted in WANTED:
            expected = sorted(
                (row.id for row in known if matches(wanted, row)),
                key=lambda number: key_of(session, wanted, number),
            )
            assert find(session, wanted, limit=1000) == Found(len(expected), tuple(expected))
            few = find(session, wanted, limit=3)
            assert few == Found(len(expected), tuple(expected[:3]))


def test_rows_come_in_the_order_asked_for(engine: Engine) -> None:
    with writing(engine) as session:
        fill(session)
    with reading(engine) as session:
        known = {row.id: row for row in everything(session)}
        ids = (5, 3, 999, 1, 4, 2)
        found = rows(session, ids)
        assert [row.id for row in found] == [5, 3, 1, 4, 2]
        for row in found:
            variant, expected = session.get_one(Variant, row.id), known[row.id]
            assert (row.uid, row.text, row.status) == (variant.uid, variant.text, variant.status)
            assert (row.levenshtein, row.flags) == (expected.levenshtein, expected.flags)
            assert row.cosine == pytest.approx(expected.cosine)
            assert row.anchor == "The pier number 0 is safe."
        assert rows(session, ()) == []


def test_a_small_project_is_drawn_whole_and_a_large_one_by_a_sample(engine: Engine) -> None:
    with writing(engine) as session:
        fill(session, families=16)
    with reading(engine) as session:
        known = [
            row
            for row in everything(session)
            if matches(Wanted(), row) and None not in (row.levenshtein, row.cosine)
        ]
        whole = sample(session, EVERYTHING, size=10_000)
        assert whole.of == len(whole.points) == len(known)
        assert [(p.type_id, p.levenshtein) for p in whole.points] == [
            (row.type_id, row.levenshtein) for row in known
        ]
        some = sample(session, EVERYTHING, size=32)
        assert some.of == sum(matches(Wanted(), row) for row in everything(session))
        assert 16 <= len(some.points) <= 42
        assert set(some.points) <= set(whole.points)
        assert some == sample(session, EVERYTHING, size=32)


@one_database
def test_a_sample_keeps_to_its_scope(engine: Engine) -> None:
    with writing(engine) as session:
        fill(session, families=20)
    with reading(engine) as session:
        of_types = sample(session, Scope(("word", "phrase")), size=12)
        accepted = sample(session, Scope(status=Status.ACCEPTED), size=12)
    assert {point.type_id for point in of_types.points} == {"word", "phrase"}
    assert {point.status for point in accepted.points} == {Status.ACCEPTED}
    for found in (of_types, accepted):
        assert found.of > len(found.points)
