"""The sections for language models: the next run, the results, and the comparison of arms."""

from pages.components.shared.shell import frame
from pages.components.train.language import (
    arms_view,
    provider_view,
    results_view,
    train_view,
)
from pages.components.train.language.section_choice import (
    ARMS,
    PROVIDER,
    RESULTS,
    SECTION,
    SECTIONS,
)


def show() -> str:
    """Draw the chosen section and return its name."""
    section = frame.section(SECTIONS, key=SECTION)
    if section == RESULTS:
        results_view.show()
    elif section == ARMS:
        arms_view.show()
    elif section == PROVIDER:
        provider_view.show()
    else:
        train_view.show()
    return section
