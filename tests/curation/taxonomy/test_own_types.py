"""The types of a project: user-defined ones are added, changed, retired and restored, and built-in
ones take over newer wordings."""

from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from sqlalchemy import Engine, select, update
from sqlalchemy.orm import Session
from sqlmodel import col

from curation.anchors.changes import restore_anchor, retire_anchor
from curation.diagnostics.distributions import data_version
from curation.diagnostics.measures import Flag
from curation.diagnostics.measuring import count_without_measures, measure_variants
from curation.project.funnel import funnel
from curation.project.opening import open_project
from curation.release.freezing import create_release
from curation.review import actions
from curation.review.queue import next_variant, status_counts
from curation.taxonomy.built_in import TAXONOMY, TAXONOMY_VERSION
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
from db.models import Diagnostic, Status, TypeRow, TypeVersion, Variant
from db.settings import Settings
from tests.curation.support.own_types import HEDGE, NEGATION
from tests.support.databases import Fill, both_databases
from tests.support.factories import add_anchor, add_family, person

OWN = "quantifier_negation"


def changed(wanted: OwnType, **values: object) -> OwnType:
    return wanted.model_copy(update=values)


def own_variants(session: Session) -> list[Variant]:
    session.expire_all()
    query = select(Variant).where(col(Variant.type_id) == OWN)
    return list(session.execute(query.order_by(col(Variant.id))).scalars())


def write(session: Session, anchor_id: int, text: str) -> None:
    of = {"anchor_id": anchor_id, "type_id": OWN, "reviewer_id": person(session)}
    write_variant(session, text=text, **of)


@pytest.fixture
def project(engine: Engine, fill: Fill) -> Engine:
    """A family, and another anchor, each with a variant of a user-defined negation."""

    def made(session: Session) -> None:
        bridge = add_family(session)["verbal"].anchor_id
        add_type(session, NEGATION)
        write(session, bridge, "Not all of the bridge is safe.")
        write(session, add_anchor(session, "The road is safe.").id, "Not all of the road is safe.")

    fill(engine, made)
    return engine


def test_an_added_type_is_listed_among_the_others_and_the_built_in_ones_stay(
    engine: Engine,
) -> None:
    with writing(engine) as session:
        seed_taxonomy(session)
        before = list_types(session)
        added, hedge = add_type(session, NEGATION), add_type(session, HEDGE)
        seed_taxonomy(session)
    with reading(engine) as session:
        assert list_types(session) == [*before, added, hedge] and not needs_seeding(session)
        assert as_written(added) == NEGATION and as_written(hedge) == HEDGE
        assert (added.id, added.version, added.own) == (OWN, 1, True)


def test_two_types_may_not_get_the_same_id(engine: Engine) -> None:
    with writing(engine) as session:
        seed_taxonomy(session)
        names = ("Négation", "Negation!")
        first, second = (add_type(session, changed(NEGATION, label=name)) for name in names)
        assert (first.id, second.id) == ("negation", "negation_2")
        assert find_type(session, second.id).order == find_type(session, first.id).order + 1


def test_a_refused_change_changes_nothing(project: Engine) -> None:
    with reading(project) as session:
        before = list_types(session, retired=True)
    refused = [
        (add_type, NEGATION),
        (add_type, changed(NEGATION, label="verbal")),
        (add_type, changed(HEDGE, example="No.")),
        (change_type, "verbal", changed(NEGATION, definition="Something else here.")),
        (change_type, OWN, NEGATION),
        (change_type, OWN, changed(NEGATION, role="paraphrase")),
        (change_type, OWN, changed(NEGATION, label="Affixal negation")),
        (change_type, "nothing", NEGATION),
        (retire_type, "verbal"),
        (restore_type, "verbal"),
    ]
    for do, *given in refused:
        with pytest.raises(HedgerowError), writing(project) as session:
            do(session, *given)
    with reading(project) as session:
        assert list_types(session, retired=True) == before


def test_a_change_is_a_further_version_and_has_the_flags_measured_again(project: Engine) -> None:
    with writing(project) as session:
        wording = changed(NEGATION, label="Negated quantifier", guideline="Rule: none.")
        assert change_type(session, OWN, wording).to_measure == 0
        assert count_without_measures(session) == 7  # the family of the fixture
        version = data_version(session)
        check = SurfaceCheck(require_words=("nowhere",))
        example = "Nowhere is every bridge safe."
        strict = changed(wording, example=example, surface_check=check)
        done = change_type(session, OWN, strict)
        assert (done.to_measure, done.entry.version) == (2, 3)
        assert count_without_measures(session) == 9 and data_version(session) != version
        ids = [variant.id for variant in own_variants(session)]
        measure_variants(session, ids)
        flags = [Flag(session.get_one(Diagnostic, key).flags) for key in ids]
        assert all(Flag.WRONG_SURFACE in found for found in flags)
        versions = [(row.version, row.label) for row in type_versions(session, OWN)]
        assert versions == [(3, wording.label), (2, wording.label), (1, NEGATION.label)]


def test_a_retired_type_leaves_queues_and_releases_and_comes_back(project: Engine) -> None:
    with writing(project) as session:
        actions.undo(session, reviewer_id=person(session))
        assert next_variant(session, type_ids=[OWN]) is not None
        assert create_release(session).release.summary["types"] == {OWN: 1}
        version = data_version(session)
        assert [retire_type(session, OWN) for _ in range(2)] == [True, False]
        assert data_version(session) != version
        assert OWN not in {entry.id for entry in list_types(session)} | {*status_counts(session)}
        assert next_variant(session, type_ids=[OWN]) is None
        with pytest.raises(HedgerowError, match="nothing to release"):
            create_release(session)
        row = {row.type_id: row for row in funnel(session).rows}[OWN]
        assert (row.label, row.variants, row.released) == ("Quantifier negation (retired)", 0, 1)
    with writing(project) as session:
        assert [restore_type(session, OWN) for _ in range(2)] == [True, False]
        counts = status_counts(session)[OWN]
        assert (counts[Status.ACCEPTED], counts[Status.PENDING]) == (1, 1)
        assert not create_release(session).created


def test_a_variant_is_out_of_use_with_its_anchor_or_with_its_type(project: Engine) -> None:
    with writing(project) as session:
        bridge = own_variants(session)[0].anchor_id
        for changes, in_use in (
            (((retire_anchor, bridge), (retire_type, OWN), (restore_anchor, bridge)), [False] * 2),
            (((retire_anchor, bridge), (restore_type, OWN)), [False, True]),
            (((restore_anchor, bridge),), [True, True]),
        ):
            for change, of in changes:
                change(session, of)
            assert [not variant.retired for variant in own_variants(session)] == in_use
            assert session.get_one(Variant, 1).retired == (in_use == [False, True])


def test_a_variant_of_a_retired_type_can_be_retyped_and_is_in_use_again(project: Engine) -> None:
    with writing(project) as session:
        me = person(session)
        retire_type(session, OWN)
        first, second = own_variants(session)
        measure_variants(session, [first.id, second.id])
        actions.edit(session, actions.shown(first), reviewer_id=me, text="Not all of it is safe.")
        child = own_variants(session)[-1]
        assert child.text == "Not all of it is safe." and child.retired
        outcome = actions.edit(session, actions.shown(second), reviewer_id=me, type_id="absolute")
        retyped = session.get_one(Variant, outcome.child_id)
        assert (retyped.type_id, retyped.retired) == ("absolute", False)
        with pytest.raises(HedgerowError, match="variant type"):
            actions.edit(session, actions.shown(retyped), reviewer_id=me, type_id=OWN)
        with pytest.raises(HedgerowError, match="variant type"):
            write(session, first.anchor_id, "No.")


@both_databases
def test_one_of_two_people_who_add_the_same_type_at_once_is_refused(engine: Engine) -> None:
    with writing(engine) as session:
        seed_taxonomy(session)

    def add(_: int) -> str:
        try:
            with writing(engine) as session:
                return add_type(session, NEGATION).id
        except HedgerowError:
            return "refused"

    with ThreadPoolExecutor(4) as pool:
        found = sorted(pool.map(add, range(4)))
    assert found == [OWN] + ["refused"] * 3


@pytest.mark.slow
def test_opening_an_older_project_gives_it_the_newer_wordings_and_keeps_the_old(
    home: Path,
) -> None:
    settings = Settings(home=home, database_url="")
    engine = open_project(settings)
    older, newer = TAXONOMY_VERSION - 1, TAXONOMY_VERSION + 1
    with writing(engine) as session:
        session.execute(update(TypeVersion).values(version=older, guideline="As it was."))
        session.execute(update(TypeRow).values(version=older))
        session.get_one(TypeRow, "word").version = newer  # of a newer program
        wording = session.get_one(TypeVersion, ("word", older)).model_dump()
        session.add(TypeVersion(**(wording | {"version": newer, "label": "Ours"})))
    engine.dispose()
    engine = open_project(settings)
    with reading(engine) as session:
        assert not needs_seeding(session)
        found = {entry.id: entry for entry in list_types(session)}
        guidelines = {entry.id: entry.guideline for entry in TAXONOMY} | {"word": "As it was."}
        assert {key: entry.guideline for key, entry in found.items()} == guidelines
        assert session.get_one(TypeVersion, ("verbal", older)).guideline == "As it was."
        assert found["word"].label == "Ours"
        assert session.get_one(TypeRow, "word").version == newer
    engine.dispose()
