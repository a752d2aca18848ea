"""People: their names, renaming, adding and merging them, and signing in."""

from collections.abc import Callable

import pytest
from sqlalchemy import Engine, text
from sqlalchemy.exc import IntegrityError
from sqlalchemy.orm import Session

from curation.corpora.corpus import STARTER
from curation.decisions import people as changes
from curation.decisions.history import decided_by, history, last_actions
from curation.decisions.leases import Holder, Screen, on_other_screens
from curation.decisions.notes import add_note, notes
from curation.decisions.reviewers import (
    LABELS,
    MAX_NAME,
    ensure_reviewer,
    find_person,
    get_reviewer,
    people,
    rename_person,
    reviewer_name,
    reviewer_names,
)
from curation.decisions.roles import role_of
from curation.decisions.signing_in import Claims, claims_of, role_by_settings, sign_in
from curation.diagnostics.acceptance import Dimension, reject_reasons
from curation.diagnostics.distributions import data_version
from curation.diagnostics.opinions import ensure_judge
from curation.review.undo import late_decisions
from db.engine import writing
from db.models import Decision, ReleaseItem, Reviewer, ReviewerKind, Status, TeamRole
from db.settings import Settings
from tests.curation.review.desk import PHRASE, VERBAL, WORD, Desk, R, refused
from tests.support.databases import both_databases
from tests.support.factories import add_family, engine_of, freeze, model, person

# -- names -------------------------------------------------------------------------------------

SPELLINGS = [
    "jürgen weiß",
    "JÜRGEN WEISS",
    "  Jürgen \t weiß ",
    "Ju\u0308rgen Weiß",
    "Jürgen\u00a0Weiß",
    "Jür\u00adgen Weiß",
]


@both_databases
def test_all_spellings_of_a_name_are_one_reviewer(engine: Engine) -> None:
    with writing(engine) as session:
        first = person(session, "Jürgen Weiß")
        for spelling in SPELLINGS:
            found = ensure_reviewer(session, spelling)
            assert (found.id, found.name) == (first, "Jürgen Weiß")
        assert ensure_reviewer(session, "Jurgen Weiss").id != first
        assert len(people(session)) == 2


@both_databases
def test_the_database_refuses_a_second_spelling(engine: Engine) -> None:
    """Two processes that add the same person at once then find the same row."""
    ada = Desk(engine).who("Ada")
    with Session(engine.execution_options(writes=True)) as session:
        session.add(Reviewer(name="ADA", key="ada", kind=ReviewerKind.PERSON))
        with pytest.raises(IntegrityError):
            session.flush()
    assert [one.id for one in Desk(engine).read(people)] == [ada]


def test_two_spellings_of_an_older_project_stay_two_reviewers(engine: Engine) -> None:
    columns, values = "name, kind, counts, created_at", "'Ada', 'person', true, '2026-01-01'"
    with writing(engine) as session:
        first = person(session, "ada")
        session.execute(text(f"INSERT INTO reviewer ({columns}) VALUES ({values})"))
    with writing(engine) as session:
        assert person(session, "Ada") != first == person(session, "ada") == person(session, "ADA")


@pytest.mark.parametrize(
    "name", [STARTER.reviewer, "Starter-LLM", LABELS, "Data  Set Labels", "judge: x", "Judge:x"]
)
def test_reserved_names_are_refused(engine: Engine, name: str) -> None:
    with writing(engine) as session:
        with refused("reserved"):
            ensure_reviewer(session, name)
        ada = find_person(session, ensure_reviewer(session, "Ada").name)
        with refused("reserved"):
            rename_person(session, ada.id, name)
        assert [one.name for one in people(session)] == ["Ada"]


def test_models_and_people_do_not_share_a_name(engine: Engine) -> None:
    with writing(engine) as session:
        model(session, "llm")
        judge = ensure_judge(session, "fake", 1)
        assert ensure_judge(session, "fake", 1).id == judge.id
        with refused("model"):
            ensure_reviewer(session, "LLM")
        with refused("'llm'"):
            find_person(session, "llm")
        person(session, "Ada")  # in a project from before names were reserved
        with refused("reviewers rename 'Ada'"):
            model(session, "ada")


@both_databases
def test_a_rename_applies_to_earlier_actions(engine: Engine) -> None:
    with writing(engine) as session:
        verbal, ada = add_family(session)["verbal"], ensure_reviewer(session, "ada l.")
        add_note(session, verbal.id, reviewer_id=ada.id, text="Too long.")
        rename_person(session, ada.id, "Ada L.")  # case alone
        assert rename_person(session, ada.id, " Ada  Lovelace ") == ("Ada L.", "Ada Lovelace")
        assert [note.reviewer for note in notes(session, verbal.id)] == ["Ada Lovelace"]
        assert reviewer_name(session, ada.id) == reviewer_names(session)[ada.id] == "Ada Lovelace"
        assert get_reviewer(session, "ADA LOVELACE") is ada
        assert get_reviewer(session, "ada l.") is None
        person(session, "Bo")
        for name, fact in (("bo", "'Bo'"), ("x" * (MAX_NAME + 1), str(MAX_NAME))):
            with refused(fact):
                rename_person(session, ada.id, name)


def test_a_person_is_added_once_and_the_first_as_a_lead(engine: Engine) -> None:
    with refused("lead"), writing(engine) as session:
        changes.add(session, "Cy", TeamRole.REVIEWER)
    with writing(engine) as session:
        assert people(session) == []
        assert changes.add(session, " Ada ", TeamRole.LEAD) == "Ada"
        assert changes.add(session, "Cy", TeamRole.VIEWER) == "Cy"
        found = [(one.name, one.role) for one in people(session)]
        assert found == [("Ada", TeamRole.LEAD), ("Cy", TeamRole.VIEWER)]
        with refused("'ada'"):
            changes.add(session, "ada", TeamRole.VIEWER)


# -- merging -----------------------------------------------------------------------------------

OTHER = "ada l."
DECIDED = (VERBAL, WORD, PHRASE)
SEPARATE = [Status.CONFLICT, Status.ACCEPTED, Status.REJECTED]


@pytest.fixture
def spelt(desk: Desk) -> Desk:
    """Ada rejected the verbal variant and then 'ada l.' accepted it. Each decided on one more, and
    Bo agrees with both."""
    desk.people("Ada", OTHER, "Bo")
    desk.decide("Ada", VERBAL, R, reason="meaning_changed")
    desk.decide(OTHER, VERBAL)
    desk.decide("Ada", WORD)
    desk.decide(OTHER, PHRASE, R, reason="meaning_changed")
    desk.decide("Bo", WORD)
    return desk


def statuses(desk: Desk) -> list[Status]:
    found = desk.standings()
    return [found[key].status for key in DECIDED]


def merged(desk: Desk) -> list[str]:
    return [one.merged_into for one in desk.read(people)]


@both_databases
def test_after_a_merge_the_later_verdict_counts_until_they_are_separated(spelt: Desk) -> None:
    other, ada = spelt.people(OTHER, "Ada")
    plan = spelt.read(changes.plan_merge, person=other, into=ada)
    assert plan == (OTHER, "Ada", 1, {(Status.CONFLICT, Status.ACCEPTED): 1})
    before = spelt.read(data_version)
    assert (statuses(spelt), merged(spelt)) == (SEPARATE, ["", "", ""])
    assert changes.merge(spelt.engine, person=other, into=ada) == plan
    assert statuses(spelt) == [Status.ACCEPTED, Status.ACCEPTED, Status.REJECTED]
    assert spelt.read(data_version) != before
    assert spelt.write(ensure_reviewer, "ADA L.").name == "Ada"
    assert changes.separate(spelt.engine, other) == (OTHER, "Ada")
    assert (statuses(spelt), merged(spelt)) == (SEPARATE, ["", "", ""])
    with refused():
        spelt.separate(OTHER)


def test_what_a_merged_person_did_belongs_to_the_other(spelt: Desk) -> None:
    other, ada = spelt.people(OTHER, "Ada")
    spelt.write(add_note, WORD, reviewer_id=other, text="Fine.")
    spelt.write(Screen(other, "one").put, [WORD])
    spelt.merge(OTHER, into="Ada")
    assert {past.reviewer for past in spelt.read(history, VERBAL)} == {"Ada"}
    assert {past.reviewer_id for past in spelt.read(history, PHRASE)} == {ada}
    assert [note.reviewer for note in spelt.read(notes, WORD)] == ["Ada"]
    assert len(spelt.read(last_actions, ada, limit=9)) == 4
    assert spelt.read(decided_by, ada, range(1, 8)) == set(DECIDED)
    assert spelt.read(on_other_screens, "another") == {WORD: Holder(ada, "Ada")}
    own = [row.action_id for row in spelt.rows(Decision) if row.variant_id == WORD]
    spelt.decide(other, spelt.card(WORD, version=1), R)
    assert [one.reviewer for one in spelt.read(late_decisions, own)][-1] == "Ada"


@both_databases
def test_the_reason_of_the_later_rejection_counts(spelt: Desk) -> None:
    def reasons() -> list[str]:
        return sorted(one.reason for one in spelt.read(reject_reasons, Dimension.TYPE))

    spelt.decide("Ada", PHRASE, R, reason="ungrammatical")
    assert reasons() == ["meaning_changed", "ungrammatical"]
    spelt.merge(OTHER, into="Ada")
    assert reasons() == ["ungrammatical"]


@pytest.mark.slow
@both_databases
def test_undo_continues_with_what_the_merged_person_did(spelt: Desk) -> None:
    spelt.write(add_note, WORD, reviewer_id=spelt.who(OTHER), text="Fine.")
    spelt.merge(OTHER, into="Ada")
    undone = [spelt.undone().variant_id for _ in range(5)]
    assert undone == [WORD, PHRASE, WORD, VERBAL, VERBAL]
    assert spelt.undo() is None
    assert spelt.status(VERBAL) is Status.PENDING


def test_a_release_counts_a_merged_person_once(spelt: Desk) -> None:
    spelt.merge("Bo", into="Ada")
    spelt.write(freeze)
    (item,) = spelt.rows(ReleaseItem)
    assert item.provenance["persons"] == 1


def test_those_merged_before_follow_and_other_merges_are_refused(spelt: Desk) -> None:
    """There are no chains: one step leads to the final person."""
    spelt.merge(OTHER, into="Ada")
    spelt.merge("Ada", into="Bo")
    assert merged(spelt) == ["Bo", "Bo", ""]
    assert spelt.status(VERBAL) is Status.ACCEPTED
    with refused("has been merged"):
        spelt.merge(OTHER, into="Ada")
    with refused("already one"):
        spelt.merge("Bo", into="Bo")
    with refused("only people"):
        spelt.merge("Bo", into=spelt.write(model, "llm"))


# -- signing in --------------------------------------------------------------------------------

ISSUER = "https://id.example"
SETTINGS = Settings(
    sign_in_leads="ana@uni.example, sub-of-ben", sign_in_reviewers="*@uni.example,*@lab.example"
)
ANYBODY = Settings(sign_in_leads="ana@uni.example", sign_in_reviewers="*")


def _who(
    subject: str = "1", name: str = "Ana Ruiz", email: str = "ana@uni.example", issuer: str = ISSUER
) -> Claims:
    return Claims(issuer, subject, name, email)


@pytest.mark.parametrize(
    ("settings", "who", "role"),
    [
        (SETTINGS, _who(), TeamRole.LEAD),
        (SETTINGS, _who(email="ANA@Uni.Example"), TeamRole.LEAD),
        (SETTINGS, _who("sub-of-ben", email=""), TeamRole.LEAD),
        (SETTINGS, _who(email="vic@uni.example"), TeamRole.REVIEWER),
        (SETTINGS, _who(email="vic@lab.example"), TeamRole.REVIEWER),
        (SETTINGS, _who(email="vic@other.example"), TeamRole.VIEWER),
        (SETTINGS, _who(email="vic@evil.example@uni.example"), TeamRole.VIEWER),
        (SETTINGS, _who(email="vic@uni.example.evil.example"), TeamRole.VIEWER),
        (SETTINGS, _who(email="vic@uniXexample"), TeamRole.VIEWER),
        (SETTINGS, _who(email=""), TeamRole.VIEWER),
        (ANYBODY, _who(email=""), TeamRole.REVIEWER),
        (Settings(), _who(), TeamRole.VIEWER),
    ],
)
def test_the_settings_say_who_is_what(settings: Settings, who: Claims, role: TeamRole) -> None:
    assert role_by_settings(settings, who) is role


def test_an_address_that_is_not_verified_is_nobodys() -> None:
    claims = {"iss": ISSUER, "sub": "1", "email": "ana@uni.example"}
    for verified in (False, None, "true"):
        assert claims_of(claims | {"email_verified": verified}).email == ""
    assert claims_of(claims | {"email_verified": True}).email == "ana@uni.example"


@pytest.mark.parametrize("claims", [{}, {"iss": ISSUER}, {"sub": "1", "email": "a@b"}])
def test_somebody_the_provider_does_not_name_is_refused(claims: dict[str, object]) -> None:
    with refused("iss and sub"):
        claims_of(claims)


@pytest.fixture
def comes(engine: Engine) -> Callable[..., Reviewer]:
    """Signs a person in with these claims."""
    return lambda *claims, **more: Desk(engine).write(sign_in, _who(*claims, **more), SETTINGS)


@both_databases
def test_one_who_comes_again_is_the_same_person(
    engine: Engine, comes: Callable[..., Reviewer]
) -> None:
    first = comes().id
    again = comes(name="Ana Ruiz-Vega", email="new@other.example")
    # The settings don't name the new address.
    assert (again.id, again.name, again.role) == (first, "Ana Ruiz", TeamRole.VIEWER)
    with writing(engine) as session:
        rename_person(session, first, "Prof. Ruiz")
    assert comes().name == "Prof. Ruiz"


def test_two_people_of_one_name_stay_two(engine: Engine, comes: Callable[..., Reviewer]) -> None:
    Desk(engine).who("Ana Ruiz")
    found = [
        comes().name,
        comes("2").name,
        comes("1", issuer="https://other.example").name,
        comes("3", email="").name,
    ]
    assert found[0] == "Ana Ruiz (ana@uni.example)"
    assert len({"Ana Ruiz", *found}) == 5


@pytest.mark.parametrize(
    "name", ["", "\x00", "data set labels", "judge: x", "a" * 300, "[x](http://evil)"]
)
def test_whatever_the_provider_calls_them_they_get_a_usable_name(
    comes: Callable[..., Reviewer], name: str
) -> None:
    found = [comes(str(number), name=name, email="") for number in range(3)]
    assert len({one.id for one in found}) == 3
    assert all(0 < len(one.name) <= MAX_NAME for one in found)


def test_one_who_is_merged_brings_no_higher_role(
    engine: Engine, comes: Callable[..., Reviewer]
) -> None:
    """The person they are merged into was a lead by name."""
    vic = {"name": "Vic", "email": "vic@other.example"}
    with writing(engine) as session:
        old = person(session, "Vic")
        assert role_of(session, old) is TeamRole.LEAD
        new = sign_in(session, _who("9", **vic), SETTINGS)
        changes.merge(engine_of(session), person=new.id, into=old)
    assert comes("9", **vic).id == new.id
    assert [Desk(engine).read(role_of, key) for key in (old, new.id)] == [TeamRole.VIEWER] * 2


def test_people_are_listed_with_role_and_subject(
    engine: Engine, comes: Callable[..., Reviewer]
) -> None:
    Desk(engine).who("Bo")
    comes("1")
    listed = [(one.name, one.role, one.signs_in_as) for one in Desk(engine).read(people)]
    assert listed == [("Bo", TeamRole.LEAD, ""), ("Ana Ruiz", TeamRole.LEAD, "1")]
