"""Checks whether a text is English by its function words or, if it has few, by its vocabulary."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Sequence
from functools import lru_cache
from pathlib import Path
from typing import Any

from curation.language.tagging import is_known
from curation.language.tokens import load_lexicon

_LEXICON: dict[str, Any] = load_lexicon(Path(__file__).with_name("other_languages.json"))
_ENGLISH, _WEAK = frozenset(_LEXICON["english"]), frozenset(_LEXICON["weak"])
_PARTICLES = frozenset(_LEXICON["particles"])
_BY_NAME = {name: frozenset(words) for name, words in _LEXICON["others"].items()}
_OTHERS = tuple(_BY_NAME.values())
_TAGS = {
    "German": ("de", "gsw"),
    "French": ("fr",),
    "Spanish": ("es", "ca", "gl"),
    "Italian": ("it",),
    "Portuguese": ("pt", "gl"),
    "Dutch": ("nl", "af"),
    "Polish": ("pl",),
    "Czech": ("cs", "sk"),
    "Scandinavian": ("sv", "da", "no", "nb", "nn"),
    "Finnish": ("fi", "et"),
    "Hungarian": ("hu",),
    "Romanian": ("ro",),
    "Turkish": ("tr",),
    "Indonesian": ("id", "ms"),
    "Latin": ("la",),
}
"""List of function words → the language tags for which it serves."""
_ANY_OTHER = frozenset().union(*_OTHERS)
_ARTICLES = frozenset({"der", "die", "das"})
"""These count at the beginning of a text even if capitalised: "Die Regierung plant …"."""

_QUOTED = re.compile(r'"[^"]*"|“[^”]*”|„[^“”]*[“”]|«[^»]*»')
_WORD = re.compile(r"[^\W\d_]+")
_ENGLISH_ENDING = re.compile(r"(ing|ed|tions?|ly|ness|ity)$", re.ASCII)
_CODE = frozenset("<>=$[]{}/\\")
_CLEAR = 2
"""With this many more foreign than English function words, a text is foreign.

Its vocabulary is then not checked.
"""


def is_english(language: str) -> bool:
    """Whether a language tag such as 'en' or 'en-GB' is English."""
    return language.partition("-")[0].casefold() in ("en", "eng")


def looks_foreign(text: str, words: Sequence[str]) -> bool:
    """Whether a text seems to be in a language other than English.

    This is lenient: a caption or headline without function words counts as English unless most of
    its words are unknown.

    Args:
        words: the result of ``curation.content_uids.words_of`` for the text.
    """
    english = len(_ENGLISH.intersection(words))
    if english and text.isascii() and _ANY_OTHER.isdisjoint(words):
        return False
    if not text.isascii() and _other_script(text):
        return True
    spoken = _QUOTED.sub(" ", text)
    parts = _WORD.findall(spoken) or _WORD.findall(text)
    found = english + 0.5 * len(_WEAK.intersection(words))
    foreign = _foreign_words(parts)
    if foreign > found:
        return foreign >= found + _CLEAR or _unknown_share(parts) >= 0.5
    telling = (not found and len(words) > 2) or not (english or text.isascii())
    is_prose = len(words) > 2 and not _CODE.intersection(text)
    if not english and is_prose and _unknown_share(parts) >= 0.5:
        # A single unknown word may be a rare verb in a headline: "Tesla unveils Cybertruck".
        unknown = [word for word in _common_words(parts) if not _is_known(word)]
        return any(not word.endswith(("s", "ed")) for word in unknown)
    return telling and (not text.isascii() or _unknown(parts) > 1) and _unknown_share(parts) > 0.5


_NAMES = {
    name: tag
    for tag, names in {
        "en": "english eng",
        "de": "german deutsch deu ger",
        "fr": "french français francais fra fre",
        "es": "spanish español espanol spa",
        "it": "italian italiano ita",
        "pt": "portuguese português portugues por",
        "nl": "dutch nederlands nld dut",
        "pl": "polish polski pol",
        "cs": "czech ces cze",
        "sv": "swedish svenska swe",
        "da": "danish dansk dan",
        "no": "norwegian norsk nor",
        "fi": "finnish suomi fin",
        "hu": "hungarian magyar hun",
        "ro": "romanian ron rum",
        "tr": "turkish tur",
        "ru": "russian rus",
        "ar": "arabic ara",
        "zh": "chinese zho chi",
        "ja": "japanese jpn",
        "ko": "korean kor",
        "hi": "hindi hin",
        "el": "greek ell gre",
        "uk": "ukrainian ukr",
        "he": "hebrew heb",
    }.items()
    for name in names.split()
}


def tag_of(language: str) -> str:
    """The tag of a language that is given by its name or a code of three letters, if we know it."""
    key = language.casefold()
    return _NAMES.get(key, key)


def looks_other(text: str, words: Sequence[str], language: str) -> bool:
    """Whether a text that should be in a language other than English seems to be in another one, or
    in English. Only function words count, of the languages that we have lists of.

    Args:
        words: as for ``looks_foreign``.
        language: its tag.
    """
    tag = language.partition("-")[0].casefold()
    own = frozenset().union(*(_BY_NAME[name] for name, tags in _TAGS.items() if tag in tags))
    spoken = [part.lower() for part in _WORD.findall(_QUOTED.sub(" ", text))]
    ours = len(own.intersection(spoken))
    others = [_ENGLISH, *(_BY_NAME[name] for name, tags in _TAGS.items() if tag not in tags)]
    theirs = max(len((words - own).intersection(spoken)) for words in others)
    return theirs >= ours + _CLEAR or (bool(own) and theirs > ours == 0)


def _other_script(text: str) -> bool:
    """Whether most letters are in a script other than Latin."""
    letters = [character for character in text if character.isalpha()]
    latin = sum(c.isascii() or unicodedata.name(c, "").startswith("LATIN") for c in letters)
    return latin * 2 < len(letters)


def _foreign_words(parts: Sequence[str]) -> int:
    """The text's distinct function words in whichever other language has the most of them.

    A capitalised one belongs to a name ('Le Monde') unless it begins the text.
    """
    counted = {
        part.lower()
        for i, (part, following) in enumerate(zip(parts, [*parts[1:], ""], strict=False))
        if (part[0].islower() or i == 0)
        and not (part.lower() in _PARTICLES and following[:1].isupper())  # part of a name
    }
    return max(len(words & counted) for words in _OTHERS) + _begins_german(parts)


def _begins_german(parts: Sequence[str]) -> bool:
    """Whether the text begins with a German article and a capitalised noun."""
    return len(parts) > 1 and parts[0].lower() in _ARTICLES and parts[1][0].isupper()


def _unknown_share(parts: Sequence[str]) -> float:
    """The share of words, excluding names, that the English lexicon does not know, in [0, 1]."""
    first = parts[0].lower() if parts else ""
    is_foreign = first in _ANY_OTHER or _begins_german(parts)
    total = len(_common_words(parts)) + is_foreign
    return (_unknown(parts) + is_foreign) / total if total else 0.0


def _unknown(parts: Sequence[str]) -> int:
    """The number of words, excluding names, that the English lexicon does not know."""
    return sum(not _is_known(word) for word in _common_words(parts))


def _common_words(parts: Sequence[str]) -> list[str]:
    """The words that are not names. Names have a capital letter somewhere ('iPhone')."""
    return [p for p in parts[1:] if p.islower() and len(p) > 1 and p not in _PARTICLES]


@lru_cache(maxsize=65_536)
def _is_known(word: str) -> bool:
    is_foreign = word in _ANY_OTHER and word not in _ENGLISH | _WEAK
    return not is_foreign and (is_known(word) or bool(_ENGLISH_ENDING.search(word)))
