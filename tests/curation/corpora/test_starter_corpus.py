"""Loading the bundled corpus: four fifths decided, one fifth pending, and loading twice changes
nothing."""

import pytest
from sqlalchemy import Engine, func, select
from sqlmodel import col

from curation.content_uids import in_pending_fifth
from curation.corpora.corpus import STARTER
from curation.corpora.loading import Loaded, load
from curation.review.queue import status_counts
from db.engine import reading, writing
from db.models import Anchor, Decision, Diagnostic, Reviewer, ReviewerKind, Split, Status, Variant
from tests.support.databases import both_databases


@pytest.mark.slow
@both_databases
def test_everything_arrives_and_a_second_loading_changes_nothing(starter_engine: Engine) -> None:
    with reading(starter_engine) as session:
        before = {
            table: session.execute(select(func.count()).select_from(table)).scalar_one()
            for table in (Anchor, Variant, Decision, Diagnostic)
        }
        counts = status_counts(session)
        # Every variant except edited ones comes from the families: 6 x 1,369 + 1,292 + 721.
        originals = select(func.count()).where(col(Variant.parent_id).is_(None))
        assert session.execute(originals).scalar_one() == 10_227
        people = select(Reviewer).where(col(Reviewer.kind) == ReviewerKind.PERSON)
        assert session.execute(people).first() is None
    assert before[Anchor] == 1369
    assert before[Diagnostic] == before[Variant]
    assert sum(number[Status.REJECTED] for number in counts.values()) == 1
    assert sum(number[Status.CONFLICT] for number in counts.values()) == 0
    with writing(starter_engine) as session:
        assert load(session, STARTER) == Loaded(0, 0, 0)
    with reading(starter_engine) as session:
        for table, number in before.items():
            assert session.execute(select(func.count()).select_from(table)).scalar_one() == number
        assert status_counts(session) == counts


def test_the_pending_fifth_is_undecided_and_spread_over_the_splits(starter_engine: Engine) -> None:
    with reading(starter_engine) as session:
        rows = session.execute(
            select(col(Anchor.uid), col(Anchor.split), func.count(Decision.id))
            .join(Variant, col(Variant.anchor_id) == Anchor.id)
            .outerjoin(Decision, col(Decision.variant_id) == Variant.id)
            .group_by(Anchor.uid, Anchor.split)
        ).all()
    pending = [row for row in rows if in_pending_fifth(row[0])]
    assert all(row[2] == 0 for row in pending)
    assert all(row[2] > 0 for row in rows if not in_pending_fifth(row[0]))
    assert 0.15 < len(pending) / len(rows) < 0.25
    for group in (pending, rows):
        train = sum(row[1] == Split.TRAIN for row in group) / len(group)
        assert 0.85 < train < 0.95


def test_an_edited_variant_names_what_it_was_made_from(starter_engine: Engine) -> None:
    with reading(starter_engine) as session:
        text = "Dark clouds hang over the fishing harbour, or so it seems."
        child = session.execute(select(Variant).where(col(Variant.text) == text)).scalar_one()
        parent = session.get_one(Variant, child.parent_id)
        assert (parent.status, child.status) == (Status.SUPERSEDED, Status.ACCEPTED)
        assert child.cue == parent.cue
