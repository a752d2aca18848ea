"""Variants picked on another page, for review one after the other."""

from collections.abc import Iterable
from dataclasses import dataclass, field

from sqlalchemy.orm import Session

from curation.decisions.storing import StatusChange
from curation.review.calibration.sample import left_for, sample_at, variant_ids
from curation.review.gold.mixing import undecided
from curation.review.queue import awaiting_a_person

_AT_ONCE = 20
"""Number of ids checked at once for the next card: others rarely decide on some in the meantime."""


@dataclass
class VariantSelection:
    """Variants in the order of review. Those that a person has decided on are skipped.

    Attributes:
        description: where they come from, in words; possibly untrusted text.
        open: ids that still need a decision; None before ``refresh``.
        decided_alone_by: the id of a person who decides on each variant independently of others (in
            the sample of a calibration); None if one decision is enough.
        reviewer_id: the reviewer. Gold items in the selection stay open until they decide on them.
    """

    ids: tuple[int, ...]
    description: str
    open: set[int] | None = field(default=None)
    decided_alone_by: int | None = None
    reviewer_id: int | None = None

    def undecided(self, session: Session, ids: Iterable[int]) -> set[int]:
        """Which of these variants, if in the selection, still need a decision."""
        mine = set(ids).intersection(self.ids)
        if self.decided_alone_by is not None:
            return left_for(session, mine, self.decided_alone_by)
        found = awaiting_a_person(session, mine)
        if self.reviewer_id is not None:
            found |= undecided(session, self.reviewer_id, mine)
        return found

    def refresh(self, session: Session) -> None:
        """Read from the database which variants still need a decision."""
        self.open = self.undecided(session, self.ids)

    def next(self, session: Session, skipped: Iterable[int]) -> int | None:
        """The first variant that still needs a decision, or None. Takes one small query."""
        if self.open is None:
            self.refresh(session)
        assert self.open is not None
        passed = set(skipped)
        remaining = [one for one in self.ids if one in self.open and one not in passed]
        for start in range(0, len(remaining), _AT_ONCE):
            candidates = remaining[start : start + _AT_ONCE]
            still = self.undecided(session, candidates)
            self.open.difference_update(set(candidates) - still)
            if still:
                return next(one for one in candidates if one in still)
        return None

    def decided(self, variant_ids: Iterable[int]) -> None:
        """Remove variants that were decided on in this window."""
        if self.open is not None:
            self.open.difference_update(variant_ids)

    def reopened(self, session: Session, changes: Iterable[StatusChange]) -> None:
        """After an undo, add the variants that need a decision again."""
        if self.open is not None:
            self.open |= self.undecided(session, (change.variant_id for change in changes))


def sample_selection(session: Session, name: str, reviewer_id: int) -> VariantSelection | None:
    """The sample of a calibration that a URL names, for this person; None if there is none."""
    sample = sample_at(session, name)
    if sample is None:
        return None
    return VariantSelection(
        variant_ids(session, sample),
        f"sample {sample.id}, decided blind",
        decided_alone_by=reviewer_id,
    )
