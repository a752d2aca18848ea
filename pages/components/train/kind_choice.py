"""The kind of model that the Train page shows: a text encoder or a language model."""

from pages.components.shared.shell import frame

SIDE = "kind"
"""Key of the choice, and its name in the address."""

ENCODER, LANGUAGE = KINDS = ("Text encoder", "Language model")


def choose() -> str:
    """Draw the choice; one of `KINDS`."""
    return frame.section(KINDS, key=SIDE, label="Kind of model")
