"""Run Hedgerow in a Hugging Face Space, whose disk is erased at each restart.

The project is stored in a private data set. Its backup is restored when the Space starts. If the
project has changed, a new backup is uploaded every 15 minutes and when the Space stops.
MIRROR_DATASET in the environment is the data set (OWNER/NAME), and HF_TOKEN is a token that may
write to it. Without a data set, the project is lost at a restart.

The hub's CommitScheduler does not work here, because it would upload the database during writes.
"""

import os
import signal
import subprocess
import sys
import tempfile
import threading
from pathlib import Path

from huggingface_hub import HfApi
from huggingface_hub.errors import RemoteEntryNotFoundError

HOME = Path(os.environ.get("HEDGEROW_HOME", "."))
PORT = "7860"
BACKUP = "hedgerow-backup.zip"
SECONDS = 15 * 60
"""Time between two checks for changes."""

STOP_SECONDS = 10
"""Time for the app to stop, before the last backup."""


class Mirror:
    """A data set with the project's newest backup.

    Attributes:
        dataset: its name, OWNER/NAME.
    """

    def __init__(self, dataset: str, token: str) -> None:
        self.dataset = dataset
        self._hub = HfApi(token=token)
        self._uploaded: list[tuple[int, int]] = []

    def restore(self) -> bool:
        """Restore the project unless it exists; returns whether it exists now.

        A missing data set is created. Any other problem ends the program, because an empty project
        would then replace the backup.
        """
        self._hub.create_repo(self.dataset, repo_type="dataset", private=True, exist_ok=True)
        if (HOME / "hedgerow.db").exists():
            return True
        with tempfile.TemporaryDirectory() as folder:
            try:
                file = self._hub.hf_hub_download(
                    self.dataset, BACKUP, repo_type="dataset", local_dir=folder
                )
            except RemoteEntryNotFoundError:
                return False
            hedgerow("db", "restore", file)
        self._uploaded = _state()
        return True

    def upload_changes(self) -> bool:
        """Upload a backup if the project has changed since the last one; returns whether it has."""
        state = _state()
        if state == self._uploaded:
            return False
        with tempfile.TemporaryDirectory() as folder:
            file = Path(folder, BACKUP)
            hedgerow("db", "backup", str(file))
            self._hub.upload_file(
                path_or_fileobj=file,
                path_in_repo=BACKUP,
                repo_id=self.dataset,
                repo_type="dataset",
                commit_message="Back up the project",
            )
        self._uploaded = state
        return True


def main() -> int:
    """Run the app until it ends or the Space stops; returns the exit code."""
    dataset, token = os.environ.get("MIRROR_DATASET", ""), os.environ.pop("HF_TOKEN", "")
    # The token is removed from the environment, so that nobody can publish with it from the app.
    mirror = Mirror(dataset, token) if dataset else None
    if mirror is None:
        say("MIRROR_DATASET is not set: the project will be lost when the Space restarts.")
    if not (mirror and mirror.restore()):
        hedgerow("init")
    stop = threading.Event()
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, lambda *_: stop.set())
    if host := os.environ.get("SPACE_HOST"):
        os.environ["STREAMLIT_SERVER_ALLOWED_HOSTS"] = f"127.0.0.1 localhost {host}"
    app = subprocess.Popen(["hedgerow", "app", "--address", "0.0.0.0", "--port", PORT])
    due = SECONDS
    while app.poll() is None and not stop.wait(1):
        due -= 1
        if due <= 0:
            _try_to_upload(mirror)
            due = SECONDS
    app.terminate()
    try:
        app.wait(STOP_SECONDS)
    except subprocess.TimeoutExpired:
        app.kill()
    _try_to_upload(mirror)
    return 0 if stop.is_set() else app.wait()


def _try_to_upload(mirror: Mirror | None) -> None:
    """Upload changes. After a failure, the app keeps running until the next attempt."""
    if mirror is None:
        return
    try:
        if mirror.upload_changes():
            say(f"Uploaded a backup to {mirror.dataset}.")
    except Exception as error:  # any problem of the hub, the network or the disk
        say(f"No backup was uploaded to {mirror.dataset} ({error}).")


def _state() -> list[tuple[int, int]]:
    """Sizes and times of the database files, which change with each write."""
    files = [path for path in sorted(HOME.glob("hedgerow.db*")) if path.suffix != ".db-shm"]
    return [(stat.st_size, stat.st_mtime_ns) for stat in (path.stat() for path in files)]


def hedgerow(*command: str) -> None:
    """Run a command.

    Raises:
        subprocess.CalledProcessError: it failed, and has printed the reason.
    """
    subprocess.run(["hedgerow", *command], check=True, stdout=subprocess.DEVNULL)


def say(sentence: str) -> None:
    print(sentence, file=sys.stderr, flush=True)


if __name__ == "__main__":
    sys.exit(main())
