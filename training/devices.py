"""What a training computes on: bfloat16 where it helps, and one training at a time on a device."""

from __future__ import annotations

import getpass
import os
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from filelock import FileLock, Timeout

from training.recipe import Precision

if TYPE_CHECKING:
    from sentence_transformers import SentenceTransformer

WAIT_SECONDS = 0.5
"""Between two looks whether the device is free."""


def share_the_processor() -> None:
    """Let threads that wait for each other sleep; read when PyTorch is loaded, which comes later.

    By default they spin: beside another training on two cores, a step took three times as long.
    """
    os.environ.setdefault("OMP_WAIT_POLICY", "PASSIVE")


def uses_bf16(model: SentenceTransformer, precision: Precision) -> bool:
    """Whether to compute in bfloat16: where it was asked for, or helps on the model's device.

    MiniLM took 0.72 of the time with it on two cores with AVX-512 BF16; without such instructions
    it is slower.
    """
    if precision != "auto":
        return precision == "bf16"
    import torch

    if model.device.type == "cuda":
        return torch.cuda.is_bf16_supported(including_emulation=False)
    return model.device.type == "cpu" and bool(torch.cpu._is_avx512_bf16_supported())


@contextmanager
def device_to_oneself(waiting: Callable[[], None]) -> Iterator[None]:
    """Wait until no other training of this user runs on this machine; the system frees the lock.

    Two at once would fight for the memory of one GPU, and on a CPU take longer than in turn.

    Args:
        waiting: called every half second meanwhile; may raise to stop.
    """
    lock = FileLock(Path(tempfile.gettempdir()) / f"hedgerow-training-{getpass.getuser()}.lock")
    while True:
        try:
            lock.acquire(timeout=WAIT_SECONDS)
            break
        except Timeout:
            waiting()
    try:
        yield
    finally:
        lock.release()
