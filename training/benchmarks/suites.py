"""Test suites in SemAntoNeg's manner out of one's own sentences.

Four forms of a sentence: itself, its polarity turned (a negator removed or put in), its opposite by
an antonym, and both at once. Each in turn is the input, the three others are its candidates.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import NamedTuple

from db.errors import HedgerowError
from training.benchmarks.reading import Record, at_least_one, records
from training.benchmarks.semantoneg import Entry, SemAntoNeg
from training.losses import Family
from training.questions import ANTONYM, BOTH, NEGATION

EXPECTS = "a table or JSON Lines with original, negation, antonym and both"


class Forms(NamedTuple):
    """The four forms of a sentence.

    Attributes:
        negation: the original with the negator removed, or with one put in.
        antonym: the original with a word exchanged for its opposite.
        both: both at once, which says the same as the original.
    """

    original: str
    negation: str
    antonym: str
    both: str


def entries(forms: Iterable[Forms]) -> list[Entry]:
    """Four entries for each, whose candidates change the antonym, the polarity, and both."""
    found: list[Entry] = []
    for original, negation, antonym, both in forms:
        for input_, *candidates in (
            (original, antonym, negation, both),
            (negation, both, original, antonym),
            (antonym, original, both, negation),
            (both, negation, antonym, original),
        ):
            first, second, third = candidates
            found.append(Entry(str(len(found)), input_, (first, second, third)))
    return found


def suite(forms: Sequence[Forms]) -> SemAntoNeg:
    """The suite of these sentences.

    Raises:
        HedgerowError: there is none.
    """
    if not forms:
        raise HedgerowError(
            "Expected sentences with all four forms, found none; accept negated antonyms beside "
            "verbal and lexical negations, or name a file of them."
        )
    return SemAntoNeg(entries(forms))


def read_forms(path: Path) -> list[Forms]:
    """Four forms a line.

    Raises:
        HedgerowError: the file can't be read, a form is missing, or two of a line are the same.
    """
    found = [_forms(record) for record in records(path, expects=EXPECTS)]
    return at_least_one(found, path, expects=EXPECTS)


def _forms(record: Record) -> Forms:
    forms = Forms(*(record.text(name) for name in Forms._fields))
    if len(set(forms)) < len(forms):
        raise record.wrong("four different forms", f"{len(set(forms))} different ones")
    return forms


def forms_of(families: Iterable[Family]) -> list[Forms]:
    """The forms of each family that has them all; the first variant of a type counts."""
    found = []
    for anchor, *variants in families:
        texts: dict[str, str] = {}
        for member in variants:
            texts.setdefault(member.type_id, member.text)
        if {NEGATION, ANTONYM, BOTH} <= texts.keys():
            forms = Forms(anchor.text, texts[NEGATION], texts[ANTONYM], texts[BOTH])
            if len(set(forms)) == len(forms):
                found.append(forms)
    return found


def write_suite(made: SemAntoNeg, path: Path) -> None:
    """Write a suite in SemAntoNeg's own format, which `SemAntoNeg.read` reads."""
    lines = [
        json.dumps(
            {"idx": number, "label": e.label, "input": e.input, "sentences": list(e.sentences)},
            ensure_ascii=False,
        )
        for number, e in enumerate(made.items)
    ]
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")
