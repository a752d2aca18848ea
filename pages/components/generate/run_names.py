"""Readable names of generation runs."""

from curation.generation.judging.opinion_request import KIND as JUDGE_KIND
from db.models import Run
from pages.components.shared.formatting import clock
from pages.components.shared.runs import progress_view


def title(run: Run) -> str:
    """A run's request as text; includes the model name, which is user text."""
    who = run.parameters["model"] or run.parameters["provider"]
    limit = run.parameters["selection"]["limit"]
    what, each = ("opinions", "variants") if run.kind == JUDGE_KIND else ("variants", "anchors")
    return f"{what} by {who}" + (f", {limit:,} {each}" if limit else "")


def named(run: Run) -> str:
    """A run as a list entry: number, request, time and state."""
    moment = clock.local(run.created_at)
    return f"Run {run.id}: {title(run)}, {moment:%Y-%m-%d %H:%M}, {progress_view.STATES[run.state]}"
