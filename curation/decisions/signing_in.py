"""Sign-in with an OpenID Connect provider: a person's reviewer and role.

The settings decide the role at each sign-in: people in ``sign_in_leads`` are leads, people in
``sign_in_reviewers`` are reviewers, and all others are viewers. The role is stored, and all checks
read the stored role.

People are identified by issuer and subject, which a provider never gives to anybody else. So two
people with the same name stay separate, and a new name or address does not make a new person.
"""

import re
from collections.abc import Mapping
from typing import Any, NamedTuple

from sqlalchemy import select
from sqlalchemy.orm import Session
from sqlmodel import col

from curation.content_uids import canonical
from curation.decisions.reviewers import MAX_NAME, get_reviewer, is_reserved, name_key, person_now
from curation.decisions.roles import for_the_project
from db.errors import HedgerowError
from db.models import Reviewer, ReviewerKind, TeamRole
from db.settings import Settings

EVERYBODY = "*"
"""An entry in the settings that matches everybody who signs in."""


class Claims(NamedTuple):
    """A provider's claims about a person.

    Attributes:
        email: the address; '' unless the provider has verified it. Otherwise, people could claim a
            lead's address.
    """

    issuer: str
    subject: str
    name: str
    email: str

    @property
    def identity(self) -> str:
        """The issuer and subject, which identify the person."""
        return f"{self.issuer} {self.subject}"


def claims_of(token: Mapping[str, Any]) -> Claims:
    """The claims in a provider's token.

    Raises:
        HedgerowError: the token has no issuer or subject.
    """
    issuer, subject = str(token.get("iss") or ""), str(token.get("sub") or "")
    if not (issuer and subject):
        raise HedgerowError(
            "Expected the claims iss and sub from the sign-in provider, but they are missing; tell "
            "the person who set up the sign-in."
        )
    email = str(token.get("email") or "") if token.get("email_verified") is True else ""
    return Claims(issuer, subject, str(token.get("name") or ""), email)


def role_by_settings(settings: Settings, who: Claims) -> TeamRole:
    """The role according to the settings."""
    if _is_named(settings.sign_in_leads, who):
        return TeamRole.LEAD
    return TeamRole.REVIEWER if _is_named(settings.sign_in_reviewers, who) else TeamRole.VIEWER


def _is_named(entries: str, who: Claims) -> bool:
    for entry in filter(None, (part.strip() for part in entries.split(","))):
        if entry == EVERYBODY or entry == who.subject:
            return True
        pattern = re.escape(entry.casefold()).replace(r"\*", "[^@]*")
        if "@" in entry and re.fullmatch(pattern, who.email.casefold()):
            return True
    return False


def sign_in(session: Session, who: Claims, settings: Settings) -> Reviewer:
    """The reviewer who has signed in, with the role from the settings; added if new.

    For a merged person, this is the row that they sign in with. ``person_now`` gives the person
    that their decisions count for.
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
    """Their name, with an addition if somebody else has that name."""
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
    except HedgerowError:  # not a valid text
        return ""
