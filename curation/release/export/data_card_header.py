"""The YAML header of a data set card, which the Hub and ``load_dataset`` read."""

import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from curation.formatting import one_line
from curation.release.export.card_sections import Writer
from curation.release.export.data_card_text import WHOLE
from curation.release.export.table_rows import QUESTIONS, TABLES_OF, Rows, Table, parquet_path
from db.models import Release, Split

_HUB_LICENCES = frozenset(
    "apache-2.0 bsd-3-clause cc0-1.0 cc-by-2.0 cc-by-2.5 cc-by-3.0 cc-by-4.0 cc-by-sa-3.0"
    " cc-by-sa-4.0 cc-by-nc-2.0 cc-by-nc-3.0 cc-by-nc-4.0 cc-by-nd-4.0 cc-by-nc-nd-3.0"
    " cc-by-nc-nd-4.0 cc-by-nc-sa-2.0 cc-by-nc-sa-3.0 cc-by-nc-sa-4.0 mit odbl odc-by pddl".split()
)
"""Licence ids of the Hugging Face Hub that corpora use.

Any other licence is 'other' plus its name.
"""

_SIZES = ((1_000, "n<1K"), (10_000, "1K<n<10K"), (100_000, "10K<n<100K"), (10**6, "100K<n<1M"))


def header(
    release: Release,
    *,
    title: str,
    format: str,
    rows: Rows,
    writers: Sequence[Writer],
) -> dict[str, Any]:
    """Return the header of a card by key; see ``data_card.card`` for the arguments."""
    summary = release.summary
    total = max((sum(splits.values()) for splits in rows.values()), default=0)
    deciders = {
        "person": "expert-generated",
        "rule": "machine-generated",
        "model": "machine-generated",
    }
    found: dict[str, Any] = {
        "pretty_name": title,
        "language": [one_line(tag) for tag in sorted(summary["languages"])],
        **_licence_header(summary),
        "task_categories": (
            ["text-generation", "text-classification"]
            if format in QUESTIONS
            else ["sentence-similarity", "feature-extraction"]
        ),
        "size_categories": [next((name for size, name in _SIZES if total < size), "1M<n<10M")],
        "language_creators": sorted({writer.creator for writer in writers}),
        "annotations_creators": sorted(
            {deciders[k] for k in summary["decided_by"] if k in deciders}
        ),
        "tags": ["negation", "hedging", "contrastive-learning", "sentence-transformers"],
    }
    filled = filled_tables(rows)
    if filled and format in TABLES_OF:  # an empty list would hide the files
        found["configs"] = [
            {
                "config_name": table,
                **({"default": True} if number == 0 else {}),
                "data_files": _data_files(format, table, splits),
                # Otherwise an empty cell or a text such as "None" would be read as a missing value.
                **({"keep_default_na": False} if table == "pairs" else {}),
            }
            for number, (table, splits) in enumerate(filled.items())
        ]
    return found


def _data_files(format: str, table: Table, splits: Iterable[str]) -> list[dict[str, str]]:
    """Say where ``load_dataset`` finds the rows; a file with all splits is the split `WHOLE`."""
    if format == "openai":
        return [{"split": split, "path": f"{split}.jsonl"} for split in splits]
    if format == "hf" or table in QUESTIONS:
        return [{"split": split, "path": parquet_path(table, split)} for split in splits]
    return [{"split": WHOLE, "path": f"{table}.{'csv' if table == 'pairs' else 'jsonl'}"}]


def filled_tables(rows: Rows) -> dict[Table, dict[str, int]]:
    """Return table → split → number of rows without empty ones, in the usual order of splits."""
    filled = {
        table: {split.value: splits[split] for split in Split if splits.get(split)}
        for table, splits in rows.items()
    }
    return {table: splits for table, splits in filled.items() if splits}


def _licence_header(summary: Mapping[str, Any]) -> dict[str, str]:
    licences = sorted({one_line(source["licence"]) for source in summary["sources"]})
    if licences == [""]:
        return {"license": "unknown"}
    if len(licences) > 1:
        return {"license": "other", "license_name": "several, see the card"}
    hub_id = re.sub(r"[^a-z0-9.]+", "-", licences[0].lower()).strip("-")
    if hub_id in _HUB_LICENCES:
        return {"license": hub_id}
    return {"license": "other", "license_name": licences[0]}
