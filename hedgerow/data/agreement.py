"""How far people agree, as rows."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

from sqlalchemy.orm import Session

from curation.anchors.sources import source_in_use, sources_in_use
from curation.review.agreement.figures import By, Figures, Group, figures, figures_by
from curation.review.agreement.overlap import Overlap, overlap
from curation.review.people.reviewers import reviewer_names
from db.errors import HedgerowError

Row = dict[str, Any]

_GROUPS = {By.PAIR: ("person", "other")}
"""Columns that name a group, where it is not one of what the groups are called."""

SHARES = tuple(name for name, value in Figures().facts().items() if value is None)
"""Columns with numbers that may be missing."""


class Agreed(NamedTuple):
    """The variants that several people have decided on.

    Attributes:
        all: with every verdict.
        counted: with the verdicts that count.
    """

    all: Overlap
    counted: Overlap

    @property
    def left_out(self) -> int:
        """How many variants lack two verdicts that count."""
        return self.all.variants - self.counted.variants


def read_agreement(session: Session, *, independent: bool, source: str = "") -> Agreed:
    """What several people have decided on the same variants.

    Args:
        independent: count only what people said before they knew anybody else's verdict.
        source: the name of a source of anchors; all without one.

    Raises:
        HedgerowError: there is no such source.
    """
    if source:
        source_in_use(session, source)
    found = overlap(session, [source] if source else ())
    return Agreed(found, found.narrowed(independent=independent))


def by_name(name: str) -> By | None:
    """What to group by; None for '', which is not to.

    Raises:
        HedgerowError: there is no such group.
    """
    if not name:
        return None
    found = next((by for by in By if by.value == name), None)
    if found is None:
        raise HedgerowError(f"Expected {', '.join(By)} or nothing, found {name!r}.")
    return found


def columns(by: By | None) -> list[str]:
    """The columns of `rows`, also where there are none."""
    group = _GROUPS.get(by, (by.value,)) if by else ()
    return [*group, *Figures().facts()]


def rows(session: Session, found: Overlap, by: By | None) -> Iterator[Row]:
    """A row for each group, the one with most variants first; one for all without a grouping."""
    if by is None:
        yield figures(found).facts()
        return
    names = _names(session, by)
    for group, its in figures_by(found, by).items():
        parts = group if by is By.PAIR else (group,)
        called = (names.get(part, part) for part in parts)
        yield dict(zip(columns(by), called, strict=False)) | its.facts()


def _names(session: Session, by: By) -> dict[Group, str]:
    if by is By.PAIR:
        return reviewer_names(session)
    return dict(sources_in_use(session)) if by is By.SOURCE else {}
