"""Preview of an import before anything is stored."""

from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from sqlalchemy import func, select
from sqlalchemy.orm import Session
from sqlmodel import col

from curation.content_uids import Change
from curation.formatting import counted
from curation.importing.anchor_preview import count_revisions
from curation.importing.originals import newest_variant
from curation.importing.staged import Family, Place, Staged, StagedVariant
from curation.importing.variant_choices import Choices, check
from curation.importing.variant_entries import LABELS, FileVariant, LeftOut
from curation.importing.variant_plan import AT_ONCE, Elsewhere, Plan, key_of, make_plan
from curation.taxonomy.project_types import all_types
from db.models import Decision, Status, Verdict

EXAMPLES = 8
"""Maximum anchors whose variants are shown: this many with something new, and as many without."""


class Example(NamedTuple):
    """A variant in the file.

    Attributes:
        type_id: '' if its words don't show it and nobody chose one.
        reason: why it is not new; None for a new one.
        verdicts: its new verdicts.
    """

    anchor: str
    type_id: str
    variant: FileVariant
    reason: LeftOut | None
    verdicts: tuple[Verdict, ...]

    @property
    def brings(self) -> bool:
        """Whether anything about it is imported."""
        return self.reason is None or bool(self.verdicts)


@dataclass(frozen=True)
class Preview:
    """What an import would add, and what it leaves out.

    Attributes:
        types: type id → number of variants.
        verdicts: (reviewer's name, verdict) → number of decisions.
        left_out: reason → number of rows, variants or verdicts.
        places: reason → position of the first of these in the file.
        elsewhere: source → variants left out because their anchors belong to it.
        against: (verdict, status) → number of people's verdicts on variants with another status
            here.
        examples: some variants, in the file's order.
        changed: what the canonical form changes, and in how many texts of the file.
        moved: the number of anchors that are in another split than the file says.
    """

    anchors: int
    types: Mapping[str, int]
    verdicts: Mapping[tuple[str, Verdict], int]
    left_out: Mapping[LeftOut, int]
    places: Mapping[str, str]
    elsewhere: Mapping[str, Elsewhere]
    against: Mapping[tuple[Verdict, Status], int]
    examples: Sequence[Example]
    changed: Mapping[Change, int]
    moved: int

    @property
    def variants(self) -> int:
        """The number of variants to add."""
        return sum(self.types.values())

    @property
    def decisions(self) -> int:
        """The number of verdicts to add."""
        return sum(self.verdicts.values())


@dataclass
class Counts:
    """The sum of the plans for successive parts of the file."""

    anchors: int = 0
    types: Counter[str] = field(default_factory=Counter)
    verdicts: Counter[tuple[str, Verdict]] = field(default_factory=Counter)
    left_out: Counter[str] = field(default_factory=Counter)
    places: dict[LeftOut, Place] = field(default_factory=dict)
    elsewhere: dict[str, Elsewhere] = field(default_factory=dict)
    moved: int = 0
    against: Counter[tuple[Verdict, Status]] = field(default_factory=Counter)

    def add(self, plan: Plan) -> None:
        """Add what a part of the file adds."""
        self.anchors += len(plan.anchors)
        self.moved += plan.moved
        self.types.update(one.type_id for one in plan.variants.values())
        self.verdicts.update((one.judge.name, one.judged.verdict) for one in plan.verdicts.values())
        self.left_out.update(plan.left_out)
        for reason, place in plan.places.items():
            self.places[reason] = min(place, self.places.get(reason, place))
        for source, found in plan.elsewhere.items():
            known = self.elsewhere.setdefault(source, Elsewhere(0, found.anchor, found.place))
            known.variants += found.variants
        self.against.update(_against(plan))


def preview(session: Session, staged: Staged, choices: Choices) -> Preview:
    """Return what the import would add, without writing anything.

    Raises:
        HedgerowError: as in ``check``.
    """
    check(session, staged, choices)
    counts = Counts(left_out=Counter(staged.facts.left_out))
    examples = _Examples()
    documents: dict[str, dict[str, str]] = {}
    for families in staged.families(AT_ONCE):
        plan = make_plan(session, families, choices, documents=documents)
        counts.add(plan)
        examples.add(plan, families, choices)
    places = {reason.value: place.words for reason, place in counts.places.items()}
    order = list(all_types(session))
    types = sorted(counts.types, key=lambda id_: _rank(order, id_))
    return Preview(
        counts.anchors,
        {id_: counts.types[id_] for id_ in types},
        dict(counts.verdicts),
        {reason: counts.left_out[reason] for reason in LeftOut if counts.left_out[reason]},
        {**staged.facts.places, **places},
        counts.elsewhere,
        dict(counts.against),
        examples.chosen,
        {Change(name): count for name, count in staged.facts.changed.items()},
        counts.moved,
    )


def project_state(session: Session) -> tuple[int, int, int]:
    """Return a value that changes with everything that a preview depends on."""
    newest_decision = session.execute(select(func.max(col(Decision.id)))).scalar() or 0
    return count_revisions(session), newest_variant(session), newest_decision


def _rank(order: Sequence[str], type_id: str) -> int:
    return order.index(type_id) if type_id in order else len(order)


def _against(plan: Plan) -> Iterator[tuple[Verdict, Status]]:
    """Count people's new verdicts that differ from the variant's status here."""
    agreeing = {Verdict.ACCEPT: Status.ACCEPTED, Verdict.REJECT: Status.REJECTED}
    decided = {Status.ACCEPTED, Status.REJECTED, Status.SUPERSEDED}
    for one in plan.verdicts.values():
        here = plan.here.get(one.variant)
        if here is None or not one.judge.is_person or here.status not in decided:
            continue
        if agreeing[one.judged.verdict] is not here.status:
            yield one.judged.verdict, here.status


class _Examples:
    """The first anchors with something new, and the first ones without."""

    def __init__(self) -> None:
        self.chosen: list[Example] = []
        self._left = {True: EXAMPLES, False: EXAMPLES}

    def add(self, plan: Plan, families: Sequence[Family], choices: Choices) -> None:
        """Choose from these families; fast once nothing more is needed."""
        if not self._left[True] and not (self._left[False] and plan.reasons):
            return
        verdicts: dict[str, list[Verdict]] = defaultdict(list)
        for new in plan.verdicts.values():
            verdicts[new.variant].append(new.judged.verdict)
        for family in families:
            found = [_example(plan, family, one, choices, verdicts) for one in family.variants]
            kinds = {example.brings for example in found}
            if any(self._left[kind] for kind in kinds):
                self.chosen += found
                for kind in kinds:
                    self._left[kind] = max(0, self._left[kind] - 1)


def _example(
    plan: Plan,
    family: Family,
    one: StagedVariant,
    choices: Choices,
    verdicts: Mapping[str, Sequence[Verdict]],
) -> Example:
    key = key_of(family.anchor, one)
    return Example(
        family.anchor.text,
        one.type_id or choices.undecided.get(one.role, ""),
        one.variant,
        plan.reasons.get(key),
        tuple(verdicts.get(plan.uids.get(key, ""), ())),
    )


# -- Messages about the result of an import, for page and terminal --------------------------------


_SHOWN = 60
"""Maximum characters of a quoted anchor."""

_VERBS = {Verdict.ACCEPT: ("accepts", "accept"), Verdict.REJECT: ("rejects", "reject")}
_HERE = {
    Status.ACCEPTED: "accepted here",
    Status.REJECTED: "rejected here",
    Status.SUPERSEDED: "replaced by an edit in this project",
}


class LeftOutCount(NamedTuple):
    """How much is left out for one reason, and the position of its first occurrence in the file."""

    number: int
    what: str
    first: str


def left_out(found: Preview) -> list[LeftOutCount]:
    """Return everything that is left out, with one entry per other source that owns the anchors."""
    counts: list[LeftOutCount] = []
    for reason, number in found.left_out.items():
        if reason is not LeftOut.OTHER_SOURCE:
            place = found.places.get(reason.value, "")
            counts.append(LeftOutCount(number, LABELS[reason], place))
            continue
        for source, one in found.elsewhere.items():
            anchor = one.anchor if len(one.anchor) <= _SHOWN else f"{one.anchor[:_SHOWN]}…"
            what = (
                f"variants of anchors that belong to the source '{source}', such as “{anchor}” "
                "(use that source for the file to add them)"
            )
            counts.append(LeftOutCount(one.variants, what, one.place.words))
    return counts


def against(found: Preview) -> str:
    """Say which verdicts differ from the decisions in this project, and the effect; '' for none."""
    if not found.against:
        return ""
    parts: list[str] = []
    for (verdict, status), number in found.against.items():
        verb = _VERBS[verdict][number != 1]
        which = "a variant that is" if number == 1 else "variants that are"
        parts.append(f"{number:,} {verb} {which} {_HERE[status]}")
    return (
        f"Of these verdicts, {', '.join(parts)}. A person's verdict outranks decisions "
        "by models. If it differs from another person's, the variant becomes a "
        "conflict."
    )


def nothing_left(found: Preview) -> str:
    """Say that nothing can be imported, and why; '' if something can."""
    if found.variants or found.decisions:
        return ""
    there = {LeftOut.THERE, LeftOut.VERDICT_THERE}
    if not found.left_out.keys() & there:
        return "There is nothing to import: all rows are left out."
    rest = ", and the rest is left out." if found.left_out.keys() - there else " already."
    what = "everything that could be imported" if found.left_out.keys() - there else "all of it"
    return f"Nothing is left to import: the project has {what}{rest}"


def amount(found: Preview) -> str:
    """Say what is imported: '1 anchor, 2 variants and 2 verdicts'."""
    parts = [
        counted(number, name)
        for number, name in (
            (found.anchors, "anchor"),
            (found.variants, "variant"),
            (found.decisions, "verdict"),
        )
        if number
    ]
    return ", ".join(parts[:-1]) + (" and " if parts[1:] else "") + "".join(parts[-1:])
