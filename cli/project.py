"""Create, count, copy, back up, restore and check a project; list plug-ins."""

from pathlib import Path
from typing import Annotated, Any

import typer
from rich.table import Table

from cli.options import open_home
from cli.terminal import AsJson, show, table_of
from curation.formatting import counted
from curation.overview.next_steps import project_counts
from curation.upkeep.backup_file import make_backup
from curation.upkeep.checking import check_project
from curation.upkeep.copying import copy_project
from curation.upkeep.facts import size_text
from curation.upkeep.restoring import restore_backup
from db.engine import reading
from db.failures import shown_address
from db.models import Status
from db.named_files import resolved
from db.settings import load_settings
from hedgerow.corpora import load_starter
from hedgerow.progress import progress_bar
from training.runs.kinds import kind_of

# -- Create the project or upgrade its database ----------------------------------------------------


def init(
    empty: Annotated[bool, typer.Option("--empty", help="Do not load any corpus.")] = False,
    as_json: AsJson = False,
) -> None:
    """Create or upgrade the database and load the starter corpus, passages and exclusions.

    Running it again changes nothing.
    """
    home = open_home(create=True)
    added = {"anchors": 0, "variants": 0, "decisions": 0}
    if not empty:
        added = load_starter(home)._asdict()
    database = shown_address(home.engine.url)
    show(
        {"database": database, "added": added},
        as_json,
        f"The database is {database}.",
        f"Added {counted(added['anchors'], 'anchor')}, {counted(added['variants'], 'variant')} and "
        f"{counted(added['decisions'], 'decision')}.",
        "Next: run 'hedgerow app' to open the browser app, or 'hedgerow status' to see the counts.",
    )


# -- Count what the project contains ---------------------------------------------------------------


def status(as_json: AsJson = False) -> None:
    """Count anchors, variants and releases, and list the latest runs and all unfinished ones."""
    settings, engine = open_home()
    with reading(engine) as session:
        result = project_counts(session, settings)
    there = [[name, *row.values()] for name, row in result["variants"].items() if any(row.values())]
    releases, encoders = result["releases"], result["encoders"]
    runs = {run["run"]: run for run in [*result["runs"], *result["under_way"]]}
    show(
        result,
        as_json,
        f"The database is {result['database']}.",
        f"It contains {counted(result['anchors'], 'anchor')} and "
        f"{counted(len(releases), 'release')}.",
        *([f"Measured with {'; '.join(e['name'] for e in encoders)}."] if encoders else []),
        *([table_of("type", *Status, rows=there)] if there else []),
        *([_run_table([runs[number] for number in sorted(runs, reverse=True)])] if runs else []),
    )


def _run_table(runs: list[dict[str, Any]]) -> Table:
    names = ("run", "kind", "state", "message")
    return table_of(
        *names,
        rows=(
            [run["run"], kind_of(run["kind"]).title, run["state"], run["message"]] for run in runs
        ),
    )


# -- Plug-ins from other packages ------------------------------------------------------------------


NONE = "No plug-ins are installed. docs/plug_ins.md shows how to write one."


def plug_ins(as_json: AsJson = False) -> None:
    """List the plug-ins of installed packages, with any problems."""
    from training.plug_ins import list_plug_ins  # noqa: PLC0415  (it loads what they extend)

    found = list_plug_ins()
    result = {"plug_ins": [one._asdict() for one in found]}
    if not found:
        show(result, as_json, NONE)
        return
    rows = [
        [one.name, one.kind, one.package, one.version, "no" if one.problem else "yes"]
        for one in found
    ]
    table = table_of("plug-in", "kind", "package", "version", "usable", rows=rows)
    show(result, as_json, table, *(one.problem for one in found if one.problem))


# -- Back up the project ---------------------------------------------------------------------------


def backup(
    file: Annotated[Path, typer.Argument(help="The zip file to write. It must not exist yet.")],
    without_artifacts: Annotated[
        bool,
        typer.Option("--without-artifacts", help="Leave out models, exports and logs."),
    ] = False,
    as_json: AsJson = False,
) -> None:
    """Write the whole project to one file: the database, models, exports and logs.

    Others can keep working: the backup contains a consistent snapshot of the database.
    """
    settings, engine = open_home()
    with progress_bar() as report:
        made = make_backup(
            engine, settings, resolved(file), artifacts=not without_artifacts, report=report
        )
    files = "no artifacts" if made.files is None else counted(made.files, "artifact")
    show(
        made.facts,
        as_json,
        f"Backup saved as {made.path} ({size_text(made.size)}): the database and {files}.",
        "Run 'hedgerow db restore FILE' to restore it.",
    )


# -- Check the project -----------------------------------------------------------------------------


def check(
    repair: Annotated[
        bool,
        typer.Option(
            "--repair",
            help="Recompute values that can be derived from other data. Decisions, texts and "
            "files are not changed.",
        ),
    ] = False,
    as_json: AsJson = False,
) -> None:
    """Check the project's consistency: rows, status, search, releases, files and runs.

    The exit code is 1 if there are problems, or if problems remain after a repair.
    """
    settings, engine = open_home()
    with progress_bar() as report:
        result = check_project(engine, settings, repair=repair, report=report)
    show(result.facts, as_json, *(finding.sentence() for finding in result.findings))
    if not result.is_clean:
        raise typer.Exit(1)


# -- Copy the project's database to another one ----------------------------------------------------


def copy(
    url: Annotated[
        str,
        typer.Argument(
            metavar="URL",
            help="For example postgresql://host/name or sqlite:////folder/hedgerow.db.",
        ),
    ],
    as_json: AsJson = False,
) -> None:
    """Copy the project's database to an empty one: SQLite or PostgreSQL, in either direction.

    Both databases are compared row by row at the end. Models, exports and logs are not copied.
    Nobody should work in the project meanwhile, because changes made during the copy are not
    included.
    """
    settings, engine = open_home()
    with progress_bar() as report:
        moved = copy_project(engine, settings, url, report=report)
    show(
        moved.facts,
        as_json,
        f"Copied {counted(moved.rows_in_all, 'row')} to {moved.target}. Both databases have the "
        f"content hash {moved.content_hash}.",
        f"Models, exports and logs stay in {settings.data_folder}.",
        "To use the copy, set HEDGEROW_DATABASE_URL to its address and HEDGEROW_HOME to "
        f"{settings.home}. On another machine, copy that folder as well.",
    )


# -- Restore a backup ------------------------------------------------------------------------------


def restore(
    file: Annotated[
        Path, typer.Argument(help="A backup, or the copy (.bak) that an upgrade made.")
    ],
    as_json: AsJson = False,
) -> None:
    """Restore a backup into an empty working directory and an empty database.

    An older backup is upgraded. Nothing is overwritten.
    """
    settings = load_settings()
    with progress_bar() as report:
        restored = restore_backup(settings, resolved(file), report=report)
    address = shown_address(settings.url)
    show(
        {"database": address, **restored._asdict()},
        as_json,
        f"Restored the database {address} and {counted(restored.files, 'artifact')} in "
        f"{settings.data_folder}.",
        "Next: run 'hedgerow db check' to check the project.",
    )
