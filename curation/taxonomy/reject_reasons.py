"""Why a reviewer turns a variant down: the reasons, their digits, and the roles each applies to."""

from __future__ import annotations

from pydantic import BaseModel, ConfigDict, Field

from curation.taxonomy.built_in import VariantType
from curation.taxonomy.roles import ROLES, Role
from db.errors import HedgerowError


class RejectReason(BaseModel):
    """Why a reviewer turns a variant down.

    `digit` is its key on the review page, `roles` are those of the types it can be said of.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    id: str
    label: str
    explanation: str
    digit: str = Field(pattern=r"^[0-9]$")
    roles: tuple[Role, ...] = tuple(ROLES)

    def applies_to(self, entry: VariantType) -> bool:
        """Whether it can be said of a variant of this type."""
        return entry.role in self.roles


REJECT_REASONS: tuple[RejectReason, ...] = (
    RejectReason(
        digit="1",
        id="wrong_type",
        label="Wrong type",
        explanation="A fair sentence, but of another type than asked.",
    ),
    RejectReason(
        digit="2",
        id="not_contradictory",
        label="Not contradictory",
        roles=("negation",),
        explanation="Asked to contradict the anchor, but both can be true together.",
    ),
    RejectReason(
        digit="3",
        id="meaning_changed",
        label="Meaning changed",
        explanation="Says something else than the anchor, beyond the change asked for.",
    ),
    RejectReason(
        digit="4",
        id="wrong_scope",
        label="Wrong scope",
        explanation=(
            "The negation or hedge falls on another part of the sentence than the main claim."
        ),
    ),
    RejectReason(
        digit="5",
        id="double_negation",
        label="Double negation",
        explanation="Two negations cancel out, or pile up beyond what can be read.",
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
        explanation="Not a sentence a careful writer would write.",
    ),
    RejectReason(
        digit="8",
        id="not_a_hedge",
        label="Not a hedge",
        roles=("hedge",),
        explanation=(
            "The claim stands as firm as before, or firmer; or the cue has another sense."
        ),
    ),
    RejectReason(
        digit="9",
        id="anchor_unsuitable",
        label="Anchor unsuitable",
        explanation="The anchor is not a plain affirmative claim: negated, hedged or disputed.",
    ),
    RejectReason(
        digit="0", id="other", label="Other", explanation="Something else; say what in the note."
    ),
)

_REASONS = {reason.id: reason for reason in REJECT_REASONS}


def reject_reason(reason_id: str) -> RejectReason:
    """Return the reject reason with this id.

    Raises:
        HedgerowError: if there is none.
    """
    try:
        return _REASONS[reason_id]
    except KeyError:
        raise HedgerowError(
            f"Expected a reject reason ({', '.join(_REASONS)}), but found {reason_id!r}."
        ) from None


def applicable_reason(reason_id: str, entry: VariantType) -> RejectReason:
    """Return the reject reason with this id, which must be one for variants of the type.

    Raises:
        HedgerowError: if there is none, or it is one for types of other roles.
    """
    reason = reject_reason(reason_id)
    if not reason.applies_to(entry):
        meant = " and ".join(ROLES[role].name.lower() for role in reason.roles)
        raise HedgerowError(
            f"The reason '{reason.label}' is for {meant}, and '{entry.label}' is one of the"
            f" {ROLES[entry.role].name.lower()}; choose another reason."
        )
    return reason
