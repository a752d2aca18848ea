"""What generation runs and their costs are called, for people."""

from curation.generation.judging.opinion_request import KIND as JUDGE_KIND
from db.models import Run
from pages.components.shared.formatting import clock
from pages.components.shared.runs import progress_view


def title(run: Run) -> str:
    """What a run asks, for people; names a model, which is somebody's text."""
    who = run.parameters["model"] or run.parameters["provider"]
    limit = run.parameters["selection"]["limit"]
    what, each = ("opinions", "variants") if run.kind == JUDGE_KIND else ("variants", "anchors")
    return f"{what} by {who}" + (f", {limit:,} {each}" if limit else "")


def named(run: Run) -> str:
    """A run in a list to choose from: its number, what it asked, when, and how it ended."""
    moment = clock.local(run.created_at)
    return f"Run {run.id}: {title(run)}, {moment:%Y-%m-%d %H:%M}, {progress_view.STATES[run.state]}"
