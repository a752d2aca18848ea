"""Carrying out a run by rule: the same calls, answers and variants as with a model, without one."""

import json
from collections.abc import Sequence

from sqlalchemy import select, update
from sqlalchemy.orm import Session
from sqlmodel import col

from curation.generation.calls import Call, count_calls, open_calls
from curation.generation.prompts import types_of
from curation.generation.providers.chat.answers import AnswerProblem
from curation.generation.providers.chat.completions import Reply
from curation.generation.providers.rules import RULE_TYPES, RULES_VERSION, RuleTexts, write_by_rule
from curation.generation.providers.rules.forecast import no_rules_sentence
from curation.generation.request import GenerationRequest, Price
from curation.generation.storing import Attempt, Origin, store_attempts
from curation.language.wordnet.files import folder
from curation.taxonomy.built_in import VariantType
from curation.variants.writers import RULES
from db.engine import reading, writing
from db.errors import HedgerowError
from db.execution import RunContext
from db.models import CallState, ModelCall, PromptVersion

PROVIDER = RULES
"""Of such runs and their variants, and the name under which the rules stand among the prompts."""

WORDNET = "with WordNet"
"""Stands as the model of variants from a machine where WordNet lies: it knows more opposites."""

TOGETHER = 200
"""Calls that are stored in one transaction; no more than that is done twice after a crash."""


def seed_rules(session: Session) -> int:
    """The number of the prompt version that stands for the rules as they are now.

    A variant says which version of the rules wrote it as it says which prompt did.
    """
    found = session.execute(
        select(col(PromptVersion.id)).where(
            col(PromptVersion.name) == PROVIDER, col(PromptVersion.version) == RULES_VERSION
        )
    ).scalar_one_or_none()
    if found is not None:
        return found
    row = PromptVersion(
        name=PROVIDER, version=RULES_VERSION, template="No prompt: written by rule."
    )
    session.add(row)
    session.flush()
    return row.id


def check_rules(types: Sequence[VariantType], request: GenerationRequest) -> None:
    """Refuse a run that asks for nothing but types without rules.

    Raises:
        HedgerowError: of such types, with what to do.
    """
    named = request.selection.types
    asked = [entry.id for role in request.roles for entry in types_of(role, types, named)]
    if asked and not set(asked) & set(RULE_TYPES):
        raise HedgerowError(no_rules_sentence(asked))


def carry_out_rules(context: RunContext, types: Sequence[VariantType]) -> None:
    """Make all open calls of a run by rule.

    Raises:
        RunCancelled: somebody asked for the run to stop; what was written before is stored.
    """
    run_id = context.run.id
    with reading(context.engine) as session:
        counts = count_calls(session, run_id)
    total, done = sum(counts.values()), counts[CallState.DONE] + counts[CallState.FAILED]
    after = 0
    while True:
        with reading(context.engine) as session:
            block = open_calls(session, run_id, after=after)
        if not block:
            return
        after = block[-1].id
        for start in range(0, len(block), TOGETHER):
            context.update(done, total, _so_far(done, total))
            some = block[start : start + TOGETHER]
            attempts = [_attempt(call, types) for call in some]
            with writing(context.engine) as session:
                _store(session, attempts)
            done += len(some)
            context.progress(done, total, _so_far(done, total))


def _so_far(done: int, total: int) -> str:
    return f"{done:,} of {total:,} calls made by rule."


def _attempt(call: Call, types: Sequence[VariantType]) -> Attempt:
    """What the rules make of a call; they get one try, since a second would bring the same."""
    asked = [entry for entry in types if entry.id in call.type_ids]
    written = write_by_rule(call.text, types=asked, cues=call.cues)
    cues = {**call.cues, **written.cues}
    reply = Reply(json.dumps(written.texts, ensure_ascii=False), "stop", None, None)
    return Attempt(
        call=call._replace(cues=cues),
        number=call.attempts + 1,
        reply=reply,
        texts=written.texts,
        problems=(AnswerProblem.NO_RULE,) if written.skipped else (),
        message=_reasons(written),
        state=CallState.DONE if written.texts else CallState.FAILED,
    )


def _reasons(written: RuleTexts) -> str:
    return "; ".join(f"{type_id}: {reason}" for type_id, reason in written.skipped.items())


def _store(session: Session, attempts: Sequence[Attempt]) -> None:
    """Store attempts; a call whose cue could not be placed says which one was, too."""
    origin = Origin(PROVIDER, WORDNET if folder() else "")
    stored = store_attempts(session, attempts, origin=origin, price=Price())
    changed = [{"id": a.call.id, "cues": a.call.cues} for a in stored if a.call.cues]
    if changed:
        session.execute(update(ModelCall), changed)
