"""Words, stems and the alignment of a variant with its anchor.

English only and rule-based; the only word list is one of irregular forms. Since the two texts are
near copies of each other, a stem need not be a word: it only has to be the same for 'planted' and
'plant' and different for 'harmful' and 'harmless'.
"""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from functools import cached_property, lru_cache
from pathlib import Path
from typing import Any

import Levenshtein

_WORDS = 65_536
"""Maximum words whose forms are cached: enough for a large corpus's vocabulary."""


def load_lexicon(path: Path) -> Any:
    """Read the word lists of a JSON file in the calling module's folder."""
    return json.loads(path.read_text(encoding="utf-8"))


def word_sets(path: Path) -> dict[str, frozenset[str]]:
    """Read the word lists of a JSON file as sets; an entry can be a line of several words."""
    return {
        name: frozenset(word for entry in words for word in entry.split())
        for name, words in load_lexicon(path).items()
        if isinstance(words, list)
    }


_IRREGULAR: dict[str, str] = load_lexicon(Path(__file__).with_name("irregular_forms.json"))
_FUNCTION_WORDS: frozenset[str] = frozenset().union(
    *word_sets(Path(__file__).with_name("function_words.json")).values()
)

# Words keep inner hyphens, apostrophes and decimal points. A dash or comma around a parenthesis is
# a token of its own, because hedges appear between them.
_TOKEN = re.compile(r"[^\W_]+(?:[-'.’ʼ][^\W_]+)*['’]?|[,;:()]|--|[–—…]|\.|[?!]|%")
_CLITIC = re.compile(r"('s|'re|'m|'ve|'ll|'d)$")
_IRREGULAR_NEGATED = {"won't": "will", "can't": "can", "shan't": "shall", "ain't": "be"}
_VOWEL = re.compile(r"[aeiouy]")


@dataclass(frozen=True, slots=True)
class Token:
    """One word, clitic or punctuation mark. `start` and `end` are character offsets."""

    word: str
    start: int
    end: int


def _split_contraction(word: str, start: int, end: int) -> list[Token]:
    """Split off 'n't' (as 'not') and clitics. Offsets still refer to the original characters."""
    if word.endswith("n't") and len(word) > 3:
        host = _IRREGULAR_NEGATED.get(word, word[:-3])
        return [Token(host, start, end - 3), Token("not", end - 3, end)]
    if word == "cannot":
        return [Token("can", start, start + 3), Token("not", start + 3, end)]
    if match := _CLITIC.search(word):
        cut = start + match.start()
        return [
            *_split_contraction(word[: match.start()], start, cut),
            Token(match.group(), cut, end),
        ]
    return [Token(word, start, end)]


def tokenize(text: str) -> tuple[Token, ...]:
    """Split a text into lower-case tokens, with "isn't" as 'is' and 'not'."""
    tokens: list[Token] = []
    for match in _TOKEN.finditer(text):
        word = match.group().lower()
        if len(word) != match.end() - match.start():  # a letter that becomes longer in lower case
            word = match.group()
        word = word.replace("’", "'").replace("ʼ", "'")
        end = match.end()
        if word.endswith("'"):  # a plural possessive or a closing quotation mark
            word, end = word[:-1], end - 1
        tokens += _split_contraction(word, match.start(), end)
    return tuple(tokens)


def _trim(word: str) -> str:
    """Remove inflection: plural, third person, past tense and participles."""
    if word.endswith(("ies", "ied")) and len(word) > 4:
        return word[:-3] + "y"
    if re.search(r"(ss|x|ch|sh|zz|o)es$", word) and len(word) > 4:
        return word[:-2]
    if word.endswith("s") and len(word) > 3 and not word.endswith(("ss", "us", "is")):
        return word[:-1]
    for suffix in ("ing", "ed"):
        rest = word[: -len(suffix)]
        removable = word.endswith(suffix) and len(rest) > 1 and _VOWEL.search(rest)
        if removable and (suffix == "ing" or rest[-1] != "e"):  # not 'need', 'exceed'
            return rest
    return word


def _adjective(word: str) -> str:
    """Remove an adverb's -ly ('happily', 'happy')."""
    if word.endswith("ily") and len(word) > 5:
        return word[:-3] + "y"
    if word.endswith(("ably", "ibly")):
        return word[:-1] + "e"
    if word.endswith("ally") and len(word) > 6:
        return word[:-2]
    return word[:-2] if word.endswith("ly") and len(word) > 5 else word


@lru_cache(maxsize=_WORDS)
def lemma(word: str) -> str:
    """Return a key that a word's inflected forms and spellings share ('planted', 'plant')."""
    trimmed = _trim(word)
    base = _IRREGULAR.get(word) or _IRREGULAR.get(trimmed, trimmed)
    base = re.sub(r"([^aeiou]|[aeiou]v)our$", r"\1or", base)
    base = re.sub(r"i[sz]e?$", "iz", base) if len(base) > 5 else base
    if len(base) > 2 and base.endswith("e"):
        base = base[:-1]
    if len(base) > 3 and base[-1] == base[-2]:
        base = base[:-1]
    return base[:-1] + "i" if len(base) > 2 and base.endswith("y") else base


@lru_cache(maxsize=_WORDS)
def stem(word: str) -> str:
    """Return the lemma, with adverbs in -ly reduced to their adjectives ('evenly', 'even')."""
    return lemma(word if word in _IRREGULAR else _adjective(word))


_DERIVED = re.compile(
    r"(fulness?|ibiliti|abiliti|ization|atori|fulli|ation|ition|ement|ness?|ment|tion|sion|anc|enc"
    r"|anci|enci|abl|ibl|ful|ous|iou|iv|al|ic|ion|ant|ent|iti|er|or|ship|th|i|ur|ist|ism|at)$"
)


@lru_cache(maxsize=_WORDS)
def root(word: str) -> str:
    """Return the stem without derivational suffixes, at least 3 letters ('reliance', 'rely')."""
    base = stem(word)
    for _ in range(2):
        shorter = _DERIVED.sub("", base)
        if len(shorter) < 3:
            break
        base = shorter
    base = base[:-1] if len(base) > 2 and base.endswith("e") else base
    base = base[:-1] if len(base) > 3 and base[-1] == base[-2] else base
    return base[:-1] + "v" if base.endswith("f") else base  # 'leaf' and 'leaves'


@lru_cache(maxsize=_WORDS)
def is_content(word: str) -> bool:
    """Whether a token is a content word: no function word, negator or punctuation mark."""
    return word[-1].isalnum() and word not in _FUNCTION_WORDS and word not in NEGATOR_WORDS


VERBAL_NEGATORS = frozenset({"not"})
ABSOLUTE_NEGATORS = frozenset(
    "no nobody none nothing nowhere no-one neither nor never naught nought".split()
)
APPROXIMATE_NEGATORS = frozenset("hardly barely scarcely seldom rarely".split())
OTHER_NEGATORS = frozenset({"without"})
NEGATOR_WORDS = VERBAL_NEGATORS | ABSOLUTE_NEGATORS | APPROXIMATE_NEGATORS | OTHER_NEGATORS


@lru_cache(maxsize=_WORDS)
def related(first: str, second: str) -> bool:
    """Whether two words are forms of one word, or one is derived from the other without reversal.

    A negative suffix on only one of them ('harmful', 'harmless') is a reversal.
    """
    if stem(first) == stem(second):
        return True
    if first.endswith("less") != second.endswith("less"):
        return False
    one, other = root(first), root(second)
    short = min(len(one), len(other))
    shared = next((i for i in range(short) if one[i] != other[i]), short)
    return one == other or shared >= max(4, 0.75 * max(len(one), len(other)))


class Analysis:
    """The tokens of one text and what the checks derive from them, computed once."""

    def __init__(self, text: str) -> None:
        self.text = text
        self.tokens = tokenize(text)
        self.words = [token.word for token in self.tokens]

    @cached_property
    def stems(self) -> list[str]:
        """The stem of each word."""
        return [stem(word) for word in self.words]

    @cached_property
    def lemmas(self) -> list[str]:
        """The lemma of each word."""
        return [lemma(word) for word in self.words]

    @cached_property
    def content(self) -> list[int]:
        """Indexes of the content words."""
        return [i for i, word in enumerate(self.words) if is_content(word)]

    @cached_property
    def content_words(self) -> list[str]:
        """The distinct content words in order of first appearance, one per stem."""
        return list({self.stems[i]: self.words[i] for i in reversed(self.content)}.values())[::-1]

    @cached_property
    def _by_beginning(self) -> dict[str, list[str]]:
        """The content words, by the first letters of their roots, which related words share."""
        found: dict[str, list[str]] = {}
        for word in self.content_words:
            found.setdefault(root(word)[:2], []).append(word)
        return found

    def has_relative(self, word: str) -> bool:
        """Whether the text has a content word that is a form or derivation of `word`."""
        return any(related(word, other) for other in self._by_beginning.get(root(word)[:2], ()))


@lru_cache(maxsize=1024)
def analyse(text: str) -> Analysis:
    """Return the (cached) analysis of a text."""
    return Analysis(text)


def _encode(stems: list[str], codes: dict[str, str]) -> str:
    return "".join(codes.setdefault(s, chr(0xE000 + len(codes))) for s in stems)


def align(anchor: Analysis, variant: Analysis) -> list[int | None]:
    """For each token of the variant, return the index of the anchor token that it copies, or None.

    A minimal edit script over stems, computed backwards from the end because words added to a
    sentence usually come first ("I'm not sure, but I was lucky": the second 'I').
    """
    codes: dict[str, str] = {}
    source, target = _encode(anchor.stems, codes)[::-1], _encode(variant.stems, codes)[::-1]
    result: list[int | None] = [None] * len(target)
    for tag, i, j, k, _ in Levenshtein.opcodes(source, target):
        if tag == "equal":
            for step in range(j - i):
                result[len(target) - 1 - k - step] = len(source) - 1 - i - step
    return result
