"""What releases have in common with the benchmarks that this project knows.

Known are the data that were given to it: they are kept in the data folder, suites of one's own
sentences among them. A comparison is made once; ``curation.release.overlap_results`` keeps it.
"""

from __future__ import annotations

import logging
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

from sqlalchemy.orm import Session

from curation.release.overlap import SHORTEST, Overlap, Runs, overlap
from curation.release.overlap_results import OverlapWithTest, keep, kept, records_of, texts_of
from db.errors import HedgerowError
from db.models import Release
from training.benchmarks.catalogue import benchmark
from training.benchmarks.data.sources import kept_data
from training.benchmarks.definition import Benchmark

Report = Callable[[int, int, str], None]
"""Called with the data compared, all of them, and what is going on; may raise to stop."""

logger = logging.getLogger(__name__)


class Known(NamedTuple):
    """The data of a benchmark that are kept with the project.

    Attributes:
        data: what people call them.
        key: of their content.
        path: a file, or a folder of files.
    """

    benchmark: type[Benchmark[Any]]
    data: str
    key: str
    path: Path


def known(data_folder: Path) -> list[Known]:
    """The benchmarks' data that are kept with the project, in the catalogue's order.

    The same content under several names is known by the latest of them.
    """
    found: dict[tuple[str, str], Known] = {}
    for data in kept_data(data_folder):
        path = data_folder / data.file
        key = path.name.partition("-")[0]
        entry = Known(benchmark(data.benchmark), data.name, key, path)
        found.setdefault((data.benchmark, key), entry)
    return list(found.values())


def missing(data_folder: Path, content_hash: str, *, n: int = SHORTEST) -> list[Known]:
    """The known data that the release with this content has not been compared with."""
    there = {(c.benchmark, c.key) for c in kept(data_folder, content_hash, n=n)}
    return [k for k in known(data_folder) if (k.benchmark.id, k.key) not in there]


def compare(
    session: Session,
    data_folder: Path,
    release: Release,
    *,
    n: int = SHORTEST,
    report: Report | None = None,
) -> list[OverlapWithTest]:
    """A release compared with all known data: what is kept, and now what is not.

    Data that can't be read are told as such. 2,000 anchors with their variants and SemAntoNeg's
    12,608 sentences take about a second.

    Args:
        n: words of a run.

    Raises:
        HedgerowError: n is below `SHORTEST`.
    """
    found = kept(data_folder, release.content_hash, n=n)
    wanted = missing(data_folder, release.content_hash, n=n)
    if not wanted:
        return found
    runs = _runs(session, release, n, report)
    for number, data in enumerate(wanted):
        if report is not None:
            report(number, len(wanted), f"Comparing the release with {data.benchmark.title}.")
        compared = _compared(session, release, data, runs)
        found.append(compared)
        try:
            keep(data_folder, compared)
        except HedgerowError as error:  # then it is found out anew the next time
            logger.warning("overlap: %s", error)
    return sorted(found, key=lambda c: (c.title, c.data, c.key))


def _runs(session: Session, release: Release, n: int, report: Report | None) -> Runs:
    if report is not None:
        report(0, 0, "Comparing the release with the benchmarks.")
    return Runs(texts_of(session, release.id), n=n)


def _compared(session: Session, release: Release, data: Known, runs: Runs) -> OverlapWithTest:
    found, problem, key = Overlap(runs.n, 0, 0, 0, ()), "", release.id
    try:
        read = data.benchmark.read(data.path)
        found = overlap(read.samples(), runs, texts=texts_of(session, key))
    except HedgerowError as error:
        problem = str(error).replace(repr(str(data.path)), "its data")
    texts = [example.release_text for example in found.examples]
    records = records_of(session, key, texts) if texts else {}
    return OverlapWithTest(
        release.content_hash,
        data.benchmark.id,
        data.benchmark.title,
        data.data,
        data.key,
        found,
        tuple(records.get(text, "") for text in texts),
        problem,
    )
