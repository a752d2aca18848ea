"""Parse a model's answer: JSON for structured outputs, else a numbered list.

Parsing never raises: a model may answer anything, and unreadable parts are reported as problems.
"""

import json
import re
from collections.abc import Mapping, Sequence
from enum import StrEnum
from itertools import zip_longest
from typing import Any, NamedTuple

from pydantic import BaseModel, ConfigDict, Field, create_model

from curation.content_uids import canonical
from curation.language.tokens import analyse
from curation.taxonomy.built_in import VariantType
from curation.taxonomy.cues import find_cue
from db.errors import HedgerowError

MAX_TEXT = 2000
"""Maximum characters of a variant; the same as for an edit."""


class AnswerProblem(StrEnum):
    """What can be wrong with a call or its answer."""

    RATE_LIMIT = "rate limit"
    TIMEOUT = "timeout"
    SERVER = "server error"
    CONNECTION = "no connection"
    REFUSED_REQUEST = "request refused"
    REFUSAL = "model refused"
    CUT_OFF = "cut off"
    TOO_LONG = "answer too long"
    UNREADABLE = "unreadable"
    MISSING_TYPE = "type missing"
    CUE_IGNORED = "cue ignored"
    UNCHANGED = "text unchanged"
    EXPIRED = "batch expired"
    NO_RULE = "no rule fits"
    PASSED_OVER = "passed over"
    RETIRED = "retired meanwhile"
    MADE = "made meanwhile"


class Parsed(NamedTuple):
    """The parsed content of an answer.

    Attributes:
        texts: by type id, the canonical text of each variant that can be used.
        problems: what is wrong, most serious first; an answer can be used in part.
    """

    texts: dict[str, str]
    problems: tuple[AnswerProblem, ...]


_FENCE = re.compile(r"^\s*```[a-z]*\s*\n(.*?)\n?\s*```\s*$", re.DOTALL | re.IGNORECASE)
# '1. "verbal": The …', '2) **absolute** - There …', '"word": …' at the start of a line.
_ITEM = re.compile(
    r"""^[ \t]*(?:(?P<number>\d{1,2})[.)]|[-*•])?[ \t]*   # 1.  2)  -
        (?P<open>["“'*_`]*)                               # "  **
        (?P<name>[A-Za-z][A-Za-z0-9_ -]{0,60}?)
        ["”'*_`]*[ \t]*(?::|[–—]|[ ]-[ ])["”'*_`]*[ \t]*   # ": or -
    """,
    re.VERBOSE | re.MULTILINE,
)
_QUOTES = {'"': '"', "“": "”", "'": "'", "`": "`", "«": "»"}


def parse_answer(
    raw: str, *, types: Sequence[VariantType], anchor: str, cues: Mapping[str, str]
) -> Parsed:
    """Parse an answer.

    Args:
        raw: the unchanged answer.
        types: the requested types.
        anchor: the anchor's text. An answer that repeats it is not a variant.
        cues: by type id, the requested cue.
    """
    found = _from_json(raw, types)
    if found is None:
        found = _from_list(raw, types)
    texts = {key: text for key, value in found.items() if (text := usable(value))}
    if not texts:
        return Parsed({}, (AnswerProblem.UNREADABLE,))
    problems = []
    unchanged = [key for key, text in texts.items() if text.casefold() == anchor.casefold()]
    for key in unchanged:
        del texts[key]
        problems.append(AnswerProblem.UNCHANGED)
    if any(entry.id not in texts and entry.id not in unchanged for entry in types):
        problems.append(AnswerProblem.MISSING_TYPE)
    if any(cue and key in texts and not _has_cue(texts[key], cue) for key, cue in cues.items()):
        problems.append(AnswerProblem.CUE_IGNORED)
    return Parsed(texts, tuple(dict.fromkeys(problems)))


def _has_cue(text: str, cue: str) -> bool:
    return bool(find_cue(analyse(text), cue))


def usable(value: Any) -> str:
    """Return the canonical text, or '' if the value can't be a variant."""
    if not isinstance(value, str):
        return ""
    try:
        text = canonical(_unquoted(value.strip()))
    except HedgerowError:  # control characters, so not a sentence
        return ""
    return text if len(text) <= MAX_TEXT else ""


def _unquoted(text: str) -> str:
    """Remove one pair of quotation marks around the whole text."""
    close = _QUOTES.get(text[:1])
    inner = text[1:-1]
    if close and len(text) > 2 and text.endswith(close) and close not in inner:
        return inner
    return text


def _from_json(raw: str, types: Sequence[VariantType]) -> dict[str, Any] | None:
    """Return the values of a JSON object by type id; None if the answer is not a JSON object."""
    value = read_object(raw)
    if value is None:
        return None
    names = _names(types)
    return {names[key.lower()]: text for key, text in value.items() if key.lower() in names}


def read_object(raw: str) -> dict[str, Any] | None:
    """Return the JSON object that an answer is or contains; None if there is none."""
    body = fence[1] if (fence := _FENCE.match(raw)) else raw
    first, last = body.find("{"), body.rfind("}")
    if first < 0 or last < first:
        return None
    try:
        value = json.loads(body[first : last + 1])
    except (ValueError, RecursionError):
        return None
    return value if isinstance(value, dict) else None


def _from_list(raw: str, types: Sequence[VariantType]) -> dict[str, str]:
    """Return the items of the paper's numbered list by type id; the first of each type counts."""
    names = _names(types)
    items = [item for item in _ITEM.finditer(raw) if item["name"].strip().lower() in names]
    found: dict[str, str] = {}
    for item, following in zip_longest(items, items[1:]):
        end = following.start() if following else len(raw)
        text = raw[item.end() : end].strip().split("\n\n")[0]
        found.setdefault(names[item["name"].strip().lower()], text)
    return found


def _names(types: Sequence[VariantType]) -> dict[str, str]:
    """Map the names that a model may use for a type to its id: id, id as words, label."""
    names: dict[str, str] = {}
    for entry in types:
        for name in (entry.id, entry.id.replace("_", " "), entry.label):
            names.setdefault(name.lower(), entry.id)
    return names


def answer_model(types: Sequence[VariantType]) -> type[BaseModel]:
    """Return the schema for answers with structured outputs: exactly one string per type."""
    fields: dict[str, Any] = {
        entry.id: (str, Field(description=entry.definition)) for entry in types
    }
    return create_model("Variants", __config__=ConfigDict(extra="forbid"), **fields)
