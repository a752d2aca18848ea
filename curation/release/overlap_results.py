"""Overlaps of releases with benchmarks, computed once and stored in the data folder.

Releases and benchmark data never change, so the results stay valid.
``training.benchmarks.contamination`` reads the benchmarks; exports and cards only need the stored
results.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from sqlalchemy import Select, func, select
from sqlalchemy.orm import Session
from sqlmodel import col

from curation.partial_files import clear_partials, new_partial
from curation.release.overlap import (
    ANCHOR,
    NEGATIVE,
    POSITIVE,
    SHORTEST,
    UNSUPPORTED,
    FieldOverlap,
    Overlap,
    SharedText,
)
from db.errors import HedgerowError
from db.models import Polarity, ReleaseItem
from db.run_process import make_folder

FOLDER = "overlap"
"""Subfolder of the data folder.

It has a folder per release, with a file per data and run length.
"""

_BATCH = 5_000
_SHOWN = 16


@dataclass(frozen=True)
class OverlapWithTest:
    """A comparison of a release, or of other training texts, with a benchmark's data.

    Attributes:
        release: the content hash of the release or of the other texts.
        benchmark: the benchmark's id.
        title: the benchmark's title.
        data: the name of its data for people, such as a file name.
        key: identifies the data; different data have different keys.
        records: for each example, the uid of a variant with the release's text, or of its anchor.
        problem: why they could not be compared, as a sentence; then there is no overlap.
        fields: the overlap by field; empty for texts without fields; None in results of old
            Hedgerow versions, which compared no fields.
    """

    release: str
    benchmark: str
    title: str
    data: str
    key: str
    overlap: Overlap
    records: tuple[str, ...] = ()
    problem: str = ""
    fields: tuple[FieldOverlap, ...] | None = None

    @property
    def whole(self) -> bool:
        """Whether the comparison is complete."""
        return self.fields is not None or bool(self.problem)

    @property
    def shares(self) -> bool:
        """Whether there is any overlap."""
        return bool(self.overlap.overlapping or self.overlap.exact)

    @property
    def facts(self) -> dict[str, Any]:
        """The facts that the command line prints and a training stores; no examples."""
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
        if self.fields:
            facts["fields"] = [part._asdict() for part in self.fields]
        return facts | ({"problem": self.problem} if self.problem else {})


def description(facts: Mapping[str, Any]) -> str:
    """Describe the result of a comparison in one sentence; it includes a file name.

    Args:
        facts: from ``OverlapWithTest.facts``.
    """
    what = f"{facts['title']} ({facts['data']})"
    if problem := facts.get("problem"):
        return f"{what} was not compared: {problem}"
    n, items, some, exact = (facts[key] for key in ("n", "items", "overlapping", "exact"))
    share = "shares" if some == 1 else "share"
    have = "has" if exact == 1 else "have"
    amount = f"{some:,} of {items:,}" if some else f"None of {items:,}"
    whole = f"; {exact:,} {have} a text that is identical to one in it" if exact else ""
    return f"{amount} items of {what} {share} {n} consecutive words with the release{whole}."


def description_by_field(facts: Mapping[str, Any]) -> str:
    """Say in one sentence which fields of the release share words with the benchmark.

    Args:
        facts: from ``OverlapWithTest.facts``.

    Returns:
        "" if nothing overlaps or fields were not compared.
    """
    parts = [
        f"{part['field']} / {part['side']} {part['overlapping']:,}"
        + (f" ({part['exact']:,} identical)" if part["exact"] else "")
        for part in facts.get("fields") or ()
        if part["overlapping"] or part["exact"]
    ]
    if not parts:
        return ""
    what = f"{facts['title']} ({facts['data']})"
    return f"Overlapping items by field (release / {what}): {', '.join(parts)}."


def texts_of(session: Session, release_id: int) -> Iterator[str]:
    """Yield each anchor of a release once, and then its variants; all splits."""
    for field in fields_of(session, release_id).values():
        yield from field


def fields_of(session: Session, release_id: int) -> dict[str, Iterator[str]]:
    """Return the texts of a release by field: each anchor once, and variants by polarity."""
    anchors = select(col(ReleaseItem.anchor)).distinct()
    variants = {
        field: select(col(ReleaseItem.text)).where(col(ReleaseItem.polarity) == polarity)
        for field, polarity in _POLARITY.items()
    }
    return {
        field: _texts(session, query.where(col(ReleaseItem.release_id) == release_id))
        for field, query in ({ANCHOR: anchors} | variants).items()
    }


_POLARITY = {
    POSITIVE: Polarity.POSITIVE,
    NEGATIVE: Polarity.NEGATIVE,
    UNSUPPORTED: Polarity.NEUTRAL,
}


def _texts(session: Session, query: Select[Any]) -> Iterator[str]:
    yield from session.execute(query.execution_options(yield_per=_BATCH)).scalars()


def records_of(session: Session, release_id: int, texts: Sequence[str]) -> dict[str, str]:
    """Map texts of a release to a variant's uid: one with the text, else one of that anchor."""
    found: dict[str, str] = {}
    for column in (col(ReleaseItem.anchor), col(ReleaseItem.text)):
        query = select(column, func.min(col(ReleaseItem.variant_uid))).where(
            col(ReleaseItem.release_id) == release_id, column.in_(texts)
        )
        found |= dict(session.execute(query.group_by(column)).all())
    return found


def keep(data_folder: Path, found: OverlapWithTest) -> None:
    """Store a comparison.

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
            f"The results cannot be written to {folder} ({error.strerror or error}); free some "
            "space or check its permissions."
        ) from error


def kept(data_folder: Path, content_hash: str, *, n: int = SHORTEST) -> list[OverlapWithTest]:
    """Return the stored comparisons of a release for runs of n words, by title and data."""
    paths = _folder(data_folder, content_hash).glob(f"[!.]*-{n}.json")
    found = [compared for path in paths if (compared := _read(path)) is not None]
    mine = (c for c in found if c.release == content_hash and c.overlap.n == n)
    return sorted(mine, key=lambda c: (c.title, c.data, c.key))


def _folder(data_folder: Path, content_hash: str) -> Path:
    return data_folder / FOLDER / content_hash[:_SHOWN]


def _read(path: Path) -> OverlapWithTest | None:
    """Return None for a file with other content; the comparison is then repeated."""
    try:
        values = json.loads(path.read_text(encoding="utf-8"))
        examples = tuple(SharedText(*example) for example in values["overlap"].pop("examples"))
        overlap = Overlap(**values.pop("overlap"), examples=examples)
        records = tuple(values.pop("records"))
        fields = values.pop("fields", None)
        parts = None if fields is None else tuple(FieldOverlap(*part) for part in fields)
        return OverlapWithTest(**values, overlap=overlap, records=records, fields=parts)
    except (OSError, ValueError, TypeError, KeyError, AttributeError):
        return None
