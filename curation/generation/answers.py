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
from curation.generation.answer_texts import Removed, is_about, text_of
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


PASSING = frozenset(
    {
        AnswerProblem.RATE_LIMIT,
        AnswerProblem.TIMEOUT,
        AnswerProblem.SERVER,
        AnswerProblem.CONNECTION,
    }
)
"""Problems of the server, for which repeating the call later helps."""


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
    answer = _in_order(read_answer(raw, _names(types)), types, anchor)
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


_ITEM = re.compile(r"^[ \t>*_]*(\d{1,2})[.)][ \t*_]*(\S.*)$", re.MULTILINE)


def _in_order(answer: Answer, types: Sequence[VariantType], anchor: str) -> Answer:
    """Read a list without names if it has one numbered item per type, as the prompt has.

    For a single type, one line is enough. Steps and remarks, which can be as many, are told from
    variants by the anchor's words.
    """
    if answer.parts or answer.is_json:
        return answer
    lines = [line for line in answer.text.split("\n") if line.strip()]
    items = _ITEM.findall(answer.text)
    if [int(number) for number, _ in items] != [*range(1, len(types) + 1)]:
        items = [("", line) for line in lines if len(types) == 1 and is_about(anchor, line)]
    if len(items) != len(types) or any(
        text_of(line, anchor=anchor).text and not is_about(anchor, line) for _, line in items
    ):
        return answer
    names = _names(types)
    found = []
    for entry, (_, line) in zip(types, items, strict=True):
        # It is unsafe (affixal).
        own = (_named(part, names) for part in re.split(r"[()\[\]]", line))
        found.append((next(filter(None, own), entry.id), line))
    other = (Removed.OTHER_TEXT,) if len(found) < len(lines) else ()
    return answer._replace(parts=_joined(found), removed=(*answer.removed, *other))


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
_JSON = re.compile(rf"""^[ \t]*{_OPENS}|[\s:=(>](?=[\[{{]\s*["'\[{{])""", re.MULTILINE)
_MORE_JSON = re.compile(rf"[\s,;]*{_OPENS}")
_CURLY = re.compile(r"[\[{\s]*[“”„]")
_NAME_KEY = re.compile(r"\w*(?:type|name|id|kind|label|category)", re.IGNORECASE)
_TEXT_KEY = re.compile(
    r"(?:(?:modified|new|negated|hedged|rewritten|output)[ _]?)?"
    r"(?:text|sentence|variant|version|value|content|output)|modified|negated|hedged|rewritten",
    re.IGNORECASE,
)


def read_answer(raw: str, names: Mapping[str, str]) -> Answer:
    """Read the named parts of an answer.

    Args:
        raw: the unchanged answer.
        names: the keys of the parts, by the names in lower case that a model may use for them.
    """
    kept, removed = _without_reasoning(raw)
    tags = _tags(tuple(names))
    text = tags.sub(lambda t: "\n" if t[1] else f"\n{t[2]}: ", _FENCE.sub("", kept)).strip()
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
    return Answer(text, is_json, _joined(found), tuple(removed))


def _joined(found: Sequence[tuple[str, Any]]) -> dict[str, Any]:
    """Return the parts by key; an empty list for a key with several different values."""
    parts: dict[str, Any] = {}
    for key, value in found:
        parts[key] = value if parts.get(key, value) == value else []
    return parts


def _from_json(
    text: str, begun: re.Match[str] | None, names: Mapping[str, str]
) -> list[tuple[str, Any]]:
    """Return the parts of all objects in JSON values; none if one of the values is broken."""
    found: list[tuple[str, Any]] = []

    def collect(pairs: list[tuple[str, Any]]) -> Any:
        """Note {"verbal": "…"} and {"type": "verbal", "text": "…"}; return what has no name."""
        plain = [(key, value[0] if _is_one(value) else value) for key, value in pairs]
        texts = {v for key, v in plain if _TEXT_KEY.fullmatch(key) and not isinstance(v, list)}
        text = texts.pop() if len(texts) == 1 else []
        for key, value in plain:
            if name := _named(key, names):
                found.append((name, value))
            elif _NAME_KEY.fullmatch(key) and isinstance(value, str):
                found.extend((name, text) for name in [_named(value, names)] if name)
        return text

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
    text = text[:MAX_TOLERANT]
    _, error, end = json5.parse(
        re.sub("[“”„]", '"', text) if _CURLY.match(text, start) else text,
        start=start,
        strict=False,  # texts may contain line breaks
        consume_trailing=False,
        object_pairs_hook=collect,
    )
    if error is not None:
        raise ValueError(error)
    return end


def _is_one(value: Any) -> bool:
    return isinstance(value, list) and len(value) == 1 and isinstance(value[0], str)


def _named(text: str, names: Mapping[str, str]) -> str | None:
    """Return the key of the part that a text names, as a label of a line would."""
    label = _labels(tuple(names)).fullmatch(text.strip())
    return names[label["name"].lower()] if label else None


def _known(names: tuple[str, ...]) -> str:
    return "|".join(re.escape(name) for name in sorted(names, key=len, reverse=True))


@cache
def _tags(names: tuple[str, ...]) -> re.Pattern[str]:
    """Return a pattern for '<verbal>' and '</verbal>'."""
    return re.compile(rf"<(/?)({_known(names)})>\s*", re.IGNORECASE)


@cache
def _labels(names: tuple[str, ...]) -> re.Pattern[str]:
    """Return a pattern for '1. "verbal": ', '**Verdict** - ', '### Verbal' or '| verbal | '."""
    return re.compile(
        rf"""(?:^[ \t>|]*(?:\#+[ \t]*)?
              (?:["“'*_`(]*(?:\d{{1,2}}|[a-z]|[ivx]{{1,4}})(?:[.)]+|\ufe0f?\u20e3|[ \t]*\|)["”'*_`]*
              |[-*•+])?[ \t]*
             # another item on the same line
             |(?<=[\s;])\d{{1,2}}[.)][ \t]*|(?<=[.!?,;|"”][ \t])(?=[^.!?,;:\n]{{1,40}}[:：]))
        ["“'*_`\[(]*(?:(?:for|the|my|final|overall)[ \t]+)*(?P<name>{_known(names)})["”'*_`\])]*
        (?:[ \t_]+(?:negat\w+|hedg\w+|variant|type|form|score))?
        (?:[ \t]*(?:\([^()\n]{{0,80}}\)|["“][^"“”\n]{{0,80}}["”](?=[ \t]*[:：])))?["”'*_`]*
        (?:(?P<then>[ \t]*(?:[:：=|–—→⇒]|[-=]>)|[ \t]+-(?=[ \t])|\t|(?<=[)\]])(?=[ \t]+\S))|[ \t]*$)
        (?:["”'*_`]+(?=\s|$))?[ \t]*
        """,
        re.VERBOSE | re.MULTILINE | re.IGNORECASE,
    )


_GAP = re.compile(r"[ \t]*\n[ \t]*\n")


def _from_lines(text: str, names: Mapping[str, str]) -> list[tuple[str, Any]]:
    """Return the parts of a list. A part is one line: that of its label, or the one below it."""
    labels = list(_labels(tuple(names)).finditer(text))
    found: list[tuple[str, Any]] = []
    spaced = False
    for label, following in zip_longest(labels, labels[1:]):
        block = text[label.end() : following.start() if following else None]
        # Below '### Verbal', a blank line is nothing special. What comes after one below
        # '4. lexical:', the last label, is a closing remark, unless all texts are set like this.
        is_far = bool(label["then"] and _GAP.match(block))
        if is_far and not (following or spaced):
            block = ""
        line, _, below = block.strip().partition("\n")
        spaced = spaced or bool(is_far and line)
        # The beginning of a sentence that goes on in the next line is no part.
        is_cut = below.lstrip(" \t")[:1].islower() and line.rstrip()[-1:] not in '.!?…"”'
        if line or label["then"]:
            found.append((names[label["name"].lower()], [] if is_cut else line.strip(" \t|")))
    return found


# -- reasoning ------------------------------------------------------------------------------------

_THOUGHT = (
    r"(?:\w+:)?(?:ant|inner_|internal_|chain_of_|self_)?(?:think(?:ing)?|thoughts?|reason(?:ing)?|"
    r"analysis|reflections?|scratch_?pad|monologue|plan(?:ning)?|drafts?|brainstorm(?:ing)?|"
    r"critique|cot)(?:_process|_steps?)?"
)
_ANSWER = r"(?:final_)?(?:answer|response|output)"
_BEGIN, _END = r"(?:<|&lt;)\|?\s*", r"\s*\|?(?:>|&gt;)"
_OPEN = rf"""(?:{_BEGIN}(?:begin_of_|start_)?{_THOUGHT}(?:\s[^<>]{{0,80}})?{_END}
    |\[think(?:ing)?\]|◁think▷|<\|im_start\|>\s*think\b|<\|channel>\s*(?:thought|analysis)\b
    |\A(?:assistant)?analysis(?-i:(?=[A-Z])|[ \t]*\n))"""
# Also where the answer begins, since what stands before it is a draft.
_CLOSE = rf"""(?:{_BEGIN}(?:/\s*|end_of_|end_){_THOUGHT}{_END}|{_BEGIN}{_THOUGHT}\s*/{_END}
    |\[/think(?:ing)?\]|◁/think▷|<channel\|>|<\|im_start\|>\s*answer\b|assistantfinal
    |{_BEGIN}(?:{_ANSWER}|begin_of_solution|start_response){_END}
    |^[ \t\#*_]*final\ (?:answers?|list|version|output)\b[^\w\n]*$)"""
_STOP = rf"""(?:<\|(?:return|end|im_end|eot|eot_id|endoftext|end_of_text)\|>|<end_of_turn>|</s>
    |<\|end_of_solution\|>|<\|end_response\|>|{_BEGIN}/\s*{_ANSWER}{_END})"""
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
