"""A generation run with a server that answers in 200 ms, compared with the ideal throughput.

    python -m bench.generation [--anchors 2000] [--few 200] [--delay 0.2] [--at-once 64]

The server and each run are separate processes. A run is executed as the app does it, but without
the diagnostics that follow. The bench prints the calls per second from the first request to the
last stored answer, their share of the ideal (the allowed number of concurrent calls, each taking
only the server's time), the CPU time per call, and the peak memory with many and with few anchors.
The share should be at least 90%, and the peak memory at most 1.3 times as high with many anchors.
"""

import argparse
import json
import os
import resource
import socket
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import NamedTuple
from urllib.error import URLError
from urllib.request import urlopen

from sqlalchemy import func, select
from sqlmodel import col

from curation.diagnostics import measuring
from curation.generation import run as generation
from curation.generation.run import checked_request, request_generation
from curation.overview.project_settings import open_project
from db.engine import reading, writing
from db.execution import execute
from db.models import Answer, Source, Variant
from db.settings import Settings
from tests.support.factories import add_anchor

CALLS = 2
"""Calls per anchor: one for negations, one for hedges."""


class Measured(NamedTuple):
    """The time and memory of a run.

    Attributes:
        calls: the number of calls.
        seconds: from the first request to the last stored answer.
        cpu: the CPU seconds of the run's process in that time.
        peak, idle: its peak resident memory in MiB, at the end and before the first request.
    """

    calls: int
    seconds: float
    cpu: float
    peak: float
    idle: float


def carry_out(home: Path, run_id: int) -> None:
    """Execute a run in this process, and print its measurements as JSON."""
    settings = Settings(home=home, database_url="")
    engine = open_project(settings)
    measuring.work = lambda context: {}
    idle = peak_memory()
    start, cpu = time.perf_counter(), time.process_time()
    execute(engine, settings, run_id, {generation.KIND: generation.work})
    seconds, cpu = time.perf_counter() - start, time.process_time() - cpu
    with reading(engine) as session:
        calls = session.execute(select(func.count(col(Answer.id)))).scalar_one()
        variants = session.execute(select(func.count(col(Variant.id)))).scalar_one()
    assert variants == 3 * calls, f"{variants} variants from {calls} calls"
    print(json.dumps(Measured(calls, seconds, cpu, peak_memory(), idle)._asdict()))


def peak_memory() -> float:
    """The peak resident memory of this process so far, in MiB."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


def measure(folder: Path, address: str, *, anchors: int, at_once: int) -> Measured:
    """Measure a run for this many anchors in a separate process."""
    home = folder / str(anchors)
    home.mkdir()
    engine = open_project(Settings(home=home, database_url=""))
    with writing(engine) as session:
        session.add(Source(name="bench"))
        session.flush()
        for number in range(anchors):
            add_anchor(session, f"The bridge number {number} over the river is safe in winter.")
        values = {"model": "fake", "base_url": address, "concurrency": at_once}
    run_id = request_generation(engine, checked_request(values)).id
    engine.dispose()
    command = [sys.executable, "-m", "bench.generation", "--home", str(home), "--run", str(run_id)]
    done = subprocess.run(command, check=True, capture_output=True, text=True)
    return Measured(**json.loads(done.stdout.splitlines()[-1]))


def serve(delay: float) -> tuple[subprocess.Popen[bytes], str]:
    """Start the server, and return its process and address when it answers."""
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    command = [
        "-m",
        "tests.support.servers.chat_server",
        "--port",
        str(port),
        "--delay",
        str(delay),
    ]
    server = subprocess.Popen([sys.executable, *command])
    while server.poll() is None:
        try:
            urlopen(f"http://127.0.0.1:{port}/")
        except URLError as error:
            if hasattr(error, "code"):  # an HTTP error is an answer, too
                break
            time.sleep(0.1)
    return server, f"http://127.0.0.1:{port}/v1"


def main() -> None:
    """Measure, and print the results."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--anchors", type=int, default=2000)
    parser.add_argument("--few", type=int, default=200)
    parser.add_argument("--delay", type=float, default=0.2)
    parser.add_argument("--at-once", type=int, default=64)
    parser.add_argument("--home", type=Path, help=argparse.SUPPRESS)
    parser.add_argument("--run", type=int, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.home:
        carry_out(options.home, options.run)
        return
    print(f"load {os.getloadavg()[0]:.1f} on {os.cpu_count()} CPU cores")
    with tempfile.TemporaryDirectory() as folder:
        server, address = serve(options.delay)
        try:
            few, many = (
                measure(Path(folder), address, anchors=number, at_once=options.at_once)
                for number in (options.few, options.anchors)
            )
        finally:
            server.terminate()
            server.wait()
    ideal = options.at_once / options.delay
    rate = many.calls / many.seconds
    print(f"throughput   {rate:6.1f} calls/s of {ideal:.0f}: {rate / ideal:.0%} (at least 90%)")
    print(
        f"CPU time     {1000 * many.cpu / many.calls:6.2f} ms per call, ideal {1000 / ideal:.2f} ms"
    )
    print(
        f"peak memory  {many.peak:6.1f} MiB, {few.peak:.1f} MiB with {options.few} anchors, ratio "
        f"{many.peak / few.peak:.2f} (at most 1.3); {many.idle:.1f} MiB before the first call"
    )
    print(f"load {os.getloadavg()[0]:.1f}")


if __name__ == "__main__":
    main()
