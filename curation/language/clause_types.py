"""Questions and commands: clauses that make no claim, recognised by how they begin and end."""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from pathlib import Path
from typing import Any

from curation.content_uids import words_of
from curation.language.tagging import word_tags
from curation.language.tokens import load_lexicon

_LEXICON: dict[str, Any] = load_lexicon(Path(__file__).with_name("clause_types.json"))
_AUXILIARIES = frozenset(_LEXICON["auxiliaries"])
_CLITICS = frozenset({"'s", "'re", "'d", "'ll", "'ve"})
_INVERTING = frozenset({"had", "should", "were"})
"""These can also begin a condition: "Had I known, …"."""

_WH = frozenset(_LEXICON["wh"])
_SUBJECTS = frozenset(_LEXICON["subjects"])
_OBJECTS = frozenset(_LEXICON["objects"])
_INTRANSITIVE: dict[str, frozenset[str]] = {
    verb: frozenset(following.split()) for verb, following in _LEXICON["intransitive"].items()
}
_BEFORE_ING = frozenset({"stop", "keep", "start", "avoid", "quit"})
_AMOUNTS = frozenset(_LEXICON["amounts"])
_ASIDES = tuple(tuple(aside.split()) for aside in _LEXICON["asides"])
_BASE_FORMS = ("VVB", "VVI", "VBB", "VHB", "VDB")
_DO = frozenset({"do", "does", "did"})
_NOMINATIVES = frozenset({"i", "you", "he", "she", "we", "they"})
_PARTICLES = frozenset({"off", "up", "down", "out", "away", "back", "over"})
_OPENERS = frozenset(_LEXICON["openers"])
_ADVERBS = frozenset({"please", "always", "just", "simply", "then", "also", "kindly"})
_NO_VERBS = frozenset(_LEXICON["no_verbs"])
_MARKS = frozenset({".", "!", "?", ")", ";", ":", "…"})


def is_question(words: Sequence[str]) -> bool:
    """Whether the tokens of a text form a question, with or without a question mark.

    Args:
        words: the words of a ``curation.language.tokens.Analysis``.
    """
    end = len(words)
    while end and words[end - 1] in _MARKS:
        end -= 1
    if "?" in words[end:]:
        return True
    # "Isn't it": treat it as the same question without 'not'.
    first, second, third = [*words[:1], *words[1 + (words[1:2] == ["not"]) :], "", "", ""][:3]
    if first in _WH:
        # Excludes "Who did this is a mystery": its first three words are not an inversion.
        inverts = (second in _AUXILIARIES or second in _CLITICS) and third in _SUBJECTS
        inverts = inverts and not (first == "who" and second in _DO)
        return inverts or _asks_by_inversion(words[:end]) or _asks_for_the_subject(words[:end])
    if (first in _INVERTING and "," in words) or (first, second) == ("have", "a"):
        return False
    return first in _AUXILIARIES and second in _SUBJECTS


def _asks_by_inversion(words: Sequence[str]) -> bool:
    """Whether a verb precedes its subject: 'How old are you', 'What time does it …'.

    A free relative clause has no inversion: "What he said is the truth."
    """
    if words[0] not in ("how", "what", "which", "whose"):
        return words[0] != "who" and words[1:2] in (["do"], ["does"], ["did"])
    for i in range(2, min(5, len(words) - 1)):
        if words[i] in _AUXILIARIES:
            between, rest = words[1:i], words[i + 1 :]
            ended = any(_is_finite(word) for word in rest) and words[i] not in _DO
            statement = words[0] != "which" and any(map(_may_be_finite, between))
            return rest[0] in _SUBJECTS and not statement and not ended
        if words[i] in _SUBJECTS or words[i] == ",":
            return False
    return False


def _asks_for_the_subject(words: Sequence[str]) -> bool:
    """Match 'Who won the race', 'Which of them won', 'Which train goes to Berlin'.

    If a second verb follows, it is a statement's subject: "Who wins gets the prize."
    """
    if words[0] not in ("who", "which") or "," in words:
        return False
    first = 1 if words[0] == "who" else 2 + (words[1:2] == ["of"])
    reach = range(first, min(first + 3, len(words)))
    verb = next((i for i in reach if _may_be_finite(words[i])), 0)
    # "Which train he took" alone is not a question.
    if not verb or (words[0] == "who" and verb > 1) or not _NOMINATIVES.isdisjoint(words[1:verb]):
        return False
    after = (
        verb + 1 + (words[verb] in _AUXILIARIES)
    )  # 'won' in "Who has won" does not count as a second verb
    return not any(
        words[i] in _AUXILIARIES or (_may_be_finite(words[i]) and words[i - 1] not in _OBJECTS)
        for i in range(after, len(words))
    )


def _is_finite(word: str) -> bool:
    return word in _AUXILIARIES or word_tags(word)[:1] in (("VVZ",), ("VVD",))


def _may_be_finite(word: str) -> bool:
    return word in _AUXILIARIES or not {"VVZ", "VVD"}.isdisjoint(_tags(word)[:3])


def is_command(words: Sequence[str]) -> bool:
    """Whether the tokens of a text tell somebody to do something.

    "Close the door.", "If it rains, take the bus.", "Let's go.", "Please …". A caption that begins
    with a noun ("Stop sign in front of a house") is not a command.
    """
    start = 0
    if len(words) > 1 and words[1] == "," and _is_name(words[0]):  # "Sarah, close the door."
        start = 2
    elif words and words[0] in _OPENERS and "," in words:
        start = words.index(",") + 1
    while start < len(words) and words[start] in _ADVERBS:
        if words[start] == "please" and words[start + 1 : start + 2] not in ([","], []):
            return True
        start += 1
    rest = list(words[start:])
    if any(tuple(rest[: len(aside)]) == aside for aside in _ASIDES):
        return False
    if rest[:2] == ["do", "not"]:
        return not is_question(rest)
    verb, second, third, fourth = [*rest[:4], "", "", "", ""][:4]
    ends, following = second in ("", *_MARKS), _INTRANSITIVE.get(verb, frozenset())
    is_clear = (
        (verb == "let" and not ends)
        or second in following
        or (ends and "." in following)
        or (verb in _BEFORE_ING and second.endswith("ing"))
    )
    if is_clear:
        return True
    if second == "and" and _may_be_base(third):  # "Press and hold the button"
        second, third = fourth, ""
    has_object = second in _OBJECTS or (second in _PARTICLES and third in _OBJECTS)
    has_amount = second in _AMOUNTS
    # 'add' is usually a verb, but 'group' is not.
    return (has_object and _may_be_base(verb)) or (has_amount and _may_be_base(verb, among=1))


def _may_be_base(word: str, *, among: int = 3) -> bool:
    """Whether a word is often a verb's base form: 'close', 'press', but not 'police'."""
    return any(tag in _BASE_FORMS for tag in _tags(word)[:among])


@lru_cache(maxsize=16_384)
def _tags(word: str) -> tuple[str, ...]:
    auxiliary = word in _AUXILIARIES and word != "have"
    if auxiliary or not word.isalpha() or word in _SUBJECTS or word in _NO_VERBS:
        return ()
    return word_tags(word)


def _is_name(word: str) -> bool:
    return word.isalpha() and word_tags(word)[:1] == ("NP0",)


_FIRST = _AUXILIARIES | _WH | _ADVERBS | _BEFORE_ING | {"let", *_INTRANSITIVE}
_SECOND = _OBJECTS | _PARTICLES | _AMOUNTS


def may_be_no_statement(text: str, words: Sequence[str]) -> bool:
    """Whether a text may be a question or command, judged by how it begins, before analysis.

    There are no false negatives.
    """
    if _may_ask_or_command(words):
        return True
    addressed, *rest = text.split(",")
    if not rest or not words:
        return False
    is_addressed = addressed.strip().isalpha() and _is_name(words[0])
    parts = map(words_of, rest) if words[0] in _OPENERS else ()
    return is_addressed or any(map(_may_ask_or_command, parts))


def _may_ask_or_command(words: Sequence[str]) -> bool:
    first, second, third = [*words[:3], "", "", ""][:3]
    if second == "and":
        return first in _FIRST or _may_be_base(third)
    return first in _FIRST or (second in _SECOND and _may_be_base(first))
