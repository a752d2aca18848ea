"""How far people agreed in the review that a release comes from."""

from collections.abc import Collection
from typing import Any

from sqlalchemy import Connection

from curation.review.agreement.figures import By, figures, figures_by
from curation.review.agreement.interpretation import sentences
from curation.review.agreement.overlap import overlap


def agreement_summary(connection: Connection, sources: Collection[str] = ()) -> dict[str, Any]:
    """The figures of all variants that several people have decided on independently.

    Of the rejected ones, too: on what is released people agree for the most part because it was
    chosen for that.

    Args:
        sources: names of the sources that the release takes; none means all.

    Returns:
        The figures, what they mean, and the figures by type.
    """
    found = overlap(connection, sources).narrowed(independent=True)
    together = figures(found)
    return together.facts() | {
        "meaning": sentences(together),
        "types": {key: its.facts() for key, its in figures_by(found, By.TYPE).items()},
    }
