"""Variants that several people have decided on: which verdicts count, and their records."""

import csv
import io
from collections import defaultdict

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from sqlalchemy import Engine, select
from sqlalchemy.orm import Session
from sqlmodel import col

from curation.decisions.shown_card import shown
from curation.diagnostics.opinions import show_opinions
from curation.editing.anchors import retire_anchor
from curation.editing.own_variants import write_variant
from curation.review import deciding
from curation.review.agreement.overlap import Overlap, overlap
from curation.review.agreement.records import COLUMNS, ids_of, records, table
from curation.review.rules import apply_rule, parse_rule
from curation.tables.safe_csv import csv_bytes
from db.columns import now
from db.engine import writing
from db.models import Decision, Verdict
from tests.curation.review.desk import (
    ABSOLUTE,
    AFFIXAL,
    LEXICAL,
    PHRASE,
    VERBAL,
    WORD,
    A,
    Desk,
    E,
    R,
)
from tests.support.databases import both_databases
from tests.support.factories import ANCHOR, TEXTS, add_family, judge, model, person

Votes = dict[int, dict[int, Verdict]]
"""Variant → person → verdict."""


def votes(found: Overlap) -> Votes:
    return {
        number: {vote.person: vote.verdict for vote in pattern.votes}
        for pattern in found.patterns
        for number in pattern.variant_ids()
    }


def counted(desk: Desk, *, independent: bool = False) -> Votes:
    found = desk.read(overlap)
    return votes(found.narrowed(independent=True) if independent else found)


def decide(desk: Desk, who: str, variant_id: int, verdict: Verdict = A, **more: object) -> None:
    """A decision on a card that the browser shows now."""
    desk.decide(who, variant_id, verdict, shown_at=now(), **more)


@pytest.mark.slow
@both_databases
def test_only_what_two_people_have_decided_on_is_there(desk: Desk) -> None:
    ada, bert = desk.people("Ada", "Bert")
    decide(desk, "Ada", VERBAL)
    decide(desk, "Bert", VERBAL, R)
    decide(desk, "Ada", WORD)  # by her alone, and twice
    decide(desk, "Ada", WORD, R)
    decide(desk, "Ada", PHRASE)
    desk.decide(desk.write(model), PHRASE)
    decide(desk, "Ada", LEXICAL)
    decide(desk, "Bert", LEXICAL, E)
    found = desk.read(overlap)
    assert votes(found) == {VERBAL: {ada: A, bert: R}, LEXICAL: {ada: A, bert: E}}
    assert (found.variants, found.people, found.pairs) == (2, (ada, bert), ((ada, bert),))
    patterns = {(p.type_id, p.source_id, p.cue) for p in found.patterns}
    assert patterns == {("verbal", 1, None), ("lexical", 1, None)}


@both_databases
def test_settlements_rules_and_own_texts_are_not_votes(desk: Desk) -> None:
    ada, bert = desk.people("Ada", "Bert")
    decide(desk, "Ada", VERBAL)
    decide(desk, "Bert", VERBAL, R)
    desk.settle("Bert", VERBAL)
    desk.settle("Cleo", VERBAL)
    rule = parse_rule("source = test")
    apply_rule(desk.engine, rule, verdict=A, reviewer_id=ada, types=["lexical"])
    decide(desk, "Bert", LEXICAL)
    own = {"anchor_id": 1, "type_id": "verbal", "text": "The bridge was never safe."}
    decide(desk, "Bert", desk.write(write_variant, **own, reviewer_id=ada).variant.id)
    child = desk.decide("Ada", AFFIXAL, E).child_id
    decide(desk, "Bert", child or 0)
    assert counted(desk) == {VERBAL: {ada: A, bert: R}}


@both_databases
def test_an_anchors_correction_starts_again_and_its_retirement_ends_it(desk: Desk) -> None:
    ada, bert = desk.people("Ada", "Bert")
    other = desk.family("The road is safe.", subject="road")["verbal"]
    for variant_id in (VERBAL, other):
        decide(desk, "Ada", variant_id)
        decide(desk, "Bert", variant_id, R)
    desk.correct(VERBAL)
    decide(desk, "Ada", VERBAL)
    assert set(counted(desk)) == {other}
    decide(desk, "Bert", VERBAL)
    desk.write(retire_anchor, desk.get(other).anchor_id)
    assert counted(desk) == {VERBAL: {ada: A, bert: A}}


@both_databases
def test_a_merged_reviewer_is_one(desk: Desk) -> None:
    ada, cleo = desk.people("Ada", "Cleo")
    decide(desk, "Ada", VERBAL)
    decide(desk, "Bert", VERBAL, R)
    decide(desk, "Bert", WORD, R)
    decide(desk, "Cleo", WORD)
    desk.merge("Bert", into="Ada")
    assert counted(desk) == {WORD: {ada: R, cleo: A}}
    desk.separate("Bert")
    assert set(counted(desk)) == {VERBAL, WORD}


@both_databases
def test_a_reviewer_who_had_seen_a_verdict_is_not_independent(desk: Desk) -> None:
    """Six variants. Ada decides on each of them first, on the last one outside of the browser."""
    ada, bert = desk.people("Ada", "Bert")
    blind, seen, unseen, opinion_seen, changed = VERBAL, WORD, PHRASE, LEXICAL, AFFIXAL
    for variant_id in (blind, seen, unseen, opinion_seen, changed):
        decide(desk, "Ada", variant_id)
    desk.decide("Ada", ABSOLUTE)
    decide(desk, "Bert", blind, R, blind=True)
    decide(desk, "Bert", seen)
    decide(desk, "Bert", unseen, R, version=1)  # his card was shown before she decided
    desk.opine(desk.write(judge), opinion_seen)
    desk.write(show_opinions, opinion_seen, reviewer_id=bert, own_first=False)
    decide(desk, "Bert", opinion_seen, blind=True)
    decide(desk, "Bert", changed, R, blind=True)
    decide(desk, "Bert", changed)  # after the message about her verdict
    desk.decide("Bert", ABSOLUTE)
    assert len(counted(desk)) == 6
    assert counted(desk)[changed] == {ada: A, bert: A}
    alone = {variant_id: {ada: A, bert: R} for variant_id in (blind, unseen, changed)}
    assert counted(desk, independent=True) == alone | {ABSOLUTE: {ada: A, bert: A}}


@both_databases
def test_it_can_be_narrowed_to_a_pair_and_to_sources(desk: Desk) -> None:
    ada, bert, cleo = desk.people("Ada", "Bert", "Cleo")
    other = desk.family("The road is safe.", subject="road", source="elsewhere")
    for variant_id in (WORD, other["word"]):
        for who, verdict in (("Ada", A), ("Bert", R), ("Cleo", A)):
            decide(desk, who, variant_id, verdict)
    decide(desk, "Bert", other["verbal"])
    decide(desk, "Cleo", other["verbal"])
    source = desk.get(other["word"]).source_id
    found = desk.read(overlap)
    assert found.pairs == ((bert, cleo), (ada, bert), (ada, cleo))
    pair = votes(found.narrowed(pair=(ada, cleo)))
    assert pair == {key: {ada: A, cleo: A} for key in (WORD, other["word"])}
    there = found.narrowed(source_id=source)
    assert set(votes(there)) == {other["word"], other["verbal"]}
    assert desk.read(overlap, ["elsewhere"]) == there


def test_the_records_have_all_verdicts_in_order(desk: Desk) -> None:
    why = {"reason": "not_a_hedge", "note": "As firm as before."}
    decide(desk, "=Bert", WORD, R, **why)
    decide(desk, "Ada", WORD, R, blind=True, **why)
    decide(desk, "Ada", WORD)
    decide(desk, "Ada", VERBAL)  # she alone
    (record,) = desk.read(records, ids_of(desk.read(overlap)))
    uid = desk.uid(WORD)
    assert record[:6] == (uid, "word", "probably", "test", ANCHOR, TEXTS["word"])
    rows = [(v.reviewer, v.verdict, v.reason, v.note, v.independent) for v in record.verdicts]
    assert rows == [
        ("=Bert", R, "not_a_hedge", "As firm as before.", True),
        ("Ada", R, "not_a_hedge", "As firm as before.", True),
        ("Ada", A, "", "", False),
    ]
    text = csv_bytes(COLUMNS, table([record])).decode("utf-8-sig")
    written = [
        (row["uid"], row["reviewer"], row["independent"])
        for row in csv.DictReader(io.StringIO(text))
    ]
    expected = [("'=Bert", "True"), ("Ada", "True"), ("Ada", "False")]  # not a formula
    assert written == [(uid, *row) for row in expected]


# -- compared with reading all decisions one by one --------------------------------------------

STEP = st.tuples(
    st.sampled_from(["Ada", "Bert", "Cleo"]),
    st.integers(0, 1),
    st.sampled_from(["accept", "reject", "settle", "undo"]),
    st.booleans(),
)


@pytest.mark.slow
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow])
@given(st.lists(STEP, max_size=14))
def test_random_histories(engine: Engine, steps: list[tuple[str, int, str, bool]]) -> None:
    with writing(engine) as session:
        family = add_family(session)
        variants = family["verbal"], family["word"]
        for name, which, what, blind in steps:
            who = person(session, name)
            if what == "undo":
                deciding.undo(session, reviewer_id=who)
                continue
            variant, settles = variants[which], what == "settle"
            session.refresh(variant)
            card = shown(variant, at=now(), blind=blind, settles=settles)
            if what == "reject":
                deciding.reject(session, card, reviewer_id=who, reason="wrong_scope")
            else:
                deciding.accept(session, card, reviewer_id=who)
        found = overlap(session)
        assert votes(found) == _expected(session, False)
        assert votes(found.narrowed(independent=True)) == _expected(session, True)
        session.rollback()


def _expected(session: Session, independent: bool) -> Votes:
    """The last verdict of each person, or the first one before others had decided."""
    rows = session.execute(select(Decision).order_by(col(Decision.id))).scalars().all()
    retracted = {row.retracts_id for row in rows}
    decided: defaultdict[int, defaultdict[int, list[Decision]]]
    decided = defaultdict(lambda: defaultdict(list))
    for row in rows:
        if not (row.verdict is Verdict.RETRACT or row.id in retracted or row.adjudicates):
            decided[row.variant_id][row.reviewer_id].append(row)
    expected = {}
    for key, people in decided.items():
        counted = {}
        for who, own in people.items():
            others = [row.id for other, rows in people.items() if other != who for row in rows]
            for row in (own[0], own[-1]):
                if not independent or row.blind or row.id < min([*others, row.id + 1]):
                    counted[who] = row.verdict
        if len(counted) > 1:
            expected[key] = counted
    return expected
