"""Run Hedgerow in a Hugging Face Space, whose disk is lost whenever it restarts.

The project is kept in a private data set: its backup is restored when the Space starts, and a new
one is uploaded when the project has changed, every quarter of an hour and when the Space stops.
MIRROR_DATASET in the environment names the data set (OWNER/NAME), and HF_TOKEN is a token that may
write to it. Without a data set, the app runs on a project that is lost with the disk.

A database cannot be uploaded while it is written to, so that the hub's CommitScheduler won't do.
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
"""From one look for changes to the next."""

STOP_SECONDS = 10
"""What the app gets to end in; the last backup comes after that."""


class Mirror:
    """A data set that holds the project's newest backup.

    Attributes:
        dataset: its name, OWNER/NAME.
    """

    def __init__(self, dataset: str, token: str) -> None:
        self.dataset = dataset
        self._hub = HfApi(token=token)
        self._uploaded: list[tuple[int, int]] = []

    def restore(self) -> bool:
        """Bring the project back, unless there is one; whether there is one now.

        The data set is made if it is missing. Whatever else goes wrong ends the program: to go on
        with an empty project would replace the backup by an empty one.
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
        """Upload a backup if the project has changed since the last one; whether it has."""
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
    """Run the app until it ends or the Space stops; the exit code."""
    dataset, token = os.environ.get("MIRROR_DATASET", ""), os.environ.pop("HF_TOKEN", "")
    # The token is taken out of the environment: nobody should publish with it from the app.
    mirror = Mirror(dataset, token) if dataset else None
    if mirror is None:
        say("MIRROR_DATASET names no data set: the project is lost when the Space restarts.")
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
    """Upload what has changed. Where that fails, people work on, and the next time may do."""
    if mirror is None:
        return
    try:
        if mirror.upload_changes():
            say(f"Uploaded a backup to {mirror.dataset}.")
    except Exception as error:  # whatever the hub, the network or the disk has to say
        say(f"No backup was uploaded to {mirror.dataset} ({error}).")


def _state() -> list[tuple[int, int]]:
    """What differs once something was written to the database."""
    files = [path for path in sorted(HOME.glob("hedgerow.db*")) if path.suffix != ".db-shm"]
    return [(stat.st_size, stat.st_mtime_ns) for stat in (path.stat() for path in files)]


def hedgerow(*command: str) -> None:
    """Carry out a command.

    Raises:
        subprocess.CalledProcessError: it failed, and has said why.
    """
    subprocess.run(["hedgerow", *command], check=True, stdout=subprocess.DEVNULL)


def say(sentence: str) -> None:
    print(sentence, file=sys.stderr, flush=True)


if __name__ == "__main__":
    sys.exit(main())
