"""Reads a model's answer; the only reader of generation, batches, judges and benchmarks.

Reasoning is never part of an answer. A text that starts as JSON is read as JSON or refused; any
other text is read as labelled lines, such as those of a numbered list. Reading never raises: a
model may answer anything, and unreadable parts are reported as problems. What is removed is named.
"""

import json
import re
from collections.abc import Callable, Mapping, Sequence
from enum import StrEnum
from functools import cache
from itertools import zip_longest
from typing import Any, NamedTuple

import json5
from pydantic import BaseModel, ConfigDict, Field, create_model

from curation.content_uids import words_of
from curation.generation.answer_texts import Removed, text_of
from curation.language.tokens import analyse
from curation.taxonomy.built_in import VariantType
from curation.taxonomy.cues import find_cue

MAX_TOLERANT = 20_000
"""Maximum characters of JSON with mistakes: parsing it takes up to half a second."""


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
    EMPTY = "empty answer"
    UNREADABLE = "unreadable"
    MISSING_TYPE = "type missing"
    CUE_IGNORED = "cue ignored"
    UNCHANGED = "text unchanged"
    EXPIRED = "batch expired"
    NO_RULE = "no rule fits"
    PASSED_OVER = "passed over"
    RETIRED = "retired meanwhile"
    MADE = "made meanwhile"


class Answer(NamedTuple):
    """An answer and its named parts.

    Attributes:
        text: the whole answer, without reasoning and code fences; '' if nothing else is left.
        is_json: whether the text starts as JSON. If it is broken or cut off, it has no parts.
        parts: by key, a text, a number or None. A key with another value, or with several
            different ones, such as those of a draft and of the answer, has an empty list.
        removed: what is not in the parts, each kind once.
    """

    text: str
    is_json: bool
    parts: dict[str, Any]
    removed: tuple[Removed, ...]

    @property
    def problem(self) -> AnswerProblem:
        """What is wrong if none of the parts can be used."""
        return AnswerProblem.UNREADABLE if self.text else AnswerProblem.EMPTY


class Parsed(NamedTuple):
    """The variants in an answer.

    Attributes:
        texts: by type id, the canonical text of each variant that can be used.
        problems: what is wrong, most serious first; an answer can be used in part.
        removed: what is not part of the variants, each kind once.
    """

    texts: dict[str, str]
    problems: tuple[AnswerProblem, ...]
    removed: tuple[Removed, ...] = ()


def parse_answer(
    raw: str, *, types: Sequence[VariantType], anchor: str, cues: Mapping[str, str]
) -> Parsed:
    """Read the variants in an answer.

    Args:
        raw: the unchanged answer.
        types: the requested types.
        anchor: the anchor's text. An answer that repeats it is not a variant.
        cues: by type id, the requested cue.
    """
    answer = read_answer(raw, _names(types))
    found = {
        key: text_of(value, anchor=anchor, cue=cues.get(key) or "")
        for key, value in answer.parts.items()
    }
    kinds = (kind for one in found.values() for kind in one.removed)
    removed = tuple(dict.fromkeys([*answer.removed, *kinds]))
    texts = {key: one.text for key, one in found.items() if one.text}
    if not texts and Removed.PLACEHOLDER not in removed:
        return Parsed({}, (answer.problem,), removed)
    problems = []
    unchanged = [key for key, text in texts.items() if text.casefold() == anchor.casefold()]
    for key in unchanged:
        del texts[key]
        problems.append(AnswerProblem.UNCHANGED)
    if any(entry.id not in texts and entry.id not in unchanged for entry in types):
        problems.append(AnswerProblem.MISSING_TYPE)
    asked = [(analyse(texts[key]), cue) for key, cue in cues.items() if cue and key in texts]
    if not all(find_cue(text, cue) for text, cue in asked):
        problems.append(AnswerProblem.CUE_IGNORED)
    return Parsed(texts, tuple(dict.fromkeys(problems)), removed)


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


# -- named parts ----------------------------------------------------------------------------------

_FENCE = re.compile(
    r"(?:`{3,}|^[ \t]*~{3,})[ \t]*(?:(?:json\w*|javascript|js|te?xt|plain\w*|markdown|md)\b)?",
    re.IGNORECASE | re.MULTILINE,
)
# At the start of a line, after an introduction such as 'Here is the JSON:', or after more JSON.
_OPENS = r"""(?=\{|\[\s*[\[{"'\]])"""
_JSON = re.compile(rf"""^[ \t]*{_OPENS}|:[ \t]*(?=[\[{{]\s*["'\[{{])""", re.MULTILINE)
_MORE_JSON = re.compile(rf"[\s,;]*{_OPENS}")


def read_answer(raw: str, names: Mapping[str, str]) -> Answer:
    """Read the named parts of an answer.

    Args:
        raw: the unchanged answer.
        names: the keys of the parts, by the names in lower case that a model may use for them.
    """
    kept, removed = _without_reasoning(raw)
    text = _FENCE.sub("", kept).strip()
    if text != kept.strip():
        removed.append(Removed.MARKUP)
    begun, label = _JSON.search(text), _labels(tuple(names)).search(text)
    if is_json := begun is not None and (label is None or begun.start() <= label.start()):
        found = _from_json(text, begun, names)
        is_all = text[0] in "[{" and text[-1] in "]}"
    else:
        found = _from_lines(text, names)
        is_all = len(found) >= sum(bool(line.strip()) for line in text.split("\n"))
    if found and not is_all:
        removed.append(Removed.OTHER_TEXT)
    parts: dict[str, Any] = {}
    for key, value in found:
        parts[key] = value if parts.get(key, value) == value else []
    return Answer(text, is_json, parts, tuple(removed))


def _from_json(
    text: str, begun: re.Match[str] | None, names: Mapping[str, str]
) -> list[tuple[str, Any]]:
    """Return the parts of all objects in JSON values; none if one of the values is broken."""
    found: list[tuple[str, Any]] = []

    def collect(pairs: list[tuple[str, Any]]) -> list[Any]:
        named = ((key.strip().lower(), value) for key, value in pairs)
        found.extend(
            (names[name], [] if isinstance(value, list) else value)
            for name, value in named
            if name in names
        )
        return []

    decoder = json.JSONDecoder(strict=False, object_pairs_hook=collect)
    try:
        while begun is not None:
            try:
                _, end = decoder.raw_decode(text, begun.end())
            except ValueError:
                end = _tolerant(text, begun.end(), collect)
            begun = _MORE_JSON.match(text, end) or _JSON.search(text, end)
    except (ValueError, RecursionError):
        return []
    return found


def _tolerant(text: str, start: int, collect: Callable[..., Any]) -> int:
    """Read JSON with comments, single quotes or trailing commas; return the position of its end.

    Raises:
        ValueError, RecursionError: it is broken, cut off, too long or nested too deeply.
    """
    _, error, end = json5.parse(
        text[:MAX_TOLERANT],
        start=start,
        strict=False,  # texts may contain line breaks
        consume_trailing=False,
        object_pairs_hook=collect,
    )
    if error is not None:
        raise ValueError(error)
    return end


@cache
def _labels(names: tuple[str, ...]) -> re.Pattern[str]:
    """Return a pattern for '1. "verbal": ', '**Verdict** - ', '### Verbal' or '| verbal | '."""
    known = "|".join(re.escape(name) for name in sorted(names, key=len, reverse=True))
    return re.compile(
        rf"""(?:^[ \t>|]*(?:\#+[ \t]*)?(?:["“'*_`]*\d{{1,2}}[.)]|[-*•+])?[ \t]*
             |(?<=[\s;])\d{{1,2}}[.)][ \t]*)       # another item on the same line
        ["“'*_`\[(]*(?P<name>{known})["”'*_`\])]*
        (?:[ \t]+(?:negat\w+|hedg\w+|variant|type|form))?(?:[ \t]*\([^()\n]{{0,80}}\))?["”'*_`]*
        (?:(?P<then>[ \t]*(?:[:：=|–—→⇒]|[-=]>)|[ \t]+-(?=[ \t]))|[ \t]*$)
        (?:["”'*_`]+(?=\s|$))?[ \t]*
        """,
        re.VERBOSE | re.MULTILINE | re.IGNORECASE,
    )


def _from_lines(text: str, names: Mapping[str, str]) -> list[tuple[str, Any]]:
    """Return the parts of a list. A part is one line: that of its label, or the one below it."""
    labels = list(_labels(tuple(names)).finditer(text))
    found: list[tuple[str, Any]] = []
    for label, following in zip_longest(labels, labels[1:]):
        lines = text[label.end() : following.start() if following else None].split("\n")
        # A blank line below '1. verbal:' means that it is empty; below '### Verbal' it doesn't.
        near = lines[:2] if label["then"] else lines
        line = next((one.strip() for one in near if one.strip()), "")
        if line or label["then"]:
            found.append((names[label["name"].lower()], line))
    return found


# -- reasoning ------------------------------------------------------------------------------------

_THOUGHT = (
    r"(?:\w+:)?(?:ant)?(?:think(?:ing)?|thoughts?|reason(?:ing)?|analysis|reflections?|"
    r"scratch_?pad|(?:inner_)?monologue)"
)
_BEGIN, _END = r"(?:<|&lt;)\|?\s*", r"\s*\|?(?:>|&gt;)"
_OPEN = rf"""(?:{_BEGIN}(?:begin_of_|start_)?{_THOUGHT}(?:\s[^<>]{{0,80}})?{_END}
    |\[think(?:ing)?\]|◁think▷|<\|channel>\s*(?:thought|analysis)\b|\Aanalysis(?-i:(?=[A-Z])))"""
# Also where the answer begins, since what stands before it is a draft.
_CLOSE = rf"""(?:{_BEGIN}(?:/\s*|end_of_|end_){_THOUGHT}{_END}|{_BEGIN}{_THOUGHT}\s*/{_END}
    |\[/think(?:ing)?\]|◁/think▷|<channel\|>|assistantfinal
    |{_BEGIN}(?:answer|begin_of_solution|start_response){_END}
    |^[ \t\#*_]*final\ (?:answers?|list|version|output)\b[^\w\n]*$)"""
_STOP = rf"""(?:<\|(?:return|end|im_end|eot|eot_id|endoftext|end_of_text)\|>|<end_of_turn>|</s>
    |<\|end_of_solution\|>|<\|end_response\|>|{_BEGIN}/\s*answer{_END})"""
_FLAGS = re.VERBOSE | re.MULTILINE | re.IGNORECASE | re.DOTALL
_REASONING = re.compile(rf"{_OPEN}.*?(?:{_CLOSE}|\Z)", _FLAGS)
_CLOSING, _STOPPING = re.compile(_CLOSE, _FLAGS), re.compile(_STOP, _FLAGS)
_TAG = re.compile(rf"{_OPEN}|{_CLOSE}|{_STOP}|<\|(?:start|channel)\|>\s*\w*|<\|message\|>", _FLAGS)
_FINAL = re.compile(
    r"<\|channel\|>\s*final[^<]{0,200}(?:<\|constrain\|>[^<]{0,99})?<\|message\|>"
    r"(.*?)(?=<\|(?:end|return|call|start|channel)\|>|\Z)",
    re.IGNORECASE | re.DOTALL,
)


def _without_reasoning(raw: str) -> tuple[str, list[Removed]]:
    """Return an answer without its reasoning, and what was removed.

    Reasoning stands between two tags. Without a closing tag, it is everything after the opening
    one. Without an opening tag, which can be a part of the prompt, it is everything before the
    closing one. In OpenAI's Harmony format, it is everything outside the channel 'final'.
    """
    raw = raw.replace("\r\n", "\n").replace("\r", "\n").strip()
    text = "\n".join(_FINAL.findall(raw)) if "<|channel|>" in raw else raw
    text = _CLOSING.split(_REASONING.sub("", text))[-1].strip()
    text, *after = _STOPPING.split(text, maxsplit=1)
    removed = [Removed.OTHER_TEXT] if "".join(after).strip() else []
    if words_of(_TAG.sub(" ", raw)) != words_of(_TAG.sub(" ", " ".join([text, *after]))):
        removed.append(Removed.REASONING)
    return text, removed
