"""The jobs of a run for one language model and one lm_eval task."""

from __future__ import annotations

import time

from db.models import BenchmarkResult
from training.benchmarks.harness.measuring import measure
from training.benchmarks.harness.tasks import LoadedTask
from training.benchmarks.results.saved import write_result
from training.benchmarks.results.statistics import interval
from training.benchmarks.runs.jobs import GENERAL_ABILITY, Job, Step, digest, kept_parts
from training.benchmarks.runs.measured_models import FoundModel, language_model
from training.benchmarks.scorers.interface import Scorer


def language_job(task: LoadedTask) -> Job:
    """A job that runs an lm_eval task. Its items are stored like those of a benchmark."""

    def run(scorer: Scorer, found: FoundModel, step: Step) -> BenchmarkResult:
        context = step.context
        began = time.monotonic()
        result = measure(*language_model(scorer), task, on_progress=step)
        seconds = round(time.monotonic() - began, 3)
        name = f"{task.id.replace(':', '-')}-{task.data_hash[:16]}-{digest(found)}.jsonl"
        write_result(result, context.folder / name)
        summary = kept_parts(result.summary) | {
            "kind": result.kind,
            "interval": interval(result)._asdict(),
            "seconds": seconds,
            "cost": None,
        }
        return BenchmarkResult(
            run_id=context.run.id,
            kind=GENERAL_ABILITY,
            benchmark=task.id,
            model=found.name,
            model_hash=found.hash,
            architecture=found.architecture,
            scoring=found.scoring,
            data=task.data,
            data_hash=task.data_hash,
            metric=result.metric,
            score=result.score,
            n=result.n,
            ties=result.ties,
            unanswered=result.unanswered,
            summary=summary,
            file=f"{context.run.folder}/{name}",
        )

    return Job(task.id, task.title, task.items, task.data_hash, run, language=True)
