"""Long work, carried out in this process: measuring, training, and any run that is stored."""

import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from itertools import combinations
from pathlib import Path
from typing import Annotated, Any

import typer
from sqlalchemy import Engine

from cli.shared.home import open_home
from cli.shared.run_facts import DIAGNOSE, EXPORT, figures_so_far, incomplete, located, sentences
from cli.shared.tables import table_of
from cli.shared.terminal import LARGEST_NUMBER, AsJson, Report, err, progress_bar, show
from curation.diagnostics import measuring, queue_keys
from curation.encoders.loading import DEFAULT_ENCODER, load_encoder, resolve_encoder
from curation.encoders.registered import encoder_name
from curation.generation import run as generation
from curation.generation.choices import raise_budget
from curation.generation.duplicates import check_alone
from curation.generation.judging import opinion_request, opinion_run
from curation.review.opinions import model_verdicts
from db.engine import reading, writing
from db.errors import HedgerowError, RunEnded, RunIncomplete
from db.execution import Work, execute
from db.models import Run, RunState
from db.runs import create_run, get_run, list_runs
from db.settings import Settings
from training.benchmarks import contamination
from training.benchmarks.runs import lifecycle
from training.evaluation import similarity_run
from training.evaluation.probe_files import read_probes
from training.evaluation.probe_groups import Scores, find_groups, score
from training.evaluation.probe_sets import BUNDLED, FIGURE_1_SET, GROUPS_SET, SetKind, open_set
from training.evaluation.similarity import (
    AFTER,
    BEFORE,
    FIGURE_1,
    Probe,
    figure_1_rows,
    probe_rows,
    probe_similarities,
)
from training.hub import push_run
from training.recipe import plan
from training.retention import tradeoff, tradeoff_curve, tradeoff_save
from training.runs.trainings import work as training_work
from training.studies import study_run

WORK: dict[str, Work] = {
    lifecycle.KIND: lifecycle.work,
    similarity_run.KIND: similarity_run.work,
    DIAGNOSE: measuring.work,
    EXPORT: contamination.export_work,
    generation.KIND: generation.work,
    opinion_request.KIND: opinion_run.work,
    queue_keys.KIND: queue_keys.work,
    model_verdicts.KIND: model_verdicts.work,
    push_run.KIND: push_run.work,
    study_run.KIND: study_run.work,
    tradeoff_curve.KIND: tradeoff.work,
    tradeoff_save.KIND: tradeoff_save.work,
    plan.KIND: training_work,
}
"""What is done for each kind of run."""

FOLLOW_SECONDS = 0.5


def carry_out(
    run_id: Annotated[
        int, typer.Argument(metavar="ID", min=1, max=LARGEST_NUMBER, help="The run's number.")
    ],
    budget: Annotated[
        float | None,
        typer.Option(metavar="USD", help="Another cap in money, for a run that asks a model."),
    ] = None,
    max_calls: Annotated[
        int | None, typer.Option(min=1, max=LARGEST_NUMBER, help="Another cap in calls, likewise.")
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Carry out a stored run in this process."""
    settings, engine = open_home()
    if budget is not None or max_calls is not None:
        with writing(engine) as session:
            raise_budget(session, run_id, money=budget, calls=max_calls)
    with reading(engine) as session:
        kind = get_run(session, run_id).kind
        if kind == generation.KIND:
            check_alone(session, run_id)
    result = carry_out_run(settings, engine, run_id)
    show(result, as_json, *sentences(kind, result))


def diagnose(
    encoder: Annotated[
        str, typer.Option(help=f"'{DEFAULT_ENCODER}', a folder or a name on the model hub.")
    ] = "",
    as_json: AsJson = False,
) -> None:
    """Measure every variant that is not measured yet."""
    settings, engine = open_home()
    with reading(engine) as session:
        name = encoder_name(session, settings, encoder) if encoder else ""
        at_work = [r for r in list_runs(session, kind=DIAGNOSE) if r.state == RunState.RUNNING]
    parameters = {"encoder": name} if name else {}
    if other := next((run for run in at_work if run.parameters == parameters), None):
        raise HedgerowError(
            f"Run {other.id} is measuring at present (process {other.pid} on {other.host}); wait "
            "for it, or cancel it in the app."
        )
    run = new_run(engine, DIAGNOSE, parameters)
    result = carry_out_run(settings, engine, run.id)
    show(result, as_json, *sentences(DIAGNOSE, result))


def similarity(
    model: Annotated[str, typer.Option(metavar="PATH", help="A model's folder, or its name.")],
    before: Annotated[
        str | None, typer.Option(metavar="PATH", help="What to compare it with.")
    ] = None,
    probes_file: Annotated[
        Path | None,
        typer.Option(
            "--probes",
            metavar="FILE",
            help="CSV, TSV or JSON lines with anchor and text; otherwise the paper's Figure 1.",
        ),
    ] = None,
    set_name: Annotated[
        str,
        typer.Option(
            "--probe-set",
            metavar="NAME",
            help=f"In place of a file: '{GROUPS_SET}', "
            "which come with Hedgerow, or a probe set of this project.",
        ),
    ] = "",
    old_set_name: Annotated[str, typer.Option("--set", hidden=True)] = "",
    as_json: AsJson = False,
) -> None:
    """Show how similar sentence pairs are to a model, and to another before it."""
    set_name = set_name or old_set_name
    if probes_file and set_name:
        raise HedgerowError("Expected --probes or --probe-set, found both; leave one out.")
    probes = read_probes(probes_file) if probes_file else _set_probes(set_name or FIGURE_1_SET)
    old = probe_similarities(load_encoder(before), probes) if before else None
    new = probe_similarities(load_encoder(model), probes)
    rows = (
        figure_1_rows(before=old, after=new)
        if tuple(probes) == FIGURE_1
        else probe_rows(probes, before=old, after=new)
    )
    pairs = [{**row._asdict(), "cosine": round(row.cosine, 4)} for row in rows]
    table = table_of(
        "series",
        "cosine",
        "anchor",
        "text",
        rows=([row.series, f"{row.cosine:.3f}", row.anchor, row.text] for row in rows),
    )
    result: dict[str, Any] = {
        "model": _absolute(model),
        "before": _absolute(before) if before else None,
        "similarities": pairs,
    }
    if not (groups := find_groups(probes)):
        show(result, as_json, table)
        return
    scores = {
        series: score(groups, cosines)
        for series, cosines in ((BEFORE, old), (AFTER, new))
        if cosines is not None
    }
    result["scores"] = {series: found._asdict() for series, found in scores.items()}
    show(result, as_json, table, *(_told(series, found) for series, found in scores.items()))


def _absolute(model: str) -> str:
    """A model as it is found from everywhere: a folder's full path, or its name."""
    found = model if model == DEFAULT_ENCODER else resolve_encoder(model)
    return str(found.resolve()) if isinstance(found, Path) else model


def _set_probes(name: str) -> Sequence[Probe]:
    """The pairs of a set; of one of single sentences, every two of them."""
    if name in BUNDLED:
        return BUNDLED[name]
    with reading(open_home()[1]) as session:
        found = open_set(session, name)
    if found.kind is SetKind.SENTENCES:
        return [Probe(first, second, "") for first, second in combinations(found.sentences, 2)]
    return [stored.probe for stored in found.probes]


def _told(series: str, found: Scores) -> str:
    means = ", ".join(f"{role} {mean:.3f}" for role, mean in found.means.items())
    return (
        f"{series}: the contradiction is the least similar in {found.ranked:.0%} of {found.groups} "
        f"groups (33% by chance); mean cosine {means}"
    )


def new_run(engine: Engine, kind: str, parameters: dict[str, Any]) -> Run:
    """Store a queued run of a kind in ``WORK``."""
    with writing(engine) as session:
        return create_run(session, kind=kind, parameters=parameters)


def carry_out_run(settings: Settings, engine: Engine, run_id: int) -> dict[str, Any]:
    """Carry out a stored run in this process, its progress shown.

    Returns:
        Its number, its state and its result, with absolute paths.

    Raises:
        RunEnded: it ended before its work was done; with its figures so far.
        RunIncomplete: it is done, but something that it asked for is missing; with its result.
    """
    try:
        with progress_bar() as report, _following(engine, run_id, report):
            result = execute(engine, settings, run_id, WORK)
    except RunEnded as ended:
        with suppress(HedgerowError), reading(engine) as session:  # a busy database
            run = get_run(session, run_id)
            ended.facts |= {"step": run.step, "total": run.total} | figures_so_far(session, run)
        raise
    facts = located(settings, result) | {"run": run_id, "state": RunState.DONE.value}
    if facts.get("complete", True):
        return facts
    with reading(engine) as session:
        sentence = incomplete(get_run(session, run_id), facts)
    lacking = RunIncomplete(sentence, run=run_id, state=facts["state"], message=sentence)
    lacking.facts |= facts
    raise lacking


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
