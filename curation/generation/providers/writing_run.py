"""Carrying out a run by a provider that is a class: the same calls, answers and variants as with a
model, without one."""

import json
import time
from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple

from sqlalchemy import select, update
from sqlalchemy.orm import Session
from sqlmodel import col

from curation.content_uids import bucket, canonical
from curation.generation.calls import Call, count_calls, open_calls
from curation.generation.prompts import types_of
from curation.generation.providers.chat.answers import MAX_TEXT, AnswerProblem
from curation.generation.providers.chat.completions import Reply
from curation.generation.providers.installed import (
    not_written,
    provider,
    provider_class,
    writer_of,
)
from curation.generation.providers.interface import PassedOver, Provider, WritingTask, Written
from curation.generation.providers.rules import RULES_VERSION
from curation.generation.request import GenerationRequest, Price
from curation.generation.storing import Attempt, Origin, store_attempts
from curation.taxonomy.built_in import VariantType
from curation.variants.writers import RULES
from db.engine import reading, writing
from db.errors import HedgerowError
from db.execution import RunContext
from db.models import CallState, ModelCall, PromptVersion

TOGETHER = 200
"""Calls that are stored in one transaction; no more than that is done twice after a crash."""

SECONDS = 5
"""After which a slow provider's variants are stored, however few they are."""

MAX_CUE = 200
"""Characters that the database has room for."""

_SEED_SALT = "hedgerow/provider/1"


class Answer(NamedTuple):
    """What a provider gave for an anchor, as far as it can be used; each by type id."""

    texts: dict[str, str]
    cues: dict[str, str]
    passed_over: dict[str, str]


def seed_provider(session: Session, name: str) -> int:
    """The number of the prompt version that stands for a provider as it is now.

    A variant says which version of the rules wrote it as it says which prompt did. Of a plug-in,
    its model says which version of its package did.
    """
    version = RULES_VERSION if name == RULES else 1
    prompt = (col(PromptVersion.name) == name) & (col(PromptVersion.version) == version)
    found = session.execute(select(col(PromptVersion.id)).where(prompt)).scalar_one_or_none()
    if found is not None:
        return found
    how = "by rule" if name == RULES else "by a plug-in"
    row = PromptVersion(name=name, version=version, template=f"No prompt: written {how}.")
    session.add(row)
    session.flush()
    return row.id


def check_provider(types: Sequence[VariantType], request: GenerationRequest) -> None:
    """Refuse a run by a provider that is not there, or that writes none of the types asked for.

    Raises:
        HedgerowError: that, with what to do.
    """
    written = provider_class(request.provider).types
    named = request.selection.types
    asked = [entry.id for role in request.roles for entry in types_of(role, types, named)]
    if asked and written and not set(asked) & set(written):
        raise HedgerowError(not_written(request.provider, asked))


def carry_out_provider(context: RunContext, name: str, types: Sequence[VariantType]) -> None:
    """Make all open calls of a run by a provider.

    Raises:
        RunCancelled: somebody asked for the run to stop; what was written before is stored.
        HedgerowError: there is no such provider, or it fails.
    """
    run_id = context.run.id
    made = provider(name)
    origin = Origin(name, writer_of(made))
    seed = int(context.parameters.get("seed", 0))
    with reading(context.engine) as session:
        counts = count_calls(session, run_id)
    total, done = sum(counts.values()), counts[CallState.DONE] + counts[CallState.FAILED]

    def so_far() -> tuple[int, int, str]:
        return done, total, f"{done:,} of {total:,} calls made by {name}."

    context.update(*so_far())
    after = 0
    while True:
        with reading(context.engine) as session:
            block = open_calls(session, run_id, after=after)
        if not block:
            return
        after = block[-1].id
        for attempts in _portions(_attempt(made, call, types, seed) for call in block):
            with writing(context.engine) as session:
                _store(session, attempts, origin)
            done += len(attempts)
            context.progress(*so_far())
            if done < total:
                context.check()


def _portions(attempts: Iterable[Attempt]) -> Iterator[list[Attempt]]:
    """The attempts in portions to store: of `TOGETHER`, or what took `SECONDS`."""
    portion: list[Attempt] = []
    since = time.monotonic()
    for attempt in attempts:
        portion.append(attempt)
        if len(portion) >= TOGETHER or time.monotonic() - since > SECONDS:
            yield portion
            portion, since = [], time.monotonic()
    if portion:
        yield portion


def _attempt(made: Provider, call: Call, types: Sequence[VariantType], seed: int) -> Attempt:
    """What a provider makes of a call; it gets one try, since a second would bring the same."""
    asked = tuple(entry for entry in types if entry.id in call.type_ids)
    seed = seed_of(seed, call.anchor_uid)
    answer = answer_of(made, WritingTask(call.text, call.language, asked, call.cues, seed))
    cues = {**call.cues, **answer.cues}
    reply = Reply(json.dumps(answer.texts, ensure_ascii=False), "stop", None, None)
    problem = AnswerProblem.NO_RULE if made.name == RULES else AnswerProblem.PASSED_OVER
    return Attempt(
        call=call._replace(cues=cues),
        number=call.attempts + 1,
        reply=reply,
        texts=answer.texts,
        problems=(problem,) if answer.passed_over else (),
        message="; ".join(f"{type_id}: {why}" for type_id, why in answer.passed_over.items()),
        state=CallState.DONE if answer.texts else CallState.FAILED,
    )


def seed_of(seed: int, anchor_uid: str) -> int:
    """The seed of an anchor in a run with this seed, 32 bits."""
    return int(bucket(anchor_uid, salt=f"{_SEED_SALT}:{seed}:") * 2**32)


def answer_of(made: Provider, task: WritingTask) -> Answer:
    """What a provider writes for a task, but for what is no variant of a type that was asked for.

    Raises:
        HedgerowError: it fails, or gives something else than variants.
    """
    answer = Answer({}, {}, {})
    wanted = {entry.id for entry in task.types}
    found = made.write(task)
    if not isinstance(found, Iterable):
        raise HedgerowError(
            f"Expected variants from the provider {made.name!r}, found {type(found).__name__}; "
            "repair its package."
        )
    for given in found:
        if isinstance(given, PassedOver):
            answer.passed_over[str(given.type_id)] = str(given.reason)
            continue
        written = _written(made.name, given)
        text = _usable(written.text)
        if written.type_id not in wanted or written.type_id in answer.texts:
            continue
        if not text or text.casefold() == task.text.casefold():
            answer.passed_over[written.type_id] = "repeats the anchor" if text else "no sentence"
            continue
        answer.texts[written.type_id] = text
        if cue := _usable(written.cue)[:MAX_CUE]:
            answer.cues[written.type_id] = cue
    for type_id in sorted(wanted - answer.texts.keys() - answer.passed_over.keys()):
        answer.passed_over[type_id] = "no text"
    return answer


def _written(name: str, given: object) -> Written:
    """The variant that a provider gave, also as a plain tuple."""
    parts = given if isinstance(given, tuple) else ()
    if not (2 <= len(parts) <= 3 and all(isinstance(part, str) for part in parts)):
        raise HedgerowError(
            f"Expected a type, a text and optionally a cue from the provider {name!r}, found "
            f"{type(given).__name__} {str(given)[:60]!r}; repair its package."
        )
    return Written(*parts)


def _usable(text: str) -> str:
    """The canonical text, or '' where it can be no variant."""
    try:
        found = canonical(text)
    except HedgerowError:  # empty, or control characters: not a sentence
        return ""
    return found if len(found) <= MAX_TEXT else ""


def _store(session: Session, attempts: Sequence[Attempt], origin: Origin) -> None:
    """Store attempts; a call whose cue could not be placed says which one was, too."""
    stored = store_attempts(session, attempts, origin=origin, price=Price())
    changed = [{"id": a.call.id, "cues": a.call.cues} for a in stored if a.call.cues]
    if changed:
        session.execute(update(ModelCall), changed)
