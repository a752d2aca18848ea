"""The numbers in the papers. They are shown next to measured ones but not ranked with them."""

from __future__ import annotations

import json
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any, Literal, NamedTuple

FILE = Path(__file__).with_name("published.json")

SEMANTONEG = Path(__file__).with_name("semantoneg_table_8.json")
"""One benchmark and 123 models: a name and its score per line."""

NEGATION, GENERAL, LANGUAGE = "negation", "general", "lm_eval"
"""The benchmark value of a line that is an average over several tests: the four negation
benchmarks, MTEB's kinds of tasks (one kind is 'general:STS'), or lm_eval's tasks (one task is
'lm_eval:mmlu').
"""


class Published(NamedTuple):
    """A score printed in a paper.

    Attributes:
        benchmark: the id of one of ``catalogue.BENCHMARKS``, or `NEGATION`, `GENERAL` or
            `LANGUAGE`.
        label: the paper's name for the benchmark.
        model: the paper's name for the model.
        hub: the model's name on the model hub; '' if the paper gives none.
        score: in points.
        table, title, paper: the place in the paper, and the paper.
        suite: for a general average, the suite of MTEB: 'full' or 'lite'; otherwise ''.
        kind: the model's architecture.
        published: its mark in a table; a measured score has none.
    """

    benchmark: str
    label: str
    model: str
    hub: str
    score: float
    table: str
    title: str
    paper: str
    suite: str
    kind: str
    published: Literal[True] = True


@cache
def published() -> tuple[Published, ...]:
    """All published scores, table by table and line by line, as printed.

    Five of HedgeTriple's averages over the negation benchmarks do not match the scores in their
    lines. The file's note names them.
    """
    tables = json.loads(FILE.read_text(encoding="utf-8"))["tables"]
    numbers = [number for table in tables for number in _numbers(table)]
    return (*numbers, *_numbers(_of_one_benchmark(SEMANTONEG)))


def _of_one_benchmark(file: Path) -> dict[str, Any]:
    """Convert a table with one benchmark to the format of tables with several."""
    table: dict[str, Any] = json.loads(file.read_text(encoding="utf-8"))
    scores: dict[str, float | None] = table["scores"]
    models = [
        {"name": name, "hub": f"{table['hub']}{name}", "kind": table["kind"]} for name in scores
    ]
    row = {name: table[name] for name in ("label", "benchmark")}
    return table | {"models": models, "rows": [row | {"scores": list(scores.values())}]}


def _numbers(table: dict[str, Any]) -> Iterator[Published]:
    for row in table["rows"]:
        for model, score in zip(table["models"], row["scores"], strict=True):
            if score is not None:
                yield Published(
                    row["benchmark"],
                    row["label"],
                    model["name"],
                    model["hub"],
                    float(score),
                    table["id"],
                    table["title"],
                    table["paper"],
                    table["suite"],
                    model["kind"],
                )
