"""The token matches of a late-interaction model for a pair of texts."""

from __future__ import annotations

from functools import lru_cache

from sqlalchemy.orm import Session

from db.settings import Settings
from training.benchmarks.scorers.architecture import load_scorer
from training.benchmarks.scorers.interface import OWN_PROMPTS, Prompts
from training.benchmarks.scorers.late_interaction import LateInteraction, TokenMatrix
from training.models.known import location_of


def token_matrix(
    session: Session,
    settings: Settings,
    name: str,
    query: str,
    document: str,
    *,
    prompts: Prompts = OWN_PROMPTS,
) -> TokenMatrix:
    """The token matches of a late-interaction model for a pair of texts (NevIR's Figure 9).

    The last model stays loaded.

    Args:
        name: the model's name in results.

    Raises:
        HedgerowError: it can't be loaded, or is not a late-interaction model.
    """
    place = location_of(session, settings, name)
    hash_ = place.checked()
    scorer = _late(place.name, hash_)
    scorer.given_prompts = prompts
    return scorer.tokens(query, document)


@lru_cache(maxsize=1)
def _late(place: str, hash_: str) -> LateInteraction:
    scorer = load_scorer(place, LateInteraction.architecture)
    assert isinstance(scorer, LateInteraction)  # other architectures are refused
    return scorer
