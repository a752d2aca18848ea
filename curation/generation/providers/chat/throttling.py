"""Throttling shared by all calls of a run: when calls wait, and when the run pauses."""

import asyncio
from dataclasses import dataclass
from datetime import timedelta

from curation.generation.providers.chat.answers import AnswerProblem
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
"""The server's problems; asking again later helps."""

LONGEST_WISH = 300.0
"""Seconds that a server may ask to wait (Retry-After) and is given; for more, the run pauses."""

DOWN_AFTER = 10
"""Calls in a row that a server fails (at least; and as many as go out at once) before the run
pauses instead of failing all the others, too."""

REFUSALS = 300
"""Calls in a row that a server refuses as too many (at most; or twice as many as go out at once)
before the run pauses; one that goes on answering some is left to do so."""


@dataclass
class Gate:
    """Delays all calls while the server asks for a delay.

    Attributes:
        until: the moment, by the event loop's clock, before which nobody asks.
        answers: calls that the server answered, whatever it said.
        failures: calls in a row since then that failed in a passing way.
        last: what the last of these failures was.
        wish: the longest time in seconds that the server asked to be left alone.
    """

    until: float = 0.0
    answers: int = 0
    failures: int = 0
    last: CallError | None = None
    wish: float = 0.0

    def left(self) -> float:
        """Seconds until asking is allowed; 0 or less where it is."""
        return self.until - asyncio.get_running_loop().time()

    def waits(self) -> str:
        """When calls go on that are held back for a second or more, as a sentence; else ''."""
        if (left := self.left()) < 1:
            return ""
        moment = now() + timedelta(seconds=left)
        return f" The server is busy; retrying at {moment:%H:%M:%S} UTC."

    def close_for(self, seconds: float) -> None:
        """Let nobody ask for so long."""
        self.until = max(self.until, asyncio.get_running_loop().time() + seconds)

    def answered(self) -> None:
        """Note that the server answered."""
        self.answers += 1
        self.failures = 0

    def failed(self, error: CallError) -> None:
        """Note how a call failed, to distinguish a server that is down from one that stumbles."""
        if error.problem not in PASSING:
            self.answered()
            return
        self.failures += 1
        self.last = error
        self.wish = max(self.wish, error.retry_after or 0.0)

    def gives_up(self, error: CallError, *, answers: int, tries: int, most: int) -> bool:
        """Whether a call is the cause of its failures, and not its server, which answers others.

        Args:
            answers: of the server when the call was first tried.
            tries: so far.
            most: tries that the call has.
        """
        if error.problem is AnswerProblem.RATE_LIMIT:  # says nothing of the call
            return False
        return tries >= most and self.answers > answers

    def why_pause(self, *, at_once: int, attempts: int) -> str:
        """Why a run should pause, as a sentence; '' if it should continue.

        Args:
            at_once: calls that are under way together.
            attempts: that a call has.
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
        """What the server said last, in parentheses, as the end of a sentence."""
        return f"({str(self.last).removesuffix('.')})."


def _after(seconds: float) -> str:
    """When so many seconds have passed, for a sentence."""
    try:
        moment = now() + timedelta(seconds=seconds)
    except OverflowError:
        return "in thousands of years"
    return f"on {moment:%Y-%m-%d at %H:%M} UTC"
