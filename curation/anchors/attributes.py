"""The attributes of an anchor: its genre and its language."""

import re
from collections.abc import Iterable

from sqlalchemy import select, update
from sqlalchemy.orm import Session
from sqlmodel import col

from curation.content_uids import canonical
from curation.diagnostics.measuring import measure_variants
from curation.language.english import is_english
from curation.review.decisions import chunks
from db.errors import HedgerowError
from db.models import Anchor, Variant

MAX_GENRE, MAX_LANGUAGE = 80, 35
"""Maximum lengths in characters."""

_LANGUAGE = re.compile(r"[A-Za-z]{2,8}(-[A-Za-z0-9]{1,8})*")


def checked_genre(genre: str) -> str:
    """The genre in its canonical form; '' for none.

    Raises:
        HedgerowError: the genre is too long or not plain text.
    """
    clean = canonical(genre)
    if len(clean) > MAX_GENRE:
        raise HedgerowError(
            f"Expected a genre of at most {MAX_GENRE} characters, found {len(clean):,}; shorten it."
        )
    return clean


def checked_language(language: str) -> str:
    """The canonical language tag.

    Raises:
        HedgerowError: the text is not a language tag such as 'en' or 'en-GB'.
    """
    clean = language.strip()
    if not _LANGUAGE.fullmatch(clean) or len(clean) > MAX_LANGUAGE:
        raise HedgerowError(
            f"Expected a language tag such as 'en' or 'en-GB', found '{clean[:40]}'."
        )
    return clean


def set_facts(
    session: Session,
    anchor_ids: Iterable[int],
    *,
    genre: str | None = None,
    language: str | None = None,
) -> list[int]:
    """Set the genre or language of anchors, all or none.

    If the checks of an anchor start or stop applying, its variants are measured again.

    Args:
        genre: None keeps each anchor's genre; '' removes it.
        language: a tag such as 'en' or 'de-CH'; None keeps each anchor's language.

    Returns:
        The ids of the anchors that changed.

    Raises:
        HedgerowError: neither is given, the genre is too long, or the language is not a tag.
    """
    if genre is None and language is None:
        raise HedgerowError("Expected a genre or a language, found neither.")
    wanted: dict[str, str] = {}
    if genre is not None:
        wanted["genre"] = checked_genre(genre)
    if language is not None:
        wanted["language"] = checked_language(language)
    changed: list[int] = []
    to_measure: list[int] = []
    for ids in chunks(anchor_ids):
        query = select(Anchor).where(col(Anchor.id).in_(ids)).order_by(col(Anchor.id))
        for anchor in session.execute(query.with_for_update()).scalars():
            if all(getattr(anchor, name) == value for name, value in wanted.items()):
                continue
            changed.append(anchor.id)
            if is_english(anchor.language) != is_english(language or anchor.language):
                to_measure.append(anchor.id)
        session.connection().execute(update(Anchor).where(col(Anchor.id).in_(ids)).values(**wanted))
    for row in list(session.identity_map.values()):
        if isinstance(row, Anchor):
            session.expire(row, list(wanted))
    for ids in chunks(to_measure):
        its = select(col(Variant.id)).where(col(Variant.anchor_id).in_(ids))
        measure_variants(session, session.execute(its).scalars().all())
    return changed
