"""Pairs in NevIR's format that are easy to learn, and finetuning runs on them."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

from sqlalchemy import Engine

from db.execution import execute
from db.models import Run
from db.settings import Settings
from tests.support.databases import stored_run
from tests.training.support.trainings import perform
from training.models.finetuned import RANKER_KIND
from training.ranking.finetuning import work
from training.ranking.pairs import keep_pairs
from training.ranking.request import FINETUNE_ON_PAIRS, RankingRequest

PLACES = (
    "bridge museum harbour library market garden chapel station theatre castle mill tunnel "
    "lighthouse bakery stadium school factory airport hospital gallery"
).split()


def entry(number: int, place: str) -> dict[str, Any]:
    """A pair whose second document and query have a negator."""
    return {
        "id": f"{number}-2",
        "q1": f"Which {place} is open?",
        "q2": f"Which {place} is not open?",
        "doc1": f"The old {place} is open to visitors.",
        "doc2": f"The old {place} is not open to visitors.",
    }


ENTRIES = [entry(number, place) for number, place in enumerate(PLACES)]


def lines(entries: Sequence[dict[str, Any]]) -> bytes:
    return "".join(json.dumps(entry) + "\n" for entry in entries).encode()


def ask(engine: Engine, settings: Settings, content: bytes = b"", **values: Any) -> Run:
    """Store a finetuning run, by default on the easy pairs."""
    kept = keep_pairs(settings.data_folder, "pairs.jsonl", content or lines(ENTRIES))
    request = RankingRequest(**({"data": kept.file, "data_name": kept.name} | values))
    return perform(engine, FINETUNE_ON_PAIRS, request)


def carry_out(engine: Engine, settings: Settings, run: Run) -> Run:
    execute(engine, settings, run.id, {RANKER_KIND: work})
    return stored_run(engine, run.id)
