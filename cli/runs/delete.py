"""Deleting a run."""

from cli.shared.home import open_home
from cli.shared.terminal import AsJson, RunId, show
from curation.plurals import counted
from training.runs.removal import delete_run


def delete(run_id: RunId, as_json: AsJson = False) -> None:
    """Delete a run with its folder, its figures and the model it made.
    A run whose model or texts are used elsewhere stays.
    """
    settings, engine = open_home()
    folders = delete_run(engine, settings, run_id)
    also = f", with {counted(len(folders) - 1, 'run')} of it" if len(folders) > 1 else ""
    show(
        {"run": run_id, "deleted": [str(folder) for folder in folders]},
        as_json,
        f"Run {run_id} is deleted{also}.",
    )
