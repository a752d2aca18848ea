"""Signing in: people are identified by issuer and subject, and get the role in the settings."""

import pytest
from sqlalchemy import Engine, func, select
from sqlalchemy.orm import Session
from sqlmodel import col

from curation.review.people.merging import merge
from curation.review.people.reviewers import MAX_NAME, people, rename_person
from curation.review.people.roles import Role, is_lead, role_of
from curation.review.people.signing_in import Claims, claims_of, role_by_settings, sign_in
from db.engine import reading, writing
from db.errors import HedgerowError
from db.models import Reviewer
from db.settings import Settings
from tests.support.databases import both_databases, one_database
from tests.support.factories import person

pytestmark = both_databases

ISSUER = "https://id.example"
SETTINGS = Settings(
    sign_in_leads="ana@uni.example, sub-of-ben", sign_in_reviewers="*@uni.example,*@lab.example"
)


def _who(
    subject: str = "1", name: str = "Ana Ruiz", email: str = "ana@uni.example", issuer: str = ISSUER
) -> Claims:
    return Claims(issuer, subject, name, email)


@one_database
@pytest.mark.parametrize(
    ("who", "role"),
    [
        (_who(), Role.LEAD),
        (_who(email="ANA@Uni.Example"), Role.LEAD),
        (_who("sub-of-ben", email=""), Role.LEAD),
        (_who(email="vic@uni.example"), Role.REVIEWER),
        (_who(email="vic@lab.example"), Role.REVIEWER),
        (_who(email="vic@other.example"), Role.VIEWER),
        (_who(email="vic@evil.example@uni.example"), Role.VIEWER),
        (_who(email="vic@uni.example.evil.example"), Role.VIEWER),
        (_who(email="vic@uniXexample"), Role.VIEWER),
        (_who(email=""), Role.VIEWER),
    ],
)
def test_the_settings_say_who_is_what(who: Claims, role: Role) -> None:
    assert role_by_settings(SETTINGS, who) is role


@one_database
def test_a_star_names_everybody_who_signs_in() -> None:
    anybody = Settings(sign_in_leads="ana@uni.example", sign_in_reviewers="*")
    assert role_by_settings(anybody, _who(email="")) is Role.REVIEWER
    assert role_by_settings(Settings(), _who()) is Role.VIEWER


@one_database
@pytest.mark.parametrize("verified", [False, None, "true"])
def test_an_address_that_is_not_verified_is_nobodys(verified: object) -> None:
    claims = {"iss": ISSUER, "sub": "1", "email": "ana@uni.example", "email_verified": verified}
    assert claims_of(claims).email == ""
    assert claims_of(claims | {"email_verified": True}).email == "ana@uni.example"


@one_database
@pytest.mark.parametrize("claims", [{}, {"iss": ISSUER}, {"sub": "1", "email": "a@b"}])
def test_somebody_the_provider_does_not_name_is_refused(claims: dict[str, object]) -> None:
    with pytest.raises(HedgerowError, match="claims iss and sub"):
        claims_of(claims)


def test_one_who_comes_again_is_the_same_person(engine: Engine) -> None:
    with writing(engine) as session:
        first = sign_in(session, _who(), SETTINGS).id
        again = sign_in(session, _who(name="Ana Ruiz-Vega", email="new@other.example"), SETTINGS)
        assert again.id == first and again.name == "Ana Ruiz"
        assert again.role is Role.VIEWER  # the settings don't name the new address


def test_two_people_of_one_name_stay_two(engine: Engine) -> None:
    with writing(engine) as session:
        person(session, "Ana Ruiz")
        found = [
            sign_in(session, _who(), SETTINGS).name,
            sign_in(session, _who("2"), SETTINGS).name,
            sign_in(session, _who("1", issuer="https://other.example"), SETTINGS).name,
            sign_in(session, _who("3", email=""), SETTINGS).name,
        ]
        assert len({"Ana Ruiz", *found}) == 5
        assert found[0] == "Ana Ruiz (ana@uni.example)"


@pytest.mark.parametrize(
    "name", ["", "\x00", "data set labels", "judge: x", "a" * 300, "[x](http://evil)"]
)
def test_whatever_the_provider_calls_them_they_get_a_usable_name(engine: Engine, name: str) -> None:
    with writing(engine) as session:
        for number in range(3):
            found = sign_in(session, _who(str(number), name=name, email=""), SETTINGS)
            assert 0 < len(found.name) <= MAX_NAME
        assert session.execute(select(func.count(col(Reviewer.id)))).scalar_one() == 3


def test_a_name_that_a_lead_gave_stays(engine: Engine) -> None:
    with writing(engine) as session:
        rename_person(session, sign_in(session, _who(), SETTINGS), "Prof. Ruiz")
        assert sign_in(session, _who(), SETTINGS).name == "Prof. Ruiz"


def test_one_who_is_merged_brings_no_higher_role(engine: Engine) -> None:
    """The person they are merged into was a lead by name."""
    with writing(engine) as session:
        old = person(session, "Vic")
        assert is_lead(session, old)
        new = sign_in(session, _who("9", name="Vic", email="vic@other.example"), SETTINGS)
        merge(session, new, session.get_one(Reviewer, old))
        row = sign_in(session, _who("9", name="Vic", email="vic@other.example"), SETTINGS)
        assert row.id == new.id
        assert {role_of(session, old), role_of(session, new.id)} == {Role.VIEWER}


def test_people_are_listed_with_role_and_subject(engine: Engine) -> None:
    def listed(session: Session) -> list[tuple[str, Role, str]]:
        return [(one.name, one.role, one.signs_in_as) for one in people(session)]

    with writing(engine) as session:
        person(session, "Bo")
        sign_in(session, _who("1"), SETTINGS)
    with reading(engine) as session:
        assert listed(session) == [("Bo", Role.LEAD, ""), ("Ana Ruiz", Role.LEAD, "1")]
