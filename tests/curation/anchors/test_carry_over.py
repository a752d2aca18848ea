"""Applying a correction to the variants: proposals, stored edits, and a single undo."""

import pytest
from sqlalchemy import Engine, select
from sqlalchemy.orm import Session
from sqlmodel import col

from curation.anchors.carry_over import carry_over, proposals
from curation.anchors.changes import correct_anchor
from curation.review import actions
from curation.review.actions import shown
from curation.review.undo import undo
from db.engine import reading, writing
from db.errors import HedgerowError
from db.models import Diagnostic, Status, Variant
from tests.support.databases import both_databases
from tests.support.factories import add_family, person

NEW = "The footbridge is safe."


@pytest.fixture
def ada(engine: Engine) -> int:
    """An anchor that Ada has corrected. She had accepted two variants and rejected one."""
    with writing(engine) as session:
        who, family = person(session), add_family(session)
        for type_id in ("verbal", "phrase"):
            actions.accept(session, shown(family[type_id]), reviewer_id=who)
        actions.reject(session, shown(family["lexical"]), reviewer_id=who, reason="wrong_scope")
        correct_anchor(session, 1, NEW, reviewer_id=who, expected_revision=1)
        return who


def new_texts(session: Session) -> dict[str, tuple[str, Status]]:
    return {found.type_id: (found.new_text, found.was) for found in proposals(session, 1)}


def test_new_texts_are_proposed_for_what_was_not_rejected(engine: Engine, ada: int) -> None:
    with reading(engine) as session:
        assert new_texts(session) == {
            "verbal": ("The footbridge is not safe.", Status.ACCEPTED),
            "absolute": ("No part of the footbridge is safe.", Status.PENDING),
            "affixal": ("The footbridge is unsafe.", Status.PENDING),
            "word": ("The footbridge is probably safe.", Status.PENDING),
            "phrase": ("I'm not entirely sure, but the footbridge seems safe.", Status.ACCEPTED),
            "negated_antonym": ("The footbridge is not dangerous.", Status.PENDING),
        }


def chosen(session: Session, *type_ids: str) -> dict[int, str]:
    return {p.variant_id: p.new_text for p in proposals(session, 1) if p.type_id in type_ids}


def states(session: Session) -> dict[str, Status]:
    rows = session.execute(select(Variant)).scalars()
    return {variant.text: variant.status for variant in rows}


def test_a_correction_of_variants_is_an_edit_and_has_one_undo(engine: Engine, ada: int) -> None:
    with writing(engine) as session:
        texts = chosen(session, "verbal", "phrase")
        done = carry_over(session, 1, texts, reviewer_id=ada)
        assert len(done.children) == 2
    with reading(engine) as session:
        after = states(session)
        for text in texts.values():
            assert after[text] is Status.ACCEPTED
        assert after["The bridge is not safe."] is Status.SUPERSEDED
        assert after["The bridge is unsafe."] is Status.PENDING
        child = session.get_one(Variant, done.children[1])
        assert (child.cue, child.anchor_revision) == ("not entirely sure", 2)
        measured = session.get_one(Diagnostic, child.id)
        assert measured.flags == 0
        assert not {"verbal", "phrase"} & set(new_texts(session))
    with writing(engine) as session:
        undone = undo(session, reviewer_id=ada)
        assert undone is not None and undone.variants == 2
    with reading(engine) as session:
        after = states(session)
        assert after["The bridge is not safe."] is Status.PENDING
        assert {after[text] for text in texts.values()} == {Status.SUPERSEDED}
        assert set(new_texts(session)) >= {"verbal", "phrase"}


@both_databases
def test_a_variant_decided_meanwhile_is_not_corrected(engine: Engine, ada: int) -> None:
    with writing(engine) as session:
        texts = chosen(session, "verbal", "word")
        query = select(Variant).where(col(Variant.type_id) == "verbal")
        variant = session.execute(query).scalar_one()
        actions.accept(session, shown(variant), reviewer_id=person(session, "Bo"))
    with pytest.raises(HedgerowError, match="check the variants again"), writing(engine) as session:
        carry_over(session, 1, texts, reviewer_id=ada)
    with reading(engine) as session:
        assert "The footbridge is probably safe." not in states(session)


def test_without_a_choice_nothing_is_stored(engine: Engine, ada: int) -> None:
    with writing(engine) as session:
        assert carry_over(session, 1, {}, reviewer_id=ada).action_id is None
