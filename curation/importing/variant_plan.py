"""What a file adds to the project: the same rules for the preview and for storing."""

from collections import Counter, defaultdict
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from sqlalchemy import select
from sqlalchemy.orm import Session
from sqlmodel import col

from curation.content_uids import canonical, variant_uid
from curation.decisions.history import not_retracted
from curation.decisions.reviewers import LABELS, get_reviewer, person_id_now
from curation.decisions.storing import rows_with
from curation.editing.attributes import moved, splits
from curation.importing.cells import Judged
from curation.importing.originals import KnownAnchor, known_anchors
from curation.importing.staged import Family, Place, StagedVariant, StagedVerdict
from curation.importing.variant_choices import Choices
from curation.importing.variant_entries import FileAnchor, FileVariant, LeftOut
from db.models import Anchor, AnchorRevision, Decision, Reviewer, Source, Status, Variant, Verdict

AT_ONCE = 500
"""Anchors to check, or to store in one transaction, at a time."""


class Judge(NamedTuple):
    """The reviewer of a verdict: a person, or the model reviewer for data sets' own labels."""

    name: str
    is_person: bool = True


class NewVariant(NamedTuple):
    """A variant that the project does not have.

    Attributes:
        here: its anchor; None if that is new too.
        anchor: uid of the anchor text in the file.
    """

    uid: str
    anchor: str
    here: KnownAnchor | None
    type_id: str
    variant: FileVariant


class NewVerdict(NamedTuple):
    """A verdict that the project does not have.

    Attributes:
        variant: the variant's uid.
        by_rule: a person applied a rule to many variants without reading them.
        place: its position in the file; None if it is not from the file.
    """

    variant: str
    judge: Judge
    judged: Judged
    by_rule: bool
    place: Place | None


class VariantHere(NamedTuple):
    """A variant in the file that the project already has."""

    id: int
    version: int
    status: Status


@dataclass
class Elsewhere:
    """Variants that are left out because their anchors belong to another source in this project.

    Attributes:
        anchor: the first of these anchors.
        place: its position in the file.
    """

    variants: int
    anchor: str
    place: Place


Key = tuple[str, str, str]
"""Identifies a variant in the file: its anchor's uid, its kind and its text."""


@dataclass
class Plan:
    """What some families of a file add.

    Attributes:
        here: existing variants by uid.
        left_out: reason → number of variants or verdicts.
        places: reason → position of the first of these in the file.
        elsewhere: variants left out, by the name of the other source.
        splits: the split of each new anchor, by uid.
        moved: the number of new anchors that are in another split than the file says.
        uids: uids of the variants in the file whose type is known.
        reasons: why variants in the file are not new.
    """

    anchors: dict[str, FileAnchor] = field(default_factory=dict)
    variants: dict[str, NewVariant] = field(default_factory=dict)
    verdicts: dict[tuple[str, Judge], NewVerdict] = field(default_factory=dict)
    here: dict[str, VariantHere] = field(default_factory=dict)
    left_out: Counter[LeftOut] = field(default_factory=Counter)
    places: dict[LeftOut, Place] = field(default_factory=dict)
    elsewhere: dict[str, Elsewhere] = field(default_factory=dict)
    splits: dict[str, str] = field(default_factory=dict)
    moved: int = 0
    uids: dict[Key, str] = field(default_factory=dict)
    reasons: dict[Key, LeftOut] = field(default_factory=dict)

    def count(self, reason: LeftOut, place: Place) -> None:
        """Count something that is left out."""
        self.left_out[reason] += 1
        self.places[reason] = min(place, self.places.get(reason, place))


class _Wanted(NamedTuple):
    """A variant that the project should have after the import, and its position in the file."""

    anchor: FileAnchor
    new: NewVariant
    ones: list[StagedVariant]

    @property
    def place(self) -> Place:
        return min(one.place for one in self.ones)

    def verdicts(self) -> list[StagedVerdict]:
        return [verdict for one in self.ones for verdict in one.verdicts]

    def mark(self, plan: Plan, reason: LeftOut) -> None:
        for one in self.ones:
            plan.reasons[key_of(self.anchor, one)] = reason


def key_of(anchor: FileAnchor, one: StagedVariant) -> Key:
    """Return the key that identifies a variant of a file in a plan."""
    return anchor.uid, one.variant.kind, one.variant.text


def make_plan(
    session: Session,
    families: Sequence[Family],
    choices: Choices,
    *,
    documents: dict[str, dict[str, str]] | None = None,
    lock: bool = False,
) -> Plan:
    """Find out what these families add.

    Args:
        documents: source → document → split, of earlier parts of the file that are not stored.
        lock: prevent their anchors from being retired or corrected until this transaction ends.
    """
    plan = Plan()
    uids = [family.anchor.uid for family in families]
    known = known_anchors(session, uids, lock=lock)
    unusable = _unusable(session, [uid for uid in uids if uid not in known])
    wanted: dict[str, _Wanted] = {}
    for family in families:
        anchor, here = family.anchor, known.get(family.anchor.uid)
        for one in family.variants:
            type_id = one.type_id or choices.undecided.get(one.role, "")
            reason = unusable.get(anchor.uid, None if type_id else LeftOut.UNDECIDED)
            if reason is not None:
                plan.count(reason, one.place)
                plan.reasons[key_of(anchor, one)] = reason
                continue
            new = _new_variant(anchor, here, type_id, one)
            wanted.setdefault(new.uid, _Wanted(anchor, new, [])).ones.append(one)
            plan.uids[key_of(anchor, one)] = new.uid
    plan.here = _variants_here(session, wanted)
    for uid, each in wanted.items():
        _plan_variant(plan, each, choices)
        if uid in plan.here or uid in plan.variants:
            _plan_verdicts(plan, uid, each.verdicts(), choices)
    _leave_out_known(session, plan)
    _set_splits(session, plan, choices, {} if documents is None else documents)
    return plan


def _set_splits(
    session: Session, plan: Plan, choices: Choices, documents: dict[str, dict[str, str]]
) -> None:
    of_source: dict[str, list[FileAnchor]] = defaultdict(list)
    for anchor in plan.anchors.values():
        of_source[anchor.source or choices.about.source].append(anchor)
    for source, anchors in of_source.items():
        query = select(col(Source.id)).where(col(Source.name) == source)
        own = [(anchor.uid, anchor.own) for anchor in anchors]
        known = documents.setdefault(source, {})
        found = splits(session, session.execute(query).scalar(), own, known)
        plan.splits |= {anchor.uid: split for anchor, split in zip(anchors, found, strict=True)}
        plan.moved += moved(own, found)


def _new_variant(
    anchor: FileAnchor, here: KnownAnchor | None, type_id: str, one: StagedVariant
) -> NewVariant:
    own = here.uid if here is not None else anchor.uid
    uid = variant_uid(anchor_uid=own, type_id=type_id, text=one.variant.text)
    return NewVariant(uid, anchor.uid, here, type_id, one.variant)


def _plan_variant(plan: Plan, wanted: _Wanted, choices: Choices) -> None:
    anchor, new = wanted.anchor, wanted.new
    source = anchor.source or choices.about.source
    if new.uid in plan.here:
        wanted.mark(plan, LeftOut.THERE)
        if not wanted.verdicts():
            plan.count(LeftOut.THERE, wanted.place)
        return
    if new.here is None:
        plan.anchors[anchor.uid] = anchor
    elif new.here.source != source:
        # A release would give the texts the other source's licence.
        wanted.mark(plan, LeftOut.OTHER_SOURCE)
        plan.count(LeftOut.OTHER_SOURCE, wanted.place)
        first = Elsewhere(0, anchor.text, wanted.place)
        plan.elsewhere.setdefault(new.here.source, first).variants += 1
        return
    plan.variants[new.uid] = new


def _plan_verdicts(
    plan: Plan, uid: str, verdicts: Sequence[StagedVerdict], choices: Choices
) -> None:
    labels = Judge(LABELS, is_person=False)
    if not verdicts and choices.accept and uid in plan.variants:
        accepted = Judged(Verdict.ACCEPT)
        plan.verdicts[uid, labels] = NewVerdict(uid, labels, accepted, False, None)
    here = plan.here.get(uid)
    for one in verdicts:
        if one.by == "model" and here is not None and here.status is Status.ACCEPTED:
            plan.count(LeftOut.VERDICT_THERE, one.place)  # one more model changes nothing
            continue
        judge = labels if one.by == "model" else Judge(canonical(one.reviewer or choices.reviewer))
        by_rule = one.by == "rule"
        plan.verdicts[uid, judge] = NewVerdict(uid, judge, one.judged, by_rule, one.place)


def _unusable(session: Session, uids: Collection[str]) -> dict[str, LeftOut]:
    """Return uid → why it gets no variants: a retired anchor, or only an earlier text."""
    query = select(col(AnchorRevision.text_uid), col(Anchor.retired_at).is_not(None)).join(
        Anchor, col(Anchor.id) == col(AnchorRevision.anchor_id)
    )
    return {
        uid: LeftOut.RETIRED if is_retired else LeftOut.EARLIER_REVISION
        for uid, is_retired in rows_with(session, query, col(AnchorRevision.text_uid), uids)
    }


def _variants_here(session: Session, uids: Iterable[str]) -> dict[str, VariantHere]:
    query = select(col(Variant.uid), col(Variant.id), col(Variant.version), col(Variant.status))
    found = rows_with(session, query, col(Variant.uid), uids)
    return {uid: VariantHere(id_, version, status) for uid, id_, version, status in found}


def _leave_out_known(session: Session, plan: Plan) -> None:
    """Leave out verdicts that their reviewers have already given here and not retracted."""
    on_known = [one for one in plan.verdicts.values() if one.variant in plan.here]
    ids: dict[Judge, int] = {}
    for judge in {one.judge for one in on_known}:
        if (reviewer := get_reviewer(session, judge.name)) is not None:
            ids[judge] = reviewer.id
    given = _given(session, [plan.here[one.variant].id for one in on_known])
    for one in on_known:
        key = (plan.here[one.variant].id, ids.get(one.judge, 0), one.judged.verdict)
        if key in given:
            del plan.verdicts[one.variant, one.judge]
            if one.place is not None:
                plan.count(LeftOut.VERDICT_THERE, one.place)


def _given(session: Session, variant_ids: Iterable[int]) -> set[tuple[int, int, Verdict]]:
    """Return (variant, reviewer, verdict) for all verdicts on these variants that are not
    retracted.

    This includes verdicts before a later one by the same reviewer.
    """
    query = (
        select(col(Decision.variant_id), person_id_now(), col(Decision.verdict))
        .join(Reviewer, col(Reviewer.id) == col(Decision.reviewer_id))
        .where(not_retracted())
    )
    found = rows_with(session, query, col(Decision.variant_id), variant_ids)
    return {(variant_id, person, verdict) for variant_id, person, verdict in found}
