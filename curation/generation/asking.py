"""Making one call, with its retries: which failures pass, and how long to wait."""

import asyncio
from collections.abc import Collection, Sequence
from dataclasses import dataclass, field

from pydantic import BaseModel

from curation.generation.answers import Parsed, Problem, answer_model, parse_answer
from curation.generation.calls import Call
from curation.generation.client import ChatModel
from curation.generation.completions import CallError, Reply
from curation.generation.prompts import fill
from curation.generation.storing import Attempt
from curation.taxonomy import VariantType
from curation.text import bucket
from db.models import CallState

FIRST_WAIT, LONGEST_WAIT = 1.0, 60.0
"""Seconds before the second attempt, doubled for each further one, and the longest such wait."""

PASSING = frozenset({Problem.RATE_LIMIT, Problem.TIMEOUT, Problem.SERVER, Problem.CONNECTION})
"""The server's problems; asking again later helps."""

ONCE_MORE = frozenset({Problem.REFUSAL, Problem.CUE_IGNORED, Problem.UNCHANGED, Problem.TOO_LONG})
"""A model that does it twice means it."""

NEVER = frozenset({Problem.REFUSED_REQUEST})
"""Asking the same again brings the same."""


@dataclass
class Gate:
    """Holds back all calls while the server wants to be left alone.

    Attributes:
        until: the moment, by the event loop's clock, before which nobody asks.
        failures: calls of the server in a row that failed in a passing way.
    """

    until: float = 0.0
    failures: int = 0
    last: str = ""

    def left(self) -> float:
        """Seconds until asking is allowed; 0 or less where it is."""
        return self.until - asyncio.get_running_loop().time()

    def close_for(self, seconds: float) -> None:
        """Let nobody ask for so long."""
        self.until = max(self.until, asyncio.get_running_loop().time() + seconds)

    def note(self, problem: Problem | None, message: str = "") -> None:
        """Note how a call ended, for telling a server that is down from one that stumbles."""
        if problem in PASSING and problem is not Problem.RATE_LIMIT:
            self.failures += 1
            self.last = message
        else:
            self.failures = 0


@dataclass
class Asker:
    """Makes calls to one model for the types of one taxonomy."""

    model: ChatModel
    types: Sequence[VariantType]
    attempts: int
    gate: Gate = field(default_factory=Gate)
    _answers: dict[tuple[str, ...], type[BaseModel]] = field(default_factory=dict, repr=False)

    def asked_types(self, call: Call) -> list[VariantType]:
        """The types that a call asks for, in the taxonomy's order."""
        return [entry for entry in self.types if entry.id in call.type_ids]

    def keep_only(self, in_use: Collection[str]) -> None:
        """Ask no more for types that are not among these: they were retired meanwhile."""
        self.types = [entry for entry in self.types if entry.id in in_use]

    def question(self, call: Call) -> tuple[str, type[BaseModel]]:
        """The prompt of a call, and what its answer shall be made of."""
        types = self.asked_types(call)
        prompt = fill(call.template, text=call.text, types=types, cues=call.cues)
        ids = tuple(entry.id for entry in types)
        if ids not in self._answers:  # making one takes longer than sending the call
            self._answers[ids] = answer_model(types)
        return prompt, self._answers[ids]

    async def attempt(self, call: Call, number: int) -> tuple[Attempt, float]:
        """Ask once; whoever calls waits at the gate first.

        Returns:
            The attempt, and the seconds to wait before the next one if its call is still open.

        Raises:
            HedgerowError: no call can succeed: wrong key, no such model, no money.
        """
        prompt, answer = self.question(call)
        loop = asyncio.get_running_loop()
        begun = loop.time()
        try:
            reply = await self.model.ask(prompt, answer)
        except CallError as error:
            attempt = self.failed(call, number, error)._replace(seconds=loop.time() - begun)
            return attempt, self._wait_after(attempt, error)
        self.gate.note(None)
        attempt = self.answered(call, number, reply)
        return attempt._replace(seconds=loop.time() - begun), 0.0

    def failed(self, call: Call, number: int, error: CallError) -> Attempt:
        """What a failure makes of its call: failed for good, or to be asked again."""
        again = error.problem not in NEVER and self._ask_again((error.problem,), number)
        state = CallState.OPEN if again else CallState.FAILED
        said = self.model.without_key(str(error))
        return Attempt(call, number, error.reply, {}, (error.problem,), said, state)

    def _wait_after(self, attempt: Attempt, error: CallError) -> float:
        """Seconds before the call is asked again; a server at its limit is left alone by all."""
        self.gate.note(error.problem, str(error))
        own = backoff(attempt.call, attempt.number)
        wait = own if error.retry_after is None else error.retry_after
        if error.problem is Problem.RATE_LIMIT:
            self.gate.close_for(wait)
            # All that wait at the gate would go through it at once, and be sent back again.
            return wait + own
        return wait if attempt.state is CallState.OPEN else 0.0

    def answered(self, call: Call, number: int, reply: Reply) -> Attempt:
        """What a reply makes of its call: done, failed, or to be asked again."""
        parsed = read_reply(reply, call=call, types=self.asked_types(call))
        if self._ask_again(parsed.problems, number):
            return Attempt(call, number, reply, {}, parsed.problems, "", CallState.OPEN)
        state = CallState.DONE if parsed.texts else CallState.FAILED
        return Attempt(call, number, reply, parsed.texts, parsed.problems, "", state)

    def _ask_again(self, problems: Sequence[Problem], number: int) -> bool:
        if not problems or number >= self.attempts:
            return False
        mild = all(problem in ONCE_MORE for problem in problems)
        return number < 2 if mild else True


def read_reply(reply: Reply, *, call: Call, types: Sequence[VariantType]) -> Parsed:
    """What a reply holds for its call; how it ended counts among the problems."""
    if reply.refusal:
        return Parsed({}, (Problem.REFUSAL,))
    parsed = parse_answer(reply.raw, types=types, anchor=call.text, cues=call.cues)
    if reply.finish_reason == "content_filter":
        return Parsed({}, (Problem.REFUSAL,))
    if reply.finish_reason == "length":
        # The last text may be half a sentence; which one that is cannot be told for sure.
        return Parsed({}, (Problem.CUT_OFF,))
    return parsed


def backoff(call: Call, number: int) -> float:
    """Seconds before the next attempt: doubling, spread by half over the calls."""
    spread = 0.75 + 0.5 * bucket(call.anchor_uid, salt=f"hedgerow/backoff:{call.role}:{number}:")
    return min(FIRST_WAIT * 2 ** (number - 1), LONGEST_WAIT) * spread
