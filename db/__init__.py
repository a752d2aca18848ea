"""Storage: the tables, the engine, the settings, and the rows of long work."""

from collections.abc import Callable

LARGEST_NUMBER = 2**31 - 1
"""PostgreSQL's largest integer, for the number of a run, a release or a version."""

Report = Callable[[int, int, str], None]
"""Is told the steps done, the steps in all (0 if unknown) and what happens now."""
