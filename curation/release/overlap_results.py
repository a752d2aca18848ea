"""What releases have in common with tests: found once, and kept in the data folder.

Neither a release nor the data of a test ever change, so that what was found stays true. Reading
tests is ``training.benchmarks.contamination``'s part; exports and cards need only what is kept
here.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from sqlalchemy import func, select
from sqlalchemy.orm import Session
from sqlmodel import col

from curation.partial_files import clear_partials, new_partial
from curation.release.overlap import SHORTEST, Overlap, SharedText
from db.errors import HedgerowError
from db.models import ReleaseItem
from db.run_folders import make_folder

FOLDER = "overlap"
"""Below the data folder: a folder a release, in it a file for each data and number of words."""

_BATCH = 5_000
_SHOWN = 16


@dataclass(frozen=True)
class OverlapWithTest:
    """A release, or other texts that go into a training, compared with the data of a test.

    Attributes:
        release: its content hash; that of the other texts.
        benchmark: the test's id.
        title: of the test.
        data: what people call its data, such as the name of a file.
        key: of the data; other data have another.
        records: for each example the uid of a variant with the release's text, or of its anchor.
        problem: why they could not be compared, a sentence; then there is no overlap.
    """

    release: str
    benchmark: str
    title: str
    data: str
    key: str
    overlap: Overlap
    records: tuple[str, ...] = ()
    problem: str = ""

    @property
    def shares(self) -> bool:
        """Whether they have anything in common."""
        return bool(self.overlap.overlapping or self.overlap.exact)

    @property
    def facts(self) -> dict[str, Any]:
        """What the command line prints and a training keeps: all but the examples."""
        found = self.overlap
        facts: dict[str, Any] = {
            "benchmark": self.benchmark,
            "title": self.title,
            "data": self.data,
            "n": found.n,
            "items": found.samples,
            "overlapping": found.overlapping,
            "exact": found.exact,
        }
        return facts | ({"problem": self.problem} if self.problem else {})


def told(facts: Mapping[str, Any]) -> str:
    """What a comparison found, in one sentence; it holds the name of a file.

    Args:
        facts: as ``OverlapWithTest.facts`` gives them.
    """
    what = f"{facts['title']} ({facts['data']})"
    if problem := facts.get("problem"):
        return f"{what} was not compared: {problem}"
    n, items, some, exact = (facts[key] for key in ("n", "items", "overlapping", "exact"))
    share = "shares" if some == 1 else "share"
    have = "has" if exact == 1 else "have"
    said = f"{some:,} of {items:,}" if some else f"None of {items:,}"
    whole = f"; {exact:,} {have} a text that is in it as a whole" if exact else ""
    return f"{said} items of {what} {share} {n} words in a row with the release{whole}."


def texts_of(session: Session, release_id: int) -> Iterator[str]:
    """The anchors of a release, each once, and then its variants; of all splits."""
    for column in (select(col(ReleaseItem.anchor)).distinct(), select(col(ReleaseItem.text))):
        query = column.where(col(ReleaseItem.release_id) == release_id)
        yield from session.execute(query.execution_options(yield_per=_BATCH)).scalars()


def records_of(session: Session, release_id: int, texts: Sequence[str]) -> dict[str, str]:
    """For texts of a release the uid of a variant: one with the text, else one of that anchor."""
    found: dict[str, str] = {}
    for column in (col(ReleaseItem.anchor), col(ReleaseItem.text)):
        query = select(column, func.min(col(ReleaseItem.variant_uid))).where(
            col(ReleaseItem.release_id) == release_id, column.in_(texts)
        )
        found |= dict(session.execute(query.group_by(column)).all())
    return found


def keep(data_folder: Path, found: OverlapWithTest) -> None:
    """Keep what was found.

    Raises:
        HedgerowError: the data folder cannot be written.
    """
    folder = make_folder(_folder(data_folder, found.release))
    path = folder / f"{found.benchmark}-{found.key}-{found.overlap.n}.json"
    clear_partials(path)
    draft = new_partial(path)
    try:
        draft.write_text(json.dumps(asdict(found), ensure_ascii=False), encoding="utf-8")
        draft.replace(path)
    except OSError as error:
        draft.unlink(missing_ok=True)
        raise HedgerowError(
            f"What was found cannot be written to {folder} ({error.strerror or error}); make room "
            "or check its rights."
        ) from error


def kept(data_folder: Path, content_hash: str, *, n: int = SHORTEST) -> list[OverlapWithTest]:
    """What was found for a release by runs of n words, by title and data."""
    paths = _folder(data_folder, content_hash).glob(f"[!.]*-{n}.json")
    found = [compared for path in paths if (compared := _read(path)) is not None]
    mine = (c for c in found if c.release == content_hash and c.overlap.n == n)
    return sorted(mine, key=lambda c: (c.title, c.data, c.key))


def _folder(data_folder: Path, content_hash: str) -> Path:
    return data_folder / FOLDER / content_hash[:_SHOWN]


def _read(path: Path) -> OverlapWithTest | None:
    """None for a file that holds something else: it is found out and written anew."""
    try:
        values = json.loads(path.read_text(encoding="utf-8"))
        examples = tuple(SharedText(*example) for example in values["overlap"].pop("examples"))
        overlap = Overlap(**values.pop("overlap"), examples=examples)
        records = tuple(values.pop("records"))
        return OverlapWithTest(**values, overlap=overlap, records=records)
    except (OSError, ValueError, TypeError, KeyError, AttributeError):
        return None
