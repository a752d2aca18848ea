"""Load a corpus as a run, family by family, so that others can write meanwhile."""

from itertools import islice
from typing import NamedTuple

from sqlalchemy import func, select
from sqlalchemy.orm import Session
from sqlmodel import col

from curation.corpora.corpus import CORPORA, Corpus, corpus
from curation.diagnostics.measuring import start_measuring
from curation.importing.corpora import KIND as KIND
from curation.importing.corpora import Loaded, add_families, add_what_is_new, missing_families
from curation.review.bulk import Applied, BulkRule, apply_rule, find_matches, parse_rule
from curation.taxonomy.project_types import seed_taxonomy
from db.engine import reading, writing
from db.execution import Result, RunContext
from db.models import Anchor, Run, Source, Verdict
from db.runs import list_runs

AT_ONCE = 500
"""Number of families per transaction, and thus the most that are repeated after a crash."""


INSPECTED = 100
"""Number of recent runs to search, which include the newest one of each corpus."""


class CorpusState(NamedTuple):
    """The state of a corpus in the project.

    Attributes:
        anchors: number of its anchors in the project.
        run: its newest loading run, if any.
    """

    corpus: Corpus
    anchors: int
    run: Run | None


def corpora_states(session: Session) -> list[CorpusState]:
    """The state of each corpus in the project, and of its last loading run."""
    loaded = loaded_anchors(session)
    newest: dict[str, Run] = {}
    for run in list_runs(session, kind=KIND, limit=INSPECTED):
        newest.setdefault(run.parameters.get("corpus", ""), run)
    return [CorpusState(one, loaded[one.id], newest.get(one.id)) for one in CORPORA.values()]


def parameters(wanted: Corpus, *, accept_by: int | None = None) -> dict[str, object]:
    """The parameters of a run that loads a corpus, as ``work`` reads them."""
    return {"corpus": wanted.id, "accept_by": accept_by}


def loaded_anchors(session: Session) -> dict[str, int]:
    """Corpus id → number of its anchors in the project."""
    query = (
        select(col(Source.name), func.count(col(Anchor.id)))
        .join(Anchor, col(Anchor.source_id) == Source.id)
        .group_by(col(Source.name))
    )
    counts = dict(session.execute(query).all())
    return {one.id: counts.get(one.source, 0) for one in CORPORA.values()}


def work(context: RunContext) -> Result:
    """Add the missing families of a corpus, and accept unflagged variants by rule if requested.

    Parameters: ``corpus``, its id; ``accept_by``, the id of the reviewer for the rule, or None.
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
    """Number of unflagged pending variants of a corpus."""
    return find_matches(session, unflagged(corpus(corpus_id))).total


def accept_unflagged(session: Session, corpus_id: str, *, reviewer_id: int) -> Applied:
    """Accept the unflagged variants of a corpus, as one action of this reviewer."""
    rule = unflagged(corpus(corpus_id))
    return apply_rule(session, rule, verdict=Verdict.ACCEPT, reviewer_id=reviewer_id)


def unflagged(wanted: Corpus) -> BulkRule:
    """The rule that selects the unflagged variants of a corpus."""
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
        context.beat()  # lets the heartbeat write between two parts
    with writing(context.engine) as session:
        more = add_what_is_new(session, wanted, run_id=context.run.id)
    return Loaded(*map(sum, zip(added, more, strict=True)))
