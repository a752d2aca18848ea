"""Words of a sentence with their parts of speech, as HanTa's English model sees them.

The tags are those of the British National Corpus (C5): VVD a past form, AJ0 an adjective, and so
on. The model comes in HanTa's wheel, so that nothing is downloaded.
"""

import re
from functools import lru_cache
from typing import Any, NamedTuple

LONGEST = 60
"""Words of a sentence that is looked at; longer ones are beyond what the rules can tell."""

_TOKEN = re.compile(
    r"\d+(?:[.,:]\d+)*(?:st|nd|rd|th|%|s)?|(?:[A-Z]\.){2,}|(?:Dr|Mr|Mrs|Ms|St|Prof)\."
    r"|[^\W_]+(?:[-'’.][^\W_]+)*|\S"
)
_CONTRACTION = re.compile(r"^(.+?)(['’](?:m|re|ve|ll|d|s))$", re.IGNORECASE)


class TaggedWord(NamedTuple):
    """A word as the tagger sees it.

    Attributes:
        start, end: where it stands in the text.
        tag: C5.
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
    """Words with their places; a contracted verb or a possessive 's stands alone."""
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
    """The tagged words of a text; none where it is too long or beyond the tagger."""
    parts = _split(text)
    if not parts or len(parts) > LONGEST:
        return []
    words = [word.replace("’", "'") for word, _, _ in parts]
    try:
        tags = _tagger().tag_sent(words, taglevel=0)
    except (KeyError, IndexError, ValueError):  # HanTa finds no way through odd input
        return []
    return [
        TaggedWord(word, _mended(words, i, found), start, end)
        for i, ((word, start, end), found) in enumerate(zip(parts, tags, strict=True))
    ]


_PRONOUN_IS = {"it", "he", "she", "that", "there", "what", "who", "here"}


def _mended(words: list[str], i: int, found: str) -> str:
    """The tag, put right where the tagger is known to err."""
    word = words[i].lower()
    if word == "'s":
        return "VBZ" if i and words[i - 1].lower() in _PRONOUN_IS else "POS"
    if word == "'" and i and words[i - 1].endswith("s") and found != "PUQ":
        return "POS"
    return found


@lru_cache(maxsize=65_536)
def verb_lemma(word: str, tag_: str) -> str:
    """The base form of a verb as the tagger's model gives it ('planned', VVD: 'plan')."""
    tagger = _tagger()
    try:
        return str(tagger.analyze(word.lower(), pos=tag_)[0])
    except (KeyError, IndexError, ValueError):
        return ""


@lru_cache(maxsize=65_536)
def word_tags(word: str) -> tuple[str, ...]:
    """The tags that a word in small letters may have, on its own, the likeliest first."""
    try:
        return tuple(tag_ for tag_, _ in _tagger().tag_word(word))
    except (KeyError, IndexError, ValueError):  # HanTa finds no way through odd input
        return ()


@lru_cache(maxsize=65_536)
def may_be_common(word: str) -> bool:
    """Whether a capitalised word may be no name: 'Keys', 'Rose', but not 'Marta'."""
    return bool(_tagger().tag_word(word.lower())[0][0] != "NP0")


def is_known(word: str) -> bool:
    """Whether the model has met the word, or the singular of it, in small letters or capitals."""
    lower, known = word.lower(), _tagger().cache
    stems = (lower, lower.removesuffix("s"), lower.removesuffix("es"))
    return any(stem in known for stem in stems) or "-" in lower
