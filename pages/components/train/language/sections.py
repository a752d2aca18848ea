"""The sections of a language model: the next finetuning, and what came out of those before."""

from pages.components.shared.shell import frame

SECTION = "part"
"""Key of the choice of a section, and its name in the address."""

TRAIN, RESULTS = SECTIONS = ("Train", "Results")


def show() -> None:
    """The chosen section."""
    match frame.section(SECTIONS, key=SECTION):
        case _:
            pass
