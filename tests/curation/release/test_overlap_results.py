"""Comparisons of releases with tests: what is stored, and how the results are described."""

import json
from dataclasses import replace
from pathlib import Path

import pytest
from sqlalchemy import Engine, select
from sqlmodel import col

from curation.release.freezing import create_release
from curation.release.overlap import Overlap, SharedText
from curation.release.overlap_fields import FieldOverlap
from curation.release.overlap_results import (
    FOLDER,
    OverlapWithTest,
    description,
    description_by_field,
    keep,
    kept,
    records_of,
    texts_of,
)
from db.engine import writing
from db.models import Variant
from tests.curation.support.families import add_plain_family
from tests.support.databases import both_databases

pytestmark = both_databases

HASH = "ab" * 32
EXAMPLE = SharedText(
    1, "Door 1 is *open* “now”.", "door 1 is open now", "Door 1 is open now!", True
)


def compared(
    *,
    release: str = HASH,
    key: str = "1" * 16,
    n: int = 5,
    overlapping: int = 2,
    exact: int = 1,
    problem: str = "",
) -> OverlapWithTest:
    found = Overlap(n, 1234, exact, overlapping, (EXAMPLE,))
    return OverlapWithTest(
        release, "semantoneg", "SemAntoNeg", "a.jsonl", key, found, ("ab",), problem
    )


def test_a_stored_result_is_read_unchanged(tmp_path: Path) -> None:
    others = [compared(n=7), compared(release="cd" * 32), compared(release=HASH[:-1] + "0")]
    mine = [compared(), compared(key="2" * 16, problem="It is gone.")]
    for one in mine + others:
        keep(tmp_path, one)
    assert kept(tmp_path, HASH) == mine[1:]  # a similar hash replaced the first
    keep(tmp_path, mine[0])
    keep(tmp_path, mine[0])
    assert kept(tmp_path, HASH) == mine
    assert kept(tmp_path, HASH, n=7) == others[:1] and kept(tmp_path, HASH, n=6) == []


def test_results_of_an_older_version_have_no_fields_and_are_incomplete(tmp_path: Path) -> None:
    """The release was never compared, which is not the same as having no overlap."""
    fields = (FieldOverlap("anchor", "query", 1, 2), FieldOverlap("anchor", "document", 0, 0))
    now = replace(compared(), fields=fields)
    keep(tmp_path, now)
    assert kept(tmp_path, HASH) == [now] and now.whole
    (path,) = (tmp_path / FOLDER).rglob("*.json")
    values = json.loads(path.read_text("utf-8"))
    del values["fields"]
    path.write_text(json.dumps(values), encoding="utf-8")
    (old,) = kept(tmp_path, HASH)
    assert old == compared() and not old.whole and "fields" not in old.facts
    assert replace(old, problem="It is gone.").whole
    assert description_by_field(old.facts) == ""
    assert description_by_field(now.facts) == (
        "Overlapping items by field (release / SemAntoNeg (a.jsonl)): anchor / query 2 (1 "
        "identical)."
    )


@pytest.mark.parametrize("content", ["", "{", "[]", "{}", '{"overlap": {"examples": [1]}}', "\xff"])
def test_a_mangled_file_counts_as_none(tmp_path: Path, content: str) -> None:
    keep(tmp_path, compared())
    (path,) = (tmp_path / FOLDER).rglob("*.json")
    path.write_bytes(content.encode("latin-1"))
    assert kept(tmp_path, HASH) == []


def test_it_gives_one_sentence() -> None:
    for facts, sentence in (
        (
            compared().facts,
            "2 of 1,234 items of SemAntoNeg (a.jsonl) share 5 consecutive words with "
            "the release; 1 has a text that is identical to one in it.",
        ),
        (
            compared(overlapping=1, exact=2, n=6).facts,
            "1 of 1,234 items of SemAntoNeg (a.jsonl) shares 6 consecutive words with the release; "
            "2 have a text that is identical to one in it.",
        ),
        (
            compared(overlapping=0, exact=0).facts,
            "None of 1,234 items of SemAntoNeg (a.jsonl) share 5 consecutive words with the "
            "release.",
        ),
        (
            compared(problem="It is gone.").facts,
            "SemAntoNeg (a.jsonl) was not compared: It is gone.",
        ),
    ):
        assert description(facts) == sentence


def test_the_texts_of_a_release_are_its_anchors_and_all_variants(engine: Engine) -> None:
    with writing(engine) as session:
        add_plain_family(session, 1)
        first = create_release(session).release
        add_plain_family(session, 2)
        create_release(session)
        assert sorted(texts_of(session, first.id)) == [
            "Door 1 is not open.",
            "Door 1 is open.",
            "Door 1 is probably open.",
            "Door 1 is shut.",
        ]


def test_a_text_of_a_release_leads_to_its_variant_or_to_one_of_its_anchor(engine: Engine) -> None:
    with writing(engine) as session:
        anchor = add_plain_family(session, 1)
        add_plain_family(session, 2)
        release = create_release(session).release
        texts = ["Door 1 is not open.", "Door 1 is open.", "Door 3 is open."]
        found = records_of(session, release.id, texts)
        query = select(col(Variant.uid), col(Variant.text)).where(Variant.anchor_id == anchor.id)
        uids = {text: uid for uid, text in session.execute(query)}
    assert found == {texts[0]: uids[texts[0]], texts[1]: min(uids.values())}
