"""The status of a variant, as a pure function of its decisions."""

from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from db.models import Status, Verdict


@dataclass(frozen=True)
class Vote:
    """The parts of a decision that matter for the status.

    Attributes:
        id: later decisions have greater ids.
        counts: for a model, whether its verdicts are switched on.
        child_id: the variant that an edit made.
        retracts_id: the decision that a retract undoes.
        variant_version: the version of the variant that was judged.
        by_rule: a rule made it, without anybody reading the variant.
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
    """The status of a variant, with details.

    Attributes:
        second_look: it is pending only because its anchor was corrected after the decision.
        model_only: it is accepted, but by no person.
        verdicts_by: the ids of the people who have decided on it, as in ',3,7,', while other
            assigned people still have to; otherwise ''.
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
    """The votes that are neither retracts nor retracted, in order."""
    votes = list(votes)
    retracted = {vote.retracts_id for vote in votes if vote.verdict == Verdict.RETRACT}
    standing = [v for v in votes if v.verdict != Verdict.RETRACT and v.id not in retracted]
    return sorted(standing, key=lambda vote: vote.id)


def fresh(votes: Iterable[Vote], since_version: int) -> list[Vote]:
    """The votes on this version or later ones, and all retracts, which stay in effect."""
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
    """The standing of a variant whose decisions count from ``since_version`` on.

    The votes since then give the status as in ``status_of``. If they leave it pending, earlier
    decisions matter: a superseded variant stays superseded, and any other variant that had been
    decided comes back for a second look.

    Args:
        votes: all decisions on the variant.
        births: as in ``status_of``.
        since_version: the variant's version since the latest correction of its anchor.
        wanted: the number of people assigned to it.
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
    """Who has decided, while others still have to: see ``Standing.verdicts_by``.

    After a settlement or a decision by a rule, no further verdicts are needed.

    Args:
        votes: people's live votes.
    """
    if any(vote.adjudicates or vote.by_rule for vote in votes):
        return ""
    people = sorted({vote.reviewer_id for vote in votes})
    return f",{','.join(map(str, people))}," if 0 < len(people) < wanted else ""


def status_of(votes: Sequence[Vote], *, births: Sequence[Vote] = ()) -> Status:
    """The status of a variant by its decisions.

    The latest adjudication by a person decides. Without one, each person's latest verdict counts:
    if all agree, they give the status, and otherwise the variant is in conflict. Without decisions
    by people, the same rules apply to the models that are switched on. Without any decision, the
    variant is pending. Two edits agree only if they made the same child.

    Args:
        votes: all decisions on the variant.
        births: all decisions, including retracts, on the variants that this one was edited from and
            that name it as their child; empty for an original.

    Returns:
        The status. A child whose edit was undone and that nobody else has decided on is superseded,
        because the original is back in force.
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
