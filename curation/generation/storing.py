"""Stores the results of calls: the raw answer, its cost and its variants, in one commit.

An answer is stored with the call that it belongs to, never by its position among others. If the
anchor already has a variant with the same text and type, the variant is not stored again.
"""

from collections.abc import Sequence
from typing import Any, NamedTuple

from sqlalchemy import bindparam, insert, select, update
from sqlalchemy.orm import Session
from sqlmodel import col

from curation.content_uids import variant_uid
from curation.decisions.storing import rows_with
from curation.generation.answer_texts import Removed
from curation.generation.answers import AnswerProblem
from curation.generation.calls import Call
from curation.generation.judging.opinion_request import Judgement
from curation.generation.providers.chat.completions import Reply
from curation.generation.request import Price
from curation.splits import RANDOM_SALT, bucket
from curation.taxonomy.project_types import types_in_use
from db.columns import now
from db.engine import insert_new
from db.models import Anchor, Answer, CallState, ModelCall, Variant


class Attempt(NamedTuple):
    """One attempt at a call, and its result.

    Attributes:
        number: the number of this attempt, from 1.
        reply: None if there was no answer.
        texts: by type id, the variants to store; empty for an attempt that will be repeated.
        problems: most serious first.
        state: the call's state afterwards; open if it will be repeated.
        seconds: from question to answer; None if nobody waited (rules, batches).
        judgement: for a call about one variant, if the answer is readable.
        removed: what the answer contained besides what was asked for.
    """

    call: Call
    number: int
    reply: Reply | None
    texts: dict[str, str]
    problems: tuple[AnswerProblem, ...]
    message: str
    state: CallState
    seconds: float | None = None
    judgement: Judgement | None = None
    removed: tuple[Removed, ...] = ()


class Origin(NamedTuple):
    """The provider and model, as recorded with each variant."""

    provider: str
    model: str


def store_attempts(
    session: Session, attempts: Sequence[Attempt], *, origin: Origin, price: Price
) -> list[Attempt]:
    """Store attempts and their effects, in order.

    Skips an attempt that is already stored or whose call has ended in the meantime: this happens if
    another process has taken over the run, or if a commit succeeded without confirmation.

    Returns:
        The attempts that were stored.
    """
    attempts = _new_ones(session, attempts)
    if not attempts:
        return []
    answers = session.execute(
        insert(Answer).returning(col(Answer.id), sort_by_parameter_order=True),
        [_answer(attempt, price) for attempt in attempts],
    )
    rows = [
        row
        for attempt, answer_id in zip(attempts, answers.scalars(), strict=True)
        for row in _variants(attempt, answer_id=answer_id, origin=origin)
    ]
    if rows:
        _follow_anchors(session, rows)
        insert_new(session, Variant, rows)
    session.connection().execute(
        update(ModelCall)
        .where(col(ModelCall.id) == bindparam("call"))
        .values(
            state=bindparam("new_state"),
            attempts=bindparam("number"),
            problem=bindparam("found"),
            anchor_revision=bindparam("asked"),
        ),
        [
            {
                "call": a.call.id,
                "new_state": a.state,
                "number": a.number,
                "found": a.problems[0].value if a.problems else "",
                "asked": a.call.anchor_revision,
            }
            for a in attempts
        ],
    )
    return attempts


def _follow_anchors(session: Session, rows: Sequence[dict[str, Any]]) -> None:
    """Set the source of variants, and whether their anchor or type was retired meanwhile."""
    anchors = _anchors(session, [row["anchor_id"] for row in rows])
    in_use = types_in_use(session)
    for row in rows:
        row["source_id"], is_retired = anchors[row["anchor_id"]]
        row["retired"] = is_retired or row["type_id"] not in in_use


def _anchors(session: Session, anchor_ids: Sequence[int]) -> dict[int, tuple[int, bool]]:
    """Return each anchor's source, and whether it was retired during the call.

    No anchor can be retired before this transaction ends.
    """
    query = (
        select(col(Anchor.id), col(Anchor.source_id), col(Anchor.retired_at))
        .order_by(col(Anchor.id))
        .with_for_update(read=True, key_share=True)
    )
    found = rows_with(session, query, col(Anchor.id), anchor_ids)
    return {key: (source_id, moment is not None) for key, source_id, moment in found}


def _new_ones(session: Session, attempts: Sequence[Attempt]) -> list[Attempt]:
    """Return the attempts that continue the stored state of their calls."""
    query = (
        select(col(ModelCall.id), col(ModelCall.attempts))
        .where(col(ModelCall.state) == CallState.OPEN)
        .order_by(col(ModelCall.id))  # always locked in the same order
        .with_for_update()  # SQLite has a single writer anyway
    )
    calls = [attempt.call.id for attempt in attempts]
    made = dict(rows_with(session, query, col(ModelCall.id), calls))
    new = []
    for attempt in attempts:
        if made.get(attempt.call.id, attempt.number) < attempt.number:
            new.append(attempt)
            made[attempt.call.id] = attempt.number
            if attempt.state is not CallState.OPEN:
                del made[attempt.call.id]
    return new


def cost_of(attempt: Attempt, price: Price) -> float:
    """Return the cost of an attempt in US dollars."""
    reply = attempt.reply
    return price.cost(reply.prompt_tokens, reply.completion_tokens) if reply else 0.0


def _answer(attempt: Attempt, price: Price) -> dict[str, Any]:
    call, reply = attempt.call, attempt.reply
    names = ", ".join([*attempt.problems, *(kind.note for kind in attempt.removed)])
    return {
        "run_id": call.run_id,
        "call_id": call.id,
        "anchor_id": call.anchor_id,
        "anchor_revision": call.anchor_revision,
        "prompt_version_id": call.prompt_version_id,
        "cues": call.cues,
        "attempt": attempt.number,
        # PostgreSQL can't store NUL, and UTF-8 can't encode half of a surrogate pair.
        "raw": _storable(reply.raw or reply.refusal) if reply else "",
        "finish_reason": (reply.finish_reason if reply else "")[:80],
        "error": ": ".join(part for part in (names, _storable(attempt.message)) if part),
        "prompt_tokens": reply.prompt_tokens if reply else None,
        "completion_tokens": reply.completion_tokens if reply else None,
        "cost": cost_of(attempt, price),
        "is_estimate": bool(reply and reply.is_estimate),
        "seconds": attempt.seconds,
        "created_at": now(),
    }


def _storable(text: str) -> str:
    return text.replace("\0", "\ufffd").encode("utf-8", "replace").decode("utf-8")


def _variants(attempt: Attempt, *, answer_id: int, origin: Origin) -> list[dict[str, Any]]:
    call = attempt.call
    rows = []
    for type_id, text in attempt.texts.items():
        uid = variant_uid(anchor_uid=call.anchor_uid, type_id=type_id, text=text)
        rows.append(
            {
                "uid": uid,
                "anchor_id": call.anchor_id,
                "anchor_revision": call.anchor_revision,
                "type_id": type_id,
                "text": text,
                "cue": call.cues.get(type_id),
                "run_id": call.run_id,
                "answer_id": answer_id,
                "prompt_version_id": call.prompt_version_id,
                "provider": origin.provider,
                "model": origin.model,
                "random_key": bucket(uid, salt=RANDOM_SALT),
                "created_at": now(),
            }
        )
    return rows
