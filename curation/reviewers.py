"""Reviewers: the people and models whose decisions count."""

from sqlalchemy import select
from sqlmodel import Session, col

from curation.text import canonical
from db.errors import HedgerowError
from db.models import Reviewer, ReviewerKind

MAX_NAME = 80


def get_reviewer(session: Session, name: str) -> Reviewer | None:
    """The reviewer of this name, if there is one."""
    return session.execute(select(Reviewer).where(col(Reviewer.name) == name)).scalar()


def find_reviewer(session: Session, name: str) -> Reviewer:
    """The reviewer of this name, who must be there.

    Raises:
        HedgerowError: there is none.
    """
    reviewer = get_reviewer(session, canonical(name))
    if reviewer is None:
        raise HedgerowError(
            f"There is no reviewer {name!r}; name one who has decided something with --reviewer or "
            "HEDGEROW_REVIEWER."
        )
    return reviewer


def ensure_reviewer(
    session: Session, name: str, *, kind: ReviewerKind = ReviewerKind.PERSON
) -> Reviewer:
    """The reviewer of this name, added if new.

    Raises:
        HedgerowError: the name is empty or too long, or belongs to a reviewer of the other kind.
    """
    clean = canonical(name)
    if not clean or len(clean) > MAX_NAME:
        raise HedgerowError(
            f"Expected a reviewer's name of 1 to {MAX_NAME} characters, found {len(clean)}; "
            "name yourself with --reviewer or HEDGEROW_REVIEWER."
        )
    reviewer = get_reviewer(session, clean)
    if reviewer is None:
        reviewer = Reviewer(name=clean, kind=kind)
        session.add(reviewer)
        session.flush()
    if reviewer.kind != kind:
        raise HedgerowError(f"'{clean}' is the name of a {reviewer.kind} reviewer; take another.")
    return reviewer
