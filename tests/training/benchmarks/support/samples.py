"""Small files in the public formats, written for these tests."""

import json
from pathlib import Path
from typing import Any

SENTENCES = [
    ("The soup is not hot.", "The soup is hot.", "The soup is not cold.", "The soup is cold."),
    (
        "This road is not wide.",
        "This road is wide.",
        "This road is not narrow.",
        "This road is narrow.",
    ),
    (
        "No, it is not an easy task.",
        "No, it is an easy task.",
        "No, it is not a hard task.",
        "No, it is a hard task.",
    ),
]
"""Original, negator removed, antonym, both."""

NEVIR: list[dict[str, Any]] = [
    {
        "id": "1-2",
        "WorkerId": 1,
        "q1": "Which bridge was shut in winter?",
        "q2": "Which bridge was open in winter?",
        "doc1": "The bridge was not open in winter.",
        "doc2": "The bridge was open in winter.",
    },
    {
        "id": "2-3",
        "WorkerId": 2,
        "q1": "Who was able to read?",
        "q2": "Who never learnt to read?",
        "doc1": "Anna learnt to read at school.",
        "doc2": "Anna never learnt to read at school.",
    },
]

CORPUS = ["A film about a whale.", "A film about a dog.", "A film about a cat."]
EXCLUIR: list[dict[str, Any]] = [
    {
        "question0": "Which films?",
        "RQ_rewrite": "Which film is there apart from the whale one?",
        "corpus_sub_index": [0, 1],
    },
    {"question0": "Which films?", "ExcluQ": "A film, but not with a dog", "index": [1, 2]},
]


def write_lines(path: Path, rows: list[dict[str, Any]]) -> Path:
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    return path


def write_list(path: Path, rows: list[Any]) -> Path:
    path.write_text(json.dumps(rows), encoding="utf-8")
    return path


def write_table(path: Path, header: str, rows: list[tuple[Any, ...]]) -> Path:
    lines = [header, *("\t".join(map(str, row)) for row in rows)]
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")
    return path


def semantoneg_rows() -> list[dict[str, Any]]:
    rows = []
    for original, removed, antonym, both in SENTENCES:
        rows.append(
            {"idx": len(rows), "label": 2, "input": original, "sentences": [antonym, removed, both]}
        )
        rows.append(
            {"idx": len(rows), "label": 2, "input": both, "sentences": [removed, antonym, original]}
        )
    return rows
