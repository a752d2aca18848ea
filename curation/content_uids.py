"""Text identity: canonical form, content uids, and the splits derived from them.

A uid identifies a sentence by its content, never by where it is stored: the same anchor has the
same uid in every database, so command lines, URLs, exports and splits agree between machines.
"""

from __future__ import annotations

import hashlib
import json
import re
import unicodedata
from collections.abc import Sequence
from enum import StrEnum

from db.errors import HedgerowError

UID_LENGTH = 16
"""Hexadecimal digits of a uid: 64 bits, so the probability of a collision among 300,000 texts is
about 1 in 400 million.
"""

# Invisible characters. Soft hyphen, zero-width space, word joiner and byte-order mark would give
# texts that look the same different uids; bidirectional controls can make a text look different
# from what is stored. Zero-width joiners are kept, because they change the letters themselves.
_INVISIBLE = dict.fromkeys(
    [0x00AD, 0x200B, 0x2060, 0xFEFF, *range(0x202A, 0x202F), *range(0x2066, 0x206A)]
)


def canonical(text: str) -> str:
    """Return the canonical form of a text, in which it is stored, compared and hashed.

    Unicode NFC; every run of white space (including line breaks and no-break spaces) becomes one
    space; leading and trailing white space and invisible formatting characters are removed. Case,
    quotation marks and spelling do not change. Idempotent.

    Raises:
        HedgerowError: the text contains a control character that is not white space, or half a
            surrogate pair. Neither occurs in a sentence, so the text was read with a wrong encoding
            or is not text.
    """
    if text.isascii():
        # The usual case, at a fifth of the cost: spaces are the only printable white space.
        if text.isprintable() and "  " not in text and text == text.strip():
            return text
    else:
        text = unicodedata.normalize("NFC", text.translate(_INVISIBLE))
    folded = " ".join(text.split())
    if folded.isprintable():  # much faster than checking every character
        return folded
    for character in folded:
        if unicodedata.category(character) in {"Cc", "Cs"}:
            raise HedgerowError(
                f"Expected plain text, but found the control character U+{ord(character):04X}"
                f" in {folded[:40]!r}; remove it, or read the file with the right encoding."
            )
    return folded


def at_most(longest: int, text: str, what: str, *, instead: str = "shorten it") -> str:
    """Return a text, unless it is longer than this many characters.

    Args:
        what: what the text is, such as 'a note'.
        instead: what to do about a text that is too long.

    Raises:
        HedgerowError: it is.
    """
    if len(text) > longest:
        raise HedgerowError(
            f"Expected {what} of at most {longest} characters, found {len(text)}; {instead}."
        )
    return text


class Change(StrEnum):
    """What ``canonical`` changed inside of a text."""

    LINE_BREAKS = "line_breaks"
    SPACES = "spaces"
    INVISIBLE = "invisible"
    UNICODE = "unicode"


CHANGES = {
    Change.LINE_BREAKS: "line breaks became spaces",
    Change.SPACES: "other white space became single spaces",
    Change.INVISIBLE: "invisible characters were removed",
    Change.UNICODE: "letters were composed (Unicode NFC)",
}
"""The label of each change in counts."""


def changes(raw: str, text: str) -> list[Change]:
    """What differs between a text and its canonical form, apart from white space around it."""
    raw = raw.strip()
    if raw == text:
        return []
    visible = raw.translate(_INVISIBLE)
    found = {
        Change.LINE_BREAKS: len(raw.splitlines()) > 1,
        Change.SPACES: re.search(r"[^\S\r\n]{2}|[^\S\r\n ]", visible.strip()) is not None,
        Change.INVISIBLE: visible != raw,
        Change.UNICODE: unicodedata.normalize("NFC", visible) != visible,
    }
    return [change for change, is_there in found.items() if is_there]


_WORD = re.compile(r"[^\W_]+")
_ASCII_WORDS = bytes(c if chr(c).isalnum() else 32 for c in range(128)).lower() + bytes(128)


def words_of(text: str) -> list[str]:
    """Return the runs of letters and digits in lower case, split at hyphens and apostrophes."""
    if text.isascii():  # the same result at a quarter of the cost
        return text.encode("ascii").translate(_ASCII_WORDS).decode("ascii").split()
    return _WORD.findall(text.lower().replace("ʼ", "'"))  # that apostrophe counts as a letter


def near_key(text: str, words: Sequence[str]) -> str:
    """Return a key shared by texts that differ only in case or punctuation.

    Args:
        text: a canonical text.
        words: the result of ``words_of`` for it.
    """
    if text.isascii():
        return " ".join(words)
    return " ".join(text.casefold().translate(_LETTERS).split())


class _Letters(dict[int, str]):
    """Maps a character to itself, or to a space if it is not a letter, digit or combining mark."""

    def __missing__(self, code: int) -> str:
        kept = chr(code) if unicodedata.category(chr(code))[0] in "LNM" else " "
        self[code] = " " if code == 0x02BC else kept  # an apostrophe
        return self[code]


_LETTERS = _Letters()


def _canonical_nonempty(text: str) -> str:
    folded = canonical(text)
    if not folded:
        raise HedgerowError("Expected a sentence, found an empty text.")
    return folded


def anchor_uid(text: str) -> str:
    """Return the uid of an anchor: the first 16 hexadecimal digits of SHA-256(canonical text).

    Raises:
        HedgerowError: the text is empty or not plain text.
    """
    return canonical_uid(_canonical_nonempty(text))


def canonical_uid(text: str) -> str:
    """Return the uid of an anchor whose text is known to be canonical and not empty."""
    return hashlib.sha256(text.encode("utf-8")).hexdigest()[:UID_LENGTH]


def variant_uid(*, anchor_uid: str, type_id: str, text: str) -> str:
    """Return the uid of a variant: a hash of its anchor's uid, its type and its canonical text.

    The three are joined as a JSON array, so that different triples never give the same string.

    Raises:
        HedgerowError: the text is empty or not plain text.
    """
    parts = [anchor_uid, type_id, _canonical_nonempty(text)]
    return canonical_uid(json.dumps(parts, ensure_ascii=False, separators=(",", ":")))
