"""Tasks of lm-evaluation-harness on data that fit into a test."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

CHOICES = """
task: opposites
dataset_path: json
dataset_kwargs:
  data_files:
    test: opposites.jsonl
test_split: test
output_type: multiple_choice
doc_to_text: "{{question}}\\nAnswer:"
doc_to_choice: "{{choices}}"
doc_to_target: "{{answer}}"
metric_list:
  - metric: acc
"""
"""A task: which of two words is the antonym."""

WRITES = """
task: sums
dataset_path: json
dataset_kwargs:
  data_files: {test: sums.jsonl}
test_split: test
fewshot_split: test
num_fewshot: 1
doc_to_text: "Question: {{question}}\\nAnswer:"
doc_to_target: "{{answer}}"
generation_kwargs:
  until: ["Question:"]
  max_gen_toks: 4
filter_list:
  - name: last-number
    filter:
      - function: regex
        regex_pattern: "([0-9]+)"
      - function: take_first
"""
"""A task: a number is read from the model's output."""

OPPOSITES = [
    {"question": f"The opposite of {word}?", "choices": [right, wrong], "answer": 0}
    for word, right, wrong in (
        ("open", "closed", "blue"),
        ("hot", "cold", "slow"),
        ("early", "late", "wide"),
        ("full", "empty", "loud"),
    )
]

SUMS = [{"question": f"{one} + 1?", "answer": str(one + 1)} for one in range(3)]


def save_own_tasks(folder: Path, **others: str) -> Path:
    """Save both tasks with their data in this folder, and other files. Returns the folder.

    Args:
        others: the content of other files, by name without extension.
    """
    folder.mkdir(exist_ok=True)
    for name, text in ({"opposites": CHOICES, "sums": WRITES} | others).items():
        (folder / f"{name}.yaml").write_text(text, encoding="utf-8")
    for name, items in (("opposites", OPPOSITES), ("sums", SUMS)):
        lines = [json.dumps(item) for item in items]
        (folder / f"{name}.jsonl").write_text("\n".join(lines) + "\n", encoding="utf-8")
    return folder


def small_data_set(*, path: str, name: str | None = None, **_: Any) -> Any:
    """A few items in the format of each data set of Table 3, as returned by ``load_dataset``."""
    from datasets import Dataset, DatasetDict

    splits = {"cais/mmlu": _mmlu, "Rowan/hellaswag": _hellaswag, "openai/gsm8k": _gsm8k}[path](name)
    return DatasetDict({split: Dataset.from_list(list(items)) for split, items in splits.items()})


def _mmlu(subject: str | None) -> dict[str, Sequence[dict[str, Any]]]:
    def item(number: int) -> dict[str, Any]:
        choices = [f"{number + one}" for one in range(4)]
        return {
            "question": f"{subject}: {number} + 1?",
            "subject": subject,
            "choices": choices,
            "answer": number % 4,
        }

    return {"test": [item(0), item(1)], "dev": [item(number) for number in range(5)]}


def _hellaswag(_: str | None) -> dict[str, Sequence[dict[str, Any]]]:
    item = {
        "activity_label": "Opening hours",
        "ctx_a": "The museum opens on Monday.",
        "ctx_b": "on tuesday it",
        "endings": ["is closed.", "never opens on Monday, it seems.", "sings.", "may open."],
        "label": "1",
    }
    return {"train": [item], "validation": [item, item | {"label": "0"}]}


def _gsm8k(_: str | None) -> dict[str, Sequence[dict[str, Any]]]:
    items = [
        {"question": f"What is {one} + 1?", "answer": f"{one} + 1 = {one + 1}\n#### {one + 1}"}
        for one in range(6)
    ]
    return {"train": items, "test": items[:2]}
