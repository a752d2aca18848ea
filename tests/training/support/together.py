"""The work of one of several training processes, each of which is a fork
(`tests.support.forking`)."""

from __future__ import annotations

import socket
from pathlib import Path

from sqlalchemy import Engine

from tests.support.forking import Forker
from training.__main__ import take_part_in
from training.finetune.compute import devices

QUICK = {
    "db.execution.HEARTBEAT_SECONDS": 0.05,
    "training.finetune.trainer.CHECKPOINT_EVERY": 3,
    "training.finetune.trainer.PATIENCE": 99,
}

SHARED = QUICK | {
    "training.retention.distillation.TOPICS_A_STEP": 0,
    "training.retention.distillation.DOCUMENTS_A_STEP": 0,
}
"""At first, the gradients of retention text are rounding errors, which AdamW scales up. For
tokens that no other text has, the weights then depend on the order of a sum. Topics contain many
of them."""


def take_part_in_float32(run_id: int) -> None:
    """The work of one of several training processes, in float32."""
    devices.uses_bf16 = lambda _: False
    take_part_in(run_id)


def start_together(forker: Forker, engine: Engine, home: Path, run_id: int) -> list[int]:
    """Start two processes of one group. Returns their numbers, the leading one first."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    environment = {"WORLD_SIZE": "2", "MASTER_ADDR": "127.0.0.1", "MASTER_PORT": str(port)}
    call = "tests.training.support.together:take_part_in_float32"
    return [
        forker.start(engine.url, home, run_id, SHARED, environment | {"RANK": rank}, call=call)
        for rank in ("0", "1")
    ]
