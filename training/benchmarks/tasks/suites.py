"""Test suites in SemAntoNeg's manner out of one's own sentences.

Four forms of a sentence: itself, its polarity turned (a negator removed or put in), its opposite by
an antonym, and both at once. Each in turn is the input, the three others are its candidates.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from pathlib import Path

from sqlalchemy.orm import Session

from curation.release.freezing import get_release
from db.errors import HedgerowError
from db.models import Split
from training.benchmarks.data.file_reading import FileRecord, at_least_one, records
from training.benchmarks.tasks.semantoneg import Entry, SemAntoNeg
from training.data.families import training_families
from training.evaluation.semantoneg_questions import Forms, forms_of
from training.recipe.schema import Recipe

EXPECTS = "a table or JSON Lines with original, negation, antonym and both"


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


def from_forms(path: Path) -> SemAntoNeg | None:
    """The suite of a file with four forms a line; None for any other file.

    Raises:
        HedgerowError: as `read_forms`, of a file with such columns.
    """
    try:
        first = next(records(path, expects=EXPECTS), None)
    except HedgerowError:
        return None
    if first is None or not {"original", "antonym"} <= first.values.keys():
        return None
    return suite(read_forms(path))


def _forms(record: FileRecord) -> Forms:
    forms = Forms(*(record.text(name) for name in Forms._fields))
    if len(set(forms)) < len(forms):
        raise record.wrong("four different forms", f"{len(set(forms))} different ones")
    return forms


def of_release(session: Session, number: int | None, *, split: Split = Split.TEST) -> SemAntoNeg:
    """The suite of a release's sentences that have all four forms, by anchor uid.

    Args:
        number: of the release; None for the newest.
        split: the test split holds what a model trained on the release has not seen.

    Raises:
        HedgerowError: no such release, or no such sentences in the split.
    """
    key = get_release(session, number).id
    families = training_families(session, key, split=split, recipe=Recipe())
    return suite(forms_of(families))


def written(made: SemAntoNeg) -> bytes:
    """A suite in SemAntoNeg's own format, which `SemAntoNeg.read` reads."""
    lines = [
        json.dumps(
            {"idx": number, "label": e.label, "input": e.input, "sentences": list(e.sentences)},
            ensure_ascii=False,
        )
        for number, e in enumerate(made.items)
    ]
    return ("\n".join(lines) + "\n").encode()
