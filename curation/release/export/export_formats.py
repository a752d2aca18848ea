"""The formats for exporting a release: the built-in ones, and plug-ins."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator
from functools import cached_property
from pathlib import Path
from typing import Any, ClassVar

from sqlalchemy.orm import Session

from curation.plug_ins import PlugInGroup, PlugIns, failures_of
from curation.release.export.file_formats import (
    LEAST,
    check_finetuning_file,
    write_both,
    write_csv,
    write_jsonl,
    write_parquet,
)
from curation.release.export.table_rows import (
    QUESTIONS,
    TABLES,
    TABLES_OF,
    QuestionTable,
    Table,
    TableColumn,
    count_rows,
    parquet_path,
    read_table,
)
from curation.release.question_pairs import (
    Arm,
    QuestionCounts,
    count_questions,
    description_of,
    require_questions,
)
from db.errors import HedgerowError
from db.models import Release, Split

Progress = Callable[[int, int, str], None]
"""Called with (rows written, all rows, message). It may raise an exception to stop the export."""

_REPORT_EVERY = 1_000


class ReleaseTables:
    """The tables of a release, read row by row.

    Their names are triples, variants, families and pairs; for its question pairs, messages,
    completion and openai.

    Attributes:
        number, name, content_hash: the release's.
        counts: table → split → number of rows, for tables that have been read.
        done: number of rows read.
        notes: sentences about the files, for the data card and for whoever requested the export. A
            format may add to them.
    """

    def __init__(
        self,
        session: Session,
        release: Release,
        progress: Progress | None,
        *,
        arm: Arm = "both",
    ) -> None:
        self.number = release.number
        self.name = release.name
        self.content_hash = release.content_hash
        self.counts: dict[Table, dict[str, int]] = {}
        self._session, self._release, self._progress = session, release, progress
        self._arm: Arm = arm
        self.notes: list[str] = []
        self.done = 0

    def columns(self, table: Table) -> tuple[TableColumn, ...]:
        """Return the columns of a table, each with its name, meaning and type."""
        return TABLES[table]

    def rows(self, table: Table, split: str | None = None) -> Iterator[dict[str, Any]]:
        """Yield the rows of a table, or of one of its splits, as column → value, ordered by uid."""
        names = [column.name for column in self.columns(table)]
        for row in self.records(table, split):
            yield dict(zip(names, row, strict=True))

    def splits(self, table: Table) -> dict[str, int]:
        """Return split → number of rows of the table, for splits that have any."""
        if table not in self.counts:
            if table in QUESTIONS:
                pairs = self._questions.pairs.items()
                self.counts[table] = {split.value: number for split, number in pairs}
            else:
                self.counts[table] = count_rows(self._session, self._release, table)
        return self.counts[table]

    @cached_property
    def _questions(self) -> QuestionCounts:
        return count_questions(self._session, self._release.id, arm=self._arm)

    def begin_questions(self) -> None:
        """Add a note with the number of question pairs.

        Raises:
            HedgerowError: there are none.
        """
        require_questions(self._release, self._questions, self._arm)
        self.notes.append(description_of(self._questions, self._arm))

    def records(self, table: Table, split: str | None = None) -> Iterator[tuple[Any, ...]]:
        """Like `rows`, but yields only the values."""
        of_split = None if split is None else Split(split)
        self.splits(table)
        found = read_table(self._session, self._release.id, table, split=of_split, arm=self._arm)
        for row in found:
            if self.done % _REPORT_EVERY == 0:
                self.report(f"Writing {table}{f', {split}' if split else ''}.")
            self.done += 1
            yield row

    def report(self, message: str) -> None:
        """Report progress.

        Raises:
            RunCancelled: the export has been cancelled.
        """
        if self._progress is not None:
            self._progress(self.done, max(self.total, self.done), message)

    @property
    def total(self) -> int:
        """The number of rows in the tables that have been read."""
        return sum(sum(splits.values()) for splits in self.counts.values())


class ExportFormat(ABC):
    """Writes a release as files.

    Another package can add a format: a subclass that it names as an entry point in the group
    ``hedgerow.exports``. A format is constructed without arguments, once per export.

    Attributes:
        name: its name in ``hedgerow export --format``. A plug-in gets its entry point's name.
        label: its name on the Release page; '' uses ``name``.
        purpose: a sentence below the label, and on the data card.
    """

    name: ClassVar[str]
    label: ClassVar[str] = ""
    purpose: ClassVar[str] = ""

    @abstractmethod
    def write(self, release: ReleaseTables, folder: Path) -> None:
        """Write the files. The data card, README.md, and hedgerow.json are added to them.

        Args:
            folder: new and empty. It is moved to its final location when it is complete.
        """


class _HuggingFace(ExportFormat):
    name = "hf"
    label = "Hugging Face data set"
    purpose = (
        "For training or publishing: triples, variants and families in Parquet, with a data card."
    )

    def write(self, release: ReleaseTables, folder: Path) -> None:
        for table in TABLES_OF[self.name]:
            for split in release.splits(table):  # load_dataset refuses a file without rows
                path = folder / parquet_path(table, split)
                path.parent.mkdir(exist_ok=True)
                write_parquet(path, release.columns(table), release.records(table, split))


class _JsonLines(ExportFormat):
    name = "jsonl"
    label = "JSON Lines"
    purpose = "For other programs: the same three tables, one record per line."

    def write(self, release: ReleaseTables, folder: Path) -> None:
        for table in TABLES_OF[self.name]:
            path = folder / f"{table}.jsonl"
            write_jsonl(path, release.columns(table), release.records(table))


class _Pairs(ExportFormat):
    name = "pairs"
    label = "Labelled pairs"
    purpose = (
        "For a spreadsheet or a classifier: one CSV file of anchor, variant and label (1: same "
        "claim, 0: contradiction). Unsupported variants have neither label and are left out."
    )

    def write(self, release: ReleaseTables, folder: Path) -> None:
        columns = release.columns("pairs")
        write_csv(folder / "pairs.csv", columns, release.records("pairs"))


class _Messages(ExportFormat):
    """Each split as Parquet, and as JSON Lines next to it."""

    table: ClassVar[QuestionTable] = "messages"
    name = "messages"
    label = "Question pairs as chats"
    purpose = (
        "For finetuning a chat model to say whether two sentences have opposite meanings (Yes or "
        "No): Parquet and JSON Lines with messages, one file per split."
    )

    def write(self, release: ReleaseTables, folder: Path) -> None:
        release.begin_questions()
        table = self.table
        for split in release.splits(table):
            path = folder / parquet_path(table, split)
            path.parent.mkdir(exist_ok=True)
            write_both(path.parent, split, release.columns(table), release.records(table, split))


class _Completion(_Messages):
    table = "completion"
    name = "completion"
    label = "Question pairs as prompt and completion"
    purpose = "The same questions for a language model without a chat format."


class _OpenAI(ExportFormat):
    name = "openai"
    label = "Question pairs for OpenAI finetuning"
    purpose = (
        "The same questions as files for OpenAI or compatible services, checked against OpenAI's "
        "rules."
    )

    def write(self, release: ReleaseTables, folder: Path) -> None:
        release.begin_questions()
        columns = release.columns("openai")
        write_jsonl(folder / "train.jsonl", columns, release.records("openai", "train"))
        trained_on = check_finetuning_file(folder / "train.jsonl", least=LEAST)
        for split in release.splits("openai"):
            if split != Split.TRAIN:
                path = folder / f"{split}.jsonl"
                write_jsonl(path, columns, release.records("openai", split))
                check_finetuning_file(path)
        release.notes.append(
            "The files follow the rules of OpenAI's finetuning. train.jsonl has "
            f"{trained_on.examples:,} examples with about {trained_on.tokens:,} tokens. OpenAI "
            "charges training per token and epoch."
        )


BUILT_IN: dict[str, type[ExportFormat]] = {
    kind.name: kind for kind in (_HuggingFace, _JsonLines, _Pairs, _Messages, _Completion, _OpenAI)
}

PLUG_INS = PlugInGroup(
    "hedgerow.exports",
    ExportFormat,  # type: ignore[type-abstract]
    noun="export format",
    reserved=BUILT_IN,
    called="name",
    attributes={"label": str, "purpose": str},
    methods=("write",),
)


def format_names() -> tuple[str, ...]:
    """Return the names of all formats, including plug-ins. No plug-in is imported."""
    return (*BUILT_IN, *PLUG_INS.names())


def installed_formats() -> PlugIns[ExportFormat]:
    """Import all formats; return them, and what is wrong with those that can't be imported."""
    found = PLUG_INS.load_all()
    return PlugIns(BUILT_IN | found.classes, found.problems)


def export_format(name: str) -> ExportFormat:
    """Return the format with this name, ready to write.

    Raises:
        HedgerowError: there is no such format, or it is a plug-in that can't be imported or
            constructed.
    """
    if built_in := BUILT_IN.get(name):
        return built_in()
    if name in PLUG_INS.names():
        kind = PLUG_INS.load(name)
        with failures_of(name):
            return kind()
    known = ", ".join(format_names())
    raise HedgerowError(f"Expected a format ({known}), found {name[:60]!r}.")


def write_tables(
    session: Session,
    release: Release,
    folder: Path,
    *,
    form: ExportFormat,
    progress: Progress | None,
    arm: Arm = "both",
) -> ReleaseTables:
    """Have a format write its files; return the tables that it read.

    Raises:
        HedgerowError: it is a plug-in that fails, or it writes question pairs and there are none.
    """
    tables = ReleaseTables(session, release, progress, arm=arm)
    for table in TABLES_OF.get(form.name, ()):  # so that the progress has a total
        tables.splits(table)
    form.write(tables, folder)
    whole = form.name not in BUILT_IN or tables.done == tables.total
    assert whole, "the release's summary and its rows disagree"
    tables.report("Finishing.")
    return tables
