"""Part-of-speech tagging with HanTa's English model.

The tags are from the British National Corpus (C5): VVD is a past form, AJ0 an adjective, and so on.
The model is part of HanTa's wheel, so nothing is downloaded.
"""

import re
from functools import lru_cache
from typing import Any, NamedTuple

LONGEST_WORD = 100
"""Characters of a word that are tagged: the time grows with the cube of its length."""

LONGEST = 60
"""Maximum words to tag: the rules can't handle longer sentences."""

_TOKEN = re.compile(
    r"\d+(?:[.,:]\d+)*(?:st|nd|rd|th|%|s)?|(?:[A-Z]\.){2,}|(?:Dr|Mr|Mrs|Ms|St|Prof)\."
    r"|[^\W_]+(?:[-'’.][^\W_]+)*|\S"
)
_CONTRACTION = re.compile(r"^(.+?)(['’](?:m|re|ve|ll|d|s))$", re.IGNORECASE)


class TaggedWord(NamedTuple):
    """A word with its tag.

    Attributes:
        start, end: its character positions in the text.
        tag: the C5 tag.
    """

    word: str
    tag: str
    start: int
    end: int

    @property
    def lower(self) -> str:
        return self.word.lower()


@lru_cache(maxsize=1)
def _tagger() -> Any:
    from HanTa import HanoverTagger  # noqa: PLC0415  (commands that tag nothing do without it)

    tagger = HanoverTagger.HanoverTagger("morphmodel_en.pgz")  # takes a second
    # A word that the model does not know costs as much as the rest of its sentence.
    tagger.analyze_forward = lru_cache(maxsize=65_536)(tagger.analyze_forward)
    return tagger


def _split(text: str) -> list[tuple[str, int, int]]:
    """Split a text into words with positions; contracted verbs and 's are separate words."""
    parts: list[tuple[str, int, int]] = []
    for match in _TOKEN.finditer(text):
        word, start, end = match[0], match.start(), match.end()
        if contracted := _CONTRACTION.match(word):
            cut = start + len(contracted[1])
            parts += [(contracted[1], start, cut), (contracted[2], cut, end)]
        else:
            parts.append((word, start, end))
    return parts


def tag(text: str) -> list[TaggedWord]:
    """Tag a text's words. Returns an empty list if the text is too long or the tagger fails."""
    parts = _split(text)
    if not parts or len(parts) > LONGEST:
        return []
    words = [word.replace("’", "'")[:LONGEST_WORD] for word, _, _ in parts]
    try:
        tags = _tagger().tag_sent(words, taglevel=0)
    except (KeyError, IndexError, ValueError):  # HanTa fails on odd input
        return []
    return [
        TaggedWord(word, _mended(words, i, found), start, end)
        for i, ((word, start, end), found) in enumerate(zip(parts, tags, strict=True))
    ]


_PRONOUN_IS = {"it", "he", "she", "that", "there", "what", "who", "here"}


def _mended(words: list[str], i: int, found: str) -> str:
    """Correct the tag in cases where the tagger is known to be wrong."""
    word = words[i].lower()
    if word == "'s":
        return "VBZ" if i and words[i - 1].lower() in _PRONOUN_IS else "POS"
    if word == "'" and i and words[i - 1].endswith("s") and found != "PUQ":
        return "POS"
    return found


@lru_cache(maxsize=65_536)
def verb_lemma(word: str, tag_: str) -> str:
    """Return a verb's base form according to the tagger's model ('planned', VVD: 'plan')."""
    tagger = _tagger()
    try:
        return str(tagger.analyze(word[:LONGEST_WORD].lower(), pos=tag_)[0])
    except (KeyError, IndexError, ValueError):
        return ""


@lru_cache(maxsize=65_536)
def word_tags(word: str) -> tuple[str, ...]:
    """Return the possible tags of a lower-case word without context, most likely first."""
    try:
        return tuple(tag_ for tag_, _ in _tagger().tag_word(word[:LONGEST_WORD]))
    except (KeyError, IndexError, ValueError):  # HanTa fails on odd input
        return ()


@lru_cache(maxsize=65_536)
def may_be_common(word: str) -> bool:
    """Whether a capitalised word may be an ordinary word: 'Keys', 'Rose', but not 'Marta'."""
    return bool(_tagger().tag_word(word[:LONGEST_WORD].lower())[0][0] != "NP0")


def is_known(word: str) -> bool:
    """Whether the model knows the word or its singular, lower-case or capitalised."""
    lower, known = word.lower(), _tagger().cache
    stems = (lower, lower.removesuffix("s"), lower.removesuffix("es"))
    return any(stem in known for stem in stems) or "-" in lower
