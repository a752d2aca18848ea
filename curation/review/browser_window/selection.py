"""Variants picked elsewhere, to be reviewed one after the other."""

from collections.abc import Iterable
from dataclasses import dataclass, field

from sqlalchemy.orm import Session

from curation.review.calibration.sample import left_for, sample_at, variant_ids
from curation.review.decisions import StatusChange
from curation.review.gold.mixing import undecided
from curation.review.queue import awaiting_a_person

_AT_ONCE = 20
"""Ids asked about when the next card is looked for: what others decided meanwhile is rare."""


@dataclass
class VariantSelection:
    """Variants in the order they are to be seen; those that a person decided are passed over.

    Attributes:
        told: where they come from, in words; possibly somebody's text.
        open: ids still to be seen; None before ``refresh``.
        decided_alone_by: the id of a person who decides on each by themselves, whatever others
            decide (the sample of a calibration); None where one decision will do.
        reviewer_id: who goes through it. Gold items among it are open until they decide on them.
    """

    ids: tuple[int, ...]
    told: str
    open: set[int] | None = field(default=None)
    decided_alone_by: int | None = None
    reviewer_id: int | None = None

    def undecided(self, session: Session, ids: Iterable[int]) -> set[int]:
        """Which of these, if they are among the selection, are still to be decided."""
        mine = set(ids).intersection(self.ids)
        if self.decided_alone_by is not None:
            return left_for(session, mine, self.decided_alone_by)
        found = awaiting_a_person(session, mine)
        if self.reviewer_id is not None:
            found |= undecided(session, self.reviewer_id, mine)
        return found

    def refresh(self, session: Session) -> None:
        """Ask the database once which of them are still to be decided."""
        self.open = self.undecided(session, self.ids)

    def next(self, session: Session, skipped: Iterable[int]) -> int | None:
        """The first one still to be decided, or None. Costs one small query."""
        if self.open is None:
            self.refresh(session)
        assert self.open is not None
        passed = set(skipped)
        while candidates := self._first_open(passed):
            still = self.undecided(session, candidates)
            self.open.difference_update(set(candidates) - still)
            for variant_id in candidates:
                if variant_id in still:
                    return variant_id
        return None

    def _first_open(self, passed: set[int]) -> list[int]:
        """The next few ids believed to be open."""
        found: list[int] = []
        for variant_id in self.ids:
            if variant_id in (self.open or ()) and variant_id not in passed:
                found.append(variant_id)
                if len(found) == _AT_ONCE:
                    break
        return found

    def decided(self, variant_ids: Iterable[int]) -> None:
        """Somebody here has decided on these."""
        if self.open is not None:
            self.open.difference_update(variant_ids)

    def reopened(self, session: Session, changes: Iterable[StatusChange]) -> None:
        """Decisions on these were taken back: ask which are to be seen again."""
        if self.open is not None:
            self.open |= self.undecided(session, (change.variant_id for change in changes))


def sample_selection(session: Session, name: str, reviewer_id: int) -> VariantSelection | None:
    """The sample of a calibration that an address names, for this person; None for no sample."""
    sample = sample_at(session, name)
    if sample is None:
        return None
    return VariantSelection(
        variant_ids(session, sample),
        f"sample {sample.id}, decided blind",
        decided_alone_by=reviewer_id,
    )
