"""Forecasts and carries out a run by a provider class, which is stored like a run by a model."""

import json
import time
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple

from sqlalchemy import select, update
from sqlalchemy.orm import Session
from sqlmodel import col

from curation.anchors.revisions import of_current_revision
from curation.decisions.variant_rows import RULES
from curation.generation.answer_texts import usable
from curation.generation.answers import AnswerProblem
from curation.generation.calls import Call, count_calls, open_calls
from curation.generation.missing_variants import wanted_anchors
from curation.generation.prompts import types_of
from curation.generation.providers.chat.completions import Reply
from curation.generation.providers.installed import (
    not_written,
    provider,
    provider_class,
    writer_of,
)
from curation.generation.providers.interface import PassedOver, Provider, WritingTask, Written
from curation.generation.providers.rules import RULES_VERSION
from curation.generation.request import OPENAI, GenerationRequest, Price
from curation.generation.storing import Attempt, Origin, store_attempts
from curation.splits import bucket
from curation.taxonomy.built_in import VariantType
from curation.taxonomy.project_types import list_types
from db.engine import reading, writing
from db.errors import HedgerowError
from db.execution import RunContext
from db.models import Anchor, AnchorRevision, CallState, ModelCall, PromptVersion

TOGETHER = 200
"""Calls stored in one transaction; at most this many are repeated after a crash."""

SECONDS = 5
"""Maximum seconds until a slow provider's variants are stored, however few they are."""

MAX_CUE = 200
"""Maximum characters that fit into the database."""

_SEED_SALT = "hedgerow/provider/1"


class Answer(NamedTuple):
    """The usable part of a provider's output for an anchor, by type id."""

    texts: dict[str, str]
    cues: dict[str, str]
    passed_over: dict[str, str]


def seed_provider(session: Session, name: str) -> int:
    """Return the prompt version that represents a provider in its current version.

    Variants record the version of the rules in the same way as the version of a prompt. For a
    plug-in, their model records the version of its package.
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
    """Refuse a run by a provider that does not exist, or that writes none of the requested types.

    Raises:
        HedgerowError: this is the case; the message says what to do.
    """
    written = provider_class(request.provider).types
    named = request.selection.types
    asked = [entry.id for role in request.roles for entry in types_of(role, types, named)]
    if asked and written and not set(asked) & set(written):
        raise HedgerowError(not_written(request.provider, asked))


def carry_out_provider(context: RunContext, name: str, types: Sequence[VariantType]) -> None:
    """Carry out all open calls of a run with a provider.

    Raises:
        RunCancelled: the run was cancelled; variants written before are stored.
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
        return done, total, f"{done:,} of {total:,} calls by {name} done."

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
                stored = store_attempts(session, attempts, origin=origin, price=Price())
                # A cue that could not be placed is replaced by the actual one.
                if changed := [
                    {"id": a.call.id, "cues": a.call.cues} for a in stored if a.call.cues
                ]:
                    session.execute(update(ModelCall), changed)
            done += len(attempts)
            context.progress(*so_far())
            if done < total:
                context.check()


def _portions(attempts: Iterable[Attempt]) -> Iterator[list[Attempt]]:
    """Split the attempts into portions for storing: `TOGETHER` calls, or those of `SECONDS`."""
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
    """Carry out a call with a provider, once, since a second attempt would give the same result."""
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
    """Return the seed of an anchor in a run with this seed, 32 bits."""
    return int(bucket(anchor_uid, salt=f"{_SEED_SALT}:{seed}:") * 2**32)


def answer_of(made: Provider, task: WritingTask) -> Answer:
    """Return a provider's output for a task, without anything that is not a requested variant.

    Raises:
        HedgerowError: it fails, or returns anything other than variants.
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
        text = usable(written.text)
        if written.type_id not in wanted or written.type_id in answer.texts:
            continue
        if not text or text.casefold() == task.text.casefold():
            answer.passed_over[written.type_id] = "repeats the anchor" if text else "no sentence"
            continue
        answer.texts[written.type_id] = text
        if cue := usable(written.cue)[:MAX_CUE]:
            answer.cues[written.type_id] = cue
    for type_id in sorted(wanted - answer.texts.keys() - answer.passed_over.keys()):
        answer.passed_over[type_id] = "no text"
    return answer


def _written(name: str, given: object) -> Written:
    """Return the variant from a provider, which may be a plain tuple."""
    parts = given if isinstance(given, tuple) else ()
    if not (2 <= len(parts) <= 3 and all(isinstance(part, str) for part in parts)):
        raise HedgerowError(
            f"Expected a type, a text and optionally a cue from the provider {name!r}, found "
            f"{type(given).__name__} {str(given)[:60]!r}; repair its package."
        )
    return Written(*parts)


INSPECTED = 400
"""Anchors of each role to try, evenly spread; takes about a second."""


class Forecast(NamedTuple):
    """The variants that a run will write.

    Attributes:
        provider: the provider's name.
        variants: by type id; 0 for a type that it does not write.
        exact: whether every anchor was tried. Otherwise the counts are extrapolated.
        not_written: the types that it does not write.
    """

    provider: str
    variants: dict[str, int]
    exact: bool
    not_written: tuple[str, ...]

    @property
    def total(self) -> int:
        """The total number of variants."""
        return sum(self.variants.values())

    def sentences(self) -> list[str]:
        """Describe the forecast in sentences."""
        each = ", ".join(f"{number:,} {name}" for name, number in self.variants.items())
        each = f": {each}" if each else ""
        about = "" if self.exact else "About "
        lines = [f"{about}{self.total:,} variants to write by {self.provider}{each}."]
        if self.not_written:
            lines.append(not_written(self.provider, self.not_written))
        return lines


def can_forecast(name: str) -> bool:
    """Whether a provider may be tried on a few hundred anchors before a run.

    Raises:
        HedgerowError: as in `provider_class`.
    """
    return name != OPENAI and provider_class(name).free


def forecast(session: Session, request: GenerationRequest) -> Forecast:
    """Try the provider on up to ``INSPECTED`` anchors per role without storing anything.

    Raises:
        HedgerowError: there is no such provider, or it fails.
    """
    made = provider(request.provider)
    types = list_types(session)
    wanted = wanted_anchors(session, request.selection, request.roles, types, seed=request.seed)
    counts: Counter[str] = Counter()
    asked: dict[str, None] = {}
    for anchors in wanted.values():
        tried = anchors[:: -(-len(anchors) // INSPECTED) or 1]
        query = (
            select(col(Anchor.id), col(AnchorRevision.text), col(Anchor.language))
            .join(AnchorRevision, of_current_revision())
            .where(col(Anchor.id).in_([anchor.anchor_id for anchor in tried]))
        )
        texts = {row.id: (row.text, row.language) for row in session.execute(query)}
        found: Counter[str] = Counter()
        for anchor in tried:
            some = tuple(entry for entry in types if entry.id in anchor.type_ids)
            asked |= dict.fromkeys(anchor.type_ids)
            seed = seed_of(request.seed, anchor.uid)
            text, language = texts[anchor.anchor_id]
            answer = answer_of(made, WritingTask(text, language, some, {}, seed))
            found.update(list(answer.texts))
        for type_id, number in found.items():
            counts[type_id] += round(number * len(anchors) / len(tried))
    exact = all(len(anchors) <= INSPECTED for anchors in wanted.values())
    never = tuple(type_id for type_id in asked if made.types and type_id not in made.types)
    return Forecast(made.name, {type_id: counts[type_id] for type_id in asked}, exact, never)
