"""A reviewer's window over three families."""

from tests.support.reviewing import state as state
