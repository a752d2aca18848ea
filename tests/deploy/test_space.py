"""The mirror of a Space: the project survives a restart that loses the disk."""

import importlib.util
import os
import signal
import socket
import subprocess
import sys
import time
import urllib.request
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType

import pytest
import yaml
from huggingface_hub import constants
from huggingface_hub.errors import HfHubHTTPError, OfflineModeIsEnabled

import hedgerow
from tests.support.checkout import ROOT
from tests.support.publishing import hub as hub
from tests.support.servers.hub_server import OWNER, TOKEN, HubServer

MIRROR = ROOT / "deploy" / "space" / "mirror.py"
DATASET = f"{OWNER}/project"


@pytest.fixture
def mirror(home: Path, monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    """The script as a module, with its project in ``home``. Its commands are from this checkout."""
    monkeypatch.setenv("PATH", f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}")
    spec = importlib.util.spec_from_file_location("mirror", MIRROR)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    monkeypatch.setattr(module, "HOME", home)
    return module


def add(home: Path, sentence: str) -> None:
    with hedgerow.open(home) as project:
        project.anchors.add([sentence])


def anchors(home: Path) -> list[str]:
    with hedgerow.open(home, create=False) as project:
        return list(project.anchors()["text"])


def lose_disk(home: Path) -> None:
    for path in home.glob("hedgerow.db*"):
        path.unlink()


@pytest.mark.slow
def test_a_project_is_back_after_the_disk_is_lost(
    mirror: ModuleType, hub: HubServer, home: Path
) -> None:
    first = mirror.Mirror(DATASET, TOKEN)
    assert not first.restore()
    assert hub.repos["dataset", DATASET].private
    add(home, "The door is open.")
    assert first.upload_changes()
    lose_disk(home)
    assert mirror.Mirror(DATASET, TOKEN).restore()
    assert anchors(home) == ["The door is open."]


@pytest.mark.slow
def test_only_changes_are_uploaded(mirror: ModuleType, hub: HubServer, home: Path) -> None:
    watching = mirror.Mirror(DATASET, TOKEN)
    watching.restore()
    add(home, "The door is open.")
    assert [watching.upload_changes() for _ in range(3)] == [True, False, False]
    add(home, "The lamp is lit.")
    assert [watching.upload_changes() for _ in range(2)] == [True, False]
    assert len(hub.repos["dataset", DATASET].commits) == 2


@pytest.mark.parametrize("fault", ["refuses", "away"])
def test_a_hub_that_cannot_be_asked_ends_the_start(
    fault: str, mirror: ModuleType, hub: HubServer, home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Otherwise the Space would continue with an empty project, and replace the full backup with
    it."""
    if fault == "refuses":
        hub.fault = 403
    else:
        monkeypatch.setattr(constants, "HF_HUB_OFFLINE", True)
    with pytest.raises((HfHubHTTPError, OfflineModeIsEnabled)):
        mirror.Mirror(DATASET, TOKEN).restore()
    assert not list(home.glob("hedgerow.db*")) and not hub.repos


@pytest.mark.slow
def test_a_failed_upload_is_reported_and_made_up_for(
    mirror: ModuleType, hub: HubServer, home: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    watching = mirror.Mirror(DATASET, TOKEN)
    watching.restore()
    add(home, "The door is open.")
    hub.fault = 403
    mirror._try_to_upload(watching)
    errors = capsys.readouterr().err
    assert f"No backup was uploaded to {DATASET}" in errors and TOKEN not in errors
    hub.fault = 0
    mirror._try_to_upload(watching)
    assert "hedgerow-backup.zip" in hub.repos["dataset", DATASET].files


@pytest.fixture
def space(
    mirror: ModuleType, hub: HubServer, home: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> Iterator[tuple[subprocess.Popen[bytes], str]]:
    """The script, running as in a Space, and the app's address."""
    add(home, "The door is open.")
    before = mirror.Mirror(DATASET, TOKEN)
    before.restore()
    before.upload_changes()
    lose_disk(home)
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    script = tmp_path / "mirror.py"
    script.write_text(MIRROR.read_text(encoding="utf-8").replace('"7860"', f'"{port}"'))
    monkeypatch.setenv("MIRROR_DATASET", DATASET)
    process = subprocess.Popen([sys.executable, script], cwd=home)
    yield process, f"http://127.0.0.1:{port}"
    process.kill()
    process.wait()


@pytest.mark.slow
def test_a_space_serves_the_restored_project_and_stores_it_when_it_stops(
    space: tuple[subprocess.Popen[bytes], str], hub: HubServer, home: Path
) -> None:
    process, address = space
    until = time.monotonic() + 120
    while not answers(f"{address}/_stcore/health"):
        assert process.poll() is None and time.monotonic() < until
        time.sleep(0.2)
    assert anchors(home) == ["The door is open."]
    environment = Path(f"/proc/{child_of(process.pid)}/environ").read_bytes()
    assert b"MIRROR_DATASET=" in environment and TOKEN.encode() not in environment
    add(home, "The lamp is lit.")
    process.send_signal(signal.SIGTERM)
    assert process.wait(60) == 0
    assert not answers(f"{address}/_stcore/health")
    lose_disk(home)
    stored = home / "stored.zip"
    stored.write_bytes(hub.repos["dataset", DATASET].files["hedgerow-backup.zip"])
    with hedgerow.restore(stored, home / "again") as project:
        assert set(project.anchors()["text"]) == {"The door is open.", "The lamp is lit."}


def answers(address: str) -> bool:
    try:
        with urllib.request.urlopen(address, timeout=5) as answer:
            return bool(answer.status == 200)
    except OSError:
        return False


def child_of(process: int) -> int:
    children = Path(f"/proc/{process}/task/{process}/children").read_text(encoding="utf-8")
    return int(children.split()[0])


def test_the_card_says_what_the_hub_needs_to_run_the_space() -> None:
    text = (MIRROR.parent / "README.md").read_text(encoding="utf-8")
    header = yaml.safe_load(text.split("---\n")[1])
    assert header["sdk"] == "docker"
    exposed = (MIRROR.parent / "Dockerfile").read_text(encoding="utf-8")
    assert f"EXPOSE {header['app_port']}\n" in exposed
    assert f'PORT = "{header["app_port"]}"' in MIRROR.read_text(encoding="utf-8")
    assert len(header["short_description"]) <= 60
