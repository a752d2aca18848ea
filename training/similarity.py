"""Cosine similarities before and after finetuning: the paper's Figure 1 and distributions by type.

Everything here returns tidy rows (one value a row); the charts are drawn by the pages.
"""

from __future__ import annotations

import csv
import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple, TextIO

from curation.encoders import pair_cosines
from curation.text import canonical
from db.errors import HedgerowError

if TYPE_CHECKING:
    from sentence_transformers import SentenceTransformer

BEFORE = "before"
AFTER = "after"

_REFERENCE = json.loads(
    (Path(__file__).parent / "reference" / "paper_figure_1.json").read_text(encoding="utf-8")
)


class Probe(NamedTuple):
    """A sentence pair whose similarity is shown before and after; the label may be empty."""

    anchor: str
    text: str
    label: str


class ProbeRow(NamedTuple):
    """A bar of Figure 1: one pair in one series; `published` says that the paper measured it."""

    anchor: str
    text: str
    label: str
    series: str
    cosine: float
    published: bool


class DistributionRow(NamedTuple):
    """The cosine of one (anchor, variant) before or after, with its type and part of the data."""

    type: str
    part: str
    series: str
    cosine: float


FIGURE_1: tuple[Probe, ...] = tuple(
    Probe(_REFERENCE["anchor"], pair["text"], pair["label"]) for pair in _REFERENCE["pairs"]
)
"""The three pairs of the paper's Figure 1: contradicted, weakened, affirmed."""


def probe_similarities(model: SentenceTransformer, probes: Sequence[Probe]) -> list[float]:
    """The cosine, in [-1, 1], of each probe's two sentences."""
    pairs = [(probe.anchor, probe.text) for probe in probes]
    return [float(cosine) for cosine in pair_cosines(model, pairs)]


def probe_rows(
    probes: Sequence[Probe], *, before: Sequence[float] | None, after: Sequence[float]
) -> list[ProbeRow]:
    """Measured cosines as rows, 'before' (where it is known) and 'after' for each probe.

    Args:
        before, after: one cosine a probe, in the probes' order.
    """
    measured = {BEFORE: before, AFTER: after}
    return [
        ProbeRow(*probe, series, cosine, published=False)
        for series, cosines in measured.items()
        if cosines is not None
        for probe, cosine in zip(probes, cosines, strict=True)
    ]


def figure_1_rows(*, before: Sequence[float] | None, after: Sequence[float]) -> list[ProbeRow]:
    """Figure 1: the paper's published values (series 'paper: …') and the measured ones.

    Args:
        before, after: one cosine for each of FIGURE_1, in its order.
    """
    published = [
        ProbeRow(*probe, f"paper: {model}", cosine, published=True)
        for probe, pair in zip(FIGURE_1, _REFERENCE["pairs"], strict=True)
        for model, cosine in pair["published"].items()
    ]
    return published + probe_rows(FIGURE_1, before=before, after=after)


def distribution_rows(
    *,
    types: Sequence[str],
    parts: Sequence[str],
    before: Sequence[float],
    after: Sequence[float],
) -> list[DistributionRow]:
    """Cosines of (anchor, variant) before and after as rows, for a chart per type and part.

    Args:
        types: the type of each variant.
        parts: which part of the data it belongs to, such as 'training' or 'pending fifth'.
        before, after: its cosine with its anchor; all four have the variants' order.
    """
    return [
        DistributionRow(kind, part, series, float(cosine))
        for series, cosines in ((BEFORE, before), (AFTER, after))
        for kind, part, cosine in zip(types, parts, cosines, strict=True)
    ]


def read_probes(path: Path) -> list[Probe]:
    """Read sentence pairs: .csv or .tsv with a header line, or .jsonl, UTF-8.

    Columns (or keys): anchor, text and, where wanted, label; others are left out.

    Raises:
        HedgerowError: another kind of file, an unreadable one, one without a pair; a line
            without an anchor or a text (the message has its number).
    """
    reader = _READERS.get(path.suffix.lower())
    if reader is None:
        raise HedgerowError(f"Expected probes in a .csv, .tsv or .jsonl file, found {path.name!r}.")
    try:
        with path.open(encoding="utf-8-sig", newline="") as file:
            probes = [_probe(record, path, line) for line, record in reader(file, path)]
    except OSError as error:
        raise HedgerowError(f"Could not read {str(path)!r}: {error.strerror}.") from error
    except UnicodeDecodeError as error:
        raise HedgerowError(f"Expected UTF-8 text in {path.name!r}; save it as UTF-8.") from error
    if not probes:
        raise HedgerowError(f"Expected at least one pair in {path.name!r}, found none.")
    return probes


def _csv_records(file: TextIO, path: Path) -> Iterator[tuple[int, Mapping[str, object]]]:
    return _table_records(csv.DictReader(file, strict=True), path)


def _tsv_records(file: TextIO, path: Path) -> Iterator[tuple[int, Mapping[str, object]]]:
    # In TSV a quotation mark is a character of the text.
    return _table_records(csv.DictReader(file, delimiter="\t", quoting=csv.QUOTE_NONE), path)


def _table_records(
    reader: csv.DictReader[str], path: Path
) -> Iterator[tuple[int, Mapping[str, object]]]:
    try:
        header = reader.fieldnames or []
        if missing := {"anchor", "text"} - set(header):
            raise HedgerowError(
                f"Expected the columns anchor and text in the first line of {path.name!r}, "
                f"{' and '.join(sorted(missing))} not found; name them there."
            )
        for record in reader:
            if None in record or None in record.values():
                raise HedgerowError(
                    f"{path.name!r}, line {reader.line_num}: expected {len(header)} fields, as in "
                    "the first line, found another number."
                )
            yield reader.line_num, record
    except csv.Error as error:
        line = reader.reader.line_num  # the outer one stays behind in a broken record
        raise HedgerowError(f"{path.name!r}, line {line}: {error}.") from error


def _jsonl_records(file: TextIO, path: Path) -> Iterator[tuple[int, Mapping[str, object]]]:
    lines: Iterable[tuple[int, str]] = enumerate(file, start=1)
    for number, line in lines:
        if not line.strip():
            continue
        try:
            record = json.loads(line)
        except (ValueError, RecursionError) as error:
            raise HedgerowError(f"{path.name!r}, line {number}: expected JSON.") from error
        if not isinstance(record, dict):
            raise HedgerowError(
                f"{path.name!r}, line {number}: expected an object with anchor and text."
            )
        yield number, record


_READERS = {".csv": _csv_records, ".tsv": _tsv_records, ".jsonl": _jsonl_records}


def _probe(record: Mapping[str, object], path: Path, line: int) -> Probe:
    values = {}
    for name in Probe._fields:
        value = record.get(name, "" if name == "label" else None)
        if not isinstance(value, str):
            raise HedgerowError(f"{path.name!r}, line {line}: expected a text as {name}.")
        try:
            values[name] = canonical(value)
        except HedgerowError as error:
            raise HedgerowError(f"{path.name!r}, line {line}: {error}") from error
    for name in ("anchor", "text"):
        if not values[name]:
            raise HedgerowError(f"{path.name!r}, line {line}: {name} is empty; write a sentence.")
    return Probe(**values)
