"""Preview of an import before anything is stored."""

from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from sqlalchemy import func, select
from sqlalchemy.orm import Session
from sqlmodel import col

from curation.anchors.importing.nli_texts import newest_variant
from curation.anchors.importing.preview import count_revisions
from curation.content_uids import Change
from curation.taxonomy.project_types import all_types
from curation.variants.importing.choices import Choices, check
from curation.variants.importing.entries import FileVariant, LeftOut
from curation.variants.importing.plan import AT_ONCE, Elsewhere, Plan, key_of, make_plan
from curation.variants.importing.staged import Family, Place, Staged, StagedVariant
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
class _Counts:
    """The sum of the plans for successive parts of the file."""

    anchors: int = 0
    types: Counter[str] = field(default_factory=Counter)
    verdicts: Counter[tuple[str, Verdict]] = field(default_factory=Counter)
    left_out: Counter[LeftOut] = field(default_factory=Counter)
    places: dict[LeftOut, Place] = field(default_factory=dict)
    elsewhere: dict[str, Elsewhere] = field(default_factory=dict)
    moved: int = 0
    against: Counter[tuple[Verdict, Status]] = field(default_factory=Counter)

    def add(self, plan: Plan) -> None:
        self.anchors += len(plan.anchors)
        self.moved += plan.moved
        self.types.update(one.type_id for one in plan.variants.values())
        self.verdicts.update((one.judge.name, one.judged.verdict) for one in plan.verdicts.values())
        self.left_out += plan.left_out
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
    counts = _Counts()
    counts.left_out.update({LeftOut(name): n for name, n in staged.facts.left_out.items()})
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
