"""A run's results so far: its speed, its cost, its problems, and single calls in full."""

from collections import Counter
from collections.abc import Mapping
from datetime import timedelta
from typing import Any, NamedTuple

from sqlalchemy import case, func, select
from sqlalchemy.orm import Session
from sqlmodel import col

from curation.generation.answer_texts import Removed
from curation.generation.answers import AnswerProblem
from curation.generation.calls import cue_use
from curation.taxonomy.cues import SPELLING
from db.columns import now
from db.models import (
    AnchorRevision,
    Answer,
    CallState,
    Diagnostic,
    ModelCall,
    PromptVersion,
    Run,
    Variant,
)

PACE = timedelta(minutes=1)
"""Seconds over which a run's speed is measured."""

INSPECTED = 50
"""Number of recent runs to search for models."""

RAW_SHOWN = 5
"""Maximum answers with a problem to show in full."""


class Spent(NamedTuple):
    """The totals over a run's attempts.

    Attributes:
        cost: in US dollars.
        is_estimate: whether some tokens, and thus costs, are estimates.
        per_minute: attempts that ended within the last minute; 0 if the run has stopped.
    """

    attempts: int
    cost: float
    prompt_tokens: int
    completion_tokens: int
    per_minute: int
    is_estimate: bool = False


class Trouble(NamedTuple):
    """An attempt with a problem: its anchor and the answer."""

    anchor: str
    attempt: int
    raw: str
    error: str


class ShownCall(NamedTuple):
    """One call in full.

    Attributes:
        cues: by type id, in their correct spelling.
        variants: type id and text of each variant from the call.
        raw: the last answer, unchanged.
        problems: the problems of the last attempt.
    """

    anchor: str
    role: str
    state: CallState
    cues: dict[str, str]
    variants: tuple[tuple[str, str], ...]
    raw: str
    problems: str


class AttemptCounts(NamedTuple):
    """The totals and problems of a run's attempts.

    Attributes:
        problems: the number of attempts with each problem, the most frequent first. An attempt with
            several problems counts for each of them.
        removed: the same for what was removed from answers, by kind.
    """

    spent: Spent
    problems: dict[AnswerProblem, int]
    removed: dict[Removed, int]


def progress(session: Session, run_id: int) -> AttemptCounts:
    """Return a run's progress in one pass over its answers: about 50 ms for 30,000."""
    lately = case((col(Answer.created_at) > now() - PACE, 1), else_=0)
    query = (
        select(
            col(Answer.error),
            func.count(),
            func.sum(col(Answer.cost)),
            func.sum(col(Answer.prompt_tokens)),
            func.sum(col(Answer.completion_tokens)),
            func.sum(lately),
            func.sum(case((col(Answer.is_estimate), 1), else_=0)),
        )
        .where(col(Answer.run_id) == run_id)
        .group_by(col(Answer.error))
    )
    sums = [0.0] * 6
    problems: Counter[AnswerProblem] = Counter()
    removed: Counter[Removed] = Counter()
    for error, *figures in session.execute(query):
        sums = [total + float(value or 0) for total, value in zip(sums, figures, strict=True)]
        names = error.partition(": ")[0].split(", ")
        problems.update({one: figures[0] for one in AnswerProblem if one in names})
        removed.update({kind: figures[0] for kind in Removed if kind.note in names})
    attempts, cost, prompt, completion, recent, estimates = sums
    spent = Spent(
        int(attempts), cost, int(prompt), int(completion), int(recent), is_estimate=estimates > 0
    )
    return AttemptCounts(spent, dict(problems.most_common()), dict(removed.most_common()))


def in_words(removed: Mapping[Any, int]) -> str:
    """Say what was removed from a run's answers."""
    return f"Removed from answers: {listed(removed)}." if removed else ""


def listed(counts: Mapping[Any, int]) -> str:
    """Return counts by kind as words."""
    return ", ".join(f"{kind} {number:,}" for kind, number in counts.items())


def missing_types(session: Session, run_id: int) -> dict[str, int]:
    """Count a run's answers that lack a variant, by type id, highest count first.

    Such calls are repeated; this counts answers that are still incomplete after that.
    """
    lacking = (
        col(ModelCall.run_id) == run_id,
        col(ModelCall.state) == CallState.DONE,
        col(ModelCall.problem) != "",
    )
    brought = (
        select(col(Answer.call_id), col(Variant.type_id))
        .join(Variant, col(Variant.answer_id) == Answer.id)
        .join(ModelCall, col(ModelCall.id) == Answer.call_id)
        .where(col(Variant.run_id) == run_id, *lacking)
    )
    found = {(call_id, type_id) for call_id, type_id in session.execute(brought)}
    asked = session.execute(select(col(ModelCall.id), col(ModelCall.type_ids)).where(*lacking))
    missing = Counter(
        type_id
        for call_id, type_ids in asked
        for type_id in type_ids
        if (call_id, type_id) not in found
    )
    return dict(missing.most_common())


def last_troubles(session: Session, run_id: int, noted: str) -> list[Trouble]:
    """Return the last attempts with a problem or removal, newest first, at most ``RAW_SHOWN``."""
    error = col(Answer.error)
    # Further notes on an answer follow a comma; a server's message follows a colon.
    named = error.startswith(noted) | (error.contains(f", {noted}") & ~error.contains(": "))
    query = (
        select(col(AnchorRevision.text), col(Answer.attempt), col(Answer.raw), col(Answer.error))
        .join(
            AnchorRevision,
            (col(AnchorRevision.anchor_id) == Answer.anchor_id)
            & (col(AnchorRevision.revision) == Answer.anchor_revision),
        )
        .where(col(Answer.run_id) == run_id, named)
        .order_by(col(Answer.id).desc())
        .limit(RAW_SHOWN)
    )
    return [Trouble(*row) for row in session.execute(query)]


def calls_in_full(session: Session, run_id: int, *, limit: int) -> list[ShownCall]:
    """Return the first calls of a run with their results, grouped by anchor."""
    query = (
        select(ModelCall, col(AnchorRevision.text))
        .join(
            AnchorRevision,
            (col(AnchorRevision.anchor_id) == ModelCall.anchor_id)
            & (col(AnchorRevision.revision) == ModelCall.anchor_revision),
        )
        .where(col(ModelCall.run_id) == run_id)
        .order_by(col(ModelCall.anchor_id), col(ModelCall.id))
        .limit(limit)
    )
    return [_in_full(session, call, text) for call, text in session.execute(query)]


def _in_full(session: Session, call: ModelCall, text: str) -> ShownCall:
    query = select(Answer).where(col(Answer.call_id) == call.id).order_by(col(Answer.id))
    answers = session.execute(query).scalars().all()
    brought = (
        select(col(Variant.type_id), col(Variant.text))
        .where(col(Variant.answer_id).in_([answer.id for answer in answers]))
        .order_by(col(Variant.id))
    )
    last = answers[-1] if answers else None
    return ShownCall(
        text,
        call.role,
        call.state,
        {type_id: SPELLING.get(cue, cue) for type_id, cue in call.cues.items()},
        tuple((type_id, written) for type_id, written in session.execute(brought)),
        last.raw if last else "",
        last.error if last else "",
    )


def is_measured(session: Session, run_id: int) -> bool:
    """Whether distances are stored for all variants of a run."""
    its = select(col(Diagnostic.variant_id)).where(col(Diagnostic.variant_id) == col(Variant.id))
    query = select(col(Variant.id)).where(col(Variant.run_id) == run_id, ~its.exists()).limit(1)
    return session.execute(query).first() is None


class CueRow(NamedTuple):
    """How often a cue was requested.

    Attributes:
        cue: in its correct spelling, as in the prompt.
        printed: as the paper prints it, and as it is stored.
    """

    type_id: str
    cue: str
    printed: str
    used: int


def cue_rows(session: Session, run_id: int | None) -> list[CueRow]:
    """Return the cues that a run requests, or all runs, the most frequent of each type first."""
    return [
        CueRow(type_id, SPELLING.get(cue, cue), cue, used)
        for type_id, counts in sorted(cue_use(session, run_id).items())
        for cue, used in sorted(counts.items(), key=lambda item: (-item[1], item[0]))
    ]


def written_by(session: Session, variant: Variant) -> str:
    """Say which run and prompt version wrote a variant; '' if it was written without a prompt."""
    if variant.prompt_version_id is None:
        return ""
    prompt = session.get_one(PromptVersion, variant.prompt_version_id)
    return f"Run {variant.run_id}, version {prompt.version} of the prompt {prompt.name}."


def last_asked(session: Session, kind: str) -> tuple[str, str]:
    """Return model and address of the newest run that called a model; empty if there is none."""
    return next(iter(_asked(session, kind)), ("", ""))


def models_used(session: Session, kind: str) -> list[str]:
    """Return the models that recent runs called, newest first."""
    return list(dict.fromkeys(model for model, _ in _asked(session, kind)))


def _asked(session: Session, kind: str) -> list[tuple[str, str]]:
    """Return model and address of recent runs that called a model, newest first."""
    query = select(col(Run.parameters)).where(col(Run.kind) == kind).order_by(col(Run.id).desc())
    recent = session.execute(query.limit(INSPECTED)).scalars()
    return [(one["model"], one.get("base_url", "")) for one in recent if one.get("model")]


def variant_ids(session: Session, run_id: int, *, limit: int) -> list[int]:
    """Return the variants that a run wrote, in the order of their arrival; at most ``limit``."""
    query = (
        select(col(Variant.id))
        .where(col(Variant.run_id) == run_id, col(Variant.retired).is_(False))
        .order_by(col(Variant.id))
        .limit(limit)
    )
    return list(session.execute(query).scalars())
