"""The section of a data card on benchmark texts that a release contains."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from curation.markdown import markdown_table, percent
from curation.release.overlap_fields import SIDES

NOT_CHECKED = (
    "The overlap with public benchmarks has not been checked. Check it before you report scores."
)

HOW = """\
Texts of all splits of the release, compared with those of benchmarks. An item overlaps if one of
its texts shares this many consecutive words with a text of the release, ignoring case and
punctuation. *Identical*: items with a text that is identical to a text of the release, however
short."""

BY_FIELD = """\
By field: overlapping items, with identical ones in brackets, counted separately for each field of
the release. *Query* is the text that a benchmark asks or compares, *document* is the text it is
compared with."""


def overlap_section(found: Sequence[Mapping[str, Any]]) -> str:
    """Return the comparisons as a table, or a sentence that there were none.

    Args:
        found: from ``curation.release.overlap_results.OverlapWithTest.facts``.
    """
    rows = [_row(facts) for facts in found if not facts.get("problem")]
    if not rows:
        return NOT_CHECKED
    head = ["benchmark", "data", "items", "consecutive words", "overlapping", "share", "identical"]
    section = f"{' '.join(HOW.split())}\n\n{markdown_table(head, rows)}"
    by_field = [row for facts in found for row in _by_field(facts)]
    if not by_field:
        return section
    head = ["benchmark", "data", "field of the release", *SIDES]
    return f"{section}\n\n{' '.join(BY_FIELD.split())}\n\n{markdown_table(head, by_field)}"


def _by_field(facts: Mapping[str, Any]) -> list[list[object]]:
    """Return a row for each field that shares anything with the benchmark."""
    found = {(part["field"], part["side"]): part for part in facts.get("fields") or ()}
    fields = dict.fromkeys(field for field, _ in found)
    rows = [[found[field, side] for side in SIDES] for field in fields]
    return [
        [facts["title"], facts["data"], parts[0]["field"], *map(_cell, parts)]
        for parts in rows
        if any(part["overlapping"] or part["exact"] for part in parts)
    ]


def _cell(part: Mapping[str, Any]) -> str:
    whole = f" ({int(part['exact']):,})" if part["exact"] else ""
    return f"{int(part['overlapping']):,}{whole}"


def _row(facts: Mapping[str, Any]) -> list[object]:
    items, overlapping = int(facts["items"]), int(facts["overlapping"])
    share = percent(overlapping / items) if items else "–"
    return [
        facts["title"],
        facts["data"],
        items,
        int(facts["n"]),
        overlapping,
        share,
        int(facts["exact"]),
    ]
