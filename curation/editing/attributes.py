"""The attributes of an anchor: genre, language, split, and its place in the file of its source."""

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import NamedTuple

from sqlalchemy import select, update
from sqlalchemy.orm import Session
from sqlmodel import col

from curation.content_uids import at_most, canonical, canonical_uid
from curation.decisions.storing import chunks
from curation.diagnostics.measuring import measure_variants
from curation.language.english import is_english, tag_of
from curation.splits import split_of
from db.errors import HedgerowError
from db.models import Anchor, Split, Variant

MAX_GENRE, MAX_LANGUAGE, MAX_ID = 80, 35, 200
"""Maximum lengths in characters."""

_SPLITS = {
    name: split
    for split, names in (
        (Split.TRAIN, "train training trn"),
        (Split.VALIDATION, "validation valid val dev devel development trial"),
        (Split.TEST, "test testing tst"),
    )
    for name in names.split()
}

_LANGUAGE = re.compile(r"[A-Za-z]{2,8}(-[A-Za-z0-9]{1,8})*")


def checked_genre(genre: str) -> str:
    """The genre in its canonical form; '' for none.

    Raises:
        HedgerowError: the genre is too long or not plain text.
    """
    return at_most(MAX_GENRE, canonical(genre), "a genre")


def checked_language(language: str) -> str:
    """The canonical language tag; of a name or a code of three letters, the tag if we know it.

    Raises:
        HedgerowError: the text is not a language tag such as 'en' or 'en-GB'.
    """
    first, dash, rest = language.strip().replace("_", "-").partition("-")
    clean = tag_of(first) + dash + (rest.upper() if len(rest) == 2 else rest)
    if not _LANGUAGE.fullmatch(clean) or len(clean) > MAX_LANGUAGE:
        raise HedgerowError(
            f"Expected a language tag such as 'en' or 'en-GB', found '{clean[:40]}'."
        )
    return clean


def checked_split(split: str) -> str:
    """The split with this name; '' for none.

    Raises:
        HedgerowError: there is no such split.
    """
    key = split.strip().casefold()
    if key and key not in _SPLITS:
        raise HedgerowError(
            f"Expected a split ({', '.join(Split)}), found '{split.strip()[:40]}'; leave out the "
            "column."
        )
    return _SPLITS[key].value if key else ""


def checked_id(id_: str) -> str:
    """The id of a document or row in its canonical form; '' for none.

    Raises:
        HedgerowError: it is too long or not plain text.
    """
    return at_most(MAX_ID, canonical(id_), "an id", instead="leave out the column")


class Attributes(NamedTuple):
    """What a file says about an anchor besides its text; '' for what it does not say.

    Attributes:
        document_id: the id of its document, unique within a source.
        row_id: the id of its row.
    """

    genre: str = ""
    language: str = ""
    split: str = ""
    document_id: str = ""
    row_id: str = ""


CHECKS: Mapping[str, Callable[[str], str]] = {
    "genre": checked_genre,
    "language": checked_language,
    "split": checked_split,
    "document_id": checked_id,
    "row_id": checked_id,
}
"""Attribute → the function that checks a value."""


def splits(
    session: Session,
    source_id: int | None,
    wanted: Sequence[tuple[str, Attributes]],
    known: dict[str, str] | None = None,
) -> list[str]:
    """The split of each new anchor.

    All parts of a document are in one split: that of its anchors in the project, else the first
    that the file names for it, else one by the document's id. An anchor without a document is in
    the split that the file names, else in one by its uid.

    Args:
        source_id: None for a new source.
        wanted: uid and attributes of each anchor.
        known: document → its split, of anchors that are not stored yet; the others are added.
    """
    of_document = {} if known is None else known
    documents = sorted({own.document_id for _, own in wanted} - {"", *of_document})
    for some in chunks(documents if source_id is not None else ()):
        query = (
            select(col(Anchor.document_id), col(Anchor.split))
            .where(col(Anchor.source_id) == source_id, col(Anchor.document_id) != "")
            .where(col(Anchor.document_id).in_(some))
            .order_by(col(Anchor.id).desc())
        )
        of_document |= {document: split.value for document, split in session.execute(query)}
    for _, own in wanted:
        if own.document_id and own.split:
            of_document.setdefault(own.document_id, own.split)
    found: list[str] = []
    for uid, own in wanted:
        if own.document_id:
            by_id = split_of(canonical_uid(own.document_id))
            found.append(of_document.setdefault(own.document_id, by_id))
        else:
            found.append(own.split or split_of(uid))
    return found


def moved(wanted: Iterable[tuple[str, Attributes]], found: Iterable[str]) -> int:
    """How many of these anchors are in another split than their file says."""
    pairs = zip(wanted, found, strict=False)
    return sum(own.split not in ("", split) for (_, own), split in pairs)


def moved_rows(count: int) -> list[str]:
    """Say that so many rows are in another split than their file says, if any."""
    rows = "1 row goes" if count == 1 else f"{count:,} rows go"
    return [f"{rows} into the split of the document instead of the row's own."] * bool(count)


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
