"""Deleting a run."""

from cli.shared.home import open_home
from cli.shared.terminal import AsJson, RunId, show
from curation.plurals import counted
from training.runs.removal import delete_run


def delete(run_id: RunId, as_json: AsJson = False) -> None:
    """Delete a run with its folder, its metrics and its model.
    A run whose model or texts are used elsewhere can't be deleted.
    """
    settings, engine = open_home()
    folders = delete_run(engine, settings, run_id)
    also = (
        f", with {counted(len(folders) - 1, 'run')} that belong to it" if len(folders) > 1 else ""
    )
    show(
        {"run": run_id, "deleted": [str(folder) for folder in folders]},
        as_json,
        f"Run {run_id} is deleted{also}.",
    )
