"""Stores the families of a file: anchors, variants and verdicts."""

import uuid
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from sqlalchemy import select
from sqlalchemy.exc import IntegrityError
from sqlalchemy.orm import Session
from sqlmodel import col

from curation.decisions.reviewers import ensure_reviewer
from curation.decisions.storing import RULE, bulk_store_decisions
from curation.decisions.variant_rows import ids_by_uid, imported_row
from curation.editing.own_types import ORIGINAL_TYPES, ensure_types
from curation.importing.anchor_rows import NewAnchor, ensure_source, insert_anchors
from curation.importing.cells import OTHER, Judged
from curation.importing.staged import Family
from curation.importing.variant_choices import Choices
from curation.importing.variant_plan import Judge, NewVariant, NewVerdict, Plan, make_plan
from curation.taxonomy.built_in import VariantType
from curation.taxonomy.project_types import all_types
from curation.taxonomy.reject_reasons import reject_reason
from db.engine import insert_new, know_new_rows
from db.errors import HedgerowError
from db.models import ReviewerKind, Variant, Verdict


class Import(NamedTuple):
    """The facts that all families of an import share.

    Attributes:
        run_id: the import's run.
        file: the file's name.
        content_hash: the file's hash.
        actions: the basis for the ids of its actions. There is one action per reviewer, even if the
            run is resumed, so that one undo takes back all verdicts of a reviewer.
        author_id: the signed-in person who imports, if any.
    """

    run_id: int
    file: str
    content_hash: str
    actions: str
    author_id: int | None = None


def store_families(
    session: Session, families: Sequence[Family], choices: Choices, into: Import
) -> Plan:
    """Add what the project lacks of these families, in the session's transaction, and return it.

    Raises:
        HedgerowError: somebody else has just added one of the anchors.
    """
    plan = make_plan(session, families, choices, lock=True)
    types = {one.type_id for one in plan.variants.values()}
    ensure_types(session, [one for one in ORIGINAL_TYPES if one in types])
    try:
        _add(session, plan, choices, into)
    except IntegrityError as error:
        raise HedgerowError(
            "Somebody else added one of these anchors at the same time; resume the import."
        ) from error
    return plan


def _add(session: Session, plan: Plan, choices: Choices, into: Import) -> None:
    places = _add_anchors(session, plan, choices, into)
    rows = [_variant_row(one, places, into) for one in plan.variants.values()]
    versions = dict.fromkeys(plan.variants, 1)
    ids: dict[str, int] = {}
    if rows:
        insert_new(session, Variant, rows)
        know_new_rows(session, Variant)
        ids = ids_by_uid(session, plan.variants)
    for uid, there in plan.here.items():
        ids[uid], versions[uid] = there.id, there.version
    if plan.verdicts:
        _add_verdicts(session, plan, ids, versions, into)


class _Place(NamedTuple):
    """The attributes of a new anchor that its variants need."""

    anchor_id: int
    source_id: int


def _add_anchors(session: Session, plan: Plan, choices: Choices, into: Import) -> dict[str, _Place]:
    """Add the anchors; return the attributes that their variants need, by uid."""
    about = choices.about
    sources: dict[str, int] = {}
    anchors: list[NewAnchor] = []
    for one in plan.anchors.values():
        name = one.source or about.source
        if name not in sources:
            licence = one.licence if one.source else (about.licence or "")
            sources[name] = ensure_source(session, name, licence, content_hash=into.content_hash)
        own = one.own
        described = own.genre or about.genre, own.language or about.language, plan.splits[one.uid]
        place = own.document_id, own.row_id
        anchors.append(NewAnchor(one.uid, sources[name], *described, *place, one.text))
    ids = insert_anchors(session, anchors, author_id=into.author_id) if anchors else ()
    return {
        anchor.uid: _Place(id_, anchor.source_id) for id_, anchor in zip(ids, anchors, strict=True)
    }


def _variant_row(one: NewVariant, places: Mapping[str, _Place], into: Import) -> dict[str, Any]:
    if one.here is not None:
        anchor_id, revision, source_id = one.here.id, one.here.revision, one.here.source_id
    else:
        (anchor_id, source_id), revision = places[one.anchor], 1
    return imported_row(
        one.uid,
        anchor_id=anchor_id,
        anchor_revision=revision,
        source_id=source_id,
        type_id=one.type_id,
        text=one.variant.text,
        cue=one.variant.cue,
        run_id=into.run_id,
        file=into.file,
        provider=one.variant.provider,
        model=one.variant.model,
    )


def _add_verdicts(
    session: Session,
    plan: Plan,
    ids: Mapping[str, int],
    versions: Mapping[str, int],
    into: Import,
) -> None:
    types = all_types(session)
    reviewers = {
        judge: _reviewer_id(session, judge)
        for judge in dict.fromkeys(one.judge for one in plan.verdicts.values())
    }
    of_variant = _types_of(session, plan, ids)
    rows: dict[tuple[int, int], dict[str, Any]] = {}
    for one in plan.verdicts.values():
        reviewer_id, variant_id = reviewers[one.judge], ids[one.variant]
        reason, note = _reason_and_note(one, types[of_variant[variant_id]], into.file)
        rows[variant_id, reviewer_id] = {
            "variant_id": variant_id,
            "variant_version": versions[one.variant],
            "reviewer_id": reviewer_id,
            "verdict": one.judged.verdict,
            "reason": reason,
            "note": note,
            "action_id": str(uuid.uuid5(uuid.UUID(into.actions), str(reviewer_id))),
        }
    bulk_store_decisions(session, list(rows.values()))


def _types_of(session: Session, plan: Plan, ids: Mapping[str, int]) -> dict[int, str]:
    """Return variant id → type id."""
    found = {ids[uid]: one.type_id for uid, one in plan.variants.items()}
    here = [there.id for there in plan.here.values()]
    query = select(col(Variant.id), col(Variant.type_id)).where(col(Variant.id).in_(here))
    return found | dict(session.execute(query).all())


def _reviewer_id(session: Session, judge: Judge) -> int:
    kind = ReviewerKind.PERSON if judge.is_person else ReviewerKind.MODEL
    return ensure_reviewer(session, judge.name, kind=kind).id


def _reason_and_note(one: NewVerdict, entry: VariantType, file: str) -> tuple[str, str]:
    """Return the reason of a verdict, if it applies to the type, and a note that names the import.

    If a rule accepted a variant, the note keeps the mark by which a release knows that nobody read
    it.
    """
    judged: Judged = one.judged
    reason, note = judged.reason, judged.note
    if judged.verdict is Verdict.REJECT and reason != OTHER:
        known = reject_reason(reason)
        if not known.applies_to(entry):
            reason, note = OTHER, f"{known.label}. {note}".strip()
    mark = f"{RULE}as imported from {file}." if one.by_rule else f"Imported from {file}."
    return reason, f"{mark} {note}".strip()
