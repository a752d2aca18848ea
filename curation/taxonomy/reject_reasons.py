"""The reasons for rejecting a variant, with their keys and the roles that each applies to."""

from __future__ import annotations

from pydantic import BaseModel, ConfigDict, Field

from curation.taxonomy.built_in import VariantType
from curation.taxonomy.surface_check import ROLES, Role
from db.errors import HedgerowError


class RejectReason(BaseModel):
    """A reason for rejecting a variant.

    `digit` is its key on the review page, and `roles` are the roles of types that it applies to.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    id: str
    label: str
    explanation: str
    digit: str = Field(pattern=r"^[0-9]$")
    roles: tuple[Role, ...] = tuple(ROLES)

    def applies_to(self, entry: VariantType) -> bool:
        """Whether the reason applies to variants of this type."""
        return entry.role in self.roles


REJECT_REASONS: tuple[RejectReason, ...] = (
    RejectReason(
        digit="1",
        id="wrong_type",
        label="Wrong type",
        explanation="A good sentence, but of a different type than requested.",
    ),
    RejectReason(
        digit="2",
        id="not_contradictory",
        label="Not contradictory",
        roles=("negation",),
        explanation="It should contradict the anchor, but both can be true.",
    ),
    RejectReason(
        digit="3",
        id="meaning_changed",
        label="Meaning changed",
        explanation="It differs from the anchor in more than the requested change.",
    ),
    RejectReason(
        digit="4",
        id="wrong_scope",
        label="Wrong scope",
        explanation=(
            "The negation or hedge applies to a part of the sentence other than the main claim."
        ),
    ),
    RejectReason(
        digit="5",
        id="double_negation",
        label="Double negation",
        explanation="Two negations cancel out, or there are too many to follow.",
    ),
    RejectReason(
        digit="6",
        id="content_dropped",
        label="Content dropped",
        explanation="Part of what the anchor says is missing.",
    ),
    RejectReason(
        digit="7",
        id="ungrammatical",
        label="Ungrammatical",
        explanation="Not a sentence that a careful writer would write.",
    ),
    RejectReason(
        digit="8",
        id="not_a_hedge",
        label="Not a hedge",
        roles=("hedge",),
        explanation=("The claim is as firm as before or firmer, or the cue has a different sense."),
    ),
    RejectReason(
        digit="9",
        id="anchor_unsuitable",
        label="Anchor unsuitable",
        explanation="The anchor is not a plain affirmative claim: negated, hedged or disputed.",
    ),
    RejectReason(
        digit="0", id="other", label="Other", explanation="Something else; explain it in the note."
    ),
)

_REASONS = {reason.id: reason for reason in REJECT_REASONS}


def reject_reason(reason_id: str) -> RejectReason:
    """Return the reject reason with this id.

    Raises:
        HedgerowError: there is no such reason.
    """
    try:
        return _REASONS[reason_id]
    except KeyError:
        raise HedgerowError(
            f"Expected a reject reason ({', '.join(_REASONS)}), but found {reason_id!r}."
        ) from None


def check_note(reason: RejectReason, note: str) -> None:
    """Check that a rejection for the reason 'other' has a note.

    Raises:
        HedgerowError: the note is missing.
    """
    if reason.id == "other" and not note.strip():
        raise HedgerowError("The reason 'other' needs a note that states the reason; add one.")


def applicable_reason(reason_id: str, entry: VariantType) -> RejectReason:
    """Return the reject reason with this id if it applies to variants of the type.

    Raises:
        HedgerowError: there is no such reason, or it applies to types with other roles.
    """
    reason = reject_reason(reason_id)
    if not reason.applies_to(entry):
        meant = " and ".join(ROLES[role].name.lower() for role in reason.roles)
        raise HedgerowError(
            f"The reason '{reason.label}' is for {meant}, and '{entry.label}' is one of the"
            f" {ROLES[entry.role].name.lower()}; choose another reason."
        )
    return reason
