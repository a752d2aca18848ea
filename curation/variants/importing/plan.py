"""What a file that has been read would add to the project: the one rule for preview and storing."""

from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from sqlalchemy import func, select
from sqlalchemy.orm import Session
from sqlmodel import col

from curation.anchors.importing.nli_texts import KnownAnchor, known_anchors, newest_variant
from curation.anchors.importing.preview import count_wordings
from curation.content_uids import canonical, variant_uid
from curation.review.decisions import chunks
from curation.review.history import stands
from curation.review.people.reviewers import LABELS, get_reviewer, whose
from curation.taxonomy.project_types import all_types
from curation.variants.importing.cells import Judged
from curation.variants.importing.choices import Choices, check
from curation.variants.importing.entries import FileAnchor, FileVariant, FileVerdict, LeftOut
from curation.variants.importing.staged import Family, Staged, StagedVariant
from db.models import Anchor, AnchorRevision, Decision, Reviewer, Variant, Verdict

AT_ONCE = 500
"""Anchors that are looked at, or stored in one transaction, at a time."""


class Judge(NamedTuple):
    """Who a verdict is stored for: a person, or the model reviewer of data sets' own labels."""

    name: str
    is_person: bool = True


class NewVariant(NamedTuple):
    """A variant that the project lacks.

    Attributes:
        here: its anchor; None for one that is new, too.
        anchor: uid of the anchor's wording in the file.
    """

    uid: str
    anchor: str
    here: KnownAnchor | None
    type_id: str
    variant: FileVariant


class NewVerdict(NamedTuple):
    """A verdict that the project lacks.

    Attributes:
        variant: its uid.
        by_rule: a person applied a rule to many variants, and did not read them.
    """

    variant: str
    judge: Judge
    judged: Judged
    by_rule: bool


@dataclass
class Plan:
    """What some families of a file add.

    Attributes:
        here: variants of the file that are in the project, by uid: their ids and versions.
    """

    anchors: dict[str, FileAnchor] = field(default_factory=dict)
    variants: dict[str, NewVariant] = field(default_factory=dict)
    verdicts: dict[tuple[str, Judge], NewVerdict] = field(default_factory=dict)
    here: dict[str, tuple[int, int]] = field(default_factory=dict)
    left_out: Counter[str] = field(default_factory=Counter)


@dataclass(frozen=True)
class Preview:
    """What an import would add, and what it leaves out.

    Attributes:
        types: type id → variants.
        verdicts: (reviewer's name, verdict) → decisions.
        left_out: reason → rows, variants or verdicts.
        places: reason → where in the file the first one is, for reasons that the file gives.
    """

    anchors: int
    types: Mapping[str, int]
    verdicts: Mapping[tuple[str, Verdict], int]
    left_out: Mapping[LeftOut, int]
    places: Mapping[str, str]

    @property
    def variants(self) -> int:
        """All variants to add."""
        return sum(self.types.values())

    @property
    def decisions(self) -> int:
        """All verdicts to add."""
        return sum(self.verdicts.values())


def preview(session: Session, staged: Staged, choices: Choices) -> Preview:
    """What the import would add; nothing is written.

    Raises:
        HedgerowError: as ``check``.
    """
    check(session, staged, choices)
    anchors = 0
    types: Counter[str] = Counter()
    verdicts: Counter[tuple[str, Verdict]] = Counter()
    left_out = Counter(staged.facts.left_out)
    for families in staged.families(AT_ONCE):
        plan = make_plan(session, families, choices)
        anchors += len(plan.anchors)
        types.update(one.type_id for one in plan.variants.values())
        verdicts.update((one.judge.name, one.judged.verdict) for one in plan.verdicts.values())
        left_out += plan.left_out
    reasons = {reason: left_out[reason.value] for reason in LeftOut if left_out[reason.value]}
    order = list(all_types(session))
    ordered = {id_: types[id_] for id_ in sorted(types, key=lambda id_: _place(order, id_))}
    return Preview(anchors, ordered, dict(verdicts), reasons, staged.facts.places)


def project_state(session: Session) -> tuple[int, int, int]:
    """Something that changes with everything that a preview depends on."""
    newest_decision = session.execute(select(func.max(col(Decision.id)))).scalar() or 0
    return count_wordings(session), newest_variant(session), newest_decision


def _place(order: Sequence[str], type_id: str) -> int:
    return order.index(type_id) if type_id in order else len(order)


def make_plan(
    session: Session, families: Sequence[Family], choices: Choices, *, lock: bool = False
) -> Plan:
    """What these families add.

    Args:
        lock: let none of their anchors be retired or corrected before this transaction ends.
    """
    plan = Plan()
    uids = [family.anchor.uid for family in families]
    known = known_anchors(session, uids, lock=lock)
    unusable = _unusable(session, [uid for uid in uids if uid not in known])
    wanted: dict[str, tuple[FileAnchor, NewVariant, list[FileVerdict]]] = {}
    for family in families:
        anchor, here = family.anchor, known.get(family.anchor.uid)
        if (reason := unusable.get(anchor.uid)) is not None:
            plan.left_out[reason] += len(family.variants)
            continue
        for one in family.variants:
            type_id = one.type_id or choices.undecided.get(one.role, "")
            if not type_id:
                plan.left_out[LeftOut.UNDECIDED] += 1
                continue
            new = _new_variant(anchor, here, type_id, one)
            wanted.setdefault(new.uid, (anchor, new, []))[2].extend(one.verdicts)
    plan.here = _variants_here(session, wanted)
    for uid, (anchor, new, verdicts) in wanted.items():
        _plan_variant(plan, anchor, new, verdicts, choices)
        if uid in plan.here or uid in plan.variants:
            _plan_verdicts(plan, uid, verdicts, choices)
    _leave_out_known(session, plan)
    return plan


def _new_variant(
    anchor: FileAnchor, here: KnownAnchor | None, type_id: str, one: StagedVariant
) -> NewVariant:
    own = here.uid if here is not None else anchor.uid
    uid = variant_uid(anchor_uid=own, type_id=type_id, text=one.variant.text)
    return NewVariant(uid, anchor.uid, here, type_id, one.variant)


def _plan_variant(
    plan: Plan,
    anchor: FileAnchor,
    new: NewVariant,
    verdicts: Sequence[FileVerdict],
    choices: Choices,
) -> None:
    if new.uid in plan.here:
        if not verdicts:
            plan.left_out[LeftOut.THERE] += 1
        return
    source = anchor.source or choices.about.source
    if new.here is None:
        plan.anchors[anchor.uid] = anchor
    elif new.here.source != source:
        # A release would give the texts the licence of that source.
        plan.left_out[LeftOut.OTHER_SOURCE] += 1
        return
    plan.variants[new.uid] = new


def _plan_verdicts(plan: Plan, uid: str, verdicts: Sequence[FileVerdict], choices: Choices) -> None:
    labels = Judge(LABELS, is_person=False)
    if not verdicts and choices.accept and uid in plan.variants:
        accepted = Judged(Verdict.ACCEPT)
        plan.verdicts[uid, labels] = NewVerdict(uid, labels, accepted, by_rule=False)
    for one in verdicts:
        judge = labels if one.by == "model" else Judge(canonical(one.reviewer or choices.reviewer))
        plan.verdicts[uid, judge] = NewVerdict(uid, judge, one.judged, one.by == "rule")


def _unusable(session: Session, uids: Collection[str]) -> dict[str, LeftOut]:
    """The wordings among these that are no current ones of anchors in use, but were."""
    found: dict[str, LeftOut] = {}
    for some in chunks(uids):
        query = (
            select(col(AnchorRevision.text_uid), col(Anchor.retired_at).is_not(None))
            .join(Anchor, col(Anchor.id) == col(AnchorRevision.anchor_id))
            .where(col(AnchorRevision.text_uid).in_(some))
        )
        for uid, is_retired in session.execute(query):
            found[uid] = LeftOut.RETIRED if is_retired else LeftOut.EARLIER_WORDING
    return found


def _variants_here(session: Session, uids: Iterable[str]) -> dict[str, tuple[int, int]]:
    found: dict[str, tuple[int, int]] = {}
    for some in chunks(uids):
        query = select(col(Variant.uid), col(Variant.id), col(Variant.version))
        for uid, id_, version in session.execute(query.where(col(Variant.uid).in_(some))):
            found[uid] = (id_, version)
    return found


def _leave_out_known(session: Session, plan: Plan) -> None:
    """Leave out the verdicts that their reviewers have given here, and not taken back."""
    on_known = [one for one in plan.verdicts.values() if one.variant in plan.here]
    ids: dict[Judge, int] = {}
    for judge in {one.judge for one in on_known}:
        if (reviewer := get_reviewer(session, judge.name)) is not None:
            ids[judge] = reviewer.id
    given = _given(session, [plan.here[one.variant][0] for one in on_known])
    for one in on_known:
        key = (plan.here[one.variant][0], ids.get(one.judge, 0), one.judged.verdict)
        if key in given:
            del plan.verdicts[one.variant, one.judge]
            plan.left_out[LeftOut.VERDICT_THERE] += 1


def _given(session: Session, variant_ids: Iterable[int]) -> set[tuple[int, int, Verdict]]:
    """(variant, reviewer, verdict) of what stands on these variants, also before a later verdict of
    the same reviewer."""
    found: set[tuple[int, int, Verdict]] = set()
    for some in chunks(variant_ids):
        query = (
            select(col(Decision.variant_id), whose(), col(Decision.verdict))
            .join(Reviewer, col(Reviewer.id) == col(Decision.reviewer_id))
            .where(col(Decision.variant_id).in_(some), stands())
        )
        found.update((row[0], row[1], row[2]) for row in session.execute(query))
    return found
