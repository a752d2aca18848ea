"""The calls of a run: planned and stored before the first one, then read in blocks.

A call is about one anchor and the missing types of one role. The same selection, seed and database
give the same calls.
"""

import sys
from collections import defaultdict
from collections.abc import Sequence
from typing import Any, NamedTuple

from sqlalchemy import ColumnElement, and_, case, func, or_, select, update
from sqlalchemy.orm import Session
from sqlmodel import col

from curation.generation.answers import PASSING, AnswerProblem
from curation.generation.examples import Example, from_rows
from curation.generation.missing_variants import WantedAnchor, has_anchors, wanted_anchors
from curation.generation.prompts import sample_cues
from curation.generation.request import GenerationRequest
from curation.taxonomy.built_in import VariantType
from curation.taxonomy.project_types import list_types
from curation.taxonomy.surface_check import Role
from db.errors import NothingToDo
from db.models import (
    Anchor,
    AnchorRevision,
    CallState,
    ModelCall,
    PromptVersion,
)

BLOCK = 1000
"""Calls held in memory at a time."""


class JudgedVariant(NamedTuple):
    """The variant that a second opinion is about, as it was when the call was read.

    Attributes:
        version, since_version: as in the row (see ``db.models.Variant``).
    """

    variant_id: int
    version: int
    since_version: int
    text: str
    cue: str | None


class Call(NamedTuple):
    """A stored call with the data needed to make it.

    Attributes:
        text: the anchor's text.
        judged: the variant, if the call is for a second opinion.
        language: the anchor's language; '' if not needed.
        examples: the examples of the prompt's version.
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
    judged: JudgedVariant | None = None
    language: str = ""
    examples: tuple[Example, ...] = ()


def planned_calls(session: Session, request: GenerationRequest) -> list[dict[str, Any]]:
    """The calls that a request needs, as rows without their run.

    Raises:
        NothingToDo: there is nothing to generate.
    """
    types = list_types(session)
    wanted = wanted_anchors(session, request.selection, request.roles, types, seed=request.seed)
    rows = [
        _row(role, anchor, prompt_id=request.prompts[role], types=types, seed=request.seed)
        for role, anchors in wanted.items()
        for anchor in anchors
    ]
    if not rows:
        why = "no anchor matches this selection"
        if has_anchors(session, request.selection):
            why = "every selected anchor already has variants of these types"
        raise NothingToDo(
            f"There is nothing to generate: {why}. Add anchors, or change the selection."
        )
    return rows


def _row(
    role: Role,
    wanted: WantedAnchor,
    *,
    prompt_id: int,
    types: Sequence[VariantType],
    seed: int,
) -> dict[str, Any]:
    asked = [entry for entry in types if entry.id in wanted.type_ids]
    return {
        "key": f"{wanted.uid}-{role}",
        "role": role,
        "anchor_id": wanted.anchor_id,
        "anchor_revision": wanted.revision,
        "prompt_version_id": prompt_id,
        "type_ids": list(wanted.type_ids),
        "cues": sample_cues(asked, seed=seed, anchor_uid=wanted.uid),
        "state": CallState.OPEN,
    }


def open_calls(
    session: Session,
    run_id: int,
    *,
    after: int = 0,
    limit: int = BLOCK,
    ids: Sequence[int] | None = None,
    batch: str | None = None,
) -> list[Call]:
    """The next block of open calls, in the order in which they were planned.

    A call uses the current text of its anchor and skips retired anchors. A call in a batch stays as
    it was sent.

    Args:
        after: the id of the last call returned; 0 at the start.
        limit: maximum number of calls.
        ids: only these; None for all.
        batch: only calls in this batch ('' for calls in no batch); None for all.
    """
    is_free = col(ModelCall.batch) == ""
    asked = case((is_free, col(Anchor.revision)), else_=col(ModelCall.anchor_revision))
    query = (
        select(
            ModelCall,
            col(Anchor.uid),
            col(Anchor.language),
            col(AnchorRevision.revision),
            col(AnchorRevision.text),
            col(PromptVersion.template),
        )
        .join(Anchor, col(Anchor.id) == ModelCall.anchor_id)
        .join(
            AnchorRevision,
            (col(AnchorRevision.anchor_id) == ModelCall.anchor_id)
            & (col(AnchorRevision.revision) == asked),
        )
        .join(PromptVersion, col(PromptVersion.id) == ModelCall.prompt_version_id)
        .where(
            is_open(run_id),
            col(ModelCall.id) > after,
            ~is_free | col(Anchor.retired_at).is_(None),
        )
        .order_by(col(ModelCall.id))
        .limit(limit)
    )
    if ids is not None:
        query = query.where(col(ModelCall.id).in_(ids))
    if batch is not None:
        query = query.where(col(ModelCall.batch) == batch)
    # A thousand calls share one template and its examples in memory.
    rows = session.execute(query).all()
    prompts = {row.prompt_version_id for row, *_ in rows}
    shown = select(col(PromptVersion.id), col(PromptVersion.examples))
    examples = {
        prompt: from_rows(stored)
        for prompt, stored in session.execute(shown.where(col(PromptVersion.id).in_(prompts)))
    }
    return [
        call_of(row, uid, text, sys.intern(template))._replace(
            anchor_revision=revision, language=language, examples=examples[row.prompt_version_id]
        )
        for row, uid, language, revision, text, template in rows
    ]


def is_open(run_id: int) -> ColumnElement[bool]:
    """SQL over ``ModelCall``: the call is one of this run and open."""
    return and_(col(ModelCall.run_id) == run_id, col(ModelCall.state) == CallState.OPEN)


def call_of(row: ModelCall, anchor_uid: str, text: str, template: str) -> Call:
    """Return a stored call with its anchor and its template."""
    return Call(
        id=row.id,
        run_id=row.run_id,
        role=row.role,
        anchor_id=row.anchor_id,
        anchor_revision=row.anchor_revision,
        anchor_uid=anchor_uid,
        text=text,
        prompt_version_id=row.prompt_version_id,
        template=template,
        type_ids=tuple(row.type_ids),
        cues=row.cues,
        attempts=row.attempts,
    )


def close_retired(session: Session, run_id: int) -> None:
    """Close the calls that a run left open because their anchors or types are retired.

    They count as failed, so that they can be retried if the anchor is restored.
    """
    session.execute(
        update(ModelCall)
        .where(is_open(run_id))
        .values(state=CallState.FAILED, problem=AnswerProblem.RETIRED.value)
    )


def reopen(session: Session, run_id: int) -> int:
    """Reopen the calls of a run that failed because of the server; return their number.

    Unlike for unusable answers, repeating these calls can help.
    """
    failed = (col(ModelCall.run_id) == run_id, _failed_by_the_server())
    values = {"state": CallState.OPEN, "batch": ""}  # its batch has brought what it could
    changed = session.execute(update(ModelCall).where(*failed).values(**values))
    return getattr(changed, "rowcount", 0)


def _failed_by_the_server() -> ColumnElement[bool]:
    return and_(
        col(ModelCall.state) == CallState.FAILED,
        col(ModelCall.problem).in_([problem.value for problem in PASSING]),
    )


def can_go_on(session: Session, run_id: int) -> bool:
    """Whether a run would make calls if it were resumed."""
    still = or_(col(ModelCall.state) == CallState.OPEN, _failed_by_the_server())
    query = select(col(ModelCall.id)).where(col(ModelCall.run_id) == run_id, still).limit(1)
    return session.execute(query).first() is not None


def count_calls(session: Session, run_id: int) -> dict[CallState, int]:
    """The calls of a run by state."""
    query = (
        select(col(ModelCall.state), func.count())
        .where(col(ModelCall.run_id) == run_id)
        .group_by(col(ModelCall.state))
    )
    return dict.fromkeys(CallState, 0) | dict(session.execute(query).all())


def cue_use(session: Session, run_id: int | None) -> dict[str, dict[str, int]]:
    """Type → cue → number of requests in a run; None for all runs."""
    cues = col(ModelCall.cues)
    query = select(cues, func.count()).group_by(cues)
    if run_id is not None:
        query = query.where(col(ModelCall.run_id) == run_id)
    used: dict[str, dict[str, int]] = defaultdict(lambda: defaultdict(int))
    for requested, number in session.execute(query):
        for type_id, cue in requested.items():
            used[type_id][cue] += number
    return {type_id: dict(counts) for type_id, counts in used.items()}
