"""The section of a data card on the agreement of the release's reviewers."""

from collections.abc import Mapping, Sequence
from typing import Any

from curation.markdown import markdown_table, percent
from curation.plurals import counted
from curation.review.agreement.estimates import Estimate
from curation.review.agreement.interpretation import as_text


def agreement_section(summary: Mapping[str, Any], types: Sequence[str]) -> list[str]:
    """Return the section's paragraphs; empty for a release without agreement figures.

    Args:
        types: the taxonomy's types, in order.
    """
    found = summary.get("agreement")
    if found is None:
        return []
    several = (
        f"Two or more people accepted {summary['by_several']:,} of the "
        f"{counted(summary['variants'], 'released variant')}."
    )
    if not found["variants"]:
        return [
            "### Agreement",
            "No two people decided on the same variant independently, so their agreement is "
            "unknown.",
            several,
        ]
    rows = [[key, found["types"][key]] for key in types if key in found["types"]]
    return [
        "### Agreement",
        f"Several people decided on {counted(found['variants'], 'variant')}, each without knowing "
        "the other verdicts. All of these variants are counted, whether or not they were "
        "released. There are two categories: accepted, and rejected or edited. Agreement is the "
        "share of pairs of verdicts that agree; alpha is Krippendorff's alpha. Brackets show 95% "
        "bootstrap intervals over variants.",
        markdown_table(
            ["type", "variants", "agreement", "alpha", "kappa", "accepted"],
            [_row(key, its) for key, its in (*rows, ("all", found))],
        ),
        " ".join(found["meaning"]),
        several,
    ]


def _row(name: str, found: Mapping[str, Any]) -> list[object]:
    return [name, found["variants"], *estimates(found), percent(found["accepted"])]


def estimates(found: Mapping[str, Any]) -> list[str]:
    """Format agreement, alpha and kappa of a group, with their intervals."""
    agreement, alpha, kappa = (
        Estimate(found[key], found[f"{key}_low"], found[f"{key}_high"])
        for key in ("agreement", "alpha", "kappa")
    )
    return [as_text(agreement, as_percent=True), as_text(alpha), as_text(kappa)]
