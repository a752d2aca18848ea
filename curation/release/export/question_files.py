"""Question pairs as files for finetuning programs, and a check of OpenAI's format."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from curation.release.export.file_formats import Record, jsonl_lines, write_parquet
from curation.release.export.table_rows import TableColumn
from curation.token_estimate import tokens
from db.errors import HedgerowError

LEAST = 10
"""Minimum number of examples in a training file for OpenAI's finetuning."""

ROLES = frozenset({"system", "user", "assistant"})


class FinetuningFile(NamedTuple):
    """The contents of a file in OpenAI's finetuning format.

    Attributes:
        tokens: approximate total of all messages; training is billed for them once per epoch.
    """

    examples: int
    tokens: int


def write_both(
    folder: Path, split: str, columns: Sequence[TableColumn], rows: Iterator[Record]
) -> None:
    """Write rows as JSON Lines and as Parquet in one pass."""
    with (folder / f"{split}.jsonl").open("w", encoding="utf-8", newline="\n") as file:

        def passed_on() -> Iterator[Record]:
            for row in rows:
                file.writelines(jsonl_lines(columns, [row]))
                yield row

        write_parquet(folder / f"{split}.parquet", columns, passed_on())


def check_finetuning_file(path: Path, *, least: int = 1) -> FinetuningFile:
    """Read a file in OpenAI's finetuning format, and refuse it if the service would.

    Args:
        least: minimum number of examples.

    Raises:
        HedgerowError: it has too few examples, or a line that is not a chat ending with an answer.
    """
    examples, letters = 0, 0
    with path.open(encoding="utf-8") as file:
        for number, line in enumerate(file, 1):
            letters += _letters(line, f"Line {number} of {path.name}")
            examples += 1
    if examples < least:
        raise HedgerowError(
            f"Expected at least {least} question pairs for training, as OpenAI requires, found "
            f"{examples}; accept more variants and create a new release."
        )
    return FinetuningFile(examples, tokens(letters))


def _letters(line: str, place: str) -> int:
    """Count the characters in all messages of an example."""
    try:
        example = json.loads(line)
    except ValueError:
        example = None
    chat = example.get("messages") if isinstance(example, dict) and len(example) == 1 else None
    if not isinstance(chat, list) or len(chat) < 2 or not all(_is_message(one) for one in chat):
        raise HedgerowError(
            f"{place} is not a chat: expected only 'messages', at least two, each with a role "
            f"({', '.join(sorted(ROLES))}) and content that is not empty."
        )
    if chat[-1]["role"] != "assistant":
        raise HedgerowError(f"{place} ends without an answer; the last message must be the answer.")
    return sum(len(one["content"]) for one in chat)


def _is_message(value: Any) -> bool:
    return (
        isinstance(value, dict)
        and value.keys() == {"role", "content"}
        and value["role"] in ROLES
        and isinstance(value["content"], str)
        and bool(value["content"].strip())
    )
