"""Loading the corpora: variants without a review are pending, and loading twice changes nothing."""

from collections import Counter

import pytest
from sqlalchemy import Engine, func, select
from sqlmodel import col

from curation.anchors.changes import correct_anchor
from curation.anchors.importing.formats import read_pasted
from curation.anchors.importing.insert import About, add_anchors
from curation.anchors.importing.preview import preview
from curation.anchors.sources import sources_in_use
from curation.content_uids import anchor_uid
from curation.corpora import corpus_run
from curation.corpora.corpus import CORPORA, Corpus
from curation.corpora.loading import KIND, Loaded, add_families, load, missing_families
from curation.diagnostics.measuring import measure_variants
from curation.review.bulk import apply_rule, parse_rule
from curation.review.undo import undo
from curation.taxonomy.project_types import seed_taxonomy
from db.engine import reading, writing
from db.models import Anchor, Diagnostic, Source, Split, Status, Variant, Verdict
from db.runs import create_run
from tests.support.databases import both_databases
from tests.support.factories import add_family, person

FREE = [CORPORA["antonyms"], CORPORA["claims"]]
some_families = pytest.mark.parametrize("corpus", FREE, ids=lambda corpus: corpus.id)


def add_some(engine: Engine, corpus: Corpus, count: int = 60) -> Loaded:
    """Load the corpus' first families."""
    with writing(engine) as session:
        seed_taxonomy(session)
        run = create_run(session, kind=KIND, parameters={})
        missing = missing_families(session, corpus)
        return add_families(session, corpus, dict([*missing.items()][:count]), run_id=run.id)


def statuses(engine: Engine) -> Counter[Status]:
    with reading(engine) as session:
        query = select(col(Variant.status), func.count()).group_by(col(Variant.status))
        return Counter(dict(session.execute(query).all()))


@both_databases
@some_families
def test_unreviewed_variants_are_pending_and_measured(engine: Engine, corpus: Corpus) -> None:
    loaded = add_some(engine, corpus)
    found = statuses(engine)
    assert found[Status.ACCEPTED] == found[Status.SUPERSEDED]  # only by the edits of its review
    assert found.total() == loaded.variants
    assert found[Status.PENDING] > 0.8 * loaded.variants
    with reading(engine) as session:
        measured = session.execute(select(func.count()).select_from(Diagnostic)).scalar_one()
    assert measured == loaded.variants


@both_databases
@some_families
def test_every_variant_keeps_the_source_of_its_anchor(engine: Engine, corpus: Corpus) -> None:
    with writing(engine) as session:
        add_family(session)  # so that the ids of sources and anchors differ
    add_some(engine, corpus, 10)
    with reading(engine) as session:
        query = select(col(Anchor.source_id), col(Variant.source_id)).join(
            Variant, col(Variant.anchor_id) == col(Anchor.id)
        )
        found = set(session.execute(query).all())
        names = sources_in_use(session)
    assert {tuple(row) for row in found} == {(1, 1), (2, 2)}
    assert names == {1: "test", 2: corpus.source}


def test_an_anchor_that_is_known_is_left_unchanged(engine: Engine) -> None:
    corpus = CORPORA["claims"]
    text = corpus.families()[0]["anchor"]
    with writing(engine) as session:
        add_family(session, text)
    with reading(engine) as session:
        missing = missing_families(session, corpus)
    assert all(family["anchor"] != text for some in missing.values() for family in some)


def test_the_anchors_of_a_pair_of_opposites_share_a_split(engine: Engine) -> None:
    corpus = CORPORA["antonyms"]
    pairs: dict[str, set[str]] = {}
    of_pair: dict[str, list[str]] = {}
    for family in corpus.families():
        of_pair.setdefault(family["pair"], []).append(family["anchor"])
    shared = {text for texts in of_pair.values() if len(texts) > 4 for text in texts}
    with writing(engine) as session:
        seed_taxonomy(session)
        run = create_run(session, kind=KIND, parameters={})
        missing = {
            uid: some
            for uid, some in missing_families(session, corpus).items()
            if some[0]["anchor"] in shared
        }
        add_families(session, corpus, missing, run_id=run.id)
        split = dict(session.execute(select(col(Anchor.uid), col(Anchor.split))).all())
    for uid, some in missing.items():
        pairs.setdefault(some[0]["pair"], set()).add(split[uid])
    assert all(len(found) == 1 for found in pairs.values())
    assert len({one for found in pairs.values() for one in found}) > 1


@pytest.mark.slow
def test_every_antonym_pair_stays_in_one_split_whatever_happens_to_its_anchors(
    engine: Engine,
) -> None:
    corpus = CORPORA["antonyms"]
    pairs: dict[str, set[str]] = {}
    for family in corpus.families():
        pairs.setdefault(family["pair"], set()).add(anchor_uid(family["anchor"]))
    with writing(engine) as session:
        load(session, corpus)

    def splits() -> dict[str, Split]:
        with reading(engine) as session:
            return dict(session.execute(select(col(Anchor.uid), col(Anchor.split))).all())

    found = splits()
    assert all(len({found[uid] for uid in uids}) == 1 for uids in pairs.values())
    assert len(found) == corpus.anchors and set(found.values()) == set(Split)
    text = corpus.families()[0]["anchor"]
    with writing(engine) as session:
        anchor = session.execute(select(Anchor).where(col(Anchor.uid) == anchor_uid(text))).scalar()
        assert anchor is not None
        ada, new = person(session), "The patient in bed five stayed awake."
        correct_anchor(session, anchor.id, new, reviewer_id=ada, expected_revision=1)
    for again in (text, new):  # a user has the sentence in a file, unchanged or corrected
        with writing(engine) as session:
            shown = preview(session, read_pasted(again), column="text")
            add_anchors(session, shown, shown.chosen(), about=About(source="mine"))
    with writing(engine) as session:
        assert load(session, corpus) == Loaded(0, 0, 0)
    assert splits() == found


def test_a_rule_takes_the_unflagged_of_one_source_and_one_undo_restores_them(
    engine: Engine,
) -> None:
    corpus = CORPORA["antonyms"]
    add_some(engine, corpus)
    with writing(engine) as session:
        add_family(session, "The lamp is lit.")
        measure_variants(session, session.execute(select(col(Variant.id))).scalars())
        ada = person(session, "Ada")
    before = statuses(engine)
    with writing(engine) as session:
        rule = corpus_run.unflagged(corpus)
        applied = apply_rule(session, rule, verdict=Verdict.ACCEPT, reviewer_id=ada)
    assert applied.matches.total > 100
    with reading(engine) as session:
        query = (
            select(col(Source.name).distinct())
            .join(Anchor, col(Anchor.source_id) == Source.id)
            .join(Variant, col(Variant.anchor_id) == Anchor.id)
            .where(col(Variant.status) == Status.ACCEPTED)
        )
        assert list(session.execute(query).scalars()) == [corpus.source]
    with writing(engine) as session:
        undo(session, reviewer_id=ada)
    assert statuses(engine) == before


def test_a_second_loading_adds_nothing(engine: Engine) -> None:
    with writing(engine) as session:
        load(session, CORPORA["starter"])
    with writing(engine) as session:
        assert load(session, CORPORA["starter"]) == Loaded(0, 0, 0)


@pytest.mark.parametrize("corpus", CORPORA.values(), ids=lambda corpus: corpus.id)
def test_a_corpus_says_who_wrote_and_reviewed_it_and_under_which_licence(corpus: Corpus) -> None:
    words = corpus.readme
    assert "language model" in words and "CC BY 4.0" in words and "review" in words
    assert parse_rule(f"no flags and source = {corpus.source}").clauses
    assert len({anchor_uid(family["anchor"]) for family in corpus.families()}) == corpus.anchors


def test_a_corpus_that_was_reviewed_whole_has_what_its_reviewer_rejected_and_accepted(
    engine: Engine,
) -> None:
    corpus = CORPORA["exclusions"]
    rejected = {review["of"] for review in corpus.reviews()}
    add_some(engine, corpus, count=corpus.anchors)
    with reading(engine) as session:
        query = select(col(Variant.text), col(Variant.status))
        found = session.execute(query).all()
    assert {status for _, status in found} == {Status.ACCEPTED, Status.REJECTED, Status.PENDING}
    refused = {text for text, status in found if status == Status.REJECTED}
    assert refused and refused <= rejected
    assert not any(text in rejected for text, status in found if status == Status.ACCEPTED)
