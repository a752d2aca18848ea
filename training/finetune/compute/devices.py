"""Devices for training: bfloat16, reproducible results, and one training run at a time on each."""

from __future__ import annotations

import gc
import json
import os
import re
import sys
import tempfile
import time
import uuid
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager, nullcontext, suppress
from datetime import datetime
from operator import itemgetter
from pathlib import Path
from typing import TYPE_CHECKING

from filelock import FileLock, Timeout

from curation.formatting import duration
from db.columns import now
from db.errors import HedgerowError
from db.execution import WAITING, RunContext
from db.named_files import expanded

if TYPE_CHECKING:
    from sentence_transformers import SentenceTransformer


STUDY = re.compile(r"(?:llm-)?study-(\d+)")
"""The group of a study's runs, for the two kinds of studies."""

WAIT_SECONDS = 0.5
"""Seconds between two checks whether the device is free."""

NOTED_SECONDS = 5.0
"""Seconds between two notes of how long a run still needs its device."""

_GPUS = Path("/proc/driver/nvidia/gpus")
"""Has a folder for each GPU of the machine."""


def share_the_processor() -> None:
    """Let threads sleep while they wait for each other, and cuBLAS sum in a fixed order.

    PyTorch reads both settings when it is imported, which must happen later. By default the threads
    spin: with another training run on the same two cores, a step took three times as long.
    """
    os.environ.setdefault("OMP_WAIT_POLICY", "PASSIVE")
    os.environ.setdefault("CUBLAS_WORKSPACE_CONFIG", ":4096:8")


def repeatable(model: SentenceTransformer) -> None:
    """Make the results on the model's device reproducible. On a CPU they always are.

    On a GPU, the fused attentions are only reproducible in PyTorch's strict mode. That mode raises
    errors for other operations, including the integer sums of token positions.
    """
    import torch

    if model.device.type == "cpu":
        return
    torch.use_deterministic_algorithms(True, warn_only=True)
    if model.device.type == "cuda":
        torch.backends.cuda.enable_flash_sdp(False)
        torch.backends.cuda.enable_mem_efficient_sdp(False)
        torch.backends.cuda.enable_cudnn_sdp(False)


def uses_bf16(model: SentenceTransformer) -> bool:
    """Whether to compute in bfloat16: if it is faster on the model's device.

    MiniLM took 0.72 of the time with it on two cores with AVX-512 BF16; without such instructions
    it is slower.
    """
    import torch

    device = model.device.type
    if device == "cuda":
        return torch.cuda.is_bf16_supported(including_emulation=False)
    return device == "cpu" and bool(torch.cpu._is_avx512_bf16_supported())


@contextmanager
def computing(model: SentenceTransformer, *, bf16: bool) -> Iterator[None]:
    """A context in which the model computes in bfloat16, or in its own precision.

    On a CPU, PyTorch's fused attention is switched off: with short texts, its backward pass takes
    ten times as long as its forward pass, a quarter of a step of MiniLM.
    """
    import torch
    from torch.nn.attention import SDPBackend, sdpa_kernel

    with ExitStack() as stack:
        if bf16:  # autocast refuses unknown devices, even when it is not enabled
            stack.enter_context(torch.autocast(model.device.type, dtype=torch.bfloat16))
        if model.device.type == "cpu":
            stack.enter_context(sdpa_kernel(SDPBackend.MATH))
        yield


@contextmanager
def device_to_oneself(
    waiting: Callable[[str], None], *, lock: str = "", since: datetime | None = None
) -> Iterator[Path]:
    """Wait until a device of this machine is free: one of its GPUs, or without a GPU its processor.

    Two runs at once would compete for the memory of one GPU, and on a CPU they would take longer
    than one after the other. Of several waiting runs, the one with the earliest ``since`` is next.
    The processes of a `torchrun` use all GPUs. The system releases the lock of a process that died.

    Yields the lock file of the device. Among several GPUs, only that one is visible meanwhile.

    Args:
        waiting: called every half second meanwhile with a sentence about whoever has the device,
            or ''; may raise to stop.
        lock: path of the lock file; runs with the same file take turns, whatever their device. By
            default, each GPU that is visible has one.
        since: the moment that determines this run's place in the queue; by default now.

    Raises:
        HedgerowError: the file cannot be written.
    """
    line = _lock_file(lock)
    gpus = [] if lock else visible_gpus()
    slots = [line.with_name(f"{line.name}.gpu-{gpu}") for gpu in gpus] if len(gpus) > 1 else [line]
    free, number = list(slots), len(slots) if "WORLD_SIZE" in os.environ else 1
    with ExitStack() as held:
        with in_line(line, since or now()) as is_next:
            while len(slots) - len(free) < number:
                if (taken := _taken_in_turn(free, is_next)) is not None:
                    held.callback(taken.release)
                    device = Path(taken.lock_file)
                    free.remove(device)
                else:
                    waiting(_holder(free))
        with _only(gpus[slots.index(device)]) if free else nullcontext():
            yield device


@contextmanager
def own_device(context: RunContext) -> Iterator[None]:
    """The device for the whole of a run, which says meanwhile for whom it waits."""
    share_the_processor()
    run = context.run
    # A study's runs take turns with others: each has waited since the study started.
    since = run.started_at if STUDY.fullmatch(run.group) else run.created_at

    def wait(holder: str) -> None:
        context.update(0, 0, f"{WAITING} {holder}".rstrip())

    with (
        device_to_oneself(wait, lock=context.settings.training_lock, since=since) as device,
        announced(context, device),
    ):
        yield


def visible_gpus() -> list[str]:
    """The ids of the GPUs that this process may use, without importing PyTorch."""
    visible = os.environ.get("CUDA_VISIBLE_DEVICES")
    if visible is None:
        return [str(number) for number, _ in enumerate(_GPUS.glob("*"))]
    return [name for one in visible.split(",") if (name := one.strip()) and name != "-1"]


@contextmanager
def _only(gpu: str) -> Iterator[None]:
    """Use only this GPU. PyTorch reads the variable when it first uses one."""
    name, before = "CUDA_VISIBLE_DEVICES", os.environ.get("CUDA_VISIBLE_DEVICES")
    os.environ[name] = gpu
    try:
        yield
    finally:
        os.environ.pop(name)
        if before is not None:
            os.environ[name] = before


# -- Who has a device: a note next to its lock, for those that wait -------------------------------


@contextmanager
def announced(context: RunContext, device: Path) -> Iterator[None]:
    """Write down next to the lock that this run has the device, and how long it still needs."""
    run, begun, others = context.run, time.time(), context.listener
    facts = {"run": run.id, "kind": run.kind, "home": str(context.settings.home), "begun": begun}
    note, told = device.with_name(f"{device.name}.held"), 0.0

    def tell(step: int, total: int, message: str) -> None:
        nonlocal told
        if others is not None:
            others(step, total, message)
        if time.time() - told > NOTED_SECONDS:
            told = time.time()
            share = step / total if total else 0
            left = (told - begun) * (1 - share) / share if share else None
            with suppress(OSError):
                note.write_text(json.dumps(facts | {"left": left}))

    tell(0, 0, "")
    context.listener = tell
    try:
        yield
    finally:
        context.listener = others
        with suppress(OSError):
            note.unlink(missing_ok=True)


def _holder(slots: Sequence[Path]) -> str:
    """A sentence about the run with the earliest beginning that has one of these devices."""
    found = []
    for slot in slots:
        with suppress(OSError, ValueError, KeyError, TypeError):
            known = json.loads(slot.with_name(f"{slot.name}.held").read_text())
            found.append((float(known["begun"]), known))
    if not found:
        return ""
    begun, known = min(found, key=itemgetter(0))
    needs = f" and needs {duration(known['left'])} more" if known.get("left") else ""
    # Anybody on this machine may have written the note.
    who = " ".join(f"Run {known['run']} ({known['kind']}) in {known['home']}".split())[:300]
    return f"{who} began {duration(time.time() - begun)} ago{needs}."


def _taken_in_turn(slots: Sequence[Path], is_next: Callable[[float], bool]) -> FileLock | None:
    """The lock of a free device, if it is this process's turn."""
    if not is_next(WAIT_SECONDS):
        return None
    for slot in slots:
        lock = FileLock(slot, mode=EVERYBODYS)
        if _taken(lock):
            if is_next(0):
                return lock
            lock.release()  # an earlier run arrived while this one waited for the lock
    return None


def _taken(lock: FileLock) -> bool:
    """Whether the lock was acquired within half a second."""
    try:
        lock.acquire(timeout=WAIT_SECONDS)
    except Timeout:
        if not Path(lock.lock_file).exists():  # the library expects that it may still appear
            raise _no_lock(lock.lock_file, "no such file") from None
        return False
    except (OSError, NotImplementedError) as error:
        raise _no_lock(lock.lock_file, getattr(error, "strerror", None) or error) from error
    return True


def _no_lock(path: str, reason: object) -> HedgerowError:
    return HedgerowError(
        f"The file {path} cannot be written ({reason}); set HEDGEROW_TRAINING_LOCK to another file."
    )


def _lock_file(path: str) -> Path:
    if path:
        return expanded(path)
    visible = os.environ.get("CUDA_VISIBLE_DEVICES", "")[:200]
    gpus = "".join(c if c.isalnum() else "-" for c in visible)
    try:
        folder = tempfile.gettempdir()
    except FileNotFoundError as error:
        raise HedgerowError(
            "There is no writable folder for temporary files; set HEDGEROW_TRAINING_LOCK to a "
            "file that can be written."
        ) from error
    return Path(folder) / f"hedgerow-training{'-' + gpus if gpus else ''}.lock"


def free_memory() -> None:
    """Free the memory of the last model before the next one is loaded."""
    gc.collect()
    if (torch := sys.modules.get("torch")) is not None and torch.cuda.is_available():
        torch.cuda.empty_cache()


# -- The order of processes on one machine that wait for the same lock ----------------------------
#
# A plain lock goes to whichever process asks at the right moment. Here, each waiting process also
# holds a lock on its own file next to it, named after the time when it started to wait. The system
# releases the files of processes that died.


EVERYBODYS = 0o666
"""File mode. Training runs of all users of a machine take turns."""


@contextmanager
def in_line(lock: Path, since: datetime) -> Iterator[Callable[[float], bool]]:
    """Join the queue for a lock.

    Yields a function that returns whether this process is next. If it is not, the function first
    waits for the given number of seconds. If no file can be created next to the lock, there is no
    queue, and every process is always next.
    """
    prefix = f"{lock.name}.turn-"
    own = lock.with_name(f"{prefix}{since.timestamp():020.6f}-{uuid.uuid4().hex[:8]}")
    ticket = FileLock(own, mode=EVERYBODYS)
    try:
        ticket.acquire(timeout=1.0)
    except (Timeout, OSError, NotImplementedError):
        yield lambda seconds: True
        return

    def is_next(seconds: float) -> bool:
        if any(map(_is_held, _earlier(own, prefix))):
            time.sleep(seconds)
            return False
        return True

    try:
        yield is_next
    finally:
        with suppress(OSError):  # first, so that nobody finds the lock free but not yet deleted
            own.unlink(missing_ok=True)
        ticket.release()


def _earlier(own: Path, prefix: str) -> list[Path]:
    """The files of the processes that have waited longer."""
    try:
        return [
            path for path in own.parent.iterdir() if path.name.startswith(prefix) and path < own
        ]
    except OSError:
        return []


def _is_held(path: Path) -> bool:
    """Whether the process that created the file is still waiting. The file of a dead process is
    removed."""
    probe = FileLock(path, mode=EVERYBODYS, timeout=0)
    try:
        with probe:
            path.unlink(missing_ok=True)
    except Timeout:
        return True
    except (OSError, NotImplementedError):  # owned by another user without access for others
        return False
    return False
