"""SemAntoNeg, and test suites like it from the user's own sentences or a release."""

import json
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple, Self

import numpy as np
from sqlalchemy.orm import Session

from curation.content_uids import words_of
from curation.release.freezing import get_release
from db.errors import HedgerowError
from db.models import Split
from training.benchmarks.definition import (
    TIED,
    UNANSWERED,
    Benchmark,
    ItemResult,
    PartMark,
    Question,
    above,
    answered,
)
from training.benchmarks.file_reading import (
    FileRecord,
    at_least_one,
    decoded,
    records,
    source_or_hub,
)
from training.benchmarks.tasks.suite_sentences import Built, Sentence, at_least_one_turned, build
from training.data.families import training_families
from training.evaluation.held_out import Forms, forms_of
from training.recipe.schema import Recipe

CANDIDATES = 3
CHANGES = ("antonym", "negation", "both")
"""What the candidates change, by label (Figure 2). The right one changes both."""

ARTICLES = frozenset({"a", "an", "the"})

ANTONYMS = "antonyms"
"""The breakdown by the two adjectives of an item."""


class Entry(NamedTuple):
    """An input and its candidates in the order of `CHANGES`.

    Attributes:
        label: the label of the candidate that says the same as the input.
    """

    key: str
    input: str
    sentences: tuple[str, str, str]
    label: int = 2


class SemAntoNeg(Benchmark[Entry]):
    """The right candidate is the most similar one."""

    id = "semantoneg"
    title = "SemAntoNeg"
    measures = (
        "Is a sentence closer to its paraphrase than to its negation and to a version with an "
        "antonym?"
    )
    paper = "Vahtola et al., It Is Not Easy To Detect Paraphrases (BlackboxNLP 2022)"
    metric = "accuracy"
    chance = 100.0 / CANDIDATES
    paraphrases = True
    outcomes = (*CHANGES, TIED, UNANSWERED)
    published_items = 3152
    expects = "SemAntoNeg as JSON Lines with input, sentences (three) and label"

    @classmethod
    def read(cls, source: Path | str = "") -> Self:
        """The entries of a file in the published format."""
        place = source_or_hub(
            source,
            hub=cls.hub,
            title=cls.title,
            address="https://github.com/Helsinki-NLP/SemAntoNeg",
        )
        entries = [_entry(n, r) for n, r in enumerate(records(place, expects=cls.expects))]
        return cls(at_least_one(entries, place, expects=cls.expects))

    def asked(self, item: Entry) -> list[Question]:
        """The input with all three candidates."""
        return [Question(item.input, item.sentences)]

    def judged(self, number: int, item: Entry, scores: Sequence[np.ndarray]) -> ItemResult:
        """The candidate that the model picks."""
        given = scores[0]
        right, tied = above(given[[item.label]], np.delete(given, item.label))
        whole = answered(scores)
        pair = antonyms(item)
        # Two equal wrong candidates at the top are not a tie: the item is wrong either way.
        pick = CHANGES[int(np.argmax(given))] if whole else UNANSWERED
        return ItemResult(
            key=item.key,
            outcome=TIED if tied else pick,
            right=right,
            tied=tied,
            answered=whole,
            scores=tuple(map(float, given)),
            group="\n".join(sorted((item.input, *item.sentences))),
            marks=(PartMark(ANTONYMS, pair, right),) if pair else (),
            texts={"input": item.input, **dict(zip(CHANGES, item.sentences, strict=True))},
        )


def antonyms(entry: Entry) -> str:
    """The two adjectives in alphabetical order: the difference between the input and its opposite;
    or ''."""
    return differing_words(entry.input, entry.sentences[0])


def differing_words(first: str, second: str) -> str:
    """The only word in which two sentences differ, in both of them, as 'cold / hot'; or ''."""
    # The article depends on the adjective ("an evil idea", "a good idea").
    one, other = (
        [word for word in words_of(text) if word not in ARTICLES] for text in (first, second)
    )
    while one and other and one[0] == other[0]:
        one, other = one[1:], other[1:]
    while one and other and one[-1] == other[-1]:
        one, other = one[:-1], other[:-1]
    return " / ".join(sorted((one[0], other[0]))) if len(one) == len(other) == 1 else ""


def _entry(number: int, record: FileRecord) -> Entry:
    sentences = record.value("sentences")
    if not (
        isinstance(sentences, list)
        and len(sentences) == CANDIDATES
        and all(isinstance(text, str) and text.strip() for text in sentences)
    ):
        raise record.wrong("three texts in 'sentences'", sentences)
    label = record.number("label")
    if label not in range(CANDIDATES):
        raise record.wrong("0, 1 or 2 in 'label'", record.value("label"))
    first, second, third = (text.strip() for text in sentences)
    return Entry(
        record.key("idx", number), record.text("input"), (first, second, third), int(label)
    )


# -- Test suites like SemAntoNeg from the user's own sentences ------------------------------------
#
# A sentence has four forms: itself, with a negator added or removed, with an antonym, and with both
# changes. Each form is the input of one item, with the three others as candidates.


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
