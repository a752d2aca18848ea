"""Inter-annotator agreement, as rows of a table."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

from sqlalchemy.orm import Session

from curation.anchors.revisions import source_in_use, sources_in_use
from curation.decisions.reviewers import reviewer_names
from curation.review.agreement.figures import By, Figures, Group, figures, figures_by
from curation.review.agreement.overlap import Overlap, overlap
from db.errors import HedgerowError

Row = dict[str, Any]

_GROUPS = {By.PAIR: ("person", "other")}
"""The columns that identify a group. Other groupings have one column, named after the grouping."""

SHARES = tuple(name for name, value in Figures().facts().items() if value is None)
"""The columns with shares and coefficients, whose values may be missing."""


class Agreed(NamedTuple):
    """The variants that several people have decided on.

    Attributes:
        all: all of them, with every verdict.
        counted: those with at least two verdicts that count, with only these verdicts.
    """

    all: Overlap
    counted: Overlap

    @property
    def left_out(self) -> int:
        """The number of variants with fewer than two verdicts that count."""
        return self.all.variants - self.counted.variants


def read_agreement(session: Session, *, independent: bool, source: str = "") -> Agreed:
    """Read the verdicts on variants that several people have decided on.

    Args:
        independent: count only verdicts that people gave without knowing anyone else's.
        source: only variants of anchors from this source; '' for all sources.

    Raises:
        HedgerowError: the source is unknown.
    """
    if source:
        source_in_use(session, source)
    found = overlap(session, [source] if source else ())
    return Agreed(found, found.narrowed(independent=independent))


def by_name(name: str) -> By | None:
    """The grouping with this name, or None if the name is ''.

    Raises:
        HedgerowError: no grouping has this name.
    """
    if not name:
        return None
    found = next((by for by in By if by.value == name), None)
    if found is None:
        raise HedgerowError(f"Expected a grouping ({', '.join(By)}), found {name!r}.")
    return found


def columns(by: By | None) -> list[str]:
    """The columns of `rows`, even if there are no rows."""
    group = _GROUPS.get(by, (by.value,)) if by else ()
    return [*group, *Figures().facts()]


def rows(session: Session, found: Overlap, by: By | None) -> Iterator[Row]:
    """One row per group, the group with the most variants first, or a single row for all."""
    if by is None:
        yield figures(found).facts()
        return
    names = _names(session, by)
    for group, group_figures in figures_by(found, by).items():
        parts = group if by is By.PAIR else (group,)
        labels = (names.get(part, part) for part in parts)
        yield dict(zip(columns(by), labels, strict=False)) | group_figures.facts()


def _names(session: Session, by: By) -> dict[Group, str]:
    if by is By.PAIR:
        return reviewer_names(session)
    return dict(sources_in_use(session)) if by is By.SOURCE else {}
