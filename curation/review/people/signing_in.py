"""Whoever signs in with an OpenID Connect provider: their reviewer and their role.

The settings decide who is what, at each sign-in: whoever ``sign_in_leads`` names is a lead, whoever
``sign_in_reviewers`` names a reviewer, anybody else a viewer. The stored role follows, so that it
is the one that counts wherever it is read.

A person is known by what the provider never gives to anybody else, its issuer and the subject. So
two people of one name stay two, and somebody whose name or address changes stays one.
"""

import re
from collections.abc import Mapping
from typing import Any, NamedTuple

from sqlalchemy import select
from sqlalchemy.orm import Session
from sqlmodel import col

from curation.content_uids import canonical
from curation.review.people.reviewers import (
    MAX_NAME,
    get_reviewer,
    is_reserved,
    name_key,
    person_now,
)
from curation.review.people.roles import Role, for_the_project
from db.errors import HedgerowError
from db.models import Reviewer, ReviewerKind
from db.settings import Settings

EVERYBODY = "*"
"""An entry of the settings that names whoever signs in."""


class Claims(NamedTuple):
    """What a provider says about somebody.

    Attributes:
        email: their address; '' unless the provider says that it is verified: otherwise people
            could give themselves that of a lead.
    """

    issuer: str
    subject: str
    name: str
    email: str

    @property
    def identity(self) -> str:
        """What they are known by."""
        return f"{self.issuer} {self.subject}"


def claims_of(said: Mapping[str, Any]) -> Claims:
    """What is used of the claims in a provider's token.

    Raises:
        HedgerowError: it does not say who signs in.
    """
    issuer, subject = str(said.get("iss") or ""), str(said.get("sub") or "")
    if not (issuer and subject):
        raise HedgerowError(
            "Expected the claims iss and sub from the provider, which did not say who you are; ask "
            "whoever set up the sign-in."
        )
    email = str(said.get("email") or "") if said.get("email_verified") is True else ""
    return Claims(issuer, subject, str(said.get("name") or ""), email)


def role_by_settings(settings: Settings, who: Claims) -> Role:
    """The role that the settings give."""
    if _is_named(settings.sign_in_leads, who):
        return Role.LEAD
    return Role.REVIEWER if _is_named(settings.sign_in_reviewers, who) else Role.VIEWER


def _is_named(entries: str, who: Claims) -> bool:
    for entry in filter(None, (part.strip() for part in entries.split(","))):
        if entry == EVERYBODY or entry == who.subject:
            return True
        pattern = re.escape(entry.casefold()).replace(r"\*", "[^@]*")
        if "@" in entry and re.fullmatch(pattern, who.email.casefold()):
            return True
    return False


def sign_in(session: Session, who: Claims, settings: Settings) -> Reviewer:
    """The reviewer of whoever has signed in, added if new, with the role that the settings give.

    Of one who has been merged into another person, the row that they sign in with: see
    ``person_now`` for whose decisions theirs are.
    """
    with for_the_project():
        query = select(Reviewer).where(col(Reviewer.identity) == who.identity)
        found = session.execute(query).scalar()
        if found is None:
            name = _free_name(session, who)
            found = Reviewer(
                name=name, key=name_key(name), kind=ReviewerKind.PERSON, identity=who.identity
            )
            session.add(found)
        found.role = role_by_settings(settings, who)
        session.flush()
        person_now(session, found.id).role = found.role
        session.flush()
    return found


def _free_name(session: Session, who: Claims) -> str:
    """Their name, with what distinguishes it where somebody else has it."""
    email = _clean(who.email)
    name = next(
        one for one in (_clean(who.name), email, "Somebody") if one and not is_reserved(one)
    )
    tried = [name, f"{name} ({email})"] if email else [name]
    tried += [f"{name[: MAX_NAME - 6]} {number}" for number in range(2, 10_000)]
    return next(one for one in tried if len(one) <= MAX_NAME and get_reviewer(session, one) is None)


def _clean(text: str) -> str:
    try:
        return canonical(text)[:MAX_NAME].strip()
    except HedgerowError:  # no text at all
        return ""
