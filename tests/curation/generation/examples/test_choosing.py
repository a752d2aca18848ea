"""Choosing examples: read and accepted by people, from training anchors, and diverse."""

import pytest
from sqlalchemy import Engine
from sqlalchemy.orm import Session

from curation.anchors.changes import retire_anchor
from curation.content_uids import anchor_uid, split_of
from curation.generation.examples.choosing import LONGEST, choose_examples, diverse
from curation.generation.examples.few_shot import Example
from curation.review import actions
from curation.review.actions import shown
from curation.review.bulk import apply_rule, parse_rule
from curation.review.decisions import store_decisions
from curation.review.people.reviewers import ensure_reviewer
from db.engine import writing
from db.errors import HedgerowError
from db.models import Decision, ReviewerKind, Split, Variant, Verdict
from tests.support.databases import both_databases, one_database
from tests.support.factories import add_anchor, add_variant, person

pytestmark = both_databases


def anchor_text(split: str, number: int) -> str:
    """An anchor in a split."""
    found = (f"The {split} bridge {number}.{extra} is safe." for extra in range(10_000))
    return next(text for text in found if split_of(anchor_uid(text)) == split)


def variant(
    session: Session, number: int, *, split: str = "train", type_id: str = "verbal", text: str = ""
) -> Variant:
    anchor = add_anchor(session, anchor_text(split, number))
    return add_variant(session, anchor, type_id, text or f"Bridge {number} is not safe.")


def accept(session: Session, one: Variant) -> None:
    actions.accept(session, shown(one), reviewer_id=person(session))


def test_only_what_a_person_read_and_accepted_of_training_anchors(engine: Engine) -> None:
    with writing(engine) as session:
        ada = person(session)
        good, edited = variant(session, 1), variant(session, 2)
        accept(session, good)
        child = actions.edit(session, shown(edited), reviewer_id=ada, text="It is by no means so.")
        variant(session, 3)  # pending
        rejected, undone, retired, long = (variant(session, n) for n in (4, 5, 6, 7))
        actions.reject(session, shown(rejected), reviewer_id=ada, reason="wrong_scope")
        accept(session, retired)
        retire_anchor(session, retired.anchor_id)
        long.text = "x" * (LONGEST + 1)
        accept(session, long)
        for split in (Split.VALIDATION, Split.TEST):
            held_out = variant(session, 8, split=split.value)
            accept(session, held_out)
        llm = ensure_reviewer(session, "starter", kind=ReviewerKind.MODEL)
        by_model = variant(session, 9)
        store_decisions(
            session,
            [
                Decision(
                    variant_id=by_model.id,
                    variant_version=1,
                    reviewer_id=llm.id,
                    verdict=Verdict.ACCEPT,
                    action_id="m",
                )
            ],
        )
        word = variant(session, 10, type_id="word", text="Bridge 10 is maybe safe.")
        accept(session, word)
        accept(session, undone)
        actions.undo(session, reviewer_id=ada)
        found = choose_examples(session, "negation", 10)
        assert {(one.text, one.edited) for one in found} == {
            (good.text, False),
            ("It is by no means so.", True),
        }
        assert found[0].edited and found[0].anchor == anchor_text("train", 2)
        assert child.child_id is not None
        (hedge,) = choose_examples(session, "hedge", 10)
        assert (hedge.type_id, hedge.cue) == ("word", "probably")


def test_nobody_has_read_what_a_rule_accepted(engine: Engine) -> None:
    with writing(engine) as session:
        by_rule = variant(session, 1)
        session.flush()
        rule = parse_rule("source = test")
        ada = person(session)
        done = apply_rule(session, rule, verdict=Verdict.ACCEPT, reviewer_id=ada)
        assert done.matches.total == 1
        with pytest.raises(HedgerowError, match="no person has accepted"):
            choose_examples(session, "negation", 3)
        session.refresh(by_rule)
        accept(session, by_rule)
        assert [one.uid for one in choose_examples(session, "negation", 3)] == [by_rule.uid]


def test_the_seed_decides_and_each_type_has_its_own(engine: Engine) -> None:
    with writing(engine) as session:
        for number in range(8):
            accept(session, variant(session, number))
            accept(session, variant(session, 100 + number, type_id="affixal", text=f"Un{number}."))
        found = choose_examples(session, "negation", 3, seed=1)
        assert [one.type_id for one in found] == ["verbal"] * 3 + ["affixal"] * 3
        assert found == choose_examples(session, "negation", 3, seed=1)
        assert found != choose_examples(session, "negation", 3, seed=2)
        only = choose_examples(session, "negation", 2, types=["affixal"])
        assert [one.type_id for one in only] == ["affixal"] * 2


def made(
    number: int, text: str, *, anchor: str = "", cue: str = "", edited: bool = False
) -> Example:
    anchor = anchor or f"The {number} is here."
    return Example(f"v{number}", "word", anchor_uid(anchor), anchor, text, cue, edited)


@one_database
def test_edits_come_first_then_what_differs_most() -> None:
    edits = [made(1, "The 1 is not here.", edited=True)]
    alike = [made(number, f"The {number} is not here.") for number in range(2, 8)]
    other = made(8, "Never would anybody have claimed that it was here at all, they say.")
    for seed in range(5):
        found = diverse(edits, [*alike, other], number=3, seed=seed)
        assert [one.uid for one in found[:2]] == ["v1", "v8"]
    assert diverse(edits, [], number=3, seed=0) == edits


@one_database
def test_another_cue_is_farther_than_another_anchor() -> None:
    same = [made(n, f"The {n} is perhaps here.", cue="perhaps") for n in range(1, 6)]
    other = made(6, "The 6 is supposedly here.", cue="supposedly")
    for seed in range(5):
        assert other in diverse([], [*same, other], number=2, seed=seed)


@one_database
def test_an_anchor_gives_one_example() -> None:
    one, other = (made(n, f"Text {n}.", anchor="The road is here.") for n in (1, 2))
    assert len(diverse([], [one, other], number=2, seed=0)) == 1
    assert diverse([one], [other], number=2, seed=0) == [one]
