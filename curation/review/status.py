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
        by_rule: a rule over measures made it; nobody has read the variant.
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
    by_rule: bool = False


class Standing(NamedTuple):
    """Where a variant stands.

    Attributes:
        second_look: it is pending only because its anchor was corrected after it was decided.
        model_only: it is accepted, and no person's verdict stands on it.
        verdicts_by: the ids of the people who have decided on it, as ',3,7,', while more people are
            to; else ''.
    """

    status: Status
    second_look: bool
    model_only: bool = False
    verdicts_by: str = ""


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
    votes: Sequence[Vote],
    *,
    births: Sequence[Vote] = (),
    since_version: int = 1,
    wanted: int = 1,
) -> Standing:
    """Where a variant stands whose decisions count from ``since_version`` on.

    As in ``status_of``, by the votes since then. Where those leave it open, what was decided
    before says how: a replaced wording stays superseded, anything else that had been decided
    comes back for a second look.

    Args:
        votes: every decision on the variant.
        births: as in ``status_of``.
        since_version: the version that the latest correction of the anchor gave the variant.
        wanted: how many people are to decide on it.
    """
    counted = fresh(votes, since_version)
    now = status_of(counted)
    if now is not Status.PENDING:
        people = [vote for vote in live(counted) if vote.is_person]
        only_models = now is Status.ACCEPTED and not people
        return Standing(now, False, only_models, _unfinished(people, wanted))
    ever = status_of(votes, births=births)
    if ever in (Status.PENDING, Status.SUPERSEDED):
        return Standing(ever, False)
    return Standing(Status.PENDING, True)


def _unfinished(votes: Sequence[Vote], wanted: int) -> str:
    """Who has decided, while more people are to: see ``Standing.verdicts_by``.

    A settlement makes further verdicts pointless. What a rule decided nobody has read: whoever
    applied it wants no second reader.

    Args:
        votes: those of people that stand.
    """
    if any(vote.adjudicates or vote.by_rule for vote in votes):
        return ""
    people = sorted({vote.reviewer_id for vote in votes})
    return f",{','.join(map(str, people))}," if 0 < len(people) < wanted else ""


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
