"""The kinds of runs: title, work, summary of the result, and address of each.

A new kind is one entry in `KINDS`. The process that executes runs, the command line, the Overview
page and the Settings page use it. The module that does the work is imported only when a run
starts, so that showing a run's title loads nothing.
"""

from collections.abc import Callable
from dataclasses import dataclass
from importlib import import_module
from urllib.parse import urlencode

from sqlalchemy import Engine

from curation.overview.next_steps import StepKind
from db.engine import reading, writing
from db.errors import HedgerowError
from db.execution import Result, RunContext, Work
from db.models import Run, RunState
from db.runs import UNFINISHED, get_run, request_cancel
from db.settings import Settings
from training.runs import summaries


@dataclass(frozen=True, kw_only=True)
class RunKind:
    """A kind of run.

    Attributes:
        id: the stored name, which scripts use, too.
        title: a description for people.
        work: ``module:function`` of the work; '' for work that is done at once and only recorded.
        address: the page that shows a run, relative to the app's address.
        summary: makes one sentence of the result of a finished run.
        step: the step on the Overview page that such a run does, if any. The page does not propose
            it while a run is in progress.
        cancel_abandoned: ``module:function`` that ends the work on another machine when a run is
            cancelled while it has no process; '' if there is no such work.
        command: the command that shows the result, if there is one. Braces contain names of
            values of the result.
    """

    id: str
    title: str
    address: Callable[[Run], str]
    work: str = ""
    cancel_abandoned: str = ""
    summary: Callable[[Result], str] = summaries.nothing
    step: StepKind | None = None
    command: str = ""

    def carry_out(self, context: RunContext) -> Result:
        """Do the work of a run of this kind."""
        module, _, name = self.work.partition(":")
        work: Work = getattr(import_module(module), name)
        return work(context)

    def abandon(self, settings: Settings, run: Run) -> None:
        """End the work on another machine for a cancelled run that has no process.

        Raises:
            HedgerowError: the work could not be ended.
        """
        if self.cancel_abandoned:
            module, _, name = self.cancel_abandoned.partition(":")
            getattr(import_module(module), name)(settings, run)

    def sum_up(self, result: Result) -> str:
        """One sentence about the result of a finished run; '' if the result has no such values.

        Older versions of Hedgerow stored fewer values.
        """
        try:
            return self.summary(result)
        except KeyError:
            return ""


def _page(name: str, **query: object) -> str:
    """The address of a page, with its section and the choices in it."""
    return f"{name}?{urlencode(query)}" if query else name


def _generation(run: Run) -> str:
    return "generate" if run.state in UNFINISHED else _page("generate", step="Results")


def _training(run: Run) -> str:
    """The address of a training run's results, or of its progress while it is running."""
    return "train" if run.state in UNFINISHED else _results(run.id)


def _results(training: int | None) -> str:
    return _page("train", step="Results", run=training)


def _language_model_page(run: Run) -> str:
    """The same for the finetuning of a language model."""
    shown = {} if run.state in UNFINISHED else {"part": "Results", "run": run.id}
    return _page("train", kind="Language model", **shown)


def _of_training(run: Run) -> str:
    return _results(run.parameters.get("training"))


def _pushed(run: Run) -> str:
    """The address of the training run or of the releases, depending on what is pushed."""
    training = run.parameters.get("run")
    return "release" if training is None else _results(training)


KINDS = (
    RunKind(id="starter", title="Load the starter corpus", address=lambda run: "anchors"),
    RunKind(
        id="corpus",
        title="Load a corpus",
        work="curation.importing.corpora:work",
        address=lambda run: _page("anchors", part="Corpora"),
        summary=summaries.loaded,
        step=StepKind.LOAD,
    ),
    RunKind(id="import", title="Add anchors", address=lambda run: "anchors"),
    RunKind(
        id="import-variants",
        title="Import variants",
        work="curation.importing.variants:work",
        address=lambda run: _page("anchors", part="Import variants"),
        summary=summaries.imported,
    ),
    RunKind(
        id="generate",
        title="Generate variants",
        work="curation.generation.run:work",
        address=_generation,
        summary=summaries.calls_made,
        step=StepKind.WRITE,
    ),
    RunKind(
        id="judge",
        title="Ask for second opinions",
        work="curation.generation.judging.opinion_run:work",
        address=lambda run: _page("generate", step="Second opinions"),
        summary=summaries.opinions,
    ),
    RunKind(
        id="sample",
        title="Sample variants for judges",
        address=lambda run: _page("generate", step="Judges"),
        summary=summaries.sampled,
        command="hedgerow review calibration show {sample}",
    ),
    RunKind(
        id="diagnose",
        title="Measure variants",
        work="curation.diagnostics.measuring:work",
        address=lambda run: "diagnostics",
        summary=summaries.measures,
        step=StepKind.MEASURE,
    ),
    RunKind(
        id="giveaways",
        title="Find giveaways",
        work="curation.diagnostics.giveaways:work",
        address=lambda run: _page(
            "diagnostics",
            show="Giveaways",
            **({"source": run.result["source"]} if run.result.get("source") else {}),
        ),
        summary=summaries.giveaways,
        command="hedgerow giveaways",
    ),
    RunKind(
        id="reorder",
        title="Update the queues",
        work="curation.diagnostics.queue_order:work",
        address=lambda run: "settings",
        summary=summaries.reordered,
    ),
    RunKind(
        id="recount",
        title="Recount a model's verdicts",
        work="curation.diagnostics.model_verdicts:work",
        address=lambda run: "settings",
        summary=summaries.recounted,
    ),
    RunKind(
        id="export",
        title="Export a release",
        work="training.benchmarks.contamination:compare_and_export",
        address=lambda run: "release",
        summary=summaries.export,
    ),
    RunKind(
        id="train",
        title="Train an encoder",
        work="training.encoder_run.training_run:work",
        address=_training,
        summary=summaries.trained,
        step=StepKind.TRAIN,
    ),
    RunKind(
        id="finetune-ranker",
        title="Finetune on NevIR's pairs",
        work="training.ranking.finetuning:work",
        address=lambda run: _page("train", step="NevIR"),
        summary=summaries.finetuned,
        command="hedgerow nevir show {run}",
    ),
    RunKind(
        id="finetune-provider",
        title="Finetune at a provider",
        work="training.llm.provider_finetuning:work",
        cancel_abandoned="training.llm.provider_finetuning:cancel_abandoned",
        address=lambda run: _page("train", kind="Language model", part="Provider"),
        summary=summaries.finetuned_at_provider,
    ),
    RunKind(
        id="finetune-llm",
        title="Finetune a language model",
        work="training.llm.finetuning:work",
        address=_language_model_page,
        summary=summaries.language_model,
        command="hedgerow llm show {run}",
    ),
    RunKind(
        id="llm-study",
        title="Compare language models by arm",
        work="training.studies.language_study:work",
        address=lambda run: _page("train", kind="Language model", part="Ablation"),
        summary=summaries.study,
    ),
    RunKind(
        id="study",
        title="Run a study",
        work="training.studies.study_run:work",
        address=lambda run: _page("train", step="Studies"),
        summary=summaries.study,
    ),
    RunKind(
        id="tradeoff",
        title="Measure a trade-off",
        work="training.encoder_run.tradeoff:work",
        address=_of_training,
        summary=summaries.tradeoff,
        command="hedgerow tradeoff {training}",
    ),
    RunKind(
        id="tradeoff-save",
        title="Save a point of a trade-off",
        work="training.encoder_run.tradeoff_save:work",
        address=_of_training,
        summary=summaries.saved_point,
    ),
    RunKind(
        id="compare",
        title="Compare models",
        work="training.evaluation.similarity_run:work",
        address=lambda run: "compare",
        summary=summaries.comparison,
    ),
    RunKind(
        id="benchmark",
        title="Run benchmarks",
        work="training.benchmarks.runs.lifecycle:work",
        address=lambda run: "benchmarks",
        summary=summaries.benchmarks,
        command="hedgerow benchmarks",
    ),
    RunKind(
        id="embed",
        title="Compute embeddings",
        work="curation.similar:work",
        address=lambda run: "review",
        summary=summaries.embeddings,
    ),
    RunKind(
        id="backup",
        title="Back up the project",
        work="curation.upkeep.backup_file:work",
        address=lambda run: "settings",
        summary=summaries.backed_up,
    ),
    RunKind(
        id="check",
        title="Check the project",
        work="curation.upkeep.checking:work",
        address=lambda run: "settings",
        summary=summaries.checked,
        command="hedgerow db check",
    ),
    RunKind(
        id="push",
        title="Push to the Hub",
        work="training.hub.push_run:work",
        address=_pushed,
        summary=summaries.push,
    ),
)
"""All kinds of runs, in the order in which a project needs them."""

_BY_ID = {kind.id: kind for kind in KINDS}

WORK: dict[str, Work] = {kind.id: kind.carry_out for kind in KINDS if kind.work}
"""What `db.execution.execute` does for each kind of run."""


def kind_of(name: str) -> RunKind:
    """The kind with this id, or a placeholder for a kind that another version stored."""
    return _BY_ID.get(name) or RunKind(
        id=name, title=f"Unknown to this version ({name})", address=lambda run: "."
    )


def require_kind(name: str) -> None:
    """Check that there is such a kind of run.

    Args:
        name: the id of a kind.

    Raises:
        HedgerowError: there is no kind with this id.
    """
    if name not in _BY_ID:
        raise HedgerowError(f"Expected a kind of run ({', '.join(_BY_ID)}), found {name[:80]!r}.")


# -- Cancelling a run and its work on other machines, such as a provider's job --------------------


def cancel_run(engine: Engine, settings: Settings, run_id: int) -> RunState:
    """Like `request_cancel`. A run in progress ends its own work on other machines. If a run is
    cancelled immediately, such as a paused one, this function ends that work.

    Raises:
        HedgerowError: there is no such run, or it is cancelled but its work elsewhere is not.
    """
    with writing(engine) as session:
        seen = get_run(session, run_id).state
        state = request_cancel(session, run_id)
    if state is RunState.CANCELLED and seen is not RunState.CANCELLED:
        with reading(engine) as session:
            run = get_run(session, run_id)
        kind_of(run.kind).abandon(settings, run)
    return state
