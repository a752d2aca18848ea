"""A rule decides on every pending variant that it matches, and on nothing else."""

from collections.abc import Iterable

import pytest
from sqlalchemy import Engine, func, insert, select
from sqlalchemy.orm import Session
from sqlmodel import col

from curation.diagnostics.measures import Flag
from curation.encoders.model_folders import DEFAULT_ENCODER
from curation.encoders.registered import register_encoder
from curation.project.opening import active_encoder_id
from curation.review import actions, bulk
from curation.review.bulk import FlagSet, MeasureClause, apply_rule, find_matches, parse_rule
from curation.review.people.reviewers import ensure_reviewer
from curation.review.queue import status_counts
from db.columns import now
from db.engine import reading, writing
from db.errors import HedgerowError
from db.models import Decision, Diagnostic, Status, Variant, VariantCosine, Verdict
from tests.support.databases import both_databases
from tests.support.factories import add_anchor

pytestmark = both_databases


class TestParsing:
    def test_clauses_are_joined_by_and_in_any_spacing_and_case(self) -> None:
        rule = parse_rule("  flag=content_dropped AND cosine<0.8 and Levenshtein >= 60 ")
        assert rule.clauses == (
            FlagSet(Flag.CONTENT_DROPPED, present=True),
            MeasureClause("cosine", "<", 0.8),
            MeasureClause("levenshtein", ">=", 60),
        )
        assert rule.needs_cosine

    def test_no_flags_means_none_of_all(self) -> None:
        (clause,) = parse_rule("no flags").clauses
        assert clause == FlagSet(Flag(sum(Flag)), present=False)

    @pytest.mark.parametrize(
        ("text", "message"),
        [
            ("", "found 0"),
            ("levenshtein > 60" + " and no flags" * 50, "at most|1 to 500"),
            ("levenshtein", "found 'levenshtein'"),
            ("levenshtein > 60 or no flags", "found 'levenshtein > 60 or no flags'"),
            ("levenshtein > 60 and", "found 'levenshtein > 60 and'"),
            ("length > 60", "found 'length'"),
            ("cosine < 0.8.1", "found '0.8.1'"),
            ("cosine < nan", "found 'nan'"),
            ("levenshtein > 1e9", "found '1e9'"),
            ("flag = nice", "content_dropped.*found 'nice'"),
            ("flag > unchanged", "flag = NAME"),
            ("__import__('os').system('true') > 1", "found"),
            ("levenshtein > (select 1)", "found"),
        ],
    )
    def test_anything_else_is_refused_with_one_sentence(self, text: str, message: str) -> None:
        with pytest.raises(HedgerowError, match=message):
            parse_rule(text)

    @pytest.mark.parametrize(
        "text", ["cosine < 80", "content_kept > 1.5", "levenshtein > -1", "cosine > -1.01"]
    )
    def test_a_number_that_a_measure_never_reaches_is_refused(self, text: str) -> None:
        with pytest.raises(HedgerowError, match="at least"):
            parse_rule(text)


def add_variants(session: Session, count: int) -> list[int]:
    """Pending variants of one anchor, alternating between types."""
    anchor = add_anchor(session, "It holds.")
    rows = [
        {
            "uid": f"{i:016x}",
            "anchor_id": anchor.id,
            "anchor_revision": 1,
            "type_id": ("verbal", "word")[i % 2],
            "text": f"It is not {i}.",
            "created_at": now(),
        }
        for i in range(count)
    ]
    session.execute(insert(Variant), rows)
    return list(session.execute(select(col(Variant.id)).order_by(col(Variant.id))).scalars())


def measure(session: Session, ids: Iterable[int], *, levenshtein: int = 0, flags: int = 0) -> None:
    rows = [
        {
            "variant_id": variant_id,
            "levenshtein": levenshtein,
            "length_ratio": 1.0,
            "content_kept": 1.0,
            "flags": flags,
            "created_at": now(),
        }
        for variant_id in ids
    ]
    session.execute(insert(Diagnostic), rows)


def statuses(session: Session) -> list[Status]:
    return list(session.execute(select(col(Variant.status)).order_by(col(Variant.id))).scalars())


class TestMatching:
    def test_comparisons_can_be_strict(self, engine: Engine) -> None:
        with writing(engine) as session:
            ids = add_variants(session, 6)
            measure(session, ids[:2], levenshtein=59)
            measure(session, ids[2:4], levenshtein=60)
            measure(session, ids[4:], levenshtein=61)
        with reading(engine) as session:
            found = {
                sign: find_matches(session, parse_rule(f"levenshtein {sign} 60")).total
                for sign in ("<", "<=", ">", ">=", "=", "!=")
            }
        assert found == {"<": 2, "<=": 4, ">": 2, ">=": 4, "=": 2, "!=": 4}

    def test_flags_are_distinguished_if_several_are_set(self, engine: Engine) -> None:
        with writing(engine) as session:
            ids = add_variants(session, 6)
            measure(session, ids[:1], flags=Flag.CONTENT_DROPPED)
            measure(session, ids[1:3], flags=Flag.CONTENT_DROPPED | Flag.OVER_THRESHOLD)
            measure(session, ids[3:])
        with reading(engine) as session:
            found = {
                rule: find_matches(session, parse_rule(rule)).total
                for rule in (
                    "flag = content_dropped",
                    "flag = content_dropped and flag != over_threshold",
                    "flag = content_dropped and flag = over_threshold",
                    "no flags",
                )
            }
        assert list(found.values()) == [3, 1, 2, 3]

    def test_unmeasured_variants_never_match_and_are_counted(self, engine: Engine) -> None:
        with writing(engine) as session:
            ids = add_variants(session, 6)
            measure(session, ids[:4])
            active = register_encoder(session, name=DEFAULT_ENCODER, hash_="1" * 64)
            other = register_encoder(session, name="other", hash_="2" * 64)
            assert active_encoder_id(session) == active.id
            cosines = [(active.id, ids[0]), (active.id, ids[1]), (other.id, ids[2])]
            session.add_all(
                VariantCosine(encoder_id=encoder_id or 0, variant_id=variant_id, cosine=0.5)
                for encoder_id, variant_id in cosines
            )
        with reading(engine) as session:
            by_distance = find_matches(session, parse_rule("levenshtein < 9 and flag != unchanged"))
            by_cosine = find_matches(session, parse_rule("cosine < 0.8"))
            above = find_matches(session, parse_rule("cosine >= 0.8"))
        assert (by_distance.total, by_distance.unmeasured) == (4, 2)
        assert (by_cosine.total, by_cosine.unmeasured) == (2, 4)
        assert (above.total, above.unmeasured) == (0, 4)

    def test_only_pending_variants_in_use_match(self, engine: Engine) -> None:
        with writing(engine) as session:
            ids = add_variants(session, 4)
            measure(session, ids)
            session.get_one(Variant, ids[0]).status = Status.ACCEPTED
            session.get_one(Variant, ids[1]).retired = True
        with reading(engine) as session:
            assert find_matches(session, parse_rule("no flags")).by_type == {"verbal": 1, "word": 1}

    def test_one_type_can_be_asked_for_and_must_exist(self, engine: Engine) -> None:
        rule = parse_rule("no flags")
        with writing(engine) as session:
            measure(session, add_variants(session, 5))
        with reading(engine) as session:
            assert find_matches(session, rule, types=("verbal",)).by_type == {"verbal": 3}
            with pytest.raises(HedgerowError, match="verbal.*found 'verbl'"):
                find_matches(session, rule, types=("verbl",))


class TestApplying:
    def test_all_decisions_share_one_action_and_one_undo(
        self, engine: Engine, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(bulk, "BLOCK", 7)  # several blocks
        with writing(engine) as session:
            ids = add_variants(session, 30)
            measure(session, ids[:20], levenshtein=70)
            measure(session, ids[20:])
            reviewer = ensure_reviewer(session, "Ann")
        with writing(engine) as session:
            rule = parse_rule("levenshtein > 60")
            counted = find_matches(session, rule)
            matches, action_id = apply_rule(
                session,
                rule,
                verdict=Verdict.REJECT,
                reason="content_dropped",
                reviewer_id=reviewer.id,
            )
        assert matches == counted
        assert matches.total == 20
        with reading(engine) as session:
            assert statuses(session) == [Status.REJECTED] * 20 + [Status.PENDING] * 10
            decisions = session.execute(select(Decision)).scalars().all()
            assert {d.action_id for d in decisions} == {action_id}
            assert {(d.reason, d.note) for d in decisions} == {
                ("content_dropped", "Rule: levenshtein > 60")
            }
        with writing(engine) as session:
            undone = actions.undo(session, reviewer_id=reviewer.id)
            assert undone is not None and undone.decisions == 20
        with reading(engine) as session:
            assert statuses(session) == [Status.PENDING] * 30

    def test_a_second_application_finds_nothing_left(self, engine: Engine) -> None:
        rule = parse_rule("no flags")
        with writing(engine) as session:
            measure(session, add_variants(session, 3))
            reviewer_id = ensure_reviewer(session, "Ann").id
            first = apply_rule(session, rule, verdict=Verdict.ACCEPT, reviewer_id=reviewer_id)
            second = apply_rule(session, rule, verdict=Verdict.ACCEPT, reviewer_id=reviewer_id)
            assert statuses(session) == [Status.ACCEPTED] * 3
        assert (first.matches.total, second.matches.total, second.action_id) == (3, 0, None)

    def test_an_unknown_reason_changes_nothing(self, engine: Engine) -> None:
        with writing(engine) as session:
            measure(session, add_variants(session, 2))
            reviewer_id = ensure_reviewer(session, "Ann").id
            with pytest.raises(HedgerowError, match="reject reason"):
                apply_rule(
                    session,
                    parse_rule("no flags"),
                    verdict=Verdict.REJECT,
                    reason="ugly",
                    reviewer_id=reviewer_id,
                )
            assert session.execute(select(func.count()).select_from(Decision)).scalar() == 0

    def test_a_reason_that_is_not_for_every_type_that_matches_changes_nothing(
        self, engine: Engine
    ) -> None:
        rule = parse_rule("no flags")
        with writing(engine) as session:
            measure(session, add_variants(session, 4))
            reviewer_id = ensure_reviewer(session, "Ann").id
            with pytest.raises(HedgerowError, match="for hedges"):
                find_matches(session, rule, reason="not_a_hedge")
            for types in ((), ("verbal",)):
                with pytest.raises(HedgerowError, match="for hedges"):
                    apply_rule(
                        session,
                        rule,
                        verdict=Verdict.REJECT,
                        reason="not_a_hedge",
                        types=types,
                        reviewer_id=reviewer_id,
                    )
            assert session.execute(select(func.count()).select_from(Decision)).scalar() == 0
            done = apply_rule(
                session,
                rule,
                verdict=Verdict.REJECT,
                reason="not_a_hedge",
                types=("word",),
                reviewer_id=reviewer_id,
            )
        assert done.matches.by_type == {"word": 2}

    @pytest.mark.slow
    def test_many_thousands_are_decided_and_undone_at_once(self, engine: Engine) -> None:
        count = 12_000  # several times the maximum of one statement
        with writing(engine) as session:
            measure(session, add_variants(session, count), levenshtein=70)
            reviewer_id = ensure_reviewer(session, "Ann").id
        with writing(engine) as session:
            rule = parse_rule("levenshtein > 60")
            applied = apply_rule(session, rule, verdict=Verdict.ACCEPT, reviewer_id=reviewer_id)
            assert status_counts(session)["word"][Status.ACCEPTED] == count / 2
        with writing(engine) as session:
            undone = actions.undo(session, reviewer_id=reviewer_id)
            assert status_counts(session)["word"][Status.PENDING] == count / 2
        assert applied.matches.total == count
        assert undone is not None and undone.decisions == count
