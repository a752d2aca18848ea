"""A user's own variants: accepted immediately, marked as a person's, and never duplicated."""

import pytest
from sqlalchemy import Engine, func, select
from sqlalchemy.orm import Session
from sqlmodel import col

from curation.anchors.changes import correct_anchor, retire_anchor
from curation.release.freezing import create_release
from curation.review import actions
from curation.review.actions import shown
from curation.variants.cue_choice import CueWanted
from curation.variants.own import AlreadyThere, write_variant
from db.engine import reading, writing
from db.errors import HedgerowError
from db.models import Decision, Diagnostic, ReleaseItem, Status, Variant
from tests.support.databases import both_databases
from tests.support.factories import TEXTS, add_anchor, add_family, person

OWN = "The bridge isn't safe."


@pytest.fixture
def ada(engine: Engine) -> int:
    with writing(engine) as session:
        add_family(session)
        return person(session)


def write(session: Session, ada: int, text: str = OWN, **more: str) -> Variant:
    more = {"type_id": "verbal"} | more
    return write_variant(session, anchor_id=1, reviewer_id=ada, text=text, **more).variant  # type: ignore[arg-type]


def count(session: Session) -> int:
    return session.execute(select(func.count()).select_from(Variant)).scalar_one()


def test_it_is_accepted_measured_and_released_as_a_persons(engine: Engine, ada: int) -> None:
    with writing(engine) as session:
        own = write(session, ada, " The bridge  isn't safe. ")
        assert (own.status, own.text, own.author_id) == (Status.ACCEPTED, OWN, ada)
        assert session.get_one(Diagnostic, own.id).levenshtein == 3
        summary = create_release(session).release.summary
    with reading(engine) as session:
        (item,) = session.execute(select(ReleaseItem)).scalars()
        origin = item.provenance
        assert (origin["provider"], origin["model"], origin["author"]) == ("person", "", "Ada")
        assert (origin["parent_uid"], origin["decided_by"]) == (None, "person")
    # It says nothing about the quality of the models, and nobody edited it.
    assert summary["review"]["verbal"]["as_written"] == 0
    assert summary["edited_by"] == {}


def test_undo_leaves_it_there_to_be_decided(engine: Engine, ada: int) -> None:
    with writing(engine) as session:
        own = write(session, ada)
        undone = actions.undo(session, reviewer_id=ada)
        assert undone is not None and undone.variant_id == own.id
        assert own.status == Status.PENDING


@both_databases
def test_the_same_form_sent_twice_writes_once(engine: Engine, ada: int) -> None:
    with writing(engine) as session:
        found = [
            write_variant(
                session, anchor_id=1, type_id="verbal", text=text, reviewer_id=ada, action_id="one"
            )
            for text in (OWN, OWN, "Something else.")
        ]
        assert [written.recorded for written in found] == [True, False, False]
        assert len({written.variant.id for written in found}) == 1


@pytest.mark.parametrize(
    ("verdict", "message"),
    [
        ("", "it is pending"),
        ("accept", "it is accepted"),
        ("reject", "was rejected"),
        ("edit", "an edit has replaced it"),
    ],
)
def test_a_text_that_is_there_is_named_with_its_status(
    engine: Engine, ada: int, verdict: str, message: str
) -> None:
    with writing(engine) as session:
        known = session.get_one(Variant, 1)
        if verdict == "accept":
            actions.accept(session, shown(known), reviewer_id=ada)
        elif verdict == "reject":
            actions.reject(session, shown(known), reviewer_id=ada, reason="wrong_scope")
        elif verdict == "edit":
            actions.edit(session, shown(known), reviewer_id=ada, text=OWN)
        before, decided = count(session), session.execute(select(col(Decision.id))).all()
    with pytest.raises(HedgerowError, match=message), writing(engine) as session:
        write(session, ada, TEXTS["verbal"])
    with reading(engine) as session:
        assert count(session) == before
        assert session.execute(select(col(Decision.id))).all() == decided


@pytest.mark.parametrize(
    ("text", "type_id", "why"),
    [
        ("", "verbal", "Expected a text"),
        ("x" * 2001, "verbal", "Expected a text"),
        ("a \x00 byte", "verbal", "control character"),
        ("The bridge is safe.", "verbal", "the same as the anchor"),
        (OWN, "no_such_type", "Expected a variant type"),
        ("The bridge is safe, one hears.", "word", "no known cue"),
    ],
)
def test_an_output_that_is_not_a_variant_is_refused(
    engine: Engine, ada: int, text: str, type_id: str, why: str
) -> None:
    with reading(engine) as session:
        before = count(session)
    with pytest.raises(HedgerowError, match=why), writing(engine) as session:
        write(session, ada, text, type_id=type_id)
    with reading(engine) as session:
        assert count(session) == before


def test_a_cue_is_the_one_given_or_a_known_one_in_the_text(engine: Engine, ada: int) -> None:
    with writing(engine) as session:
        given = write(session, ada, "The bridge is safe, one hears.", type_id="word", cue="hears ")
        found = write(session, ada, "The bridge is possibly safe.", type_id="word")
        needless = write(session, ada, type_id="verbal", cue="hears")
        assert [v.cue for v in (given, found, needless)] == ["hears", "possibly", None]


def test_a_retired_anchor_takes_no_variant(engine: Engine, ada: int) -> None:
    with writing(engine) as session:
        retire_anchor(session, 1)
    with pytest.raises(HedgerowError, match="restore it"), writing(engine) as session:
        write(session, ada)


def test_it_is_made_for_the_current_wording(engine: Engine, ada: int) -> None:
    with writing(engine) as session:
        other = add_anchor(session, "Trains are late.")
        correct_anchor(
            session, other.id, "The trains are late.", reviewer_id=ada, expected_revision=1
        )
        own = write_variant(
            session,
            anchor_id=other.id,
            type_id="verbal",
            text="The trains are not late.",
            reviewer_id=ada,
        ).variant
        assert (own.anchor_revision, own.status) == (2, Status.ACCEPTED)
        measured = select(col(Diagnostic.levenshtein)).where(col(Diagnostic.variant_id) == own.id)
        assert session.execute(measured).scalar() == 4


def test_your_own_hedge_gets_its_type_by_the_number_of_words_in_its_cue(
    engine: Engine, ada: int
) -> None:
    with writing(engine) as session:
        own = write_variant(
            session,
            anchor_id=1,
            type_id="word",
            text="I wonder if the bridge is safe.",
            reviewer_id=ada,
        )
        assert (own.variant.type_id, own.variant.cue) == ("phrase", "wonder if")
        assert own.remark == "Saved as 'Hedge: phrase', because the cue 'wonder if' has 2 words."


def test_your_own_hedge_with_several_cues_asks_which_one(engine: Engine, ada: int) -> None:
    text = "The bridge might possibly be safe."
    with pytest.raises(CueWanted, match="'might', 'possibly'"), writing(engine) as session:
        write(session, ada, text, type_id="word")
    with writing(engine) as session:
        assert write(session, ada, text, type_id="word", cue="possibly").cue == "possibly"


def test_a_text_that_is_there_is_named_with_its_card(engine: Engine, ada: int) -> None:
    with pytest.raises(AlreadyThere) as there, writing(engine) as session:
        write(session, ada, TEXTS["verbal"])
    assert there.value.variant_id == 1
