"""Reading a chat model's answer: the text that it chose, or the similarity of two texts."""

import re

from curation.generation.answers import read_answer

_PARTS = {
    name: name
    for name in ("answer", "choice", "score", "similarity", "document", "sentence", "number")
}
_CALLED = r"(?:the |document |doc |option |sentence )*"
_NUMBER = r"(?<![\w.])[-+−–]?(?:\d+(?:\.\d+)?|\.\d+)(?![\w%]|\.\d)"
_AFTER = r"\b(?:answer|score|similarity)\b[^\d+−–-]{0,40}?"


def read_choice(raw: str, *, choices: int = 2) -> float | None:
    """A number from 1 to `choices`: at the beginning, after 'answer', or the only one in an answer.

    None if the answer names no number or several.
    """
    number = rf"(?<![\w.])[1-{choices}](?!\w|\.\d)"
    return _only(raw, number, first=rf"\W*{_CALLED}#?")


def read_score(raw: str) -> float | None:
    """A number from -1 to 1: at an answer's beginning, after 'score', or the only one in it.

    None if there is no number, or if it is out of range.
    """
    value = _only(raw, _NUMBER, first=r"[\s*_`'\"(]*")
    return value if value is not None and -1.0 <= value <= 1.0 else None


def _only(raw: str, number: str, *, first: str) -> float | None:
    """The number at the beginning, or else the only one after certain words or anywhere."""
    answer = read_answer(raw, _PARTS)
    values = list(answer.parts.values())
    text = answer.text
    if answer.is_json:
        text = str(values[0]) if len(values) == 1 else ""
    begun = re.match(f"{first}({number})", text, re.IGNORECASE)
    found = [begun[1]] if begun else re.findall(f"{_AFTER}({number})", text, re.IGNORECASE)
    named = {float(re.sub("[−–]", "-", one)) for one in found or re.findall(number, text)}
    return named.pop() if len(named) == 1 else None
