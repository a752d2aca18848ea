"""Costs per variant and per accepted variant, by prompt version, model and type.

The cost of a call, including failed attempts, is divided equally among the types it asked for.
"""

from collections import defaultdict
from typing import NamedTuple

from sqlalchemy import case, func, select
from sqlalchemy.orm import Session
from sqlmodel import col

from curation.generation.request import KIND
from db.columns import not_null
from db.models import Answer, ModelCall, PromptVersion, Run, Status, Variant


class CostRow(NamedTuple):
    """The cost of one type with one prompt version and model.

    Attributes:
        cost: US dollars, the type's share.
        variants: stored variants, in any state.
        accepted: variants accepted as written or after an edit.
        is_estimate: whether some costs are estimates because a server reported no tokens.
    """

    prompt: str
    version: int
    provider: str
    model: str
    type_id: str
    calls: int
    cost: float
    variants: int
    accepted: int
    is_estimate: bool = False

    @property
    def per_variant(self) -> float | None:
        """US dollars per variant; None if there are no variants."""
        return self.cost / self.variants if self.variants else None

    @property
    def per_accepted(self) -> float | None:
        """US dollars per accepted variant; None if there are none."""
        return self.cost / self.accepted if self.accepted else None


_Key = tuple[int, int, str]


def cost_rows(session: Session, *, run_id: int | None = None) -> list[CostRow]:
    """One row for each prompt version, model and type, of one run or of all."""
    models = {
        number: (parameters.get("provider", ""), parameters.get("model", ""))
        for number, parameters in session.execute(
            select(col(Run.id), col(Run.parameters)).where(col(Run.kind) == KIND)
        )
    }
    spent, calls, estimated = _spent(session, run_id)
    made, kept = _variants(session, run_id)
    names = {row.id: row for row in session.execute(select(PromptVersion)).scalars()}
    rows: dict[tuple[int, tuple[str, str], str], CostRow] = {}
    for key in dict.fromkeys([*spent, *made]):
        run, prompt_id, type_id = key
        origin = models.get(run)
        if origin is None or prompt_id not in names:
            continue
        prompt = names[prompt_id]
        group = (prompt_id, origin, type_id)
        old = rows.get(group)
        rows[group] = CostRow(
            prompt.name,
            prompt.version,
            *origin,
            type_id,
            calls=(old.calls if old else 0) + calls[key],
            cost=(old.cost if old else 0.0) + spent[key],
            variants=(old.variants if old else 0) + made[key],
            accepted=(old.accepted if old else 0) + kept[key],
            is_estimate=(old is not None and old.is_estimate) or key in estimated,
        )
    return [rows[key] for key in sorted(rows)]


def _spent(
    session: Session, run_id: int | None
) -> tuple[defaultdict[_Key, float], defaultdict[_Key, int], set[_Key]]:
    """Return the share of the cost, the number of calls, and whether some costs are estimates.

    The result is by run, prompt and type. The database sums calls that ask for the same types.
    """
    asked = col(ModelCall.type_ids)
    query = select(
        col(ModelCall.run_id),
        col(ModelCall.prompt_version_id),
        asked,
        func.count(col(ModelCall.id).distinct()),
        func.coalesce(func.sum(not_null(col(Answer.cost))), 0.0),
        func.count(case((col(Answer.is_estimate), 1))),
    ).join(Answer, col(Answer.call_id) == ModelCall.id)
    if run_id is not None:
        query = query.where(col(ModelCall.run_id) == run_id)
    query = query.group_by(col(ModelCall.run_id), col(ModelCall.prompt_version_id), asked)
    spent: defaultdict[_Key, float] = defaultdict(float)
    calls: defaultdict[_Key, int] = defaultdict(int)
    estimated: set[_Key] = set()
    for run, prompt_id, type_ids, number, cost, estimates in session.execute(query):
        for type_id in type_ids:
            spent[(run, prompt_id, type_id)] += cost / len(type_ids)
            calls[(run, prompt_id, type_id)] += number
            if estimates and cost:
                estimated.add((run, prompt_id, type_id))
    return spent, calls, estimated


def _variants(
    session: Session, run_id: int | None
) -> tuple[defaultdict[_Key, int], defaultdict[_Key, int]]:
    """Count the stored and the accepted variants by run, prompt and type."""
    query = select(
        not_null(col(Variant.run_id)),
        not_null(col(Variant.prompt_version_id)),
        col(Variant.type_id),
        col(Variant.status),
        func.count(),
    ).where(col(Variant.prompt_version_id).is_not(None))
    if run_id is not None:
        query = query.where(col(Variant.run_id) == run_id)
    query = query.group_by(
        col(Variant.run_id),
        col(Variant.prompt_version_id),
        col(Variant.type_id),
        col(Variant.status),
    )
    made: defaultdict[_Key, int] = defaultdict(int)
    kept: defaultdict[_Key, int] = defaultdict(int)
    for run, prompt_id, type_id, status, number in session.execute(query):
        key = (run, prompt_id, type_id)
        made[key] += number
        if status in (Status.ACCEPTED, Status.SUPERSEDED):
            kept[key] += number
    return made, kept
