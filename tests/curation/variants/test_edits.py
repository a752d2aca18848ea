"""Cues: corrected alone, found for a new type, and restored by an undo."""

import random
import re

import pytest
from sqlalchemy import Engine, func, select
from sqlalchemy.orm import Session
from sqlmodel import col

from curation.anchors.changes import correct_anchor
from curation.content_uids import variant_uid
from curation.diagnostics.measures import Flag
from curation.review import actions
from curation.review.actions import ShownCard, shown
from curation.review.history import history
from curation.variants.cue_choice import CueWanted
from db.engine import reading, writing
from db.errors import HedgerowError
from db.models import Anchor, CueCorrection, Decision, Diagnostic, Status, Variant
from tests.support.databases import Fill, both_databases
from tests.support.factories import add_anchor, add_family, add_variant, person

HEDGE = "The bridge is probably safe."


@pytest.fixture
def ada(engine: Engine, fill: Fill) -> int:
    """A family whose 'word' hedge names a cue that it does not use."""

    def made(session: Session) -> int:
        family = add_family(session)
        family["word"].cue = "maybe"
        return person(session)

    return fill(engine, made)


def hedge(session: Session, type_id: str = "word") -> Variant:
    query = select(Variant).where(col(Variant.type_id) == type_id).order_by(col(Variant.id))
    return session.execute(query).scalars().first() or pytest.fail("no such variant")


def test_a_corrected_cue_accepts_the_same_variant(engine: Engine, ada: int) -> None:
    with writing(engine) as session:
        card = shown(hedge(session), blind=True)
        outcome = actions.edit(
            session, card, reviewer_id=ada, text=HEDGE, cue=" probably ", note="It says so."
        )
    assert outcome.recorded and outcome.child_id is None
    with reading(engine) as session:
        variant = hedge(session)
        assert (variant.cue, variant.status) == ("probably", Status.ACCEPTED)
        assert Flag.WRONG_SURFACE not in Flag(session.get_one(Diagnostic, variant.id).flags)
        row = session.execute(select(CueCorrection)).scalar_one()
        assert (row.before, row.after, row.action_id) == ("maybe", "probably", card.action_id)
        decision = session.execute(select(Decision)).scalar_one()
        assert (decision.note, decision.blind) == ("It says so.", True)
        assert [past.cue for past in history(session, variant.id)] == [("maybe", "probably")]


def test_undo_puts_the_cue_back(engine: Engine, ada: int) -> None:
    with writing(engine) as session:
        card = shown(hedge(session))
        actions.edit(session, card, reviewer_id=ada, cue="probably")
        assert not actions.edit(session, card, reviewer_id=ada, cue="likely").recorded
        actions.undo(session, reviewer_id=ada)
    with reading(engine) as session:
        variant = hedge(session)
        assert (variant.cue, variant.status) == ("maybe", Status.PENDING)
        assert Flag.WRONG_SURFACE in Flag(session.get_one(Diagnostic, variant.id).flags)
        rows = session.execute(select(CueCorrection).order_by(col(CueCorrection.id))).scalars()
        assert [(row.before, row.after) for row in rows] == [
            ("maybe", "probably"),
            ("probably", "maybe"),
        ]


@both_databases
def test_the_later_correction_of_two_windows_stays_until_it_is_undone(
    engine: Engine, ada: int
) -> None:
    with writing(engine) as session:
        bert = person(session, "Bert")
        one, two, three = (shown(hedge(session)) for _ in range(3))
        actions.edit(session, one, reviewer_id=ada, cue="probably")
        assert actions.edit(session, two, reviewer_id=bert, cue="likely").overtaken == ("Ada",)
        # A request for the other window's result accepts it.
        again = actions.edit(session, three, reviewer_id=bert, cue="likely")
        assert again.recorded and len(session.execute(select(CueCorrection)).all()) == 2
        actions.undo(session, reviewer_id=bert)
        actions.undo(session, reviewer_id=ada)
        assert hedge(session).cue == "likely"
        actions.undo(session, reviewer_id=bert)
        assert hedge(session).cue == "maybe"


@pytest.mark.parametrize(
    ("type_id", "cue", "why"),
    [
        ("word", None, "unchanged"),
        ("word", "maybe", "unchanged"),
        ("word", "", "unchanged"),
        ("verbal", "maybe", "unchanged"),
        ("word", "x" * 201, "at most 200"),
        ("word", "a \x00 byte", "control character"),
    ],
)
def test_an_empty_cue_correction_changes_nothing(
    engine: Engine, ada: int, type_id: str, cue: str | None, why: str
) -> None:
    with pytest.raises(HedgerowError, match=why), writing(engine) as session:
        actions.edit(session, shown(hedge(session, type_id)), reviewer_id=ada, cue=cue)
    with reading(engine) as session:
        assert session.execute(select(func.count()).select_from(Decision)).scalar() == 0
        assert hedge(session).cue == "maybe"


@pytest.mark.parametrize("type_id", ["verbal", "word"])
def test_no_variant_becomes_the_anchor_itself(engine: Engine, ada: int, type_id: str) -> None:
    """As a negation, it would be trained on as its own opposite."""
    text = " The bridge  is safe. "
    with pytest.raises(HedgerowError, match="the same as the anchor"), writing(engine) as session:
        actions.edit(
            session, shown(hedge(session, type_id)), reviewer_id=ada, text=text, cue="maybe"
        )
    with reading(engine) as session:
        assert session.execute(select(func.count()).select_from(Decision)).scalar() == 0


def test_retyping_to_a_hedge_finds_its_cue_or_asks_for_it(engine: Engine, ada: int) -> None:
    with writing(engine) as session:
        anchor = add_anchor(session, "Trains run.")
        found = add_variant(session, anchor, "verbal", "Trains possibly run.")
        child_id = actions.edit(session, shown(found), reviewer_id=ada, type_id="word").child_id
        assert session.get_one(Variant, child_id).cue == "possibly"
        none = add_variant(session, anchor, "lexical", "Trains stand.")
        with pytest.raises(HedgerowError, match="no known cue"):
            actions.edit(session, shown(none), reviewer_id=ada, type_id="word")
        child_id = actions.edit(
            session, shown(none), reviewer_id=ada, type_id="word", cue="stand"
        ).child_id
        assert session.get_one(Variant, child_id).cue == "stand"


@both_databases
def test_an_edit_into_a_known_variant_corrects_its_cue_only_where_asked(
    engine: Engine, ada: int
) -> None:
    with writing(engine) as session:
        anchor = session.get_one(Variant, 1).anchor_id
        known = Variant(
            uid="", anchor_id=anchor, type_id="word", text="The bridge is likely safe.", cue="like"
        )
        known.uid = variant_uid(
            anchor_uid=session.get_one(Anchor, anchor).uid, type_id="word", text=known.text
        )
        session.add(known)
        session.flush()
        text = known.text
        outcome = actions.edit(
            session, shown(hedge(session)), reviewer_id=ada, text=text, cue="maybe"
        )
        assert (outcome.child_id, known.cue) == (known.id, "like")
        actions.undo(session, reviewer_id=ada)
        actions.edit(session, shown(hedge(session)), reviewer_id=ada, text=text, cue="likely")
        assert (known.cue, known.status) == ("likely", Status.ACCEPTED)
        actions.undo(session, reviewer_id=ada)
        assert (known.cue, known.status) == ("like", Status.PENDING)


def test_a_cue_corrected_on_an_outdated_card_needs_a_second_look(engine: Engine, ada: int) -> None:
    with writing(engine) as session:
        variant = hedge(session)
        card = shown(variant)
        correct_anchor(
            session,
            variant.anchor_id,
            "The old bridge is safe.",
            reviewer_id=ada,
            expected_revision=1,
        )
        assert actions.edit(session, card, reviewer_id=ada, cue="probably").outdated
        assert (variant.cue, variant.status, variant.second_look) == (
            "probably",
            Status.PENDING,
            True,
        )


@pytest.mark.parametrize("seed", range(2))
def test_a_cue_is_that_of_the_latest_standing_correction(engine: Engine, seed: int) -> None:
    """Random corrections and undos of three people, compared with a list of the valid ones."""
    dice = random.Random(seed)
    with writing(engine) as session:
        variant = add_family(session)["word"]
        first, people = variant.cue, [person(session, name) for name in ("Ada", "Bert", "Cleo")]
        standing: list[tuple[int, str]] = []
        for step in range(30):
            who = dice.choice(people)
            if dice.random() < 0.6:
                card = ShownCard(variant.id, variant.version, f"{seed}-{step}")
                actions.edit(session, card, reviewer_id=who, cue=f"cue{step}")
                standing.append((who, f"cue{step}"))
            else:
                actions.undo(session, reviewer_id=who)
                own = [at for at, (other, _) in enumerate(standing) if other == who]
                if own:
                    del standing[own[-1]]
            assert variant.cue == (standing[-1][1] if standing else first)


def edited(session: Session, ada: int, original: str, **how: str) -> Variant:
    """The variant that replaces the family's edited variant of this type."""
    outcome = actions.edit(session, shown(hedge(session, original)), reviewer_id=ada, **how)  # type: ignore[arg-type]
    return session.get_one(Variant, outcome.child_id)


def test_an_edit_that_removes_the_cue_stores_the_one_in_the_new_text(
    engine: Engine, ada: int
) -> None:
    with writing(engine) as session:
        child = edited(session, ada, "phrase", text="It's not at all clear if the bridge is safe.")
        assert child.cue == "not at all clear"
        child = edited(session, ada, "word", text="The bridge seems safe.")
        assert child.cue == "seem"


def test_an_edit_keeps_the_cue_that_its_text_still_uses(engine: Engine, ada: int) -> None:
    with writing(engine) as session:
        child = edited(session, ada, "phrase", text="Not being entirely sure, it seems safe.")
        assert child.cue == "not entirely sure"


@pytest.mark.parametrize(
    ("text", "why", "proposed"),
    [
        ("Perhaps the bridge is safe.", "no known cue", "perhaps"),
        ("Reportedly, the bridge is quite safe.", "no known cue", "reportedly"),
        ("The bridge might possibly be safe.", "several hedge cues ('might', 'possibly')", "might"),
        ("Gossip has it all over town that the bridge is safe.", "no known cue", ""),
    ],
)
def test_an_edit_without_one_known_cue_asks_for_it_and_changes_nothing(
    engine: Engine, ada: int, text: str, why: str, proposed: str
) -> None:
    with pytest.raises(CueWanted, match=re.escape(why)) as wanted, writing(engine) as session:
        actions.edit(session, shown(hedge(session, "phrase")), reviewer_id=ada, text=text)
    assert wanted.value.proposed == proposed
    with writing(engine) as session:
        assert session.execute(select(func.count()).select_from(Decision)).scalar() == 0
        assert edited(session, ada, "phrase", text=text, cue="over the town").cue == "over the town"


def test_the_number_of_words_in_the_cue_decides_between_word_and_phrase(
    engine: Engine, ada: int
) -> None:
    with writing(engine) as session:
        text = "I'm not sure, but the bridge is safe."
        outcome = actions.edit(session, shown(hedge(session)), reviewer_id=ada, text=text)
        child = session.get_one(Variant, outcome.child_id)
        assert (child.type_id, child.cue) == ("phrase", "not sure")
        assert outcome.remark == "Saved as 'Hedge: phrase', because the cue 'not sure' has 2 words."
        child = edited(session, ada, "verbal", text="Presumably it is safe.", type_id="phrase")
        assert (child.type_id, child.cue) == ("word", "presumably")
        child = edited(session, ada, "lexical", type_id="word", cue="by all accounts")
        assert (child.type_id, child.cue) == ("phrase", "by all accounts")


def test_retyping_to_the_other_hedge_asks_for_a_cue_that_makes_it_that(
    engine: Engine, ada: int
) -> None:
    with writing(engine) as session:
        text = "I'm not sure, but the bridge is safe."
        phrase = add_variant(session, session.get_one(Anchor, 1), "phrase", text)
        phrase.cue = "not sure"
        session.flush()
        with pytest.raises(CueWanted, match="'not sure' has 2 words, so its type is 'Hedge: phr"):
            actions.edit(session, shown(phrase), reviewer_id=ada, type_id="word")
        actions.edit(session, shown(phrase), reviewer_id=ada, type_id="word", cue="sure")
        query = select(Variant).where(col(Variant.text) == text, col(Variant.type_id) == "word")
        assert session.execute(query).scalar_one().cue == "sure"


def test_a_cue_of_the_other_number_of_words_makes_it_the_other_hedge(
    engine: Engine, ada: int
) -> None:
    with writing(engine) as session:
        child = edited(session, ada, "word", cue="on the fence")
        assert (child.type_id, child.text, child.cue) == ("phrase", HEDGE, "on the fence")
        assert hedge(session).status == Status.SUPERSEDED
