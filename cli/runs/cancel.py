"""Cancel a run."""

from cli.shared.home import open_home
from cli.shared.terminal import AsJson, RunId, show
from db.models import RunState
from training.runs.cancelling import cancel_run


def cancel(run_id: RunId, as_json: AsJson = False) -> None:
    """Cancel a run: a waiting run at once, a running one at its next step."""
    settings, engine = open_home()
    state = cancel_run(engine, settings, run_id)
    messages = {
        RunState.CANCELLED: f"Run {run_id} is cancelled.",
        RunState.RUNNING: f"Run {run_id} will stop at its next step.",
    }
    message = messages.get(state, f"Run {run_id} has already ended: it is {state}.")
    show({"run": run_id, "state": state.value, "message": message}, as_json, message)
