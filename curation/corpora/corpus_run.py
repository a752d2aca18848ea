"""Loading a corpus as a run: family by family, so that others can write meanwhile."""

from itertools import islice
from typing import NamedTuple

from sqlalchemy import func, select
from sqlalchemy.orm import Session
from sqlmodel import col

from curation.corpora.corpus import CORPORA, Corpus, corpus
from curation.corpora.loading import KIND as KIND
from curation.corpora.loading import Loaded, add_families, add_what_is_new, missing_families
from curation.diagnostics.measuring import start_measuring
from curation.review.bulk import Applied, BulkRule, apply_rule, find_matches, parse_rule
from curation.taxonomy.project_types import seed_taxonomy
from db.engine import reading, writing
from db.execution import Result, RunContext
from db.models import Anchor, Run, Source, Verdict
from db.runs import list_runs

AT_ONCE = 500
"""Families that are added in one transaction; no more are done twice after a crash."""


LOOKED_AT = 100
"""Of the last loadings; the newest of each corpus is among them."""


class CorpusState(NamedTuple):
    """How much of a corpus is in the project.

    Attributes:
        anchors: how many of its anchors are.
        run: its newest loading, if there is one.
    """

    corpus: Corpus
    anchors: int
    run: Run | None


def corpora_states(session: Session) -> list[CorpusState]:
    """How much of each corpus is in the project, and what became of its last loading."""
    loaded = loaded_anchors(session)
    newest: dict[str, Run] = {}
    for run in list_runs(session, kind=KIND, limit=LOOKED_AT):
        newest.setdefault(run.parameters.get("corpus", ""), run)
    return [CorpusState(one, loaded[one.id], newest.get(one.id)) for one in CORPORA.values()]


def parameters(wanted: Corpus, *, accept_by: int | None = None) -> dict[str, object]:
    """The parameters of a run that loads a corpus, as ``work`` reads them."""
    return {"corpus": wanted.id, "accept_by": accept_by}


def loaded_anchors(session: Session) -> dict[str, int]:
    """How many anchors of each corpus are in the project, by the corpus' id."""
    query = (
        select(col(Source.name), func.count(col(Anchor.id)))
        .join(Anchor, col(Anchor.source_id) == Source.id)
        .group_by(col(Source.name))
    )
    counts = dict(session.execute(query).all())
    return {one.id: counts.get(one.source, 0) for one in CORPORA.values()}


def work(context: RunContext) -> Result:
    """Add what the project lacks of a corpus, and accept by rule what is unflagged if asked to.

    Parameters: ``corpus``, its id; ``accept_by``, the id of the reviewer in whose name the rule
    accepts, or None.
    """
    wanted = corpus(context.parameters["corpus"])
    added = _add(context, wanted)
    accepted = 0
    if reviewer_id := context.parameters.get("accept_by"):
        context.progress(1, 1, "Accepting unflagged variants.")
        with writing(context.engine) as session:
            accepted = accept_unflagged(session, wanted.id, reviewer_id=reviewer_id).matches.total
    if added.variants:
        start_measuring(context)
    return {"corpus": wanted.id, "source": wanted.source, "accepted": accepted, **added._asdict()}


def count_unflagged(session: Session, corpus_id: str) -> int:
    """How many pending variants of a corpus nothing is flagged on."""
    return find_matches(session, unflagged(corpus(corpus_id))).total


def accept_unflagged(session: Session, corpus_id: str, *, reviewer_id: int) -> Applied:
    """Accept what nothing is flagged on of a corpus, as one action of this reviewer."""
    rule = unflagged(corpus(corpus_id))
    return apply_rule(session, rule, verdict=Verdict.ACCEPT, reviewer_id=reviewer_id)


def unflagged(wanted: Corpus) -> BulkRule:
    """The rule that takes what nothing is flagged on of a corpus."""
    return parse_rule(f"no flags and source = {wanted.source}")


def _add(context: RunContext, wanted: Corpus) -> Loaded:
    with writing(context.engine) as session:
        seed_taxonomy(session)
    with reading(context.engine) as session:
        missing = iter(missing_families(session, wanted).items())
    parts = []
    while part := dict(islice(missing, AT_ONCE)):
        parts.append(part)
    added = Loaded(0, 0, 0)
    total = sum(map(len, parts))
    for part in parts:
        context.update(added.anchors, total, f"Loading {wanted.source}.")
        with writing(context.engine) as session:
            more = add_families(session, wanted, part, run_id=context.run.id)
        added = Loaded(*map(sum, zip(added, more, strict=True)))
        context.beat()  # the heartbeat may find no gap between two parts that write
    with writing(context.engine) as session:
        more = add_what_is_new(session, wanted, run_id=context.run.id)
    return Loaded(*map(sum, zip(added, more, strict=True)))
