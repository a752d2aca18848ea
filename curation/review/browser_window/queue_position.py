"""A reviewer's position in a queue, in one window, and what is left there.

There are no widgets here. The Review page draws them, and ``key_actions`` has the keys' actions.
"""

from collections import Counter, deque
from collections.abc import Collection, Iterable
from dataclasses import dataclass, field
from enum import StrEnum

from sqlalchemy import Engine
from sqlalchemy.orm import Session

from curation.anchors.revisions import sources_in_use
from curation.decisions.quotas import Workload, workload
from curation.decisions.reviewers import person_now
from curation.decisions.storing import StatusChange
from curation.diagnostics.opinions import GivenOpinion
from curation.project.settings import LEVENSHTEIN_THRESHOLD, THRESHOLD, get_setting
from curation.review import actions
from curation.review.actions import ShownCard
from curation.review.browser_window.cards_on_screen import Screen
from curation.review.browser_window.keyboard import Keyboard
from curation.review.browser_window.pace import ReviewPace
from curation.review.browser_window.selection import VariantSelection
from curation.review.drafts import Place, StoredPosition, keep_position
from curation.review.queue import (
    Order,
    Queue,
    among,
    count_left,
    status_counts,
)
from curation.taxonomy.built_in import VariantType
from db.engine import reading
from db.errors import HedgerowError
from db.models import Reviewer, Status

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


@dataclass
class QueuePosition:
    """A reviewer's position between two key presses.

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
        guide: show the guideline next to the card.
        pinned: a variant to show whatever its status, after an undo or by its permalink.
        focus_id: the variant that the keys act on; None to take the next one from the queue.
        showings: the cards on the screen, by variant id.
        drawn: the time when each card was first drawn (monotonic seconds), by action id.
        redraw: the page around the card needs to be redrawn, too.
        has_opinions: models have given second opinions in this project.
        opinions: the opinions shown below the card.
        opinions_on: id of the showing for which they were requested.
        suggested: the opinion whose suggestion the editor starts with.
        screen: the leases of this window.
        elsewhere: number of variants of an empty queue that are on other screens.
        recent: ids of the latest actions here, to report others' late decisions on their cards.
        heard: ids of the late decisions already reported.
        keyboard: the active keys.
        choices: the menus that are drawn, by the letter that steps through them: the key of each
            and its entries.
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
    guide: bool = True
    panel: Panel = Panel.NONE
    details: bool = False
    pinned: int | None = None
    focus_id: int | None = None
    skipped: set[int] = field(default_factory=set)
    showings: dict[int, ShownCard] = field(default_factory=dict)
    drawn: dict[str, float] = field(default_factory=dict)
    message: str = ""
    warn: bool = False
    counts: dict[str, dict[Status, int]] = field(default_factory=dict)
    left: dict[Queue, Counter[tuple[str, int]]] = field(default_factory=dict)
    person_id: int = 0
    workload: Workload | None = None
    threshold: int = LEVENSHTEIN_THRESHOLD
    reviewer_name: str = ""
    pace: ReviewPace = field(default_factory=ReviewPace)
    edited: int = 0
    redraw: bool = False
    has_opinions: bool = False
    opinions: tuple[GivenOpinion, ...] = ()
    opinions_on: str = ""
    suggested: GivenOpinion | None = None
    screen: Screen = field(init=False)
    elsewhere: int = 0
    recent: deque[str] = field(default_factory=lambda: deque(maxlen=20))
    heard: set[int] = field(default_factory=set)
    keyboard: Keyboard = field(default_factory=Keyboard)
    choices: dict[str, tuple[str, list[str]]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        """Give each position its own window."""
        self.screen = Screen(self.reviewer_id)

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

    def pending(self, type_id: str) -> int:
        """The number of pending variants of a type."""
        return self.left_in(Queue.PENDING, type_id)

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
            return len(self._among(session, self.skipped))

    def first_type(self, queue: Queue) -> str | None:
        """The first type, in the taxonomy's order, with variants in this queue."""
        return next((e.id for e in self.types if self.left_in(queue, e.id)), None)

    def _among(
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

    # -- changing the position ---------------------------------------------------------

    def go_to(
        self,
        *,
        queue: Queue,
        type_id: str | None,
        source_id: int | None = None,
        order: Order,
        family: bool,
    ) -> None:
        """Review this queue. After a change, start at its head."""
        wanted = (queue, type_id, source_id, order, family)
        before = (self.queue, self.type_id, self.source_id, self.order, self.by_family)
        if wanted != before:
            self.queue, self.type_id, self.source_id, self.order, self.by_family = wanted
            if source_id != before[2]:
                self.recount()
            if self.focus_id is not None:  # otherwise keep the message: nothing was shown yet
                self.restart()

    def _keep_position(self, session: Session, variant_id: int | None) -> None:
        """Store the position of this window, for a later window to continue from."""
        if self.in_queue:
            position = StoredPosition(self.screen.window, self.place, variant_id)
            keep_position(session, position, reviewer_id=self.reviewer_id)

    def restart(self) -> None:
        """Start at the head of the queue."""
        self.pinned = self.focus_id = None
        self.panel = Panel.NONE
        self.message = ""

    def take(self, selection: VariantSelection | None) -> None:
        """Review a selection; with None, return to the queue."""
        self.selection = selection
        if selection is not None:
            selection.reviewer_id = self.reviewer_id
            self.skipped.difference_update(selection.ids)
            with reading(self.engine) as session:
                selection.refresh(session)
        self.restart()

    def open_link(self, uid: str) -> None:
        """Show the variant of a permalink, or say why that is not possible."""
        try:
            with reading(self.engine) as session:
                self.pinned = actions.find_variant(session, uid[:64]).id
        except HedgerowError as error:
            self.say(f"{error} The queue is shown instead.", warn=True)
        else:
            self.panel, self.message = Panel.NONE, ""

    def focus(self, variant_id: int) -> None:
        """Make another card of the family the active one."""
        self.pinned = None
        self.focus_id = variant_id
        self.panel = Panel.NONE

    def pin(self, variant_id: int) -> None:
        """Show this variant, whatever its status."""
        self.pinned = self.focus_id = variant_id
        self.panel, self.message = Panel.NONE, ""

    def _move_to(self, variant_id: int | None) -> None:
        """Show this card; with None, the next one when the page is drawn."""
        self.focus_id, self.pinned = variant_id, None
        self.panel = Panel.NONE

    def leave(self) -> None:
        """Release the card on the screen. The next visit starts at the head of the queue."""
        self.focus_id = None
        self.screen.clear(self.engine)

    def _count(self, changes: tuple[StatusChange, ...]) -> None:
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

    def _worked(self, session: Session, changes: Iterable[StatusChange]) -> None:
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

    def say(self, message: str, *, warn: bool = False) -> None:
        """Show this message next to the card."""
        self.message, self.warn = message, warn

    def _add(self, message: str) -> None:
        """Append this message, unless it is shown already."""
        if message and message not in self.message:
            self.say(f"{self.message} {message}".strip(), warn=True)
