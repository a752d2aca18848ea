"""Reading a chat model's answer: the text that it chose, or the similarity of two texts."""

import re
from typing import NamedTuple

from curation.generation.answer_texts import Removed
from curation.generation.answers import AnswerProblem, read_answer

_PARTS = {
    name: name
    for name in ("answer", "choice", "score", "similarity", "document", "sentence", "number")
}
_NOUN = r"(?:document|doc|option|sentence|text|one)"
_CALLED = rf"(?:the |{_NOUN} )*"
_AFTER = r"\b(?:answer|score|similarity)\b(?:(?!\bnot\b|n['’]t\b)[^\d+−–-]){0,40}?"
_OR = rf"(?:\s*(?:or|and|to|/|&|,|→)\s*|[-–]){_CALLED}"
_LIST = r"\W*1[.)]\s.*\n[ *_]*2[.)]\s"

_ORDINALS = {"first": "1", "second": "2", "third": "3", "one": "1", "two": "2", "three": "3"}
_ORDINAL = re.compile(
    rf"\b(first|second|third)(?= {_NOUN}\b(?! of\b))|(?<=document )(one|two|three)\b"
    r"|(?<=sentence )(one|two|three)\b|\A\W*(?:the )?(first|second|third|one|two|three)\W*\Z",
    re.IGNORECASE,
)
_DESCRIBED = rf"\W*(?:the )?{_NOUN} \d\b[ :]+\w(?![^.\n]*\b(?:more|most|better|best|means)\b)"
_DENIED = re.compile(
    r"\b(?:not|neither|nor|less|least|irrelevant|unrelated|cannot)\b|n['’]t\b", re.IGNORECASE
)

_NUMBER = r"(?<![\w.])[-+−–]?(?:\d+(?:\.\d+)?|\.\d+)(?!\w|\.\d|\s*(?:%|percent|/|out of|of \d))"
_SCALE = re.compile(
    r"[-−–]1(?:\.0+)?\s*(?:to|and|[-–—,]|\.\.+)\s*\+?1(?:\.0+)?(?!\w|\.\d)"
    r"|(?<=\d)\s*(?:/|out of)\s*1(?:\.0+)?(?!\w|\.\d)"
)
_COMMA = re.compile(r"(?<![\d.,])([01]),(?=\d+(?![\d.,]))")
_MINUS = re.compile(r"\b(?:minus|negative)\s+(?=[\d.])", re.IGNORECASE)


class Reading(NamedTuple):
    """The number in an answer, or why there is none; and what was removed from the answer."""

    value: float | None
    problem: AnswerProblem | None
    removed: tuple[Removed, ...]


def read_choice(raw: str, *, choices: int = 2) -> Reading:
    """A number from 1 to `choices`: at the beginning, after 'answer', or the only one in an answer.

    None if the answer names no number or several, or only describes or rejects what it names.
    """
    text, none = _text(raw)
    text = _ORDINAL.sub(lambda word: _ORDINALS[next(filter(None, word.groups())).lower()], text)
    number = rf"(?<![\w.])[1-{choices}](?!\w|\.\d)"
    first = rf"(?!{_LIST}|{_DESCRIBED})\W*{_CALLED}#?"
    return _only(text, none, number, first=first, anywhere=not _DENIED.search(text))


def read_score(raw: str) -> Reading:
    """A number from -1 to 1: at an answer's beginning, after 'score', or the only one in it.

    None if there is no number, or if it is out of range.
    """
    text, none = _text(raw)
    text = _MINUS.sub("-", _COMMA.sub(r"\1.", _SCALE.sub("", text)))
    found = _only(text, none, _NUMBER, first=rf"(?!{_LIST})[\s*_`'\"(]*")
    return found if found.value is None or -1.0 <= found.value <= 1.0 else none


def _text(raw: str) -> tuple[str, Reading]:
    """The text to search for a number, and the result if it has none."""
    answer = read_answer(raw, _PARTS)
    values = list(answer.parts.values())
    text = answer.text
    if answer.is_json:
        text = str(values[0]) if len(values) == 1 else ""
    return text, Reading(None, answer.problem, answer.removed)


def _only(text: str, none: Reading, number: str, *, first: str, anywhere: bool = True) -> Reading:
    """The number at the beginning and after certain words, or else the only one anywhere."""
    flags = re.IGNORECASE | re.DOTALL
    found = [m[1] for m in [re.match(f"{first}({number})", text, flags)] if m]
    found += re.findall(f"{_AFTER}({number})", text, flags)
    if not found and anywhere:
        found = re.findall(number, text)
    named = {float(re.sub("[−–]", "-", one)) for one in found}
    if len(named) != 1 or re.search(
        rf"(?<![\w.])({re.escape(found[0])}){_OR}(?!\1){number}", text, flags
    ):
        return none
    return none._replace(value=named.pop(), problem=None)
