"""The database's counts equal counts over all rows."""

from collections import Counter
from collections.abc import Callable

import pytest
from sqlalchemy import Engine, select
from sqlalchemy.orm import Session
from sqlmodel import col

from curation.anchors.changes import correct_anchor, retire_anchor
from curation.diagnostics.distributions import (
    EVERYTHING,
    STATUSES,
    Scope,
    by_type,
    cosine_counts,
    data_version,
    flag_counts,
    flags_by_type,
    levenshtein_counts,
    over,
    pair_counts,
    totals,
)
from curation.diagnostics.measures import Flag
from curation.project.shared_settings import change_threshold
from curation.review import actions
from db.columns import now
from db.engine import reading, writing
from db.models import Status, Variant
from db.runs import create_run
from tests.curation.support.measured import Measured, bin_of, everything, fill
from tests.support.databases import both_databases, one_database
from tests.support.factories import add_anchor, add_family, add_variant, person

pytestmark = both_databases

SCOPES = [
    EVERYTHING,
    Scope(("verbal", "word")),
    Scope(status=Status.PENDING),
    Scope(("phrase",), Status.ACCEPTED),
    Scope(("no_such_type",)),
]


def in_scope(scope: Scope, row: Measured) -> bool:
    wanted = STATUSES if scope.status is None else (scope.status,)
    of_type = not scope.types or row.type_id in scope.types
    return not row.retired and row.status in wanted and of_type


def counted(
    rows: list[Measured], scope: Scope, value: Callable[[Measured], int | None]
) -> dict[str, dict[int, int]]:
    found: dict[str, Counter[int]] = {}
    for row in rows:
        key = value(row)
        if in_scope(scope, row) and key is not None:
            found.setdefault(row.type_id, Counter())[key] += 1
    return {type_id: dict(counts) for type_id, counts in found.items()}


@pytest.mark.parametrize("seed", [1, 2])
def test_each_measure_is_counted_by_type_and_status(engine: Engine, seed: int) -> None:
    with writing(engine) as session:
        fill(session, seed=seed)
    with reading(engine) as session:
        rows = everything(session)
        distances, flags = levenshtein_counts(session), flag_counts(session)
        cosines = cosine_counts(session)
    for scope in SCOPES:
        assert by_type(distances, scope) == counted(rows, scope, lambda row: row.levenshtein)
        assert by_type(cosines, scope) == counted(rows, scope, bin_of)
        assert by_type(flags, scope) == counted(
            rows, scope, lambda row: None if row.levenshtein is None else int(row.flags)
        )
    keys = [(row.type_id, row.status, row.value) for row in cosines]
    assert len(keys) == len(set(keys))


@pytest.mark.parametrize("source_id", [1, 2])
def test_each_measure_is_counted_of_one_source(engine: Engine, source_id: int) -> None:
    with writing(engine) as session:
        fill(session)
    with reading(engine) as session:
        rows = [row for row in everything(session) if row.source_id == source_id]
        assert rows and len(rows) < len(everything(session))
        for count, value in (
            (levenshtein_counts, lambda row: row.levenshtein),
            (cosine_counts, bin_of),
            (flag_counts, lambda row: None if row.levenshtein is None else int(row.flags)),
        ):
            found = by_type(count(session, source_id), EVERYTHING)
            assert found == counted(rows, EVERYTHING, value)
        pairs = sum(pair.number for pair in pair_counts(session, source_id))
        assert pairs == sum(
            in_scope(EVERYTHING, row) and None not in (row.levenshtein, row.cosine) for row in rows
        )
        scope = Scope(source_id=source_id)
        ids = set(session.execute(select(col(Variant.id)).where(scope.condition())).scalars())
        assert ids == {row.id for row in rows if in_scope(EVERYTHING, row)}


@pytest.mark.parametrize("seed", [1, 2])
def test_pairs_are_counted_by_both_measures(engine: Engine, seed: int) -> None:
    with writing(engine) as session:
        fill(session, seed=seed)
    with reading(engine) as session:
        rows, pairs = everything(session), pair_counts(session)
    expected = Counter(
        (row.type_id, row.status, row.levenshtein, bin_of(row))
        for row in rows
        if in_scope(EVERYTHING, row) and row.levenshtein is not None and row.cosine is not None
    )
    assert {tuple(pair[:4]): pair.number for pair in pairs} == expected
    assert len(pairs) == len(expected)


@one_database
def test_a_threshold_cuts_larger_distances(engine: Engine) -> None:
    with writing(engine) as session:
        fill(session)
    with reading(engine) as session:
        rows, distances = everything(session), levenshtein_counts(session)
    for scope in SCOPES:
        for threshold in range(0, 95, 7):
            cut = Counter(
                row.type_id
                for row in rows
                if in_scope(scope, row) and (row.levenshtein or 0) > threshold
            )
            assert over(distances, scope, threshold) == dict(cut)


@one_database
def test_flags_are_counted_one_by_one_against_the_measured(engine: Engine) -> None:
    with writing(engine) as session:
        fill(session)
    with reading(engine) as session:
        rows, counts = everything(session), flag_counts(session)
    found = flags_by_type(counts, EVERYTHING, type_ids=["word", "verbal", "none_of_these"])
    assert [row.type_id for row in found] == ["word"] * len(Flag) + ["verbal"] * len(Flag)
    for row in found:
        measured = [
            r
            for r in rows
            if in_scope(EVERYTHING, r) and r.type_id == row.type_id and r.levenshtein is not None
        ]
        assert row.of == len(measured) == totals(counts, EVERYTHING)[row.type_id]
        assert row.number == sum(row.flag in r.flags for r in measured)
        assert row.share == row.number / row.of


def _decide(session: Session, variant: Variant) -> None:
    actions.accept(session, actions.shown(variant, at=now()), reviewer_id=person(session))


def _add_variant(session: Session, variant: Variant) -> None:
    add_variant(session, add_anchor(session, "The pier is open."), text="The pier is not open.")


def _progress(session: Session, variant: Variant) -> None:
    create_run(session, kind="diagnose", parameters={}).step = 7


CHANGES: dict[str, Callable[[Session, Variant], object]] = {
    "a decision": _decide,
    "a new variant": _add_variant,
    "a run that goes on": _progress,
    "another threshold": lambda session, variant: change_threshold(session, 40),
    "a retired anchor": lambda session, variant: retire_anchor(session, variant.anchor_id),
    "a corrected anchor": lambda session, variant: correct_anchor(
        session,
        variant.anchor_id,
        "The bridge is quite safe.",
        reviewer_id=person(session),
        expected_revision=1,
    ),
}


@one_database
@pytest.mark.parametrize("change", CHANGES)
def test_the_version_changes_with_the_data(engine: Engine, change: str) -> None:
    with writing(engine) as session:
        add_family(session)
        person(session)
    with reading(engine) as session:
        before = data_version(session)
    with reading(engine) as session:
        assert data_version(session) == before
    hash(before)
    with writing(engine) as session:
        CHANGES[change](session, session.get_one(Variant, 1))
    with reading(engine) as session:
        assert data_version(session) != before
