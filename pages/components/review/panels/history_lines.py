"""The history of a card, a line an entry, in the browser's time zone."""

from curation.review.browser_window.messages import reason
from curation.review.history import PastDecision
from curation.review.notes import WrittenNote
from pages.components.shared.formatting.clock import local


def line(decision: PastDecision) -> str:
    """A decision as a line of the history."""
    when = f"{local(decision.decided_at):%Y-%m-%d %H:%M}"
    verdict = f"settle: {decision.verdict}" if decision.settles else decision.verdict.value
    parts = [when, decision.reviewer, verdict, reason(decision.reason)]
    parts.append(decision.note)
    if decision.cue:
        parts.append(f"cue '{decision.cue.before or ''}' → '{decision.cue.after or ''}'")
    if decision.blind:
        parts.append("(blind)")
    if decision.retracted:
        parts.append("(taken back)")
    elif not decision.counts:
        parts.append("(on the anchor's earlier wording)")
    return " · ".join(part for part in parts if part)


def removed_note(note: WrittenNote) -> str:
    """A line of the history for a note that is gone."""
    return f"{local(note.created_at):%Y-%m-%d %H:%M} · {note.reviewer} · note · (taken back)"
