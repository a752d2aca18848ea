"""Accept, reject, edit, retype, undo: what is stored, and the resulting status."""

import random

import pytest
from sqlalchemy import Engine, func, select
from sqlalchemy.orm import Session
from sqlmodel import col

from curation.anchors.changes import correct_anchor
from curation.review import actions
from curation.review.actions import ShownCard, shown
from curation.review.decisions import compute_standing
from curation.review.history import history
from curation.review.queue import status_counts
from curation.review.settling import contested
from curation.review.status import Standing
from db.engine import reading, writing
from db.errors import HedgerowError
from db.models import Anchor, Decision, Diagnostic, Status, Variant, Verdict
from tests.support.databases import Fill, both_databases
from tests.support.factories import add_anchor, add_family, add_variant, model, person


@pytest.fixture
def ada(engine: Engine, fill: Fill) -> int:

    def made(session: Session) -> int:
        add_family(session)
        return person(session)

    return fill(engine, made)


def get(engine: Engine, type_id: str = "verbal") -> Variant:
    with reading(engine) as session:
        query = select(Variant).where(col(Variant.type_id) == type_id).order_by(col(Variant.id))
        return session.execute(query).scalars().first() or pytest.fail("no such variant")


def decisions(engine: Engine) -> int:
    with reading(engine) as session:
        return session.execute(select(func.count()).select_from(Decision)).scalar_one()


def test_accepting_is_stored_with_what_was_shown(engine: Engine, ada: int) -> None:
    card = shown(get(engine))
    with writing(engine) as session:
        outcome = actions.accept(session, card, reviewer_id=ada, note="nice")
    assert outcome.recorded
    with reading(engine) as session:
        row = session.execute(select(Decision)).scalar_one()
        assert (row.verdict, row.note, row.variant_version) == (Verdict.ACCEPT, "nice", 1)
        assert row.action_id == card.action_id
    assert get(engine).status == Status.ACCEPTED
    assert get(engine).version == 2


@both_databases
def test_the_same_showing_decides_once(engine: Engine, ada: int) -> None:
    card = shown(get(engine))
    for expected in (True, False, False):
        with writing(engine) as session:
            assert actions.accept(session, card, reviewer_id=ada).recorded is expected
    with writing(engine) as session:
        late = actions.reject(session, card, reviewer_id=ada, reason="wrong_type")
    assert not late.recorded
    assert decisions(engine) == 1


@both_databases
def test_the_second_window_learns_of_the_first_and_both_are_kept(engine: Engine, ada: int) -> None:
    with writing(engine) as session:
        bert = person(session, "Bert")
    one, two = shown(get(engine)), shown(get(engine))
    with writing(engine) as session:
        assert actions.accept(session, one, reviewer_id=ada).overtaken == ()
    with writing(engine) as session:
        later = actions.reject(session, two, reviewer_id=bert, reason="wrong_scope")
    assert later.overtaken == ("Ada",)
    assert get(engine).status == Status.CONFLICT
    assert decisions(engine) == 2


@pytest.mark.parametrize(
    ("reason", "message"),
    [("no_such_reason", "Expected a"), ("other", "'other' needs a note that states the reason")],
)
def test_a_rejection_needs_a_known_reason(
    engine: Engine, ada: int, reason: str, message: str
) -> None:
    with pytest.raises(HedgerowError, match=message), writing(engine) as session:
        actions.reject(session, shown(get(engine)), reviewer_id=ada, reason=reason)
    assert decisions(engine) == 0


def test_an_edit_supersedes_the_original_and_accepts_the_child(engine: Engine, ada: int) -> None:
    with writing(engine) as session:
        outcome = actions.edit(
            session, shown(get(engine)), reviewer_id=ada, text="The bridge  isn't safe."
        )
    assert get(engine).status == Status.SUPERSEDED
    with reading(engine) as session:
        child = session.get_one(Variant, outcome.child_id)
        assert (child.status, child.text) == (Status.ACCEPTED, "The bridge isn't safe.")
        assert child.parent_id == get(engine).id
        assert session.get_one(Diagnostic, child.id).levenshtein == 3
        action_ids = session.execute(select(col(Decision.action_id)).distinct()).scalars().all()
        assert len(action_ids) == 1


def test_a_retyped_variant_keeps_its_text(engine: Engine, ada: int) -> None:
    with writing(engine) as session:
        outcome = actions.edit(
            session, shown(get(engine, "lexical")), reviewer_id=ada, type_id="affixal"
        )
    with reading(engine) as session:
        child = session.get_one(Variant, outcome.child_id)
        assert (child.type_id, child.text) == ("affixal", "The bridge is dangerous.")
        (row,) = history(session, child.parent_id or 0)
        assert (row.verdict, row.reason) == (Verdict.EDIT, "wrong_type")


def test_an_edit_into_a_known_sibling_takes_that_one(engine: Engine, ada: int) -> None:
    with writing(engine) as session:
        outcome = actions.edit(
            session,
            shown(get(engine)),
            reviewer_id=ada,
            text="The bridge is unsafe.",
            type_id="affixal",
        )
    assert outcome.child_id == get(engine, "affixal").id
    assert get(engine, "affixal").status == Status.ACCEPTED
    with writing(engine) as session:
        actions.undo(session, reviewer_id=ada)
    assert get(engine, "affixal").status == Status.PENDING
    assert get(engine).status == Status.PENDING


@pytest.mark.parametrize("text", ["The bridge is not safe.", "  ", "x" * 2001, "bad \x00 byte"])
def test_an_empty_edit_changes_nothing(engine: Engine, ada: int, text: str) -> None:
    with pytest.raises(HedgerowError), writing(engine) as session:
        actions.edit(session, shown(get(engine)), reviewer_id=ada, text=text)
    assert decisions(engine) == 0
    assert get(engine).status == Status.PENDING


@both_databases
def test_undo_reverses_an_edit_with_its_child(engine: Engine, ada: int) -> None:
    with writing(engine) as session:
        child_id = actions.edit(
            session, shown(get(engine)), reviewer_id=ada, text="The bridge isn't safe."
        ).child_id
    with writing(engine) as session:
        undone = actions.undo(session, reviewer_id=ada)
    assert undone is not None and undone.variant_id == get(engine).id
    assert undone.decisions == 2
    assert get(engine).status == Status.PENDING
    with reading(engine) as session:
        assert session.get_one(Variant, child_id).status == Status.SUPERSEDED


def test_the_same_edit_after_an_undo_finds_its_child_again(engine: Engine, ada: int) -> None:
    ids = []
    for _ in range(2):
        with writing(engine) as session:
            card = shown(session.get_one(Variant, get(engine).id))
            ids.append(
                actions.edit(session, card, reviewer_id=ada, text="The bridge isn't safe.").child_id
            )
        with writing(engine) as session:
            actions.undo(session, reviewer_id=ada)
    assert ids[0] == ids[1]


def test_undo_goes_back_to_the_first_action_and_then_says_so(engine: Engine, ada: int) -> None:
    types = ["verbal", "absolute", "affixal", "lexical"]
    for type_id in types:
        with writing(engine) as session:
            actions.accept(session, shown(get(engine, type_id)), reviewer_id=ada)
    for type_id in reversed(types):
        with writing(engine) as session:
            undone = actions.undo(session, reviewer_id=ada)
        assert undone is not None and undone.variant_id == get(engine, type_id).id
        assert get(engine, type_id).status == Status.PENDING
    with writing(engine) as session:
        assert actions.undo(session, reviewer_id=ada) is None
    assert decisions(engine) == 8


def test_undo_leaves_other_reviewers_alone(engine: Engine, ada: int) -> None:
    with writing(engine) as session:
        bert = person(session, "Bert")
        actions.accept(session, shown(session.get_one(Variant, 1)), reviewer_id=ada)
    with writing(engine) as session:
        assert actions.undo(session, reviewer_id=bert) is None


@both_databases
def test_a_family_is_rejected_and_restored_as_one(engine: Engine, ada: int) -> None:
    with writing(engine) as session:
        other = add_variant(session, add_anchor(session, "Trains are late."), text="No.")
        other_id = other.id
        outcome = actions.reject_family(
            session, shown(session.get_one(Variant, 1)), reviewer_id=ada
        )
    assert len(outcome.changes) == 7
    with reading(engine) as session:
        counts = status_counts(session)
        assert all(counts[t][Status.REJECTED] == 1 for t in counts)
        assert session.get_one(Variant, other_id).status == Status.PENDING
    with writing(engine) as session:
        undone = actions.undo(session, reviewer_id=ada)
    assert undone is not None and undone.decisions == 7
    with reading(engine) as session:
        assert all(status_counts(session)[t][Status.REJECTED] == 0 for t in counts)


def test_a_persons_verdict_outranks_the_models(engine: Engine, ada: int) -> None:
    with writing(engine) as session:
        llm = model(session)
        actions.accept(session, shown(session.get_one(Variant, 1)), reviewer_id=llm)
    assert get(engine).status == Status.ACCEPTED
    with writing(engine) as session:
        actions.reject(
            session, shown(session.get_one(Variant, 1)), reviewer_id=ada, reason="wrong_scope"
        )
    assert get(engine).status == Status.REJECTED
    with writing(engine) as session:
        actions.undo(session, reviewer_id=ada)
    assert get(engine).status == Status.ACCEPTED


def random_action(session: Session, dice: random.Random, reviewers: list[int]) -> None:
    """An action of a random reviewer on a random variant, sometimes on an outdated card."""
    variants = session.execute(select(Variant)).scalars().all()
    variant = dice.choice(variants)
    card = shown(variant)
    if dice.random() < 0.2:
        card = ShownCard(card.variant_id, dice.randint(1, variant.version), card.action_id)
    if dice.random() < 0.2 or contested(session, [variant]):
        card = card._replace(settles=True)
    who = dice.choice(reviewers)
    kinds = ["accept", "reject", "edit", "retype", "family", "undo", "cue", "correct"]
    kind = dice.choice(kinds)
    try:
        if kind == "accept":
            actions.accept(session, card, reviewer_id=who)
        elif kind == "reject":
            actions.reject(session, card, reviewer_id=who, reason="wrong_scope")
        elif kind == "edit":
            text = dice.choice(["One wording.", "Another wording.", variant.text + "!"])
            actions.edit(session, card, reviewer_id=who, text=text)
        elif kind == "retype":
            actions.edit(session, card, reviewer_id=who, type_id=dice.choice(["verbal", "word"]))
        elif kind == "family":
            actions.reject_family(session, card, reviewer_id=who)
        elif kind == "undo":
            actions.undo(session, reviewer_id=who)
        elif kind == "cue":
            actions.edit(session, card, reviewer_id=who, cue=dice.choice(["seems", "maybe"]))
        else:
            revision = session.get_one(Anchor, variant.anchor_id).revision
            wording = f"Wording {revision + 1}."
            correct_anchor(
                session, variant.anchor_id, wording, reviewer_id=who, expected_revision=revision
            )
    except HedgerowError:
        session.rollback()


@pytest.mark.parametrize("seed", range(5))
def test_the_kept_status_equals_the_recomputed_one(engine: Engine, seed: int) -> None:
    check_a_random_history(engine, seed)


@pytest.mark.databases("postgresql")
def test_the_kept_status_equals_the_recomputed_one_on_a_server(engine: Engine) -> None:
    check_a_random_history(engine, 12)


def check_a_random_history(engine: Engine, seed: int) -> None:
    """Actions of three people and a model, with corrections of the anchor."""
    dice = random.Random(seed)
    with writing(engine) as session:
        add_family(session)
        reviewers = [person(session, name) for name in ("Ada", "Bert", "Cleo")] + [model(session)]
    for _ in range(40):
        with writing(engine) as session:
            random_action(session, dice, reviewers)
        with reading(engine) as session:
            variants = session.execute(select(Variant)).scalars().all()
            kept = {v.id: Standing(v.status, v.second_look, v.model_only) for v in variants}
            assert kept == compute_standing(session, list(kept))


def test_a_replaced_wording_takes_no_verdict_and_names_its_replacement(
    engine: Engine, ada: int
) -> None:
    with writing(engine) as session:
        child_id = actions.edit(
            session, shown(get(engine)), reviewer_id=ada, text="The bridge isn't safe."
        ).child_id
        uid = session.get_one(Variant, child_id).uid
    before = decisions(engine)
    with pytest.raises(HedgerowError, match=uid), writing(engine) as session:
        actions.accept(session, shown(get(engine)), reviewer_id=ada)
    with pytest.raises(HedgerowError, match="An edit has replaced"), writing(engine) as session:
        actions.reject(session, shown(get(engine)), reviewer_id=ada, reason="wrong_scope")
    assert decisions(engine) == before
    assert get(engine).status == Status.SUPERSEDED


def test_a_verdict_on_a_card_that_was_edited_meanwhile_is_kept(engine: Engine, ada: int) -> None:
    early = shown(get(engine))
    with writing(engine) as session:
        bert = person(session, "Bert")
        actions.edit(session, shown(get(engine)), reviewer_id=ada, text="The bridge isn't safe.")
    with writing(engine) as session:
        assert actions.accept(session, early, reviewer_id=bert).recorded
    assert get(engine).status == Status.CONFLICT
