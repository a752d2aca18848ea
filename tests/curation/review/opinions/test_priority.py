"""Doubt: variants that a model is unsure about or contradicts come first."""

from hypothesis import given
from hypothesis import strategies as st
from sqlalchemy import Engine

from curation.diagnostics.measures import Flag
from curation.diagnostics.measuring import measure_variants
from curation.review.opinions.priority import ModelVerdict, opinion_priority
from curation.review.queue import Order, next_variant
from db.engine import reading, writing
from db.models import Variant, Verdict
from tests.support.databases import both_databases
from tests.support.factories import add_family, add_opinion, judge

pytestmark = both_databases

A, R, E = Verdict.ACCEPT, Verdict.REJECT, Verdict.EDIT
SAID = st.builds(
    ModelVerdict, st.sampled_from([A, R, E]), st.none() | st.floats(0, 1, allow_nan=False)
)


def test_doubt_by_hand() -> None:
    assert opinion_priority([], Flag(0)) == 0
    assert opinion_priority([ModelVerdict(A, 0.75)], Flag(0)) == 0.25
    assert opinion_priority([ModelVerdict(A, None)], None) == 0.5
    assert opinion_priority([ModelVerdict(A, 0.75)], Flag.WRONG_SURFACE) == 0.625
    assert (
        opinion_priority([ModelVerdict(A, 0.75)], Flag.OVER_THRESHOLD | Flag.ANCHOR_NOT_AFFIRMATIVE)
        == 0.25
    )
    assert opinion_priority([ModelVerdict(E, 0.75)], Flag(0)) == 0.625
    assert opinion_priority([ModelVerdict(R, 0.75)], Flag.WRONG_SURFACE) == 0.25
    assert opinion_priority([ModelVerdict(R, 0.75)], None) == 0.25
    assert opinion_priority([ModelVerdict(A, 1.0), ModelVerdict(R, 0.5)], None) == 0.625
    assert opinion_priority([ModelVerdict(E, 1.0), ModelVerdict(R, 0.5)], None) == 0.25


@given(st.lists(SAID, max_size=4), st.none() | st.integers(0, 127).map(Flag))
def test_doubt_is_between_0_and_1_and_certainty_lowers_it(
    verdicts: list[ModelVerdict], flags: Flag | None
) -> None:
    found = opinion_priority(verdicts, flags)
    assert 0 <= found <= 1
    surer = [one._replace(certainty=1.0) for one in verdicts]
    assert opinion_priority(surer, flags) <= found


def test_the_queue_begins_with_the_most_doubtful_and_measuring_may_change_it(
    engine: Engine,
) -> None:
    with writing(engine) as session:
        found = add_family(session)
        who = judge(session)
        wrong = found["word"]
        wrong.text = "The bridge is safe, they say."  # without its cue
        session.flush()
        add_opinion(session, found["verbal"], reviewer_id=who, certainty=0.7)
        add_opinion(session, wrong, reviewer_id=who, certainty=0.9)
        keys = [found["verbal"].id, wrong.id]

    def first() -> Variant | None:
        with reading(engine) as session:
            return next_variant(session, type_ids=["verbal", "word"], order=Order.DOUBTFUL)

    head = first()
    assert head is not None and (head.type_id, head.doubt) == ("verbal", 1 - 0.7)
    with writing(engine) as session:
        measure_variants(session, keys)
    head = first()
    assert head is not None and head.type_id == "word" and head.doubt > 0.5
