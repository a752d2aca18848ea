"""The part of a report on the agreement of the release's reviewers."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from curation.markdown import percent
from curation.plurals import counted
from curation.release.export.agreement_section import estimates
from curation.release.report.parts import Block, Table


def agreement_blocks(summary: Mapping[str, Any], types: Sequence[str]) -> Iterator[Block]:
    """Return the paragraphs and tables on agreement.

    Args:
        types: the taxonomy's types, in order.
    """
    found = summary.get("agreement")
    if found is None:
        yield (
            "This release was created before Hedgerow stored agreement figures. Create a "
            "new release to get them."
        )
        return
    if not found["variants"]:
        yield (
            "No two people decided on the same variant independently, so their agreement "
            "is unknown."
        )
        return
    yield (
        f"Several people decided on {counted(found['variants'], 'variant')}, each "
        f"without knowing the other verdicts. {' '.join(found['meaning'])}"
    )
    rows = [(key, found["types"][key]) for key in types if key in found["types"]]
    yield Table(
        "agreement",
        "Agreement on the variants that several people decided on independently, "
        "released or not: the share of pairs of verdicts that agree, Krippendorff's "
        "alpha, and Cohen's kappa for two people. An edit counts as a rejection. "
        "Brackets show 95% bootstrap intervals over variants.",
        ["type", "variants", "agreement", "alpha", "kappa", "accepted"],
        [_row(key, its) for key, its in (*rows, ("all", found))],
    )
    yield (
        f"Two or more people accepted {summary['by_several']:,} of the "
        f"{counted(summary['variants'], 'released variant')}."
    )


def _row(name: str, found: Mapping[str, Any]) -> list[str | int]:
    return [name, found["variants"], *estimates(found), percent(found["accepted"])]
