"""Loading the corpora: what is decided or left to people, what a later loading changes, and the
files of the starter corpus."""

import re
from collections import Counter, defaultdict
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import Levenshtein
import pytest
from sqlalchemy import Engine, func, select, update
from sqlalchemy.orm import Session
from sqlmodel import col

from curation.anchors.revisions import sources_in_use
from curation.content_uids import anchor_uid, canonical
from curation.corpora.corpus import CORPORA, STARTER, Corpus
from curation.decisions.reviewers import is_reserved
from curation.diagnostics.measuring import measure_variants
from curation.diagnostics.model_verdicts import switch
from curation.diagnostics.opinions import model_reviewers
from curation.editing.anchors import correct_anchor
from curation.importing import corpora
from curation.importing.anchor_preview import preview
from curation.importing.anchor_rows import About
from curation.importing.anchor_storing import add_anchors
from curation.importing.corpora import (
    KIND,
    Families,
    Loaded,
    add_families,
    add_what_is_new,
    load,
    missing_families,
)
from curation.importing.labels import read_pasted
from curation.project.settings import LEVENSHTEIN_THRESHOLD
from curation.review.adjudication import contested
from curation.review.deciding import accept, reject, shown
from curation.review.queue import status_counts
from curation.review.rules import apply_rule, parse_rule
from curation.review.undo import undo
from curation.splits import in_pending_fifth
from curation.taxonomy.built_in import TAXONOMY
from curation.taxonomy.cues import HEDGE_CUES
from curation.taxonomy.project_types import seed_taxonomy
from curation.taxonomy.reject_reasons import reject_reason
from db.engine import writing
from db.models import (
    Anchor,
    Decision,
    Diagnostic,
    Reviewer,
    ReviewerKind,
    Source,
    Split,
    Status,
    Variant,
    Verdict,
)
from db.runs import create_run
from tests.support.databases import Copies, both_databases, opened
from tests.support.factories import add_family, engine_of, person

SECOND = STARTER.second_reviewer
WITHOUT = STARTER._replace(second_reviewer="", second_types=())
FIRST = {(one["anchor"], one["type"]): one for one in STARTER.reviews()}
CHANGES = [
    one
    for one in STARTER.second_reviews()
    if not in_pending_fifth(anchor_uid(one["anchor"])) and one["type"] != "unsupported"
]
PLAIN = next(one for one in CHANGES if (one["anchor"], one["type"]) not in FIRST)
TWICE = next(one for one in CHANGES if (one["anchor"], one["type"]) in FIRST)
FREE = [CORPORA["antonyms"], CORPORA["claims"]]
some_corpora = pytest.mark.parametrize("corpus", FREE, ids=lambda corpus: corpus.id)


@pytest.fixture
def session(session: Session) -> Session:
    seed_taxonomy(session)
    return session


def add(session: Session, corpus: Corpus, families: Families) -> Loaded:
    run = create_run(session, kind=KIND, parameters={})
    return add_families(session, corpus, families, run_id=run.id)


def add_some(session: Session, corpus: Corpus, count: int = 60) -> Loaded:
    """Load the corpus' first families."""
    return add(session, corpus, dict([*missing_families(session, corpus).items()][:count]))


def statuses(session: Session) -> dict[str, Status]:
    """Uid → status of each variant."""
    return dict(session.execute(select(col(Variant.uid), col(Variant.status))).all())


@pytest.mark.slow
@both_databases
@some_corpora
def test_unreviewed_variants_are_pending_measured_and_of_the_source_of_their_anchor(
    session: Session, corpus: Corpus
) -> None:
    add_family(session)  # so that the ids of sources and anchors differ
    loaded = add_some(session, corpus)
    own = select(col(Variant.status)).where(col(Variant.source_id) == 2)
    found = Counter(session.execute(own).scalars())
    assert found[Status.ACCEPTED] == found[Status.SUPERSEDED]  # only by the edits of its review
    assert found.total() == loaded.variants and found[Status.PENDING] > 0.8 * loaded.variants
    measured = session.execute(select(func.count()).select_from(Diagnostic)).scalar_one()
    assert measured == loaded.variants
    query = select(col(Anchor.source_id), col(Variant.source_id)).join(
        Variant, col(Variant.anchor_id) == col(Anchor.id)
    )
    assert {tuple(row) for row in session.execute(query)} == {(1, 1), (2, 2)}
    assert sources_in_use(session) == {1: "test", 2: corpus.source}


def test_an_anchor_that_is_known_is_left_unchanged(session: Session) -> None:
    corpus = CORPORA["claims"]
    text = corpus.families()[0]["anchor"]
    add_family(session, text)
    missing = missing_families(session, corpus)
    assert len(missing) == corpus.anchors - 1 and anchor_uid(text) not in missing


def splits(session: Session) -> dict[str, Split]:
    return dict(session.execute(select(col(Anchor.uid), col(Anchor.split))).all())


@pytest.mark.slow
def test_the_anchors_of_a_pair_of_opposites_share_a_split(session: Session) -> None:
    corpus = CORPORA["antonyms"]
    pairs = Counter(family["pair"] for family in corpus.families())
    missing = {
        uid: some
        for uid, some in missing_families(session, corpus).items()
        if pairs[some[0]["pair"]] > 4
    }
    add(session, corpus, missing)
    found, of_pair = splits(session), defaultdict(set)
    for uid, some in missing.items():
        of_pair[some[0]["pair"]].add(found[uid])
    assert {len(some) for some in of_pair.values()} == {1} and len(set(found.values())) > 1


@pytest.mark.soak("histories")
def test_every_antonym_pair_stays_in_one_split_whatever_happens_to_its_anchors(
    session: Session,
) -> None:
    corpus = CORPORA["antonyms"]
    pairs: dict[str, set[str]] = {}
    for family in corpus.families():
        pairs.setdefault(family["pair"], set()).add(anchor_uid(family["anchor"]))
    load(session, corpus)
    found = splits(session)
    assert all(len({found[uid] for uid in uids}) == 1 for uids in pairs.values())
    assert len(found) == corpus.anchors and set(found.values()) == set(Split)
    text, new = corpus.families()[0]["anchor"], "The patient in bed five stayed awake."
    anchor = session.execute(select(Anchor).where(col(Anchor.uid) == anchor_uid(text))).scalar_one()
    correct_anchor(session, anchor.id, new, reviewer_id=person(session), expected_revision=1)
    for again in (text, new):  # a user has the sentence in a file, unchanged or corrected
        shown = preview(session, read_pasted(again), column="text")
        add_anchors(engine_of(session), shown, shown.chosen(), about=About(source="mine"))
    assert load(session, corpus) == Loaded(0, 0, 0) and splits(session) == found


@pytest.mark.slow
def test_a_rule_takes_the_unflagged_of_one_source_and_one_undo_restores_them(
    session: Session,
) -> None:
    corpus = CORPORA["antonyms"]
    add_some(session, corpus)
    measure_variants(session, [v.id for v in add_family(session, "The lamp is lit.").values()])
    ada, before = person(session, "Ada"), statuses(session)
    rule = corpora.unflagged(corpus)
    applied = apply_rule(engine_of(session), rule, verdict=Verdict.ACCEPT, reviewer_id=ada)
    assert applied.matches.total > 100
    query = (
        select(col(Source.name))
        .distinct()
        .join(Variant, col(Variant.source_id) == Source.id)
        .where(col(Variant.status) == Status.ACCEPTED)
    )
    assert list(session.execute(query).scalars()) == [corpus.source]
    undo(session, reviewer_id=ada)
    assert statuses(session) == before


@pytest.mark.parametrize("corpus", CORPORA.values(), ids=lambda corpus: corpus.id)
def test_a_corpus_says_who_wrote_and_reviewed_it_and_under_which_licence(corpus: Corpus) -> None:
    words = corpus.readme
    assert "language model" in words and "CC BY 4.0" in words and "review" in words
    assert parse_rule(f"no flags and source = {corpus.source}").clauses
    assert len({anchor_uid(family["anchor"]) for family in corpus.families()}) == corpus.anchors


@pytest.mark.slow
def test_a_corpus_that_was_reviewed_whole_has_what_its_reviewer_rejected_and_accepted(
    session: Session,
) -> None:
    corpus = CORPORA["exclusions"]
    rejected = {review["of"] for review in corpus.reviews()}
    add_some(session, corpus, count=corpus.anchors)
    texts: dict[Status, set[str]] = defaultdict(set)
    for text, status in session.execute(select(col(Variant.text), col(Variant.status))):
        texts[status].add(text)
    assert set(texts) == {Status.ACCEPTED, Status.REJECTED, Status.PENDING}
    assert texts[Status.REJECTED] <= rejected and not texts[Status.ACCEPTED] & rejected


@pytest.mark.slow
def test_the_starter_corpus_arrives_and_a_second_loading_changes_nothing(
    starter_engine: Engine,
) -> None:
    def counts(session: Session) -> list[int]:
        tables = (Anchor, Variant, Decision, Diagnostic)
        return [session.execute(select(func.count()).select_from(t)).scalar_one() for t in tables]

    with writing(starter_engine) as session:
        before, found = counts(session), status_counts(session)
        # Every variant except edited ones comes from the families: 6 x 1,369 + 1,292 + 721.
        originals = select(func.count()).where(col(Variant.parent_id).is_(None))
        assert session.execute(originals).scalar_one() == 10_227
        people = select(Reviewer).where(col(Reviewer.kind) == ReviewerKind.PERSON)
        assert session.execute(people).first() is None
        assert before[0] == 1369 and before[1] == before[3]
        assert sum(number[Status.REJECTED] for number in found.values()) == 1
        assert sum(number[Status.CONFLICT] for number in found.values()) == 0
        rows = session.execute(
            select(col(Anchor.uid), func.count(Decision.id))
            .join(Variant, col(Variant.anchor_id) == Anchor.id)
            .outerjoin(Decision, col(Decision.variant_id) == Variant.id)
            .group_by(Anchor.uid)
        ).all()
        assert load(session, STARTER) == Loaded(0, 0, 0)
        assert (counts(session), status_counts(session)) == (before, found)
    # The pending fifth is undecided.
    assert all((decisions == 0) == in_pending_fifth(uid) for uid, decisions in rows)


@pytest.fixture(scope="module")
def wanted() -> set[str]:
    """Some anchors with remarks of the second review, and some without."""
    reviewed = [PLAIN, TWICE, *STARTER.second_reviews()[::8]]
    return {anchor_uid(one["anchor"]) for one in [*reviewed, *STARTER.families()[::30]]}


def load_new(session: Session, wanted: set[str]) -> Loaded:
    found = missing_families(session, STARTER)
    return add(session, STARTER, {uid: some for uid, some in found.items() if uid in wanted})


def load_old(session: Session, wanted: set[str]) -> None:
    """Loaded by an old version of Hedgerow without unsupported variants and a second review."""
    families = {
        uid: [{k: v for k, v in one.items() if k != "unsupported"} for one in found]
        for uid, found in missing_families(session, STARTER).items()
        if uid in wanted
    }
    add(session, WITHOUT, families)


def renew(session: Session) -> Loaded:
    run = create_run(session, kind=KIND, parameters={})
    return add_what_is_new(session, STARTER, run_id=run.id)


def find(session: Session, text: str) -> Variant:
    return session.execute(select(Variant).where(col(Variant.text) == text)).scalar_one()


def of(session: Session, review: dict[str, str]) -> Variant:
    """The variant with a remark of the second review, as the first review left it."""
    return session.get_one(Variant, find(session, review["text"]).parent_id)


def before(session: Session, review: dict[str, str]) -> Variant:
    """The same before the second review."""
    query = (
        select(Variant)
        .join(Anchor, col(Anchor.id) == Variant.anchor_id)
        .where(
            col(Anchor.uid) == anchor_uid(review["anchor"]),
            col(Variant.type_id) == review["type"],
            col(Variant.status) == Status.ACCEPTED,
        )
    )
    return session.execute(query).scalar_one()


@pytest.mark.slow
@both_databases
def test_the_second_reviews_edits_replace_what_the_first_had_accepted(
    session: Session, wanted: set[str]
) -> None:
    load_new(session, wanted)
    for review in (PLAIN, TWICE):
        target = of(session, review)
        assert target.status is Status.SUPERSEDED
        assert find(session, review["text"]).status is Status.ACCEPTED
        assert (target.parent_id is not None) == (review is TWICE)
        assert not contested(session, [target])  # models need no person to settle it
    assert Status.CONFLICT not in statuses(session).values()
    (second,) = [one for one in model_reviewers(session) if one.name == SECOND]
    switch(session, second.id, counts=False)
    assert of(session, PLAIN).status is Status.ACCEPTED


@pytest.mark.slow
@both_databases
def test_upgrading_an_older_project_gives_the_current_state_and_is_idempotent(
    session: Session, wanted: set[str], copies: Copies, tmp_path: Path
) -> None:
    load_old(session, wanted)
    old = statuses(session)
    added = renew(session)
    found = statuses(session)
    assert added.anchors == 0 and added.variants == len(found) - len(old) > 20
    assert renew(session) == Loaded(0, 0, 0) and statuses(session) == found
    assert of(session, TWICE).status is Status.SUPERSEDED
    by = select(Reviewer.name, func.count()).join(Decision).group_by(Reviewer.name)
    assert dict(session.execute(by).all())[SECOND] == added.decisions
    with opened(copies.project(tmp_path / "new.db")) as engine, writing(engine) as other:
        load_new(other, wanted)
        assert statuses(other) == found


@pytest.mark.slow
def test_decisions_of_people_stay_unchanged(session: Session, wanted: set[str]) -> None:
    load_old(session, wanted)
    ada, kept = person(session, "Ada"), before(session, PLAIN)
    accept(session, shown(kept), reviewer_id=ada)
    reject(session, shown(before(session, TWICE)), reviewer_id=ada, reason="not_a_hedge")
    renew(session)
    assert statuses(session)[kept.uid] is Status.ACCEPTED
    texts = set(session.execute(select(col(Variant.text))).scalars())
    assert not texts & {PLAIN["text"], TWICE["text"]}


@pytest.mark.slow
def test_an_anchor_that_was_corrected_or_retired_gets_nothing_new(
    session: Session, wanted: set[str]
) -> None:
    load_old(session, wanted)
    session.execute(update(Anchor).values(revision=2))
    assert renew(session) == Loaded(0, 0, 0)


@pytest.mark.slow
def test_unsupported_variants_are_accepted_in_its_name_but_for_the_pending_fifth(
    session: Session, wanted: set[str]
) -> None:
    load_new(session, wanted)
    accepts = (col(Decision.variant_id) == Variant.id) & (col(Decision.verdict) == Verdict.ACCEPT)
    rows = session.execute(
        select(col(Anchor.uid), col(Variant.status), col(Reviewer.name))
        .select_from(Variant)
        .join(Anchor, col(Anchor.id) == Variant.anchor_id)
        .outerjoin(Decision, accepts)
        .outerjoin(Reviewer, col(Reviewer.id) == Decision.reviewer_id)
        .where(col(Variant.type_id) == "unsupported", col(Variant.parent_id).is_(None))
    ).all()
    found = {(in_pending_fifth(uid), status, name) for uid, status, name in rows}
    edited = {one for one in found if one[1] is Status.SUPERSEDED}  # by its own edit
    assert found - edited == {
        (True, Status.PENDING, None),
        (False, Status.ACCEPTED, SECOND),
    }


def test_nobody_can_review_under_its_name() -> None:
    assert is_reserved(SECOND.upper())


TYPES = [entry.id for entry in TAXONOMY][:7]  # from the paper, and the negated antonym
SECOND_FILE = STARTER.second_types  # written later, and only judged by the second reviewer
FAMILIES, REVIEWS, SECOND_REVIEWS = STARTER.families(), STARTER.reviews(), STARTER.second_reviews()
README = STARTER.readme


def _table(heading: str, after: str = "") -> dict[str, list[str]]:
    """The body of the first table after a text whose header row begins with `heading`."""
    pattern = rf"^\| {heading} \|.*\n\|[-|]+\|\n((?:\|.*\n)+)"
    block = re.search(pattern, README[README.index(after) :], re.MULTILINE)
    assert block, heading
    rows = [[cell.strip(" `") for cell in row.split("|")[1:-1]] for row in block[1].splitlines()]
    return {row[0]: row[1:] for row in rows}


def _texts(family: dict[str, Any], types: Sequence[str] = TYPES) -> dict[str, str]:
    entries = {t: family[t] for t in types if t in family}
    return {t: e["text"] if isinstance(e, dict) else e for t, e in entries.items()}


def test_every_family_is_complete_and_within_the_filter() -> None:
    required = {"anchor", "genre", *TYPES} - {"negated_antonym"}
    for family in FAMILIES:
        assert required <= set(family) <= required | {"negated_antonym", *SECOND_FILE}
        assert canonical(family["anchor"]) == family["anchor"]
        for text in _texts(family).values():
            assert Levenshtein.distance(family["anchor"], text) <= LEVENSHTEIN_THRESHOLD
        for kind in ("word", "phrase"):
            assert family[kind]["cue"] in HEDGE_CUES[kind]
    assert len({anchor_uid(family["anchor"]) for family in FAMILIES}) == len(FAMILIES)


def test_each_review_edits_or_rejects_what_is_there_for_a_known_reason() -> None:
    left = {
        (family["anchor"], t): text
        for family in FAMILIES
        for t, text in _texts(family, [*TYPES, *SECOND_FILE]).items()
    }
    for review in REVIEWS:
        key = review["anchor"], review["type"]
        assert (review["verdict"] == "edit") == bool(review.get("text"))
        left[key] = review.get("text", "") if key in left else pytest.fail(str(key))
    assert len({(review["anchor"], review["type"]) for review in SECOND_REVIEWS}) == len(
        SECOND_REVIEWS
    )
    for review in SECOND_REVIEWS:
        assert review["verdict"] == "edit"
        assert review["type"] in {"absolute", "word", "phrase", *SECOND_FILE}
        assert canonical(review["text"]) == review["text"]
        current = left[review["anchor"], review["type"]]
        assert current and review["text"] not in (current, review["anchor"])
    for review in [*REVIEWS, *SECOND_REVIEWS]:
        reject_reason(review["reason"])
        assert review.get("cue") is None or review["cue"] in HEDGE_CUES[review["type"]]


def test_the_readme_counts_the_second_review() -> None:
    edited = Counter(review["type"] for review in SECOND_REVIEWS)
    types = ("absolute", "word", "phrase", *SECOND_FILE)
    read = {t: sum(t in family for family in FAMILIES) for t in types}
    table = _table("type", after="The second review:")
    assert table.pop("all") == [f"{sum(read.values()):,}", str(len(SECOND_REVIEWS))]
    assert table == {t: [f"{read[t]:,}", str(edited[t])] for t in read}
    reasons = Counter(review["reason"] for review in SECOND_REVIEWS)
    table = _table("reason", after="Edits of the second review, by reason:")
    assert {k: int(v[0]) for k, v in table.items()} == reasons
    applied = sum(not in_pending_fifth(anchor_uid(one["anchor"])) for one in SECOND_REVIEWS)
    assert f"only {applied} of the second review's {len(SECOND_REVIEWS)} edits" in README


def test_the_readme_counts_by_type() -> None:
    table = _table("type")
    variants = Counter(t for family in FAMILIES for t in _texts(family))
    verdicts = Counter((review["type"], review["verdict"]) for review in REVIEWS)
    for t in [*TYPES, "all"]:
        chosen = TYPES if t == "all" else [t]
        n = sum(variants[c] for c in chosen)
        edits, rejects = (sum(verdicts[c, v] for c in chosen) for v in ("edit", "reject"))
        left = n - edits - rejects
        assert table[t] == [f"{n:,}", f"{left:,}", f"{edits:,}", str(rejects), f"{left / n:.1%}"]
    all_ = variants.total() + sum(t in family for family in FAMILIES for t in SECOND_FILE)
    assert f"{len(FAMILIES):,} affirmative English sentences with {all_:,}" in README
