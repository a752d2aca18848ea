"""Store decisions and keep each variant's status in agreement with them."""

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from types import MappingProxyType
from typing import Any, NamedTuple, TypeVar

from sqlalchemy import ColumnElement, Row, Select, func, insert, or_, select, update
from sqlalchemy.orm import Session
from sqlmodel import col

from curation.decisions.assignment import current_plan
from curation.decisions.reviewers import person_id_now
from curation.decisions.roles import require
from curation.decisions.status import Standing, Vote, standing_of, status_of
from curation.taxonomy.built_in import GUIDELINE_VERSION
from db.columns import Columns, now
from db.engine import batched, know_new_rows
from db.models import Decision, Reviewer, ReviewerKind, Status, TeamRole, Variant, Verdict

CHUNK = 500
"""Maximum number of ids in one query; SQLite allows 32,766 parameters in a statement."""

RULE = "Rule: "
"""Prefix of the note of every decision made by a rule (see ``curation.review.rules``)."""

_Id = TypeVar("_Id", int, str)


class StatusChange(NamedTuple):
    """A variant whose stored status was updated. ``before`` is None for a new variant.

    Attributes:
        second_look: 1 if it now needs a second look, -1 if it no longer does, otherwise 0.
        model_only: the same for being accepted only by models.
        source_id: the source of its anchor.
        by_before, by_after: who had decided before and who has now, while others still have to (see
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
    """SQL: the decision was made since the anchor's latest correction, or is a retract.

    For a join of ``Decision`` and ``Variant``.
    """
    return or_(
        col(Decision.variant_version) >= col(Variant.since_version),
        col(Decision.verdict) == Verdict.RETRACT,
    )


def made_by_rule() -> ColumnElement[bool]:
    """SQL, over ``Decision``: a rule made it, without anybody reading the variant."""
    made: ColumnElement[bool] = func.substr(col(Decision.note), 1, len(RULE)) == RULE
    return made


def chunks(ids: Iterable[_Id], size: int = CHUNK) -> Iterable[list[_Id]]:
    """The distinct ids (or uids) in order, ``size`` at a time."""
    ordered = sorted(set(ids))
    for start in range(0, len(ordered), size):
        yield ordered[start : start + size]


def rows_with(
    session: Session,
    query: Select[*Columns],
    column: Any,
    values: Iterable[_Id],
    *,
    at_once: int = CHUNK,
) -> Iterator[Row[*Columns]]:
    """The rows of a query whose column has one of these values, read ``at_once`` values at a time.

    So the values, which can be any number, fit into the parameters of a statement.
    """
    for some in chunks(values, at_once):
        yield from session.execute(query.where(column.in_(some)))


def store_decisions(session: Session, decisions: Sequence[Decision]) -> list[StatusChange]:
    """Store the decisions of one action and update the status of their variants.

    These are the variants decided on and the children that edits made.

    Raises:
        HedgerowError: one of the decisions settles a conflict and the user is not a lead.
    """
    if any(decision.adjudicates for decision in decisions):
        require(TeamRole.LEAD, session)
    session.add_all(decisions)
    session.flush()
    touched = {decision.variant_id for decision in decisions}
    touched |= {decision.child_id for decision in decisions if decision.child_id is not None}
    return refresh_status(session, touched)


def bulk_store_decisions(session: Session, rows: Sequence[dict[str, Any]]) -> list[StatusChange]:
    """Like ``store_decisions``, for thousands of rows, given as dictionaries of columns.

    Columns that a row leaves out get their usual values: the current guideline and time, and the
    first version of the variant.
    """
    if not rows:
        return []
    usual = {
        "variant_version": 1,
        "reason": "",
        "note": "",
        "child_id": None,
        "retracts_id": None,
        "adjudicates": False,
        "guideline_version": GUIDELINE_VERSION,
        "decided_at": now(),
    }
    for some in batched(rows):
        session.connection().execute(insert(Decision), [usual | row for row in some])
    know_new_rows(session, Decision)
    touched = {row["variant_id"] for row in rows}
    touched |= {row["child_id"] for row in rows if row.get("child_id") is not None}
    return refresh_status(session, touched)


def refresh_status(session: Session, variant_ids: Iterable[int]) -> list[StatusChange]:
    """Recompute the standing of these variants from their decisions; increment their versions.

    The whole ``Standing`` is stored on the variant. The rows are locked first, so that the later of
    two writers counts both decisions.
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
    """SQL: the columns that store a variant's standing, in the order of ``Standing``."""
    return [col(getattr(Variant, name)) for name in Standing._fields]


def refresh_kept(session: Session, variant_ids: Sequence[int]) -> None:
    """Update the stored standing of at most ``CHUNK`` variants whose decisions have not changed.

    Their versions stay the same.
    """
    query = select(col(Variant.id), *kept_columns()).where(col(Variant.id).in_(variant_ids))
    kept = {variant_id: Standing(*rest) for variant_id, *rest in session.execute(query)}
    new = compute_standing(session, variant_ids)
    _keep(session, {key: new[key] for key in kept if new[key] != kept[key]}, versions=0)
    forget_kept(session)


def _keep(session: Session, standings: Mapping[int, Standing], *, versions: int = 1) -> None:
    """Store the computed standings, with one statement for all variants with the same standing.

    Args:
        versions: the increment of their versions.
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
    """Expire the session's variants, because statements have changed them in the database."""
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
    """Compute the standing from the stored decisions, for at most ``CHUNK`` variants.

    Args:
        switched: reviewer id → whether that model's verdicts count, to override the stored value.
        merged: reviewer id → the person whose verdicts theirs become, in addition to stored merges.
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
    """The status by all decisions, including those before the anchor's latest correction.

    For at most ``CHUNK`` variants.
    """
    votes = _votes(session, col(Decision.variant_id).in_(variant_ids))
    return {variant_id: status_of(votes.get(variant_id, ())) for variant_id in variant_ids}


def _births(session: Session, children: Sequence[int]) -> Mapping[int | None, list[Vote]]:
    """The edits that made each child, with their retracts."""
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
            person_id_now(),
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
