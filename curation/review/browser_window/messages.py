"""What the review page says about others' decisions, in plain text."""

from collections.abc import Iterable

from sqlalchemy.orm import Session

from curation.diagnostics.measuring import stored_flags
from curation.review.actions import ShownCard
from curation.review.adjudication import GivenVerdict
from curation.review.history import PastDecision, latest_of_each
from curation.review.late_decisions import LateDecision
from curation.review.leases import Holder
from curation.taxonomy.reject_reasons import REJECT_REASONS
from db.models import Status, Variant, Verdict

TOO_EARLY = "Key ignored: the card had only just appeared. Press it again."
OUTDATED = "The anchor was corrected meanwhile, so the variant comes back for a second look."
BLIND = "Blind: diagnostics, notes and other verdicts are hidden until you have decided."

_REASONS = {reason.id: reason.label.lower() for reason in REJECT_REASONS}

_DID = {Verdict.ACCEPT: "accepted", Verdict.REJECT: "rejected", Verdict.EDIT: "edited"}


def reason(reason_id: str) -> str:
    """A reject reason's label in lower case."""
    return _REASONS.get(reason_id, reason_id)


def did(decision: PastDecision | LateDecision | GivenVerdict) -> str:
    """'rejected it (wrong type)', 'settled it as rejected (wrong type)'."""
    why = f" ({reason(decision.reason)})" if decision.reason else ""
    verdict = _DID[decision.verdict]
    return f"settled it as {verdict}{why}" if decision.settles else f"{verdict} it{why}"


def verdicts(past: Iterable[PastDecision], *, me: int, action: ShownCard) -> str:
    """What stands besides the decision just made, in sentences; empty where nothing does.

    What came while the card was on the screen is told in any case, one's own from another window
    too; what others had decided before it only after a blind decision.

    Args:
        me: the id of the reviewer who is told.
        action: the showing just decided on.
    """
    rest = [decision for decision in past if decision.action_id != action.action_id]
    others = [decision for decision in latest_of_each(rest) if decision.reviewer_id != me]
    meanwhile = [f"{d.reviewer} had {did(d)}" for d in others if d.version >= action.version]
    own = [d for d in rest if d.reviewer_id == me and d.stands and d.version >= action.version]
    meanwhile += [f"you had {did(d)} in another window" for d in own[-1:]]
    earlier = [f"{d.reviewer} {did(d)}" for d in others if d.version < action.version]
    told = []
    if action.blind and earlier:
        told.append(f"Others before: {'; '.join(earlier)}.")
    if meanwhile:
        told.append(f"Meanwhile {'; '.join(meanwhile)}; both decisions are kept.")
    return " ".join(told)


def before(past: Iterable[PastDecision]) -> str:
    """What each reviewer had decided on an anchor's earlier wording; empty where nobody had."""
    old = [decision for decision in past if not decision.counts and not decision.retracted]
    latest = {decision.reviewer_id: decision for decision in old}
    return "; ".join(f"{decision.reviewer} {did(decision)}" for decision in latest.values())


def late(decision: LateDecision, *, me: int) -> str:
    """That somebody decided on a card which one had just decided on oneself."""
    who = "You, in another window," if decision.reviewer_id == me else decision.reviewer
    text = decision.text if len(decision.text) <= 80 else decision.text[:79] + "…"
    now = " It is in conflict now." if decision.status is Status.CONFLICT else ""
    return f"{who} had “{text}” on screen, too, and {did(decision)} after you.{now}"


def meanwhile(past: Iterable[PastDecision], seen: ShownCard, *, me: int, hidden: bool) -> str:
    """What others decided on the card since it was drawn; empty where nobody did.

    Args:
        seen: the card as it was drawn.
        hidden: say who, not what.
    """
    others = [d for d in past if d.stands and d.version >= seen.version and d.reviewer_id != me]
    if not others:
        return ""
    if hidden:
        names = ", ".join(dict.fromkeys(d.reviewer for d in others))
        return f"Decided on meanwhile by {names}."
    return f"Meanwhile {'; '.join(f'{d.reviewer} {did(d)}' for d in others)}."


def also_there(holder: Holder, *, me: int) -> str:
    """That another window shows the card, too."""
    if holder.reviewer_id == me:
        return "This card is on screen in another of your windows, too."
    return f"{holder.name} has this card on screen, too."


def disagreement(past: Iterable[PastDecision], status: Status) -> str:
    """Who said what about a variant on which reviewers disagree, or who has settled that.

    Args:
        past: everything that was decided on it.
        status: that of the variant.
    """
    latest = latest_of_each(past)
    said = "; ".join(f"{d.reviewer} {did(d)}" + (f": “{d.note}”" if d.note else "") for d in latest)
    if status != Status.CONFLICT:
        return f"Reviewers disagreed. {said}. Your decision settles it again."
    if not said:
        return "In conflict: models that count disagree. Your decision settles it."
    return f"In conflict: {said}. Your decision settles it."


def flags_of(session: Session, variant_id: int) -> str:
    """What the diagnostics flag, in words; empty where nothing is flagged."""
    flags = stored_flags(session, session.get_one(Variant, variant_id))
    return f"Flagged: {flags.label}." if flags else ""
