"""Reviewers' names: one reviewer for all spellings, reserved names, renaming."""

import pytest
from sqlalchemy import Engine, text
from sqlalchemy.exc import IntegrityError
from sqlalchemy.orm import Session

from curation.corpora.corpus import STARTER
from curation.corpora.loading import load
from curation.review.notes import add_note, notes
from curation.review.opinions.stored import ensure_judge
from curation.review.people.reviewers import (
    LABELS,
    ensure_reviewer,
    find_person,
    get_reviewer,
    people,
    rename_person,
)
from db.engine import reading, writing
from db.errors import HedgerowError
from db.models import Reviewer, ReviewerKind
from tests.support.databases import both_databases
from tests.support.factories import add_family, model, person


@both_databases
@pytest.mark.parametrize(
    "spelling",
    [
        "Jürgen Weiß",
        "jürgen weiß",
        "JÜRGEN WEISS",
        "  Jürgen \t weiß ",
        "Ju\u0308rgen Weiß",
        "Jürgen\u00a0Weiß",
        "Jür\u00adgen Weiß",
    ],
)
def test_all_spellings_of_a_name_are_one_reviewer(engine: Engine, spelling: str) -> None:
    with writing(engine) as session:
        first = person(session, "Jürgen Weiß")
    with writing(engine) as session:
        found = ensure_reviewer(session, spelling)
        assert (found.id, found.name) == (first, "Jürgen Weiß")
        assert ensure_reviewer(session, "Jurgen Weiss").id != first
        assert len(people(session)) == 2


@both_databases
def test_the_database_refuses_a_second_spelling(engine: Engine) -> None:
    """Two processes that add the same person at once then find the same row."""
    with writing(engine) as session:
        ada = person(session, "Ada")
    with Session(engine.execution_options(writes=True)) as session:
        session.add(Reviewer(name="ADA", key="ada", kind=ReviewerKind.PERSON))
        with pytest.raises(IntegrityError):
            session.flush()
    with reading(engine) as session:
        assert [one.id for one in people(session)] == [ada]


@pytest.mark.parametrize(
    "name", [STARTER.reviewer, "Starter-LLM", LABELS, "Data  Set Labels", "judge: x", "Judge:x"]
)
def test_reserved_names_are_refused(engine: Engine, name: str) -> None:
    with writing(engine) as session:
        with pytest.raises(HedgerowError, match="is reserved for imports and models"):
            ensure_reviewer(session, name)
        ada = find_person(session, ensure_reviewer(session, "Ada").name)
        with pytest.raises(HedgerowError, match="is reserved"):
            rename_person(session, ada, name)
    with reading(engine) as session:
        assert [one.name for one in people(session)] == ["Ada"]


@pytest.mark.slow
def test_an_import_says_what_to_do_if_a_person_has_its_name(engine: Engine) -> None:
    """In a project from before names were reserved."""
    with writing(engine) as session:
        ada = ensure_reviewer(session, "Ada")
        ada.name = ada.key = STARTER.reviewer
    with writing(engine) as session, pytest.raises(HedgerowError, match="reviewers rename"):
        load(session, STARTER)
    with writing(engine) as session:
        rename_person(session, find_person(session, STARTER.reviewer), "Ada")
        load(session, STARTER)


def test_models_and_people_do_not_share_a_name(engine: Engine) -> None:
    with writing(engine) as session:
        model(session, "llm")
        judge = ensure_judge(session, "fake", 1)
        assert ensure_judge(session, "fake", 1).id == judge.id
        with pytest.raises(HedgerowError, match="is the name of a model reviewer"):
            ensure_reviewer(session, "LLM")
        with pytest.raises(HedgerowError, match="There is no person 'llm'"):
            find_person(session, "llm")


@both_databases
def test_a_rename_applies_to_earlier_actions(engine: Engine) -> None:
    with writing(engine) as session:
        verbal, ada = add_family(session)["verbal"], ensure_reviewer(session, "ada l.")
        add_note(session, verbal.id, reviewer_id=ada.id, text="Too long.")
        rename_person(session, ada, "Ada L.")  # case alone
        rename_person(session, ada, " Ada  Lovelace ")
        assert [note.reviewer for note in notes(session, verbal.id)] == ["Ada Lovelace"]
        assert get_reviewer(session, "ADA LOVELACE") is ada
        assert get_reviewer(session, "ada l.") is None
        person(session, "Bo")
        with pytest.raises(HedgerowError, match="'Bo' is another reviewer"):
            rename_person(session, ada, "bo")
        with pytest.raises(HedgerowError, match="1 to 80 characters"):
            rename_person(session, ada, "x" * 81)


def test_two_spellings_of_an_older_project_stay_two_reviewers(engine: Engine) -> None:
    with writing(engine) as session:
        first = person(session, "ada")
        session.execute(
            text(
                "INSERT INTO reviewer (name, kind, counts, created_at)"
                " VALUES ('Ada', 'person', true, '2026-01-01')"
            )
        )
    with writing(engine) as session:
        second = person(session, "Ada")
        assert first != second
        assert person(session, "ada") == first
        assert person(session, "ADA") == first
