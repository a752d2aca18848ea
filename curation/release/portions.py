"""The data portions of the paper's Table 2: which variants of an anchor are used."""

from collections.abc import Iterable, Mapping
from typing import Literal

from curation.release.selection import OF_PAPER
from curation.release.triples import FamilyVariant
from curation.taxonomy.nli_types import CONTRADICTION, ENTAILMENT
from curation.taxonomy.roles import Role, role_of

Portion = Literal["all", "paper", "negation", "hedging"]
"""The choices of data.

'all': every type. 'paper': the paper's four negations and two hedges. 'negation': the paper's
negations, with the original entailment as the positive, or with the anchor's paraphrases if it has
none. 'hedging': the paper's hedges, with the original contradiction as the negative.
"""


def portion_of(
    variants: Iterable[FamilyVariant], portion: Portion, *, roles: Mapping[str, str]
) -> list[FamilyVariant]:
    """Return the variants of an anchor that are used, in order.

    Args:
        roles: the role of each type, by id.
    """
    given = [(one, role_of(one.polarity, roles.get(one.type_id))) for one in variants]
    entailed = any(one.type_id == ENTAILMENT for one, _ in given)
    return [one for one, role in given if _is_in(portion, one.type_id, role, entailed=entailed)]


def _is_in(portion: Portion, type_id: str, role: Role, *, entailed: bool) -> bool:
    """Whether a variant is used, given whether its anchor has an original entailment."""
    of_paper = type_id in OF_PAPER
    if portion == "negation":
        if role == "paraphrase":
            return type_id == ENTAILMENT or not entailed
        return of_paper and role == "negation"
    if portion == "hedging":
        return type_id == CONTRADICTION or (of_paper and role == "hedge")
    return of_paper or portion == "all"
