"""The status rule: adjudication outranks people, who outrank models."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from curation.decisions.status import Standing, Vote, live, standing_of, status_of
from db.models import Status, Verdict

A, R, E, T = Verdict.ACCEPT, Verdict.REJECT, Verdict.EDIT, Verdict.RETRACT


def person(number: int, reviewer: int, verdict: Verdict, **more: object) -> Vote:
    return Vote(id=number, reviewer_id=reviewer, verdict=verdict, is_person=True, **more)  # type: ignore[arg-type]


def model(
    number: int, verdict: Verdict, *, counts: bool = True, reviewer: int = 99, **more: object
) -> Vote:
    return Vote(
        id=number,
        reviewer_id=reviewer,
        verdict=verdict,
        is_person=False,
        counts=counts,
        **more,  # type: ignore[arg-type]
    )


def second(number: int, *, counts: bool = True) -> Vote:
    """The edit of a second model, which settles a disagreement with the first one."""
    return model(number, E, counts=counts, reviewer=98, child_id=5, adjudicates=True)


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
        ([model(1, A), model(2, E, reviewer=98, child_id=5)], Status.CONFLICT),
        ([model(1, A), second(2)], Status.SUPERSEDED),
        ([model(1, A), second(2, counts=False)], Status.ACCEPTED),
        ([model(1, A), second(2), person(3, 1, A)], Status.ACCEPTED),
        ([person(1, 1, R), model(2, A), second(3)], Status.REJECTED),
    ],
)
def test_the_rule(votes: list[Vote], status: Status) -> None:
    assert status_of(votes) == status


def test_a_child_whose_edit_was_undone_gives_way_to_the_original() -> None:
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


PENDING = Standing(Status.PENDING, False)
SECOND_LOOK = Standing(Status.PENDING, True)


@pytest.mark.parametrize(
    ("votes", "standing"),
    [
        ([], PENDING),
        ([person(1, 1, A)], SECOND_LOOK),
        ([person(1, 1, R)], SECOND_LOOK),
        ([person(1, 1, A), person(2, 2, R)], SECOND_LOOK),
        ([model(1, A)], SECOND_LOOK),
        ([model(1, A, counts=False)], PENDING),
        ([person(1, 1, E, child_id=5)], Standing(Status.SUPERSEDED, False)),
        ([person(1, 1, A), person(2, 1, T, retracts_id=1, variant_version=4)], PENDING),
        ([person(1, 1, A), person(2, 1, T, retracts_id=1)], PENDING),
        ([person(1, 1, A, variant_version=4)], Standing(Status.ACCEPTED, False)),
        ([person(1, 1, R), person(2, 2, A, variant_version=4)], Standing(Status.ACCEPTED, False)),
        ([person(1, 1, R), model(2, A)], SECOND_LOOK),
        (
            [person(1, 1, R), person(2, 1, A, variant_version=3)],
            Standing(Status.ACCEPTED, False),
        ),
        (
            [person(1, 1, A, adjudicates=True), person(2, 2, R, variant_version=3)],
            Standing(Status.REJECTED, False),
        ),
        # An earlier retraction of a later verdict still is a retraction.
        (
            [person(1, 1, A, variant_version=3), person(2, 1, T, retracts_id=1)],
            PENDING,
        ),
    ],
)
def test_after_a_correction_only_later_verdicts_count(
    votes: list[Vote], standing: Standing
) -> None:
    assert standing_of(votes, since_version=3) == standing


def test_a_child_whose_edit_was_undone_gets_the_second_look_of_its_own_verdict() -> None:
    births = [person(1, 1, E, child_id=5), person(2, 1, T, retracts_id=1)]
    superseded = Standing(Status.SUPERSEDED, False)
    assert standing_of([], births=births, since_version=3) == superseded
    assert standing_of([person(3, 2, A)], births=births, since_version=3) == SECOND_LOOK
    assert standing_of([person(3, 2, A)], births=births[:1], since_version=3) == SECOND_LOOK


@given(votes, st.integers(1, 9), st.integers(1, 9))
def test_without_a_correction_nothing_needs_a_second_look(
    found: list[Vote], version: int, since: int
) -> None:
    aged = [Vote(**(vars(v) | {"variant_version": version})) for v in found]
    standing = standing_of(aged, since_version=since)
    if version >= since:
        assert standing == Standing(status_of(found), False)
    else:
        decided = status_of(found) not in (Status.PENDING, Status.SUPERSEDED)
        assert standing.second_look is decided
        assert standing.status is (Status.PENDING if decided else status_of(found))
