"""The status rule: adjudication over people over models over nothing."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from curation.status import Vote, live, status_of
from db.models import Status, Verdict

A, R, E, T = Verdict.ACCEPT, Verdict.REJECT, Verdict.EDIT, Verdict.RETRACT


def person(number: int, reviewer: int, verdict: Verdict, **more: object) -> Vote:
    return Vote(id=number, reviewer_id=reviewer, verdict=verdict, is_person=True, **more)  # type: ignore[arg-type]


def model(number: int, verdict: Verdict, *, counts: bool = True) -> Vote:
    return Vote(id=number, reviewer_id=99, verdict=verdict, is_person=False, counts=counts)


@pytest.mark.parametrize(
    ("votes", "status"),
    [
        ([], Status.PENDING),
        ([person(1, 1, A)], Status.ACCEPTED),
        ([person(1, 1, R)], Status.REJECTED),
        ([person(1, 1, E, child_id=5)], Status.SUPERSEDED),
        ([person(1, 1, A), person(2, 2, A)], Status.ACCEPTED),
        ([person(1, 1, A), person(2, 2, R)], Status.CONFLICT),
        ([person(1, 1, A), person(2, 1, R)], Status.REJECTED),
        ([person(1, 1, E, child_id=5), person(2, 2, E, child_id=6)], Status.CONFLICT),
        ([person(1, 1, E, child_id=5), person(2, 2, E, child_id=5)], Status.SUPERSEDED),
        ([model(1, A)], Status.ACCEPTED),
        ([model(1, A, counts=False)], Status.PENDING),
        ([model(1, A), person(2, 1, R)], Status.REJECTED),
        ([person(1, 1, R), model(2, A)], Status.REJECTED),
        ([person(1, 1, A), person(2, 1, T, retracts_id=1)], Status.PENDING),
        ([model(1, A), person(2, 1, R), person(3, 1, T, retracts_id=2)], Status.ACCEPTED),
        ([person(1, 1, A), person(2, 1, R), person(3, 1, T, retracts_id=2)], Status.ACCEPTED),
        ([person(1, 1, A), person(2, 2, R), person(3, 3, A, adjudicates=True)], Status.ACCEPTED),
        (
            [person(1, 3, A, adjudicates=True), person(2, 3, R, adjudicates=True)],
            Status.REJECTED,
        ),
    ],
)
def test_the_rule(votes: list[Vote], status: Status) -> None:
    assert status_of(votes) == status


def test_a_child_whose_edit_was_taken_back_gives_way_to_the_original() -> None:
    birth = person(1, 1, E, child_id=5)
    retract = person(2, 1, T, retracts_id=1)
    assert status_of([], births=[birth]) == Status.PENDING
    assert status_of([], births=[birth, retract]) == Status.SUPERSEDED
    assert status_of([person(3, 2, A)], births=[birth, retract]) == Status.ACCEPTED


votes = st.lists(
    st.builds(
        Vote,
        id=st.just(0),
        reviewer_id=st.integers(1, 4),
        verdict=st.sampled_from([A, R, E]),
        is_person=st.just(True),
        child_id=st.integers(1, 2),
    ),
    max_size=8,
).map(lambda found: [Vote(**(vars(v) | {"id": i})) for i, v in enumerate(found, start=1)])


@given(votes)
def test_only_the_latest_verdict_of_each_person_matters(found: list[Vote]) -> None:
    latest = {vote.reviewer_id: vote for vote in found}
    assert status_of(found) == status_of(sorted(latest.values(), key=lambda v: v.id))


@given(votes, st.randoms())
def test_the_order_in_which_rows_are_read_does_not_matter(
    found: list[Vote], random: object
) -> None:
    shuffled = list(found)
    random.shuffle(shuffled)  # type: ignore[attr-defined]
    assert status_of(shuffled) == status_of(found)


@given(votes)
def test_taking_everything_back_leaves_it_pending(found: list[Vote]) -> None:
    retracts = [person(100 + vote.id, vote.reviewer_id, T, retracts_id=vote.id) for vote in found]
    assert live(found + retracts) == []
    assert status_of(found + retracts) == Status.PENDING
