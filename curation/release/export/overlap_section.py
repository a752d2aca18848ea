"""What a card says of tests whose text a release has in it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from curation.markdown import markdown_table, percent

NOT_CHECKED = (
    "Its overlap with public benchmarks was not checked here; check it before you report scores."
)

HOW = """\
Texts of the release, all splits, compared with those of benchmarks. An item overlaps if one of its
texts shares so many words in a row with any of them; case and punctuation do not count. *As a
whole*: items of which a text is one of the release's, however short."""


def overlap_section(found: Sequence[Mapping[str, Any]]) -> str:
    """The comparisons as a table, or that there was none.

    Args:
        found: as ``curation.release.overlap_results.OverlapWithTest.facts`` gives them.
    """
    rows = [_row(facts) for facts in found if not facts.get("problem")]
    if not rows:
        return NOT_CHECKED
    head = ["benchmark", "data", "items", "words in a row", "overlapping", "share", "as a whole"]
    return f"{' '.join(HOW.split())}\n\n{markdown_table(head, rows)}"


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
