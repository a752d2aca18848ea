"""Labels in a file: which rows its source rejected, and what each hypothesis is.

Annotation tools mark rows: Prodigy by `answer` (accept, reject, ignore), Argilla by `status`
(submitted, discarded). Data sets for natural language inference have a premise, a hypothesis and a
label on each line, spelled in many ways or as a number. Labels that we do not know are listed, and
the user says which is which.
"""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from curation.editing.own_types import CONTRADICTION, ENTAILMENT
from curation.formatting import counted
from curation.tables.columns import FileTable, in_memory, named
from curation.tables.delimited import listed, quoted
from curation.tables.plain import HYPOTHESIS_NAMES, LABEL_NAMES
from curation.tables.table import Format, Table, open_bytes, open_pasted
from db.errors import HedgerowError

NEUTRAL = "neutral"
MEANINGS = (ENTAILMENT, NEUTRAL, CONTRADICTION)
"""What a label can mean, in the usual order of the numbers 0, 1 and 2."""

_MARKS = {
    "answer": ({"accept", "reject", "ignore"}, {"reject", "ignore"}),
    "status": (
        {*("submitted pending draft completed discarded default edited validated".split())},
        {"discarded"},
    ),
}
"""Column → the values that a tool writes there, and the values of refused rows."""

_MARKED = {"reject": "rejected", "ignore": "ignored", "discarded": "discarded"}
"""Value of a refused row → what was done to it."""

_SPELLINGS = {
    ENTAILMENT: "entailment entails entailed entail e a_entails_b",
    CONTRADICTION: "contradiction contradicts contradictory contradicted contradict contra c "
    "a_contradicts_b",
    NEUTRAL: "neutral n - -1 a_neutral_b",
}
"""Meaning → its spellings. SNLI writes '-' if its annotators did not agree,
and the model hub -1."""

_KNOWN = {word: meaning for meaning, words in _SPELLINGS.items() for word in words.split()}
_MOST = 12
"""Labels that can be asked about; a column with more is not one of labels."""

_SHOWN = 3


@dataclass(frozen=True)
class Labels:
    """What the labels of a file say.

    Attributes:
        rejected: row (its index) → why the source rejected it.
        unknown: the values whose meaning is unknown, each with how often it occurs.
        columns: the columns of labels, marks and hypotheses.
        neutral: number of hypotheses that are neither entailed nor contradicted, or have no label.
    """

    rejected: Mapping[int, str] = field(default_factory=dict)
    unknown: Mapping[str, int] = field(default_factory=dict)
    neutral: int = 0
    columns: tuple[str, ...] = ()

    def usual(self) -> dict[str, str]:
        """The usual meanings of the numbers 0, 1 and 2, if these are the labels."""
        return dict(zip("012", MEANINGS, strict=True)) if set(self.unknown) == set("012") else {}


@dataclass(frozen=True, eq=False)
class LabelledTable(FileTable):
    """A table with the hypotheses of each label in a column of its own, called after it."""

    labels: Labels = Labels()


def read_file(
    data: bytes,
    *,
    name: str,
    format: Format | None = None,
    meanings: Mapping[str, str] | None = None,
) -> LabelledTable:
    """The table of an uploaded file.

    Args:
        data: its bytes.
        name: its name, for messages.
        format: the format, whatever the content; None to detect it.
        meanings: label → one of ``MEANINGS``, for labels that we do not know.

    Raises:
        HedgerowError: the file is empty, too large, not a table of texts, or damaged; the message
            names the line if known.
    """
    return with_labels(open_bytes(data, name, format=format), meanings)


def read_pasted(
    text: str, *, format: Format | None = None, meanings: Mapping[str, str] | None = None
) -> LabelledTable:
    """The table of a pasted text: one sentence per line, or rows with a header as in a file.

    Raises:
        HedgerowError: as ``read_file``.
    """
    return with_labels(open_pasted(text, format=format), meanings)


def parse_meanings(given: Iterable[str]) -> dict[str, str]:
    """Label → its meaning, from ``LABEL=MEANING``.

    Raises:
        HedgerowError: one has another form.
    """
    found: dict[str, str] = {}
    for one in given:
        label, equals, meaning = one.rpartition("=")
        if not equals or not label.strip() or meaning.strip().casefold() not in MEANINGS:
            raise HedgerowError(
                f"Expected LABEL={', LABEL='.join(MEANINGS)}, found {one[:80]!r}; such as "
                f"2={CONTRADICTION}."
            )
        found[_clean(label)] = meaning.strip().casefold()
    return found


def with_labels(table: Table, meanings: Mapping[str, str] | None = None) -> LabelledTable:
    """The rows of a table, with what its labels say."""
    read = in_memory(table)
    held = {name: getattr(read, name) for name in FileTable.__dataclass_fields__}
    rejected, marks_in = _rejected(read)
    found = LabelledTable(**held, labels=Labels(rejected, columns=marks_in))
    label = named(found.columns, LABEL_NAMES)
    if label is None or {CONTRADICTION, ENTAILMENT} & set(found.columns):
        return found
    values = [_clean(value) for value in found.values[label]]
    marks, _ = _MARKS["answer"]
    if set(values) <= marks | {""}:
        return found
    hypothesis = named(found.text_columns, HYPOTHESIS_NAMES)
    if hypothesis is None:
        return _noted(found, f"The labels in {quoted(label)} ({_examples(values)}) were not used.")
    return _sorted_out(found, label, values, hypothesis, _KNOWN | dict(meanings or {}))


def _clean(value: Any) -> str:
    """A label in lower case, without fastText's prefix; numbers as whole ones. A list is none."""
    text = "" if value is None or isinstance(value, list | dict) else str(value)
    return text.strip().casefold().removeprefix("__label__").removesuffix(".0")


def _examples(values: Sequence[str]) -> str:
    distinct = sorted(set(values) - {""}, key=lambda value: (len(value), value))
    return listed(distinct[:_SHOWN]) + " …" * (len(distinct) > _SHOWN) if distinct else "nothing"


def _rejected(table: FileTable) -> tuple[dict[int, str], tuple[str, ...]]:
    """The rows that a column of marks rejects, and these columns. Others with its name are not."""
    found: dict[int, str] = {}
    marked: list[str] = []
    columns = [(column, [column]) for column in _MARKS] + [("answer", list(LABEL_NAMES))]
    for tool, names in columns:
        column, (known, refused) = named(table.text_columns, names), _MARKS[tool]
        if column is None:
            continue
        marks = [_clean(value) for value in table.cells[column]]
        if set(marks) <= known | {""}:
            marked.append(column)
            found |= {
                number: f"It was {_MARKED[mark]} in the source ({quoted(column)})."
                for number, mark in enumerate(marks)
                if mark in refused
            }
    return found, tuple(marked)


def _sorted_out(
    table: LabelledTable,
    label: str,
    values: Sequence[str],
    hypothesis: str,
    known: Mapping[str, str],
) -> LabelledTable:
    """The table with separate columns for entailments and contradictions among the hypotheses."""
    counts = Counter(values)
    unknown = {value: counts[value] for value in sorted(counts) if value and value not in known}
    if len(unknown) > _MOST:
        return _noted(
            table,
            f"The labels in {quoted(label)} ({_examples(values)}) were not used, because there are "
            f"{len(unknown):,} of them.",
        )
    meant = [known.get(value, NEUTRAL) for value in values]
    texts = table.cells[hypothesis]
    columns = {
        kind: [text if role == kind else None for text, role in zip(texts, meant, strict=True)]
        for kind in (ENTAILMENT, CONTRADICTION)
        if kind in meant
    }
    filled = [bool(text and text.strip()) for text in texts]
    neutral = sum(role == NEUTRAL and some for role, some in zip(meant, filled, strict=True))
    roles = Counter(meant)
    notes = [
        f"{quoted(label)} labels {quoted(hypothesis)} as "
        f"{counted(roles[ENTAILMENT], 'entailment')} and "
        f"{counted(roles[CONTRADICTION], 'contradiction')}."
    ] * bool(columns)
    if unknown:
        notes.append(
            f"The labels in {quoted(label)} ({_examples(list(unknown))}) are not known; say what "
            "they mean."
        )
    return replace(
        table,
        columns=(*table.columns, *columns),
        cells={**table.cells, **columns},
        notes=(*table.notes, *notes),
        labels=replace(
            table.labels,
            unknown=unknown,
            neutral=neutral,
            columns=(*table.labels.columns, label, hypothesis),
        ),
    )


def _noted(table: LabelledTable, note: str) -> LabelledTable:
    return replace(table, notes=(*table.notes, note))
