"""Which calls a run makes: planned and stored before the first one, read back in blocks.

A call is about one anchor and the types of one role that it lacks. Equal selection, seed and
database give equal calls.
"""

import sys
from collections import defaultdict
from collections.abc import Sequence
from typing import Any, NamedTuple

from sqlalchemy import Select, func, insert, select
from sqlmodel import Session, col

from curation.generation.prompts import draw_cues, types_of
from curation.generation.request import GenerationRequest, Selection, Which
from curation.taxonomy import Role, VariantType
from curation.text import bucket
from curation.types import list_types
from db.errors import HedgerowError
from db.models import (
    Anchor,
    AnchorRevision,
    CallState,
    ModelCall,
    PromptVersion,
    Status,
    Variant,
)

_SAMPLE_SALT = "hedgerow/generation-sample/1"
BLOCK = 1000
"""Calls held in memory at a time."""


class Judged(NamedTuple):
    """The variant that a second opinion is asked on, as it was when the call was read.

    Attributes:
        version, since_version: as of the row (see ``db.models.Variant``).
    """

    variant_id: int
    version: int
    since_version: int
    text: str
    cue: str | None


class Call(NamedTuple):
    """A stored call with what is needed to make it.

    Attributes:
        text: the anchor's.
        judged: set where the call is about one variant of it.
    """

    id: int
    run_id: int
    role: str
    anchor_id: int
    anchor_revision: int
    anchor_uid: str
    text: str
    prompt_version_id: int
    template: str
    type_ids: tuple[str, ...]
    cues: dict[str, str]
    attempts: int
    judged: Judged | None = None


class _Wanted(NamedTuple):
    anchor_id: int
    revision: int
    uid: str
    type_ids: tuple[str, ...]


def plan_calls(session: Session, run_id: int, request: GenerationRequest) -> int:
    """Store the calls of a run.

    Returns:
        How many there are.

    Raises:
        HedgerowError: there is nothing to ask for.
    """
    types = list_types(session)
    total = 0
    wanted = wanted_anchors(session, request.selection, request.roles, types, seed=request.seed)
    for role, anchors in wanted.items():
        prompt_id = request.prompts[role]
        for start in range(0, len(anchors), BLOCK):
            rows = [
                _row(run_id, role, anchor, prompt_id=prompt_id, types=types, seed=request.seed)
                for anchor in anchors[start : start + BLOCK]
            ]
            session.execute(insert(ModelCall), rows)
            total += len(rows)
    if not total:
        raise HedgerowError(
            "There is nothing to generate: every anchor of this selection has variants of these "
            "types; add anchors, or choose others."
        )
    return total


def _row(
    run_id: int,
    role: Role,
    wanted: _Wanted,
    *,
    prompt_id: int,
    types: Sequence[VariantType],
    seed: int,
) -> dict[str, Any]:
    asked = [entry for entry in types if entry.id in wanted.type_ids]
    return {
        "run_id": run_id,
        "key": f"{wanted.uid}-{role}",
        "role": role,
        "anchor_id": wanted.anchor_id,
        "anchor_revision": wanted.revision,
        "prompt_version_id": prompt_id,
        "type_ids": list(wanted.type_ids),
        "cues": draw_cues(asked, seed=seed, anchor_uid=wanted.uid),
        "state": CallState.OPEN,
    }


def wanted_anchors(
    session: Session,
    selection: Selection,
    roles: Sequence[Role],
    types: Sequence[VariantType],
    *,
    seed: int,
) -> dict[Role, list[_Wanted]]:
    """By role, the anchors to ask about and the types to ask for, in the order of the anchors.

    A limit counts anchors, each with all its calls.
    """
    found: dict[Role, list[_Wanted]] = {}
    for role in roles:
        asked = tuple(entry.id for entry in types_of(role, types))
        found[role] = _wanted(session, selection, role, asked) if asked else []
    if selection.limit is not None:
        uids = {anchor.uid for anchors in found.values() for anchor in anchors}
        salt = f"{_SAMPLE_SALT}:{seed}:"
        drawn = set(sorted(uids, key=lambda uid: bucket(uid, salt=salt))[: selection.limit])
        found = {role: [a for a in some if a.uid in drawn] for role, some in found.items()}
    return found


def _wanted(
    session: Session, selection: Selection, role: Role, asked: tuple[str, ...]
) -> list[_Wanted]:
    rows = session.execute(_anchor_query(selection, role).order_by(col(Anchor.id))).all()
    filled = _filled(session, selection, asked)
    wanted = []
    for anchor_id, revision, uid in rows:
        has = filled.get(anchor_id, set())
        if selection.which is Which.WITHOUT:
            missing = () if has else asked
        else:
            missing = tuple(type_id for type_id in asked if type_id not in has)
        if missing:
            wanted.append(_Wanted(anchor_id, revision, uid, missing))
    return wanted


def _anchor_query(selection: Selection, role: Role) -> Select[Any]:
    query = select(Anchor.id, Anchor.revision, Anchor.uid).where(  # type: ignore[call-overload]
        col(Anchor.retired_at).is_(None)
    )
    if selection.anchors:
        query = query.where(col(Anchor.uid).in_(selection.anchors))
    if selection.source_id is not None:
        query = query.where(col(Anchor.source_id) == selection.source_id)
    if selection.search:
        query = query.join(
            AnchorRevision,
            (col(AnchorRevision.anchor_id) == Anchor.id)
            & (col(AnchorRevision.revision) == Anchor.revision),
        ).where(col(AnchorRevision.text).icontains(selection.search, autoescape=True))
    if selection.run is not None:
        failed = select(col(ModelCall.anchor_id)).where(
            col(ModelCall.run_id) == selection.run,
            col(ModelCall.role) == role,
            (col(ModelCall.state) == CallState.FAILED) | (col(ModelCall.problem) != ""),
        )
        query = query.where(col(Anchor.id).in_(failed))
    return query


def _filled(session: Session, selection: Selection, asked: tuple[str, ...]) -> dict[int, set[str]]:
    """By anchor, the types of which it has a variant that counts for this selection.

    A rejected variant fills no slot; where only anchors without any are wanted, it does.
    """
    query = select(Variant.anchor_id, Variant.type_id).where(  # type: ignore[call-overload]
        col(Variant.type_id).in_(asked), col(Variant.retired).is_(False)
    )
    if selection.which is not Which.WITHOUT:
        counted = [Status.PENDING, Status.ACCEPTED, Status.CONFLICT]
        query = query.where(col(Variant.status).in_(counted))
    filled: dict[int, set[str]] = defaultdict(set)
    for anchor_id, type_id in session.execute(query.distinct()):
        filled[anchor_id].add(type_id)
    return filled


def open_calls(
    session: Session,
    run_id: int,
    *,
    after: int = 0,
    limit: int = BLOCK,
    ids: Sequence[int] | None = None,
    batch: str | None = None,
) -> list[Call]:
    """The next block of calls that are still to be made, in the order they were planned.

    Args:
        after: the id of the last call that was handed out; 0 to begin.
        limit: at most so many.
        ids: only these; None for all.
        batch: only those that lie in this batch ('' for in none); None for all.
    """
    query = (
        select(ModelCall, Anchor.uid, AnchorRevision.text, PromptVersion.template)  # type: ignore[call-overload]
        .join(Anchor, col(Anchor.id) == ModelCall.anchor_id)
        .join(
            AnchorRevision,
            (col(AnchorRevision.anchor_id) == ModelCall.anchor_id)
            & (col(AnchorRevision.revision) == ModelCall.anchor_revision),
        )
        .join(PromptVersion, col(PromptVersion.id) == ModelCall.prompt_version_id)
        .where(
            col(ModelCall.run_id) == run_id,
            col(ModelCall.state) == CallState.OPEN,
            col(ModelCall.id) > after,
        )
        .order_by(col(ModelCall.id))
        .limit(limit)
    )
    if ids is not None:
        query = query.where(col(ModelCall.id).in_(ids))
    if batch is not None:
        query = query.where(col(ModelCall.batch) == batch)
    # A thousand calls share one template, and hold it in memory once.
    rows = session.execute(query)
    return [_call(row, uid, text, sys.intern(template)) for row, uid, text, template in rows]


def _call(row: ModelCall, uid: str, text: str, template: str) -> Call:
    return Call(
        id=row.id or 0, run_id=row.run_id, role=row.role, anchor_id=row.anchor_id,
        anchor_revision=row.anchor_revision, anchor_uid=uid, text=text,
        prompt_version_id=row.prompt_version_id, template=template,
        type_ids=tuple(row.type_ids), cues=row.cues, attempts=row.attempts,
    )  # fmt: skip


def count_calls(session: Session, run_id: int) -> dict[CallState, int]:
    """The calls of a run by state."""
    query = (
        select(col(ModelCall.state), func.count())
        .where(col(ModelCall.run_id) == run_id)
        .group_by(col(ModelCall.state))
    )
    return dict.fromkeys(CallState, 0) | dict(session.execute(query).all())


def cue_use(session: Session, run_id: int) -> dict[str, dict[str, int]]:
    """By type, how often each cue is asked for in a run."""
    used: dict[str, dict[str, int]] = defaultdict(lambda: defaultdict(int))
    query = select(col(ModelCall.cues)).where(col(ModelCall.run_id) == run_id)
    for (cues,) in session.execute(query):
        for type_id, cue in cues.items():
            used[type_id][cue] += 1
    return {type_id: dict(counts) for type_id, counts in used.items()}
