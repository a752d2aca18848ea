"""Second looks: what a corrected anchor does to decisions that were made on its earlier text."""

from concurrent.futures import ThreadPoolExecutor

import pytest
from sqlalchemy import Engine, select
from sqlalchemy.orm import Session

from curation.anchors.changes import (
    count_second_looks,
)
from curation.anchors.lookup import anchor_history
from curation.release.freezing import create_release
from curation.review import actions
from curation.review.actions import ShownCard, shown
from curation.review.bulk import apply_rule, find_matches, parse_rule
from curation.review.decisions import compute_standing
from curation.review.history import history
from curation.review.queue import next_variant
from curation.review.status import Standing
from db.engine import reading, writing
from db.errors import HedgerowError
from db.models import (
    ReleaseItem,
    Status,
    Variant,
    Verdict,
)
from tests.curation.anchors.support.corrections import NEW, correct, standings, variant
from tests.support.databases import both_databases
from tests.support.factories import TEXTS, person


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
