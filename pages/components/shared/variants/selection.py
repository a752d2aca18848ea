"""Variants picked on another page, to be reviewed one after the other."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from secrets import token_urlsafe

import streamlit as st
from sqlalchemy.orm import Session

from curation.review.decisions import StatusChange
from curation.review.queue import awaiting_a_person

_KEPT = 50
"""Selections kept for reloads; the oldest goes when another comes."""

_AT_ONCE = 20
"""Ids asked about when the next card is looked for: what others decided meanwhile is rare."""

SELECTION = "selection"
"""The address names a selection by this key, so that a reload comes back to it."""


@dataclass
class Selection:
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


@st.cache_resource(show_spinner=False)
def _kept() -> dict[str, Selection]:
    """What was picked lately, by the name in the address; for all sessions of this server."""
    return {}


def open_in_review(variant_ids: Sequence[int], told: str) -> None:
    """Switch to the Review page, which goes through these variants in their order.

    Args:
        variant_ids: ids as the database has them; repeated ones count once.
        told: where they come from, in a few words; shown as plain text.
    """
    kept = _kept()
    name = token_urlsafe(6)
    kept[name] = Selection(tuple(dict.fromkeys(variant_ids)), told)
    while len(kept) > _KEPT:
        kept.pop(next(iter(kept)))
    st.switch_page("pages/review.py", query_params={SELECTION: name})


def picked(name: str) -> Selection | None:
    """A selection of one's own by its name in the address; None if it is no longer kept."""
    found = _kept().get(name)
    return None if found is None else Selection(found.ids, found.told)
