"""Text identity: canonical form, content uids, and the splits derived from them.

A uid says *what* a sentence is, never where it is stored: the same anchor has the same uid in
every database, so command lines, URLs, exports and splits agree between machines.
"""

from __future__ import annotations

import hashlib
import json
import re
import unicodedata
from collections.abc import Sequence
from typing import Literal

from db.errors import HedgerowError

SplitName = Literal["train", "validation", "test"]

UID_LENGTH = 16
"""Hexadecimal digits of a uid: 64 bits, so 300,000 texts collide with odds of about 1 in 400 m."""

SPLIT_SALT = "hedgerow/split/1:"
HOLDOUT_SALT = "hedgerow/holdout/1:"
"""Different from SPLIT_SALT, so that the pending fifth is spread evenly over the three splits."""

OVERLAP_SALT = "hedgerow/overlap/1:"
RANDOM_SALT = "hedgerow/random/1:"
"""Of the key that the random queue is ordered by."""

VALIDATION_SHARE = 0.05
TEST_SHARE = 0.05
PENDING_SHARE = 0.2

# Characters nobody sees. Soft hyphen, zero-width space, word joiner and byte-order mark would give
# two texts that look the same different uids; the bidirectional controls can make a text read
# differently from what is stored. The zero-width joiners stay: they change the letters themselves.
_INVISIBLE = dict.fromkeys(
    [0x00AD, 0x200B, 0x2060, 0xFEFF, *range(0x202A, 0x202F), *range(0x2066, 0x206A)]
)


def canonical(text: str) -> str:
    """Return the one form in which a text is stored, compared and hashed.

    Unicode NFC, every run of white space (line breaks and no-break spaces too) folded to one
    space, both ends stripped, invisible formatting characters dropped. Case, quotation marks and
    spelling stay as they are. Idempotent.

    Raises:
        HedgerowError: for a control character that is not white space, or half a surrogate pair:
            neither occurs in a sentence, so the text was read with a wrong encoding or is not text.
    """
    if text.isascii():
        # Only spaces are white space and printable: the usual case, at a fifth of the cost.
        if text.isprintable() and "  " not in text and text == text.strip():
            return text
    else:
        text = unicodedata.normalize("NFC", text.translate(_INVISIBLE))
    folded = " ".join(text.split())
    if folded.isprintable():  # much faster than a look at every character
        return folded
    for character in folded:
        if unicodedata.category(character) in {"Cc", "Cs"}:
            raise HedgerowError(
                f"Expected plain text, but found the control character U+{ord(character):04X}"
                f" in {folded[:40]!r}; remove it, or read the file with the right encoding."
            )
    return folded


_WORD = re.compile(r"[^\W_]+")
_ASCII_WORDS = bytes(c if chr(c).isalnum() else 32 for c in range(128)).lower() + bytes(128)


def words_of(text: str) -> list[str]:
    """The runs of letters and digits of a text, lower-cased; hyphens and apostrophes part them."""
    if text.isascii():  # the same, at a quarter of the cost
        return text.encode("ascii").translate(_ASCII_WORDS).decode("ascii").split()
    return _WORD.findall(text.lower().replace("ʼ", "'"))  # that apostrophe counts as a letter


def near_key(text: str, words: Sequence[str]) -> str:
    """A key shared by texts that differ only in case or punctuation.

    Args:
        text: a canonical text.
        words: what ``words_of`` gives for it.
    """
    if text.isascii():
        return " ".join(words)
    return " ".join(text.casefold().translate(_LETTERS).split())


class _Letters(dict[int, str]):
    """Character → itself, or a space for what is neither letter, digit nor a mark on one."""

    def __missing__(self, code: int) -> str:
        kept = chr(code) if unicodedata.category(chr(code))[0] in "LNM" else " "
        self[code] = " " if code == 0x02BC else kept  # an apostrophe
        return self[code]


_LETTERS = _Letters()


def _uid(data: str) -> str:
    return hashlib.sha256(data.encode("utf-8")).hexdigest()[:UID_LENGTH]


def _canonical_nonempty(text: str) -> str:
    folded = canonical(text)
    if not folded:
        raise HedgerowError("Expected a sentence, found an empty text.")
    return folded


def anchor_uid(text: str) -> str:
    """Return the uid of an anchor: the first 16 hexadecimal digits of SHA-256(canonical text).

    Raises:
        HedgerowError: if the text is empty or not plain text.
    """
    return _uid(_canonical_nonempty(text))


def canonical_uid(text: str) -> str:
    """Return the uid of an anchor whose text is canonical and not empty; nothing is checked."""
    return _uid(text)


def variant_uid(*, anchor_uid: str, type_id: str, text: str) -> str:
    """Return the uid of a variant: a hash of its anchor's uid, its type and its canonical text.

    The three are joined as a JSON array, so that no two different triples give the same string.

    Raises:
        HedgerowError: if the text is empty or not plain text.
    """
    parts = [anchor_uid, type_id, _canonical_nonempty(text)]
    return _uid(json.dumps(parts, ensure_ascii=False, separators=(",", ":")))


def bucket(uid: str, *, salt: str) -> float:
    """Return a number in [0, 1) that looks random but depends on salt and uid alone.

    The leading 53 bits of SHA-256(salt + uid): all that a float holds, so 1.0 is never reached.
    """
    digest = hashlib.sha256((salt + uid).encode("utf-8")).digest()
    return (int.from_bytes(digest[:8], "big") >> 11) / 2**53


def split_of(anchor_uid: str) -> SplitName:
    """Return the release split of an anchor, and so of all its variants: 90 / 5 / 5 in 100."""
    position = bucket(anchor_uid, salt=SPLIT_SALT)
    if position < TEST_SHARE:
        return "test"
    if position < TEST_SHARE + VALIDATION_SHARE:
        return "validation"
    return "train"


def in_pending_fifth(anchor_uid: str) -> bool:
    """Say whether a starter anchor is left undecided, as work to review and as a hold-out."""
    return bucket(anchor_uid, salt=HOLDOUT_SALT) < PENDING_SHARE
