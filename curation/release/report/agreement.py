"""The agreement of a release's reviewers, for a report."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from curation.markdown import percent
from curation.plurals import counted
from curation.release.export.agreement_section import estimates
from curation.release.report.parts import Block, Table


def agreement_blocks(summary: Mapping[str, Any], types: Sequence[str]) -> Iterator[Block]:
    """What the release keeps about it.

    Args:
        types: of the taxonomy, in order.
    """
    found = summary.get("agreement")
    if found is None:
        yield "The release is older than the figures of agreement; make a new one to have them."
        return
    if not found["variants"]:
        yield (
            "No two people decided on the same variant independently of each other, so it is not "
            "known how far they would agree."
        )
        return
    yield (
        f"Several people decided on {counted(found['variants'], 'variant')}, each before they knew "
        f"anybody else's verdict. {' '.join(found['meaning'])}"
    )
    rows = [(key, found["types"][key]) for key in types if key in found["types"]]
    yield Table(
        "agreement",
        "Agreement of people on the variants that several of them decided on independently, "
        "released or not: the share of pairs of verdicts that agree, Krippendorff's alpha, and "
        "Cohen's kappa where there are two people. An edit counts like a rejection. In brackets: "
        "95% bootstrap intervals over variants.",
        ["type", "variants", "agreement", "alpha", "kappa", "accepted"],
        [_row(key, its) for key, its in (*rows, ("all", found))],
    )
    yield (
        f"Two or more people accepted {summary['by_several']:,} of the "
        f"{counted(summary['variants'], 'released variant')}."
    )


def _row(name: str, found: Mapping[str, Any]) -> list[str | int]:
    return [name, found["variants"], *estimates(found), percent(found["accepted"])]
