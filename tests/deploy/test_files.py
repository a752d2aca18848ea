"""The deployment files name existing things and open only the documented ports; the project of a
Space survives a restart that loses the disk."""

import configparser
import fnmatch
import importlib.util
import os
import re
import shlex
import shutil
import signal
import socket
import subprocess
import sys
import time
import urllib.request
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
import yaml
from huggingface_hub import constants
from huggingface_hub.errors import HfHubHTTPError, OfflineModeIsEnabled
from typer.main import get_command

import cli
import hedgerow
from db.settings import Settings, variable
from tests.support.checkout import ROOT
from tests.support.publishing import hub as hub
from tests.support.servers.hub_server import OWNER, TOKEN, HubServer

DEPLOY = ROOT / "deploy"
DOCKERFILES = [DEPLOY / "Dockerfile", DEPLOY / "space" / "Dockerfile"]
UNITS = sorted(DEPLOY.glob("*.service"))


def instructions(path: Path) -> list[tuple[str, str]]:
    """A Dockerfile's instructions, each with its arguments."""
    lines = [line for line in path.read_text(encoding="utf-8").splitlines() if line[:1] != "#"]
    text = "\n".join(lines).replace("\\\n", " ")
    return [tuple(line.split(maxsplit=1)) for line in text.splitlines() if line]  # type: ignore[misc]


def last_of(path: Path, name: str) -> str:
    return [given for instruction, given in instructions(path) if instruction == name][-1]


def accepted(command: list[str]) -> None:
    """Check that Hedgerow has this command with these options."""
    assert command[0].endswith("hedgerow")
    found: Any = get_command(cli.app)
    rest = command[1:]
    while hasattr(found, "get_command"):
        found = found.get_command(None, rest.pop(0))
    found.make_context(found.name, rest, resilient_parsing=False).close()


@pytest.mark.parametrize("path", DOCKERFILES, ids=lambda path: path.parent.name)
def test_an_image_runs_as_an_ordinary_user_and_says_whether_it_is_well(path: Path) -> None:
    user = last_of(path, "USER")
    assert user.isdecimal() and int(user) >= 1000
    assert f"--uid {user} " in " ".join(given for _, given in instructions(path))
    port = last_of(path, "EXPOSE")
    assert f"http://127.0.0.1:{port}/_stcore/health" in last_of(path, "HEALTHCHECK")


@pytest.mark.parametrize("path", DOCKERFILES, ids=lambda path: path.parent.name)
def test_an_image_has_the_locked_versions_and_no_test_tools(path: Path) -> None:
    installs = [given for name, given in instructions(path) if name == "RUN"][-1]
    (extras,) = re.findall(r'-c constraints.txt "\$\(ls ./\*.whl\)\[(.*)\]"', installs)
    assert set(extras.split(",")) <= {"bench", "llm", "postgres", "signin"}
    assert "grep '^torch==' constraints.txt" in installs
    lock = (ROOT / "constraints.txt").read_text(encoding="utf-8")
    assert len(re.findall(r"^torch==", lock, re.MULTILINE)) == 1


def test_the_image_starts_the_app_on_the_port_that_it_exposes() -> None:
    path = DEPLOY / "Dockerfile"
    command = yaml.safe_load(last_of(path, "CMD"))
    accepted(command)
    assert command[-1] == last_of(path, "EXPOSE")
    volume = last_of(path, "VOLUME")
    assert f"HEDGEROW_HOME={volume}" in last_of(path, "ENV")


def test_the_build_gets_everything_that_the_wheel_has_and_nothing_private() -> None:
    lines = (DEPLOY / "Dockerfile.dockerignore").read_text(encoding="utf-8").splitlines()
    rules = [line for line in lines if line[:1] != "#"]
    assert rules[0] == "*"
    taken = {rule[1:] for rule in rules if rule.startswith("!")}
    assert [name for name in taken if not (ROOT / name).exists()] == []
    project = (ROOT / "pyproject.toml").read_text(encoding="utf-8")
    (packages,) = re.findall(r"^include = \[(.*)\]$", project, re.MULTILINE)
    wanted = {pattern.rstrip("*") for pattern in re.findall(r'"([^"]+)"', packages)}
    wanted |= {"app.py", "http_app.py", "pyproject.toml", "README.md", "LICENSE", "constraints.txt"}
    assert taken == wanted
    assert not any(fnmatch.fnmatch(name, ".env*") for name in taken)


@pytest.fixture(scope="module")
def services() -> dict[str, Any]:
    compose = yaml.safe_load((DEPLOY / "compose.yaml").read_text(encoding="utf-8"))
    assert set(compose) == {"name", "services", "volumes"}
    named = {
        mount.partition(":")[0]
        for service in compose["services"].values()
        for mount in service["volumes"]
    }
    assert set(compose["volumes"]) == named
    found: dict[str, Any] = compose["services"]
    return found


def test_the_app_waits_for_its_database_and_keeps_its_files(services: dict[str, Any]) -> None:
    app, database = services["app"], services["database"]
    assert app["depends_on"] == {"database": {"condition": "service_healthy"}}
    assert "healthcheck" in database
    build = app["build"]
    assert (DEPLOY / build["context"] / build["dockerfile"]).is_file()
    assert f"data:{app['environment']['HEDGEROW_HOME']}" in app["volumes"]


def test_the_app_is_given_settings_that_exist_and_the_databases_address(
    services: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    environment = services["app"]["environment"]
    known = {variable(name) for name in Settings.model_fields}
    assert {name for name in environment if name.startswith("HEDGEROW_")} <= known
    address = re.sub(
        r"\$\{POSTGRES_PASSWORD:\?[^}]+\}", "secret", environment["HEDGEROW_DATABASE_URL"]
    )
    monkeypatch.setenv("HEDGEROW_DATABASE_URL", address)
    url = Settings().url
    of_database = services["database"]["environment"]
    assert url.drivername == "postgresql+psycopg" and url.host in services
    assert (url.username, url.password) == (of_database["POSTGRES_USER"], "secret")
    assert url.database == of_database["POSTGRES_DB"]


def test_only_the_app_is_reachable_and_only_from_this_machine(
    services: dict[str, Any],
) -> None:
    assert services["app"]["ports"] == ["127.0.0.1:8501:8501"]
    assert "ports" not in services["database"]


def unit(path: Path) -> configparser.RawConfigParser:
    found = configparser.RawConfigParser(strict=False, delimiters=("=",))
    found.optionxform = str  # type: ignore[assignment, method-assign]
    found.read(path, encoding="utf-8")
    return found


@pytest.mark.parametrize("path", UNITS, ids=lambda path: path.name)
def test_a_unit_runs_a_command_that_exists_as_an_ordinary_user(path: Path) -> None:
    service = unit(path)["Service"]
    command = shlex.split(service["ExecStart"].replace("%%", "%"))
    if command[0] == "/bin/sh":
        command = shlex.split(command[2].removeprefix("exec "))
    accepted(command)
    assert service["User"] == "hedgerow" and service["NoNewPrivileges"] == "yes"
    assert service["Environment"] == f"HEDGEROW_HOME=/var/lib/{service['StateDirectory']}"


@pytest.mark.skipif(not shutil.which("systemd-analyze"), reason="needs systemd-analyze")
@pytest.mark.parametrize("path", [*UNITS, *DEPLOY.glob("*.timer")], ids=lambda path: path.name)
def test_systemd_finds_nothing_wrong_with_a_unit(path: Path, tmp_path: Path) -> None:
    # If Hedgerow is not in /opt, systemd would not find the program.
    for other in [*UNITS, *DEPLOY.glob("*.timer")]:
        text = other.read_text(encoding="utf-8")
        copy = tmp_path / other.name
        copy.write_text(text.replace("/opt/hedgerow/.venv/bin/hedgerow", "/bin/true"))
    done = subprocess.run(
        ["systemd-analyze", "verify", "--man=no", str(tmp_path / path.name)],
        capture_output=True,
        text=True,
        env={"SYSTEMD_UNIT_PATH": f"{tmp_path}:", "PATH": "/usr/bin:/bin"},
    )
    assert (done.returncode, done.stderr) == (0, "")


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
