"""Times, differences and untrusted texts on pages; the only code that emits HTML."""

import re
from collections.abc import Iterable, Mapping, Sequence
from datetime import UTC, date, datetime, time
from difflib import SequenceMatcher
from functools import cache
from itertools import groupby
from pathlib import Path
from urllib.parse import quote
from zoneinfo import ZoneInfo

import streamlit as st
from markupsafe import Markup

from curation.diagnostics.surface import TextMark
from curation.formatting import escape
from pages.components.shared.charts.palette import custom_properties

_HIDDEN = "\N{WORD JOINER}"


def plain(text: object) -> str:
    """The text on one line, escaped so that a label or tooltip shows it literally.

    Streamlit looks for icons and emoji (``:smile:``) after Markdown has removed the escapes, so an
    invisible character after the colon prevents that.
    """
    escaped = re.sub(r"^(\d*)([-+.)])", r"\1\\\2", escape(text))  # otherwise a list item
    return re.sub(r":(?=[\w+\\-])", f":{_HIDDEN}", escaped)


# -- Times in the reader's time zone. The database stores them in UTC -----------------------------


def local(moment: datetime) -> datetime:
    """The time in the browser's time zone; in UTC if that is unknown."""
    try:
        zone = ZoneInfo(st.context.timezone or "UTC")
    except (KeyError, ValueError, OSError):
        zone = ZoneInfo("UTC")
    return moment.astimezone(zone)


def midnight(day: date | None = None) -> datetime:
    """The start of a day in the browser's time zone, by default of today, as a time in UTC."""
    now = local(datetime.now(UTC))
    return datetime.combine(day or now, time(), now.tzinfo).astimezone(UTC)


# -- diff -----------------------------------------------------------------------------------------


_WORD = re.compile(r"\w+(?:['’]\w+)*|[^\w\s]", re.UNICODE)

MAX_WORDS = 400
"""Longer texts are shown without a diff: it takes quadratic time and nobody would read it."""

MIN_LIKENESS = 0.25
"""Minimum likeness of a longer variant to its anchor, as difflib's ratio of their words (0 to 1).
Below it, the variant is not an edit of its anchor but, for example, a passage, and a diff would
mark
nearly every word. A shorter variant may have dropped most of its anchor, which a diff must show."""

_MARK_TITLES = {"cue": "cue", "negator": "negator", "affix": "negative affix"}


def diff(anchor: str, text: str, marks: Sequence[TextMark] = ()) -> tuple[Markup, Markup]:
    """Mark the words that the variant drops from the anchor and those that it adds.

    Args:
        marks: spans of ``text`` to highlight.

    Returns:
        Escaped HTML of the anchor and of the variant. Words that differ only in case count as
        equal. A longer variant with little in common with its anchor has no diff.
    """
    old, new = _words(anchor), _words(text)
    dropped: set[int] = set()
    added: set[int] = set()
    if has_diff(anchor, text):
        for tag, i1, i2, j1, j2 in _matcher(old, new).get_opcodes():
            if tag != "equal":
                dropped |= _characters(old[i1:i2], anchor)
                added |= _characters(new[j1:j2], text)
    kinds = {i: mark.kind for mark in marks for i in range(mark.start, mark.end)}
    return (
        _sentence(anchor, dropped, {}, tag="del"),
        _sentence(text, added, kinds, tag="ins"),
    )


def has_diff(anchor: str, text: str) -> bool:
    """Whether ``diff`` marks differences: neither text is too long, and one is an edit of the
    other."""
    old, new = _words(anchor), _words(text)
    if max(len(old), len(new)) > MAX_WORDS:
        return False
    return len(new) <= len(old) or _matcher(old, new).ratio() >= MIN_LIKENESS


def likeness(one: str, other: str) -> float:
    """difflib's ratio of the words of two texts (0 to 1); 0 if one has over ``MAX_WORDS`` words."""
    first, second = _words(one), _words(other)
    if max(len(first), len(second)) > MAX_WORDS:
        return 0.0
    return _matcher(first, second).ratio()


def _words(text: str) -> list[re.Match[str]]:
    return list(_WORD.finditer(text))


def _matcher(old: Sequence[re.Match[str]], new: Sequence[re.Match[str]]) -> SequenceMatcher[str]:
    return SequenceMatcher(
        None, [m[0].casefold() for m in old], [m[0].casefold() for m in new], autojunk=False
    )


def _characters(words: Sequence[re.Match[str]], text: str) -> set[int]:
    """The character offsets of adjacent words and of the white space between them."""
    if not words:
        return set()
    return set(range(words[0].start(), words[-1].end()))


def _sentence(text: str, changed: set[int], kinds: Mapping[int, str], *, tag: str) -> Markup:
    parts = []
    runs = groupby(range(len(text)), key=lambda i: (i in changed, kinds.get(i)))
    for (is_changed, kind), indices in runs:
        part: Markup = Markup("{}").format("".join(text[i] for i in indices))
        if kind:
            part = Markup('<mark class="hg-{}" title="{}">{}</mark>').format(
                kind, _MARK_TITLES[kind], part
            )
        if is_changed:
            part = Markup("<{0}>{1}</{0}>").format(Markup(tag), part)
        parts.append(part)
    return Markup('<span class="hg-text" dir="auto">{}</span>').format(join(parts))


def join(parts: Iterable[Markup]) -> Markup:
    """Concatenate the parts."""
    return Markup("").join(parts)


# -- markup ---------------------------------------------------------------------------------------


_COMPONENTS = Path(__file__).parents[1]
_STYLES = (
    "shared/shell/style.css",
    "review/review.css",
    "review/adjudicate.css",
    "shared/shell/theme.css",
)


def emit(markup: Markup) -> None:
    """Emit markup. A plain string is refused, because it may not be escaped.

    Raises:
        TypeError: for anything but ``Markup``.
    """
    if not isinstance(markup, Markup):
        raise TypeError("expected Markup, found a string that may contain unescaped text")
    st.html(markup)


@cache
def style_sheet(scheme: str | None = None) -> Markup:
    """The colours of the palette and our style rules.

    Args:
        scheme: 'light' or 'dark'. Streamlit sets it only on the app's element, but draws dialogs
            and menus outside it.
    """
    # These files are ours and contain no untrusted text.
    sheets = ((_COMPONENTS / name).read_text("utf-8") for name in _STYLES)
    of_root = [f":root {{ color-scheme: {scheme}; }}"] if scheme in ("light", "dark") else []
    rules = Markup("\n".join([*of_root, custom_properties(), *sheets]))
    return Markup("<style>{}</style>").format(rules)


def emit_style() -> None:
    """Emit the style sheet of our markup. Call it once per page."""
    st.html(style_sheet(st.context.theme.type))


def script(*names: str) -> str:
    """The JavaScript of a component, from our own files in this order."""
    return "\n".join((_COMPONENTS / name).read_text("utf-8") for name in names)


def remember(cookie: str, value: str) -> None:
    """Store a value in this browser for a year, as a cookie that is not sent to other sites."""
    # Percent-encoding removes all characters with a meaning in scripts or cookies.
    text = f"{cookie}={quote(value, safe='')}; path=/; max-age=31536000; SameSite=Strict"
    st.html(f"<script>document.cookie = '{text}';</script>", unsafe_allow_javascript=True)
