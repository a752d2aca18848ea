"""A rule decides on every pending variant that it matches, and on nothing else."""

from collections.abc import Iterable

import pytest
from sqlalchemy import Engine, insert, select
from sqlalchemy.orm import Session
from sqlmodel import col

from curation.diagnostics.measures import Flag
from curation.encoders.model_folders import DEFAULT_ENCODER
from curation.encoders.registered import register_encoder
from curation.review import bulk
from curation.review.bulk import (
    Applied,
    FlagSet,
    Matches,
    MeasureClause,
    apply_rule,
    find_matches,
    parse_rule,
)
from curation.review.queue import status_counts
from db.columns import now
from db.engine import writing
from db.models import Decision, Diagnostic, Status, Variant, VariantCosine, Verdict
from tests.curation.review.desk import A, Desk, R, refused
from tests.support.databases import both_databases
from tests.support.factories import add_anchor

# -- parsing -----------------------------------------------------------------------------------


def test_clauses_are_joined_by_and_in_any_spacing_and_case() -> None:
    rule = parse_rule("  flag=content_dropped AND cosine<0.8 and Levenshtein >= 60 ")
    assert rule.clauses == (
        FlagSet(Flag.CONTENT_DROPPED, present=True),
        MeasureClause("cosine", "<", 0.8),
        MeasureClause("levenshtein", ">=", 60),
    )
    assert rule.needs_cosine and not parse_rule("no flags").needs_cosine
    assert parse_rule("no flags").clauses == (FlagSet(Flag(sum(Flag)), present=False),)


@pytest.mark.parametrize(
    ("text", "fact"),
    [
        ("", "found 0"),
        ("levenshtein > 60" + " and no flags" * 50, "500"),
        ("levenshtein", "'levenshtein'"),
        ("levenshtein > 60 or no flags", "'levenshtein > 60 or no flags'"),
        ("levenshtein > 60 and", "'levenshtein > 60 and'"),
        ("length > 60", "'length'"),
        ("cosine < 0.8.1", "'0.8.1'"),
        ("cosine < nan", "'nan'"),
        ("levenshtein > 1e9", "'1e9'"),
        ("flag = nice", "content_dropped.*'nice'"),
        ("flag > unchanged", "flag = NAME"),
        ("__import__('os').system('true') > 1", "found"),
        ("levenshtein > (select 1)", "found"),
        ("cosine < 80", "at least"),  # a number that the measure never reaches
        ("content_kept > 1.5", "at least"),
        ("levenshtein > -1", "at least"),
        ("cosine > -1.01", "at least"),
    ],
)
def test_anything_else_is_refused(text: str, fact: str) -> None:
    with refused(fact):
        parse_rule(text)


# -- matching ----------------------------------------------------------------------------------


def add_variants(session: Session, count: int) -> list[int]:
    """Pending variants of one anchor, alternating between types."""
    row = {"anchor_id": add_anchor(session, "It holds.").id, "anchor_revision": 1}
    rows = [
        {
            **row,
            "uid": f"{i:016x}",
            "type_id": ("verbal", "word")[i % 2],
            "text": f"It is not {i}.",
            "created_at": now(),
        }
        for i in range(count)
    ]
    session.execute(insert(Variant), rows)
    return list(session.execute(select(col(Variant.id)).order_by(col(Variant.id))).scalars())


def measure(session: Session, ids: Iterable[int], *, levenshtein: int = 0, flags: int = 0) -> None:
    row = {"levenshtein": levenshtein, "length_ratio": 1.0, "content_kept": 1.0, "flags": flags}
    rows = [{**row, "variant_id": variant_id, "created_at": now()} for variant_id in ids]
    session.execute(insert(Diagnostic), rows)


@pytest.fixture
def six(engine: Engine) -> Desk:
    """Six variants without measures, with the ids 1 to 6."""
    desk = Desk(engine)
    assert desk.write(add_variants, 6) == [1, 2, 3, 4, 5, 6]
    return desk


@pytest.fixture
def measured(six: Desk) -> Desk:
    six.write(measure, range(1, 7))
    return six


def matches(desk: Desk, rule: str, **more: object) -> Matches:
    return desk.read(find_matches, parse_rule(rule), **more)


def apply(desk: Desk, rule: str, verdict: Verdict = A, **more: object) -> Applied:
    ann = desk.who("Ann")
    return desk.write(apply_rule, parse_rule(rule), verdict=verdict, reviewer_id=ann, **more)


def statuses(desk: Desk) -> list[Status]:
    return [one.status for one in desk.standings().values()]


@both_databases
def test_comparisons_can_be_strict_and_flags_are_distinguished(six: Desk) -> None:
    six.write(measure, [1], levenshtein=59, flags=Flag.CONTENT_DROPPED)
    both = Flag.CONTENT_DROPPED | Flag.OVER_THRESHOLD
    six.write(measure, [2, 3], levenshtein=60, flags=both)
    six.write(measure, [4, 5, 6], levenshtein=61)
    signs = ("<", "<=", ">", ">=", "=", "!=")
    found = {sign: matches(six, f"levenshtein {sign} 60").total for sign in signs}
    assert found == {"<": 1, "<=": 3, ">": 3, ">=": 5, "=": 2, "!=": 4}
    for rule, total in (
        ("flag = content_dropped", 3),
        ("flag = content_dropped and flag != over_threshold", 1),
        ("flag = content_dropped and flag = over_threshold", 2),
        ("no flags", 3),
    ):
        assert matches(six, rule).total == total


@both_databases
def test_unmeasured_variants_never_match_and_are_counted(six: Desk) -> None:
    six.write(measure, [1, 2, 3, 4])
    with writing(six.engine) as session:
        active = register_encoder(session, name=DEFAULT_ENCODER, hash_="1" * 64)
        other = register_encoder(session, name="other", hash_="2" * 64)
        for encoder, variant_id in ((active, 1), (active, 2), (other, 3)):
            key = {"encoder_id": encoder.id or 0, "variant_id": variant_id}
            session.add(VariantCosine(**key, cosine=0.5))
    for rule, total, unmeasured in (
        ("levenshtein < 9 and flag != unchanged", 4, 2),
        ("cosine < 0.8", 2, 4),
        ("cosine >= 0.8", 0, 4),
    ):
        found = matches(six, rule)
        assert (found.total, found.unmeasured) == (total, unmeasured)


def test_only_pending_variants_in_use_match_and_those_of_a_type_if_asked_for(
    measured: Desk,
) -> None:
    measured.change(1, status=Status.ACCEPTED)
    measured.change(2, retired=True)
    assert matches(measured, "no flags").by_type == {"verbal": 2, "word": 2}
    assert matches(measured, "no flags", types=("verbal",)).by_type == {"verbal": 2}
    with refused("verbal.*'verbl'"):
        matches(measured, "no flags", types=("verbl",))


# -- applying ----------------------------------------------------------------------------------


@both_databases
def test_all_decisions_share_one_action_and_one_undo(
    engine: Engine, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(bulk, "BLOCK", 7)  # several blocks
    desk, rule = Desk(engine), "levenshtein > 60"
    ids = desk.write(add_variants, 30)
    desk.write(measure, ids[:20], levenshtein=70)
    desk.write(measure, ids[20:])
    counted = matches(desk, rule)
    found, action_id = apply(desk, rule, R, reason="content_dropped")
    assert found == counted and found.total == 20
    assert statuses(desk) == [Status.REJECTED] * 20 + [Status.PENDING] * 10
    rows = {(row.action_id, row.reason, row.note) for row in desk.rows(Decision)}
    assert rows == {(action_id, "content_dropped", f"Rule: {rule}")}
    assert desk.undone("Ann").decisions == 20
    assert statuses(desk) == [Status.PENDING] * 30


def test_a_second_application_finds_nothing_left(measured: Desk) -> None:
    first, second = apply(measured, "no flags"), apply(measured, "no flags")
    assert statuses(measured) == [Status.ACCEPTED] * 6
    assert (first.matches.total, second.matches.total, second.action_id) == (6, 0, None)


def test_a_reason_that_is_unknown_or_not_for_every_type_that_matches_changes_nothing(
    measured: Desk,
) -> None:
    with refused("'ugly'"):
        apply(measured, "no flags", R, reason="ugly")
    hedges = {"reason": "not_a_hedge"}
    with refused("for hedges"):
        matches(measured, "no flags", **hedges)
    for types in ((), ("verbal",)):
        with refused("for hedges"):
            apply(measured, "no flags", R, types=types, **hedges)
    assert measured.rows(Decision) == []
    done = apply(measured, "no flags", R, types=("word",), **hedges)
    assert done.matches.by_type == {"word": 3}


@pytest.mark.slow
@both_databases
@pytest.mark.parametrize(
    "count", [1_200, pytest.param(12_000, marks=pytest.mark.soak("histories"))]
)
def test_more_than_one_statement_holds_are_decided_and_undone_at_once(
    engine: Engine, count: int
) -> None:
    desk = Desk(engine)
    desk.write(measure, desk.write(add_variants, count), levenshtein=70)
    assert apply(desk, "levenshtein > 60").matches.total == count
    assert desk.read(status_counts)["word"][Status.ACCEPTED] == count / 2
    assert desk.undone("Ann").decisions == count
    assert desk.read(status_counts)["word"][Status.PENDING] == count / 2
