"""The second review of the starter corpus: what it changes, and what it leaves to people."""

from collections import Counter
from pathlib import Path

import pytest
from sqlalchemy import Engine, func, select, update
from sqlalchemy.orm import Session
from sqlmodel import col

from curation.content_uids import anchor_uid, in_pending_fifth
from curation.corpora.corpus import STARTER
from curation.corpora.loading import (
    KIND,
    Families,
    Loaded,
    add_families,
    add_what_is_new,
    missing_families,
)
from curation.review.actions import accept, reject, shown
from curation.review.opinions.model_verdicts import model_reviewers, switch
from curation.review.people.reviewers import is_reserved
from curation.review.settling import contested
from curation.taxonomy.project_types import seed_taxonomy
from db.engine import reading, writing
from db.models import Anchor, Decision, Reviewer, Status, Variant, Verdict
from db.runs import create_run
from tests.support.databases import Copies, both_databases, opened
from tests.support.factories import person

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


@pytest.fixture(scope="module")
def wanted() -> set[str]:
    """Some anchors with remarks of the second review, and some without."""
    reviewed = [PLAIN, TWICE, *STARTER.second_reviews()[::8]]
    families = STARTER.families()[::30]
    return {anchor_uid(one["anchor"]) for one in [*reviewed, *families]}


def some(session: Session, wanted: set[str]) -> Families:
    seed_taxonomy(session)
    found = missing_families(session, STARTER)
    return {uid: families for uid, families in found.items() if uid in wanted}


def load_new(engine: Engine, wanted: set[str]) -> Loaded:
    with writing(engine) as session:
        run = create_run(session, kind=KIND, parameters={})
        return add_families(session, STARTER, some(session, wanted), run_id=run.id)


def load_old(engine: Engine, wanted: set[str]) -> None:
    """Loaded by an old version of Hedgerow without unsupported variants and a second review."""
    with writing(engine) as session:
        run = create_run(session, kind=KIND, parameters={})
        families = {
            uid: [{k: v for k, v in one.items() if k != "unsupported"} for one in found]
            for uid, found in some(session, wanted).items()
        }
        add_families(session, WITHOUT, families, run_id=run.id)


def renew(engine: Engine) -> Loaded:
    with writing(engine) as session:
        run = create_run(session, kind=KIND, parameters={})
        return add_what_is_new(session, STARTER, run_id=run.id)


def statuses(engine: Engine) -> dict[str, Status]:
    with reading(engine) as session:
        found: dict[str, Status] = dict(
            session.execute(select(col(Variant.uid), col(Variant.status))).all()
        )
        return found


def find(session: Session, text: str) -> Variant:
    return session.execute(select(Variant).where(col(Variant.text) == text)).scalar_one()


def of(session: Session, review: dict[str, str]) -> Variant:
    """The variant with a remark of the second review, as the first review left it."""
    made = find(session, review["text"])
    assert made.parent_id is not None
    return session.get_one(Variant, made.parent_id)


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


@both_databases
def test_its_edits_replace_what_the_first_review_had_accepted(
    engine: Engine, wanted: set[str]
) -> None:
    load_new(engine, wanted)
    with reading(engine) as session:
        for review in (PLAIN, TWICE):
            target = of(session, review)
            assert target.status is Status.SUPERSEDED
            assert find(session, review["text"]).status is Status.ACCEPTED
            assert (target.parent_id is not None) == (review is TWICE)
            assert not contested(session, [target])  # models need no person to settle it
        assert Status.CONFLICT not in statuses(engine).values()


@both_databases
def test_upgrading_an_older_project_gives_the_current_state_and_is_idempotent(
    engine: Engine, wanted: set[str]
) -> None:
    load_old(engine, wanted)
    old = statuses(engine)
    added = renew(engine)
    assert added.anchors == 0
    assert added.variants == len(statuses(engine)) - len(old) > 20
    now = statuses(engine)
    assert renew(engine) == Loaded(0, 0, 0)
    assert statuses(engine) == now
    assert Counter(now.values())[Status.CONFLICT] == 0
    with reading(engine) as session:
        assert of(session, TWICE).status is Status.SUPERSEDED
        by = select(Reviewer.name, func.count()).join(Decision).group_by(Reviewer.name)
        assert dict(session.execute(by).all())[SECOND] == added.decisions


def test_an_older_project_ends_like_a_new_one(
    engine: Engine, wanted: set[str], copies: Copies, tmp_path: Path
) -> None:
    load_old(engine, wanted)
    renew(engine)
    with opened(copies.migrated(tmp_path / "new.db")) as other:
        load_new(other, wanted)
        assert statuses(engine) == statuses(other)


def test_decisions_of_people_stay_unchanged(engine: Engine, wanted: set[str]) -> None:
    load_old(engine, wanted)
    with writing(engine) as session:
        ada = person(session, "Ada")
        accept(session, shown(before(session, PLAIN)), reviewer_id=ada)
        reject(session, shown(before(session, TWICE)), reviewer_id=ada, reason="not_a_hedge")
        kept = before(session, PLAIN).uid
    renew(engine)
    assert statuses(engine)[kept] is Status.ACCEPTED
    with reading(engine) as session:
        texts = set(session.execute(select(col(Variant.text))).scalars())
    assert not texts & {PLAIN["text"], TWICE["text"]}


def test_an_anchor_that_was_corrected_or_retired_gets_nothing_new(
    engine: Engine, wanted: set[str]
) -> None:
    load_old(engine, wanted)
    with writing(engine) as session:
        session.execute(update(Anchor).values(revision=2))
    assert renew(engine) == Loaded(0, 0, 0)


def test_unsupported_variants_are_accepted_in_its_name_but_for_the_pending_fifth(
    engine: Engine, wanted: set[str]
) -> None:
    load_new(engine, wanted)
    with reading(engine) as session:
        rows = session.execute(
            select(col(Anchor.uid), col(Variant.status), col(Reviewer.name))
            .select_from(Variant)
            .join(Anchor, col(Anchor.id) == Variant.anchor_id)
            .outerjoin(
                Decision,
                (col(Decision.variant_id) == Variant.id)
                & (col(Decision.verdict) == Verdict.ACCEPT),
            )
            .outerjoin(Reviewer, col(Reviewer.id) == Decision.reviewer_id)
            .where(col(Variant.type_id) == "unsupported", col(Variant.parent_id).is_(None))
        ).all()
    assert {in_pending_fifth(uid) for uid, *_ in rows} == {True, False}
    for uid, status, name in rows:
        if in_pending_fifth(uid):
            assert (status, name) == (Status.PENDING, None)
        elif status is Status.ACCEPTED:
            assert name == SECOND
        else:
            assert status is Status.SUPERSEDED  # by its own edit


def test_switched_off_it_leaves_what_the_first_review_had_accepted(
    engine: Engine, wanted: set[str]
) -> None:
    load_new(engine, wanted)
    with writing(engine) as session:
        (second,) = [one for one in model_reviewers(session) if one.name == SECOND]
        switch(session, second.id, counts=False)
    with reading(engine) as session:
        assert of(session, PLAIN).status is Status.ACCEPTED


def test_nobody_can_review_under_its_name() -> None:
    assert is_reserved(SECOND.upper())
