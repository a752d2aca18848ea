"""Load a corpus: its families become variants, and its review becomes decisions of a model.

A fifth of the anchors of the starter corpus stays pending for review and is therefore not used in
any default training.
"""

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from sqlalchemy import func, select
from sqlalchemy.orm import Session
from sqlmodel import col

from curation.content_uids import anchor_uid, canonical, canonical_uid
from curation.corpora.corpus import CORPORA, FIRST, Corpus, corpus
from curation.decisions.reviewers import ensure_reviewer
from curation.decisions.storing import bulk_store_decisions
from curation.decisions.variant_rows import ids_by_uid
from curation.diagnostics.measuring import measure_variants, start_measuring
from curation.importing.anchor_rows import NewAnchor, ensure_source, insert_anchors
from curation.importing.second_review import (
    Written,
    add_variants,
    child_row,
    decision_row,
    review_again,
    variant_row,
    variants_of,
)
from curation.review.rules import BulkRule, apply_rule, find_matches, parse_rule
from curation.splits import in_pending_fifth, split_of
from curation.taxonomy.project_types import seed_taxonomy
from db.columns import now
from db.engine import reading, write_in_pieces, writing
from db.execution import Result, RunContext
from db.models import Anchor, ReviewerKind, Run, RunState, Source, Verdict
from db.runs import list_runs

KIND = "corpus"
"""The kind of the run that created the variants."""


class Loaded(NamedTuple):
    """The counts of added rows; all zero if the corpus was already loaded."""

    anchors: int
    variants: int
    decisions: int


Families = dict[str, list[dict[str, Any]]]
"""Anchor uid → its families in the corpus."""


def missing_families(session: Session, corpus: Corpus) -> Families:
    """The families whose anchors are not in the database yet; existing ones are not changed."""
    known = set(session.execute(select(col(Anchor.uid))).scalars())
    found: Families = {}
    for family in corpus.families():
        if (uid := anchor_uid(family["anchor"])) not in known:
            found.setdefault(uid, []).append(family)
    return found


def load(session: Session, corpus: Corpus) -> Loaded:
    """Add the missing families in this transaction."""
    seed_taxonomy(session)
    families = missing_families(session, corpus)
    if not families:
        return Loaded(0, 0, 0)
    run = Run(kind=KIND, parameters={"corpus": corpus.id}, state=RunState.DONE, finished_at=now())
    session.add(run)
    session.flush()
    return add_families(session, corpus, families, run_id=run.id)


def load_first(session: Session) -> Loaded:
    """Add the missing families of the corpora of a new project, in this transaction."""
    added = [load(session, corpus) for corpus in FIRST]
    return Loaded(*(sum(numbers) for numbers in zip(*added, strict=True)))


def add_families(session: Session, corpus: Corpus, families: Families, *, run_id: int) -> Loaded:
    """Add missing families, with their measurements and their review.

    Args:
        run_id: the run that creates the variants.
    """
    anchors = _add_anchors(session, corpus, families)
    written = {
        uid: variant
        for anchor, of_anchor in families.items()
        for family in of_anchor
        for uid, variant in variants_of(anchor, family)
    }
    rows = [
        variant_row(uid, one, anchors[one.anchor], corpus=corpus, run_id=run_id)
        for uid, one in written.items()
    ]
    ids = add_variants(session, rows)
    children, decisions = _decide(session, corpus, written, anchors=anchors, ids=ids)
    bulk_store_decisions(session, decisions)
    more, changes = review_again(session, corpus, written)
    measure_variants(session, [*ids.values(), *children, *more])
    return Loaded(len(families), len(ids) + len(children) + len(more), len(decisions) + changes)


def add_what_is_new(session: Session, corpus: Corpus, *, run_id: int) -> Loaded:
    """Add what is new since an earlier version of the corpus: variants, and the second review.

    Only unchanged anchors get new variants, and decisions by people are kept.

    Args:
        run_id: the run that creates the variants.
    """
    query = (
        select(col(Anchor.uid), col(Anchor.id))
        .join(Source, col(Source.id) == Anchor.source_id)
        .where(
            col(Source.name) == corpus.source,
            col(Anchor.revision) == 1,
            col(Anchor.retired_at).is_(None),
        )
    )
    anchors: dict[str, int] = dict(session.execute(query).all())
    written = {
        uid: variant
        for family in corpus.families()
        if (anchor := anchor_uid(family["anchor"])) in anchors
        for uid, variant in variants_of(anchor, family)
    }
    known = ids_by_uid(session, written)
    new = {uid: one for uid, one in written.items() if uid not in known}
    rows = [
        variant_row(uid, one, anchors[one.anchor], corpus=corpus, run_id=run_id)
        for uid, one in new.items()
    ]
    ids = add_variants(session, rows)
    more, changes = review_again(session, corpus, written)
    measure_variants(session, [*ids.values(), *more])
    return Loaded(0, len(ids) + len(more), changes)


def _add_anchors(session: Session, corpus: Corpus, families: Families) -> dict[str, int]:
    """Add the anchors; return uid → id.

    Anchors with the same antonym pair share a split, so that a model is not tested on a pair from
    its training.
    """
    source_id = ensure_source(
        session,
        corpus.source,
        corpus.licence,
        note="Written by large language models for this project; the README of the corpus "
        "says who reviewed it.",
    )
    anchors = [
        NewAnchor(
            uid,
            source_id,
            first.get("genre", ""),
            "en",
            split_of(canonical_uid(first["pair"]) if "pair" in first else uid),
            document_id="",
            row_id="",
            text=canonical(first["anchor"]),
        )
        for uid, (first, *_) in families.items()
    ]
    return dict(zip(families, insert_anchors(session, anchors, author_id=None), strict=True))


def _decide(
    session: Session,
    corpus: Corpus,
    written: Mapping[str, Written],
    *,
    anchors: Mapping[str, int],
    ids: Mapping[str, int],
) -> tuple[Sequence[int], list[dict[str, Any]]]:
    """Add the variants made by the review's edits; return their ids and the decision rows."""
    if not corpus.reviewer:
        return [], []
    reviews = {
        (anchor_uid(review["anchor"]), review["type"], review.get("of")): review
        for review in corpus.reviews()
    }
    reviewer = ensure_reviewer(session, corpus.reviewer, kind=ReviewerKind.MODEL)
    edits: list[tuple[int, str, dict[str, Any]]] = []
    children: dict[str, dict[str, Any]] = {}
    rows: list[dict[str, Any]] = []
    for uid, one in written.items():
        if corpus.whole and (in_pending_fifth(one.anchor) or one.type_id in corpus.second_types):
            continue
        named, only = (reviews.get((one.anchor, one.type_id, of)) for of in (one.text, None))
        review = named or only
        if review is None:
            if corpus.whole:
                rows.append(decision_row(ids[uid], reviewer.id, Verdict.ACCEPT))
        elif review["verdict"] == "reject":
            rows.append(decision_row(ids[uid], reviewer.id, Verdict.REJECT, review))
        else:
            better = one._replace(text=canonical(review["text"]), cue=review.get("cue", one.cue))
            child = child_row(
                better,
                anchors[one.anchor],
                corpus=corpus,
                parent_id=ids[uid],
                reviewer=reviewer,
            )
            children[child["uid"]] = child
            edits.append((ids[uid], child["uid"], review))
    child_ids = add_variants(session, list(children.values())) if children else {}
    for variant_id, child_uid, review in edits:
        edit = decision_row(variant_id, reviewer.id, Verdict.EDIT, review)
        edit["child_id"] = child_ids[child_uid]
        accept = decision_row(child_ids[child_uid], reviewer.id, Verdict.ACCEPT)
        rows += [edit, accept | {"action_id": edit["action_id"]}]
    return list(child_ids.values()), rows


# -- The run that loads a corpus, family by family, so that others can write meanwhile ------------


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
        accepted = apply_rule(
            context.engine, unflagged(wanted), verdict=Verdict.ACCEPT, reviewer_id=reviewer_id
        ).matches.total
    if added.variants:
        start_measuring(context)
    return {"corpus": wanted.id, "source": wanted.source, "accepted": accepted, **added._asdict()}


def count_unflagged(session: Session, corpus_id: str) -> int:
    """Number of unflagged pending variants of a corpus."""
    return find_matches(session, unflagged(corpus(corpus_id))).total


def unflagged(wanted: Corpus) -> BulkRule:
    """The rule that selects the unflagged variants of a corpus."""
    return parse_rule(f"no flags and source = {wanted.source}")


def _add(context: RunContext, wanted: Corpus) -> Loaded:
    with writing(context.engine) as session:
        seed_taxonomy(session)
    with reading(context.engine) as session:
        missing = missing_families(session, wanted)
    added = Loaded(0, 0, 0)

    def add(session: Session, part: list[tuple[str, list[dict[str, Any]]]]) -> None:
        nonlocal added
        context.progress(added.anchors, len(missing), f"Loading {wanted.source}.")
        more = add_families(session, wanted, dict(part), run_id=context.run.id)
        added = Loaded(*map(sum, zip(added, more, strict=True)))

    write_in_pieces(context.engine, missing.items(), add, first=20)
    with writing(context.engine) as session:
        more = add_what_is_new(session, wanted, run_id=context.run.id)
    return Loaded(*map(sum, zip(added, more, strict=True)))
