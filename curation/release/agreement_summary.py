"""Agreement among the people who reviewed the variants behind a release."""

from collections.abc import Collection
from typing import Any

from sqlalchemy import Connection

from curation.review.agreement.figures import By, figures, figures_by
from curation.review.agreement.interpretation import sentences
from curation.review.agreement.overlap import overlap


def agreement_summary(connection: Connection, sources: Collection[str] = ()) -> dict[str, Any]:
    """Return agreement figures over all variants that several people decided independently.

    Rejected variants count too: people mostly agree on released variants, because release selects
    for agreement.

    Args:
        sources: names of the sources of the release; empty means all.

    Returns:
        The figures, their meaning, and the figures by type.
    """
    found = overlap(connection, sources).narrowed(independent=True)
    together = figures(found)
    return together.facts() | {
        "meaning": sentences(together),
        "types": {key: its.facts() for key, its in figures_by(found, By.TYPE).items()},
    }
