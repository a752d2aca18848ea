"""What the decisions on a variant add up to: a pure function of the decisions."""

from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass

from db.models import Status, Verdict


@dataclass(frozen=True)
class Vote:
    """A decision as far as the status depends on it.

    Attributes:
        id: order of the decisions; a later one has the greater id.
        counts: for a model, whether its verdicts are switched on.
        child_id: the variant that an edit made.
        retracts_id: the decision that a retract takes back.
    """

    id: int
    reviewer_id: int
    verdict: Verdict
    is_person: bool
    counts: bool = True
    adjudicates: bool = False
    child_id: int | None = None
    retracts_id: int | None = None


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


def status_of(votes: Sequence[Vote], *, births: Sequence[Vote] = ()) -> Status:
    """The status that a variant's decisions give it.

    An adjudication decides, the latest if there are several. Else the latest verdict of each
    person: all the same gives that, different ones give a conflict. Else, in the same way, the
    verdicts of the models that are switched on. Else it is pending. Two edits agree only if they
    made the same child.

    Args:
        votes: every decision on the variant.
        births: every decision, retracts included, on the variants that this one was edited from
            and that name it as their child; none for an original.

    Returns:
        The status. A child whose edit was taken back, and which nobody else has decided on, is
        superseded: the original stands again.
    """
    standing = live(votes)
    adjudications = [vote for vote in standing if vote.adjudicates]
    if adjudications:
        return _STATUS_OF[adjudications[-1].verdict]
    people = [vote for vote in standing if vote.is_person]
    models = [vote for vote in standing if not vote.is_person and vote.counts]
    for group in (people, models):
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
