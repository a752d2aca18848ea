"""The action *create a release*: which accepted variants it freezes, and how many there are."""

from collections.abc import Mapping
from typing import NamedTuple

from sqlalchemy.orm import Session

from curation.actions import Action, OpenProject, Request
from curation.formatting import counted
from curation.release.contents import Contents, count_accepted
from curation.release.freezing import Created, create_release, nothing_to_release
from curation.release.selection import Selection, default_selection
from curation.release.upcoming import contents_now
from db.engine import reading, writing


class CreateRelease(Request):
    """Which accepted variants to freeze as the next release."""

    name: str = ""
    """A name for the release."""

    sources: tuple[str, ...] = ()
    """Only include this source. Repeat for several."""

    any_distance: bool = False
    """Include variants above the project's Levenshtein threshold."""

    complete: bool = False
    """Only include anchors with all six types of the HedgeTriple paper."""

    def selection(self, session: Session) -> Selection:
        """The variants to include, with the project's threshold."""
        limit = None if self.any_distance else default_selection(session).max_distance
        return Selection(tuple(sorted(set(self.sources))), limit, self.complete)


class Plan(NamedTuple):
    """What a request would freeze now.

    Attributes:
        left_out: why accepted variants of these sources are left out → their number.
    """

    request: CreateRelease
    selection: Selection
    contents: Contents
    left_out: Mapping[str, int]

    def sentences(self) -> list[str]:
        """What the release would contain, and what it leaves out."""
        found = self.contents
        if not found.variants:
            return [nothing_to_release(self.selection, sum(self.left_out.values()))]
        contained = (
            f"A release would contain {counted(found.variants, 'accepted variant')} of "
            f"{counted(found.anchors, 'anchor')}, and {counted(found.triples, 'triple')}."
        )
        parts = [f"{number:,} {why}" for why, number in self.left_out.items() if number]
        return [contained, *[f"Accepted, but left out: {', '.join(parts)}."] * bool(parts)]


def plan(project: OpenProject, request: CreateRelease) -> Plan:
    """Count what a request would freeze, which takes a second in a large project."""
    with reading(project.engine) as session:
        return planned_in(session, request)


def planned_in(session: Session, request: CreateRelease) -> Plan:
    """See ``plan``."""
    selection = request.selection(session)
    found = contents_now(session, selection)
    accepted = count_accepted(session, Selection(selection.sources))
    near = found.variants
    if selection.complete:
        near = count_accepted(session, selection._replace(complete=False))
    left_out = {
        "above the threshold": accepted - near,
        "in incomplete families": near - found.variants,
    }
    return Plan(request, selection, found, left_out)


def create(project: OpenProject, request: CreateRelease) -> Created:
    """Freeze the accepted variants that a request selects.

    Raises:
        HedgerowError: as in ``create_release``.
    """
    with writing(project.engine) as session:
        author_id, selection = project.author(session), request.selection(session)
    return create_release(
        project.engine, name=request.name, author_id=author_id, selection=selection
    )


CREATE_RELEASE = Action("create a release", CreateRelease, create, plan)
