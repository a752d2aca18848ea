"""Peak memory and utilisation of a GPU during a measurement, if there is a GPU."""

import statistics
import subprocess
import threading
from collections.abc import Iterator
from contextlib import contextmanager

SAMPLES_PER_SECOND = 4
"""Of the utilisation."""


class Gpu:
    """A training's use of the GPU. `summary` describes it, and is '' without a GPU."""

    summary = ""


def on_gpu() -> bool:
    """Whether encoders are loaded onto a CUDA device here."""
    import torch

    return torch.cuda.is_available()


def finish_gpu() -> None:
    """Wait until the GPU has finished its work."""
    import torch

    if on_gpu():
        torch.cuda.synchronize()


def allow_nondeterminism() -> None:
    """Undo the settings of `devices.repeatable`, because the baseline need not be repeatable."""
    import torch

    torch.use_deterministic_algorithms(False)
    torch.backends.cuda.enable_flash_sdp(True)
    torch.backends.cuda.enable_mem_efficient_sdp(True)
    torch.backends.cuda.enable_cudnn_sdp(True)


@contextmanager
def watched_gpu() -> Iterator[Gpu]:
    """Measure the GPU's peak memory and mean utilisation."""
    gpu = Gpu()
    if not on_gpu():
        yield gpu
        return
    import torch

    torch.cuda.empty_cache()
    torch.cuda.reset_peak_memory_stats()
    samples: list[float] = []
    ended = threading.Event()
    watcher = threading.Thread(target=_sample_load, args=(samples, ended), daemon=True)
    watcher.start()
    try:
        yield gpu
    finally:
        ended.set()
        watcher.join()
    peak = torch.cuda.max_memory_allocated() / 2**30
    used = f"{statistics.fmean(samples):.0f}% utilisation" if samples else "utilisation unknown"
    gpu.summary = f"peak memory {peak:.2f} GiB, {used}"


def _sample_load(samples: list[float], ended: threading.Event) -> None:
    """Record the utilisation, in percent, until the end or until it is unavailable."""
    while not ended.wait(1 / SAMPLES_PER_SECOND):
        found = _utilisation()
        if found is None:
            return
        samples.append(found)


def _utilisation() -> float | None:
    """The current utilisation in percent according to nvidia-smi, or None if it is unavailable."""
    command = ["nvidia-smi", "--query-gpu=utilization.gpu", "--format=csv,noheader,nounits"]
    try:
        output = subprocess.run(command, capture_output=True, text=True, timeout=10, check=True)
        return float(output.stdout.splitlines()[0])
    except (OSError, ValueError, IndexError, subprocess.SubprocessError):
        return None
