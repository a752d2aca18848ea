"""Accepting what a trusted judge accepts: by a rule, types that qualify, and a single undo."""

import pytest
from sqlalchemy import Engine, select
from sqlmodel import col

from curation.release.freezing import create_release
from curation.release.selection import Selection
from curation.review import actions
from curation.review.actions import shown
from curation.review.bulk import find_matches, parse_rule
from curation.review.calibration import figures
from curation.review.calibration.sample import SampleRequest
from curation.review.calibration.trusting import accept_trusted, count_trusted, trust
from db.engine import reading, writing
from db.errors import HedgerowError
from db.models import Decision, ReleaseItem, Status, Variant, Verdict
from tests.support.databases import both_databases
from tests.support.factories import add_family, add_opinion, draw_sample, judge, person

pytestmark = both_databases

NAME = "judge: a and b, prompt 1"


@pytest.fixture
def judged(engine: Engine, monkeypatch: pytest.MonkeyPatch) -> Engine:
    """Of 12 families, the judge accepts all verbal variants and half of the others. Six were
    decided blind, the verbal ones accepted, the others rejected. Five items are enough."""
    monkeypatch.setattr(figures, "FEWEST", 5)
    with writing(engine) as session:
        ada, who = person(session), judge(session, "a and b")
        variants = []
        for number in range(12):
            family = add_family(session, f"Bridge {number} is safe.", subject=f"bridge {number}")
            for type_id in ("verbal", "word"):
                accepts = type_id == "verbal" or number % 2 == 0
                verdict = Verdict.ACCEPT if accepts else Verdict.REJECT
                add_opinion(session, family[type_id], verdict, reviewer_id=who)
                variants.append(family[type_id])
        draw_sample(session, SampleRequest(size=12, types=("verbal", "word")))
        for variant in variants[:12]:
            card = shown(variant, blind=True)
            if variant.type_id == "verbal":
                actions.accept(session, card, reviewer_id=ada)
            else:
                actions.reject(session, card, reviewer_id=ada, reason="wrong_scope")
    return engine


def statuses(engine: Engine, type_id: str) -> list[Status]:
    query = select(col(Variant.status)).where(col(Variant.type_id) == type_id)
    with reading(engine) as session:
        return list(session.execute(query.order_by(col(Variant.id))).scalars())


def test_only_types_that_qualify_are_accepted_and_undone_together(judged: Engine) -> None:
    before = statuses(judged, "verbal"), statuses(judged, "word")
    with writing(judged) as session:
        ada = person(session)
        found = trust(session, NAME, precision=0.5)
        assert found.types == ("verbal",) and count_trusted(session, found) == {"verbal": 6}
        done = accept_trusted(session, found, reviewer_id=ada)
        assert done.matches.by_type == {"verbal": 6} and done.matches.unmeasured == 0
        note = session.execute(
            select(col(Decision.note)).where(col(Decision.action_id) == done.action_id).limit(1)
        ).scalar_one()
        assert note == (
            f"Rule: accepted by {NAME}. Blind sample 25: verbal 100.0% right (at least 54.1%) on 6 "
            "accepted items."
        )
    assert statuses(judged, "verbal") == [Status.ACCEPTED] * 12
    assert statuses(judged, "word") == before[1]
    with writing(judged) as session:
        release = create_release(session, selection=Selection()).release
        decided = [
            row["decided_by"]
            for row in session.execute(
                select(col(ReleaseItem.provenance)).where(col(ReleaseItem.release_id) == release.id)
            ).scalars()
        ]
        assert sorted(decided) == ["person"] * 6 + ["rule"] * 6
        actions.undo(session, reviewer_id=ada)
    assert statuses(judged, "verbal") == before[0]


def test_types_that_do_not_qualify_are_refused(judged: Engine) -> None:
    with reading(judged) as session:
        with pytest.raises(HedgerowError, match="No type qualifies for"):
            trust(session, NAME)
        with pytest.raises(HedgerowError, match=r"qualify for .* \(verbal\), found 'word'"):
            trust(session, NAME, types=["word"], precision=0.5)
        with pytest.raises(HedgerowError, match="name of a judge of sample"):
            trust(session, "judge: other, prompt 1")


def test_a_rule_may_name_a_judge(judged: Engine) -> None:
    with writing(judged) as session:
        add_opinion(session, add_family(session)["verbal"], reviewer_id=judge(session, "c"))
        found = find_matches(session, parse_rule("accepted by judge: c, prompt 1"))
        assert found.by_type == {"verbal": 1} and found.unmeasured == 0
        assert find_matches(session, parse_rule("Rejected by judge: c, prompt 1")).total == 0
        with pytest.raises(HedgerowError, match="Expected the name of a judge"):
            find_matches(session, parse_rule("accepted by someone"))
