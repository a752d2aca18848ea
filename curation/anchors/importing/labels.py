"""Labels in a file: which rows are rejected, and what each hypothesis is.

Annotation tools mark rows: Prodigy by `answer` (accept, reject, ignore), Argilla by `status`
(submitted, discarded). Data sets for natural language inference have a premise, a hypothesis and a
label on each line. A note reports all dropped rows.
"""

from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from typing import TypeVar

from curation.anchors.importing.file_table import FileTable, listed, quoted
from curation.plurals import counted
from curation.taxonomy.nli_types import CONTRADICTION, ENTAILMENT
from db.errors import HedgerowError

_MARKS = {
    "answer": ({"accept", "reject", "ignore"}, {"reject", "ignore"}),
    "status": ({"submitted", "pending", "draft", "completed", "discarded"}, {"discarded"}),
}
"""Column → the values that a tool writes there, and the values of refused rows."""

_MARKED = {"reject": "rejected", "ignore": "ignored", "discarded": "discarded"}
"""Value of a refused row → what was done to it."""

_LABELS = ("gold_label", "label", "labels", "choice", "annotation", "class")
_HYPOTHESES = ("hypothesis", "sentence2")
_NEUTRAL = "neutral"
_SPELLINGS = {
    "entailment": ENTAILMENT,
    "entails": ENTAILMENT,
    "e": ENTAILMENT,
    "contradiction": CONTRADICTION,
    "contradicts": CONTRADICTION,
    "c": CONTRADICTION,
    "neutral": _NEUTRAL,
    "n": _NEUTRAL,
    "-": _NEUTRAL,
}
"""SNLI writes '-' if its annotators did not agree."""

_VALUES_SHOWN = 4

Cell = TypeVar("Cell")


def with_labels(table: FileTable) -> FileTable:
    """The table without the rows that its source rejected, and with labelled hypotheses in separate
       columns, 'entailment' and 'contradiction'. Its notes say what was done, and which label
       column was not understood.

    Raises:
        HedgerowError: all rows were rejected.
    """
    for column, (values, refused) in _MARKS.items():
        table = _without(table, _named(table, [column]), values, refused)
    label = _named(table, _LABELS)
    if label is None:
        return table
    if label not in table.cells:
        return _noted(
            table, f"The labels in {quoted(label)} were ignored because they are not text."
        )
    found = {_clean(value) for value in table.cells[label]} - {""}
    marks, refused = _MARKS["answer"]
    if found and found <= marks:
        return _without(table, label, marks, refused)
    if CONTRADICTION in table.columns or ENTAILMENT in table.columns:
        return table
    hypothesis = _named(table, _HYPOTHESES)
    if hypothesis in table.cells and found and found <= set(_SPELLINGS):
        return _sorted_out(table, label, hypothesis or "")
    shown = listed(sorted(found, key=len)[:_VALUES_SHOWN]) if found else "nothing"
    return _noted(
        table,
        f"The labels in {quoted(label)} ({shown}{' …' if len(found) > _VALUES_SHOWN else ''}) were "
        "ignored. Known labels are accept, reject and ignore, and, with a column of hypotheses, "
        "entailment, neutral and contradiction.",
    )


def _named(table: FileTable, names: Sequence[str]) -> str | None:
    """The first of these columns that exists and does not contain sentences."""
    known = {column.casefold().strip(): column for column in reversed(table.columns)}
    return next((known[name] for name in names if name in known), None)


def _clean(value: str | None) -> str:
    return (value or "").strip().casefold()


def _without(
    table: FileTable, column: str | None, values: set[str], refused: set[str]
) -> FileTable:
    """The table without the rows that a column of marks rejects. Other columns with that name are
    ignored."""
    if column is None or column not in table.cells:
        return table
    marks = [_clean(value) for value in table.cells[column]]
    out = Counter(mark for mark in marks if mark in refused)
    if not out or not set(marks) <= values | {""}:
        return table
    keep = [mark not in refused for mark in marks]
    if not any(keep):
        how = " or ".join(_MARKED[mark] for mark in sorted(out, reverse=True))
        raise HedgerowError(
            f"Every row of {table.name} was {how} in the source ({quoted(column)}), so there is "
            "nothing to add."
        )
    left = replace(
        table,
        lines=_kept(table.lines, keep),
        cells={name: _kept(cells, keep) for name, cells in table.cells.items()},
    )
    marked = " and ".join(
        f"{count:,} {'row' if count == 1 else 'rows'} {_MARKED[mark]}"
        for mark, count in sorted(out.items(), reverse=True)
    )
    return _noted(left, f"Left out: {marked} in the source ({quoted(column)}).")


def _kept(cells: Sequence[Cell], keep: Sequence[bool]) -> list[Cell]:
    return [cell for cell, wanted in zip(cells, keep, strict=True) if wanted]


def _sorted_out(table: FileTable, label: str, hypothesis: str) -> FileTable:
    """The table with separate columns for entailments and contradictions among the hypotheses."""
    roles = [_SPELLINGS.get(_clean(value), _NEUTRAL) for value in table.cells[label]]
    texts = table.cells[hypothesis]
    columns = {
        kind: [text if role == kind else None for text, role in zip(texts, roles, strict=True)]
        for kind in (ENTAILMENT, CONTRADICTION)
        if kind in roles
    }
    counts = Counter(roles)
    changed = replace(table, columns=(*table.columns, *columns), cells={**table.cells, **columns})
    return _noted(
        changed,
        f"{quoted(label)} labels {quoted(hypothesis)} as "
        f"{counted(counts[ENTAILMENT], 'entailment')} and "
        f"{counted(counts[CONTRADICTION], 'contradiction')}. "
        f"{counted(counts[_NEUTRAL], 'neutral row')} left out.",
    )


def _noted(table: FileTable, note: str) -> FileTable:
    return replace(table, notes=(*table.notes, note))
