"""The exceptions that Hedgerow raises on purpose.

Both carry one sentence meant for a person: what was expected, what was found, what to do.
The command line turns them into exit code 1, the pages into an error box, each at one place.
"""


class HedgerowError(Exception):
    """Something a person can put right: a wrong file, an unknown name, an impossible request."""


class RunCancelled(Exception):
    """Raised inside a run's own process when somebody asked for it to stop."""


class RunPaused(RunCancelled):
    """Raised inside a run's own process when it stops by itself and can be resumed, saying why."""
