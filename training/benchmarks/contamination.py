"""The overlap of releases with the benchmark data that is stored in the project.

This includes suites of the user's own sentences. Each comparison is made once and stored by
``curation.release.overlap_results``. The bundled retention texts are compared in the same way.
"""

import logging
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from sqlalchemy.orm import Session

from curation.formatting import counted
from curation.release.export import release_folder
from curation.release.freezing import get_release
from curation.release.overlap import SHORTEST, Overlap, Runs, by_field, overlap
from curation.release.overlap_results import (
    OverlapWithTest,
    fields_of,
    keep,
    kept,
    records_of,
    texts_of,
)
from db import Report
from db.engine import reading
from db.errors import HedgerowError
from db.execution import Result, RunContext
from db.models import Release
from training.benchmarks.catalogue import benchmark
from training.benchmarks.definition import Benchmark
from training.benchmarks.sources import kept_data
from training.retention.texts import bundled_texts, texts_hash

logger = logging.getLogger(__name__)


class Known(NamedTuple):
    """Data of a benchmark that is stored with the project.

    Attributes:
        data: the name for people.
        key: identifies the content.
        path: a file, or a folder of files.
    """

    benchmark: type[Benchmark[Any]]
    data: str
    key: str
    path: Path


class _Compared(NamedTuple):
    """The texts that benchmarks are compared with: a release, or the bundled texts.

    Attributes:
        name: for people.
        content_hash: the key of the stored comparisons.
        texts: iterates over all texts, from the start at each call.
        fields: the texts by field; None if there are no fields.
        records: for these texts, the uids of the variants that contain them.
    """

    name: str
    content_hash: str
    texts: Callable[[], Iterable[str]]
    fields: Callable[[], Mapping[str, Iterable[str]]] | None
    records: Callable[[Sequence[str]], Mapping[str, str]]


def known(data_folder: Path) -> list[Known]:
    """The benchmark data that is stored with the project, in the catalogue's order.

    Content that was stored under several names has the latest name.
    """
    found: dict[tuple[str, str], Known] = {}
    for data in kept_data(data_folder):
        path = data_folder / data.file
        key = path.name.partition("-")[0]
        entry = Known(benchmark(data.benchmark), data.name, key, path)
        found.setdefault((data.benchmark, key), entry)
    return list(found.values())


def missing(data_folder: Path, content_hash: str, *, n: int = SHORTEST) -> list[Known]:
    """The stored data that these texts have not been compared with."""
    there = {(c.benchmark, c.key) for c in kept(data_folder, content_hash, n=n) if c.whole}
    return [k for k in known(data_folder) if (k.benchmark.id, k.key) not in there]


def compare(
    session: Session,
    data_folder: Path,
    release: Release,
    *,
    n: int = SHORTEST,
    report: Report | None = None,
) -> list[OverlapWithTest]:
    """The overlap of a release with all stored data. Missing comparisons are made now.

    Data that can't be read is reported. 2,000 anchors with their variants and SemAntoNeg's 12,608
    sentences take about a second.

    Args:
        n: number of words in a sequence.

    Raises:
        HedgerowError: n is below `SHORTEST`.
    """
    key = release.id
    compared = _Compared(
        "the release",
        release.content_hash,
        lambda: texts_of(session, key),
        lambda: fields_of(session, key),
        lambda texts: records_of(session, key, texts),
    )
    return _compare(data_folder, compared, n, report)


def compare_bundled_texts(
    data_folder: Path, *, report: Report | None = None
) -> list[OverlapWithTest]:
    """The overlap of the bundled retention texts with all stored data."""
    compared = _Compared(
        "bundled texts",
        texts_hash(),
        lambda: (entry.text for entry in bundled_texts()),
        None,
        lambda _: {},
    )
    return _compare(data_folder, compared, SHORTEST, report)


def bundled_texts_description(found: Sequence[Mapping[str, Any]]) -> str:
    """A sentence about the overlap of the bundled texts with benchmarks. Contains file names.

    Args:
        found: the ``OverlapWithTest.facts`` of each comparison.

    Returns:
        The sentence, or "" if nothing was compared.
    """
    read = [facts for facts in found if not facts.get("problem")]
    if not read:
        return ""
    n = read[0]["n"]
    shared = [
        f"{facts['overlapping']:,} of {facts['items']:,} items of {facts['title']} "
        f"({facts['data']})"
        for facts in read
        if facts["overlapping"]
    ]
    if not shared:
        return (
            f"No item in the benchmark files shares {n} consecutive words with the bundled "
            "retention texts."
        )
    *others, last = shared
    items = f"{', '.join(others)} and {last}" if others else last
    exact = sum(facts["exact"] for facts in read)
    have = "has" if exact == 1 else "have"
    whole = f"; {counted(exact, 'item')} {have} a text that also appears in full"
    return (
        f"The bundled retention texts share {n} consecutive words with "
        f"{items}{whole if exact else ''}."
    )


def _compare(
    data_folder: Path, compared: _Compared, n: int, report: Report | None
) -> list[OverlapWithTest]:
    """The stored comparisons, and the missing ones, which are made now."""
    wanted = missing(data_folder, compared.content_hash, n=n)
    again = {(data.benchmark.id, data.key) for data in wanted}
    found = [
        c
        for c in kept(data_folder, compared.content_hash, n=n)
        if (c.benchmark, c.key) not in again
    ]
    if not wanted:
        return found
    if report is not None:
        report(0, 0, f"Comparing {compared.name} with the benchmarks.")
    runs = _release_runs(compared, n)
    for number, data in enumerate(wanted):
        if report is not None:
            report(number, len(wanted), f"Comparing {compared.name} with {data.benchmark.title}.")
        result = _with_test(compared, data, runs)
        found.append(result)
        try:
            keep(data_folder, result)
        except HedgerowError as error:  # it is computed again next time
            logger.warning("overlap: %s", error)
    return sorted(found, key=lambda c: (c.title, c.data, c.key))


class _ReleaseRuns(NamedTuple):
    """The word sequences of all texts, and of each field; no fields for the bundled texts."""

    whole: Runs
    fields: dict[str, Runs]


def _release_runs(compared: _Compared, n: int) -> _ReleaseRuns:
    if compared.fields is None:
        return _ReleaseRuns(Runs(compared.texts(), n=n), {})
    fields = {name: Runs(texts, n=n) for name, texts in compared.fields().items()}
    return _ReleaseRuns(Runs.joined(list(fields.values()), n=n), fields)


def _with_test(compared: _Compared, data: Known, runs: _ReleaseRuns) -> OverlapWithTest:
    found, fields, problem = Overlap(runs.whole.n, 0, 0, 0, ()), [], ""
    try:
        read = data.benchmark.read(data.path)
        found = overlap(read.samples(), runs.whole, texts=compared.texts())
        fields = by_field(read.sides(), runs.fields)
    except HedgerowError as error:
        problem = str(error).replace(repr(str(data.path)), "its data")
    texts = [example.release_text for example in found.examples]
    records = compared.records(texts) if texts else {}
    return OverlapWithTest(
        compared.content_hash,
        data.benchmark.id,
        data.benchmark.title,
        data.data,
        data.key,
        found,
        tuple(records.get(text, "") for text in texts),
        problem,
        tuple(fields),
    )


# -- Export runs (kind ``export``), which write a release to a folder and a ZIP file --------------


EXPORT_KIND = "export"


def compare_and_export(context: RunContext) -> Result:
    """Export a release. Parameters and result are those of `export_run.work`.

    The data card reports overlap with benchmarks, so the release is compared with them first.
    """
    with reading(context.engine) as session:
        release = get_release(session, context.parameters.get("release"))
        compare(session, context.settings.data_folder, release, report=context.update)
    return release_folder.work(context)
