"""Makes one call with retries; decides when all calls of a run wait, and when the run pauses."""

import asyncio
from collections.abc import Collection, Sequence
from dataclasses import dataclass, field
from datetime import timedelta

from pydantic import BaseModel

from curation.generation.answers import (
    PASSING,
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
from curation.generation.storing import Attempt
from curation.splits import bucket
from curation.taxonomy.built_in import VariantType
from db.columns import now
from db.models import CallState

LONGEST_RETRY_AFTER = 300.0
"""Maximum seconds to wait at the server's request (Retry-After); for more, the run pauses."""

DOWN_AFTER = 10
"""Consecutive failures of the server before the run pauses instead of failing all calls.

It is never less than the number of concurrent calls.
"""

REFUSALS = 300
"""Consecutive refusals for rate limits before the run pauses.

At most twice the number of concurrent calls. A server that still answers some calls gets more.
"""


@dataclass
class Gate:
    """Delays all calls while the server asks for a delay.

    Attributes:
        until: the time, by the event loop's clock, before which no call is made.
        answers: number of calls that the server answered, whatever the answer.
        failures: number of consecutive temporary failures since then.
        last: the last of these failures.
        wish: the longest wait in seconds that the server asked for.
    """

    until: float = 0.0
    answers: int = 0
    failures: int = 0
    last: CallError | None = None
    wish: float = 0.0

    def left(self) -> float:
        """Seconds until calls are allowed; 0 or less if they are."""
        return self.until - asyncio.get_running_loop().time()

    def waits(self) -> str:
        """Say when waiting calls continue, if the wait is a second or more; else ''."""
        if (left := self.left()) < 1:
            return ""
        moment = now() + timedelta(seconds=left)
        return f" The server is busy; retrying at {moment:%H:%M:%S} UTC."

    def close_for(self, seconds: float) -> None:
        """Make all calls wait for this many seconds."""
        self.until = max(self.until, asyncio.get_running_loop().time() + seconds)

    def answered(self) -> None:
        """Record that the server answered."""
        self.answers += 1
        self.failures = 0

    def failed(self, error: CallError) -> None:
        """Record a failure, to distinguish a server that is down from occasional errors."""
        if error.problem not in PASSING:
            self.answered()
            return
        self.failures += 1
        self.last = error
        self.wish = max(self.wish, error.retry_after or 0.0)

    def gives_up(self, error: CallError, *, answers: int, tries: int, most: int) -> bool:
        """Whether a call causes its own failures, because the server answers other calls.

        Args:
            answers: the server's number of answers when the call was first tried.
            tries: attempts so far.
            most: maximum attempts for the call.
        """
        if error.problem is AnswerProblem.RATE_LIMIT:  # says nothing about the call
            return False
        return tries >= most and self.answers > answers

    def why_pause(self, *, at_once: int, attempts: int) -> str:
        """Return why a run should pause, as a sentence; '' if it should continue.

        Args:
            at_once: number of concurrent calls.
            attempts: maximum attempts per call.
        """
        if self.last is None:
            return ""
        if self.wish > LONGEST_RETRY_AFTER:
            return (
                f"Paused: the server asks for a retry {_after(self.wish)} {self._last_words()} "
                "Nothing is lost; resume then."
            )
        is_limit = self.last.problem is AnswerProblem.RATE_LIMIT
        most = max(REFUSALS, 2 * at_once) if is_limit else max(DOWN_AFTER, at_once)
        if self.failures < min(most, at_once * attempts):
            return ""
        if is_limit:
            return (
                f"Paused: the server refused {self.failures} calls in a row because of its rate "
                f"limit {self._last_words()} Nothing is lost; resume later, with fewer concurrent "
                "calls if this happens again."
            )
        return (
            f"Paused: {self.failures} calls in a row got no answer {self._last_words()} "
            "Nothing is lost; resume when the server answers."
        )

    def _last_words(self) -> str:
        """Return the server's last message in parentheses, as the end of a sentence."""
        return f"({str(self.last).removesuffix('.')})."


def _after(seconds: float) -> str:
    """Return when this many seconds will have passed, for use in a sentence."""
    try:
        moment = now() + timedelta(seconds=seconds)
    except OverflowError:
        return "in thousands of years"
    return f"on {moment:%Y-%m-%d at %H:%M} UTC"


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
            self.gate.close_for(min(wait, LONGEST_RETRY_AFTER))
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
