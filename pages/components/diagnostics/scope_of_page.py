"""Shared by all parts of the Diagnostics page: scope, counts, names and the table of variants."""

from collections.abc import Iterable
from dataclasses import dataclass

import streamlit as st

from curation.decisions.status import status_label
from curation.diagnostics import variant_table
from curation.diagnostics.distributions import Scope
from curation.diagnostics.measuring import KIND as MEASURE
from curation.formatting import counted
from curation.review.queue import status_counts
from db.models import Status
from pages.components.shared import formatting, links, page_runs, tables
from pages.components.shared.shell import count_cache, current_user, open_project

SHOWN = 200
"""Maximum rows of the table; more would be slow to scroll, and nobody reads them."""

REVIEWED = 2_000
"""Maximum variants to open in Review at once: more than a week's work."""

STATUSES: dict[str, Status | None] = {
    "In use": None,
    "Pending": Status.PENDING,
    "Accepted": Status.ACCEPTED,
    "Rejected": Status.REJECTED,
    "In conflict": Status.CONFLICT,
}
"""Status filters of the page."""

_HEADS = ("Card", "Variant", "Anchor", "Type", "Status", "Distance", "Cosine", "Flags", "Cue")


@dataclass(frozen=True)
class PageView:
    """One run of the page.

    Attributes:
        counts: cached counts over all variants.
        labels: types in use, in taxonomy order → their names.
    """

    counts: count_cache.CachedCounts
    scope: Scope
    labels: dict[str, str]

    def labels_of(self, type_ids: Iterable[str]) -> dict[str, str]:
        """The names of the types in the scope or in ``type_ids``, in order.

        A type that is no longer in use is named by its id.
        """
        known = [t for t in self.labels if not self.scope.types or t in self.scope.types]
        others = sorted(set(type_ids) - set(self.labels))
        return {t: self.labels.get(t, t) for t in [*known, *others]}

    def in_use(self) -> int | None:
        """Variants in use of the source, of all types and statuses; None while they are counted."""
        found = self.counts.get(status_counts, self.scope.source_id)
        if found is None:
            return None
        return sum(
            number
            for counts in found.values()
            for status, number in counts.items()
            if status != Status.SUPERSEDED
        )


def counting() -> None:
    """Show that counting is in progress."""
    st.text("Counting. This takes a few seconds in a large project.")


@current_user.for_leads()
def measure_button(missing: int, *, what: str) -> None:
    """Say how many variants have no measurement yet, and offer to measure them."""
    if page_runs.active(MEASURE) is not None:
        return  # the run is shown below
    with st.container(horizontal=True, vertical_alignment="center", key=f"missing-{what}"):
        are = "variant has" if missing == 1 else "variants have"
        st.text(f"{missing:,} {are} no {what} yet.")
        if st.button("Measure", key=f"measure-{what}", icon=":material/straighten:"):
            page_runs.measure()
            st.rerun()


def found_table(
    view: PageView, wanted: variant_table.VariantFilter, *, description: str, key: str
) -> None:
    """Show how many variants were found, the first of them as a table, and a link to review them.

    Args:
        description: what the variants have in common, as text.
    """
    found = view.counts.get(variant_table.find, wanted, limit=REVIEWED)
    if found is None:
        counting()
        return
    if not found.total:
        st.text(f"No variants: {description}.")
        return
    rows = open_project.ask(variant_table.rows, found.ids[:SHOWN])
    with st.container(horizontal=True, vertical_alignment="center", key=f"found-{key}"):
        shown = "" if found.total <= SHOWN else f"; the table shows the first {SHOWN}"
        st.text(f"{counted(found.total, 'variant')}: {description}{shown}.")
        if st.button(_review_label(found), key=f"review-{key}", icon=":material/rate_review:"):
            links.open_in_review(found.ids, f"Diagnostics: {description}")
    cells = (
        (
            tables.card_link(row.uid),
            tables.sentence(row.text),
            tables.sentence(row.anchor),
            view.labels.get(row.type_id, row.type_id),
            status_label(row.status),
            "" if row.levenshtein is None else str(row.levenshtein),
            "" if row.cosine is None else f"{row.cosine:.3f}",
            row.flags.label if row.flags else "",
            row.cue or "",
        )
        for row in rows
    )
    formatting.emit(tables.sentences(_HEADS, cells, numbers=("Distance", "Cosine")))


def _review_label(found: variant_table.FoundVariants) -> str:
    if found.total > len(found.ids):
        return f"Review the first {len(found.ids):,}"
    return "Review this variant" if found.total == 1 else f"Review these {found.total:,} variants"
