"""Preview of saving a text for its writer: nothing is stored or raised."""

from collections.abc import Callable
from dataclasses import dataclass

from sqlalchemy.orm import Session

from curation.variants.cue_choice import CueWanted
from curation.variants.draft_checks import Draft, check_edit, check_own
from curation.variants.own import AlreadyThere
from curation.variants.save_questions import Concern
from db.errors import HedgerowError

CUE = "cue"
"""The kind of question that asks for the hedge cue."""


@dataclass(frozen=True)
class Look:
    """The preview of saving.

    Attributes:
        refusal: why it would be refused; '' where it would not.
        there: the variant that is in the way, if one is.
        proposed: what the field for the cue can begin with; None where no cue is asked for.
        remark: what saving decides by itself, in a sentence.
        cue: the cue that would be stored.
    """

    concerns: tuple[Concern, ...] = ()
    refusal: str = ""
    there: int | None = None
    proposed: str | None = None
    remark: str = ""
    cue: str | None = None

    @property
    def kinds(self) -> frozenset[str]:
        """What to ask about before saving."""
        asks_cue = frozenset() if self.proposed is None else frozenset({CUE})
        return asks_cue | {concern.kind for concern in self.concerns}


def look_at_edit(
    session: Session,
    variant_id: int,
    *,
    text: str | None = None,
    type_id: str | None = None,
    cue: str | None = None,
) -> Look:
    """What saving an edit of the variant would do."""
    return _look(lambda: check_edit(session, variant_id, text=text, type_id=type_id, cue=cue))


def look_at_own(
    session: Session, anchor_id: int, *, type_id: str, text: str, cue: str | None = None
) -> Look:
    """What saving a further variant of the anchor would do."""
    return _look(lambda: check_own(session, anchor_id, type_id=type_id, text=text, cue=cue))


def _look(check: Callable[[], Draft]) -> Look:
    try:
        draft = check()
    except CueWanted as wanted:
        return Look(wanted.concerns, str(wanted), proposed=wanted.proposed)
    except AlreadyThere as there:
        return Look(refusal=str(there), there=there.variant_id)
    except HedgerowError as error:
        return Look(refusal=str(error))
    return Look(draft.concerns, remark=draft.remark, cue=draft.cue)
