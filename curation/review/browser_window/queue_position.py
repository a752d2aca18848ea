"""A reviewer's position in a queue, in one window, and what is left there.

There are no widgets here. The Review page draws them, ``shown_now`` has the cards on the screen,
and ``key_actions`` the keys' actions.
"""

import time
from collections import Counter, deque
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass, field
from enum import StrEnum

from sqlalchemy import Engine, select
from sqlalchemy.orm import Session
from sqlmodel import col

from curation.anchors.revisions import sources_in_use
from curation.decisions.assignment import seen_blind
from curation.decisions.history import decided_by
from curation.decisions.quotas import Workload, workload
from curation.decisions.reviewers import person_now
from curation.decisions.storing import StatusChange, chunks
from curation.formatting import counted
from curation.project.settings import LEVENSHTEIN_THRESHOLD, THRESHOLD, get_setting
from curation.review.browser_window.selection import VariantSelection
from curation.review.calibration.sample import sampled
from curation.review.drafts import Place
from curation.review.queue import (
    Order,
    Queue,
    among,
    count_left,
    status_counts,
)
from curation.taxonomy.built_in import VariantType
from db.engine import reading
from db.models import Reviewer, Status, Variant

BLIND_ORDERS = (Order.OLDEST, Order.RANDOM)
"""The orders available in blind mode. The others would reveal the diagnostics or opinions."""


class Panel(StrEnum):
    """The panel that is open below the card."""

    NONE = ""
    EDIT = "edit"
    REASON = "reason"
    REJECT = "reject"
    RETYPE = "retype"
    NOTE = "note"
    DISCUSS = "discuss"
    WORDING = "wording"
    WRITE = "write"
    LAST = "last"
    OPINION = "opinion"
    KEYS = "keys"


PAUSE_SECONDS = 300
"""A longer time between two decisions counts as a break and is left out of the pace."""

LATEST = 20
"""Number of latest decisions that give the pace."""


@dataclass
class ReviewPace:
    """Today's actions of one reviewer. A bulk action counts once.

    Attributes:
        actions: their ids, without undone ones.
        moments: the latest ones since the last break, with their times (monotonic seconds).
    """

    actions: set[str] = field(default_factory=set)
    moments: deque[tuple[str, float]] = field(default_factory=lambda: deque(maxlen=LATEST + 1))

    def did(self, action_id: str) -> None:
        """Add an action done just now."""
        moment = time.monotonic()
        if self.moments and moment - self.moments[-1][1] > PAUSE_SECONDS:
            self.moments.clear()
        self.moments.append((action_id, moment))
        self.actions.add(action_id)

    def undid(self, action_id: str) -> None:
        """Remove an action that was undone."""
        self.actions.discard(action_id)
        kept = [(done, moment) for done, moment in self.moments if done != action_id]
        self.moments = deque(kept, maxlen=LATEST + 1)

    @property
    def a_minute(self) -> float | None:
        """Actions per minute, over the latest ones; None if there are fewer than five."""
        if len(self.moments) < 5:
            return None
        seconds = self.moments[-1][1] - self.moments[0][1]
        return 60 * (len(self.moments) - 1) / max(seconds, 0.001)

    def summary(self) -> str:
        """One short phrase; empty before the first decision of the day."""
        if not self.actions:
            return ""
        number = len(self.actions)
        today = f"{counted(number, 'decision')} today"
        return today if self.a_minute is None else f"{today}, about {self.a_minute:.0f} a minute"


@dataclass
class QueuePosition:
    """A reviewer's position in a queue or a selection, and what is left there.

    Attributes:
        queue: the queue under review.
        type_id: the type under review; None for all.
        source_id: the source under review; None for all.
        sources: the names of all sources by id, the user's own first.
        counts: number of variants of the source, by type and status.
        left: number of variants left for this reviewer in each queue, by type and source.
        person_id: the reviewer's id, or that of the person they were merged into.
        workload: the reviewer's quotas and progress; None without a quota.
        selection: variants to review instead of a queue.
        blind: hide diagnostics and other people's verdicts until the reviewer has decided.
    """

    engine: Engine
    reviewer_id: int
    types: list[VariantType]
    type_id: str | None = None
    source_id: int | None = None
    sources: dict[int, str] = field(default_factory=dict)
    queue: Queue = Queue.PENDING
    selection: VariantSelection | None = None
    order: Order = Order.OLDEST
    by_family: bool = False
    blind: bool = False
    skipped: set[int] = field(default_factory=set)
    counts: dict[str, dict[Status, int]] = field(default_factory=dict)
    left: dict[Queue, Counter[tuple[str, int]]] = field(default_factory=dict)
    person_id: int = 0
    workload: Workload | None = None
    threshold: int = LEVENSHTEIN_THRESHOLD
    reviewer_name: str = ""

    def recount(self) -> None:
        """Read the counts from the database. Key presses then keep them up to date."""
        with reading(self.engine) as session:
            self.sources = sources_in_use(session)
            if self.source_id not in self.sources:
                self.source_id = None
            self.person_id = person_now(session, self.reviewer_id).id
            self.workload = workload(session, self.reviewer_id)
            self._read_counts(session)
            self.threshold = int(get_setting(session, THRESHOLD))
            self.reviewer_name = session.get_one(Reviewer, self.reviewer_id).name

    def _read_counts(self, session: Session) -> None:
        self.counts = status_counts(session, self.source_id)
        self.left = {
            queue: Counter(count_left(session, queue, self.reviewer_id)) for queue in Queue
        }

    def left_in(self, queue: Queue, type_id: str | None = None) -> int:
        """The number of the source's variants in a queue, of one type or of all types in use."""
        return self.left_of(self.source_id, queue, type_id)

    def left_of(self, source_id: int | None, queue: Queue, type_id: str | None = None) -> int:
        """Like ``left_in``, for this source or all sources."""
        types = {type_id} if type_id else {entry.id for entry in self.types}
        types -= self.reached(queue)
        return sum(
            number
            for (of_type, of_source), number in self.left.get(queue, Counter()).items()
            if of_type in types and source_id in (None, of_source)
        )

    @property
    def place(self) -> Place:
        """What is under review, apart from a selection."""
        return Place(self.queue, self.type_id, self.source_id, self.order, self.by_family)

    @property
    def in_queue(self) -> bool:
        """Whether the cards come from a queue rather than a selection."""
        return self.selection is None

    @property
    def type_ids(self) -> list[str]:
        """The types under review, without those whose quota the reviewer has reached."""
        under_review = [self.type_id] if self.type_id else [entry.id for entry in self.types]
        reached = self.reached(self.queue)
        return [type_id for type_id in under_review if type_id not in reached]

    def reached(self, queue: Queue) -> set[str]:
        """The types whose quota the reviewer has reached. Settling conflicts has no quota."""
        if self.workload is None or queue is Queue.CONFLICT:
            return set()
        return self.workload.reached(entry.id for entry in self.types)

    def count_skipped(self) -> int:
        """The number of skipped variants that are left here."""
        with reading(self.engine) as session:
            return len(self.among(session, self.skipped))

    def first_type(self, queue: Queue) -> str | None:
        """The first type, in the taxonomy's order, with variants in this queue."""
        return next((e.id for e in self.types if self.left_in(queue, e.id)), None)

    def among(
        self, session: Session, variant_ids: Collection[int], *, of_any_type: bool = False
    ) -> set[int]:
        """Which of these variants are under review here.

        Args:
            of_any_type: ignore the chosen type and source, as in the family view.
        """
        if self.selection is not None and not of_any_type:
            return self.selection.undecided(session, variant_ids)
        types = [entry.id for entry in self.types if entry.id not in self.reached(self.queue)]
        return among(
            session,
            variant_ids,
            self.queue,
            type_ids=types if of_any_type else self.type_ids,
            source_id=None if of_any_type else self.source_id,
            reviewer_id=self.reviewer_id,
        )

    def count(self, changes: tuple[StatusChange, ...]) -> None:
        """Update the counts."""
        for change in changes:
            key = (change.type_id, change.source_id)
            self.left[Queue.SECOND_LOOK][key] += change.second_look
            self.left[Queue.MODEL_ONLY][key] += change.model_only
            now = self._waits_in(change.after, change.by_after)
            before = self._waits_in(change.before, change.by_before)
            for queue in (Queue.PENDING, Queue.CONFLICT):
                self.left[queue][key] += (queue is now) - (queue is before)
            if change.before is change.after or self.source_id not in (None, change.source_id):
                continue
            numbers = self.counts.setdefault(change.type_id, dict.fromkeys(Status, 0))
            if change.before is not None:
                numbers[change.before] = max(0, numbers.get(change.before, 0) - 1)
            numbers[change.after] = numbers.get(change.after, 0) + 1

    def worked(self, session: Session, changes: Iterable[StatusChange]) -> None:
        """Update the progress with the quotas after a decision or an undo."""
        if self.workload is not None:
            self.workload.refresh(session, (change.variant_id for change in changes))

    def _waits_in(self, status: Status | None, people: str) -> Queue | None:
        """The queue in which a variant waits for this reviewer, if any.

        Args:
            people: who has decided on it, while others still have to (``Standing.verdicts_by``).
        """
        is_asked = people and f",{self.person_id}," not in people
        if status is Status.PENDING or is_asked:
            return Queue.PENDING
        return Queue.CONFLICT if status is Status.CONFLICT and not people else None

    # -- blind cards -------------------------------------------------------------------

    def hidden(self, session: Session, variants: Sequence[Variant]) -> frozenset[int]:
        """The ids of the variants that this reviewer must see blind.

        In blind mode these are the variants on which the reviewer has not decided. The same applies
        without blind mode to the variants of a calibration's sample and to those assigned to
        several people, which stay blind, even for those who have decided, until all have. In the
        queue of conflicts the verdicts are shown, because they are needed for settling.
        """
        unfinished = frozenset(variant.id for variant in variants if variant.verdicts_by)
        rest = [variant for variant in variants if variant.id not in unfinished]
        if not self.blind:
            always = sampled(session, rest) | seen_blind(session, rest)
            rest = [variant for variant in rest if variant.id in always]
        settling = self.in_queue and self.queue is Queue.CONFLICT
        ids = [v.id for v in rest if not (settling and v.status == Status.CONFLICT)]
        if not ids:
            return unfinished
        return unfinished | (frozenset(ids) - decided_by(session, self.reviewer_id, ids))

    def hidden_ids(self, session: Session, variant_ids: Collection[int]) -> frozenset[int]:
        """Like ``hidden``, for ids."""
        rows: list[Variant] = []
        for ids in chunks(variant_ids):
            rows += session.execute(select(Variant).where(col(Variant.id).in_(ids))).scalars()
        return self.hidden(session, rows)

    def why_hidden(self, session: Session, variant: Variant) -> str:
        """Why this reviewer sees the variant blind, in a sentence."""
        if variant.verdicts_by or seen_blind(session, [variant]):
            return "Several people decide on this variant independently."
        if self.blind:
            return "Blind mode is on; B turns it off."
        return "This variant is in a sample that people review blind, to evaluate models."
