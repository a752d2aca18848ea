"""What a GPU does meanwhile: for a measurement that may run on one; nothing without."""

import statistics
import subprocess
import threading
from collections.abc import Iterator
from contextlib import contextmanager

LOOKS_A_SECOND = 4
"""At the utilisation."""


class Gpu:
    """What a training took of the GPU: `summary` is a sentence, '' where there is none."""

    summary = ""


def on_gpu() -> bool:
    """Whether encoders are loaded onto a CUDA device here."""
    import torch

    return torch.cuda.is_available()


def finish_gpu() -> None:
    """Wait for what the GPU has been told to do."""
    import torch

    if on_gpu():
        torch.cuda.synchronize()


def let_gpu_be_fast() -> None:
    """Take back what `devices.repeatable` asked for: the baseline need not repeat."""
    import torch

    torch.use_deterministic_algorithms(False)
    torch.backends.cuda.enable_flash_sdp(True)
    torch.backends.cuda.enable_mem_efficient_sdp(True)
    torch.backends.cuda.enable_cudnn_sdp(True)


@contextmanager
def watched_gpu() -> Iterator[Gpu]:
    """Look at the GPU's memory and utilisation meanwhile."""
    gpu = Gpu()
    if not on_gpu():
        yield gpu
        return
    import torch

    torch.cuda.empty_cache()
    torch.cuda.reset_peak_memory_stats()
    looks: list[float] = []
    ended = threading.Event()
    watcher = threading.Thread(target=_sample_load, args=(looks, ended), daemon=True)
    watcher.start()
    try:
        yield gpu
    finally:
        ended.set()
        watcher.join()
    peak = torch.cuda.max_memory_allocated() / 2**30
    busy = f"{statistics.fmean(looks):.0f}% busy" if looks else "utilisation unknown"
    gpu.said = f"{peak:.2f} GiB at most, {busy}"


def _sample_load(looks: list[float], ended: threading.Event) -> None:
    """Note the utilisation in percent, until the end or until nobody can tell it."""
    while not ended.wait(1 / LOOKS_A_SECOND):
        found = _utilisation()
        if found is None:
            return
        looks.append(found)


def _utilisation() -> float | None:
    """Percent of the last moment in which the GPU computed, by nvidia-smi."""
    command = ["nvidia-smi", "--query-gpu=utilization.gpu", "--format=csv,noheader,nounits"]
    try:
        output = subprocess.run(command, capture_output=True, text=True, timeout=10, check=True)
        return float(output.stdout.splitlines()[0])
    except (OSError, ValueError, IndexError, subprocess.SubprocessError):
        return None
