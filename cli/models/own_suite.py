"""Writing a suite of one's own sentences."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from cli.shared.home import open_home
from cli.shared.terminal import AsJson, ReleaseNumber, show
from db.engine import reading
from db.errors import HedgerowError
from db.models import Split
from db.named_files import resolved
from training.benchmarks.tasks.suites import of_release, read_forms, suite, written


def make_suite(
    file: Annotated[Path, typer.Argument(metavar="OUT", help="The file to write, JSON Lines.")],
    forms: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE",
            help="A table or JSON Lines with the columns original, "
            "negation, antonym and both; otherwise a release.",
        ),
    ] = None,
    release: ReleaseNumber = None,
    split: Annotated[Split, typer.Option(help="Of the release.")] = Split.TEST,
    as_json: AsJson = False,
) -> None:
    """Write a suite in SemAntoNeg's manner, of your own sentences in four forms each."""
    if forms is not None and release is not None:
        raise HedgerowError("Expected --forms or --release, found both; leave one out.")
    if forms is not None:
        made = suite(read_forms(forms))
    else:
        with reading(open_home()[1]) as session:
            made = of_release(session, release, split=split)
    _write_new(file, written(made))
    place = resolved(file)
    result = {"file": str(place), "items": len(made.items)}
    how = f"hedgerow benchmark {made.id} --model PATH --data {place}"
    show(result, as_json, f"Wrote {len(made.items):,} items to {place}. To measure a model: {how}")


def _write_new(file: Path, content: bytes) -> None:
    """Write a file that is not there yet, whole or not at all.

    Raises:
        HedgerowError: it is there; whatever it holds, it is somebody's.
    """
    try:
        with file.open("xb") as out:
            try:
                out.write(content)
                out.flush()
            except BaseException:
                file.unlink(missing_ok=True)
                raise
    except FileExistsError as error:
        raise HedgerowError(
            f"Expected a new file to write, but {str(file)!r} is there already; name another, or "
            "move it away."
        ) from error
