"""Long work, carried out in this process: measuring, training, and any run that is stored."""

import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Annotated, Any

import typer
from sqlalchemy import Engine

from cli.terminal import AsJson, Report, err, open_home, progress_bar, reviewer_id, show, table_of
from curation import counting, diagnostics, export, queue_keys
from curation.encoders import DEFAULT_ENCODER, load_encoder
from db.engine import reading, writing
from db.errors import HedgerowError
from db.execution import Work, execute
from db.models import Run
from db.runs import create_run, get_run
from db.settings import Settings
from training.plan import plan
from training.probe_files import read_probes
from training.recipe import Recipe
from training.runs import DEFAULT_SEED, request_training
from training.runs import work as training_work
from training.similarity import FIGURE_1, figure_1_rows, probe_rows, probe_similarities

WORK: dict[str, Work] = {
    "diagnose": diagnostics.work,
    "export": export.work,
    queue_keys.KIND: queue_keys.work,
    counting.KIND: counting.work,
    "train": training_work,
}
"""What is done for each kind of run."""

FOLLOW_SECONDS = 0.5


def carry_out(
    run_id: Annotated[int, typer.Argument(metavar="ID", help="The run's number.")],
    as_json: AsJson = False,
) -> None:
    """Carry out a stored run in this process."""
    settings, engine = open_home()
    _show_result(_carry_out(settings, engine, run_id), as_json)


def diagnose(
    encoder: Annotated[
        str, typer.Option(help=f"'{DEFAULT_ENCODER}', a folder or a name on the model hub.")
    ] = "",
    as_json: AsJson = False,
) -> None:
    """Measure every variant that is not measured yet."""
    settings, engine = open_home()
    run = new_run(engine, "diagnose", {"encoder": encoder} if encoder else {})
    _show_result(_carry_out(settings, engine, run.id or 0), as_json)


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
    settings, engine = open_home()
    with writing(engine) as session:
        base = Recipe.from_yaml(recipe_file) if recipe_file else plan(session, number).recipe()
        run = request_training(
            session, release_number=number, recipe=base.with_overrides(changes or []), seed=seed,
            requested_by=reviewer_id(session, settings, "") if settings.reviewer else None,
        )  # fmt: skip
    result = _carry_out(settings, engine, run.id or 0)
    _show_result(result | {"model": str(settings.data_folder / result["model"])}, as_json)


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
    table = table_of(
        "series", "cosine", "anchor", "text",
        rows=([row.series, f"{row.cosine:.3f}", row.anchor, row.text] for row in rows),
    )  # fmt: skip
    show({"model": model, "before": before, "similarities": pairs}, as_json, table)


def new_run(engine: Engine, kind: str, parameters: dict[str, Any]) -> Run:
    """Store a queued run of a kind in ``WORK``."""
    with writing(engine) as session:
        return create_run(session, kind=kind, parameters=parameters)


def _carry_out(settings: Settings, engine: Engine, run_id: int) -> dict[str, Any]:
    with progress_bar() as report, _following(engine, run_id, report):
        return {"run": run_id} | execute(engine, settings, run_id, WORK)


def _show_result(result: dict[str, Any], as_json: bool) -> None:
    show(result, as_json, *(f"{name}: {value}" for name, value in result.items()))


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
