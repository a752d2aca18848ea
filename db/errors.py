"""The exceptions that Hedgerow raises on purpose.

Each carries one sentence for a person: what was expected, what was found, what to do. The command
line turns them into exit code 1, and the pages into an error box.
"""

from typing import Any


class HedgerowError(Exception):
    """An error that a person can fix: a wrong file, an unknown name, an impossible request."""


class NothingToDo(HedgerowError):
    """The requested work is already done: a message to show, but not an error."""


class RunEnded(HedgerowError):
    """A run ended before its work was done, as its row says.

    Attributes:
        facts: ``run`` (its number), ``state`` and ``message`` as in the row. Handlers may add
            figures.
    """

    def __init__(self, sentence: str, *, run: int, state: str, message: str) -> None:
        super().__init__(sentence)
        self.facts: dict[str, Any] = {"run": run, "state": state, "message": message}


class RunIncomplete(RunEnded):
    """A run is done, but some answers are missing; ``facts`` includes its result."""


class RunCancelled(Exception):
    """Raised in a run's process when somebody has asked it to stop."""


class RunPaused(RunCancelled):
    """Raised in a run's process when it pauses by itself and can be resumed; says why."""


def first_line(error: BaseException) -> str:
    """The first line of an error's message, or its class if the message is empty."""
    lines = str(error).strip().splitlines()
    return lines[0] if lines else type(error).__name__
