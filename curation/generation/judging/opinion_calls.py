"""The calls for opinions: planned, stored and read in blocks.

There is one call per variant. A failed answer costs only one opinion and is retried alone, no
variant is judged by its position in a list or next to its siblings, and the call's key links an
opinion to its variant. One call per family would save little, because most of the prompt describes
the type, which differs within a family.
"""

from collections.abc import Sequence
from typing import Any, NamedTuple

from sqlalchemy import (
    ColumnElement,
    Insert,
    Select,
    Subquery,
    and_,
    case,
    func,
    insert,
    literal,
    or_,
    select,
    update,
)
from sqlalchemy.orm import Session
from sqlmodel import col

from curation.anchors.revisions import is_bundled, of_current_revision
from curation.diagnostics.opinions import judged_by
from curation.generation.calls import BLOCK, Call, JudgedVariant, call_of, is_open
from curation.generation.estimate import RunEstimate, estimate_calls
from curation.generation.judging.opinion_request import (
    KIND,
    JudgeRequest,
    judge_of,
    prompt_of,
    question,
)
from curation.generation.prompts import JUDGE
from curation.taxonomy.built_in import VariantType
from db.columns import JsonColumn, limited_to
from db.errors import NothingToDo
from db.models import (
    Anchor,
    AnchorRevision,
    CallState,
    Diagnostic,
    ModelCall,
    PromptVersion,
    Source,
    Status,
    TypeRow,
    Variant,
)

REPEAT = "/"
"""In the key of a repeated call: separates the variant's uid from the repetition's number."""

EXAMPLES = 50
"""Maximum number of variants with which a prompt can be previewed."""


def plan_judging(session: Session, run_id: int, request: JudgeRequest) -> int:
    """Store the calls of a run whose request names its prompt.

    Returns:
        The number of calls.

    Raises:
        NothingToDo: there is nothing to judge.
    """
    wanted = _wanted(session, request).subquery()
    keys: list[ColumnElement[str]] = [wanted.c.uid]
    if request.repeats:
        keys = [wanted.c.uid + f"{REPEAT}{number}" for number in range(1, request.repeats + 1)]
    for key in keys:
        session.connection().execute(_insert(run_id, request, wanted, key))
    total = session.execute(
        select(func.count()).select_from(ModelCall).where(col(ModelCall.run_id) == run_id)
    ).scalar_one()
    if not total:
        raise NothingToDo(
            "There is nothing to judge: this model has already judged every selected variant; "
            "change the selection."
        )
    return total


def _insert(
    run_id: int, request: JudgeRequest, wanted: Subquery, key: ColumnElement[str]
) -> Insert:
    """SQL: create the calls in the database, which takes a second or two for 100,000.

    The cue is not stored with the call, because the variant has it.

    Args:
        key: of a call: the variant's uid and, for repeated calls, the number of the repetition.
    """
    values: dict[str, Any] = {
        "run_id": literal(run_id),
        "key": key,
        "role": literal(JUDGE),
        "anchor_id": wanted.c.anchor_id,
        "anchor_revision": wanted.c.revision,
        "prompt_version_id": literal(request.prompt),
        "type_ids": wanted.c.type_ids,
        "cues": literal({}, JsonColumn),
        "state": literal(CallState.OPEN.value),
        "attempts": literal(0),
        "problem": literal(""),
        "batch": literal(""),
    }
    return insert(ModelCall).from_select(
        list(values), select(*values.values()).order_by(*_order(wanted.c))
    )


class WantedOpinions(NamedTuple):
    """The number of variants and anchors of a request."""

    variants: int
    anchors: int


def count_wanted(session: Session, request: JudgeRequest) -> WantedOpinions:
    """Count the variants and anchors of a request."""
    wanted = _wanted(session, request).subquery()
    counts = select(func.count(), func.count(wanted.c.anchor_id.distinct()))
    return WantedOpinions(*session.execute(counts.select_from(wanted)).one())


def _order(columns: Any) -> tuple[Any, ...]:
    """SQL: the order in which people review, the user's own anchors first."""
    return columns.is_bundled, columns.place, columns.id


def _wanted(
    session: Session, request: JudgeRequest
) -> Select[int, str, int, int, list[str], int | float, int]:
    """Return the variants to judge.

    Columns: id, uid, anchor, its revision, type as a list, position in the run, and whether it is
    from a corpus.
    """
    selection = request.selection
    known = [type_id for (type_id,) in session.execute(select(col(TypeRow.id)))]
    as_list = case(
        {type_id: literal([type_id], JsonColumn) for type_id in known}, value=col(Variant.type_id)
    )
    place = col(Variant.id) if selection.limit is None else col(Variant.random_key)
    query = (
        select(
            col(Variant.id),
            col(Variant.uid),
            col(Variant.anchor_id),
            col(Anchor.revision),
            as_list.label("type_ids"),
            place.label("place"),
            is_bundled(col(Source.name)).label("is_bundled"),
        )
        .join(Anchor, col(Anchor.id) == Variant.anchor_id)
        .join(Source, col(Source.id) == Variant.source_id)
        .join(TypeRow, _type_in_use())
        .where(
            col(Variant.retired).is_(False),
            col(Variant.status) == selection.status
            if selection.status
            else col(Variant.status) != Status.SUPERSEDED,
            limited_to(col(Variant.type_id), selection.types or None),
            limited_to(col(Variant.uid), selection.variants or None),
        )
    )
    if selection.flagged:
        query = query.join(Diagnostic, col(Diagnostic.variant_id) == Variant.id).where(
            col(Diagnostic.flags) != 0
        )
    if not request.repeats and (judge := judge_of(session, request)) is not None:
        query = query.where(~judged_by(judge.id))
    if selection.limit is None:
        return query
    return query.order_by(*_order(query.selected_columns)).limit(selection.limit)


def is_asked_about() -> ColumnElement[bool]:
    """SQL over ``ModelCall``: the call is about the variant, for the first time or repeated."""
    key = col(ModelCall.key)
    return and_(
        col(Variant.anchor_id) == col(ModelCall.anchor_id),
        or_(key == col(Variant.uid), key.startswith(col(Variant.uid) + REPEAT)),
    )


def _type_in_use() -> ColumnElement[bool]:
    """SQL for a join: the type is in use, since a retired type has no valid definition."""
    return and_(col(TypeRow.id) == col(Variant.type_id), col(TypeRow.retired_at).is_(None))


def close_needless(
    session: Session, run_id: int, reviewer_id: int, *, repeated: bool = False
) -> int:
    """Close the open calls of a run that are no longer needed.

    Their variants have since been judged by another run or replaced by an edit, or are out of use.
    A run with repeated questions still asks about judged and replaced variants.

    Returns:
        The number of closed calls.
    """
    still_asked = (
        select(col(Variant.id))
        .join(TypeRow, _type_in_use())
        .where(is_asked_about(), col(Variant.retired).is_(False))
    )
    if not repeated:
        still_asked = still_asked.where(
            col(Variant.status) != Status.SUPERSEDED, ~judged_by(reviewer_id)
        )
    closed = session.connection().execute(
        update(ModelCall).where(is_open(run_id), ~still_asked.exists()).values(state=CallState.DONE)
    )
    return closed.rowcount


def open_judging(
    session: Session, run_id: int, *, after: int = 0, limit: int = BLOCK
) -> list[Call]:
    """Return the next block of open calls, in the order in which they were planned.

    Calls use the current texts: the variant and its anchor's current revision.
    """
    query = (
        select(
            ModelCall,
            Variant,
            col(Anchor.uid),
            col(AnchorRevision.text),
            col(PromptVersion.template),
        )
        .join(Variant, is_asked_about())
        .join(TypeRow, _type_in_use())
        .join(Anchor, col(Anchor.id) == Variant.anchor_id)
        .join(AnchorRevision, of_current_revision())
        .join(PromptVersion, col(PromptVersion.id) == ModelCall.prompt_version_id)
        .where(
            is_open(run_id),
            col(ModelCall.id) > after,
        )
        .order_by(col(ModelCall.id))
        .limit(limit)
    )
    return [
        call_of(row, uid, text, template)._replace(
            type_ids=(variant.type_id,),
            judged=JudgedVariant(
                variant.id, variant.version, variant.since_version, variant.text, variant.cue
            ),
        )
        for row, variant, uid, text, template in session.execute(query)
    ]


def example_question(
    session: Session, template: str, types: Sequence[VariantType], number: int
) -> str | None:
    """Fill in the prompt for one of the project's variants; another number selects another variant.

    Returns:
        None if there is no variant of these types.
    """
    entries = {entry.id: entry for entry in types}
    query = (
        select(Variant, col(AnchorRevision.text))
        .join(Anchor, col(Anchor.id) == Variant.anchor_id)
        .join(AnchorRevision, of_current_revision())
        .where(col(Variant.type_id).in_(entries), col(Variant.retired).is_(False))
        .order_by(col(Variant.id))
        .limit(1)
    )
    found = session.execute(query.offset(number % EXAMPLES)).first()
    found = found or session.execute(query).first()
    if found is None:
        return None
    variant, anchor = found
    return question(
        template,
        anchor=anchor,
        variant=variant.text,
        entry=entries[variant.type_id],
        cue=variant.cue,
    )


def estimate_judging(
    session: Session, request: JudgeRequest, wanted: WantedOpinions | None = None
) -> RunEstimate:
    """Estimate a run that has not been requested yet.

    Args:
        wanted: the counts of its selection, if known.
    """
    variants, anchors = wanted or count_wanted(session, request)
    prompt = prompt_of(session, request)
    return estimate_calls(
        session,
        request,
        kind=KIND,
        calls={JUDGE: variants * max(1, request.repeats)},
        anchors=anchors,
        prompts={JUDGE: prompt.id} if prompt else {},
    )
