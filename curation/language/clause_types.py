"""Questions and commands: clauses that make no claim, recognised by how they begin and end."""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from pathlib import Path
from typing import Any

from curation.content_uids import words_of
from curation.language.tagging import word_tags
from curation.language.tokens import load_lexicon, word_sets

_LEXICON: dict[str, Any] = load_lexicon(Path(__file__).with_name("clause_types.json"))
_WORDS = word_sets(Path(__file__).with_name("clause_types.json"))
_INVERTING = frozenset({"had", "should", "were"})
"""These can also begin a condition: "Had I known, …"."""

_INTRANSITIVE: dict[str, frozenset[str]] = {
    verb: frozenset(following.split()) for verb, following in _LEXICON["intransitive"].items()
}
_ASIDES = tuple(tuple(aside.split()) for aside in _LEXICON["asides"])
_BASE_FORMS = ("VVB", "VVI", "VBB", "VHB", "VDB")
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
    if first in _WORDS["wh"]:
        # Excludes "Who did this is a mystery": its first three words are not an inversion.
        inverts = (
            second in _WORDS["auxiliaries"] or second in _WORDS["clitics"]
        ) and third in _WORDS["subjects"]
        inverts = inverts and not (first == "who" and second in _WORDS["do"])
        return inverts or _asks_by_inversion(words[:end]) or _asks_for_the_subject(words[:end])
    if (first in _INVERTING and "," in words) or (first, second) == ("have", "a"):
        return False
    return first in _WORDS["auxiliaries"] and second in _WORDS["subjects"]


def _asks_by_inversion(words: Sequence[str]) -> bool:
    """Whether a verb precedes its subject: 'How old are you', 'What time does it …'.

    A free relative clause has no inversion: "What he said is the truth."
    """
    if words[0] not in ("how", "what", "which", "whose"):
        return words[0] != "who" and words[1:2] in (["do"], ["does"], ["did"])
    for i in range(2, min(5, len(words) - 1)):
        if words[i] in _WORDS["auxiliaries"]:
            between, rest = words[1:i], words[i + 1 :]
            ended = any(_is_finite(word) for word in rest) and words[i] not in _WORDS["do"]
            statement = words[0] != "which" and any(map(_may_be_finite, between))
            return rest[0] in _WORDS["subjects"] and not statement and not ended
        if words[i] in _WORDS["subjects"] or words[i] == ",":
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
    if (
        not verb
        or (words[0] == "who" and verb > 1)
        or not _WORDS["nominatives"].isdisjoint(words[1:verb])
    ):
        return False
    after = (
        verb + 1 + (words[verb] in _WORDS["auxiliaries"])
    )  # 'won' in "Who has won" does not count as a second verb
    return not any(
        words[i] in _WORDS["auxiliaries"]
        or (_may_be_finite(words[i]) and words[i - 1] not in _WORDS["objects"])
        for i in range(after, len(words))
    )


def _is_finite(word: str) -> bool:
    return word in _WORDS["auxiliaries"] or word_tags(word)[:1] in (("VVZ",), ("VVD",))


def _may_be_finite(word: str) -> bool:
    return word in _WORDS["auxiliaries"] or not {"VVZ", "VVD"}.isdisjoint(_tags(word)[:3])


def is_command(words: Sequence[str]) -> bool:
    """Whether the tokens of a text tell somebody to do something.

    "Close the door.", "If it rains, take the bus.", "Let's go.", "Please …". A caption that begins
    with a noun ("Stop sign in front of a house") is not a command.
    """
    start = 0
    if len(words) > 1 and words[1] == "," and _is_name(words[0]):  # "Sarah, close the door."
        start = 2
    elif words and words[0] in _WORDS["openers"] and "," in words:
        start = words.index(",") + 1
    while start < len(words) and words[start] in _WORDS["adverbs"]:
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
        or (verb in _WORDS["before_ing"] and second.endswith("ing"))
    )
    if is_clear:
        return True
    if second == "and" and _may_be_base(third):  # "Press and hold the button"
        second, third = fourth, ""
    has_object = second in _WORDS["objects"] or (
        second in _WORDS["particles"] and third in _WORDS["objects"]
    )
    has_amount = second in _WORDS["amounts"]
    # 'add' is usually a verb, but 'group' is not.
    return (has_object and _may_be_base(verb)) or (has_amount and _may_be_base(verb, among=1))


def _may_be_base(word: str, *, among: int = 3) -> bool:
    """Whether a word is often a verb's base form: 'close', 'press', but not 'police'."""
    return any(tag in _BASE_FORMS for tag in _tags(word)[:among])


@lru_cache(maxsize=16_384)
def _tags(word: str) -> tuple[str, ...]:
    auxiliary = word in _WORDS["auxiliaries"] and word != "have"
    if auxiliary or not word.isalpha() or word in _WORDS["subjects"] or word in _WORDS["no_verbs"]:
        return ()
    return word_tags(word)


def _is_name(word: str) -> bool:
    return word.isalpha() and word_tags(word)[:1] == ("NP0",)


_FIRST = (
    _WORDS["auxiliaries"]
    | _WORDS["wh"]
    | _WORDS["adverbs"]
    | _WORDS["before_ing"]
    | {"let", *_INTRANSITIVE}
)
_SECOND = _WORDS["objects"] | _WORDS["particles"] | _WORDS["amounts"]


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
    parts = map(words_of, rest) if words[0] in _WORDS["openers"] else ()
    return is_addressed or any(map(_may_ask_or_command, parts))


def _may_ask_or_command(words: Sequence[str]) -> bool:
    first, second, third = [*words[:3], "", "", ""][:3]
    if second == "and":
        return first in _FIRST or _may_be_base(third)
    return first in _FIRST or (second in _SECOND and _may_be_base(first))
