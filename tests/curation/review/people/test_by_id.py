"""Changing people by their ids, as pages do."""

import pytest
from sqlalchemy import Engine

from curation.review.people.by_id import add, merge, plan_merge, rename, separate
from curation.review.people.reviewers import people, reviewer_name, reviewer_names
from curation.review.people.roles import Role
from db.engine import writing
from db.errors import HedgerowError
from tests.support.factories import person


def test_a_rename_says_both_names(engine: Engine) -> None:
    with writing(engine) as session:
        ada = person(session, "Ada")
        assert rename(session, ada, "Ada L.") == ("Ada", "Ada L.")
        assert reviewer_name(session, ada) == reviewer_names(session)[ada] == "Ada L."


def test_a_person_is_added_once_and_the_first_as_a_lead(engine: Engine) -> None:
    with pytest.raises(HedgerowError, match="no lead yet"), writing(engine) as session:
        add(session, "Cy", Role.REVIEWER)
    with writing(engine) as session:
        assert people(session) == []
        assert add(session, " Ada ", Role.LEAD) == "Ada"
        assert add(session, "Cy", Role.VIEWER) == "Cy"
        assert [(one.name, one.role) for one in people(session)] == [
            ("Ada", Role.LEAD),
            ("Cy", Role.VIEWER),
        ]
        with pytest.raises(HedgerowError, match="person 'ada' already exists"):
            add(session, "ada", Role.VIEWER)


def test_the_first_is_merged_into_the_second_and_separated_again(engine: Engine) -> None:
    with writing(engine) as session:
        ada, bert = person(session, "Ada"), person(session, "Bert")
        planned = plan_merge(session, person=ada, into=bert)
        assert (planned.person, planned.into) == ("Ada", "Bert")
        assert [one.merged_into for one in people(session)] == ["", ""]
        assert merge(session, person=ada, into=bert) == planned
        assert [one.merged_into for one in people(session)] == ["Bert", ""]
        assert separate(session, ada) == ("Ada", "Bert")
        assert [one.merged_into for one in people(session)] == ["", ""]
        with pytest.raises(HedgerowError, match="already one reviewer"):
            plan_merge(session, person=ada, into=ada)
