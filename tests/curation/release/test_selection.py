"""Which accepted variants a release takes: sources, distance, complete families."""

import pytest
from sqlalchemy import Engine, select
from sqlalchemy.orm import Session
from sqlmodel import col

from curation.project.shared_settings import change_threshold
from curation.release.contents import changes_since, contents_of, count_accepted
from curation.release.freezing import create_release
from curation.release.selection import Selection, default_selection, selection_of
from curation.release.upcoming import contents_now
from curation.taxonomy.built_in import TAXONOMY
from curation.taxonomy.project_types import seed_taxonomy
from db.engine import writing
from db.errors import HedgerowError
from db.models import Diagnostic, Release, ReleaseItem
from tests.curation.support.families import add_family
from tests.support.databases import both_databases

pytestmark = both_databases

FAR = "The bridge is, as far as anybody in this part of the country can possibly say, maybe open."
SIX = {entry.id: [f"{entry.label}."] for entry in TAXONOMY if entry.of_paper}


def fill(session: Session) -> None:
    """A complete family, and one family per kind of type with a variant far from its anchor."""
    seed_taxonomy(session)
    add_family(session, "The door is open.", SIX)
    add_family(
        session, "The bridge is open.", {"word": [FAR], "free_hedge": [FAR], "verbal": ["No."]}
    )


def types_of(session: Session, release: Release) -> list[str]:
    query = select(col(ReleaseItem.type_id)).where(col(ReleaseItem.release_id) == release.id)
    return sorted(session.execute(query).scalars())


def test_variants_over_the_threshold_stay_out_unless_free_form(engine: Engine) -> None:
    with writing(engine) as session:
        fill(session)
        assert session.execute(select(Diagnostic)).first() is None
        release = create_release(session).release
        assert types_of(session, release) == sorted([*SIX, "free_hedge", "verbal"])
        assert (release.summary["left_out"], selection_of(release)) == (1, Selection((), 60))
        assert contents_of(release) == contents_now(session)
        every = create_release(session, selection=Selection()).release
        assert types_of(session, every) == sorted([*types_of(session, release), "word"])
        assert every.summary["left_out"] == 0


def test_the_threshold_is_the_projects(engine: Engine) -> None:
    with writing(engine) as session:
        fill(session)
        change_threshold(session, 100)
        assert default_selection(session) == Selection(max_distance=100)
        assert create_release(session).release.summary["left_out"] == 0


def test_incomplete_families_stay_out_on_request(engine: Engine) -> None:
    with writing(engine) as session:
        fill(session)
        whole = Selection(max_distance=60, complete=True)
        release = create_release(session, selection=whole).release
        assert types_of(session, release) == sorted(SIX)
        assert release.summary["left_out"] == 3
        assert contents_of(release) == contents_now(session, whole)
        assert count_accepted(session, whole) == len(SIX)
        # A family is only complete with variants that are near enough.
        add_family(session, "The gate is open.", {**SIX, "phrase": [FAR]})
        assert create_release(session, selection=whole).release.id == release.id
        add_family(session, "The lid is open.", {"verbal": ["The lid isn't open."]}, source="Lids")
        with pytest.raises(HedgerowError, match=r"\(1\) are in incomplete families"):
            create_release(session, selection=Selection(("Lids",), 60, True))


def test_changes_count_by_what_the_release_takes(engine: Engine) -> None:
    with writing(engine) as session:
        fill(session)
        release = create_release(session, selection=Selection(max_distance=60)).release
        assert changes_since(session, release) == ({}, {})
        add_family(
            session, "The gate is open.", {"verbal": ["The gate isn't open."], "word": [FAR]}
        )
        added, gone = changes_since(session, release)
        # Variants that nobody has measured yet may be near enough.
        assert added == {"verbal": 1, "word": 1} and gone == {}
        again = create_release(session).release
        assert types_of(session, again).count("word") == 1
        assert changes_since(session, again) == ({}, {})


def test_nothing_left_is_one_sentence(engine: Engine) -> None:
    with writing(engine) as session:
        seed_taxonomy(session)
        add_family(session, "The bridge is open.", {"word": [FAR]})
        with pytest.raises(
            HedgerowError, match=r"all accepted variants \(1\) are too far from their anchors"
        ):
            create_release(session)


def test_a_release_says_what_is_left_out() -> None:
    assert Selection().sentences() == ""
    sentences = Selection(("A", "B"), 60, True).sentences()
    assert sentences.startswith("Sources: A, B. Excludes variants that are more than 60 characters")
    assert sentences.endswith("Only families with all four negations and both hedges of the paper.")
