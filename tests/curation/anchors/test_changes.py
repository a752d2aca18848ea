"""Correcting, retiring and restoring anchors: what is pending again, what counts, what stays."""

from concurrent.futures import ThreadPoolExecutor

import pytest
from sqlalchemy import Engine, func, select
from sqlalchemy.orm import Session
from sqlmodel import col

from curation.anchors.attributes import set_facts
from curation.anchors.changes import (
    SuspiciousText,
    correct_anchor,
    count_second_looks,
    get_anchor,
    restore_anchor,
    restore_anchors,
    retire_anchor,
    retire_anchors,
)
from curation.anchors.current_revision import MAX_ANCHOR
from curation.anchors.lookup import anchor_history
from curation.diagnostics.cosines import save_cosines, variant_texts
from curation.diagnostics.measuring import measure_variants
from curation.encoders.registered import register_encoder
from curation.project.funnel import funnel
from curation.release.freezing import create_release
from curation.review import actions
from curation.review.actions import ShownCard, shown
from curation.review.bulk import apply_rule, find_matches, parse_rule
from curation.review.cards import card
from curation.review.decisions import compute_standing
from curation.review.history import history
from curation.review.queue import next_variant
from curation.review.status import Standing
from db.engine import reading, writing
from db.errors import HedgerowError
from db.models import (
    Anchor,
    Decision,
    Diagnostic,
    ReleaseItem,
    Status,
    Variant,
    VariantCosine,
    Verdict,
)
from tests.support.databases import Fill, both_databases
from tests.support.factories import TEXTS, add_anchor, add_family, person

NEW = "The old bridge is safe."


@pytest.fixture
def ada(engine: Engine, fill: Fill) -> int:
    """A family. Ada has accepted the first three variants and rejected the fourth."""

    def made(session: Session) -> int:
        who, family = person(session), add_family(session)
        measure_variants(session, [v.id for v in family.values()])
        for type_id in ("verbal", "absolute", "affixal"):
            actions.accept(session, shown(family[type_id]), reviewer_id=who)
        actions.reject(session, shown(family["lexical"]), reviewer_id=who, reason="wrong_scope")
        return who

    return fill(engine, made)


def correct(session: Session, who: int, text: str = NEW, *, seen: int = 1) -> int:
    """The number of second looks that the correction causes."""
    return correct_anchor(session, 1, text, reviewer_id=who, expected_revision=seen).second_looks


def standings(session: Session) -> dict[str, tuple[Status, bool]]:
    found = session.execute(select(Variant).order_by(col(Variant.id))).scalars()
    return {v.type_id: (v.status, v.second_look) for v in found}


def variant(session: Session, type_id: str = "verbal") -> Variant:
    query = select(Variant).where(col(Variant.type_id) == type_id).order_by(col(Variant.id))
    return session.execute(query).scalars().first() or pytest.fail("no such variant")


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


@both_databases
def test_decided_variants_of_a_corrected_anchor_come_back(engine: Engine, ada: int) -> None:
    with writing(engine) as session:
        assert count_second_looks(session, 1) == 4
        assert correct(session, ada) == 4
    with reading(engine) as session:
        decided = {"verbal", "absolute", "affixal", "lexical"}
        assert standings(session) == {t: (Status.PENDING, t in decided) for t in TEXTS}
        assert [past.verdict for past in history(session, variant(session).id)] == ["accept"]
        assert next_variant(session, type_ids=["verbal"]) is not None
        assert [w.author for w in anchor_history(session, 1)] == [None, "Ada"]
        assert [w.text for w in anchor_history(session, 1)] == ["The bridge is safe.", NEW]
    with pytest.raises(HedgerowError, match="nothing to release"), writing(engine) as session:
        create_release(session)


def test_variants_after_a_second_look_are_released_with_the_new_text(
    engine: Engine, ada: int
) -> None:
    with writing(engine) as session:
        bert = person(session, "Bert")
        actions.accept(session, shown(variant(session)), reviewer_id=bert)
        correct(session, ada)
        actions.accept(session, shown(variant(session)), reviewer_id=bert)
        create_release(session)
    with reading(engine) as session:
        (item,) = session.execute(select(ReleaseItem)).scalars()
        assert (item.anchor, item.text) == (NEW, TEXTS["verbal"])
        # Ada's verdict was on the old text.
        assert item.provenance["persons"] == 1
        assert standings(session)["verbal"] == (Status.ACCEPTED, False)


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


def test_a_card_shown_before_the_correction_decides_nothing(engine: Engine, ada: int) -> None:
    with reading(engine) as session:
        seen, hedge = shown(variant(session, "lexical")), shown(variant(session, "word"))
    with writing(engine) as session:
        correct(session, ada)
    with writing(engine) as session:
        late = actions.accept(session, seen, reviewer_id=ada)
        first = actions.accept(session, hedge, reviewer_id=ada)
    assert late.recorded and late.outdated and first.outdated
    with reading(engine) as session:
        assert standings(session)["lexical"] == (Status.PENDING, True)
        assert standings(session)["word"] == (Status.PENDING, True)
        again = shown(variant(session, "lexical"))
    with writing(engine) as session:
        assert not actions.accept(session, again, reviewer_id=ada).outdated
    with reading(engine) as session:
        assert standings(session)["lexical"] == (Status.ACCEPTED, False)


def test_an_edit_on_a_card_shown_before_the_correction_needs_a_second_look(
    engine: Engine, ada: int
) -> None:
    with reading(engine) as session:
        cards = [shown(variant(session)), shown(variant(session, "absolute"))]
    with writing(engine) as session:
        correct(session, ada)
    with writing(engine) as session:
        new = actions.edit(session, cards[0], reviewer_id=ada, text="The bridge isn't safe.")
        known = actions.edit(
            session, cards[1], reviewer_id=ada, type_id="affixal", text=TEXTS["affixal"]
        )
    with reading(engine) as session:
        for outcome in (new, known):
            child = session.get_one(Variant, outcome.child_id)
            assert (child.status, child.second_look) == (Status.PENDING, True)
        assert session.get_one(Variant, new.child_id).anchor_revision == 1
        assert variant(session).status == Status.SUPERSEDED


def test_a_family_rejected_on_an_outdated_card_comes_back(engine: Engine, ada: int) -> None:
    with reading(engine) as session:
        seen = shown(variant(session))
    with writing(engine) as session:
        correct(session, ada)
        assert actions.reject_family(session, seen, reviewer_id=ada).outdated
        assert set(standings(session).values()) == {(Status.PENDING, True)}


def test_an_edited_original_stays_superseded_and_its_child_gets_the_second_look(
    engine: Engine, ada: int
) -> None:
    with writing(engine) as session:
        seen = shown(variant(session))
        child_id = actions.edit(session, seen, reviewer_id=ada, text="It isn't safe.").child_id
        correct(session, ada)
        child = session.get_one(Variant, child_id)
        assert (child.status, child.second_look) == (Status.PENDING, True)
        assert (variant(session).status, variant(session).second_look) == (Status.SUPERSEDED, False)
        # After an undo, nothing needs a second look, as if the text had never been written.
        actions.undo(session, reviewer_id=ada)
        assert child.status == Status.SUPERSEDED
        assert standings(session)["absolute"] == (Status.PENDING, True)


def test_taking_back_a_decision_from_before_the_correction_is_harmless(
    engine: Engine, ada: int
) -> None:
    with writing(engine) as session:
        correct(session, ada)
        undone = actions.undo(session, reviewer_id=ada)
        assert undone is not None and undone.variant_id == variant(session, "lexical").id
        assert standings(session)["lexical"] == (Status.PENDING, False)
        assert standings(session)["verbal"] == (Status.PENDING, True)


def test_a_rule_over_pending_variants_counts_as_the_second_look(engine: Engine, ada: int) -> None:
    with writing(engine) as session:
        correct(session, ada)
        rule = parse_rule("levenshtein < 1000")
        assert find_matches(session, rule).total == 7
        apply_rule(session, rule, verdict=Verdict.ACCEPT, reviewer_id=ada)
        assert set(standings(session).values()) == {(Status.ACCEPTED, False)}


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


def test_a_card_from_before_two_corrections_does_not_count_either(engine: Engine, ada: int) -> None:
    with writing(engine) as session:
        seen = shown(variant(session, "word"))
        between = ShownCard(seen.variant_id, seen.version + 1, "between")
        correct(session, ada)
        assert variant(session, "word").version == between.version
        correct(session, ada, "The new bridge is safe.", seen=2)
        for late in (seen, between):
            assert actions.accept(session, late, reviewer_id=ada).outdated
        assert standings(session)["word"] == (Status.PENDING, True)


@pytest.mark.slow
def test_a_decision_that_waits_for_a_correction_is_on_the_old_wording(
    engine: Engine, ada: int
) -> None:
    """Two writers at once: the stored status follows from the decisions, whoever comes first."""
    with reading(engine) as session:
        seen = shown(variant(session, "word"))

    def decide() -> bool:
        with writing(engine) as session:
            return actions.accept(session, seen, reviewer_id=ada).recorded

    with ThreadPoolExecutor() as other:
        with writing(engine) as session:
            correct(session, ada)
            late = other.submit(decide)
            with pytest.raises(TimeoutError):
                late.result(timeout=0.5)
        assert late.result(timeout=30)
    with reading(engine) as session:
        assert standings(session)["word"] == (Status.PENDING, True)
        kept = {v.id: Standing(v.status, v.second_look, v.model_only) for v in every(session)}
        assert kept == compute_standing(session, list(kept))


def every(session: Session) -> list[Variant]:
    return list(session.execute(select(Variant)).scalars())
