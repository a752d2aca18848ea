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
"""What a line is of that is no benchmark here: the average of the four negation benchmarks, that of
MTEB's kinds of tasks (one kind is 'general:STS'), that of lm_eval's tasks (one is 'lm_eval:mmlu').
"""


class Published(NamedTuple):
    """A number of a paper.

    Attributes:
        benchmark: the id of one of ``catalogue.BENCHMARKS``, or as `NEGATION`, `GENERAL`,
            `LANGUAGE`.
        label: how the paper calls it.
        model: how the paper calls it.
        hub: the model's name on the model hub; '' where the paper gives none.
        score: in points.
        table, title, paper: where it stands.
        suite: of MTEB, which a general average is of: 'full' or 'lite'; '' elsewhere.
        kind: the model's architecture.
        published: what marks it in a table; a measured score has none.
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
    """All of them, table by table, line by line, as printed.

    Five of HedgeTriple's averages over the negation benchmarks do not follow from their lines (the
    file's note names them).
    """
    tables = json.loads(FILE.read_text(encoding="utf-8"))["tables"]
    numbers = [number for table in tables for number in _numbers(table)]
    return (*numbers, *_numbers(_of_one_benchmark(SEMANTONEG)))


def _of_one_benchmark(file: Path) -> dict[str, Any]:
    """A table of one benchmark as those of several are written."""
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
