"""SemAntoNeg without the antonym pairs of a model's release."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from sqlalchemy import Engine
from sqlalchemy.orm import Session

from curation.encoders.model_folders import TRAINED_ENCODER
from curation.release.freezing import create_release
from db.engine import reading, writing
from db.models import Encoder, Release, Split
from db.settings import Settings
from tests.curation.support.families import add_family
from tests.support.benchmark_results import add_result
from tests.support.databases import both_databases
from tests.training.benchmarks.support.samples import semantoneg_rows, write_lines
from training.benchmarks.results.queries import newest
from training.benchmarks.results.unseen_antonyms import (
    UnseenScore,
    pairs_in_corpora,
    taught_pairs,
    unseen_scores,
)
from training.benchmarks.tasks.semantoneg import Entry, SemAntoNeg

pytestmark = both_databases


def release_of(session: Session, anchor: str, lexical: str, both: str) -> Release:
    """The next release, with one more anchor."""
    forms = {"verbal": [f"{anchor} Not."], "lexical": [lexical], "negated_antonym": [both]}
    add_family(session, anchor, forms, split=Split.TRAIN)
    return create_release(session).release


def test_the_antonyms_that_a_release_teaches(engine: Engine) -> None:
    """One word is in an anchor and the other is new in a variant, whatever else differs."""
    asked = {"cold / hot", "cold / warm", "narrow / wide", "easy / hard"}
    with writing(engine) as session:
        first = release_of(session, "Tea is cold.", "Tea is hot.", "Tea is by no means warm.")
        tea = {"cold / hot", "cold / warm"}
        assert taught_pairs(session, first, asked) == tea
        road = "A road is narrow.", "It is no road at all.", "Far from wide is that road."
        second = release_of(session, *road)
        assert taught_pairs(session, second, asked) == tea | {"narrow / wide"}
        assert taught_pairs(session, first, asked) == tea
        assert taught_pairs(session, second, {"easy / hard"}) == set()


@pytest.fixture
def data(tmp_path: Path) -> SemAntoNeg:
    """Six items: two of cold and hot, two of narrow and wide, two of easy and hard."""
    return SemAntoNeg.read(write_lines(tmp_path / "s.jsonl", semantoneg_rows()))


def test_only_training_data_of_a_model_and_its_bases_is_left_out(
    engine: Engine, settings: Settings, data: SemAntoNeg
) -> None:
    right, wrong = np.array([0.1, 0.2, 0.9]), np.array([0.9, 0.2, 0.1])
    result = data.evaluate([right, right, right, wrong, wrong, wrong])
    with writing(engine) as session:
        one = release_of(session, "Tea is cold.", "Tea is hot.", "Tea is not hot.")
        two = release_of(session, "A road is wide.", "A road is narrow.", "A road is not narrow.")
        base = Encoder(name="base", fingerprint="a" * 64)
        session.add(base)
        session.flush()
        first = Encoder(name="run 1", fingerprint="b" * 64, base_id=base.id, release_id=one.id)
        session.add(first)
        session.flush()
        session.add(
            Encoder(name="run 2", fingerprint="c" * 64, base_id=first.id, release_id=two.id)
        )
        for name, letter in (("base", "a"), ("run 1", "b"), ("run 2", "c"), ("other", "f")):
            add_result(session, settings.data_folder, name, result, hash_=letter * 64)
    with reading(engine) as session:
        rows = {row.model: row for row in newest(session)}
        found = unseen_scores(session, settings.data_folder, rows.values())
    assert found == {
        rows["run 1"].id: UnseenScore((1,), 25.0, 4, 2),
        rows["run 2"].id: UnseenScore((1, 2), 0.0, 2, 4),
    }
    assert found[rows["run 1"].id].description == (
        "25.0 over the 4 items whose antonym pair is not in release 1; 2 excluded."
    )
    facts = found[rows["run 2"].id].facts
    wanted = {"releases": [1, 2], "score": 0.0, "n": 2, "left_out": 4, "bundled": False}
    assert facts == wanted


def test_the_bundled_model_and_what_was_trained_from_it_were_taught_the_corpora(
    engine: Engine, settings: Settings, tmp_path: Path
) -> None:
    pairs = [("cold", "hot"), ("flurbish", "quorvid")]
    corpora = pairs_in_corpora(frozenset(" / ".join(pair) for pair in pairs))
    assert corpora == {"cold / hot"}
    data = SemAntoNeg(
        [
            Entry(str(n), f"Tea is {one}.", (f"Tea is {other}.", "Tea is it.", f"Not {other}."))
            for n, (one, other) in enumerate(pairs)
        ]
    )
    result = data.evaluate([np.array([0.9, 0.2, 0.1]), np.array([0.1, 0.2, 0.9])])
    with writing(engine) as session:
        base = Encoder(name=TRAINED_ENCODER, fingerprint="a" * 64)
        session.add(base)
        session.flush()
        session.add(Encoder(name="run 1", fingerprint="b" * 64, base_id=base.id))
        for name, letter in ((TRAINED_ENCODER, "a"), ("run 1", "b"), ("other", "f")):
            add_result(session, settings.data_folder, name, result, hash_=letter * 64)
    with reading(engine) as session:
        rows = {row.model: row for row in newest(session)}
        found = unseen_scores(session, settings.data_folder, rows.values())
    score = UnseenScore((), 100.0, 1, 1, bundled=True)
    assert found == {rows[TRAINED_ENCODER].id: score, rows["run 1"].id: score}
    assert score.description == (
        "100.0 over the 1 item whose antonym pair is not in the corpora that come with "
        "Hedgerow; 1 excluded."
    )


def test_without_items_there_is_no_score() -> None:
    sentence = UnseenScore((3,), None, 0, 6).description
    assert sentence == "The antonym pairs of all items are in release 3."
