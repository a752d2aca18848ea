"""Reviewers: the people and models who decide, and their names.

Names that differ only in case are the same name. A person who was merged into another one (see
``merging``) keeps their rows, and queries count them for the other person.
"""

import unicodedata
from collections.abc import Sequence
from typing import Any, NamedTuple

from sqlalchemy import ColumnElement, ScalarSelect, Select, func, or_, select
from sqlalchemy.orm import Session, aliased
from sqlmodel import col

from curation.content_uids import canonical
from curation.corpora.corpus import CORPORA
from db.engine import insert_new
from db.errors import HedgerowError
from db.models import Decision, Reviewer, ReviewerKind, TeamRole

MAX_NAME = 80

LABELS = "data set labels"
"""The reviewer for labels in imported files."""
_OF_CORPORA = [name for corpus in CORPORA.values() for name in corpus.reviewers]
JUDGE = "judge: "
"""The prefix of the names of models that give second opinions."""


class Person(NamedTuple):
    """A person who reviews.

    Attributes:
        decisions: the number of their decisions, including retracted ones and the retractions.
        merged_into: the name of the person they were merged into; '' for none.
        identity: the issuer and subject that they sign in with; '' for names only.
    """

    id: int
    name: str
    decisions: int
    merged_into: str = ""
    role: TeamRole = TeamRole.LEAD
    identity: str = ""

    @property
    def signs_in_as(self) -> str:
        """Their subject at the sign-in provider; '' for names only."""
        return self.identity.partition(" ")[2]


def name_key(name: str) -> str:
    """A key that is equal for all spellings of a name."""
    return unicodedata.normalize("NFC", canonical(name).casefold())


def is_reserved(name: str) -> bool:
    """Whether the name is reserved for imports and models."""
    key = name_key(name)
    reserved = {name_key(own) for own in (LABELS, *_OF_CORPORA)}
    return key in reserved or key.startswith(JUDGE.strip())


def get_reviewer(session: Session, name: str) -> Reviewer | None:
    """The reviewer with this name, if any; for a merged person, the one they were merged into."""
    clean = canonical(name)
    exact = col(Reviewer.name) == clean
    query = select(Reviewer).where(or_(exact, col(Reviewer.key) == name_key(clean)))
    found = session.execute(query.order_by(exact.desc()).limit(1)).scalar()
    if found is None or found.merged_into_id is None:
        return found
    return session.get_one(Reviewer, found.merged_into_id)


def is_person(session: Session, name: str) -> bool:
    """Whether this project has a person with this name."""
    try:
        found = get_reviewer(session, name)
    except HedgerowError:  # not a valid text
        return False
    return found is not None and found.kind is ReviewerKind.PERSON


def person_now(session: Session, reviewer_id: int) -> Reviewer:
    """The reviewer with this id, or the person they were merged into."""
    found = session.get_one(Reviewer, reviewer_id)
    return session.get_one(Reviewer, found.merged_into_id or reviewer_id)


def reviewer_name(session: Session, reviewer_id: int) -> str:
    """The name of the reviewer with this id."""
    return session.get_one(Reviewer, reviewer_id).name


def reviewer_names(session: Session) -> dict[int | None, str]:
    """The name of every reviewer by id."""
    query = select(col(Reviewer.id), col(Reviewer.name))
    names: dict[int | None, str] = dict(session.execute(query).all())
    return names


def find_person(session: Session, name: str) -> Reviewer:
    """The person with exactly this name, merged or not, or else with another spelling of it.

    Raises:
        HedgerowError: there is no such person.
    """
    clean = canonical(name)
    same = select(Reviewer).where(col(Reviewer.name) == clean)
    found = session.execute(same).scalar() or get_reviewer(session, clean)
    if found is None or found.kind is not ReviewerKind.PERSON:
        raise HedgerowError(
            f"There is no person '{clean}'. 'hedgerow reviewers list' lists the people; 'hedgerow "
            "reviewers add NAME' adds one."
        )
    return found


def find_reviewer(session: Session, name: str) -> Reviewer:
    """The existing reviewer with this name.

    Raises:
        HedgerowError: there is none.
    """
    reviewer = get_reviewer(session, _checked(name))
    if reviewer is None:
        raise HedgerowError(
            f"There is no reviewer {name!r}; 'hedgerow reviewers list' lists the people."
        )
    return reviewer


def ensure_reviewer(
    session: Session, name: str, *, kind: ReviewerKind = ReviewerKind.PERSON
) -> Reviewer:
    """The reviewer with this name, who is added if new. All reviewers are added here.

    Raises:
        HedgerowError: the name is empty, too long or reserved, or belongs to a reviewer of the
            other kind.
    """
    clean = _checked(name)
    if kind is ReviewerKind.PERSON:
        check_person(session, clean)
    reviewer = get_reviewer(session, clean)
    if reviewer is None:
        insert_new(session, Reviewer, [{"name": clean, "key": name_key(clean), "kind": kind}])
        reviewer = get_reviewer(session, clean)
        assert reviewer is not None  # stored by this transaction or a concurrent one
    if reviewer.kind is not kind:
        raise HedgerowError(
            f"The name '{reviewer.name}' is needed for a model, but belongs to a person; rename "
            f"them first: hedgerow reviewers rename '{reviewer.name}' NEW."
        )
    return reviewer


def check_person(session: Session, name: str) -> None:
    """Refuse a name that no person can have. Adds nobody.

    Raises:
        HedgerowError: the name is empty, too long, reserved, or a model's.
    """
    clean = _checked(name)
    reviewer = get_reviewer(session, clean)
    if reviewer is None:
        _refuse_reserved(clean)
    elif reviewer.kind is not ReviewerKind.PERSON:
        raise HedgerowError(f"'{clean}' is the name of a model reviewer; choose another name.")


class Renamed(NamedTuple):
    """A person's old and new name."""

    before: str
    now: str


def rename_person(session: Session, person_id: int, name: str) -> Renamed:
    """Rename a person, also in their earlier decisions.

    Raises:
        HedgerowError: the name is empty, too long, reserved, or another reviewer's.
    """
    person = session.get_one(Reviewer, person_id)
    before, clean = person.name, _checked(name, else_do="enter another name")
    _refuse_reserved(clean)
    other = get_reviewer(session, clean)
    if other is not None and other.id not in (person.id, person.merged_into_id):
        raise HedgerowError(
            f"'{other.name}' is another reviewer; choose another name. To merge the two, choose "
            "Merge into in Settings, or use 'hedgerow reviewers merge'."
        )
    person.name, person.key = clean, name_key(clean)
    session.flush()
    return Renamed(before, clean)


def people(session: Session) -> list[Person]:
    """All people, in the order in which they were added."""
    target = aliased(Reviewer)
    merged_into = func.coalesce(target.name, "")
    query = (
        select(
            col(Reviewer.id),
            col(Reviewer.name),
            decision_count(),
            merged_into,
            col(Reviewer.role),
            func.coalesce(col(Reviewer.identity), ""),
        )
        .outerjoin(target, col(target.id) == col(Reviewer.merged_into_id))
        .where(col(Reviewer.kind) == ReviewerKind.PERSON)
        .order_by(col(Reviewer.id))
    )
    return [Person(*row) for row in session.execute(query)]


def decision_count() -> ScalarSelect[int]:
    """SQL: the number of a reviewer's stored decisions."""
    return (
        select(func.count())
        .select_from(Decision)
        .where(col(Decision.reviewer_id) == col(Reviewer.id))
        .scalar_subquery()
    )


def lookalikes(found: Sequence[Person]) -> list[tuple[Person, Person]]:
    """Pairs of people whose names differ only in case, the earlier person first.

    Old projects can have such pairs, from before names had one key.
    """
    first: dict[str, Person] = {}
    pairs = []
    for one in found:
        if not one.merged_into:
            other = first.setdefault(name_key(one.name), one)
            if other is not one:
                pairs.append((other, one))
    return pairs


def person_id_now() -> ColumnElement[int]:
    """SQL, over ``Reviewer``: the id, or that of the person they were merged into."""
    found: ColumnElement[int] = func.coalesce(col(Reviewer.merged_into_id), col(Reviewer.id))
    return found


def same_person() -> Select[int]:
    """SQL, over ``Reviewer``: the ids of all rows that are the same person as this one."""
    other = aliased(Reviewer)
    other_id = func.coalesce(other.merged_into_id, other.id)
    return select(col(other.id)).where(other_id == person_id_now()).correlate(Reviewer)


def shown_name() -> ColumnElement[str]:
    """SQL, over ``Reviewer``: the name, or that of the person they were merged into."""
    target = aliased(Reviewer)
    query = select(col(target.name)).where(col(target.id) == person_id_now())
    return query.correlate(Reviewer).scalar_subquery()


def is_by(session: Session, column: Any, reviewer_id: int) -> ColumnElement[bool]:
    """SQL: the column of reviewer ids has this reviewer, or somebody merged into them."""
    query = select(col(Reviewer.id)).where(col(Reviewer.merged_into_id) == reviewer_id)
    merged = session.execute(query).scalars().all()
    # A single id is compared with =, so that an index gives the latest rows without sorting all.
    if merged:
        return col(column).in_([reviewer_id, *merged])
    return col(column) == reviewer_id


def _checked(name: str, *, else_do: str = "give a name, or set HEDGEROW_REVIEWER") -> str:
    clean = canonical(name)
    if not clean:
        raise HedgerowError(f"Expected a reviewer's name, found none; {else_do}.")
    if len(clean) > MAX_NAME:
        raise HedgerowError(
            f"Expected a reviewer's name of 1 to {MAX_NAME} characters, found {len(clean)}; "
            f"{else_do}."
        )
    return clean


def _refuse_reserved(name: str) -> None:
    if is_reserved(name):
        raise HedgerowError(
            f"The name '{name}' is reserved for imports and models; choose another name."
        )
