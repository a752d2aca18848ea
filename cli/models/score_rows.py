"""Results of benchmarks, for scripts and for people."""

from __future__ import annotations

from typing import Any

from rich.table import Table

from cli.shared.tables import table_of
from training.benchmarks.results.queries import Scored


def facts(row: Scored) -> dict[str, Any]:
    """A result for scripts: what it came to, and all that it depends on but the versions."""
    interval = row.interval
    return {
        "benchmark": row.benchmark,
        "metric": row.metric,
        "score": row.score,
        "n": row.n,
        "interval": [interval.low, interval.high] if interval else None,
        "ties": row.ties,
        "unanswered": row.unanswered,
        "model": row.model,
        "architecture": row.architecture,
        "scoring": row.scoring,
        "query_prompt": row.prompts.query,
        "document_prompt": row.prompts.document,
        "model_hash": row.model_hash,
        "data": row.data,
        "data_hash": row.data_hash,
        "run": row.run_id,
        "outcomes": row.summary.get("outcomes", {}),
        "figures": row.summary.get("figures", {}),
    }


def table(rows: list[Scored]) -> Table:
    """Results for people, a row each."""
    return table_of(
        "benchmark",
        "model",
        "score",
        "95% interval",
        "items",
        "data",
        "run",
        rows=(
            (
                row.benchmark,
                row.title,
                f"{row.score:.1f}",
                _interval(row),
                row.n or "",
                row.data,
                row.run_id,
            )
            for row in rows
        ),
    )


def _interval(row: Scored) -> str:
    return f"{row.interval.low:.1f} to {row.interval.high:.1f}" if row.interval else ""
