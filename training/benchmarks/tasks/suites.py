"""Test suites like SemAntoNeg from the user's own sentences.

A sentence has four forms: itself, with a negator added or removed, with an antonym, and with both
changes. Each form is the input of one item, with the three others as candidates.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from sqlalchemy.orm import Session

from curation.release.freezing import get_release
from db.errors import HedgerowError
from db.models import Split
from training.benchmarks.data.file_reading import FileRecord, at_least_one, decoded, records
from training.benchmarks.tasks.semantoneg import Entry, SemAntoNeg
from training.benchmarks.tasks.suite_sentences import Built, Sentence, at_least_one_turned, build
from training.data.families import training_families
from training.evaluation.semantoneg_questions import Forms, forms_of
from training.recipe.schema import Recipe

EXPECTS = "a table or JSON Lines with original, negation, antonym and both"

SENTENCE, PAIR = ("sentence", "text"), (("sentence1", "sent1"), ("sentence2", "sent2"))
"""Accepted names of the column of sentences, and of the two columns of paraphrase pairs."""

EXPECTS_SENTENCES = (
    "one sentence per line, or a table or JSON Lines with the column sentence, or with "
    "sentence1 and sentence2 for paraphrase pairs"
)

_TABLES = frozenset({".json", ".jsonl", ".ndjson", ".csv", ".tsv", ".tab"})


def entries(forms: Iterable[Forms]) -> list[Entry]:
    """Four items for each sentence. Their candidates change the antonym, the polarity, or both."""
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
        HedgerowError: there are no sentences.
    """
    if not forms:
        raise HedgerowError(
            "Expected sentences with all four forms, found none; accept negated antonyms in "
            "addition to verbal and lexical negations, or use a file with the forms."
        )
    return SemAntoNeg(entries(forms))


def read_forms(path: Path) -> list[Forms]:
    """The forms in a file with four forms per line.

    Raises:
        HedgerowError: the file can't be read, a form is missing, or two forms in a line are equal.
    """
    found = [_forms(record) for record in records(path, expects=EXPECTS)]
    return at_least_one(found, path, expects=EXPECTS)


def from_forms(path: Path) -> SemAntoNeg | None:
    """The suite of a file with four forms per line; None for any other file.

    Raises:
        HedgerowError: as in `read_forms`, for a file with such columns.
    """
    try:
        first = next(records(path, expects=EXPECTS), None)
    except HedgerowError:
        return None
    if first is None or not {"original", "antonym"} <= first.values.keys():
        return None
    return suite(read_forms(path))


def built_of(path: Path) -> Built:
    """The forms of the sentences or paraphrase pairs in a file, and the sentences without forms.

    Raises:
        HedgerowError: the file can't be read, has other columns, contains something other than
            plain text, or none of its sentences has forms.
    """
    if path.suffix.lower() in _TABLES:
        entries = list(map(_sentence, records(path, expects=EXPECTS_SENTENCES)))
    else:
        entries = lines_of(decoded(path))
    return at_least_one_turned(build(at_least_one(entries, path, expects=EXPECTS_SENTENCES)))


def lines_of(text: str) -> list[Sentence]:
    """The sentences of a text, one per line. Two sentences separated by a tab are a pair."""
    found: list[Sentence] = []
    for line in filter(None, map(str.strip, text.splitlines())):
        first, _, second = (part.strip() for part in line.partition("\t"))
        found.append((first, second) if first and second else line)
    return found


def _sentence(record: FileRecord) -> Sentence:
    first, second = PAIR
    if any(name in record.values for name in first):
        return record.text(*first), record.text(*second)
    return record.text(*SENTENCE)


def written_forms(forms: Iterable[Forms]) -> bytes:
    """A file with four forms per line, for proofreading; `read_forms` reads it."""
    return _lines(made._asdict() for made in forms)


def _forms(record: FileRecord) -> Forms:
    forms = Forms(*(record.text(name) for name in Forms._fields))
    if len(set(forms)) < len(forms):
        raise record.wrong("four different forms", f"{len(set(forms))} different ones")
    return forms


def release_forms(
    session: Session, number: int | None, *, split: Split = Split.TEST
) -> list[Forms]:
    """The sentences of a release that have all four forms, by anchor uid.

    Args:
        number: the number of the release; None means the newest.
        split: the test split contains only texts that a model trained on the release has not seen.

    Raises:
        HedgerowError: no such release.
    """
    key = get_release(session, number).id
    return forms_of(training_families(session, key, split=split, recipe=Recipe()))


def of_release(session: Session, number: int | None, *, split: Split = Split.TEST) -> SemAntoNeg:
    """The suite of a release's sentences that have all four forms.

    Raises:
        HedgerowError: as in `release_forms`, or there are no such sentences in the split.
    """
    return suite(release_forms(session, number, split=split))


def written(made: SemAntoNeg) -> bytes:
    """A suite in SemAntoNeg's own format, which `SemAntoNeg.read` reads."""
    return _lines(
        {"idx": number, "label": e.label, "input": e.input, "sentences": list(e.sentences)}
        for number, e in enumerate(made.items)
    )


def _lines(values: Iterable[Mapping[str, Any]]) -> bytes:
    lines = [json.dumps(value, ensure_ascii=False) for value in values]
    return ("\n".join(lines) + "\n").encode()
