"""The browser app: its port, its server, and the measuring that starts with it."""

import errno
import http.client
import importlib
import os
import runpy
import signal
import socket
import sys
import threading
import time
from collections.abc import Callable
from contextlib import redirect_stdout
from pathlib import Path
from typing import Annotated

import typer
from sqlalchemy import Engine

from cli.runs import new_run
from cli.terminal import AsJson, err, open_home, show, text_of
from curation import diagnostics, queue_keys
from curation.project import active_encoder_id
from db.engine import reading, writing
from db.errors import HedgerowError
from db.runs import UNFINISHED, list_runs, request_cancel, start_process
from db.settings import Settings

APP = Path(__file__).parent.with_name("app.py")
FIRST_PORT = 8501
PORTS_TRIED = 100
THIS_MACHINE = ("127.0.0.1", "localhost")
REACHED_AT = {"0.0.0.0": "127.0.0.1", "::": "::1"}
"""Where this machine itself reaches a server that listens on all its addresses."""
NEEDED_SOON = ("pandas", "curation.funnel", "curation.release_contents")
"""What the first page imports; that is done while the browser is still starting."""


def open_app(
    port: Annotated[
        int | None,
        typer.Option(min=1, max=65535, envvar="STREAMLIT_SERVER_PORT",
                     help=f"The port; otherwise the first free one from {FIRST_PORT} on."),
    ] = None,
    address: Annotated[
        str,
        typer.Option(envvar="STREAMLIT_SERVER_ADDRESS",
                     help="This machine's address to listen on; the default admits nobody else."),
    ] = "127.0.0.1",
    as_json: AsJson = False,
) -> None:  # fmt: skip
    """Open the browser app; Ctrl-C ends it."""
    settings, engine = open_home(create=True)
    port = _free_port(address, port)
    run_id = _start_missing_measures(settings, engine)
    url = _url(address, port)
    lines = [f"Hedgerow: {url}"]
    if run_id is not None:
        lines.append(f"Run {run_id} measures variants in the background.")
    engine.dispose()
    _serve(
        settings,
        address=address,
        port=port,
        announce=lambda: show({"url": url, "run": run_id}, as_json, *lines),
    )


def _serve(settings: Settings, *, address: str, port: int, announce: Callable[[], None]) -> None:
    """Be the server until Ctrl-C or SIGTERM; ``announce`` is called once it answers.

    Streamlit runs in this process, which has imported most of what the pages need: a second
    interpreter would do that again.
    """
    os.environ.update(settings.process_environment())
    if address not in THIS_MACHINE:
        err.print(text_of(f"Everybody who reaches {address} can review, under any name."))
        allowed = ",".join([*THIS_MACHINE, address])  # the browsers' names for this machine
        os.environ.setdefault("STREAMLIT_SERVER_ALLOWED_HOSTS", allowed)
    os.chdir(settings.home)
    signal.signal(signal.SIGTERM, signal.default_int_handler)  # until Streamlit has its own
    output = sys.stdout
    answers, ended = threading.Event(), threading.Event()

    def tell() -> None:
        if _wait_until_it_answers(address=address, port=port, ended=ended):
            answers.set()
            with redirect_stdout(output):
                announce()
            for name in NEEDED_SOON:
                importlib.import_module(name)

    threading.Thread(target=tell, daemon=True).start()
    sys.argv = [
        *("streamlit", "run", str(APP), "--logger.hideWelcomeMessage=true"),
        *(f"--server.address={address}", f"--server.port={port}"),
    ]
    try:
        with redirect_stdout(sys.stderr):  # standard output is for what is announced
            runpy.run_module("streamlit", run_name="__main__")
    except KeyboardInterrupt:
        return
    except SystemExit as end:
        if end.code and not answers.is_set():
            raise HedgerowError(
                "The app ended while it was starting; what it said stands above."
            ) from end
        if end.code:
            raise
    finally:
        ended.set()


def _url(address: str, port: int) -> str:
    return f"http://[{address}]:{port}" if ":" in address else f"http://{address}:{port}"


def _free_port(address: str, asked: int | None) -> int:
    """The port asked for, if it is free; without one, the first free from ``FIRST_PORT`` on."""
    for port in [asked] if asked else range(FIRST_PORT, FIRST_PORT + PORTS_TRIED):
        try:
            kind, _, _, _, end = socket.getaddrinfo(address, port, type=socket.SOCK_STREAM)[0]
            with socket.socket(kind, socket.SOCK_STREAM) as probe:
                probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
                probe.bind(end)
            return port
        except OSError as error:
            if error.errno != errno.EADDRINUSE:
                raise HedgerowError(
                    f"The app cannot listen on {address}, port {port} ({error.strerror})."
                ) from error
    taken = f"Port {asked} is" if asked else f"{PORTS_TRIED} ports from {FIRST_PORT} on are"
    raise HedgerowError(f"{taken} in use; end what uses it, or name another with --port.")


def _start_missing_measures(settings: Settings, engine: Engine) -> int | None:
    """Have unmeasured variants measured in the background, unless a run is at it; its number."""
    with reading(engine) as session:
        encoder_id = active_encoder_id(session)
        missing = diagnostics.count_without_measures(session)
        missing += diagnostics.count_without_cosine(session, encoder_id)
        missing += queue_keys.count_to_reorder(session)
        busy = any(run.state in UNFINISHED for run in list_runs(session, kind="diagnose"))
    if not missing or busy:
        return None
    run = new_run(engine, "diagnose", {})
    try:
        start_process(settings, run)
    except HedgerowError as error:  # people can review all the same
        with writing(engine) as session:
            request_cancel(session, run.id or 0)
        err.print(text_of(str(error)), soft_wrap=True)
        return None
    return run.id


def _wait_until_it_answers(*, address: str, port: int, ended: threading.Event) -> bool:
    """Whether it does: False where the server has ended before."""
    while not ended.is_set():
        connection = http.client.HTTPConnection(REACHED_AT.get(address, address), port, timeout=1)
        try:
            connection.request("GET", "/_stcore/health")
            if connection.getresponse().status == http.HTTPStatus.OK:
                return True
        except OSError:
            time.sleep(0.1)
        finally:
            connection.close()
    return False
