"""User-defined types in the database: added, changed, retired, restored; and the built-in types."""

from concurrent.futures import ThreadPoolExecutor

import pytest
from sqlalchemy import Engine, select
from sqlalchemy.orm import Session
from sqlmodel import col

from curation.anchors.changes import restore_anchor, retire_anchor
from curation.diagnostics.distributions import data_version
from curation.diagnostics.measures import Flag
from curation.diagnostics.measuring import count_without_measures, measure_variants
from curation.project.funnel import funnel
from curation.release.freezing import create_release
from curation.review import actions
from curation.review.queue import next_variant, status_counts
from curation.taxonomy.own_types import (
    add_type,
    change_type,
    find_type,
    restore_type,
    retire_type,
    type_versions,
)
from curation.taxonomy.project_types import list_types, needs_seeding, seed_taxonomy
from curation.taxonomy.surface_check import SurfaceCheck
from curation.taxonomy.type_drafts import OwnType, as_written
from curation.variants.own import write_variant
from db.engine import reading, writing
from db.errors import HedgerowError
from db.models import Diagnostic, Status, Variant
from tests.curation.support.own_types import HEDGE, NEGATION
from tests.support.databases import both_databases
from tests.support.factories import add_anchor, add_family, add_variant, person


def changed(wanted: OwnType, **values: object) -> OwnType:
    return wanted.model_copy(update=values)


def own_variants(session: Session) -> list[Variant]:
    query = select(Variant).where(col(Variant.type_id) == "quantifier_negation")
    return list(session.execute(query.order_by(col(Variant.id))).scalars())


@pytest.fixture
def project(engine: Engine) -> Engine:
    """A family, and another anchor, each with a variant of a user-defined negation."""
    with writing(engine) as session:
        add_family(session)
        add_type(session, NEGATION)
        other = add_anchor(session, "The road is safe.")
        bridge = session.get_one(Variant, 1).anchor_id
        for anchor_id, text in (
            (bridge, "Not all of the bridge is safe."),
            (other.id, "Not all of the road is safe."),
        ):
            write_variant(
                session,
                anchor_id=anchor_id or 0,
                type_id="quantifier_negation",
                text=text,
                reviewer_id=person(session),
            )
    return engine


def test_an_added_type_is_listed_among_the_others_and_the_built_in_ones_stay(
    engine: Engine,
) -> None:
    with writing(engine) as session:
        seed_taxonomy(session)
        before = list_types(session)
        added = add_type(session, NEGATION)
        hedge = add_type(session, HEDGE)
    with reading(engine) as session:
        assert list_types(session) == [*before, added, hedge]
        assert as_written(added) == NEGATION and as_written(hedge) == HEDGE
        assert (added.id, added.version, added.own) == ("quantifier_negation", 1, True)
        assert not needs_seeding(session)
    with writing(engine) as session:
        seed_taxonomy(session)
        assert list_types(session) == [*before, added, hedge]


def test_a_refused_change_changes_nothing(project: Engine) -> None:
    with reading(project) as session:
        before = list_types(session, retired=True)
    for wanted in (NEGATION, changed(NEGATION, label="verbal"), changed(HEDGE, example="No.")):
        with pytest.raises(HedgerowError), writing(project) as session:
            add_type(session, wanted)
    for type_id, wanted in (
        ("verbal", changed(NEGATION, definition="Something else here.")),
        ("quantifier_negation", NEGATION),
        ("quantifier_negation", changed(NEGATION, role="paraphrase")),
        ("quantifier_negation", changed(NEGATION, label="Affixal negation")),
        ("nothing", NEGATION),
    ):
        with pytest.raises(HedgerowError), writing(project) as session:
            change_type(session, type_id, wanted)
    for do in (retire_type, restore_type):
        with pytest.raises(HedgerowError, match="built in"), writing(project) as session:
            do(session, "verbal")
    with reading(project) as session:
        assert list_types(session, retired=True) == before


def test_a_change_is_a_further_version_and_has_the_flags_measured_again(project: Engine) -> None:
    with writing(project) as session:
        wording = changed(NEGATION, label="Negated quantifier", guideline="Rule: none.")
        assert change_type(session, "quantifier_negation", wording).to_measure == 0
        assert count_without_measures(session) == 7  # the family of the fixture
        version = data_version(session)
        strict = changed(
            wording,
            example="Nowhere is every bridge safe.",
            surface_check=SurfaceCheck(require_words=("nowhere",)),
        )
        done = change_type(session, "quantifier_negation", strict)
        assert (done.to_measure, done.entry.version) == (2, 3)
        assert count_without_measures(session) == 9
        assert data_version(session) != version
        ids = [variant.id for variant in own_variants(session)]
        measure_variants(session, ids)
        flags = [Flag(session.get_one(Diagnostic, key).flags) for key in ids]
        assert all(Flag.WRONG_SURFACE in found for found in flags)
    with reading(project) as session:
        assert [row.version for row in type_versions(session, done.entry.id)] == [3, 2, 1]
        assert [row.label for row in type_versions(session, done.entry.id)][1:] == [
            "Negated quantifier",
            "Quantifier negation",
        ]


def test_a_retired_type_leaves_queues_and_releases_and_comes_back(project: Engine) -> None:
    with writing(project) as session:
        first, _ = own_variants(session)
        actions.undo(session, reviewer_id=person(session))
        own = [first.type_id]
        assert next_variant(session, type_ids=own) is not None
        assert create_release(session).release.summary["types"] == {own[0]: 1}
        version = data_version(session)
        assert retire_type(session, own[0]) and not retire_type(session, own[0])
        assert data_version(session) != version
        assert own[0] not in {entry.id for entry in list_types(session)}
        assert next_variant(session, type_ids=own) is None
        assert own[0] not in status_counts(session)
        with pytest.raises(HedgerowError, match="nothing to release"):
            create_release(session)
        rows = {row.type_id: row for row in funnel(session).rows}
        assert rows[own[0]].label == "Quantifier negation (retired)"
        assert (rows[own[0]].variants, rows[own[0]].released) == (0, 1)
    with writing(project) as session:
        assert restore_type(session, own[0]) and not restore_type(session, own[0])
        counts = status_counts(session)[own[0]]
        assert (counts[Status.ACCEPTED], counts[Status.PENDING]) == (1, 1)
        assert not create_release(session).created


def test_a_variant_is_out_of_use_with_its_anchor_or_with_its_type(project: Engine) -> None:
    def in_use(session: Session) -> list[bool]:
        session.expire_all()
        return [not variant.retired for variant in own_variants(session)]

    with writing(project) as session:
        bridge = own_variants(session)[0].anchor_id
        retire_anchor(session, bridge)
        retire_type(session, "quantifier_negation")
        restore_anchor(session, bridge)
        assert in_use(session) == [False, False]
        assert not session.get_one(Variant, 1).retired
        retire_anchor(session, bridge)
        restore_type(session, "quantifier_negation")
        assert in_use(session) == [False, True]
        restore_anchor(session, bridge)
        assert in_use(session) == [True, True]


def test_a_variant_of_a_retired_type_can_be_retyped_and_is_in_use_again(project: Engine) -> None:
    with writing(project) as session:
        me = person(session)
        retire_type(session, "quantifier_negation")
        session.expire_all()
        first, second = own_variants(session)
        measure_variants(session, [first.id, second.id])
        card = actions.shown(first)
        actions.edit(session, card, reviewer_id=me, text="Not all of it is safe.")
        child = own_variants(session)[-1]
        assert child.text == "Not all of it is safe." and child.retired
        outcome = actions.edit(session, actions.shown(second), reviewer_id=me, type_id="absolute")
        retyped = session.get_one(Variant, outcome.child_id)
        assert (retyped.type_id, retyped.retired) == ("absolute", False)
        with pytest.raises(HedgerowError, match="Expected a variant type"):
            actions.edit(
                session, actions.shown(retyped), reviewer_id=me, type_id="quantifier_negation"
            )
        with pytest.raises(HedgerowError, match="Expected a variant type"):
            write_variant(
                session,
                anchor_id=first.anchor_id,
                type_id="quantifier_negation",
                text="No.",
                reviewer_id=me,
            )


def test_two_types_may_not_get_the_same_id(engine: Engine) -> None:
    with writing(engine) as session:
        anchor = add_anchor(session)
        first = add_type(session, changed(NEGATION, label="Négation"))
        second = add_type(session, changed(NEGATION, label="Negation!"))
        assert (first.id, second.id) == ("negation", "negation_2")
        add_variant(session, anchor, second.id, "Not every bridge is safe.")
    with reading(engine) as session:
        assert find_type(session, "negation_2").order == find_type(session, "negation").order + 1


@both_databases
def test_one_of_two_people_who_add_the_same_type_at_once_is_refused(engine: Engine) -> None:
    with writing(engine) as session:
        seed_taxonomy(session)

    def add(_: int) -> str:
        try:
            with writing(engine) as session:
                return add_type(session, NEGATION).id
        except HedgerowError as error:
            return str(error)

    with ThreadPoolExecutor(4) as pool:
        found = sorted(pool.map(add, range(4)))
    assert found.count("quantifier_negation") == 1
    assert found.count("'Quantifier negation' is already a type; choose another name.") == 3
