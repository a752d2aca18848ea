"""Messages of the Review page about other people's decisions, in plain text."""

from collections.abc import Iterable

from sqlalchemy.orm import Session

from curation.decisions.history import PastDecision, latest_of_each
from curation.decisions.leases import Holder
from curation.decisions.shown_card import quoted
from curation.diagnostics.measuring import stored_flags
from curation.review.adjudication import GivenVerdict
from curation.review.deciding import ShownCard
from curation.review.undo import LateDecision
from curation.taxonomy.reject_reasons import REJECT_REASONS
from db.models import Status, Variant, Verdict

TOO_EARLY = "Key ignored: the card had only just appeared. Press it again."
OUTDATED = "The anchor has been corrected since then, so the variant comes back for a second look."
BLIND = "Blind: diagnostics, notes and other verdicts are hidden until you have decided."
NOT_BLIND = "Not blind: diagnostics, notes and other verdicts are shown."

_REASONS = {reason.id: reason.label.lower() for reason in REJECT_REASONS}

_DID = {Verdict.ACCEPT: "accepted", Verdict.REJECT: "rejected", Verdict.EDIT: "edited"}


def reason(reason_id: str) -> str:
    """The label of a reject reason, in lower case."""
    return _REASONS.get(reason_id, reason_id)


def did(decision: PastDecision | LateDecision | GivenVerdict) -> str:
    """'rejected it (wrong type)', 'settled it as rejected (wrong type)'."""
    why = f" ({reason(decision.reason)})" if decision.reason else ""
    verdict = _DID[decision.verdict]
    return f"settled it as {verdict}{why}" if decision.settles else f"{verdict} it{why}"


def verdicts(past: Iterable[PastDecision], *, me: int, action: ShownCard) -> str:
    """Other decisions that count besides the one just made, in sentences; empty if there are none.

    This includes decisions made while the card was on the screen, also the reviewer's own in
    another window. Earlier decisions are included only after a blind decision.

    Args:
        me: the id of the reviewer who reads the message.
        action: the showing that was just decided.
    """
    rest = [decision for decision in past if decision.action_id != action.action_id]
    others = [decision for decision in latest_of_each(rest) if decision.reviewer_id != me]
    meanwhile = [f"{d.reviewer} had {did(d)}" for d in others if d.version >= action.version]
    own = [d for d in rest if d.reviewer_id == me and d.is_valid and d.version >= action.version]
    meanwhile += [f"you had {did(d)} in another window" for d in own[-1:]]
    earlier = [f"{d.reviewer} {did(d)}" for d in others if d.version < action.version]
    sentences = []
    if action.blind and earlier:
        sentences.append(f"Before you, {'; '.join(earlier)}.")
    if meanwhile:
        sentences.append(f"Meanwhile, {'; '.join(meanwhile)}. Both decisions are stored.")
    return " ".join(sentences)


def before(past: Iterable[PastDecision]) -> str:
    """What each reviewer had decided for an anchor's earlier text; empty if nobody had."""
    old = [decision for decision in past if not decision.counts and not decision.retracted]
    latest = {decision.reviewer_id: decision for decision in old}
    return "; ".join(f"{decision.reviewer} {did(decision)}" for decision in latest.values())


def late(decision: LateDecision, *, me: int) -> str:
    """The message that somebody decided on a card just after the current reviewer."""
    now = " It is now in conflict." if decision.status is Status.CONFLICT else ""
    who = "You, in another window," if decision.reviewer_id == me else decision.reviewer
    return f"{who} also had {quoted(decision.text)} on screen and {did(decision)} after you.{now}"


def meanwhile(past: Iterable[PastDecision], seen: ShownCard, *, me: int, hidden: bool) -> str:
    """What others have decided on the card since it was drawn; empty if nobody has.

    Args:
        seen: the card as it was drawn.
        hidden: say who has decided, but not what.
    """
    others = [d for d in past if d.is_valid and d.version >= seen.version and d.reviewer_id != me]
    if not others:
        return ""
    if hidden:
        names = ", ".join(dict.fromkeys(d.reviewer for d in others))
        return f"Meanwhile, {names} decided on this variant."
    return f"Meanwhile, {'; '.join(f'{d.reviewer} {did(d)}' for d in others)}."


def also_there(holder: Holder, *, me: int) -> str:
    """The message that another window also shows the card."""
    if holder.reviewer_id == me:
        return "This card is also on screen in another of your windows."
    return f"{holder.name} also has this card on screen."


def disagreement(past: Iterable[PastDecision], status: Status) -> str:
    """The verdicts on a variant that is in conflict or settled.

    Args:
        past: all decisions on it.
        status: the variant's.
    """
    verdicts = " ".join(_sentence(d) for d in latest_of_each(past))
    if status != Status.CONFLICT:
        return f"Settled. {verdicts} Your decision settles it again."
    verdicts = verdicts or "The models' verdicts disagree."
    return f"In conflict. {verdicts} Your decision settles the conflict."


def _sentence(decision: PastDecision) -> str:
    """Who decided what, with the note."""
    text = f"{decision.reviewer} {did(decision)}"
    if decision.note:
        text += f": “{decision.note}”"
    return _ended(text)


def done(what: str, text: str) -> str:
    """What a key press did, with the text of the variant: 'Accepted: “The nurse checks.”'."""
    return _ended(f"{what}: {quoted(text)}")


def _ended(text: str) -> str:
    return text if text.endswith((".”", "?”", "!”", "…”")) else f"{text}."


def flags_of(session: Session, variant_id: int) -> str:
    """The flags of a variant, in words; empty if there are none."""
    flags = stored_flags(session, session.get_one(Variant, variant_id))
    return f"Flagged: {flags.label}." if flags else ""
