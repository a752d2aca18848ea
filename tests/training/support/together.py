"""The work of one of several training processes, each of which is a fork
(`tests.support.forking`)."""

from __future__ import annotations

import os
import socket
from pathlib import Path
from typing import TYPE_CHECKING

from sqlalchemy import Engine

from tests.support.forking import Forker
from tests.training.support.trainings import FAMILIES
from training.__main__ import take_part_in
from training.finetune.compute import devices
from training.finetune.compute.processes import ALONE, Group, add_gradients, joined
from training.recipe.schema import Recipe

if TYPE_CHECKING:
    from torch import Tensor

RECIPES = [
    ["loss=family"],
    ["loss=symmetric", "order_weight=0.5"],
    ["loss=triples"],
    ["loss=symmetric", "retention=1", "lora_rank=2"],
]
"""Recipes for comparing a single step."""

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


def start_together(
    forker: Forker,
    engine: Engine,
    home: Path,
    run_id: int,
    *,
    size: int = 2,
    call: str = "tests.training.support.together:take_part_in_float32",
) -> list[int]:
    """Start this many processes of one group. Returns their numbers, the leading one first."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    environment = {"WORLD_SIZE": str(size), "MASTER_ADDR": "127.0.0.1", "MASTER_PORT": str(port)}
    return [
        forker.start(engine.url, home, run_id, SHARED, environment | {"RANK": str(rank)}, call=call)
        for rank in range(size)
    ]


def take_steps(run_id: int) -> None:
    """One step of each recipe in a group. Every process stores its loss and gradients."""
    home = Path(os.environ["HEDGEROW_HOME"])
    with joined() as group:
        found = [one_step(home / "encoder", changes, group) for changes in RECIPES]
    import torch

    torch.save(found, home / f"steps-{group.rank}.pt")


def one_step(encoder: Path, changes: list[str], group: Group = ALONE) -> dict[str, Tensor]:
    """Loss and gradients of a step, without dropout, by name."""
    import torch

    from curation.encoders.loading import load_encoder
    from hedgerow.losses.families import flatten
    from training.data.sampling import as_triples
    from training.finetune.adapters import add_adapter
    from training.finetune.compute.text_encoding import can_pack, embed
    from training.finetune.losses import objective
    from training.retention.distillation import Distillation

    recipe = Recipe(base_encoder=str(encoder)).with_overrides(
        ["retention=0", "lora_rank=none", *changes]
    )
    model = load_encoder(str(encoder), device="cpu")
    rows = as_triples(FAMILIES)[::6] if recipe.loss == "triples" else FAMILIES[:5]
    texts = [family[0].text for family in FAMILIES]
    distillation = Distillation(model, texts, weight=1.0, texts_a_step=5, steps=1, seed=1)
    if recipe.lora_rank:
        add_adapter(model, rank=recipe.lora_rank, seed=1)
    model.eval()
    batch = flatten(rows)
    more = [text for text in distillation.draw(1) if text not in batch.texts]
    embeddings = embed(model, [*batch.texts, *more], packed=can_pack(model), group=group)
    loss = objective(recipe, model)(embeddings[: len(batch.texts)], batch)
    if recipe.retention:
        loss = loss + distillation.loss(embeddings[len(batch.texts) :], more)
    loss.backward()
    add_gradients(model.parameters(), group)
    gradients = {name: p.grad for name, p in model.named_parameters() if p.grad is not None}
    return {"loss": torch.as_tensor(loss.detach())} | gradients
