"""Which accepted variants a release includes (§3.1.3 of the HedgeTriple paper)."""

from typing import Any, NamedTuple

from sqlalchemy import ColumnElement, false, func, select
from sqlalchemy.orm import Session
from sqlmodel import col

from curation.anchors.revisions import of_sources
from curation.project.settings import THRESHOLD, get_setting
from curation.taxonomy.built_in import TAXONOMY
from curation.taxonomy.project_types import all_types
from db.models import Diagnostic, Release, Status, Variant

SELECTION = "selection"
"""Key in a release's summary: the selection, as JSON. Releases of old versions have none."""

_ONLY_SOURCES = "only_sources"
"""Key in the summary of an old release of only some sources: their names, sorted."""

OF_PAPER = tuple(entry.id for entry in TAXONOMY if entry.of_paper)
"""The types of a complete family: the paper's four negations and two hedges."""


class Selection(NamedTuple):
    """Which accepted variants a release includes.

    Attributes:
        sources: names of the sources, sorted; empty means all.
        max_distance: variants at a greater Levenshtein distance from their anchor, in characters,
            are left out unless their type is free-form; None includes all.
        complete: after that, include only families with all of `OF_PAPER`.
    """

    sources: tuple[str, ...] = ()
    max_distance: int | None = None
    complete: bool = False

    def takes(self, session: Session) -> ColumnElement[bool]:
        """SQL: whether the release includes an accepted variant, over ``Variant``."""
        near = of_sources(self.sources) & ~self.too_far(session)
        if not self.complete:
            return near
        complete = (
            select(col(Variant.anchor_id))
            .where(
                col(Variant.status) == Status.ACCEPTED,
                col(Variant.retired).is_(False),
                col(Variant.type_id).in_(OF_PAPER),
                near,
            )
            .group_by(col(Variant.anchor_id))
            .having(func.count(col(Variant.type_id).distinct()) == len(OF_PAPER))
        )
        return near & col(Variant.anchor_id).in_(complete)

    def too_far(self, session: Session) -> ColumnElement[bool]:
        """SQL: whether a variant is too far from its anchor, over ``Variant``.

        A variant that is not measured yet is not too far.
        """
        if self.max_distance is None:
            return false()
        types = [t.id for t in all_types(session).values() if t.surface_check.keeps_words]
        far = select(col(Diagnostic.variant_id)).where(
            col(Diagnostic.levenshtein) > self.max_distance
        )
        return col(Variant.type_id).in_(types) & col(Variant.id).in_(far)

    def sentences(self) -> str:
        """Describe what is left out, in sentences; "" if nothing is."""
        sentences = []
        if self.sources:
            sentences.append(f"Sources: {', '.join(self.sources)}.")
        if self.max_distance is not None:
            sentences.append(
                f"Excludes variants that are more than {self.max_distance} characters "
                "(Levenshtein) from their anchor, except for free-form types."
            )
        if self.complete:
            sentences.append("Only families with all four negations and both hedges of the paper.")
        return " ".join(sentences)

    def as_json(self) -> dict[str, Any]:
        """Return the selection for storing in a release's summary."""
        return self._asdict() | {"sources": list(self.sources)}


def default_selection(session: Session) -> Selection:
    """Return all sources, within the project's Levenshtein threshold."""
    return Selection(max_distance=int(get_setting(session, THRESHOLD)))


def selection_of(release: Release) -> Selection:
    """Return the selection of a release."""
    stored = release.summary.get(SELECTION, {"sources": release.summary.get(_ONLY_SOURCES, ())})
    return Selection(**(stored | {"sources": tuple(stored["sources"])}))
