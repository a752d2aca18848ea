"""Storing decisions and keeping each variant's status equal to what they add up to."""

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from types import MappingProxyType
from typing import Any, NamedTuple, TypeVar

from sqlalchemy import ColumnElement, func, insert, or_, select, update
from sqlalchemy.orm import Session
from sqlmodel import col

from curation.review.assignment.plan import current_plan
from curation.review.people.reviewers import whose
from curation.review.people.roles import Role, require
from curation.review.status import Standing, Vote, standing_of, status_of
from db.engine import batched, know_new_rows
from db.models import Decision, Reviewer, ReviewerKind, Status, Variant, Verdict

CHUNK = 500
"""Ids handed to one query; SQLite takes at most 32,766 parameters in a statement."""

RULE = "Rule: "
"""What the note of every decision begins with that a rule made (see ``curation.review.bulk``)."""

_Id = TypeVar("_Id", int, str)


class StatusChange(NamedTuple):
    """A variant whose kept status was brought up to date; ``before`` is None for a new one.

    Attributes:
        second_look: 1 if it needs a second look now, -1 if it no longer does, else 0.
        model_only: the same for being accepted by models alone.
        source_id: its anchor's source.
        by_before, by_after: who had decided, and who has now, while more people are to (as
            ``Standing.verdicts_by``).
    """

    variant_id: int
    type_id: str
    source_id: int
    before: Status | None
    after: Status
    second_look: int = 0
    model_only: int = 0
    by_before: str = ""
    by_after: str = ""


def counts_still() -> ColumnElement[bool]:
    """SQL: the decision is on its variant as it is since the anchor's latest correction.

    Retracts are among these whatever they take back. For a join of ``Decision`` and ``Variant``.
    """
    return or_(
        col(Decision.variant_version) >= col(Variant.since_version),
        col(Decision.verdict) == Verdict.RETRACT,
    )


def made_by_rule() -> ColumnElement[bool]:
    """SQL, over ``Decision``: a rule made it, and nobody has read its variant."""
    made: ColumnElement[bool] = func.substr(col(Decision.note), 1, len(RULE)) == RULE
    return made


def chunks(ids: Iterable[_Id], size: int = CHUNK) -> Iterable[list[_Id]]:
    """The distinct ids (or uids) in order, ``size`` at a time."""
    ordered = sorted(set(ids))
    for start in range(0, len(ordered), size):
        yield ordered[start : start + size]


def store_decisions(session: Session, decisions: Sequence[Decision]) -> list[StatusChange]:
    """Store the decisions of one action and bring the status of all they touch up to date.

    Touched are the decided variants and the children that edits made.

    Raises:
        HedgerowError: one of them settles a conflict, and whoever acts is no lead.
    """
    if any(decision.adjudicates for decision in decisions):
        require(Role.LEAD, session)
    session.add_all(decisions)
    session.flush()
    touched = {decision.variant_id for decision in decisions}
    touched |= {decision.child_id for decision in decisions if decision.child_id is not None}
    return refresh_status(session, touched)


def bulk_store_decisions(session: Session, rows: Sequence[dict[str, Any]]) -> list[StatusChange]:
    """As ``store_decisions``, for rows in the thousands, given as dictionaries of columns."""
    if not rows:
        return []
    for some in batched(rows):
        session.connection().execute(insert(Decision), some)
    know_new_rows(session, Decision)
    touched = {row["variant_id"] for row in rows}
    touched |= {row["child_id"] for row in rows if row.get("child_id") is not None}
    return refresh_status(session, touched)


def refresh_status(session: Session, variant_ids: Iterable[int]) -> list[StatusChange]:
    """Recompute what these variants' decisions add up to; their version grows by one.

    Kept on the variant is its whole ``Standing``. The rows are locked first, so that of two writers
    the later one counts both decisions.
    """
    changes: list[StatusChange] = []
    for ids in chunks(variant_ids):
        before = {
            variant_id: (type_id, source_id, Standing(*kept))
            for variant_id, type_id, source_id, *kept in session.execute(
                select(
                    col(Variant.id),
                    col(Variant.type_id),
                    col(Variant.source_id),
                    *kept_columns(),
                )
                .where(col(Variant.id).in_(ids))
                .order_by(col(Variant.id))
                .with_for_update(key_share=True)
            )
        }
        standings = compute_standing(session, list(before))
        for variant_id, (type_id, source_id, old) in before.items():
            new = standings[variant_id]
            changes.append(
                StatusChange(
                    variant_id,
                    type_id,
                    source_id,
                    old.status,
                    new.status,
                    second_look=new.second_look - old.second_look,
                    model_only=new.model_only - old.model_only,
                    by_before=old.verdicts_by,
                    by_after=new.verdicts_by,
                )
            )
        _keep(session, standings)
    forget_kept(session)
    return changes


def kept_columns() -> list[Any]:
    """SQL: what a variant keeps of its standing, in the order of ``Standing``."""
    return [col(getattr(Variant, name)) for name in Standing._fields]


def refresh_kept(session: Session, variant_ids: Sequence[int]) -> None:
    """Bring the kept standing of at most ``CHUNK`` variants up to date whose decisions are the
    same as before, and so their versions."""
    query = select(col(Variant.id), *kept_columns()).where(col(Variant.id).in_(variant_ids))
    kept = {variant_id: Standing(*rest) for variant_id, *rest in session.execute(query)}
    new = compute_standing(session, variant_ids)
    _keep(session, {key: new[key] for key in kept if new[key] != kept[key]}, versions=0)
    forget_kept(session)


def _keep(session: Session, standings: Mapping[int, Standing], *, versions: int = 1) -> None:
    """Store what was computed: one statement for all variants that have come to stand alike.

    Args:
        versions: by how much their version grows.
    """
    alike: dict[Standing, list[int]] = defaultdict(list)
    for variant_id, standing in standings.items():
        alike[standing].append(variant_id)
    for standing, ids in alike.items():
        session.connection().execute(
            update(Variant)
            .where(col(Variant.id).in_(ids))
            .values(
                **standing._asdict(),
                version=Variant.version + versions,
            )
        )


def forget_kept(session: Session) -> None:
    """Have what the session holds of variants read again; it was changed past it."""
    for row in list(session.identity_map.values()):
        if isinstance(row, Variant):
            session.expire(row, [*Standing._fields, "version", "since_version"])


def compute_standing(
    session: Session,
    variant_ids: Sequence[int],
    *,
    switched: Mapping[int, bool] | None = None,
    merged: Mapping[int, int] | None = None,
) -> dict[int, Standing]:
    """What the stored decisions add up to, for at most ``CHUNK`` variants.

    Args:
        switched: reviewer id → whether that model's verdicts count, where it is to be another
            thing than what is stored.
        merged: reviewer id → whose verdicts theirs are to be, beyond what is stored.
    """
    rows = session.execute(
        select(
            col(Variant.id),
            col(Variant.parent_id),
            col(Variant.since_version),
            col(Variant.uid),
            col(Variant.author_id),
        ).where(col(Variant.id).in_(variant_ids))
    ).all()
    plan = current_plan(session)
    own = _votes(
        session,
        col(Decision.variant_id).in_(variant_ids),
        switched=switched or {},
        merged=merged or {},
    )
    births = _births(session, [variant_id for variant_id, parent_id, *_ in rows if parent_id])
    return {
        variant_id: standing_of(
            own.get(variant_id, ()),
            births=births.get(variant_id, ()),
            since_version=since_version,
            wanted=plan.wanted(uid) if author_id is None else 1,
        )
        for variant_id, _, since_version, uid, author_id in rows
    }


def status_ever(session: Session, variant_ids: Sequence[int]) -> dict[int, Status]:
    """What all decisions add up to, also those before the anchor's latest correction.

    For at most ``CHUNK`` variants.
    """
    votes = _votes(session, col(Decision.variant_id).in_(variant_ids))
    return {variant_id: status_of(votes.get(variant_id, ())) for variant_id in variant_ids}


def _births(session: Session, children: Sequence[int]) -> Mapping[int | None, list[Vote]]:
    """The edits that made each child, with what took them back."""
    births: dict[int | None, list[Vote]] = defaultdict(list)
    if not children:
        return births
    edits = _votes(session, col(Decision.child_id).in_(children))
    edit_votes = [vote for votes in edits.values() for vote in votes]
    retracts = _votes(session, col(Decision.retracts_id).in_([v.id for v in edit_votes]))
    retracted = {v.retracts_id: v for votes in retracts.values() for v in votes}
    for vote in edit_votes:
        births[vote.child_id].append(vote)
        if vote.id in retracted:
            births[vote.child_id].append(retracted[vote.id])
    return births


def _votes(
    session: Session,
    condition: Any,
    *,
    switched: Mapping[int, bool] = MappingProxyType({}),
    merged: Mapping[int, int] = MappingProxyType({}),
) -> dict[int, list[Vote]]:
    query = (
        select(
            col(Decision.variant_id),
            col(Decision.id),
            whose(),
            col(Decision.verdict),
            col(Reviewer.kind),
            col(Reviewer.counts),
            col(Decision.adjudicates),
            col(Decision.child_id),
            col(Decision.retracts_id),
            col(Decision.variant_version),
            made_by_rule(),
        )
        .join(Reviewer, col(Reviewer.id) == Decision.reviewer_id)
        .where(condition)
        .order_by(col(Decision.id))
    )
    votes: dict[int, list[Vote]] = defaultdict(list)
    for variant_id, number, reviewer_id, verdict, kind, stored, *rest in session.execute(query):
        is_person = kind == ReviewerKind.PERSON
        counts = switched.get(reviewer_id, stored)
        person = merged.get(reviewer_id, reviewer_id)
        votes[variant_id].append(Vote(number, person, verdict, is_person, counts, *rest))
    return votes
