"""Throttling shared by all calls of a run: when calls wait, and when the run pauses."""

import asyncio
from dataclasses import dataclass
from datetime import timedelta

from curation.generation.answers import AnswerProblem
from curation.generation.providers.chat.completions import CallError
from db.columns import now

PASSING = frozenset(
    {
        AnswerProblem.RATE_LIMIT,
        AnswerProblem.TIMEOUT,
        AnswerProblem.SERVER,
        AnswerProblem.CONNECTION,
    }
)
"""Problems of the server, for which repeating the call later helps."""

LONGEST_WISH = 300.0
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
        if self.wish > LONGEST_WISH:
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
