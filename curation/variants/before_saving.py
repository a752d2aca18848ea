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
class SavePreview:
    """What saving a text would do.

    Attributes:
        refusal: why saving would be refused; '' if it would not.
        there: the id of an existing variant that prevents saving, if any.
        proposed: a suggestion for the cue field; None if no cue is needed.
        remark: a sentence about a choice that saving makes automatically.
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


def preview_edit(
    session: Session,
    variant_id: int,
    *,
    text: str | None = None,
    type_id: str | None = None,
    cue: str | None = None,
) -> SavePreview:
    """What saving an edit of the variant would do."""
    return _preview(lambda: check_edit(session, variant_id, text=text, type_id=type_id, cue=cue))


def preview_own(
    session: Session, anchor_id: int, *, type_id: str, text: str, cue: str | None = None
) -> SavePreview:
    """What saving another variant of the anchor would do."""
    return _preview(lambda: check_own(session, anchor_id, type_id=type_id, text=text, cue=cue))


def _preview(check: Callable[[], Draft]) -> SavePreview:
    try:
        draft = check()
    except CueWanted as wanted:
        return SavePreview(wanted.concerns, str(wanted), proposed=wanted.proposed)
    except AlreadyThere as there:
        return SavePreview(refusal=str(there), there=there.variant_id)
    except HedgerowError as error:
        return SavePreview(refusal=str(error))
    return SavePreview(draft.concerns, remark=draft.remark, cue=draft.cue)
