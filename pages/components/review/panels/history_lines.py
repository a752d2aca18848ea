"""The history of a card, one line per entry, in the browser's time zone."""

from curation.decisions.history import PastDecision
from curation.decisions.notes import WrittenNote
from curation.review.browser_window.messages import reason
from curation.review.discussing import MarkEvent
from db.models import MarkKind
from pages.components.shared.formatting.clock import local


def line(decision: PastDecision) -> str:
    """A line for a decision."""
    when = f"{local(decision.decided_at):%Y-%m-%d %H:%M}"
    verdict = f"settled: {decision.verdict}" if decision.settles else decision.verdict.value
    parts = [when, decision.reviewer, verdict, reason(decision.reason)]
    parts.append(decision.note)
    if decision.cue:
        parts.append(f"cue '{decision.cue.before or ''}' → '{decision.cue.after or ''}'")
    if decision.blind:
        parts.append("(blind)")
    if decision.retracted:
        parts.append("(undone)")
    elif not decision.counts:
        parts.append("(on the anchor's earlier text)")
    return " · ".join(part for part in parts if part)


def removed_note(note: WrittenNote) -> str:
    """A line for a note that its writer has removed."""
    return f"{local(note.created_at):%Y-%m-%d %H:%M} · {note.reviewer} · note · (removed)"


def mark(event: MarkEvent) -> str:
    """A line for a mark for discussion, or for its removal."""
    when = f"{local(event.at):%Y-%m-%d %H:%M}"
    marked = event.kind is MarkKind.MARK
    what = "marked for discussion" if marked else "removed the mark for discussion"
    parts = [when, event.reviewer, what, event.remark, "(undone)" if event.undone else ""]
    return " · ".join(part for part in parts if part)
