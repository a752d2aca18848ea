"""Preview of saving a text for its writer: nothing is stored or raised."""

from collections.abc import Callable, Collection
from dataclasses import dataclass

from sqlalchemy.orm import Session

from curation.diagnostics.measures import Flag, measure, same_words
from curation.diagnostics.pair_analysis import PairAnalysis
from curation.diagnostics.surface import quoted, surface_problems
from curation.editing.cues import Concern, CueWanted
from curation.editing.own_variants import AlreadyThere, Own, plan_own
from curation.editing.variants import Edit, current_text, plan_edit
from curation.project.settings import THRESHOLD, get_setting
from curation.review.cards import family
from curation.taxonomy.project_types import all_types
from db.errors import HedgerowError
from db.models import Anchor, Status, Variant

# -- Check a text that a person is writing before it is stored ------------------------------------


TWIN = "twin"
"""The kind of the concern that the edit equals another variant of the anchor."""


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


def check_edit(
    session: Session,
    variant_id: int,
    *,
    text: str | None = None,
    type_id: str | None = None,
    cue: str | None = None,
) -> SavePreview:
    """Check the result of ``edits.edit`` without storing it.

    Raises:
        CueWanted: as ``edits.edit``, with the concerns that do not depend on the cue.
        HedgerowError: as ``edits.edit``.
    """
    original = session.get_one(Variant, variant_id)
    try:
        planned = plan_edit(session, original, text=text, type_id=type_id, cue=cue)
    except CueWanted as wanted:
        if text is not None and text != original.text:
            wanted.concerns = _twins(session, original.anchor_id, text, leave_out={original.id})
        raise
    known = planned.known
    anchor = session.get_one(Anchor, original.anchor_id)
    gone = {original.id, known.id if known else None}
    found = _concerns(session, anchor, planned, leave_out=gone)
    is_former_edit = known is not None and known.parent_id == original.id
    if known is not None and known.id != original.id and not is_former_edit:
        twin = Concern(
            TWIN,
            f"The anchor already has a '{planned.entry.label}' with this text. Saving accepts "
            "that variant instead of this one.",
            known.id,
        )
        return SavePreview((twin, *found), cue=planned.cue)
    return SavePreview(found, remark=planned.remark, cue=planned.cue)


def check_own(
    session: Session, anchor_id: int, *, type_id: str, text: str, cue: str | None = None
) -> SavePreview:
    """Check the result of ``own.write_variant`` without storing it.

    Raises:
        CueWanted: as ``own.write_variant``, with the concerns that do not depend on the cue.
        HedgerowError: as ``own.write_variant``.
    """
    anchor = session.get_one(Anchor, anchor_id)
    try:
        own = plan_own(session, anchor, type_id=type_id, text=text, cue=cue)
    except CueWanted as wanted:
        wanted.concerns = _twins(session, anchor_id, text, leave_out=())
        raise
    found = _concerns(session, anchor, own, leave_out=())
    return SavePreview(found, remark=own.remark, cue=own.cue)


def _concerns(
    session: Session, anchor: Anchor, planned: Edit | Own, *, leave_out: Collection[int | None]
) -> tuple[Concern, ...]:
    wording, text, check = current_text(session, anchor), planned.text, planned.entry.surface_check
    siblings = _siblings(session, anchor.id, leave_out=leave_out)
    threshold = int(get_setting(session, THRESHOLD))
    found = measure(
        anchor=wording,
        text=text,
        cue=planned.cue,
        check=check,
        siblings=[sibling.text for sibling in siblings],
        threshold=threshold,
    )
    comparison = PairAnalysis(anchor=wording, text=text)
    sentences = {
        Flag.UNCHANGED: "It has the same words as the anchor.",
        Flag.OVER_THRESHOLD: (
            f"{found.levenshtein} characters differ from the anchor; the threshold is {threshold}."
        ),
        Flag.WRONG_SURFACE: " ".join(surface_problems(check, comparison, cue=planned.cue)),
        Flag.CONTENT_DROPPED: (
            f"Content words of the anchor are missing: {quoted(comparison.lost)}."
        ),
        Flag.FLAT_HEDGE: Flag.FLAT_HEDGE.explanation,
        Flag.REPORTS_OTHERS: Flag.REPORTS_OTHERS.explanation,
    }
    concerns = [
        Concern(flag.name or "", sentence)
        for flag, sentence in sentences.items()
        if flag in found.flags
    ]
    return (*concerns, *_twins(session, anchor.id, text, leave_out=leave_out))


def _siblings(
    session: Session, anchor_id: int, *, leave_out: Collection[int | None]
) -> list[Variant]:
    return [
        item.variant
        for item in family(session, anchor_id)
        if item.variant.status != Status.SUPERSEDED and item.variant.id not in leave_out
    ]


def _twins(
    session: Session, anchor_id: int, text: str, *, leave_out: Collection[int | None]
) -> tuple[Concern, ...]:
    """The anchor's other variants with the same words."""
    types = all_types(session)
    return tuple(
        Concern(
            Flag.SAME_AS_SIBLING.name or "",
            f"It has the same words as the anchor's variant '{types[sibling.type_id].label}': "
            f"{sibling.text}",
            sibling.id,
        )
        for sibling in _siblings(session, anchor_id, leave_out=leave_out)
        if same_words(text, sibling.text)
    )


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


def _preview(check: Callable[[], SavePreview]) -> SavePreview:
    try:
        return check()
    except CueWanted as wanted:
        return SavePreview(wanted.concerns, str(wanted), proposed=wanted.proposed)
    except AlreadyThere as there:
        return SavePreview(refusal=str(there), there=there.variant_id)
    except HedgerowError as error:
        return SavePreview(refusal=str(error))
