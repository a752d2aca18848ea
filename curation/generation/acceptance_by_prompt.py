"""Acceptance of the variants written with each prompt version, by type and model.

Acceptance is as in ``curation.diagnostics.acceptance``: the share of decided variants that were
accepted, as written or with an edit.
"""

from typing import NamedTuple

from sqlalchemy import select
from sqlalchemy.orm import Session

from curation.diagnostics.acceptance import Dimension, Outcomes, outcomes
from curation.review.agreement.estimates import Estimate
from curation.review.calibration.figures import exact_share
from curation.taxonomy.roles import ROLES
from db.models import PromptVersion


class PromptAcceptance(NamedTuple):
    """Review outcomes of the variants of one type, written by one model with one prompt version.

    Attributes:
        model: the model, or the provider if there is no model name.
        examples: number of examples in the version.
        acceptance: with its exact 95% interval.
        as_written: the same for variants accepted without an edit.
    """

    type_id: str
    model: str
    version: int
    examples: int
    outcomes: Outcomes
    acceptance: Estimate
    as_written: Estimate


def acceptance_by_prompt(session: Session) -> list[PromptAcceptance]:
    """Return the versions in order, by type and model, including rows without decided variants."""
    prompts = {row.id: row for row in session.execute(select(PromptVersion)).scalars()}
    rows = []
    for (type_id, model, prompt_id), found in outcomes(session, Dimension.PROMPT).items():
        prompt = prompts[prompt_id]
        if prompt.name in ROLES:  # the others were written by rules and plug-ins
            rows.append(
                PromptAcceptance(
                    type_id,
                    model,
                    prompt.version,
                    len(prompt.examples),
                    found,
                    exact_share(found.accepted + found.edited, found.decided),
                    exact_share(found.accepted, found.decided),
                )
            )
    return sorted(rows, key=lambda row: row[:3])
