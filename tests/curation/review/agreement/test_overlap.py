"""Variants that several people have decided on: which verdicts count for which figure."""

from collections import defaultdict
from datetime import UTC, datetime

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from sqlalchemy import Engine, select
from sqlalchemy.orm import Session
from sqlmodel import col

from curation.anchors.changes import correct_anchor, retire_anchor
from curation.review import actions
from curation.review.actions import shown
from curation.review.agreement.overlap import Overlap, overlap
from curation.review.bulk import apply_rule, parse_rule
from curation.review.opinions.stored import show_opinions
from curation.review.people import merging
from curation.variants.own import write_variant
from db.engine import reading, writing
from db.models import Decision, Reviewer, Variant, Verdict
from tests.support.databases import both_databases, one_database
from tests.support.factories import (
    add_anchor,
    add_family,
    add_opinion,
    add_variant,
    judge,
    model,
    person,
)

pytestmark = both_databases

A, R, E = Verdict.ACCEPT, Verdict.REJECT, Verdict.EDIT


def decide(
    session: Session,
    variant: Variant,
    who: int,
    verdict: Verdict,
    *,
    blind: bool = False,
    settles: bool = False,
    version: int | None = None,
) -> None:
    """A decision on a card that the browser shows now, or has shown since this version."""
    session.refresh(variant)
    card = shown(variant, at=datetime.now(UTC), blind=blind, settles=settles)
    if version is not None:
        card = card._replace(version=version)
    if verdict is A:
        actions.accept(session, card, reviewer_id=who)
    elif verdict is R:
        actions.reject(session, card, reviewer_id=who, reason="wrong_scope")
    else:
        actions.edit(session, card, reviewer_id=who, text=f"{variant.text} Really.")


def votes(found: Overlap) -> dict[int, dict[int, Verdict]]:
    """Variant → person → verdict."""
    return {
        number: {vote.person: vote.verdict for vote in pattern.votes}
        for pattern in found.patterns
        for number in pattern.variant_ids()
    }


def independent(session: Session) -> dict[int, dict[int, Verdict]]:
    return votes(overlap(session).narrowed(independent=True))


def test_only_what_two_people_have_decided_on_is_there(engine: Engine) -> None:
    with writing(engine) as session:
        ada, bert, llm = person(session), person(session, "Bert"), model(session)
        family = add_family(session)
        decide(session, family["verbal"], ada, A)
        decide(session, family["verbal"], bert, R)
        decide(session, family["word"], ada, A)  # by her alone, and twice
        decide(session, family["word"], ada, R)
        decide(session, family["phrase"], ada, A)
        decide(session, family["phrase"], llm, A)
        decide(session, family["lexical"], ada, A)
        decide(session, family["lexical"], bert, E)
    with reading(engine) as session:
        found = overlap(session)
        assert votes(found) == {
            family["verbal"].id: {ada: A, bert: R},
            family["lexical"].id: {ada: A, bert: E},
        }
        assert found.variants == 2 and found.people == (ada, bert)
        assert found.pairs == ((ada, bert),)
        assert {(p.type_id, p.source_id, p.cue) for p in found.patterns} == {
            ("verbal", 1, None),
            ("lexical", 1, None),
        }


def test_the_latest_valid_verdict_counts(engine: Engine) -> None:
    with writing(engine) as session:
        ada, bert = person(session), person(session, "Bert")
        family = add_family(session)
        changed, undone = family["verbal"], family["word"]
        decide(session, changed, ada, R)
        decide(session, changed, bert, R)
        decide(session, changed, ada, A)
        decide(session, undone, bert, A)
        decide(session, undone, ada, R)
        actions.undo(session, reviewer_id=ada)
    with reading(engine) as session:
        assert votes(overlap(session)) == {changed.id: {ada: A, bert: R}}


def test_settlements_rules_and_own_texts_are_not_votes(engine: Engine) -> None:
    with writing(engine) as session:
        ada, bert, cleo = (person(session, name) for name in ("Ada", "Bert", "Cleo"))
        anchor = add_anchor(session)
        contested = add_variant(session, anchor)
        decide(session, contested, ada, A)
        decide(session, contested, bert, R)
        decide(session, contested, bert, A, settles=True)
        decide(session, contested, cleo, A, settles=True)
        ruled = add_variant(session, anchor, "lexical")
        rule = parse_rule("source = test")
        apply_rule(session, rule, verdict=A, reviewer_id=ada, types=["lexical"])
        decide(session, ruled, bert, A)
        own = write_variant(
            session,
            anchor_id=anchor.id,
            type_id="verbal",
            text="The bridge was never safe.",
            reviewer_id=ada,
        )
        decide(session, own.variant, bert, A)
        edited = add_variant(session, anchor, "affixal")
        decide(session, edited, ada, E)
        child = session.execute(
            select(Variant).where(col(Variant.parent_id) == edited.id)
        ).scalar_one()
        decide(session, child, bert, A)
    with reading(engine) as session:
        assert votes(overlap(session)) == {contested.id: {ada: A, bert: R}}


def test_an_anchors_correction_starts_again_and_its_retirement_ends_it(engine: Engine) -> None:
    with writing(engine) as session:
        ada, bert = person(session), person(session, "Bert")
        family = add_family(session)
        other = add_family(session, "The road is safe.", subject="road")
        for variant in (family["verbal"], other["verbal"]):
            decide(session, variant, ada, A)
            decide(session, variant, bert, R)
        anchor = family["verbal"].anchor_id
        correct_anchor(
            session, anchor, "The bridge is sound.", reviewer_id=ada, expected_revision=1
        )
        decide(session, family["verbal"], ada, A)
    with reading(engine) as session:
        assert set(votes(overlap(session))) == {other["verbal"].id}
    with writing(engine) as session:
        decide(session, session.get_one(Variant, family["verbal"].id), bert, A)
        retire_anchor(session, other["verbal"].anchor_id)
    with reading(engine) as session:
        assert votes(overlap(session)) == {family["verbal"].id: {ada: A, bert: A}}


def test_a_merged_reviewer_is_one(engine: Engine) -> None:
    with writing(engine) as session:
        ada, bert, cleo = (person(session, name) for name in ("Ada", "Bert", "Cleo"))
        family = add_family(session)
        decide(session, family["verbal"], ada, A)
        decide(session, family["verbal"], bert, R)
        decide(session, family["word"], bert, R)
        decide(session, family["word"], cleo, A)
        merging.merge(session, session.get_one(Reviewer, bert), session.get_one(Reviewer, ada))
    with reading(engine) as session:
        assert votes(overlap(session)) == {family["word"].id: {ada: R, cleo: A}}
    with writing(engine) as session:
        merging.separate(session, session.get_one(Reviewer, bert))
    with reading(engine) as session:
        assert len(votes(overlap(session))) == 2


def test_a_reviewer_who_had_seen_a_verdict_is_not_independent(engine: Engine) -> None:
    """Five variants. Ada decides on each of them first."""
    with writing(engine) as session:
        ada, bert, who = person(session), person(session, "Bert"), judge(session)
        family = add_family(session)
        blind, seen, unseen, opinion_seen, changed = (
            family[key] for key in ("verbal", "word", "phrase", "lexical", "affixal")
        )
        for variant in family.values():
            decide(session, variant, ada, A)
        decide(session, blind, bert, R, blind=True)
        decide(session, seen, bert, A)
        decide(session, unseen, bert, R, version=1)  # his card was shown before she decided
        add_opinion(session, opinion_seen, A, reviewer_id=who)
        show_opinions(session, opinion_seen.id, reviewer_id=bert, own_first=False)
        session.flush()
        decide(session, opinion_seen, bert, A, blind=True)
        decide(session, changed, bert, R, blind=True)
        decide(session, changed, bert, A)  # after the message about her verdict
    with reading(engine) as session:
        found = overlap(session)
        assert len(votes(found)) == 5
        assert votes(found)[changed.id] == {ada: A, bert: A}
        assert independent(session) == {
            blind.id: {ada: A, bert: R},
            unseen.id: {ada: A, bert: R},
            changed.id: {ada: A, bert: R},
        }


def test_imported_verdicts_and_those_made_elsewhere_are_independent(engine: Engine) -> None:
    with writing(engine) as session:
        ada, bert = person(session), person(session, "Bert")
        variant = add_family(session)["verbal"]
        for who in (ada, bert):
            session.refresh(variant)
            actions.accept(session, shown(variant), reviewer_id=who)
    with reading(engine) as session:
        assert independent(session) == {variant.id: {ada: A, bert: A}}


def test_it_can_be_narrowed_to_a_pair_and_to_sources(engine: Engine) -> None:
    with writing(engine) as session:
        ada, bert, cleo = (person(session, name) for name in ("Ada", "Bert", "Cleo"))
        family = add_family(session)
        other = add_family(session, "The road is safe.", subject="road", source="elsewhere")
        for variant in (family["word"], other["word"]):
            decide(session, variant, ada, A)
            decide(session, variant, bert, R)
            decide(session, variant, cleo, A)
        decide(session, other["verbal"], bert, A)
        decide(session, other["verbal"], cleo, A)
        source = other["word"].source_id
    with reading(engine) as session:
        found = overlap(session)
        assert found.pairs == ((bert, cleo), (ada, bert), (ada, cleo))
        pair = votes(found.narrowed(pair=(ada, cleo)))
        assert pair == {key: {ada: A, cleo: A} for key in (family["word"].id, other["word"].id)}
        assert set(votes(found.narrowed(source_id=source))) == {
            other["word"].id,
            other["verbal"].id,
        }
        assert overlap(session, ["elsewhere"]) == found.narrowed(source_id=source)


STEP = st.tuples(
    st.sampled_from(["Ada", "Bert", "Cleo"]),
    st.integers(0, 1),
    st.sampled_from(["accept", "reject", "settle", "undo"]),
    st.booleans(),
)


@one_database
@settings(
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
    max_examples=40,
)
@given(st.lists(STEP, max_size=14))
def test_random_histories(engine: Engine, steps: list[tuple[str, int, str, bool]]) -> None:
    """The expected result, from reading all decisions one by one."""
    with writing(engine) as session:
        family = add_family(session, f"Bridge {session.query(Variant).count()} is safe.")
        variants = family["verbal"], family["word"]
        for name, which, what, blind in steps:
            who = person(session, name)
            if what == "undo":
                actions.undo(session, reviewer_id=who)
            else:
                verdict = R if what == "reject" else A
                settles = what == "settle"
                decide(session, variants[which], who, verdict, blind=blind, settles=settles)
        ids = [variant.id for variant in variants]
        found = overlap(session)
        assert {k: v for k, v in votes(found).items() if k in ids} == _expected(session, ids, False)
        known = {k: v for k, v in independent(session).items() if k in ids}
        assert known == _expected(session, ids, True)
        session.rollback()


def _expected(session: Session, ids: list[int], independent: bool) -> dict[int, dict[int, Verdict]]:
    rows = session.execute(select(Decision).order_by(col(Decision.id))).scalars().all()
    retracted = {row.retracts_id for row in rows}
    decided: defaultdict[int, list[Decision]] = defaultdict(list)
    for row in rows:
        if not (row.verdict is Verdict.RETRACT or row.id in retracted or row.adjudicates):
            decided[row.variant_id].append(row)
    expected = {}
    for key in ids:
        latest: dict[int, Verdict] = {}
        for who in {row.reviewer_id for row in decided[key]}:
            own = [row for row in decided[key] if row.reviewer_id == who]
            # The first and last verdict of each person, or the one before others had decided, if
            # requested.
            own = [own[-1], own[0]]
            if independent:
                own = [row for row in own if row.blind or not _before(decided[key], row)]
            if own:
                latest[who] = own[0].verdict
        if len(latest) > 1:
            expected[key] = latest
    return expected


def _before(rows: list[Decision], row: Decision) -> bool:
    """Whether somebody else had decided before this decision."""
    return any(other.id < row.id and other.reviewer_id != row.reviewer_id for other in rows)
