"""Merging two people into one reviewer: their decisions count as one person's, and it can be
undone."""

import pytest
from sqlalchemy import Engine, select
from sqlalchemy.orm import Session
from sqlmodel import col

from curation.diagnostics.acceptance import Dimension, reject_reasons
from curation.diagnostics.distributions import data_version
from curation.release.freezing import create_release
from curation.review import actions
from curation.review.decisions import compute_standing
from curation.review.history import decided_by, history, last_actions
from curation.review.late_decisions import late_decisions
from curation.review.leases import Holder, on_other_screens, take
from curation.review.notes import add_note, notes
from curation.review.people.merging import merge, plan_merge, separate
from curation.review.people.reviewers import ensure_reviewer, find_person, people
from db.engine import reading, writing
from db.errors import HedgerowError
from db.models import Decision, ReleaseItem, Reviewer, Status, Variant
from tests.support.databases import Fill, both_databases, one_database
from tests.support.factories import add_family, model, person

pytestmark = both_databases


@pytest.fixture
def family(engine: Engine, fill: Fill) -> dict[str, int]:
    """Ids by type. Ada rejected the verbal variant and then 'ada l.' accepted it. Each decided on
    one more, and Bo agrees with both."""

    def made(session: Session) -> dict[str, int]:
        variants = add_family(session)
        ada, other, bo = (person(session, name) for name in ("Ada", "ada l.", "Bo"))
        _reject(session, variants["verbal"], ada)
        _accept(session, variants["verbal"], other)
        _accept(session, variants["word"], ada)
        _reject(session, variants["phrase"], other)
        _accept(session, variants["word"], bo)
        return {key: variant.id for key, variant in variants.items()}

    return fill(engine, made)


def _accept(session: Session, variant: Variant, who: int) -> None:
    actions.accept(session, actions.shown(variant), reviewer_id=who)


def _reject(session: Session, variant: Variant, who: int) -> None:
    actions.reject(session, actions.shown(variant), reviewer_id=who, reason="meaning_changed")


def _statuses(session: Session, ids: dict[str, int]) -> dict[str, Status]:
    found = {key: session.get_one(Variant, number).status for key, number in ids.items()}
    computed = compute_standing(session, list(ids.values()))
    assert found == {key: computed[number].status for key, number in ids.items()}
    return {key: found[key] for key in ("verbal", "word", "phrase")}


def _pair(session: Session) -> tuple[Reviewer, Reviewer]:
    return find_person(session, "ada l."), find_person(session, "Ada")


def test_the_later_of_two_verdicts_counts_after_a_merge(
    engine: Engine, family: dict[str, int]
) -> None:
    with reading(engine) as session:
        assert _statuses(session, family)["verbal"] is Status.CONFLICT
        plan = plan_merge(session, *_pair(session))
        assert plan == ("ada l.", "Ada", 1, {(Status.CONFLICT, Status.ACCEPTED): 1})
        assert _statuses(session, family)["verbal"] is Status.CONFLICT
        before = data_version(session)
    with writing(engine) as session:
        assert merge(session, *_pair(session)) == plan
    with reading(engine) as session:
        assert _statuses(session, family) == {
            "verbal": Status.ACCEPTED,
            "word": Status.ACCEPTED,
            "phrase": Status.REJECTED,
        }
        assert data_version(session) != before
        assert ensure_reviewer(session, "ADA L.").name == "Ada"


@one_database
def test_the_decisions_of_a_merged_person_belong_to_the_other(
    engine: Engine, family: dict[str, int]
) -> None:
    with writing(engine) as session:
        other, ada = _pair(session)
        add_note(session, family["word"], reviewer_id=other.id, text="Fine.")
        merge(session, other, ada)
        key = ada.id
        assert {past.reviewer for past in history(session, family["verbal"])} == {"Ada"}
        assert {past.reviewer_id for past in history(session, family["phrase"])} == {key}
        assert [note.reviewer for note in notes(session, family["word"])] == ["Ada"]
        assert len(last_actions(session, key, limit=9)) == 4
        assert decided_by(session, key, list(family.values())) == {
            family[type_id] for type_id in ("verbal", "word", "phrase")
        }


@one_database
def test_other_windows_say_who_the_merged_person_is_now(
    engine: Engine, family: dict[str, int]
) -> None:
    with writing(engine) as session:
        other, ada = _pair(session)
        take(session, [family["word"]], window="one", reviewer_id=other.id)
        merge(session, other, ada)
        assert on_other_screens(session, "another") == {family["word"]: Holder(ada.id, "Ada")}
        own = session.execute(
            select(col(Decision.action_id)).where(col(Decision.variant_id) == family["word"])
        ).scalars()
        variant = session.get_one(Variant, family["word"])
        late = actions.shown(variant)._replace(version=1)
        actions.reject(session, late, reviewer_id=other.id, reason="wrong_scope")
        assert [one.reviewer for one in late_decisions(session, list(own))][-1] == "Ada"


@one_database
def test_the_reason_of_the_later_rejection_counts(engine: Engine, family: dict[str, int]) -> None:
    with writing(engine) as session:
        other, ada = _pair(session)
        variant = session.get_one(Variant, family["phrase"])
        actions.reject(session, actions.shown(variant), reviewer_id=ada.id, reason="ungrammatical")
        reasons = [one.reason for one in reject_reasons(session, Dimension.TYPE)]
        assert sorted(reasons) == ["meaning_changed", "ungrammatical"]
        merge(session, other, ada)
        reasons = [one.reason for one in reject_reasons(session, Dimension.TYPE)]
        assert reasons == ["ungrammatical"]


def test_undo_continues_with_what_the_merged_person_did(
    engine: Engine, family: dict[str, int]
) -> None:
    with writing(engine) as session:
        other, ada = _pair(session)
        add_note(session, family["word"], reviewer_id=other.id, text="Fine.")
        merge(session, other, ada)
        done = [actions.undo(session, reviewer_id=ada.id) for _ in range(6)]
        assert [one and one.variant_id for one in done] == [
            family["word"],
            family["phrase"],
            family["word"],
            family["verbal"],
            family["verbal"],
            None,
        ]
        assert _statuses(session, family)["verbal"] is Status.PENDING


@one_database
def test_a_release_counts_a_merged_person_once(engine: Engine, family: dict[str, int]) -> None:
    with writing(engine) as session:
        merge(session, find_person(session, "Bo"), find_person(session, "Ada"))
        release, _ = create_release(session)
        items = session.execute(
            select(ReleaseItem).where(col(ReleaseItem.release_id) == release.id)
        ).scalars()
        (item,) = items
        assert item.provenance["persons"] == 1


def test_separating_restores_what_was_there(engine: Engine, family: dict[str, int]) -> None:
    with reading(engine) as session:
        before = _statuses(session, family)
    with writing(engine) as session:
        merge(session, *_pair(session))
        assert separate(session, find_person(session, "ada l.")) == "Ada"
        assert _statuses(session, family) == before
        assert [one.merged_into for one in people(session)] == ["", "", ""]
        with pytest.raises(HedgerowError, match="has not been merged"):
            separate(session, find_person(session, "ada l."))


@one_database
def test_those_merged_before_follow(engine: Engine, family: dict[str, int]) -> None:
    """There are no chains: one step leads to the final person."""
    with writing(engine) as session:
        other, ada = _pair(session)
        merge(session, other, ada)
        merge(session, ada, find_person(session, "Bo"))
        assert [one.merged_into for one in people(session)] == ["Bo", "Bo", ""]
        assert _statuses(session, family)["verbal"] is Status.ACCEPTED
        with pytest.raises(HedgerowError, match="has been merged into another person"):
            merge(session, find_person(session, "ada l."), find_person(session, "Ada"))


@one_database
def test_a_model_or_oneself_is_not_merged(engine: Engine, family: dict[str, int]) -> None:
    with writing(engine) as session:
        ada = find_person(session, "Ada")
        with pytest.raises(HedgerowError, match="already one reviewer"):
            merge(session, ada, find_person(session, "ADA"))
        llm = session.get_one(Reviewer, model(session, "llm"))
        with pytest.raises(HedgerowError, match="only people can be merged"):
            merge(session, ada, llm)
