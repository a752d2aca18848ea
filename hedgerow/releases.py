"""Creating releases, reading them as tables and data sets, and exporting them."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from curation.release.contents import release_facts
from curation.release.export import release_folder
from curation.release.export.file_formats import features_of
from curation.release.export.table_rows import TABLES, Table, read_table
from curation.release.freezing import get_release, list_releases
from curation.release.question_pairs import (
    Arm,
    arm_of,
    count_questions,
    question_pairs,
    require_questions,
)
from curation.release.report.writing import Form, report_text
from db.engine import reading
from db.errors import HedgerowError
from db.models import Release as Row
from db.models import Split
from hedgerow import arguments
from hedgerow.arguments import split_of
from hedgerow.home import Home, acting
from hedgerow.progress import progress_bar, quietly
from training.benchmarks.contamination import compare

if TYPE_CHECKING:
    import pandas as pd
    from datasets import DatasetDict


class Release:
    """A frozen copy of the accepted variants, with a number and a content hash.

    Attributes:
        number: the number of the release, starting at 1.
        name: a descriptive name, which may be empty.
        hash: SHA-256 of the contents, 64 hex digits; the same in every database.
        summary: counts by split and type, and the selection.
        facts: all of these attributes, ready for JSON.
        created: whether `hedgerow.Project.release` created it; False if the newest release already
            had the same contents.
    """

    def __init__(self, home: Home, row: Row, *, created: bool = False) -> None:
        self._home, self._id = home, row.id
        self.number: int = row.number
        self.name: str = row.name
        self.hash: str = row.content_hash
        self.summary: Mapping[str, Any] = row.summary
        self.facts: Mapping[str, Any] = release_facts(row)
        self.created = created
        self.created_at = row.created_at

    def triples(self, split: str | None = None) -> pd.DataFrame:
        """All triples: every accepted positive with every accepted negative (HedgeTriple, §3.1.3).

        Args:
            split: 'train', 'validation' or 'test'; by default all splits.

        Returns:
            One row per triple: anchor, positive, negative, their types, cue, split and uids.

        >>> release = example_project().release("first")
        >>> release.triples()[["positive", "negative"]].values.tolist()
        [['The bridge is probably safe.', 'The bridge is unsafe.']]
        """
        return self._frame("triples", split)

    def variants(self, split: str | None = None) -> pd.DataFrame:
        """The accepted variants with their anchors and sources, one row per variant.

        Args:
            split: 'train', 'validation' or 'test'; by default all splits.

        >>> len(example_project().release("first").variants())
        2
        """
        return self._frame("variants", split)

    def question_pairs(self, split: str | None = None, *, arm: str = "both") -> pd.DataFrame:
        """Questions for finetuning a language model (HedgeTriple, §5.2).

        Each question asks whether an anchor and one of its variants have opposite meaning. The
        answers Yes and No are equally frequent.

        Args:
            split: 'train', 'validation' or 'test'; by default all splits.
            arm: the variants that the questions are about: 'both' (negations and hedges of all
                types), 'paper' (the paper's six types), or, for an ablation, only 'negation' or
                'hedging'.

        Returns:
            One row per question: sentence_1 (the anchor), sentence_2, answer, prompt (the whole
            question), type, split and uids.

        Raises:
            HedgerowError: the split or arm is unknown, or the release yields no questions.

        >>> release = example_project().release("first")
        >>> asked = release.question_pairs()
        >>> asked[["sentence_2", "answer"]].values.tolist()
        [['The bridge is unsafe.', 'Yes'], ['The bridge is probably safe.', 'No']]
        >>> print(asked["prompt"][0])
        Sentence 1: The bridge is safe.
        Sentence 2: The bridge is unsafe.
        Do the two sentences have opposite meaning? Yes or No.
        Answer:
        """
        import pandas as pd

        of_split, of_arm = split_of(split), arm_of(arm)
        with reading(self._home.engine) as session:
            release = get_release(session, self.number)
            require_questions(release, count_questions(session, self._id, arm=of_arm), of_arm)
            rows = [
                pair._asdict() | {"prompt": pair.prompt, "split": pair.split.value}
                for pair in question_pairs(session, self._id, split=of_split, arm=of_arm)
            ]
        columns = "sentence_1 sentence_2 answer prompt type split anchor_uid variant_uid"
        return pd.DataFrame(rows, columns=columns.split())

    def to_datasets(self, table: str = "triples") -> DatasetDict:
        """A table as Hugging Face data sets, one for each split that has rows.

        Args:
            table: 'triples', 'variants', 'families' (an anchor with lists of texts), 'pairs'
                (sentence1, sentence2, label 1 or 0), or 'messages' or 'completion' (the question
                pairs in the formats of trl).

        >>> data = example_project().release("first").to_datasets()
        >>> [split.num_rows for split in data.values()]
        [1]
        """
        name = _table(table)
        with quietly():
            from datasets import Dataset, DatasetDict
        columns = TABLES[name]
        found = {}
        for split in Split:
            rows = self._rows(name, split)
            if rows:
                cells = zip(*rows, strict=True)
                values = {c.name: list(column) for c, column in zip(columns, cells, strict=True)}
                found[split.value] = Dataset.from_dict(values, features=features_of(columns))
        return DatasetDict(found)

    def export(
        self, folder: str | Path, *, format: str = "hf", zip: bool = False, arm: str = "both"
    ) -> Path:
        """Export the release to a folder, with a data card. This replaces an earlier export.

        Args:
            folder: a new folder, or the folder of an earlier export.
            format: 'hf' (a Hugging Face data set), 'jsonl' or 'pairs' (CSV); 'messages',
                'completion' or 'openai' for question pairs; or the format of a plug-in.
            zip: whether to create FOLDER.zip as well.
            arm: the arm of the question pairs, as in `question_pairs`.

        Returns:
            The absolute path of the folder.

        Raises:
            HedgerowError: the folder has other contents or cannot be written, there are no
                question pairs, or there are fewer than OpenAI requires.

        >>> release = example_project().release("first")
        >>> sorted(path.name for path in release.export("out", format="jsonl").iterdir())
        ['README.md', 'families.jsonl', 'hedgerow.json', 'triples.jsonl', 'variants.jsonl']
        """
        done = export(
            self._home, self.number, Path(folder), format=format, zipped=zip, arm=arm_of(arm)
        )
        return done.folder

    def report(self, format: str = "latex") -> str:
        """Draft the data section of a paper from the release.

        It reports the number of texts by type, their authors and reviewers, agreement, thresholds,
        costs, licences, and how to cite the release.

        Args:
            format: 'latex' (requires the package booktabs) or 'markdown'.

        Raises:
            HedgerowError: the format is unknown.

        >>> release = example_project().release("first")
        >>> print(release.report("latex").splitlines()[3])
        \\section{Data}
        """
        form = next((known for known in Form if known == format), None)
        if form is None:
            raise HedgerowError(f"Expected a format ({', '.join(Form)}), found {format!r}.")
        with reading(self._home.engine) as session:
            return report_text(session, self.number, form)

    def push(self, repo: str, *, private: bool = True) -> dict[str, Any]:
        """Publish the release as a data set on the Hugging Face Hub.

        The access token comes from HF_TOKEN or 'hf auth login'. HF_ENDPOINT selects another hub.

        Args:
            repo: the repository as OWNER/NAME; it is created if it does not exist.
            private: whether the repository is private. Unless this is False, Hedgerow does not
                publish to an existing public repository.

        Returns:
            url, commit and size (bytes), with the number of the run as ``run``.

        Raises:
            HedgerowError: there is no token, the token has no write access, or the hub cannot be
                reached.
        """
        from hedgerow.running import carry_out
        from training.hub.push_run import PUSH, Push

        request = arguments.request(Push, locals() | {"release": self.number})
        return carry_out(*self._home, PUSH.perform(acting(self._home), request).id)

    def _frame(self, table: Table, split: str | None) -> pd.DataFrame:
        import pandas as pd

        rows = self._rows(table, split_of(split))
        return pd.DataFrame(rows, columns=[column.name for column in TABLES[table]])

    def _rows(self, table: Table, split: Split | None) -> list[tuple[Any, ...]]:
        with reading(self._home.engine) as session:
            return [
                tuple(getattr(value, "value", value) for value in row)
                for row in read_table(session, self._id, table, split=split)
            ]

    def __repr__(self) -> str:
        name = f" {self.name!r}" if self.name else ""
        return f"<Release {self.number}{name}, {self.hash[:12]}>"


def _table(name: str) -> Table:
    found = next((table for table in TABLES if table == name), None)
    if found is None:
        raise HedgerowError(f"Expected a table ({', '.join(TABLES)}), found {name!r}.")
    return found


def releases(home: Home) -> list[Release]:
    """All releases, newest first."""
    with reading(home.engine) as session:
        return [Release(home, row) for row in list_releases(session)]


def find_release(home: Home, number: int | None) -> Release:
    """The release with this number, or the newest release if the number is None.

    Raises:
        HedgerowError: no release has this number, or the project has no releases.
    """
    with reading(home.engine) as session:
        return Release(home, get_release(session, number))


class Exported(NamedTuple):
    """A finished export: the number of the release, the folder, and the zip file, if any."""

    release: int
    folder: Path
    zip: Path | None


def export(
    home: Home,
    number: int | None,
    folder: Path,
    *,
    format: str,
    zipped: bool,
    arm: Arm = "both",
) -> Exported:
    """Export a release, or the newest one if the number is None, to a folder.

    Raises:
        HedgerowError: as in `Release.export`.
    """
    if zipped:
        release_folder.check_zip_place(folder)  # before anything is changed
    with reading(home.engine) as session, progress_bar() as report:
        release = get_release(session, number)
        compared = compare(session, home.settings.data_folder, release, report=report)
        place = release_folder.export_release(
            session,
            release,
            folder,
            format=format,
            arm=arm,
            compared=compared,
            progress=report,
        )
    return Exported(release.number, place, release_folder.zip_export(place) if zipped else None)
