"""What a text without a telling name contains: a table, marked-up sentences, or one per line."""

import re
from collections.abc import Iterable, Iterator
from itertools import chain, islice

from curation.tables.delimited import likely_delimiter
from db.errors import HedgerowError

INSPECTED = 1_000
"""Lines that show what a text contains."""

TEXT, LISTED, LABELLED, MARKED_UP = "text", "listed", "labelled", "marked up"
"""What a text contains that is no table: a sentence per line, with numbers or bullets, with
fastText's labels, or in the comments of a format with one token per line (WebAnno, CoNLL-U)."""

MARKERS_REMOVED = "Removed the numbers or bullets before the sentences."

WORDS_NOT_USED = (
    "Only the sentences in the comments were read, as in WebAnno TSV (INCEpTION) and CoNLL-U; the "
    "annotations of their words are not used."
)

SENTENCE_NAMES = (
    "anchor",
    "text",
    "sentence",
    "premise",
    "sentence1",
    "sentence_a",
    "sent",
    "claim",
    "caption",
    "utterance",
    "statement",
    "content",
    "sentences",
    "anchors",
    "displayed_text",
)
"""Names of the sentence column, the likeliest first; case is ignored."""

GENRE_NAMES = ("genre", "domain", "register", "category", "topic")
ATTRIBUTE_NAMES = {
    "genre": GENRE_NAMES,
    "language": ("language", "lang", "language_code"),
    "split": ("split", "semeval_set", "subset", "partition", "set"),
    "document_id": (
        *("document_id", "document", "doc_id", "docid", "doc", "article_id", "passage_id"),
        *("passageid", "paragraph_id", "story_id", "thread_id"),
    ),
    "row_id": (
        *("row_id", "pair_id", "pairid", "sentence_id", "sent_id", "example_id", "item_id"),
        *("guid", "id", "idx", "index"),
    ),
}
"""Attribute of an anchor → names of its column, the likeliest first."""

AMBIGUOUS = {"domain", "register", "category", "topic", "set", "subset", "partition"}
AMBIGUOUS |= {"document", "doc", "guid", "id", "idx", "index"}
"""Those that also mean other things, so that the values must fit."""

HYPOTHESIS_NAMES = ("hypothesis", "hypo", "sentence2", "sentence_b", "sent2")
LABEL_NAMES = (
    "gold_label",
    "label",
    "labels",
    "entailment_label",
    "entailment_judgment",
    "entailment_ab",
    "choice",
    "annotation",
    "class",
)
_SHOW_A_HEADER = {*SENTENCE_NAMES, *GENRE_NAMES, *HYPOTHESIS_NAMES, "gold_label", "label"}
_SHOW_A_HEADER |= {"variant", "negated", "hedged"}

_LABELS = re.compile(r"((?:__label__\S+\s+)+)(\S.*)")
_NUMBERED = re.compile(r"(\d{1,2})\s+([^\t]*\S)\s*")
_MARKER = re.compile(r"\s*(?:\(?\d{1,3}[.)]|[-*•–·▪◦])\s+(?=\S)")
_MARKED = re.compile(r"#\s*[Tt]ext\s*=\s?(.*)")
_TAG = re.compile(r"(O|_|\*+|[BIESLU]-\S+|[A-Z]{2,4}\$?)\s*")
_NUMBER = re.compile(r"\s*\d+(\.\d+)?\s*")

Rows = Iterator[tuple[int, dict[str, str]]]


def contents(lines: Iterable[str], name: str) -> str:
    """The delimiter of the table that a text contains, or ``TEXT`` and the like.

    Raises:
        HedgerowError: it has one token per line, without the sentences.
    """
    head = [line.rstrip("\r\n") for line in islice(lines, INSPECTED)]
    filled = [line for line in head if line.strip()] or [""]
    if any(map(_MARKED.match, filled)) and not filled[0].startswith("{"):
        return MARKED_UP
    if _is_labelled(filled):
        return LABELLED
    _check_no_tokens(head, filled, name)
    if filled[0].startswith(("sep=", '"sep=')):
        return ","
    tabs = {line.count("\t") for line in filled}
    if len(filled) > 1 and 0 not in tabs and len(tabs) == 1:
        return "\t"
    delimiter = likely_delimiter(filled[0])
    names = {cell.strip(" \"'").casefold() for cell in filled[0].split(delimiter)}
    is_table = len(names) > 1 and (_SHOW_A_HEADER & names or _has_numbers(filled, delimiter))
    if is_table:
        return delimiter
    markers = sum(bool(_MARKER.match(line)) for line in filled)
    return LISTED if 2 * markers >= len(filled) > 1 else TEXT


def _is_labelled(filled: list[str]) -> bool:
    """Whether each line begins with fastText's labels or with one of a few numbers."""
    if all(map(_LABELS.match, filled)):
        return True
    numbered = [found[1] for line in filled if (found := _NUMBERED.fullmatch(line))]
    few = len(set(numbered)) <= max(3, len(filled) // 4)
    return len(numbered) == len(filled) > 3 and few


def _has_numbers(filled: list[str], delimiter: str) -> bool:
    """Whether all lines have as many fields, and one of these is always a number."""
    fields = [line.split(delimiter) for line in filled]
    if len(fields) < 3 or len({len(one) for one in fields}) > 1:
        return False
    return any(all(map(_NUMBER.fullmatch, column)) for column in zip(*fields[1:], strict=True))


def _check_no_tokens(head: list[str], filled: list[str], name: str) -> None:
    """Refuse CoNLL's formats: blocks of lines, each of them a token and its tags."""
    fields = [re.split(r"[ \t]+", line.strip()) for line in filled]
    is_even = len({len(one) for one in fields}) == 1 < len(fields[0])
    tags = sum(bool(_TAG.fullmatch(one[-1])) for one in fields)
    if is_even and len(filled) < len(head) and tags > len(filled) / 2:
        raise HedgerowError(
            f"{name} looks like CoNLL, with one token per line; write one sentence per line."
        )


def sentences(lines: Iterable[str]) -> Rows:
    """One sentence per line; blank lines are skipped, as is a header above them."""
    for number, line in enumerate(lines, 1):
        if line.strip() and not (number == 1 and line.strip().casefold() in SENTENCE_NAMES):
            yield number, {"text": line.rstrip("\r\n")}


def listed(lines: Iterable[str]) -> Rows:
    """One sentence per line, without its number or bullet."""
    return sentences(_MARKER.sub("", line) for line in lines)


def labelled(lines: Iterable[str]) -> Rows:
    """A label, or several, and a text on each line."""
    for number, line in enumerate(lines, 1):
        if found := _LABELS.match(line) or _NUMBERED.match(line):
            yield number, {"label": "; ".join(found[1].split()), "text": found[2].rstrip("\r\n")}
        elif line.strip():
            yield number, {"text": line.rstrip("\r\n")}


def marked_up(lines: Iterable[str]) -> Rows:
    """The sentences in comments such as ``#Text=``, which can continue on the next line."""
    begin, parts = 0, list[str]()
    for number, line in enumerate(chain(lines, [""]), 1):
        if found := _MARKED.match(line):
            begin = begin if parts else number
            parts.append(found[1].strip())
        elif parts:
            yield begin, {"text": " ".join(parts)}
            parts = []
