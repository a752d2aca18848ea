"""Variants picked elsewhere, to be reviewed one after the other."""

from collections.abc import Iterable
from dataclasses import dataclass, field

from sqlalchemy.orm import Session

from curation.review.decisions import StatusChange
from curation.review.queue import awaiting_a_person

_AT_ONCE = 20
"""Ids asked about when the next card is looked for: what others decided meanwhile is rare."""


@dataclass
class VariantSelection:
    """Variants in the order they are to be seen; those that a person decided are passed over.

    Attributes:
        told: where they come from, in words; possibly somebody's text.
        open: ids still to be seen; None before ``refresh``.
    """

    ids: tuple[int, ...]
    told: str
    open: set[int] | None = field(default=None)

    def refresh(self, session: Session) -> None:
        """Ask the database once which of them are still to be decided."""
        self.open = awaiting_a_person(session, self.ids)

    def next(self, session: Session, skipped: Iterable[int]) -> int | None:
        """The first one still to be decided, or None. Costs one small query."""
        if self.open is None:
            self.refresh(session)
        assert self.open is not None
        passed = set(skipped)
        while candidates := self._first_open(passed):
            still = awaiting_a_person(session, candidates)
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
            ids = {change.variant_id for change in changes}.intersection(self.ids)
            self.open |= awaiting_a_person(session, ids)
