"""Reading a chat model's answer: the text that it chose, or the similarity of two texts."""

import math
import re
from functools import cache
from typing import NamedTuple

_CALLED = r"(?:the |document |doc |option |sentence )*"
_NUMBER = r"(?<![\w.])[-+−–]?(?:\d+(?:\.\d+)?|\.\d+)(?![\w%]|\.\d)"
_FIRST_NUMBER = re.compile(rf"[\s*_`'\"(]*({_NUMBER})")
_AFTER = r"\b(?:answer|score|similarity)\b[^\d+−–-]{0,40}?"
_NUMBER_AFTER = re.compile(rf"{_AFTER}({_NUMBER})", re.IGNORECASE)


class _ChoicePatterns(NamedTuple):
    """Patterns for a number in an answer: at the beginning, after 'answer', or anywhere."""

    first: re.Pattern[str]
    after: re.Pattern[str]
    anywhere: re.Pattern[str]


@cache
def _patterns(choices: int) -> _ChoicePatterns:
    number = rf"([1-{choices}])(?!\w|\.\d)"
    return _ChoicePatterns(
        re.compile(rf"\W*{_CALLED}#?{number}", re.IGNORECASE),
        re.compile(rf"{_AFTER}{number}", re.IGNORECASE),
        re.compile(rf"(?<![\w.]){number}"),
    )


def read_choice(raw: str, *, choices: int = 2) -> float | None:
    """A number from 1 to `choices`: at the beginning, after 'answer', or the only one in an answer.

    None if the answer names no number or several.
    """
    text, patterns = _plain(raw), _patterns(choices)
    if begun := patterns.first.match(text):
        return float(begun[1])
    named = set(patterns.after.findall(text)) or set(patterns.anywhere.findall(text))
    return float(named.pop()) if len(named) == 1 else None


def read_score(raw: str) -> float | None:
    """A number from -1 to 1: at an answer's beginning, after 'score', or the only one in it.

    None if there is no number, or if it is out of range.
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
    """An answer without the reasoning that some models write before it."""
    return raw.rpartition("</think>")[2]
