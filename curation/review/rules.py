"""One decision over every pending variant that a rule matches.

A rule is a text such as ``flag = content_dropped and cosine < 0.8``. It is parsed into comparisons
with the stored measures, which become the conditions of one query. Nothing in it is evaluated.
"""

import math
import operator
import re
import uuid
from collections import Counter
from collections.abc import Callable, Collection
from dataclasses import dataclass
from typing import Any, NamedTuple

from sqlalchemy import ColumnElement, Engine, Row, Select, func, or_, select
from sqlalchemy.orm import Session
from sqlmodel import col

from curation.anchors.lookup import source_named
from curation.decisions.roles import require
from curation.decisions.storing import RULE, bulk_store_decisions
from curation.diagnostics.measures import Flag
from curation.diagnostics.opinions import OpinionClause, find_judge, opinion_clause
from curation.project.settings import active_encoder_id
from curation.review.large_actions import whole_action
from curation.taxonomy.built_in import known_type
from curation.taxonomy.project_types import all_types, list_types
from curation.taxonomy.reject_reasons import applicable_reason, reject_reason
from db.columns import Columns, now
from db.engine import reading, write_in_pieces
from db.errors import HedgerowError
from db.models import Anchor, Diagnostic, Source, Status, TeamRole, Variant, VariantCosine, Verdict

MAX_RULE = 500
"""Longest rule, in characters. It is stored in the note of every decision that it makes."""

_OPERATORS: dict[str, Callable[[Any, Any], ColumnElement[bool]]] = {
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
    "=": operator.eq,
    "!=": operator.ne,
}


class _Measure(NamedTuple):
    column: Any
    least: float
    most: float


_MEASURES = {
    "levenshtein": _Measure(col(Diagnostic.levenshtein), 0, math.inf),
    "cosine": _Measure(col(VariantCosine.cosine), -1, 1),
    "length_ratio": _Measure(col(Diagnostic.length_ratio), 0, math.inf),
    "content_kept": _Measure(col(Diagnostic.content_kept), 0, 1),
}

_COMPARISON = re.compile(r"(\w+)\s*(<=|>=|!=|=|<|>)\s*(\S+)")
_SOURCE = re.compile(r"source\s*(=|!=)\s*(.+)", re.IGNORECASE)
_NUMBER = re.compile(r"[+-]?(\d+(\.\d*)?|\.\d+)", re.ASCII)

FLAG_NAMES = {str(flag.name).lower(): flag for flag in Flag}
"""The flags, by their names in rules."""


@dataclass(frozen=True)
class MeasureClause:
    """``name operator value``: a comparison of a measure with a number."""

    name: str
    operator: str
    value: float

    def condition(self) -> ColumnElement[bool]:
        """The comparison in SQL; false or null if the measure is not stored."""
        return _OPERATORS[self.operator](_MEASURES[self.name].column, self.value)


@dataclass(frozen=True)
class FlagSet:
    """``flag = NAME`` and the like: any of ``flags`` is set (``present``), or none of them."""

    flags: Flag
    present: bool

    def condition(self) -> ColumnElement[bool]:
        """The test in SQL."""
        common = col(Diagnostic.flags).bitwise_and(int(self.flags))
        return common != 0 if self.present else common == 0


@dataclass(frozen=True)
class SourceClause:
    """``source = NAME`` or ``source != NAME``: whether the anchor comes from that source."""

    name: str
    same: bool

    def condition(self) -> ColumnElement[bool]:
        """The test in SQL."""
        its = (
            select(col(Anchor.id))
            .join(Source, col(Source.id) == Anchor.source_id)
            .where(
                or_(
                    col(Source.name) == self.name,  # SQLite's lower() ignores accented letters
                    func.lower(col(Source.name)) == self.name.lower(),
                )
            )
        )
        found = col(Variant.anchor_id).in_(its)
        return found if self.same else ~found


Clause = MeasureClause | FlagSet | SourceClause | OpinionClause


@dataclass(frozen=True)
class BulkRule:
    """A parsed rule. A variant matches if all clauses hold."""

    text: str
    clauses: tuple[Clause, ...]

    @property
    def needs_cosine(self) -> bool:
        """Whether the rule uses the cosine of the active encoder."""
        return any(isinstance(c, MeasureClause) and c.name == "cosine" for c in self.clauses)

    @property
    def needs_measures(self) -> bool:
        """Whether the rule uses diagnostics."""
        return any(isinstance(c, MeasureClause | FlagSet) for c in self.clauses)


def opinion_rule(verb: str, judge: str) -> BulkRule:
    """The rule for the variants on which a judge gave this verdict, for any name of a judge."""
    clause = OpinionClause(verb, judge)
    return BulkRule(str(clause), (clause,))


def of_source(rule: BulkRule, name: str) -> BulkRule:
    """The rule, limited to the variants of one source, for any name of a source."""
    text = f"{rule.text} and source = {name}"
    return BulkRule(text, (*rule.clauses, SourceClause(name, same=True)))


def parse_rule(text: str) -> BulkRule:
    """Parse a rule: clauses joined by ``and``.

    A clause has one of these forms:

    - ``levenshtein``, ``cosine``, ``length_ratio`` or ``content_kept``, then one of
      ``< <= > >= = !=``, then a number;
    - ``flag = NAME``, ``flag != NAME`` or ``no flags``;
    - ``source = NAME`` or ``source != NAME``;
    - ``accepted by NAME``, ``edited by NAME`` or ``rejected by NAME``, with the name of a judge (a
      model that has given opinions).

    Raises:
        HedgerowError: a clause has another form, or its number is outside the range of the measure
            (the rule would match everything or nothing).
    """
    clean = " ".join(text.split())
    if not clean or len(clean) > MAX_RULE:
        raise HedgerowError(
            f"Expected a rule of 1 to {MAX_RULE} characters, such as 'levenshtein > 60', "
            f"found {len(clean)}."
        )
    clauses = re.split(r" and ", clean, flags=re.IGNORECASE)
    return BulkRule(clean, tuple(_clause(clause) for clause in clauses))


def _clause(text: str) -> Clause:
    if text.lower() == "no flags":
        return FlagSet(~Flag(0), present=False)
    if source := _SOURCE.fullmatch(text):
        return SourceClause(source[2].strip(), same=source[1] == "=")
    if (opinion := opinion_clause(text)) is not None:
        return opinion
    match = _COMPARISON.fullmatch(text)
    if match is None:
        raise HedgerowError(
            f"Expected a clause such as 'levenshtein > 60', 'flag = content_dropped' or 'no flags',"
            f" found {text!r}; join clauses with 'and'."
        )
    name, sign, value = match[1].lower(), match[2], match[3]
    return _flag_clause(sign, value) if name == "flag" else _comparison(name, sign, value)


def _flag_clause(sign: str, value: str) -> FlagSet:
    if sign not in ("=", "!="):
        raise HedgerowError(f"Expected 'flag = NAME' or 'flag != NAME', found 'flag {sign}'.")
    if value.lower() not in FLAG_NAMES:
        raise HedgerowError(f"Expected a flag ({', '.join(FLAG_NAMES)}), found {value!r}.")
    return FlagSet(FLAG_NAMES[value.lower()], present=sign == "=")


def _comparison(name: str, sign: str, value: str) -> MeasureClause:
    if name not in _MEASURES:
        raise HedgerowError(f"Expected {', '.join(_MEASURES)} or flag, found {name!r}.")
    if not _NUMBER.fullmatch(value):
        raise HedgerowError(f"Expected a number after '{name} {sign}', found {value!r}.")
    number, measure = float(value), _MEASURES[name]
    if not measure.least <= number <= measure.most:
        upper = "" if measure.most == math.inf else f" and at most {measure.most}"
        raise HedgerowError(
            f"Expected a number of at least {measure.least}{upper} for {name}, found {value}."
        )
    return MeasureClause(name, sign, number)


class Matches(NamedTuple):
    """The pending variants that a rule matches.

    Attributes:
        by_type: number of variants per type.
        unmeasured: number of pending variants without a measure that the rule uses; they never
            match.
    """

    by_type: dict[str, int]
    unmeasured: int

    @property
    def total(self) -> int:
        """Number of variants of all types."""
        return sum(self.by_type.values())


class Applied(NamedTuple):
    """The result of applying a rule. ``action_id`` is None if nothing matched."""

    matches: Matches
    action_id: str | None


def find_matches(
    session: Session, rule: BulkRule, *, types: Collection[str] = (), reason: str | None = None
) -> Matches:
    """Count the variants that the rule matches, without deciding on them.

    Args:
        types: ids of the types to include; empty for all.
        reason: the reason for a planned rejection, which is checked.

    Raises:
        HedgerowError: as ``apply_rule``.
    """
    _check_names(session, rule, types)
    query = _matching(session, rule, types, select(col(Variant.type_id), func.count()))
    by_type = dict(session.execute(query.group_by(col(Variant.type_id))).all())
    if reason is not None:
        _check_reason(session, reason, by_type)
    return Matches(by_type, _count_unmeasured(session, rule, types))


def apply_rule(
    engine: Engine,
    rule: BulkRule,
    *,
    verdict: Verdict,
    reviewer_id: int,
    reason: str = "",
    note: str = "",
    types: Collection[str] = (),
) -> Applied:
    """Accept or reject every pending variant that the rule matches, as one action.

    The note of each decision is the rule's text, followed by ``note``. All decisions share one
    action id, so that one undo reverses them all. They are stored in pieces; a variant that
    somebody decides on meanwhile is left to them.

    Args:
        types: as in `find_matches`.

    Raises:
        HedgerowError: a type, source, judge or reason is unknown; the reason does not apply to all
            matching types; or the user is not a lead.
    """
    require(TeamRole.LEAD)
    if verdict not in (Verdict.ACCEPT, Verdict.REJECT):
        raise ValueError(f"a rule accepts or rejects, found {verdict}")
    with reading(engine) as session:
        _check_names(session, rule, types)
        unmeasured = _count_unmeasured(session, rule, types)
        wanted = select(col(Variant.id), col(Variant.version), col(Variant.type_id))
        query = _matching(session, rule, types, wanted).order_by(col(Variant.id))
        found = session.execute(query).all()
        if verdict == Verdict.REJECT:
            _check_reason(session, reason, {row.type_id for row in found})
    if not found:
        return Applied(Matches({}, unmeasured), None)
    action_id = str(uuid.uuid4())
    shared = {
        "reviewer_id": reviewer_id,
        "verdict": verdict,
        "reason": reason if verdict == Verdict.REJECT else "",
        "note": f"{RULE}{rule.text}. {note}" if note else f"{RULE}{rule.text}",
        "action_id": action_id,
        "decided_at": now(),  # one for the whole action
    }
    by_type: Counter[str] = Counter()

    def decide(session: Session, rows: list[Row[int, int, str]]) -> None:
        seen = {row.id: row.version for row in rows}
        still = _pending(wanted.where(col(Variant.id).in_(seen)), ()).with_for_update()
        same = [row for row in session.execute(still) if row.version == seen[row.id]]
        decisions = [{"variant_id": row.id, "variant_version": row.version} for row in same]
        bulk_store_decisions(session, [one | shared for one in decisions])
        by_type.update(row.type_id for row in same)

    with whole_action(engine, action_id, reviewer_id=reviewer_id):
        write_in_pieces(engine, found, decide)
    return Applied(Matches(dict(by_type), unmeasured), action_id if by_type else None)


def _check_names(session: Session, rule: BulkRule, types: Collection[str]) -> None:
    for clause in rule.clauses:
        if isinstance(clause, SourceClause):
            source_named(session, clause.name)
        if isinstance(clause, OpinionClause):
            find_judge(session, clause.judge)
    for type_id in types:
        known_type(list_types(session), type_id)


def _check_reason(session: Session, reason: str, type_ids: Collection[str]) -> None:
    reject_reason(reason)
    known = all_types(session)
    for type_id in sorted(type_ids):
        applicable_reason(reason, known[type_id])


def _pending(query: Select[*Columns], types: Collection[str]) -> Select[*Columns]:
    query = query.where(col(Variant.status) == Status.PENDING, col(Variant.retired).is_(False))
    return query.where(col(Variant.type_id).in_(types)) if types else query


def _matching(
    session: Session, rule: BulkRule, types: Collection[str], query: Select[*Columns]
) -> Select[*Columns]:
    query = _with_measures(session, rule, query.select_from(Variant))
    return _pending(query, types).where(*(clause.condition() for clause in rule.clauses))


def _with_measures(session: Session, rule: BulkRule, query: Select[*Columns]) -> Select[*Columns]:
    query = query.outerjoin(Diagnostic, col(Diagnostic.variant_id) == Variant.id)
    if not rule.needs_cosine:
        return query
    return query.outerjoin(
        VariantCosine,
        (col(VariantCosine.variant_id) == Variant.id)
        & (col(VariantCosine.encoder_id) == active_encoder_id(session)),
    )


def _count_unmeasured(session: Session, rule: BulkRule, types: Collection[str]) -> int:
    if not rule.needs_measures:
        return 0
    query = _with_measures(session, rule, select(func.count()).select_from(Variant))
    missing = [col(Diagnostic.variant_id).is_(None)]
    if rule.needs_cosine:
        missing.append(col(VariantCosine.variant_id).is_(None))
    return session.execute(_pending(query, types).where(or_(*missing))).scalar_one()
