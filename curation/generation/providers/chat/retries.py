"""Makes one call with retries: which failures are temporary, and how long to wait."""

import asyncio
from collections.abc import Collection, Sequence
from dataclasses import dataclass, field

from pydantic import BaseModel

from curation.content_uids import bucket
from curation.generation.answers import (
    AnswerProblem,
    Parsed,
    answer_model,
    parse_answer,
)
from curation.generation.calls import Call
from curation.generation.examples import in_words
from curation.generation.prompts import fill
from curation.generation.providers.chat.client import ChatModel
from curation.generation.providers.chat.completions import CallError, Reply
from curation.generation.providers.chat.throttling import LONGEST_WISH, PASSING, Gate
from curation.generation.storing import Attempt
from curation.taxonomy.built_in import VariantType
from db.models import CallState

FIRST_WAIT, LONGEST_WAIT = 1.0, 60.0
"""Seconds before the second attempt, doubled for each further one; and the maximum."""

ONCE_MORE = frozenset(
    {
        AnswerProblem.REFUSAL,
        AnswerProblem.CUE_IGNORED,
        AnswerProblem.UNCHANGED,
        AnswerProblem.TOO_LONG,
    }
)
"""Problems that a model repeats deliberately if they occur twice."""

NEVER = frozenset({AnswerProblem.REFUSED_REQUEST})
"""Problems that occur again if the call is repeated."""


@dataclass
class Asker:
    """Makes calls to one model for the types of one taxonomy."""

    model: ChatModel
    types: Sequence[VariantType]
    attempts: int
    gate: Gate = field(default_factory=Gate)
    _answers: dict[tuple[str, ...], type[BaseModel]] = field(default_factory=dict, repr=False)

    def asked_types(self, call: Call) -> list[VariantType]:
        """Return the types that a call requests, in taxonomy order."""
        return [entry for entry in self.types if entry.id in call.type_ids]

    def keep_only(self, in_use: Collection[str]) -> None:
        """Stop requesting any other types, because they have been retired."""
        self.types = [entry for entry in self.types if entry.id in in_use]

    def question(self, call: Call) -> tuple[str, type[BaseModel]]:
        """Return the prompt of a call, and the schema of its answer."""
        types = self.asked_types(call)
        ids = tuple(entry.id for entry in types)
        shown = in_words(call.examples, ids, anchor_uid=call.anchor_uid, text=call.text)
        prompt = fill(call.template, text=call.text, types=types, cues=call.cues, examples=shown)
        if ids not in self._answers:  # creating a schema takes longer than sending the call
            self._answers[ids] = answer_model(types)
        return prompt, self._answers[ids]

    async def attempt(
        self, call: Call, number: int, *, answers: int | None = None
    ) -> tuple[Attempt, float]:
        """Ask once; the caller waits at the gate first.

        Args:
            number: the number of this attempt.
            answers: the server's number of answers when the call was first tried; None for the
                current number.

        Returns:
            The attempt, and the seconds to wait before the next one if its call is still open.

        Raises:
            HedgerowError: no call can succeed: wrong key, no such model, no money.
        """
        prompt, answer = self.question(call)
        loop = asyncio.get_running_loop()
        begun, tries = loop.time(), number - call.attempts
        answers = self.gate.answers if answers is None else answers
        try:
            reply = await self.model.ask(prompt, answer)
        except CallError as error:
            attempt = self.failed(call, number, error, tries=tries)
            if error.problem in PASSING and not self.gate.gives_up(
                error, answers=answers, tries=tries, most=self.attempts
            ):
                attempt = attempt._replace(state=CallState.OPEN)
            attempt = attempt._replace(seconds=loop.time() - begun)
            return attempt, self._wait_after(attempt, error, tries)
        self.gate.answered()
        attempt = self.answered(call, number, reply, tries=tries)
        return attempt._replace(seconds=loop.time() - begun), 0.0

    def failed(self, call: Call, number: int, error: CallError, *, tries: int) -> Attempt:
        """Decide after a failure whether its call has failed or must be repeated.

        Args:
            tries: the number of attempts since the run was last resumed, or ever.
        """
        again = error.problem not in NEVER and self._ask_again((error.problem,), tries)
        state = CallState.OPEN if again else CallState.FAILED
        message = self.model.without_key(str(error))
        return Attempt(call, number, error.reply, {}, (error.problem,), message, state)

    def _wait_after(self, attempt: Attempt, error: CallError, tries: int) -> float:
        """Return the seconds before the call is repeated; a rate limit makes all calls wait."""
        self.gate.failed(error)
        own = backoff(attempt.call, tries)
        if error.problem is AnswerProblem.RATE_LIMIT or error.retry_after is not None:
            wait = own if error.retry_after is None else error.retry_after
            self.gate.close_for(min(wait, LONGEST_WISH))
            # Otherwise all waiting calls would go out at once and be refused again.
            return wait + own
        return own if attempt.state is CallState.OPEN else 0.0

    def answered(self, call: Call, number: int, reply: Reply, *, tries: int) -> Attempt:
        """Decide from a reply whether its call is done, has failed or must be repeated."""
        parsed = read_reply(reply, call=call, types=self.asked_types(call))
        state = CallState.DONE if parsed.texts else CallState.FAILED
        if self._ask_again(parsed.problems, tries):
            parsed, state = parsed._replace(texts={}), CallState.OPEN
        texts, problems, removed = parsed
        return Attempt(call, number, reply, texts, problems, "", state, removed=removed)

    def _ask_again(self, problems: Sequence[AnswerProblem], tries: int) -> bool:
        if not problems or tries >= self.attempts:
            return False
        mild = all(problem in ONCE_MORE for problem in problems)
        return tries < 2 if mild else True


def read_reply(reply: Reply, *, call: Call, types: Sequence[VariantType]) -> Parsed:
    """Parse a reply; the way it ended counts among the problems."""
    if problem := problem_of(reply):
        return Parsed({}, (problem,))
    return parse_answer(reply.raw, types=types, anchor=call.text, cues=call.cues)


def problem_of(reply: Reply) -> AnswerProblem | None:
    """Return how a reply ended, if that makes it unusable."""
    if reply.refusal or reply.finish_reason == "content_filter":
        return AnswerProblem.REFUSAL
    # The last text may be incomplete, and there is no way to know which one it is.
    return AnswerProblem.CUT_OFF if reply.finish_reason == "length" else None


def backoff(call: Call, tries: int) -> float:
    """Return the seconds before the next attempt: doubling, with random variation of one half."""
    spread = 0.75 + 0.5 * bucket(call.anchor_uid, salt=f"hedgerow/backoff:{call.role}:{tries}:")
    return doubling(FIRST_WAIT, tries) * spread


def doubling(first: float, tries: int) -> float:
    """Return the seconds to wait after this many failures, at most ``LONGEST_WAIT``."""
    return min(first * 2.0 ** min(tries - 1, 30), LONGEST_WAIT)
