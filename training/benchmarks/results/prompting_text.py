"""Sentences about the prompt, the position bias and the missing answers of language models."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from curation.formatting import counted
from curation.generation.run_report import in_words, listed
from training.benchmarks.results.metrics import POINTS
from training.benchmarks.results.queries import Scored


def unanswered_description(row: Scored) -> str:
    """The number of items without a usable answer; '' if all have one."""
    if not row.unanswered:
        return ""
    items = f"{row.unanswered:,} of {counted(row.n, 'item')} ({row.unanswered_share:.1f}%)"
    return f"It gave no usable answer to {items}. These do not count as correct."


def prompting_description(asked: Mapping[str, Any]) -> str:
    """The prompt and its version, the position bias of choices, and what was wrong with answers.

    '' for other models.
    """
    if not asked:
        return ""
    name = str(asked["prompt"]).replace("_", " ")
    version = f", version {asked['version']}" if asked["version"] else ""
    text = f"Prompt: {name}{version}"
    first, changed = asked.get("first_share"), asked.get("changed_share")
    if first is not None and changed is not None:
        text += (
            f", in {asked['orders']} orders: {first:.1f}% of the answers are 1 "
            f"({POINTS / asked['orders']:.0f}% means no position bias), and {changed:.1f}% of the "
            "choices change with the order"
        )
    problems = listed(asked.get("problems", {}))
    why = f"Prompts without a usable answer: {problems}." if problems else ""
    return " ".join(filter(None, [f"{text}.", why, in_words(asked.get("removed", {}))]))
