"""Correcting, retiring and restoring anchors: which texts are refused, and what is kept."""

import pytest
from sqlalchemy import Engine, func, select
from sqlalchemy.orm import Session
from sqlmodel import col

from curation.anchors.attributes import set_facts
from curation.anchors.changes import (
    SuspiciousText,
    correct_anchor,
    get_anchor,
    restore_anchor,
    restore_anchors,
    retire_anchor,
    retire_anchors,
)
from curation.anchors.current_revision import MAX_ANCHOR
from curation.anchors.lookup import anchor_history
from curation.diagnostics.cosines import save_cosines, variant_texts
from curation.encoders.registered import register_encoder
from curation.project.funnel import funnel
from curation.release.freezing import create_release
from curation.review import actions
from curation.review.actions import shown
from curation.review.bulk import find_matches, parse_rule
from curation.review.cards import card
from curation.review.queue import next_variant
from db.engine import reading, writing
from db.errors import HedgerowError
from db.models import (
    Anchor,
    Decision,
    Diagnostic,
    Status,
    Variant,
    VariantCosine,
)
from tests.curation.anchors.support.corrections import NEW, correct, standings, variant
from tests.support.databases import both_databases
from tests.support.factories import TEXTS, add_anchor, person


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("The bridge isn't safe.", "already negated"),
        ("The bridge is hardly safe.", "contains a near-negator"),
        ("Bridge.", "a single word"),
        ("Is the bridge safe?", "a question"),
        ("Cross the bridge.", "a command"),
        ("Die Brücke ist sicher.", "not look like English"),
        ("The bridge is safe. It is new.", "several sentences"),
    ],
)
def test_a_suspicious_wording_is_taken_only_on_insistence(
    engine: Engine, ada: int, text: str, message: str
) -> None:
    with pytest.raises(SuspiciousText, match=message), writing(engine) as session:
        correct(session, ada, text)
    with writing(engine) as session:
        assert session.get_one(Anchor, 1).revision == 1
        done = correct_anchor(session, 1, text, reviewer_id=ada, expected_revision=1, insist=True)
        assert done.revision == 2


def test_an_anchor_of_another_language_is_not_checked_for_english(engine: Engine, ada: int) -> None:
    with writing(engine) as session:
        set_facts(session, [1], language="de")
        assert correct(session, ada, "Die Brücke ist sicher.") == 4


@pytest.mark.parametrize("character", ["\u202e", "\u202d", "\u2066", "\u2069", "\x1b", "\x00"])
def test_direction_and_control_characters_are_always_refused(
    engine: Engine, ada: int, character: str
) -> None:
    text = f"The {character}new bridge is safe."
    with pytest.raises(HedgerowError, match="plain text"), writing(engine) as session:
        correct_anchor(session, 1, text, reviewer_id=ada, expected_revision=1, insist=True)


@both_databases
def test_several_anchors_are_retired_and_restored_together(engine: Engine, ada: int) -> None:
    with writing(engine) as session:
        add_anchor(session, "The road is safe.")
        retire_anchor(session, 2)
        assert retire_anchors(session, [2, 1]) == [1]
        assert session.get_one(Anchor, 1).retired_at is not None
        assert variant(session).retired
        assert restore_anchors(session, [1]) == [1]
        assert session.get_one(Anchor, 1).retired_at is None
        assert session.get_one(Anchor, 2).retired_at is not None
        assert not variant(session).retired


def test_variants_are_measured_against_the_new_wording_at_once(engine: Engine, ada: int) -> None:
    with writing(engine) as session:
        encoder = register_encoder(session, name="e", hash_="a" * 64)
        save_cosines(session, {1: 0.5, 2: 0.5}, encoder_id=encoder.id)
        before = session.get_one(Diagnostic, 1).levenshtein
        correct(session, ada)
        session.expire_all()
        assert session.get_one(Diagnostic, 1).levenshtein == before + len("old ")
        assert session.execute(select(func.count()).select_from(VariantCosine)).scalar() == 0
        assert card(session, 1).anchor == NEW
        assert variant_texts(session, [1]) == {1: (NEW, TEXTS["verbal"])}


def test_cosines_to_a_wording_that_was_corrected_meanwhile_are_left_out(
    engine: Engine, ada: int
) -> None:
    with reading(engine) as session:
        texts = variant_texts(session, [1, 2])
    with writing(engine) as session:
        other = add_anchor(session, "Trains are late.")
        session.get_one(Variant, 2).anchor_id = other.id
        texts[2] = ("Trains are late.", TEXTS["absolute"])
        encoder = register_encoder(session, name="e", hash_="a" * 64)
        correct(session, ada)
        save_cosines(session, {1: 0.5, 2: 0.6}, encoder_id=encoder.id, texts=texts)
        stored = session.execute(
            select(col(VariantCosine.variant_id), col(VariantCosine.cosine))
        ).all()
        assert stored == [(2, 0.6)]


@both_databases
def test_the_second_corrector_learns_of_the_first(engine: Engine, ada: int) -> None:
    with writing(engine) as session:
        correct(session, ada)
    with (
        pytest.raises(HedgerowError, match="corrected by Ada meanwhile"),
        writing(engine) as session,
    ):
        correct(session, person(session, "Bert"), "The bridge is quite safe.")
    with reading(engine) as session:
        assert [w.text for w in anchor_history(session, 1)] == ["The bridge is safe.", NEW]


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("The  bridge is safe. ", "found the current one"),
        (" ", "write one"),
        ("x" * (MAX_ANCHOR + 1), "shorten"),
        ("A bell \x07.", "control character"),
        ("Trains are late.", "already has this text"),
        ("Trains run.", "already has this text"),
    ],
)
def test_an_empty_correction_changes_nothing(engine: Engine, ada: int, text: str, why: str) -> None:
    with writing(engine) as session:
        other = add_anchor(session, "Trains run.")
        correct_anchor(session, other.id, "Trains are late.", reviewer_id=ada, expected_revision=1)
        before = standings(session)
    with pytest.raises(HedgerowError, match=why), writing(engine) as session:
        correct(session, ada, text)
    with reading(engine) as session:
        assert standings(session) == before
        assert session.get_one(Anchor, 1).revision == 1


def test_an_earlier_wording_can_be_taken_up_again(engine: Engine, ada: int) -> None:
    with writing(engine) as session:
        correct(session, ada)
        actions.accept(session, shown(variant(session)), reviewer_id=ada)
        assert correct(session, ada, "The bridge is safe.", seen=2) == 1
        assert standings(session)["verbal"] == (Status.PENDING, True)
        assert card(session, 1).anchor == "The bridge is safe."


def test_a_retired_anchor_is_out_of_use_until_it_is_restored(engine: Engine, ada: int) -> None:
    def used(session: Session) -> tuple[object, ...]:
        rule = parse_rule("levenshtein < 1000")
        state = funnel(session)
        found = next_variant(session, type_ids=list(TEXTS))
        return find_matches(session, rule).total, state.total.variants, state.total.anchors, found

    with writing(engine) as session:
        before = used(session)
        assert before[:3] == (3, 7, 1)
        assert [retire_anchor(session, 1), retire_anchor(session, 1)] == [True, False]
        assert used(session) == (0, 0, 0, None)
    with pytest.raises(HedgerowError, match="nothing to release"), writing(engine) as session:
        create_release(session)
    with writing(engine) as session:
        assert [restore_anchor(session, 1), restore_anchor(session, 1)] == [True, False]
        assert used(session)[:3] == before[:3]
        assert create_release(session).release.summary["variants"] == 3


@both_databases
def test_no_decision_is_lost_or_changed(engine: Engine, ada: int) -> None:
    def rows(session: Session) -> list[tuple[object, ...]]:
        columns = (Decision.id, Decision.variant_id, Decision.verdict, Decision.variant_version)
        return [tuple(r) for r in session.execute(select(*columns).order_by(col(Decision.id)))]

    with writing(engine) as session:
        before = rows(session)
        correct(session, ada)
        retire_anchor(session, 1)
        restore_anchor(session, 1)
        assert rows(session) == before


def test_an_unknown_uid_is_one_sentence(engine: Engine) -> None:
    with (
        pytest.raises(HedgerowError, match="There is no anchor 'nope'"),
        reading(engine) as session,
    ):
        get_anchor(session, "nope")
