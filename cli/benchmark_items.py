"""A suite from the user's own sentences, and items that several models get wrong."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.table import Table
from sqlalchemy.orm import Session

from cli.options import open_home
from cli.terminal import LARGEST_NUMBER, AsJson, ReleaseNumber, show, table_of
from curation.formatting import counted
from curation.release.freezing import release_numbers
from db.engine import reading
from db.errors import HedgerowError
from db.models import Split
from db.named_files import expanded, resolved
from training.benchmarks.catalogue import benchmark
from training.benchmarks.results.common_errors import CommonErrors, common_errors
from training.benchmarks.results.queries import NEGATION, Scored, by_column, full_result, newest
from training.benchmarks.tasks.semantoneg import (
    built_of,
    read_forms,
    release_forms,
    suite,
    written,
    written_forms,
)
from training.benchmarks.tasks.suite_sentences import Built, Unturned

# -- Writing a suite from the user's own sentences -------------------------------------------------


def make_suite(
    file: Annotated[Path, typer.Argument(metavar="OUT", help="The file to write, JSON Lines.")],
    forms: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE",
            help="A table or JSON Lines with the columns original, negation ('not' removed or "
            "added), antonym and both. Default: a release.",
        ),
    ] = None,
    sentences: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE",
            help="Sentences, one per line, or a table with the column sentence, or sentence1 "
            "and sentence2 for paraphrase pairs. WordNet's antonyms give the other forms.",
        ),
    ] = None,
    release: ReleaseNumber = None,
    split: Annotated[Split, typer.Option(help="Split of the release.")] = Split.TEST,
    as_forms: Annotated[
        bool,
        typer.Option(
            "--as-forms",
            help="Write the four forms of each sentence to a file that you can correct and use "
            "with --forms.",
        ),
    ] = False,
    as_json: AsJson = False,
) -> None:
    """Write a suite like SemAntoNeg from your own sentences, in four forms each."""
    named = {"--forms": forms, "--sentences": sentences, "--release": release}
    given = [name for name, value in named.items() if value is not None]
    if len(given) > 1:
        raise HedgerowError(f"Expected {given[0]} or {given[1]}, found both; remove one.")
    found = Built([], [])
    if sentences is not None:
        found = built_of(expanded(sentences))
    elif forms is not None:
        found.forms.extend(read_forms(forms))
    else:
        with reading(open_home()[1]) as session:
            _require_release(session)
            found.forms.extend(release_forms(session, release, split=split))
    made = suite(found.forms)
    _write_new(file, written_forms(found.forms) if as_forms else written(made))
    place = resolved(file)
    how = f"To run it: hedgerow benchmark {made.id} --model PATH --data {place}"
    summary = f"Wrote {len(made.items):,} items to {place}. {how}"
    if as_forms:
        summary = f"Wrote {counted(len(found.forms), 'sentence')} in four forms to {place}."
    result: dict[str, Any] = {"file": str(place), "items": len(made.items)}
    if sentences is not None:
        result["unturned"] = [
            {"sentence": one.sentence, "reason": one.description} for one in found.unturned
        ]
    show(result, as_json, summary, *_unturned_table(found.unturned))


def _require_release(session: Session) -> None:
    if not release_numbers(session):
        raise HedgerowError(
            "Expected --sentences or --forms with a file, or a release with sentences, found "
            "none; give a file, or create a release with 'hedgerow release create'."
        )


def _unturned_table(unturned: Sequence[Unturned]) -> list[str | Table]:
    """Sentences without forms, with the reasons."""
    if not unturned:
        return []
    rows = ((u.sentence, u.description) for u in unturned)
    return [
        f"No forms for {counted(len(unturned), 'sentence')}:",
        table_of("sentence", "reason", rows=rows),
    ]


def _write_new(file: Path, content: bytes) -> None:
    """Write a new file, completely or not at all.

    Raises:
        HedgerowError: it already exists, or its folder does not.
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
            f"Expected a new file, but {str(file)!r} already exists; choose another, or move it "
            "away."
        ) from error
    except FileNotFoundError as error:
        raise HedgerowError(
            f"Expected a folder for {file.name!r}, but {str(file.parent)!r} does not exist; "
            "create it, or choose another."
        ) from error


# -- Items that several models get wrong -----------------------------------------------------------


SHOWN = 20
"""Maximum number of items and parts shown to people; --json has all."""


def errors(
    name: Annotated[str, typer.Argument(metavar="NAME", help="The benchmark.")],
    model: Annotated[
        list[str] | None,
        typer.Option(
            metavar="NAME", help="Only these models, by their names in 'hedgerow benchmarks'."
        ),
    ] = None,
    at_least: Annotated[
        int | None,
        typer.Option(
            metavar="N",
            min=1,
            max=LARGEST_NUMBER,
            help="Smallest number of models that are wrong. Default: all of them.",
        ),
    ] = None,
    as_json: AsJson = False,
) -> None:
    """List the items of a benchmark that all or most models get wrong."""
    title = benchmark(name).title
    settings, engine = open_home()
    with reading(engine) as session:
        rows = _of_newest_data(newest(session, kind=NEGATION, benchmark=name))
    chosen = [
        row for row in rows if not model or {row.model, row.title, row.full_title} & set(model)
    ]
    results = {
        row.full_title if as_json else row.title: full_result(settings.data_folder, row)
        for row in chosen
    }
    found = common_errors(results, least=at_least)
    data = chosen[0].data
    summary = (
        f"{len(found.errors):,} of {found.items:,} items of {title} ({data}) are wrong in at "
        f"least {found.least} of {len(found.models)} models: {', '.join(found.models)}."
    )
    show(_facts(name, data, found), as_json, summary, *_tables(found), *_more(found))


def _more(found: CommonErrors) -> list[str]:
    """A sentence that the tables are shortened, if they are."""
    longest = max(len(found.errors), len(found.parts))
    return [f"The tables show the first {SHOWN}; --json has all."] if longest > SHOWN else []


def _of_newest_data(rows: list[Scored]) -> list[Scored]:
    """The results on the data most recently measured with two models.

    Raises:
        HedgerowError: there are none.
    """
    kept = [row for row in rows if row.file]
    for column in dict.fromkeys(row.column for row in kept):
        if len(found := by_column(kept, column)) > 1:
            return list(found.values())
    raise HedgerowError(
        "Expected results of at least two models on the same items, found none; run 'hedgerow "
        "benchmark' with another model."
    )


def _facts(name: str, data: str, found: CommonErrors) -> dict[str, Any]:
    return {
        "benchmark": name,
        "data": data,
        "models": list(found.models),
        "items": found.items,
        "at_least": found.least,
        "by_count": list(found.by_count),
        "errors": [
            {"item": error.row.key, "wrong": list(error.wrong), "texts": dict(error.row.texts)}
            for error in found.errors
        ],
        "parts": [part._asdict() for part in found.parts],
    }


def _tables(found: CommonErrors) -> list[Any]:
    if not found.errors:
        return []
    parts = ((part.part, part.errors, part.items) for part in found.parts[:SHOWN])
    items = (
        (error.row.key, len(error.wrong), next(iter(error.row.texts.values()), ""))
        for error in found.errors[:SHOWN]
    )
    tables = [table_of("item", "models wrong", "text", rows=items)]
    return tables + ([table_of("part", "errors", "items", rows=parts)] if found.parts else [])
