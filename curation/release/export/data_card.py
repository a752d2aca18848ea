"""The data set card of every export: a Markdown page with a YAML header, from a template.

Everything in it comes from the release and its overlap results, so that the same inputs give the
same card. Names, notes and definitions are untrusted: they are written to YAML with ``safe_dump``
and to Markdown with ``escape``.
"""

import re
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import yaml
from jinja2 import ChainableUndefined, Environment

from curation.formatting import counted, escape, one_line, percent
from curation.release.export.card_sections import (
    CITATION,
    METHOD,
    WRITERS,
    Writer,
    acceptance_text,
    agreement_rows,
    ordered_types,
    overlap_section,
    reasons_of,
    review_statement,
    weak_spots_of,
    writers_table,
)
from curation.release.export.export_formats import ExportFormat
from curation.release.export.table_rows import (
    QUESTIONS,
    TABLES,
    TABLES_OF,
    Rows,
    Table,
    parquet_path,
)
from curation.release.overlap_results import OverlapWithTest
from curation.release.question_pairs import question
from curation.release.selection import selection_of
from curation.release.summary import OUTCOMES
from curation.taxonomy.project_types import IMPORTED, OWN
from db.models import Release, Split

PLACE = "PATH OF THIS FOLDER"
"""What a card gives as an export's location, unless it is published under a name."""

WHOLE = "whole"
"""The name of the split for a file that contains all rows, whatever their own split."""

QUESTION_USE = {
    "messages": "For each split, the folder `messages` has a Parquet file and a JSON Lines file "
    "with the same rows. `SFTTrainer` from the package `trl` trains on the column `messages`.",
    "completion": "For each split, the folder `completion` has a Parquet file and a JSON Lines "
    "file with the same rows. `SFTTrainer` from the package `trl` trains on the columns "
    "`prompt` and `completion`; the loss only covers the answer.",
    "openai": "Use `train.jsonl` and `validation.jsonl`, if present, as the training and "
    "validation files for OpenAI's finetuning. `test.jsonl` is for evaluation.",
}

_ORIGINS = {
    OWN: "Added by this project, not from the paper",
    IMPORTED: "From the data set of the anchors",
}

_HUB_LICENCES = frozenset(
    "apache-2.0 bsd-3-clause cc0-1.0 cc-by-2.0 cc-by-2.5 cc-by-3.0 cc-by-4.0 cc-by-sa-3.0"
    " cc-by-sa-4.0 cc-by-nc-2.0 cc-by-nc-3.0 cc-by-nc-4.0 cc-by-nd-4.0 cc-by-nc-nd-3.0"
    " cc-by-nc-nd-4.0 cc-by-nc-sa-2.0 cc-by-nc-sa-3.0 cc-by-nc-sa-4.0 mit odbl odc-by pddl".split()
)
"""Licence ids of the Hugging Face Hub that corpora use.

Any other licence is 'other' plus its name.
"""

_SIZES = ((1_000, "n<1K"), (10_000, "1K<n<10K"), (100_000, "10K<n<100K"), (10**6, "100K<n<1M"))


def _cell(value: object) -> str:
    return f"{value:,}" if isinstance(value, int) else escape(value)


def _values(counts: Mapping[str, Any], keys: str | Sequence[str]) -> list[Any]:
    names = keys.split() if isinstance(keys, str) else keys
    return [counts.get(name, 0) for name in names]


_templates = Environment(
    trim_blocks=True, lstrip_blocks=True, keep_trailing_newline=True, undefined=ChainableUndefined
)
_templates.globals |= {"counted": counted}
_templates.filters |= {
    "acceptance": acceptance_text,
    "cell": _cell,
    "md": escape,
    "n": "{:,}".format,
    "percent": percent,
    "values": _values,
}
_TEMPLATE = Path(__file__).with_name("data_card.md.jinja")


def card(
    release: Release,
    *,
    form: ExportFormat,
    rows: Rows,
    writers: Sequence[Writer],
    notes: Sequence[str] = (),
    compared: Sequence[OverlapWithTest] = (),
    place: str = PLACE,
) -> str:
    """Return the card of an export.

    Args:
        rows: table → split → number of rows written; tables and splits without rows are left out.
        writers: the writers of the release's variants.
        notes: sentences about the files.
        compared: comparisons of the release with benchmarks.
        place: the argument for ``load_dataset``: a folder, or a name on the Hub if it is published.
    """
    title = one_line(release.name) or f"Hedgerow release {release.number}"
    head = header(release, title=title, format=form.name, rows=rows, writers=writers)
    summary, types, filled = release.summary, ordered_types(release), filled_tables(rows)
    words = summary["words"]
    by_type = {key: words["types"][key] for key in types if key in words["types"]}
    return _templates.from_string(_TEMPLATE.read_text(encoding="utf-8")).render(
        header=yaml.safe_dump(head, sort_keys=False, allow_unicode=True, width=10**6),
        title=title,
        method=METHOD,
        release=release,
        summary=summary,
        selection=selection_of(release).sentences(),
        notes=notes,
        form=form,
        question_use=QUESTION_USE,
        prompt=question("…", "…"),
        load=_loading(filled, place),
        load_whole=_loading_whole(filled, place) if form.name in ("jsonl", "pairs") else (),
        filled=filled,
        splits=[split.value for split in Split if split in summary["splits"]],
        types=types,
        tables=TABLES,
        lengths={"anchors": words["anchors"]} | by_type,
        about_writers=WRITERS,
        writers_table=writers_table(release, writers),
        review_statement=review_statement(summary),
        outcomes=OUTCOMES,
        reasons=reasons_of(summary),
        agreement_rows=agreement_rows(release),
        origins=_ORIGINS,
        overlap=overlap_section([found.facts for found in compared]),
        weaknesses=weak_spots_of(writers),
        citation=CITATION,
    )


def _loading(tables: Iterable[str], place: str) -> list[str]:
    """Code that opens the configurations of a Hugging Face export."""
    lines = [f'{name} = load_dataset("{place}", "{name}")' for name in tables]
    if "triples" in tables:
        lines.append('texts = triples.select_columns(["anchor", "positive", "negative"])')
    return lines


def _loading_whole(tables: Iterable[str], place: str) -> list[str]:
    """Code that opens the tables of an export with one file per table, and selects a split."""
    lines = [f'{name} = load_dataset("{place}", "{name}", split="{WHOLE}")' for name in tables]
    first = next(iter(tables), "")
    return [*lines, f'train = {first}.filter(lambda row: row["split"] == "train")'] if lines else []


def header(
    release: Release,
    *,
    title: str,
    format: str,
    rows: Rows,
    writers: Sequence[Writer],
) -> dict[str, Any]:
    """Return the header of a card by key; see `card` for the arguments."""
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
