"""Hedgerow's exports can be imported unchanged."""

from collections import Counter
from pathlib import Path

import pytest
from sqlalchemy import Engine

from curation.release.export.release_folder import export_release
from curation.release.export.zip_file import zip_export
from curation.release.freezing import create_release
from curation.taxonomy.own_types import add_type
from db.engine import reading, writing
from db.models import (
    Anchor,
    Reviewer,
    Split,
    Variant,
)
from db.settings import Settings
from tests.curation.support.families import add_family
from tests.curation.variants.importing.support.imports import HEDGED, all_of, load
from tests.support.databases import both_databases, one_database
from tests.support.factories import model, person

pytestmark = both_databases


@pytest.mark.parametrize("form", ["hf", "jsonl", "pairs"])
@pytest.mark.parametrize("zipped", [False, True])
def test_an_exported_release_comes_back_with_the_same_hash(
    seeded: Engine,
    settings: Settings,
    tmp_path: Path,
    second: Engine,
    form: str,
    zipped: bool,
) -> None:
    texts = {
        "verbal": ["The {} is not safe."],
        "absolute": ["No {} is safe."],
        "affixal": ["The {} is unsafe.", "=The {} is unsafe, says the sheet."],
        "lexical": ["The {} is dangerous."],
        "word": ["The {} is probably safe."],
        "phrase": ["I'm not entirely sure, but the {} is safe."],
        "negated_antonym": ["The {} is not dangerous."],
        "affirmation": ["The {} is safe indeed."],
        "free_hedge": ["The {} should be safe."],
        "free_contradiction": ["Nobody gets over the {} alive."],
        "doubt": ["I doubt that the {} is safe."],
    }
    if form != "pairs":  # variants that leave the claim open are not in any pair
        texts["unsupported"] = ["Nobody knows whether the {} is safe."]
    cues = {"word": "probably", "phrase": "not entirely sure", "doubt": "doubt"}
    with writing(seeded) as session:
        add_type(session, HEDGED, type_id="doubt")
        ada, llm = person(session), model(session)
        for number, subject in enumerate(("bridge", "ferry", "kiln")):
            family = {t: [one.format(subject) for one in some] for t, some in texts.items()}
            by = session.get_one(Reviewer, (ada, llm)[number % 2])
            add_family(session, f"The {subject} is safe.", family, by=by)
        for variant in all_of(session, Variant):
            variant.cue = cues.get(variant.type_id)
        anchor = all_of(session, Anchor)[0]
        anchor.split = next(split for split in Split if split != anchor.split)
        release = create_release(session).release
        content_hash, decided = release.content_hash, release.summary["decided_by"]
        place = export_release(session, release, tmp_path / "out", format=form)
    place = zip_export(place) if zipped else place

    with writing(second) as session:
        add_type(session, HEDGED, type_id="doubt")
    load(second, settings, place, accept=form == "pairs", reviewer="Bo")
    with writing(second) as session:
        again = create_release(session).release
        assert again.content_hash == content_hash
        if form != "pairs":  # which does not say who accepted
            assert again.summary["decided_by"] == decided


def test_typed_triples_keep_their_types_and_cues(seeded: Engine, settings: Settings) -> None:
    triple = {
        "anchor": "The bridge is safe.",
        "positive": "The bridge seems safe.",
        "negative": "The bridge is hardly safe.",
        "positive_type": "word",
        "negative_type": "free_contradiction",
        "positive_cue": "seems",
        "split": "test",
    }
    done = load(seeded, settings, [triple, triple | {"negative": "It is unsafe."}])
    assert done["types"] == {"word": 1, "free_contradiction": 2}
    with reading(seeded) as session:
        assert {v.cue for v in all_of(session, Variant)} == {"seems", None}
        assert [anchor.split for anchor in all_of(session, Anchor)] == [Split.TEST]


@one_database
def test_a_real_corpus_survives_export_and_import(
    starter_engine: Engine, settings: Settings, tmp_path: Path, second: Engine
) -> None:
    with writing(starter_engine) as session:
        release = create_release(session).release
        place = export_release(session, release, tmp_path / "out", format="hf")
        types = Counter(release.summary["types"])
    done = load(second, settings, place)
    assert done["types"] == types
    with writing(second) as session:
        again = create_release(session).release
    assert again.content_hash == release.content_hash
    assert again.summary["decided_by"] == release.summary["decided_by"]
