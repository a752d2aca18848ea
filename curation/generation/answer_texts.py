"""Finds the sentence that a model wrote among what it wrote around it.

What the anchor has, its variants may have as well: a bracket, a dash or a quotation mark is only
removed if the anchor has none in that place.
"""

import html
import re
from collections.abc import Iterator
from enum import StrEnum
from typing import Any, NamedTuple

from curation.content_uids import canonical, words_of
from curation.editing.variants import MAX_TEXT
from db.errors import HedgerowError

SEARCHED = 2 * MAX_TEXT
"""Maximum characters of a text in which a variant is searched for."""

PASSES = 4
"""Maximum layers around a variant, such as quotation marks in emphasis behind an arrow."""

SIMILAR = 0.6
"""Minimum share of the anchor's words in a sentence that says something about its claim."""


class Removed(StrEnum):
    """What can be removed from an answer because nobody asked for it."""

    REASONING = "reasoning"
    OTHER_TEXT = "other text"
    EXPLANATION = "explanation"
    ANCHOR = "repeated anchor"
    MARKUP = "Markdown"
    QUOTES = "quotation marks"
    PLACEHOLDER = "placeholder"

    @property
    def note(self) -> str:
        """How it is noted with an answer, among its problems."""
        return f"{self} removed"


class Text(NamedTuple):
    """A canonical text, '' if it can't be used, and what was removed from around it."""

    text: str
    removed: tuple[Removed, ...] = ()


def usable(text: str) -> str:
    """Return the canonical text, or '' if it can't be a variant."""
    try:
        found = canonical(text)
    except HedgerowError:  # control characters, so not a sentence
        return ""
    return found if len(found) <= MAX_TEXT else ""


def text_of(value: Any, *, anchor: str, cue: str = "") -> Text:
    """Return the variant in a value of JSON or in a line.

    Args:
        anchor: the anchor's text.
        cue: the requested cue, which is not removed with an explanation.
    """
    if value is None:
        return Text("", (Removed.PLACEHOLDER,))
    if not isinstance(value, str) or len(value) > SEARCHED:
        return Text("")
    written = " ".join(value.strip().split("\n\n")[0].split())
    text = " ".join(html.unescape(written).split())
    removed = [Removed.MARKUP] if text != written else []
    for kind, shorter in (one for _ in range(PASSES) for one in _layers(text, anchor, cue)):
        if shorter != text:
            text = shorter
            removed.append(kind)
    nothing = _NOTHING.fullmatch(text)
    quoted = rf"""["'“‘]{re.escape(anchor.rstrip(".!?… "))}"""  # I can't negate “It is safe”.
    is_own = nothing and is_about(anchor, nothing["core"]) and not re.search(quoted, text)
    if not words_of(text) or (nothing and not is_own):
        return Text("", (*removed, Removed.PLACEHOLDER))
    is_sentence = not _SYNTAX.search(text) or _SYNTAX.search(anchor)
    return Text(usable(text) if is_sentence else "", tuple(removed))


# -- markup and labels ----------------------------------------------------------------------------

_MARKUP = re.compile(
    r"""~~[^~]+~~|<(del|s)\b[^<>]{0,80}>.*?</\1>|\*+|`+|~~|\\(?=[^\w\s]|$)
    |(?<!\w)_+|_+(?!\w)|</?(?:b|i|u|p|em|br|ins|span|mark|strong)\b[^<>]{0,80}>
    |<!--.*?-->|^(?:[-–—•+>:\#✅✓✔☑👉🔹▪]+\ufe0f?\s+)+|\[/?INST\]""",
    re.VERBOSE | re.IGNORECASE,
)
_LABEL = re.compile(
    r"""^(?:(?:sure|certainly|of\ course)!\s*)?(?:(?:here(?:['’]s|\ is)\ )?(?:(?:the|a|my|one)\ )?
    (?:(?:modified|new|negated|hedged|rewritten|paraphrased|revised|changed|original|output)
    (?:\ (?:text|sentence|version|variant|anchor))?
    |(?:(?:verbal|absolute|affixal|lexical|word|phrase)\ )?
     (?:variant|negation|hedge|paraphrase|answer|result|sentence|text|anchor|assistant))
    (?:\ \d|\ ?\([^()]{0,40}\))?(?:\ (?:is|would\ be|reads))?\s*[:：]\s*
    |[(\[](?:verbal|absolute|affixal|lexical|word|phrase|negated|hedged|original)[^()\[\]]*[)\]]\s+
    |(?<=!)\s+)""",
    re.VERBOSE | re.IGNORECASE,
)


# -- explanations ---------------------------------------------------------------------------------

_TERM = (
    r"(?:\b(?:negat|hedg|adverb|adjectiv|prefix|suffix|affix|antonym|lexical|paraphras|unchang)\w*"
    r"|\b(?:verbs?|verbal|nouns?|cues?|original|anchor|impossible|not possible)\b|[→⇒]|[-=]>)"
)
_DEED = r"(?:replac|chang|add|insert|remov|swap|turn)(?:e?[sd]|ing)\b|us(?:es|ed|ing)\b|opposite\b"
_ABOUT = rf"(?:{_DEED}|(?:verbal|absolute|affixal|lexical|word|phrase)(?=[)\]])|[^()\[\]]*{_TERM})"
_ENDED = r"(?:(?<=[.!?…])|(?<=[.!?…][\"”'’»)]))"
_EXPLANATIONS = tuple(
    re.compile(pattern, re.IGNORECASE)
    for pattern in (
        # It is not safe. (This negates the verb.)
        rf"{_ENDED}\s*(?:\([^()]*(?:\([^()]*\)[^()]*)*\)|\[[^\[\]]*\])$",
        # It is not safe (verb negated).
        rf"\s*[(\[]{_ABOUT}[^()\[\]]*[)\]][.!]?$",
        # It is not safe. Explanation: the verb is negated.
        rf"(?:{_ENDED}\s*|\s[–—-]+\s*|\s*[(\[])\W?(?:explanation|note|rationale|reason(?:ing)?|comment|"
        r"justification|changes?|cue|n\.?b\.?)(?: [\w ]{0,20})?\s*[:：].*$",
        # It is not safe. // verb negated
        rf"{_ENDED}\s*(?://|[#←✓✔✅]|<-).*$",
        # It is not safe. – Here the verb is negated.
        rf"{_ENDED}\s*[–—-]+\s+(?-i:[A-Z]).*$",
        # It is not safe – negates the verb.
        rf"(?:\s*—\s*|\s+[–-]+\s+)(?:{_DEED}|(?:(?!\s[–-]+\s|—).)*?{_TERM})(?:(?!\s[–-]+\s|—).)*$",
        # It is not safe. This negates the verb.
        rf"{_ENDED}\s+(?:(?:This|These|Here|In this|The (?:word|\w*fix|cue))\b|[\"“'‘])"
        rf"[^.!?]*{_TERM}.*$",
    )
)
_MORE = r"(?:me\b|any|more|another|further|additional|other|different|a different|help)"
_REMARK = re.compile(
    rf"(?:{_ENDED}\s+|^)(?:(?:please )?let me know (?:if|whether|how|in case|should|what you)"
    r"|(?:please )?feel free to|is there anything else|(?:i )?hope (?:this|these|that|it) "
    r"(?:help|work|meet|is (?:what|help|useful)|are (?:what|help|useful))"
    r"|(?:would you like|do you want|do you need|if you(?:'d like| would like| need| want| have)) "
    rf"{_MORE}).*$",
    re.IGNORECASE,
)


def _cut(kind: Removed, pattern: re.Pattern[str], text: str, anchor: str, cue: str) -> str:
    """Return a text without what a pattern finds in it, unless it finds something in the anchor."""
    found = pattern.search(text)
    if found is None or pattern.search(anchor):
        return text
    if kind is not Removed.EXPLANATION:
        return " ".join(pattern.sub("", text).split())
    rest = text[: found.start()].rstrip(" –—-")
    if not _is_explained(rest, found[0], anchor, cue):
        return text
    return rest + (text[-1] if text[-1] in ".!?" and rest[-1] not in ".!?…\"”'’»" else "")


def _is_explained(text: str, cut: str, anchor: str, cue: str) -> bool:
    """Whether a text is a variant without the cut, and the cut is not its only hedge."""
    words = words_of(text)
    is_cue = cue and cue.casefold() in cut.casefold() and cue.casefold() not in text.casefold()
    has_term = re.search(_TERM, cut, re.IGNORECASE)
    return bool(words and not is_cue and (has_term or words != words_of(anchor)))


# -- the anchor and quotation marks ---------------------------------------------------------------

_ARROWS = r"(?:[→⇒➔➜⟶↦►➡]\ufe0f?|[-=]{1,2}>)"
_ARROW = re.compile(rf"\s*{_ARROWS}\s*")
_BETWEEN = re.compile(r"""(?:[.!?…]["”»’']?|["”»’'])?\s*(?:[/|:;–—-]+|becomes\b)?\s*""")


def _without_anchor(text: str, anchor: str) -> str:
    """Return what comes after or before a repeated anchor, if it is about the same claim."""
    before, *after = [text] if _ARROW.search(anchor) else _ARROW.split(text)
    if after and words_of(before) == words_of(anchor):
        return after[0]
    bare, opened = anchor.rstrip(".!?… ").casefold(), text.lstrip("\"“„«‘'")
    rest = opened[len(bare) :] if opened[: len(bare)].casefold() == bare else ""
    between = _BETWEEN.match(rest)
    if between and between[0].strip() and is_about(anchor, rest[between.end() :]):
        return rest[between.end() :]
    head = text[: -len(anchor)].rstrip(" /|–—-")
    is_end = head.endswith((".", "!", "?")) and text[-len(anchor) :].casefold() == anchor.casefold()
    return head if is_end and is_about(anchor, head) else text


def is_about(anchor: str, text: str) -> bool:
    """Whether a text has most of the anchor's words."""
    words = set(words_of(anchor))
    return len(words & set(words_of(text))) >= SIMILAR * len(words) > 0


def _cell(text: str, anchor: str) -> str:
    """Return the cell of a table's row that is about the anchor's claim, if it is a single one."""
    cells = [cell.strip() for cell in text.split("|") if cell.strip()]
    about = [c for c in cells if is_about(anchor, c) and words_of(c) != words_of(anchor)]
    found = cells if len(cells) == 1 else about
    return found[0] if len(found) == 1 and "|" not in anchor else text


_PAIRS = {
    '"': '"',
    "“": "”“",
    "„": "“”",
    "«": "»",
    "»": "«",
    "‹": "›",
    "「": "」",
    "'": "'’",
    "‘": "’",
    "‚": "‘’",
    "(": ")",
}
# '"Stop," he said, "now."': the first mark inside closes a quotation, and another one opens later.
_TWO_QUOTATIONS = re.compile(
    r"""(?:[^"“”„«»‹›'‘’]|(?<=\w)['’](?=\w))*(?<=\S)["”»›'’](?!\w).*(?<!\w)["“„«‹'‘](?=\w)"""
)


def _unquoted(text: str, anchor: str) -> str:
    """Remove quotation marks around the whole text, unless the anchor has them."""
    inner = _inner(text)
    return text if inner is None or _inner(anchor) is not None else inner


def _inner(text: str) -> str | None:
    """Return the text between the quotation marks around it; None if there are none."""
    whole = text.rstrip(" ,;}]")  # what is left of JSON
    end = whole[-1:] if whole[-1:] in ".!?" else ""
    whole = whole[: len(whole) - len(end)]
    inner = whole[1:-1].replace('\\"', '"').strip()
    if not inner or whole[-1] not in _PAIRS.get(whole[0], "") or _TWO_QUOTATIONS.match(inner):
        return None
    if whole[0] == "(" and set(inner) & set("()"):  # (Perhaps) it is safe (enough).
        return None
    return inner if inner[-1] in ".!?…" else inner + end


# -- what is no variant ---------------------------------------------------------------------------

_NOTHING = re.compile(
    rf"""\W*(?P<core>
    no|nothing|unchanged|omitted|skipped|same|x|tb[da]|todo|(?:none|null|nil|impossible)(?:\s*[(\[–—:].*)?
    |(?:n\s?[./]?\s?a
       |(?:there\ is\ )?(?:none?|not?)
        (?:\ (?:such|suitable|direct|natural|valid|good|common|standard|single|is
           |affixal|lexical|verbal|absolute|word))*
        (?:\ (?:variant|negation|negator|hedge|antonym|affix|prefix|form|option|change)
           (?=\W*$|\ (?:is|was|could|poss|avail|appl|exists|found|need|req|prov|giv|for|in|with))
          |(?=\ (?:is|was|could|poss|avail|appl|exists|found|need|req|prov|giv)))
        (?:\ (?:is|was|could\ be))?
        (?:\ (?:possible|available|applicable|exists|found|needed|required|provided|given))?
       |(?:cannot|can't|could\ not)\ be\ (?:negated|hedged|done|formed|made|expressed)
       |(?:(?:the\ )?same\ as|see|as)\ (?:above|before|\#?\d|(?:the\ )?(?:anchor|original|text))
     )(?:\s*[(\[|–—:.,;-].*|\ (?:for|because|since|as|here|in|with|without)\b.*)?
    |(?:explanation|rationale|justification):.*
    |(?:(?:i(?:['’]m|\ am)\ )?(?:sorry|unable|not\ able)|as\ an\ ai
       |i\ (?:can(?:no|['’])t|won['’]t)\ (?:do|help|assist|comply|write|create|provide|negate))\b.*
    |(?:insert|your|enter)\b.*\bhere
    |(?:this|there|no|not|cannot)\b.*{_TERM}.*
    )\W*""",
    re.VERBOSE | re.IGNORECASE,
)
_SYNTAX = re.compile(
    rf"""</?[a-z|][^<>]*>|<\||```|^[{{]|^\[\s*["'{{\[]|[}}\]"'.!?]\s*[,}}]\s*$|\]\s*\]\s*$
    |"\s*:\s*["\[{{\d]|\\[a-z]+\{{|{_ARROWS}
    |[^\W\d]{{2}}/[^\W\d]{{2}}|\s/\s|\||\[[^\W\d][^\[\]]*\]
    |[.!?]["”'’»]?\s*(?:;|(?-i:or|OR|Or:)\s|Alternatively\b)""",
    re.VERBOSE | re.IGNORECASE,
)
"""Tags, JSON, arrows, and what separates several variants; which of them is meant is not known."""

_PATTERNS = (
    (Removed.MARKUP, _MARKUP),
    (Removed.OTHER_TEXT, _LABEL),
    (Removed.OTHER_TEXT, _REMARK),
    *((Removed.EXPLANATION, pattern) for pattern in _EXPLANATIONS),
)


def _layers(text: str, anchor: str, cue: str) -> Iterator[tuple[Removed, str]]:
    """Yield what is left of a text after each kind of removal."""
    text = _cell(text, anchor)
    yield Removed.MARKUP, text
    for kind, pattern in _PATTERNS:
        text = _cut(kind, pattern, text, anchor, cue)
        yield kind, text
    text = _without_anchor(text, anchor)
    yield Removed.ANCHOR, text
    yield Removed.QUOTES, _unquoted(text, anchor)
