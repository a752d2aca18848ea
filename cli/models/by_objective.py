"""SemAntoNeg by training objective."""

from __future__ import annotations

from cli.shared.home import open_home
from cli.shared.tables import table_of
from cli.shared.terminal import AsJson, show
from db.engine import reading
from training.benchmarks.results.objectives import (
    GROUP_HEAD,
    MODEL_HEAD,
    OTHER,
    group_rows,
    groups,
    measured_accuracies,
    model_rows,
    published_accuracies,
)
from training.benchmarks.results.queries import newest
from training.benchmarks.tasks.semantoneg import SemAntoNeg


def objectives(as_json: AsJson = False) -> None:
    """Show SemAntoNeg's published accuracies by training objective, and those of your models."""
    _, engine = open_home()
    with reading(engine) as session:
        own = measured_accuracies(newest(session, benchmark=SemAntoNeg.id))
    published = published_accuracies()
    found = groups(published)
    result = {
        "groups": [group._asdict() for group in found],
        "models": [
            dict(zip(MODEL_HEAD, row, strict=True)) for row in model_rows([*own, *published])
        ],
    }
    lines = [table_of(*GROUP_HEAD, rows=group_rows(found))]
    if own:
        lines.append(table_of(*MODEL_HEAD, rows=model_rows(own)))
    other = sum(model.objective == OTHER for model in published)
    summary = (
        f"The {len(published):,} models of the paper, each on {SemAntoNeg.published_items:,} "
        f"items. {other} of them have another objective."
    )
    show(result, as_json, *lines, summary)
