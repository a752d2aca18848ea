"""Start the browser app: its port and its server. Keep imports few, since they delay the server."""

import errno
import gc
import importlib
import io
import json
import os
import re
import runpy
import signal
import socket
import sys
import threading
import tomllib
from collections.abc import Callable, Mapping
from contextlib import redirect_stdout
from pathlib import Path
from typing import Annotated, Any

import typer

from cli.terminal import AsJson, show
from db.errors import HedgerowError
from hedgerow.progress import err, text_of

APP = Path(__file__).parent.with_name("app.py")
APP_WITH_HTTP = APP.with_name("http_app.py")
FIRST_PORT = 8501
PORTS_TRIED = 100
THIS_MACHINE = ("127.0.0.1", "localhost")
OPTIONS = Path(__file__).with_name("streamlit.toml")
POLL_SECONDS = 0.05


def open_app(
    port: Annotated[
        int | None,
        typer.Option(
            min=1,
            max=65535,
            envvar="STREAMLIT_SERVER_PORT",
            help=f"The port. Default: the first free port from {FIRST_PORT}.",
        ),
    ] = None,
    address: Annotated[
        str,
        typer.Option(
            envvar="STREAMLIT_SERVER_ADDRESS",
            help="The address to listen on. The default only allows connections from this machine.",
        ),
    ] = "127.0.0.1",
    with_http: Annotated[
        bool,
        typer.Option(
            "--http",
            help="Also serve the HTTP interface for other tools under /api. They need the token "
            "in HEDGEROW_HTTP_TOKEN.",
        ),
    ] = False,
    as_json: AsJson = False,
) -> None:
    """Open the browser app. Press Ctrl-C to stop it."""
    if with_http:
        importlib.import_module("db.settings").load_settings().require_http_token()
    asked = port
    port = _free_port(address, asked)
    url = _url(address, port)

    def announce(run_id: int | None) -> None:
        lines = [f"Hedgerow: {url}"]
        result: dict[str, Any] = {"url": url, "run": run_id}
        if with_http:
            result["api"] = f"{url}/api"
            lines.append(f"For other tools: {url}/api")
        if run_id is not None:
            lines.append(f"Run {run_id} measures variants in the background.")
        show(result, as_json, *lines)

    try:
        script = APP_WITH_HTTP if with_http else APP
        _serve(script, address=address, port=port, announce=announce)
    except _NeverAnsweredError:
        if asked is None and not _is_free(address, port):  # another app took the port first
            os.execv(sys.executable, [sys.executable, *sys.orig_argv[1:]])
        raise


class _NeverAnsweredError(HedgerowError):
    """The server ended before it accepted a connection."""


def _serve(
    script: Path, *, address: str, port: int, announce: Callable[[int | None], None]
) -> None:
    """Serve a script until Ctrl-C or SIGTERM.

    Streamlit runs in this process, and the project is opened while the browser loads Streamlit's
    scripts. Then ``announce`` is called with the measuring run, if there is one.

    Raises:
        HedgerowError: the project cannot be opened, or the server does not start.
    """
    if address not in THIS_MACHINE and not _asks_to_sign_in():
        err.print(text_of(f"Anybody who can reach {address} can review, under any name."))
    for name, value in _streamlit_options(address).items():
        os.environ.setdefault(name, value)
    for number in (signal.SIGINT, signal.SIGTERM):
        # Until the server installs its own handlers; with the HTTP interface, it restores these at
        # its end.
        signal.signal(number, lambda *_: sys.exit())
    output = sys.stdout
    answers, ended = threading.Event(), threading.Event()
    failures: list[Exception] = []

    def open_meanwhile() -> None:
        if not _wait_until_it_answers(ended):
            return
        answers.set()
        try:
            run_id = importlib.import_module("cli.app_start").open_for_app()
            with redirect_stdout(output):
                announce(run_id)
            gc.freeze()
            gc.enable()
        except Exception as error:
            failures.append(error)
            with redirect_stdout(io.StringIO()):  # Streamlit reports its own end
                os.kill(os.getpid(), signal.SIGINT)
                ended.wait()

    # During imports, the garbage collector repeatedly scans objects that will stay alive. The first
    # page takes 1.72 s of CPU time with it and 1.48 s without.
    gc.disable()
    threading.Thread(target=open_meanwhile, daemon=True).start()
    sys.argv = [
        *("streamlit", "run", str(script), "--logger.hideWelcomeMessage=true"),
        "--logger.level=warning",
        *(f"--server.address={address}", f"--server.port={port}"),
    ]
    try:
        with redirect_stdout(sys.stderr):  # standard output is for the announcements
            runpy.run_module("streamlit", run_name="__main__")
    except SystemExit as end:
        if end.code and not answers.is_set():
            raise _NeverAnsweredError(
                "The app ended during startup. Its messages are above."
            ) from end
        if end.code:
            raise
    finally:
        ended.set()
    if failures:
        raise failures[0]


def _asks_to_sign_in() -> bool:
    settings = importlib.import_module("db.settings").load_settings()
    return bool(settings.sign_in_leads)


def _streamlit_options(address: str) -> dict[str, str]:
    """Environment variables that pass the app's options to Streamlit.

    The address is one of the allowed hosts, which Streamlit reads as a space-separated list.
    """
    hosts = dict.fromkeys([*THIS_MACHINE, address])
    options = _variables("STREAMLIT", tomllib.loads(OPTIONS.read_text(encoding="utf-8")))
    return options | {"STREAMLIT_SERVER_ALLOWED_HOSTS": " ".join(hosts)}


def _variables(prefix: str, table: Mapping[str, Any]) -> dict[str, str]:
    """The values of a TOML table and its subtables, by environment variable name."""
    found: dict[str, str] = {}
    for key, value in table.items():
        name = f"{prefix}_{re.sub('(?<=[a-z])(?=[A-Z])', '_', key).upper()}"
        if isinstance(value, Mapping):
            found |= _variables(name, value)
        else:
            found[name] = value if isinstance(value, str) else json.dumps(value)
    return found


def _url(address: str, port: int) -> str:
    return f"http://[{address}]:{port}" if ":" in address else f"http://{address}:{port}"


def _free_port(address: str, asked: int | None) -> int:
    """The requested port if it is free, or else the first free one from ``FIRST_PORT``."""
    for port in [asked] if asked else range(FIRST_PORT, FIRST_PORT + PORTS_TRIED):
        if _is_free(address, port):
            return port
    taken = f"Port {asked} is" if asked else f"{PORTS_TRIED} ports from {FIRST_PORT} on are"
    raise HedgerowError(
        f"{taken} in use. Stop the program that uses it, or choose another port with --port."
    )


def _is_free(address: str, port: int) -> bool:
    """Whether no program listens on the port.

    Raises:
        HedgerowError: this machine has no such address, or it must not be used.
    """
    try:
        kind, _, _, _, end = socket.getaddrinfo(address, port, type=socket.SOCK_STREAM)[0]
        with socket.socket(kind, socket.SOCK_STREAM) as probe:
            probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            probe.bind(end)
    except OSError as error:
        if error.errno == errno.EADDRINUSE:
            return False
        raise HedgerowError(
            f"The app cannot listen on {address}, port {port} ({error.strerror})."
        ) from error
    return True


def _wait_until_it_answers(ended: threading.Event) -> bool:
    """Whether this process's server listens; False if it has already ended.

    The check does not use the port, where another server that took it first might answer.
    """
    while not ended.wait(POLL_SECONDS):
        # The server's thread imports it; importing it here at the same time could yield a partially
        # initialised module.
        runtime = getattr(sys.modules.get("streamlit.runtime.runtime"), "Runtime", None)
        if runtime and runtime.exists() and runtime.instance().state.value != "INITIAL":
            return True
    return False
