"""The command line: the steps of the pages, for the terminal and for scripts.

Every command prints tables for people or, with ``--json``, one JSON object. Errors are one
sentence on standard error: exit code 1, or 2 for wrong usage.
"""

import errno
import http.client
import json
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Annotated, Any, Literal

import typer
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn
from rich.table import Table
from rich.text import Text
from sqlalchemy import Engine, func, select
from sqlmodel import Session, col
from typer.core import TyperGroup

from curation import diagnostics, export, review
from curation.bulk import FLAG_NAMES, apply_rule, find_matches, parse_rule
from curation.encoders import DEFAULT_ENCODER, load_encoder
from curation.export_tables import ExportFormat
from curation.project import ACTIVE_ENCODER, get_setting, open_project
from curation.queue import status_counts
from curation.release import create_release, get_release, list_releases
from curation.reviewers import ensure_reviewer
from curation.starter_corpus import load_starter_corpus
from curation.taxonomy import REJECT_REASONS
from curation.types import list_types
from db.engine import reading, writing
from db.errors import HedgerowError
from db.execution import Work, execute
from db.models import Anchor, Encoder, Release, Run, Status, Variant, Verdict
from db.runs import UNFINISHED, create_run, get_run, list_runs, start_process
from db.settings import Settings, load_settings
from training.plan import plan
from training.recipe import Recipe
from training.runs import DEFAULT_SEED, request_training
from training.runs import work as training_work
from training.similarity import FIGURE_1, figure_1_rows, probe_rows, probe_similarities, read_probes

WORK: dict[str, Work] = {
    "diagnose": diagnostics.work,
    "export": export.work,
    "train": training_work,
}
"""What is done for each kind of run."""

Report = Callable[[int, int, str], None]
"""Called with (steps done, steps in all, what is going on)."""

APP = Path(__file__).with_name("app.py")
FIRST_PORT = 8501
PORTS_TRIED = 100
THIS_MACHINE = ("127.0.0.1", "localhost")
REACHED_AT = {"0.0.0.0": "127.0.0.1", "::": "::1"}
"""Where this machine itself reaches a server that listens on all its addresses."""

LAST_RUNS = 5
FOLLOW_SECONDS = 0.5
NUMBERS = frozenset({"run", "release", "variants", *Status})
"""Titles of columns that hold numbers."""

NO_REASON = "Rejected on the command line without a reason."


out = Console(markup=False, emoji=False, highlight=False)
err = Console(markup=False, emoji=False, highlight=False, stderr=True)


class _Commands(TyperGroup):
    """The one place where an error becomes a sentence and an exit code."""

    def invoke(self, ctx: Any) -> Any:
        try:
            return super().invoke(ctx)
        except HedgerowError as error:
            sentence = str(error)
        except OSError as error:
            if error.errno == errno.EPIPE:  # the reader of our output has gone
                raise
            sentence = (
                f"{error.strerror or error}{f': {error.filename}' if error.filename else ''}."
            )
        err.print(_text(sentence), soft_wrap=True)
        raise typer.Exit(1)


app = typer.Typer(
    cls=_Commands,
    no_args_is_help=True,
    add_completion=False,
    rich_markup_mode=None,
    pretty_exceptions_enable=False,  # its tracebacks print local variables, keys included
    help="Review negation and hedging variants, and finetune an encoder that understands 'not'. "
    "HEDGEROW_HOME names the working directory (otherwise the current one).",
)
review_app = typer.Typer(no_args_is_help=True, help="Decide on variants.")
release_app = typer.Typer(no_args_is_help=True, help="Freeze what is accepted.")
app.add_typer(review_app, name="review")
app.add_typer(release_app, name="release")

AsJson = Annotated[bool, typer.Option("--json", help="Print one JSON object.")]
Uid = Annotated[str, typer.Argument(help="The variant's uid.")]
ReviewerName = Annotated[
    str, typer.Option("--reviewer", help="Who decides (otherwise HEDGEROW_REVIEWER).")
]
Note = Annotated[str, typer.Option("--note", help="A remark, stored with the decision.")]
TypeName = Annotated[str | None, typer.Option("--type", help="A variant type, such as 'verbal'.")]
_REASONS = ", ".join(reason.id for reason in REJECT_REASONS)


def _text(text: str) -> Text:
    """The text as it is, but for what nobody sees: it would steer the terminal or mislead."""
    return Text("".join(c if c.isprintable() else "\N{REPLACEMENT CHARACTER}" for c in text))


def _table(*titles: str, rows: Iterable[Iterable[object]]) -> Table:
    table = Table(box=None, pad_edge=False, header_style="bold")
    for title in titles:
        justify: Literal["left", "right"] = "right" if title in NUMBERS else "left"
        table.add_column(_text(title), overflow="fold", justify=justify)
    for row in rows:
        table.add_row(*(_text(str(cell)) for cell in row))
    return table


def _show(result: dict[str, Any], as_json: bool, *lines: str | Table) -> None:
    if as_json:
        typer.echo(json.dumps(result))
        return
    for line in lines:
        out.print(_text(line) if isinstance(line, str) else line, soft_wrap=isinstance(line, str))


def _open(*, create: bool = False) -> tuple[Settings, Engine]:
    """The settings and the database, which must be there unless it may be created."""
    settings = load_settings()
    file = settings.url.database if settings.url.get_backend_name() == "sqlite" else None
    if file and not create and not Path(file).exists():
        raise HedgerowError(
            f"There is no project in {settings.home}; make one there with 'hedgerow init', or name "
            "its folder with HEDGEROW_HOME."
        )
    return settings, open_project(settings)


def _reviewer_id(session: Session, settings: Settings, name: str) -> int:
    return ensure_reviewer(session, name or settings.reviewer).id or 0


def _database(engine: Engine) -> str:
    return engine.url.render_as_string(hide_password=True)


@app.command()
def init(
    empty: Annotated[bool, typer.Option("--empty", help="Leave the starter corpus out.")] = False,
    as_json: AsJson = False,
) -> None:
    """Create or upgrade the database and load the starter corpus; again changes nothing."""
    _, engine = _open(create=True)
    added = {"anchors": 0, "variants": 0, "decisions": 0}
    if not empty:
        with writing(engine) as session:
            added = load_starter_corpus(session)._asdict()
    _show(
        {"database": _database(engine), "added": added},
        as_json,
        f"The database is {_database(engine)}.",
        "Added {anchors} anchors, {variants} variants and {decisions} decisions.".format(**added),
        "Next: 'hedgerow app' opens the browser app; 'hedgerow status' counts what there is.",
    )


@app.command()
def status(as_json: AsJson = False) -> None:
    """Count anchors, variants and releases, and name the last runs."""
    _, engine = _open()
    with reading(engine) as session:
        counts = status_counts(session)
        known = [entry.id for entry in list_types(session)]
        anchors = session.execute(
            select(func.count()).select_from(Anchor).where(col(Anchor.retired_at).is_(None))
        ).scalar_one()
        releases = [_release(release) for release in list_releases(session)]
        runs = [_run(run) for run in list_runs(session, limit=LAST_RUNS)]
        active = get_setting(session, ACTIVE_ENCODER)
        encoders = [
            {"name": encoder.name, "path": encoder.path, "active": encoder.name == active}
            for encoder in session.execute(select(Encoder).order_by(col(Encoder.id))).scalars()
        ]
    variants = {
        name: {state.value: counts.get(name, {}).get(state, 0) for state in Status}
        for name in dict.fromkeys([*known, *sorted(counts)])
    }
    result = {
        "database": _database(engine), "anchors": anchors, "variants": variants,
        "releases": releases, "runs": runs,
        "encoders": encoders,
    }  # fmt: skip
    measured_by = ", ".join(encoder["name"] for encoder in encoders) or "none yet"
    _show(
        result,
        as_json,
        f"Database: {_database(engine)}",
        f"Anchors: {anchors}. Releases: {len(releases)}. Encoders: {measured_by}.",
        _table("type", *Status, rows=([name, *row.values()] for name, row in variants.items())),
        *([_run_table(runs)] if runs else []),
    )


def _run(run: Run) -> dict[str, Any]:
    return {
        "run": run.id, "kind": run.kind, "state": run.state.value, "step": run.step,
        "total": run.total, "message": run.message, "created_at": run.created_at.isoformat(),
    }  # fmt: skip


def _run_table(runs: list[dict[str, Any]]) -> Table:
    names = ("run", "kind", "state", "message")
    return _table(*names, rows=([run[name] for name in names] for run in runs))


@app.command("run")
def carry_out(
    run_id: Annotated[int, typer.Argument(metavar="ID", help="The run's number.")],
    as_json: AsJson = False,
) -> None:
    """Carry out a stored run in this process."""
    settings, engine = _open()
    _show_result(_carry_out(settings, engine, run_id), as_json)


@app.command()
def diagnose(
    encoder: Annotated[
        str, typer.Option(help=f"'{DEFAULT_ENCODER}', a folder or a name on the model hub.")
    ] = "",
    as_json: AsJson = False,
) -> None:
    """Measure every variant that is not measured yet."""
    settings, engine = _open()
    run = _new_run(engine, "diagnose", {"encoder": encoder} if encoder else {})
    _show_result(_carry_out(settings, engine, run.id or 0), as_json)


def _new_run(engine: Engine, kind: str, parameters: dict[str, Any]) -> Run:
    with writing(engine) as session:
        return create_run(session, kind=kind, parameters=parameters)


def _carry_out(settings: Settings, engine: Engine, run_id: int) -> dict[str, Any]:
    with _bar() as report, _following(engine, run_id, report):
        return {"run": run_id} | execute(engine, settings, run_id, WORK)


def _show_result(result: dict[str, Any], as_json: bool) -> None:
    _show(result, as_json, *(f"{name}: {value}" for name, value in result.items()))


@contextmanager
def _bar() -> Iterator[Report]:
    """A progress bar where somebody is watching; elsewhere what is reported is not shown."""
    columns = (TextColumn("{task.description}", markup=False), BarColumn(), MofNCompleteColumn())
    with Progress(*columns, console=err, transient=True, disable=not err.is_terminal) as progress:
        task = progress.add_task("Starting.", total=None)

        def report(step: int, total: int, message: str) -> None:
            text = _text(message).plain
            progress.update(task, description=text, completed=step, total=total or None)

        yield report


@contextmanager
def _following(engine: Engine, run_id: int, report: Report) -> Iterator[None]:
    """Report what a run that works in this process writes into its row."""
    ended = threading.Event()

    def follow() -> None:
        while not ended.wait(FOLLOW_SECONDS):
            with suppress(HedgerowError), reading(engine) as session:  # a busy database
                run = get_run(session, run_id)
                report(run.step, run.total, run.message)

    follower = threading.Thread(target=follow, daemon=True)
    if err.is_terminal:
        follower.start()
    try:
        yield
    finally:
        ended.set()
        if follower.is_alive():
            follower.join()


@review_app.command("apply")
def review_apply(
    rule: Annotated[
        str,
        typer.Option(
            help="Such as 'levenshtein > 60' or 'flag = content_dropped and cosine < 0.8'; also "
            f"length_ratio, content_kept, 'no flags'. Flags: {', '.join(FLAG_NAMES)}."
        ),
    ],
    accept: Annotated[bool, typer.Option("--accept", help="Accept what matches.")] = False,
    reject: Annotated[
        str | None, typer.Option("--reject", metavar="REASON", help=f"Reject it: {_REASONS}.")
    ] = None,
    type_id: TypeName = None,
    reviewer: ReviewerName = "",
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Only count what matches.")] = False,
    as_json: AsJson = False,
) -> None:
    """Decide on every pending variant that a rule matches; one undo takes it back."""
    if accept == (reject is not None):
        raise typer.BadParameter("give either --accept or --reject REASON")
    parsed = parse_rule(rule)
    settings, engine = _open()
    action_id = None
    if dry_run:
        with reading(engine) as session:
            matches = find_matches(session, parsed, type_id=type_id)
    else:
        with writing(engine) as session:
            matches, action_id = apply_rule(
                session, parsed, verdict=Verdict.ACCEPT if accept else Verdict.REJECT,
                reviewer_id=_reviewer_id(session, settings, reviewer), reason=reject or "",
                type_id=type_id,
            )  # fmt: skip
    verb = "Would decide on" if dry_run else "Decided on"
    lines: list[str | Table] = [f"{verb} {matches.total} variants."]
    if matches.by_type:
        lines.append(_table("type", "variants", rows=sorted(matches.by_type.items())))
    if matches.unmeasured:
        lines.append(
            f"{matches.unmeasured} pending variants are not measured yet and were left out; "
            "'hedgerow diagnose' measures them."
        )
    result = {"rule": parsed.text, "dry_run": dry_run, "variants": matches.total,
              "types": matches.by_type, "unmeasured": matches.unmeasured,
              "action": action_id}  # fmt: skip
    _show(result, as_json, *lines)


@review_app.command("accept")
def review_accept(
    uid: Uid, reviewer: ReviewerName = "", note: Note = "", as_json: AsJson = False
) -> None:
    """Accept a variant as it stands."""
    _decide(lambda session, card, who: review.accept(session, card, reviewer_id=who, note=note),
            uid, reviewer, as_json)  # fmt: skip


@review_app.command("reject")
def review_reject(
    uid: Uid,
    reviewer: ReviewerName = "",
    reason: Annotated[str, typer.Option(help=f"One of {_REASONS}.")] = "",
    note: Note = "",
    as_json: AsJson = False,
) -> None:
    """Reject a variant."""
    if not reason:
        reason, note = "other", note or NO_REASON
    _decide(lambda session, card, who: review.reject(
                session, card, reviewer_id=who, reason=reason, note=note),
            uid, reviewer, as_json)  # fmt: skip


@review_app.command("edit")
def review_edit(
    uid: Uid,
    text: Annotated[str | None, typer.Option(help="The better wording.")] = None,
    type_id: TypeName = None,
    reviewer: ReviewerName = "",
    note: Note = "",
    as_json: AsJson = False,
) -> None:
    """Replace a variant by a better wording, or give it its right type."""
    if text is None and type_id is None:
        raise typer.BadParameter("give --text, --type or both")
    _decide(lambda session, card, who: review.edit(
                session, card, reviewer_id=who, text=text, type_id=type_id, note=note),
            uid, reviewer, as_json)  # fmt: skip


def _decide(
    action: Callable[[Session, review.Shown, int], review.Outcome],
    uid: str,
    reviewer: str,
    as_json: bool,
) -> None:
    settings, engine = _open()
    with writing(engine) as session:
        variant = review.find_variant(session, uid)
        outcome = action(session, review.shown(variant), _reviewer_id(session, settings, reviewer))
        session.refresh(variant)
        child = session.get(Variant, outcome.child_id) if outcome.child_id else None
        result = {
            "variant": uid, "status": variant.status.value, "child": child.uid if child else None,
        }  # fmt: skip
    replaced = f"; {result['child']} replaces it" if child else ""
    _show(result, as_json, f"{uid} is {result['status']} now{replaced}.")


@review_app.command("undo")
def review_undo(reviewer: ReviewerName = "", as_json: AsJson = False) -> None:
    """Take back a reviewer's latest action, bulk decisions included."""
    settings, engine = _open()
    with writing(engine) as session:
        undone = review.undo(session, reviewer_id=_reviewer_id(session, settings, reviewer))
    count = undone.decisions if undone else 0
    _show({"undone": count}, as_json, f"Took back {count} decisions.")


def _release(release: Release) -> dict[str, Any]:
    return {
        "release": release.number, "name": release.name, "hash": release.content_hash,
        "summary": release.summary, "created_at": release.created_at.isoformat(),
    }  # fmt: skip


@release_app.command("create")
def release_create(
    name: Annotated[str, typer.Option(help="A name for people.")] = "", as_json: AsJson = False
) -> None:
    """Freeze every accepted variant under the next number."""
    settings, engine = _open()
    with writing(engine) as session:
        author = _reviewer_id(session, settings, "") if settings.reviewer else None
        release, created = create_release(session, name=name, author_id=author)
        result = _release(release) | {"created": created}
    said = "is made" if created else "says the same already"
    _show(result, as_json, f"Release {release.number} {said}.")


@release_app.command("list")
def release_list(as_json: AsJson = False) -> None:
    """Name all releases, the newest first."""
    _, engine = _open()
    with reading(engine) as session:
        releases = [_release(release) for release in list_releases(session)]
    rows = ([r["release"], r["created_at"][:10], r["hash"][:12], r["name"]] for r in releases)
    table = _table("release", "made", "hash", "name", rows=rows)
    _show({"releases": releases}, as_json, table if releases else "There is no release yet.")


@app.command("export")
def export_release(
    folder: Annotated[Path, typer.Argument(metavar="DIR", help="New, or an earlier export.")],
    number: Annotated[
        int | None, typer.Option("--release", metavar="N", help="Otherwise the newest.")
    ] = None,
    form: Annotated[
        ExportFormat,
        typer.Option("--format", help="Hugging Face data set, JSON lines, or CSV of pairs."),
    ] = "hf",
    as_zip: Annotated[bool, typer.Option("--zip", help="Also pack it into DIR.zip.")] = False,
    as_json: AsJson = False,
) -> None:
    """Write a release to a folder."""
    _, engine = _open()
    with reading(engine) as session, _bar() as report:
        release = get_release(session, number)
        place = export.export_release(session, release, folder, format=form, progress=report)
    packed = export.zip_export(place) if as_zip else None
    result = {
        "release": release.number, "format": form, "folder": str(place),
        "zip": str(packed) if packed else None,
    }  # fmt: skip
    _show(result, as_json, f"Release {release.number} lies in {place}.",
          *([f"Packed, it is {packed}."] if packed else []))  # fmt: skip


@app.command("train")
def train_encoder(
    number: Annotated[
        int | None,
        typer.Option("--release", metavar="N", help="Otherwise the newest; made if there is none."),
    ] = None,
    recipe_file: Annotated[
        Path | None, typer.Option("--recipe", metavar="FILE", help="YAML; otherwise the default.")
    ] = None,
    changes: Annotated[
        list[str] | None,
        typer.Option("--set", metavar="KEY=VALUE", help="Change the recipe; may be repeated."),
    ] = None,
    seed: Annotated[int, typer.Option(help="Decides order and dropout.")] = DEFAULT_SEED,
    as_json: AsJson = False,
) -> None:
    """Finetune an encoder on a release and measure what it changed."""
    settings, engine = _open()
    with writing(engine) as session:
        base = Recipe.from_yaml(recipe_file) if recipe_file else plan(session, number).recipe()
        run = request_training(
            session, release_number=number, recipe=base.with_overrides(changes or []), seed=seed,
            requested_by=_reviewer_id(session, settings, "") if settings.reviewer else None,
        )  # fmt: skip
    result = _carry_out(settings, engine, run.id or 0)
    _show_result(result | {"model": str(settings.data_folder / result["model"])}, as_json)


@app.command()
def similarity(
    model: Annotated[str, typer.Option(metavar="PATH", help="A model's folder, or its name.")],
    before: Annotated[
        str | None, typer.Option(metavar="PATH", help="What to compare it with.")
    ] = None,
    probes_file: Annotated[
        Path | None,
        typer.Option("--probes", metavar="FILE", help="CSV, TSV or JSON lines with anchor and "
                     "text; otherwise the paper's Figure 1."),
    ] = None,
    as_json: AsJson = False,
) -> None:  # fmt: skip
    """Show how similar sentence pairs are to a model, and to another before it."""
    probes = read_probes(probes_file) if probes_file else FIGURE_1
    old = probe_similarities(load_encoder(before), probes) if before else None
    new = probe_similarities(load_encoder(model), probes)
    rows = (
        probe_rows(probes, before=old, after=new)
        if probes_file
        else figure_1_rows(before=old, after=new)
    )
    pairs = [{**row._asdict(), "cosine": round(row.cosine, 4)} for row in rows]
    table = _table(
        "series", "cosine", "anchor", "text",
        rows=([row.series, f"{row.cosine:.3f}", row.anchor, row.text] for row in rows),
    )  # fmt: skip
    _show({"model": model, "before": before, "similarities": pairs}, as_json, table)


@app.command("app")
def open_app(
    port: Annotated[
        int | None,
        typer.Option(min=1, max=65535, envvar="STREAMLIT_SERVER_PORT",
                     help=f"The port; otherwise the first free one from {FIRST_PORT} on."),
    ] = None,
    address: Annotated[
        str,
        typer.Option(envvar="STREAMLIT_SERVER_ADDRESS",
                     help="This machine's address to listen on; the default admits nobody else."),
    ] = "127.0.0.1",
    as_json: AsJson = False,
) -> None:  # fmt: skip
    """Open the browser app; Ctrl-C ends it."""
    settings, engine = _open(create=True)
    port = _free_port(address, port)
    run_id = _start_missing_measures(settings, engine)
    process = _start_streamlit(settings, address=address, port=port)
    signal.signal(signal.SIGTERM, signal.default_int_handler)  # ends the app as Ctrl-C does
    try:
        _wait_until_it_answers(process, address=address, port=port)
        url = _url(address, port)
        lines = [f"Hedgerow: {url}"]
        if run_id is not None:
            lines.append(f"Run {run_id} measures variants in the background.")
        _show({"url": url, "run": run_id}, as_json, *lines)
        raise typer.Exit(process.wait())
    except KeyboardInterrupt:
        process.terminate()
        process.wait()


def _start_streamlit(settings: Settings, *, address: str, port: int) -> "subprocess.Popen[bytes]":
    environment = settings.process_environment()
    if address not in THIS_MACHINE:
        err.print(_text(f"Everybody who reaches {address} can review, under any name."))
        allowed = ",".join([*THIS_MACHINE, address])  # the browsers' names for this machine
        environment.setdefault("STREAMLIT_SERVER_ALLOWED_HOSTS", allowed)
    command = [
        *(sys.executable, "-m", "streamlit", "run", str(APP), "--logger.hideWelcomeMessage=true"),
        *(f"--server.address={address}", f"--server.port={port}"),
    ]
    return subprocess.Popen(command, cwd=settings.home, env=environment, stdout=sys.stderr.fileno())


def _url(address: str, port: int) -> str:
    return f"http://[{address}]:{port}" if ":" in address else f"http://{address}:{port}"


def _free_port(address: str, asked: int | None) -> int:
    """The port asked for, if it is free; without one, the first free from ``FIRST_PORT`` on."""
    for port in [asked] if asked else range(FIRST_PORT, FIRST_PORT + PORTS_TRIED):
        try:
            kind, _, _, _, end = socket.getaddrinfo(address, port, type=socket.SOCK_STREAM)[0]
            with socket.socket(kind, socket.SOCK_STREAM) as probe:
                probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
                probe.bind(end)
            return port
        except OSError as error:
            if error.errno != errno.EADDRINUSE:
                raise HedgerowError(
                    f"The app cannot listen on {address}, port {port} ({error.strerror})."
                ) from error
    taken = f"Port {asked} is" if asked else f"{PORTS_TRIED} ports from {FIRST_PORT} on are"
    raise HedgerowError(f"{taken} in use; end what uses it, or name another with --port.")


def _start_missing_measures(settings: Settings, engine: Engine) -> int | None:
    """Have unmeasured variants measured in the background, unless a run is at it; its number."""
    with reading(engine) as session:
        encoder_id = diagnostics.active_encoder_id(session)
        missing = diagnostics.count_without_measures(session)
        missing += diagnostics.count_without_cosine(session, encoder_id)
        busy = any(run.state in UNFINISHED for run in list_runs(session, kind="diagnose"))
    if not missing or busy:
        return None
    run = _new_run(engine, "diagnose", {})
    start_process(settings, run)
    return run.id


def _wait_until_it_answers(process: "subprocess.Popen[bytes]", *, address: str, port: int) -> None:
    while process.poll() is None:
        connection = http.client.HTTPConnection(REACHED_AT.get(address, address), port, timeout=1)
        try:
            connection.request("GET", "/_stcore/health")
            if connection.getresponse().status == http.HTTPStatus.OK:
                return
        except OSError:
            time.sleep(0.1)
        finally:
            connection.close()
    raise HedgerowError("The app ended while it was starting; what it said stands above.")


def main() -> None:
    """Run the command line."""
    app()
