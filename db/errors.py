"""The exceptions that Hedgerow raises on purpose.

Each carries one sentence meant for a person: what was expected, what was found, what to do.
The command line turns them into exit code 1, the pages into an error box, each at one place.
"""

from typing import Any


class HedgerowError(Exception):
    """Something a person can put right: a wrong file, an unknown name, an impossible request."""


class NothingToDo(HedgerowError):
    """What was asked for is done already: a sentence to show, but nothing went wrong."""


class RunEnded(HedgerowError):
    """A run ended before its work was done; its row says the same.

    Attributes:
        facts: ``run`` (its number), ``state`` and ``message`` as the row has them; who catches it
            on the way may add figures.
    """

    def __init__(self, sentence: str, *, run: int, state: str, message: str) -> None:
        super().__init__(sentence)
        self.facts: dict[str, Any] = {"run": run, "state": state, "message": message}


class RunIncomplete(RunEnded):
    """A run is done, but not all that it asked for came; ``facts`` has its result, too."""


class RunCancelled(Exception):
    """Raised inside a run's own process when somebody asked for it to stop."""


class RunPaused(RunCancelled):
    """Raised inside a run's own process when it stops by itself and can be resumed, saying why."""


def first_line(error: BaseException) -> str:
    """What an error says on its first line; its class where it says nothing."""
    lines = str(error).strip().splitlines()
    return lines[0] if lines else type(error).__name__
