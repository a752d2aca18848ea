"""Finding variants by their measures: all of them, in order of priority."""

import pytest
from sqlalchemy import Engine
from sqlalchemy.orm import Session

from curation.corpora.corpus import CORPORA
from curation.diagnostics.distributions import Scope
from curation.diagnostics.measures import Flag
from curation.diagnostics.variants_by_measure import First, FoundVariants, VariantFilter, find, rows
from db.engine import reading, writing
from db.models import Status, Variant
from tests.curation.support.measured import Measured, bin_of, everything, fill
from tests.support.databases import both_databases
from tests.support.factories import add_anchor, add_variant

pytestmark = both_databases

WANTED = [
    VariantFilter(),
    VariantFilter(levenshtein=(10, 40)),
    VariantFilter(cosine_bins=(25, 74)),
    VariantFilter(levenshtein=(0, 60), cosine_bins=(50, 99)),
    VariantFilter(cosine_bins=(99, 99)),
    VariantFilter(Scope(("word", "verbal")), levenshtein=(20, 80)),
    VariantFilter(Scope(status=Status.REJECTED), cosine_bins=(0, 98)),
    VariantFilter(flag=Flag.WRONG_SURFACE, first=First.SUSPICIOUS),
    VariantFilter(Scope(("phrase",), Status.PENDING), flag=Flag.UNCHANGED),
    VariantFilter(levenshtein=(91, 99)),
]


def matches(wanted: VariantFilter, row: Measured) -> bool:
    def within(bounds: tuple[int, int] | None, value: int | None) -> bool:
        return bounds is None or (value is not None and bounds[0] <= value <= bounds[1])

    in_use = not row.retired and row.status != Status.SUPERSEDED
    return (
        in_use
        and wanted.scope.holds(row.type_id, row.status)
        and within(wanted.levenshtein, row.levenshtein)
        and within(wanted.cosine_bins, bin_of(row))
        and (wanted.flag is None or wanted.flag in row.flags)
    )


def key_of(session: Session, wanted: VariantFilter, variant_id: int) -> tuple[float, int]:
    variant = session.get_one(Variant, variant_id)
    return -getattr(variant, wanted.first.value), variant_id


def test_a_search_finds_exactly_the_matches(engine: Engine) -> None:
    with writing(engine) as session:
        fill(session)
    with reading(engine) as session:
        known = everything(session)
        for wanted in WANTED:
            expected = sorted(
                (row.id for row in known if matches(wanted, row)),
                key=lambda number: key_of(session, wanted, number),
            )
            assert find(session, wanted, limit=1000) == FoundVariants(
                len(expected), tuple(expected)
            )
            few = find(session, wanted, limit=3)
            assert few == FoundVariants(len(expected), tuple(expected[:3]))


def test_own_anchors_are_found_before_those_of_a_corpus(engine: Engine) -> None:
    with writing(engine) as session:
        ids = []
        for number, source in enumerate((CORPORA["claims"].source, "")):
            anchor = add_anchor(session, f"Gate {number} is open.", source=source)
            variant = add_variant(session, anchor)
            variant.hardness = 1.0 - number
            ids.append(variant.id)
    with reading(engine) as session:
        assert find(session, VariantFilter(), limit=5) == (2, tuple(reversed(ids)))


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
