"""Running benchmarks."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Annotated, Any, NamedTuple

import typer
from sqlalchemy import Engine
from sqlalchemy.orm import Session

from cli.options import (
    CallCap,
    PromptNumbers,
    as_cap,
    as_option,
    open_home,
    prompt_numbers,
)
from cli.runs import carry_out_run
from cli.scores import asked_lines, average_line, facts_by_model, is_average, table, unseen_lines
from cli.terminal import LARGEST_NUMBER, AsJson, DryRun, show, table_of
from curation.generation.prices import dollars, price_under, spent_by
from curation.generation.request import Budget
from curation.release.freezing import get_release
from curation.release.overlap_results import description, description_by_field
from curation.validation import checked
from db.engine import reading
from db.errors import HedgerowError, RunEnded
from db.models import Split
from db.named_files import LARGEST_WRITTEN, expanded, read_text
from db.settings import Settings
from hedgerow.benchmarks import MTEB, named_data, request_for, tasks_folder
from hedgerow.home import acting
from training.benchmarks.catalogue import benchmark_names
from training.benchmarks.contamination import (
    bundled_texts_description,
    compare,
    compare_bundled_texts,
)
from training.benchmarks.harness_names import KNOWN, LM_EVAL, TABLE_3
from training.benchmarks.results.queries import of_run
from training.benchmarks.results.semantoneg_analyses import unseen_scores
from training.benchmarks.runs.lifecycle import NotMeasured
from training.benchmarks.runs.measured_models import (
    CHAT,
    ModelChoice,
    chosen_model,
    clean_model,
    require_fitting,
)
from training.benchmarks.runs.request import (
    BENCHMARK,
    BenchmarkRequest,
    plan_benchmarks,
    require_all_tasks,
)
from training.benchmarks.scorers.architecture import known_architectures
from training.benchmarks.scorers.prompted.wording import chosen_versions
from training.benchmarks.sources import require_data
from training.benchmarks.tasks.general import SUITES, names_of
from training.benchmarks.tasks.own_families import Hedgerow

NAMES = (
    f"One of {', '.join(benchmark_names())}. For general ability: {MTEB}SUITE "
    f"({', '.join(SUITES)}) or {MTEB}TASK; for language models {LM_EVAL}{TABLE_3} or "
    f"{LM_EVAL}TASK ({', '.join(KNOWN)})."
)


def run_benchmark(
    name: Annotated[str, typer.Argument(metavar="NAME", help=NAMES)],
    model: Annotated[
        list[str] | None,
        typer.Option(
            metavar="PATH",
            help="Folder or name of a model, including language models; name of a chat model; "
            "for DPR, QUESTION_MODEL+CONTEXT_MODEL. Can be repeated.",
        ),
    ] = None,
    models: Annotated[
        Path | None, typer.Option(metavar="FILE", help="File with more models, one per line.")
    ] = None,
    data: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE",
            help="Data in the published format; for ExcluIR, the folder with both files. "
            "Default: the data on the model hub, or the latest file if there is none. "
            f"For {LM_EVAL}TASK: a folder with your own tasks.",
        ),
    ] = None,
    architecture: Annotated[
        str,
        typer.Option(
            help=f"One of {', '.join(known_architectures())}. Default: read from the model's files."
        ),
    ] = "",
    query_prompt: Annotated[
        str | None,
        typer.Option(
            help="Text before each query of NevIR and ExcluIR. Default: the model's own prompt."
        ),
    ] = None,
    document_prompt: Annotated[
        str | None,
        typer.Option(
            help="Text before each document of NevIR and ExcluIR. Default: the model's own prompt."
        ),
    ] = None,
    release: Annotated[
        int | None,
        typer.Option(
            metavar="N",
            min=1,
            max=LARGEST_NUMBER,
            help=f"Release for '{Hedgerow.id}' and --overlap. Default: the newest.",
        ),
    ] = None,
    split: Annotated[
        Split, typer.Option(help=f"Split of the release, for '{Hedgerow.id}'.")
    ] = Split.TEST,
    overlap: Annotated[
        bool,
        typer.Option(
            "--overlap",
            help="Also show the overlap of the release with the project's benchmark data.",
        ),
    ] = False,
    base_url: Annotated[str, typer.Option(help="Address of a chat model's server.")] = "",
    max_tokens: Annotated[
        int,
        typer.Option(
            help="Maximum length of a chat model's answer. A reasoning model needs thousands."
        ),
    ] = 500,
    budget: Annotated[
        float | None,
        typer.Option(metavar="USD", help="Pause when a chat model has cost this much."),
    ] = None,
    max_calls: CallCap = None,
    prompts: PromptNumbers = None,
    dry_run: DryRun = False,
    as_json: AsJson = False,
) -> None:
    """Run a benchmark, or mteb or lm_eval tasks, with one or more models.

    'hedgerow run ID' resumes an interrupted run.
    """
    home = open_home()
    settings, engine = home
    shared = {
        "architecture": architecture,
        "query_prompt": query_prompt,
        "document_prompt": document_prompt,
        "base_url": base_url,
        "max_tokens": max_tokens,
    }
    asked = tuple(
        chosen_model({"name": one} | shared, called=as_option)
        for one in names_of_models(model or [], models)
    )
    with reading(engine) as session:
        asked = tuple(_priced(session, one, budget) for one in asked)
    several = len(asked) > 1
    skipped: list[SkippedModel] = []
    if several:
        asked, skipped = fitting_models(engine, settings, asked)
    versions = chosen_versions(prompt_numbers(prompts, example="relevance=2"))
    caps = checked(Budget, {"money": budget, "calls": max_calls}, called=as_cap)
    with named_data(settings, name, data, dry_run=dry_run) as kept:
        request = request_for(
            settings, name, asked, kept, release, split, folder=tasks_folder(name, data)
        )
        request = request.model_copy(update={"budget": caps, "asked_with": versions})
        if dry_run:
            require_all_tasks(request)
            _show_plan(settings, engine, request, as_json)
            return
    if overlap:
        with reading(engine) as session:
            get_release(session, release)  # before a long run, not after it
    run = BENCHMARK.perform(acting(home), request)
    ended, problems = carry_out(settings, engine, run.id, several=several)
    with reading(engine) as session:
        rows = of_run(session, run.id)
        unseen = unseen_scores(session, settings.data_folder, rows)
    result = {"run": run.id, "state": ended["state"]}
    found = facts_by_model(rows, unseen, suite=name if name.startswith((MTEB, LM_EVAL)) else "")
    result |= {"results": found} if several else found[0]
    lines = [*map(average_line, filter(is_average, found)), *unseen_lines(rows, unseen)]
    lines += asked_lines(rows)
    if several:
        skipped += problems
        result["skipped"] = [one._asdict() for one in skipped]
        lines += [one.description for one in skipped]
    if "cost" in ended:
        result |= {name: ended[name] for name in ("cost", "cost_is_estimate")}
        lines.append(f"The answers cost {spent_by(ended)}.")
    if overlap:
        result |= _overlap(settings, engine, release)
        for shared in result["overlap"]:
            lines += filter(None, [description(shared), description_by_field(shared)])
        lines += filter(None, [bundled_texts_description(result["bundled_overlap"])])
    show(result, as_json, table(rows), *lines)


def _priced(session: Session, model: ModelChoice, budget: float | None) -> ModelChoice:
    """The model with its price, if known."""
    if model.architecture != CHAT:
        if budget is not None:
            raise HedgerowError(
                "--budget requires --architecture chat; leave it out, or choose a chat model."
            )
        return model
    return model.model_copy(update={"price": price_under(session, model.name, budget)})


def _show_plan(
    settings: Settings, engine: Engine, request: BenchmarkRequest, as_json: bool
) -> None:
    """Output of ``--dry-run``; unknown values are null, such as all but the names of tasks."""
    with reading(engine) as session:
        data = [
            require_data(session, settings.data_folder, choice) for choice in request.benchmarks
        ]
        plan = plan_benchmarks(
            session, settings, request.models, data, asked_with=request.asked_with
        )
    chats = [model.chats for model in plan.models if model.chats]
    seconds = [model.seconds for model in plan.models if model.seconds is not None]
    result: dict[str, Any] = {
        "tasks": [*names_of(request.suites, request.tasks), *request.language_tasks],
        "items": plan.items or None,
        "questions": plan.questions or None,
        "texts": plan.texts or None,
        "unknown": list(plan.unknown),
        "seconds": sum(seconds) if plan.items and len(seconds) == len(plan.models) else None,
        "chat": chats[0]._asdict() if chats and plan.items else None,
    }
    flat = result | (result["chat"] or {})
    rows = [
        (_DRY_RUN.get(name, name), _in_words(name, value))
        for name, value in flat.items()
        if name != "chat" and value not in (None, [])
    ]
    show(
        result,
        as_json,
        "Dry run: nothing was measured.",
        table_of("", "", rows=rows),
    )


_DRY_RUN = {
    "unknown": "not included (data missing)",
    "seconds": "time",
    "prompts": "chat prompts",
    "tokens_in": "input tokens (about)",
    "tokens_out": "output tokens (about)",
    "cost": "cost (about)",
    "most": "cost with the longest answers",
}
"""Labels of what ``--dry-run`` says, where its JSON keys are too short."""


def _in_words(name: str, value: object) -> str:
    if isinstance(value, list):
        return ", ".join(value)
    if name in ("cost", "most"):
        return dollars(float(str(value)))
    if name == "seconds":
        return f"{float(str(value)):,.0f} s"
    return f"{value:,.0f}" if isinstance(value, int | float) else str(value)


def _overlap(settings: Settings, engine: Engine, release: int | None) -> dict[str, Any]:
    """What the release and the bundled texts share with the known benchmarks."""
    with reading(engine) as session:
        found = compare(session, settings.data_folder, get_release(session, release))
    bundled = compare_bundled_texts(settings.data_folder)
    return {
        "overlap": [compared.facts for compared in found],
        "bundled_overlap": [compared.facts for compared in bundled],
    }


# -- Several models in one command, and those that had to be skipped -------------------------------


class SkippedModel(NamedTuple):
    """A model that was not measured, and one sentence why."""

    model: str
    problem: str

    @property
    def description(self) -> str:
        """For people."""
        return f"Skipped: {self.problem}"


class Fitting(NamedTuple):
    """The usable models, and the others."""

    models: tuple[ModelChoice, ...]
    skipped: list[SkippedModel]


def names_of_models(named: Sequence[str], file: Path | None) -> list[str]:
    """The models from options and a file, each once; one without a name if there are none.

    Raises:
        HedgerowError: the file can't be read or names no models.
    """
    found = list(named)
    if file is not None:
        text = read_text(expanded(file), kind="a list of models", largest=LARGEST_WRITTEN)
        lines = [line.strip() for line in text.splitlines()]
        listed = [line for line in lines if line and not line.startswith("#")]
        if not listed:
            raise HedgerowError(
                f"Expected one model per line in {str(file)!r}, found none; add models, or omit "
                "the file."
            )
        found += listed
    return list(dict.fromkeys(found)) or [""]


def fitting_models(engine: Engine, settings: Settings, asked: Iterable[ModelChoice]) -> Fitting:
    """The models whose files do not rule them out.

    Raises:
        HedgerowError: no model is left.
    """
    models: list[ModelChoice] = []
    skipped: list[SkippedModel] = []
    with reading(engine) as session:
        for model in asked:
            try:
                require_fitting(session, settings, clean_model(session, model))
            except HedgerowError as error:
                skipped.append(SkippedModel(model.name, f"{model.name}: {error}"))
            else:
                models.append(model)
    if not models:
        raise HedgerowError(_none_left(skipped))
    return Fitting(tuple(models), skipped)


def _none_left(skipped: Sequence[SkippedModel]) -> str:
    first = skipped[0].problem
    return f"Expected models that can be measured, found none of {len(skipped)}. First: {first}"


class CarriedOut(NamedTuple):
    """The outcome of a run, as from `carry_out_run`, and what it could not measure."""

    result: dict[str, Any]
    skipped: list[SkippedModel]


def carry_out(settings: Settings, engine: Engine, run_id: int, *, several: bool) -> CarriedOut:
    """Carry out a run; models that can't be loaded are skipped if there are several.

    Raises:
        RunEnded: as in `carry_out_run`, but with several models only if nothing was measured.
    """
    try:
        return CarriedOut(carry_out_run(settings, engine, run_id), [])
    except RunEnded as ended:
        problem = ended.__cause__
        if not (several and isinstance(problem, NotMeasured) and problem.measured):
            raise
        skipped = [SkippedModel(model, reason) for model, reason in problem.problems]
        return CarriedOut(dict(ended.facts), skipped)
