"""A random sample of variants that people decide blind, to measure models on it.

A sample is stored as a run that is done at once. Its parameters describe the sampling, and its
result has the uids of the variants. The population is the variants without a person's decision,
because a model's verdicts would be used for these.
"""

import random
import re
from collections import defaultdict
from collections.abc import Iterable, Sequence
from typing import NamedTuple

from pydantic import BaseModel, ConfigDict, Field
from sqlalchemy import func, select
from sqlalchemy.orm import Session
from sqlmodel import col

from curation.decisions.history import decided_by, not_retracted
from curation.decisions.reviewers import person_id_now
from curation.decisions.storing import chunks, counts_still, rows_with
from curation.decisions.variant_rows import ids_by_uid
from curation.diagnostics.model_verdicts import knew_opinion
from curation.diagnostics.opinions import find_judge, judged_by
from curation.review.queue import decided_by_a_person
from curation.taxonomy.built_in import known_type
from curation.taxonomy.project_types import list_types
from db.columns import now
from db.errors import HedgerowError
from db.models import (
    Decision,
    Opinion,
    Reviewer,
    ReviewerKind,
    Run,
    RunState,
    Status,
    TypeRow,
    Variant,
    Verdict,
)
from db.runs import create_run, get_run, list_runs

KIND = "sample"
"""The kind of the runs."""

MAX_SAMPLE = 10_000
"""Maximum number of variants in a sample."""

LISTED = 50
"""Maximum number of samples to list."""

_NAMED = re.compile(r"sample-(\d{1,9})")


class SampleRequest(BaseModel):
    """How to sample.

    Attributes:
        size: the number of variants, in total or per type.
        each_type: whether ``size`` is per type.
        types: ids of variant types; empty for all types in use.
        judges: names of models; only variants with an opinion of each of them are sampled.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    size: int = Field(default=100, ge=1, le=MAX_SAMPLE)
    each_type: bool = True
    types: tuple[str, ...] = ()
    judges: tuple[str, ...] = ()
    seed: int = 0


class Sample(NamedTuple):
    """A stored sample.

    Attributes:
        id: the number of its run.
        uids: the uids of its variants, in the order in which people see them.
    """

    id: int
    request: SampleRequest
    uids: tuple[str, ...]


def pick_sample(session: Session, request: SampleRequest) -> list[str]:
    """Sample the uids of variants, without storing anything.

    The types are in taxonomy order, so that a reviewer reads one type after the other. Within a
    type the order is random, so that the variants decided so far are a random sample, too. From
    350,000 variants this takes a second or two and blocks nobody.

    Raises:
        HedgerowError: a type or a judge is unknown, there are no variants to sample from, or the
            sample would be too large.
    """
    types = list_types(session)
    wanted = [known_type(types, name).id for name in request.types] or [e.id for e in types]
    pool = _pool(session, wanted, [find_judge(session, name).id for name in request.judges])
    if not any(pool.values()):
        raise HedgerowError(
            "There are no variants to sample from: people have decided on every variant of these "
            "types" + (", or a judge has no opinion on it." if request.judges else ".")
        )
    uids = _sampled(pool, request)
    if len(uids) > MAX_SAMPLE:
        raise HedgerowError(
            f"Expected a sample of at most {MAX_SAMPLE:,} variants, found {len(uids):,}; choose "
            "fewer per type."
        )
    return uids


def store_sample(
    session: Session,
    request: SampleRequest,
    uids: Sequence[str],
    *,
    requested_by: int | None = None,
) -> Sample:
    """Store a sample."""
    run = create_run(
        session,
        kind=KIND,
        parameters=request.model_dump(mode="json"),
        requested_by=requested_by,
    )
    run.sqlmodel_update(
        {"state": RunState.DONE, "message": "Done.", "folder": "", "finished_at": now()}
        | {"result": {"sample": run.id, "variants": list(uids)}}
    )
    session.flush()
    return _sample(run)


def _pool(session: Session, types: Sequence[str], judges: Sequence[int]) -> dict[str, list[str]]:
    """The uids to sample from by type, in a fixed order."""
    query = (
        select(col(Variant.type_id), col(Variant.uid))
        .join(TypeRow, col(TypeRow.id) == Variant.type_id)
        .where(
            col(Variant.type_id).in_(types),
            col(Variant.retired).is_(False),
            col(Variant.status) != Status.SUPERSEDED,
            ~decided_by_a_person(),
            *(judged_by(judge) for judge in judges),
        )
        .order_by(col(TypeRow.ordinal), col(TypeRow.id), col(Variant.uid))
    )
    pool: defaultdict[str, list[str]] = defaultdict(list)
    for type_id, uid in session.execute(query):
        pool[type_id].append(uid)
    return dict(pool)


def _sampled(pool: dict[str, list[str]], request: SampleRequest) -> list[str]:
    rng = random.Random(request.seed)
    if request.each_type:
        chosen = [rng.sample(uids, min(request.size, len(uids))) for uids in pool.values()]
        return [uid for uids in chosen for uid in uids]
    everything = [uid for uids in pool.values() for uid in uids]
    places = {type_id: place for place, type_id in enumerate(pool)}
    type_of = {uid: type_id for type_id, uids in pool.items() for uid in uids}
    some = rng.sample(everything, min(request.size, len(everything)))
    return sorted(some, key=lambda uid: places[type_of[uid]])  # stable: random within a type


def get_sample(session: Session, number: int | None = None) -> Sample:
    """The sample with this number. Without a number, the newest.

    Raises:
        HedgerowError: there is none.
    """
    if number is None:
        found = list_samples(session)
        if not found:
            raise HedgerowError(
                "There is no sample yet; create one with 'hedgerow review calibration draw'."
            )
        return found[0]
    run = get_run(session, number)
    if run.kind != KIND:
        raise HedgerowError(
            f"Expected the number of a sample, but run {number} is of another kind; 'hedgerow runs "
            f"list --kind {KIND}' lists the samples."
        )
    return _sample(run)


def list_samples(session: Session) -> list[Sample]:
    """The newest samples first."""
    return [_sample(run) for run in list_runs(session, kind=KIND, limit=LISTED)]


def _sample(run: Run) -> Sample:
    return Sample(run.id, SampleRequest(**run.parameters), tuple(run.result["variants"]))


def address_name(sample_id: int) -> str:
    """The name of a sample in the address of the Review page."""
    return f"{KIND}-{sample_id}"


def sample_at(session: Session, name: str) -> Sample | None:
    """The sample with this name in an address; None if there is none."""
    match = _NAMED.fullmatch(name)
    if match is None:
        return None
    try:
        return get_sample(session, int(match[1]))
    except HedgerowError:
        return None


def variant_ids(session: Session, sample: Sample) -> tuple[int, ...]:
    """The ids of a sample's variants in order, without deleted ones."""
    ids = ids_by_uid(session, sample.uids)
    return tuple(ids[uid] for uid in sample.uids if uid in ids)


def sampled(session: Session, variants: Iterable[Variant]) -> set[int]:
    """The ids of the variants that are in a sample.

    Reviewers who have not decided on them see them blind everywhere.
    """
    by_uid = {variant.uid: variant.id for variant in variants}
    query = select(col(Run.result)).where(col(Run.kind) == KIND)
    found: set[int] = set()
    for (result,) in session.execute(query):
        found.update(by_uid[uid] for uid in by_uid.keys() & set(result.get("variants", ())))
    return found


def left_for(session: Session, variant_ids: Iterable[int], reviewer_id: int) -> set[int]:
    """The variants that this person still has to decide on, whatever others decided.

    Variants that an edit has replaced are left out, because nobody can decide on them any more.
    """
    found: set[int] = set()
    for ids in chunks(variant_ids):
        query = select(col(Variant.id)).where(
            col(Variant.id).in_(ids),
            col(Variant.retired).is_(False),
            col(Variant.status) != Status.SUPERSEDED,
        )
        found.update(session.execute(query).scalars())
        found -= decided_by(session, reviewer_id, ids)
    return found


# -- people's blind verdicts and a judge's opinions on the variants of a sample ------------------


STRICTEST = (Verdict.REJECT, Verdict.EDIT, Verdict.ACCEPT)
"""If people disagree on a variant, the first of these verdicts that somebody gave counts."""


class PeopleSay(NamedTuple):
    """People's blind verdict on a variant.

    Attributes:
        verdict: the strictest one if they disagree.
        people: how many decided blind.
        disagree: whether they gave different verdicts.
    """

    verdict: Verdict
    people: int
    disagree: bool


class JudgeSays(NamedTuple):
    """A judge's opinion on a variant; certainty in [0, 1] or None."""

    verdict: Verdict
    certainty: float | None


def blind_verdicts(session: Session, variant_ids: Sequence[int]) -> dict[int, PeopleSay]:
    """People's blind verdicts by variant; variants without one are left out.

    For each person, the latest blind decision counts that was not undone, unless they had looked at
    an opinion before. Decisions that a person makes after seeing other verdicts do not count.
    """
    found: defaultdict[int, list[Verdict]] = defaultdict(list)
    for ids in chunks(variant_ids):
        latest = (
            select(func.max(col(Decision.id)))
            .join(Reviewer, col(Reviewer.id) == Decision.reviewer_id)
            .join(Variant, col(Variant.id) == Decision.variant_id)
            .where(
                col(Decision.variant_id).in_(ids),
                col(Reviewer.kind) == ReviewerKind.PERSON,
                col(Decision.blind),
                col(Decision.verdict) != Verdict.RETRACT,
                ~col(Decision.adjudicates),
                ~knew_opinion(),
                not_retracted(),
                counts_still(),
            )
            .group_by(col(Decision.variant_id), person_id_now())
        )
        query = select(col(Decision.variant_id), col(Decision.verdict)).where(
            col(Decision.id).in_(latest)
        )
        for variant_id, verdict in session.execute(query.order_by(col(Decision.id))):
            found[variant_id].append(verdict)
    return {variant_id: _together(verdicts) for variant_id, verdicts in found.items()}


def _together(verdicts: Sequence[Verdict]) -> PeopleSay:
    strictest = next(verdict for verdict in STRICTEST if verdict in verdicts)
    return PeopleSay(strictest, len(verdicts), len(set(verdicts)) > 1)


def opinions_on(
    session: Session, variant_ids: Sequence[int], reviewer_id: int
) -> dict[int, JudgeSays]:
    """A judge's opinions by variant, for the current text of the anchors."""
    query = (
        select(col(Opinion.variant_id), col(Opinion.verdict), col(Opinion.certainty))
        .join(Variant, col(Variant.id) == Opinion.variant_id)
        .where(
            col(Opinion.reviewer_id) == reviewer_id,
            col(Opinion.since_version) == col(Variant.since_version),
        )
    )
    found = rows_with(session, query, col(Opinion.variant_id), variant_ids)
    return {variant_id: JudgeSays(verdict, certainty) for variant_id, verdict, certainty in found}


def types_of(session: Session, variant_ids: Sequence[int]) -> dict[int, str]:
    """The type of each variant, sorted in taxonomy order."""
    query = select(col(TypeRow.ordinal), col(Variant.type_id), col(Variant.id)).join(
        TypeRow, col(TypeRow.id) == Variant.type_id
    )
    found = rows_with(session, query, col(Variant.id), variant_ids)
    in_order = sorted((place, type_id, key) for place, type_id, key in found)
    return {variant_id: type_id for _, type_id, variant_id in in_order}
