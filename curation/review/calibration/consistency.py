"""A judge asked repeatedly about the same variants, and acceptance by prompt version."""

from collections import Counter, defaultdict
from collections.abc import Mapping
from typing import NamedTuple

from sqlalchemy import select
from sqlalchemy.orm import Session
from sqlmodel import col

from curation.anchors.revisions import of_current_revision
from curation.decisions.coefficients import Estimate
from curation.diagnostics.acceptance import Dimension, Outcomes, outcomes
from curation.generation.judging.opinion_calls import is_asked_about
from curation.generation.judging.opinion_request import (
    KIND,
    JudgeRequest,
    JudgeSelection,
    judge_of,
    read_judgement,
)
from curation.review.calibration.figures import exact_share
from curation.review.calibration.sample import Sample
from curation.taxonomy.surface_check import ROLES
from db.errors import HedgerowError
from db.models import (
    Anchor,
    AnchorRevision,
    Answer,
    CallState,
    ModelCall,
    PromptVersion,
    RunState,
    Variant,
    Verdict,
)
from db.runs import list_runs

# -- The consistency of a judge that is asked repeatedly about the same variants ------------------


INSPECTED = 200
"""Number of recent runs to search for those with repeated questions."""

TEMPERATURE = 0.7
"""Default temperature for repeated calls."""


class Consistency(NamedTuple):
    """How often a judge repeats its verdict.

    Attributes:
        run: the number of the run with the repeated questions.
        temperature: the temperature of its calls; None for the server's default.
        items: variants with at least two answers.
        answers: number of answers on these.
        same: probability that two answers on the same variant have the same verdict (accept, edit
            or reject), averaged over the variants; None if there are none.
        unanimous: variants on which all answers have the same verdict.
    """

    run: int
    temperature: float | None
    items: int
    answers: int
    same: float | None
    unanimous: int


def of_sample(sample: Sample) -> JudgeSelection:
    """Return a sample's variants, whatever their status."""
    return JudgeSelection(status=None, variants=sample.uids)


def consistencies(session: Session, sample: Sample) -> dict[int, Consistency]:
    """Return each judge's newest figures from repeated questions about a sample, by reviewer id."""
    found: dict[int, Consistency] = {}
    for run in list_runs(session, kind=KIND, limit=INSPECTED):
        if not run.parameters.get("repeats") or run.state is not RunState.DONE:
            continue
        request = JudgeRequest(**run.parameters)
        if request.selection != of_sample(sample):  # a trial covers only a few of it
            continue
        try:
            judge = judge_of(session, request)
        except HedgerowError:  # its prompt has been deleted
            continue
        if judge is not None and judge.id not in found:
            found[judge.id] = _consistency(session, run.id, request)
    return found


def _consistency(session: Session, run_id: int, request: JudgeRequest) -> Consistency:
    verdicts = {
        key: judged for key, judged in _verdicts(session, run_id).items() if judged.total() > 1
    }
    same = [_same(judged) for judged in verdicts.values()]
    return Consistency(
        run_id,
        request.temperature,
        len(verdicts),
        sum(judged.total() for judged in verdicts.values()),
        sum(same) / len(same) if same else None,
        sum(len(judged) == 1 for judged in verdicts.values()),
    )


def _same(judged: Mapping[Verdict, int]) -> float:
    """Return the share of pairs of answers with the same verdict."""
    n = sum(judged.values())
    return sum(number * (number - 1) for number in judged.values()) / (n * (n - 1))


def _verdicts(session: Session, run_id: int) -> dict[int, Counter[Verdict]]:
    """Count the verdicts in a run's answers by variant."""
    query = (
        select(
            col(ModelCall.id),
            col(Variant.id),
            col(Variant.text),
            col(AnchorRevision.text),
            col(Answer.raw),
        )
        .join(Answer, col(Answer.call_id) == ModelCall.id)
        .join(Variant, is_asked_about())
        .join(Anchor, col(Anchor.id) == Variant.anchor_id)
        .join(AnchorRevision, of_current_revision())
        .where(col(ModelCall.run_id) == run_id, col(ModelCall.state) == CallState.DONE)
        .order_by(col(Answer.id))
    )
    last: dict[int, tuple[int, Verdict]] = {}
    for call_id, variant_id, text, anchor, raw in session.execute(query):
        if (judged := read_judgement(raw, variant=text, anchor=anchor)) is not None:
            last[call_id] = variant_id, judged.verdict
    found: defaultdict[int, Counter[Verdict]] = defaultdict(Counter)
    for variant_id, verdict in last.values():
        found[variant_id][verdict] += 1
    return dict(found)


# -- Acceptance of the variants written with each prompt version, by type and model ---------------


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
