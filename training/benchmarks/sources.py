"""The source of a benchmark's items: a stored file, a release, or the model hub.

A file is stored in the data folder under the hash of its content, `benchmarks/ID/HASH-NAME`. A run
finds it on any host that can read the folder, and identical files are stored once.
"""

import hashlib
import os
import re
import shutil
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, NamedTuple

from pydantic import BaseModel, ConfigDict, Field
from sqlalchemy.orm import Session

from curation.decisions.roles import require
from curation.release.freezing import get_release
from db.errors import HedgerowError
from db.models import Split, TeamRole
from db.named_files import expanded, read_bytes
from db.run_process import make_folder
from training.benchmarks.catalogue import all_benchmarks, benchmark
from training.benchmarks.definition import Benchmark
from training.benchmarks.file_reading import HUB, LARGEST_FILE, local
from training.benchmarks.tasks.excluir import CORPUS, QUERIES, ExcluIR
from training.benchmarks.tasks.own_families import Hedgerow
from training.benchmarks.tasks.semantoneg import SemAntoNeg, from_forms, written

FOLDER = "benchmarks"

_HASH_DIGITS = 16
_LONGEST_NAME = 80
_NOT_IN_NAMES = re.compile(r"[^\w.-]+", re.ASCII)


class DataChoice(BaseModel):
    """A benchmark and the source of its items.

    Attributes:
        benchmark: its id.
        data: a stored file, relative to the data folder; '' for the model hub or a release.
        data_name: the name of the file for people; '' means its own name.
        release: the number of the release, for Hedgerow's own benchmark; None for the newest.
        split: of the release.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    benchmark: str = Field(max_length=120)
    data: str = Field(default="", max_length=500)
    data_name: str = Field(default="", max_length=200)
    release: int | None = None
    split: Split = Split.TEST


class KeptData(NamedTuple):
    """A benchmark file that is stored with the project.

    Attributes:
        benchmark: its id.
        file: relative to the data folder; for ExcluIR a folder with both of its files.
        name: its original name without characters that some file systems refuse.
    """

    benchmark: str
    file: str
    name: str

    @property
    def choice(self) -> DataChoice:
        """The same as a choice for a run."""
        return DataChoice(benchmark=self.benchmark, data=self.file, data_name=self.name)


class OpenData(NamedTuple):
    """A benchmark with its items.

    Attributes:
        where: the source of the items, for people.
        origin: the source for programs: 'file', or 'release' and 'split'.
    """

    benchmark: Benchmark[Any]
    where: str
    origin: dict[str, Any]


def keep_data(
    data_folder: Path, name: str, files: Mapping[str, bytes], *, folder: str = FOLDER
) -> KeptData:
    """Store the file of a benchmark, or both files of ExcluIR. Identical files are stored once.

    A file with four forms of a sentence per line is stored as the suite that is built from it.

    Args:
        data_folder: of the project.
        name: id of the benchmark.
        files: content by name.
        folder: relative to the data folder; a folder other than `FOLDER` for data that is not a
            test.

    Raises:
        HedgerowError: the file is not from this benchmark or can't be stored (then nothing is left
            behind), or the reviewer is not a lead.
    """
    require(TeamRole.LEAD)
    kind = benchmark(name)
    named = _named(kind, files)
    shown = next(iter(named)) if len(named) == 1 else _safe(next(iter(files)))
    target = data_folder / folder / name / f"{_digest(named)}-{shown}"
    if target.exists():
        os.utime(target)  # it is the latest one
    else:
        make_folder(target.parent)
        try:
            _store(kind, named, shown, target)
        except HedgerowError:
            _remove_if_empty(target.parent, data_folder / folder, data_folder)
            raise
    return KeptData(name, target.relative_to(data_folder).as_posix(), shown)


def keep_file_here(data_folder: Path, name: str, path: Path, *, folder: str = FOLDER) -> KeptData:
    """Store a local file, like `keep_data`; for ExcluIR its folder, or either of its files.

    Raises:
        HedgerowError: as in `keep_data`, or the file can't be read.
    """
    kind = benchmark(name)
    path = expanded(path)
    paths = [path]
    if kind is ExcluIR:
        paths = _both_files(path)
    largest = LARGEST_FILE
    files = {path.name: read_bytes(path, kind="a benchmark", largest=largest) for path in paths}
    return keep_data(data_folder, name, files, folder=folder)


def _both_files(path: Path) -> list[Path]:
    """ExcluIR's queries and corpus, from a folder or from one of the two files."""
    folder = path if path.is_dir() else path.parent
    queries = folder / QUERIES if path.is_dir() or path.name == CORPUS else path
    paths = [queries, folder / CORPUS]
    if missing := [file.name for file in paths if not file.is_file()]:
        raise HedgerowError(
            f"Expected a folder with both of ExcluIR's files, {QUERIES} and {CORPUS}, but "
            f"{str(path)!r} has no {' and no '.join(missing)}; use a folder with both."
        )
    return paths


@contextmanager
def data_for_now(data_folder: Path, name: str, path: Path) -> Iterator[KeptData]:
    """Read and store a local file like `keep_file_here`, and remove it afterwards."""
    parent = make_folder(data_folder / FOLDER)
    try:
        with tempfile.TemporaryDirectory(dir=parent, prefix=".now-") as now:
            kept = keep_file_here(Path(now), name, path)
            yield kept._replace(file=(Path(now) / kept.file).relative_to(data_folder).as_posix())
    finally:
        _remove_if_empty(parent, data_folder)


def _remove_if_empty(*folders: Path) -> None:
    for folder in folders:
        with suppress(OSError):
            folder.rmdir()


def kept_data(data_folder: Path, name: str = "", *, folder: str = FOLDER) -> list[KeptData]:
    """The stored files by benchmark, the latest name first; for one benchmark, or for all.

    Args:
        folder: as in `keep_data`.
    """
    found = []
    for kind in all_benchmarks():
        place = data_folder / folder / kind.id
        if name in ("", kind.id) and place.is_dir():
            entries = [entry for entry in place.iterdir() if not entry.name.startswith(".")]
            for entry in sorted(entries, key=lambda path: -path.stat().st_mtime_ns):
                file = entry.relative_to(data_folder).as_posix()
                found.append(KeptData(kind.id, file, entry.name[_HASH_DIGITS + 1 :]))
    return found


def latest_data(data_folder: Path, name: str) -> DataChoice:
    """A benchmark with its latest file, or without a file."""
    kept = kept_data(data_folder, benchmark(name).id)
    return kept[0].choice if kept else DataChoice(benchmark=name)


def require_data(session: Session, data_folder: Path, choice: DataChoice) -> DataChoice:
    """The choice with the number of its release. Items are only read for a release.

    Raises:
        HedgerowError: no such benchmark, release or file, or the release has no such items.
    """
    kind = benchmark(choice.benchmark)
    if kind is Hedgerow:
        release = get_release(session, choice.release)
        Hedgerow.of_release(session, release.id, split=choice.split)
        return choice.model_copy(update={"release": release.number, "data": "", "data_name": ""})
    if not choice.data and not kind.hub:
        raise no_file(kind)
    if choice.data:
        _place(data_folder, choice)
    return choice


def require_hub(choice: DataChoice) -> None:
    """Download the data of a choice from the model hub, so that a run will not fail without it.

    This may take a while. Call it outside any transaction.

    Raises:
        HedgerowError: the hub can't be reached, or has no such file.
    """
    kind = benchmark(choice.benchmark)
    if kind.hub and not choice.data:
        local(kind.hub)


def open_data(session: Session, data_folder: Path, choice: DataChoice) -> OpenData:
    """The benchmark with the items of a choice. Data from the hub is cached.

    Raises:
        HedgerowError: as `require_data`, or the hub can't be reached.
    """
    kind = benchmark(choice.benchmark)
    if kind is Hedgerow:
        release = get_release(session, choice.release)
        return OpenData(
            Hedgerow.of_release(session, release.id, split=choice.split),
            f"release {release.number}, {choice.split} split",
            {"release": release.number, "split": choice.split.value},
        )
    if choice.data:
        path = _place(data_folder, choice)
        return OpenData(kind.read(path), choice.data_name or path.name, {"file": choice.data})
    kept = keep_data(data_folder, kind.id, _from_the_hub(kind))
    where = f"{kind.hub.removeprefix(HUB)} on the model hub"
    return OpenData(kind.read(data_folder / kept.file), where, {"file": kept.file})


def _place(data_folder: Path, choice: DataChoice) -> Path:
    path = data_folder / choice.data
    inside = path.resolve().is_relative_to((data_folder / FOLDER).resolve())
    if not inside or not path.exists():
        raise HedgerowError(
            f"Expected the file {choice.data[:200]!r} of {benchmark(choice.benchmark).title} in "
            "the data folder, found none; choose the data again."
        )
    return path


def _from_the_hub(kind: type[Benchmark[Any]]) -> dict[str, bytes]:
    """The published file, named after its data set."""
    if not kind.hub:
        raise no_file(kind)
    path = local(kind.hub)
    return {f"{kind.hub.split('/')[1]}-{path.name}": path.read_bytes()}


def no_file(kind: type[Benchmark[Any]]) -> HedgerowError:
    """The error for a missing file of a benchmark that is not on the model hub."""
    try:
        kind.read("")  # names the source
    except HedgerowError as error:
        return error
    return HedgerowError(f"Expected a file of {kind.title}, found none; add one.")


def _named(kind: type[Benchmark[Any]], files: Mapping[str, bytes]) -> dict[str, bytes]:
    """The files under the names that the benchmark expects."""
    if kind is Hedgerow:
        kind.read("")  # asks for a release
    if kind is ExcluIR:
        corpora = [name for name in files if "corpus" in name.lower()]
        if len(files) != 2 or len(corpora) != 1:
            raise HedgerowError(
                f"Expected ExcluIR's {QUERIES} and {CORPUS}, found {len(files)} "
                f"file{'' if len(files) == 1 else 's'}; choose both."
            )
        return {CORPUS if name in corpora else QUERIES: files[name] for name in sorted(files)}
    if len(files) != 1:
        raise HedgerowError(f"Expected one file of {kind.title}, found {len(files)}.")
    ((name, content),) = files.items()
    return _of_forms(_safe(name), content) if kind is SemAntoNeg else {_safe(name): content}


def _of_forms(name: str, content: bytes) -> dict[str, bytes]:
    """A file for SemAntoNeg. A file with four forms per line becomes the suite built from them."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / name
        path.write_bytes(content)
        made = from_forms(path)
    return {name: content} if made is None else {f"{Path(name).stem}.jsonl": written(made)}


def _digest(named: Mapping[str, bytes]) -> str:
    """The SHA-256 of a file; for several files, the SHA-256 of their hashes."""
    hashes = [hashlib.sha256(content).hexdigest() for _, content in sorted(named.items())]
    whole = hashes[0] if len(hashes) == 1 else hashlib.sha256("".join(hashes).encode()).hexdigest()
    return whole[:_HASH_DIGITS]


def _store(
    kind: type[Benchmark[Any]], named: Mapping[str, bytes], shown: str, target: Path
) -> None:
    """Write the files to a temporary place, check that they can be read, and move them."""
    try:
        with tempfile.TemporaryDirectory(dir=target.parent, prefix=".new-") as folder:
            whole = Path(folder) / "whole"
            whole.mkdir()
            for name, content in named.items():
                (whole / name).write_bytes(content)
            made = whole if len(named) > 1 else whole / next(iter(named))
            try:
                kind.read(made)
            except HedgerowError as error:  # it contains a path that the user did not choose
                raise HedgerowError(str(error).replace(f"{whole}/", "")) from error
            shutil.move(made, target)
    except OSError as error:
        raise HedgerowError(f"{shown!r} could not be stored: {error.strerror}.") from error


def _safe(name: str) -> str:
    """A file's name without folders and special characters. It keeps its extension."""
    path = Path(_NOT_IN_NAMES.sub("_", Path(name.replace("\\", "/")).name) or "data")
    suffix = path.suffix[:12]
    return f"{path.stem.lstrip('.')[: _LONGEST_NAME - len(suffix)] or 'data'}{suffix}"
