"""What the decisions on a variant add up to: a pure function of the decisions."""

from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from db.models import Status, Verdict


@dataclass(frozen=True)
class Vote:
    """A decision as far as the status depends on it.

    Attributes:
        id: order of the decisions; a later one has the greater id.
        counts: for a model, whether its verdicts are switched on.
        child_id: the variant that an edit made.
        retracts_id: the decision that a retract takes back.
        variant_version: the version of the variant that was judged.
    """

    id: int
    reviewer_id: int
    verdict: Verdict
    is_person: bool
    counts: bool = True
    adjudicates: bool = False
    child_id: int | None = None
    retracts_id: int | None = None
    variant_version: int = 1


class Standing(NamedTuple):
    """Where a variant stands.

    Attributes:
        second_look: it is pending only because its anchor was corrected after it was decided.
        model_only: it is accepted, and no person's verdict stands on it.
    """

    status: Status
    second_look: bool
    model_only: bool = False


def status_label(status: Status) -> str:
    """The status in words: 'pending', 'in conflict'."""
    return "in conflict" if status is Status.CONFLICT else status.value


_STATUS_OF = {
    Verdict.ACCEPT: Status.ACCEPTED,
    Verdict.REJECT: Status.REJECTED,
    Verdict.EDIT: Status.SUPERSEDED,
}


def live(votes: Iterable[Vote]) -> list[Vote]:
    """The votes that stand: neither retracts nor retracted, in order."""
    votes = list(votes)
    retracted = {vote.retracts_id for vote in votes if vote.verdict == Verdict.RETRACT}
    standing = [v for v in votes if v.verdict != Verdict.RETRACT and v.id not in retracted]
    return sorted(standing, key=lambda vote: vote.id)


def fresh(votes: Iterable[Vote], since_version: int) -> list[Vote]:
    """The votes on this version or a later one, and all retracts: what is taken back stays so."""
    return [
        vote
        for vote in votes
        if vote.variant_version >= since_version or vote.verdict == Verdict.RETRACT
    ]


def standing_of(
    votes: Sequence[Vote], *, births: Sequence[Vote] = (), since_version: int = 1
) -> Standing:
    """Where a variant stands whose decisions count from ``since_version`` on.

    As in ``status_of``, by the votes since then. Where those leave it open, what was decided
    before says how: a replaced wording stays superseded, anything else that had been decided
    comes back for a second look.

    Args:
        votes: every decision on the variant.
        births: as in ``status_of``.
        since_version: the version that the latest correction of the anchor gave the variant.
    """
    counted = fresh(votes, since_version)
    now = status_of(counted)
    if now is not Status.PENDING:
        by_a_person = any(vote.is_person for vote in live(counted))
        return Standing(now, False, now is Status.ACCEPTED and not by_a_person)
    ever = status_of(votes, births=births)
    if ever in (Status.PENDING, Status.SUPERSEDED):
        return Standing(ever, False)
    return Standing(Status.PENDING, True)


def status_of(votes: Sequence[Vote], *, births: Sequence[Vote] = ()) -> Status:
    """The status that a variant's decisions give it.

    An adjudication by a person decides, the latest if there are several. Else the latest verdict of
    each person: all the same gives that, different ones give a conflict. Else, in the same way, the
    adjudications and the verdicts of the models that are switched on. Else it is pending. Two edits
    agree only if they made the same child.

    Args:
        votes: every decision on the variant.
        births: every decision, retracts included, on the variants that this one was edited from
            and that name it as their child; none for an original.

    Returns:
        The status. A child whose edit was taken back, and which nobody else has decided on, is
        superseded: the original stands again.
    """
    standing = live(votes)
    people = [vote for vote in standing if vote.is_person]
    models = [vote for vote in standing if not vote.is_person and vote.counts]
    for group in (people, models):
        if adjudications := [vote for vote in group if vote.adjudicates]:
            return _STATUS_OF[adjudications[-1].verdict]
        if group:
            return _agreed(group)
    return Status.SUPERSEDED if births and not live(births) else Status.PENDING


def _agreed(votes: Sequence[Vote]) -> Status:
    latest = {vote.reviewer_id: vote for vote in votes}
    verdicts: Collection[tuple[Verdict, int | None]] = {
        (vote.verdict, vote.child_id) for vote in latest.values()
    }
    if len(verdicts) > 1:
        return Status.CONFLICT
    ((verdict, _),) = verdicts
    return _STATUS_OF[verdict]
