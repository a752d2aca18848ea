"""What a chat model's answer says: which of two documents it chose, or how alike two texts are."""

import math
import re

_CHOICE = re.compile(r"(?<![\w.])([12])(?!\w|\.\d)")
_FIRST_CHOICE = re.compile(r"\W*(?:the |document |doc |option )*#?([12])(?!\w|\.\d)", re.IGNORECASE)
_NUMBER = r"(?<![\w.])[-+−–]?(?:\d+(?:\.\d+)?|\.\d+)(?![\w%]|\.\d)"
_FIRST_NUMBER = re.compile(rf"[\s*_`'\"(]*({_NUMBER})")
_AFTER = r"\b(?:answer|score|similarity)\b[^\d+−–-]{0,40}?"
_CHOICE_AFTER = re.compile(rf"{_AFTER}([12])(?!\w|\.\d)", re.IGNORECASE)
_NUMBER_AFTER = re.compile(rf"{_AFTER}({_NUMBER})", re.IGNORECASE)


def read_choice(raw: str) -> float | None:
    """1 or 2, as an answer says: at its beginning, after 'answer', or as the only one it names.

    None where it names neither, or both.
    """
    text = _plain(raw)
    if begun := _FIRST_CHOICE.match(text):
        return float(begun[1])
    named = set(_CHOICE_AFTER.findall(text)) or set(_CHOICE.findall(text))
    return float(named.pop()) if len(named) == 1 else None


def read_score(raw: str) -> float | None:
    """A number from -1 to 1: at an answer's beginning, after 'score', or the only one in it.

    None where there is none, or it is outside.
    """
    text = _plain(raw)
    if begun := _FIRST_NUMBER.match(text):
        named = {_number(begun[1])}
    else:
        named = set(map(_number, _NUMBER_AFTER.findall(text)))
        named = named or set(map(_number, re.findall(_NUMBER, text)))
    value = named.pop() if len(named) == 1 else math.inf
    return value if -1.0 <= value <= 1.0 else None


def _number(text: str) -> float:
    return float(text.replace("−", "-").replace("–", "-"))


def _plain(raw: str) -> str:
    """An answer without the thoughts that some models put before it."""
    return raw.rpartition("</think>")[2]
