"""Exports: how other programs read them, hostile texts, and equal bytes."""

import csv
import json
import re
from pathlib import Path

import pytest
from sqlalchemy import Engine
from sqlalchemy.orm import Session

from curation.anchors.importing.formats import read_file
from curation.release.export.release_folder import export_release
from curation.release.export.table_rows import TABLES_OF, read_table
from curation.release.export.zip_file import zip_export
from curation.release.freezing import create_release
from curation.release.triples import triple_rows
from db.engine import reading, writing
from db.models import Release, Split
from tests.curation.support.exported import body, contents, opened, tables_in, ten_anchors
from tests.curation.support.families import add_family, add_plain_family
from tests.support.databases import both_databases
from tests.support.hostile import stored

HOSTILE = [*stored().values(), "'=already quoted", "'Tis the season", "-2", "x" * 5000]


@both_databases
def test_datasets_opens_a_release_of_ten_anchors(engine: Engine, tmp_path: Path) -> None:
    with writing(engine) as session:
        release = ten_anchors(session)
    with reading(engine) as session:
        folder = export_release(session, release, tmp_path / "out", format="hf")
        expected = {
            split: {row.triple for row in triple_rows(session, release.id, split=split)}
            for split in Split
        }
    assert set(tables_in(folder)) == {"triples", "variants", "families"}
    found = opened(folder, "triples", tmp_path / "cache")
    assert set(found) == {split for split in Split if expected[split]} < set(Split)
    for split, rows in found.items():
        texts = [(row["anchor"], row["positive"], row["negative"]) for row in rows]
        assert set(texts) == expected[Split(split)]
        assert all(row["split"] == split for row in rows)
    variants = opened(folder, "variants", tmp_path / "cache")
    assert sum(map(len, variants.values())) == 30
    assert variants["train"][0]["polarity"] in ("negative", "positive")
    assert variants["train"][0]["adjudicated"] is False


@pytest.mark.parametrize(
    ("format", "tables"), [("jsonl", ["families", "triples", "variants"]), ("pairs", ["pairs"])]
)
def test_datasets_opens_the_other_formats_too(
    format: str, tables: list[str], engine: Engine, tmp_path: Path
) -> None:
    with writing(engine) as session:
        release = ten_anchors(session)
    with reading(engine) as session:
        folder = export_release(session, release, tmp_path / "out", format=format)
        expected = {
            table: list(read_table(session, release.id, table)) for table in TABLES_OF[format]
        }
    assert sorted(tables_in(folder)) == tables
    assert tables_in(folder)[0] == TABLES_OF[format][0]
    for table in tables:
        found = opened(folder, table, tmp_path / "cache")
        assert list(found) == ["whole"]
        rows = [[value or "" for value in row.values()] for row in found["whole"]]
        assert rows == [[value or "" for value in row] for row in expected[table]]
    first = opened(folder, None, tmp_path / "cache")
    assert len(first["whole"]) == len(expected[TABLES_OF[format][0]]), "the first table"


def test_every_split_with_rows_is_there(engine: Engine, tmp_path: Path) -> None:
    with writing(engine) as session:
        for number, split in enumerate(Split):
            add_plain_family(session, number, split=split)
        release = create_release(session).release
        folder = export_release(session, release, tmp_path / "out")
    found = opened(folder, "triples", tmp_path / "cache")
    assert {name: len(rows) for name, rows in found.items()} == dict.fromkeys(map(str, Split), 2)
    assert found["validation"][0]["anchor"] == "Door 1 is open."


def test_only_the_train_split_if_no_other_has_rows(engine: Engine, tmp_path: Path) -> None:
    with writing(engine) as session:
        add_plain_family(session, 1, split=Split.TRAIN)
        # A test anchor without a positive has variants to test on, but no triples.
        add_family(session, "It is late.", {"verbal": ["It is not late."]}, split=Split.TEST)
        release = create_release(session).release
        folder = export_release(session, release, tmp_path / "out")
    assert set(opened(folder, "triples", tmp_path / "cache")) == {"train"}
    assert set(opened(folder, "variants", tmp_path / "cache")) == {"train", "test"}
    assert not (folder / "triples" / "test.parquet").exists()


def test_a_release_without_triples_has_variants_and_says_so(engine: Engine, tmp_path: Path) -> None:
    with writing(engine) as session:
        add_family(session, "It is late.", {"verbal": ["It is not late."]}, split=Split.TRAIN)
        folder = export_release(session, create_release(session).release, tmp_path / "out")
    assert tables_in(folder) == ["variants", "families"]
    assert len(opened(folder, "variants", tmp_path / "cache")["train"]) == 1
    assert "so there is no `triples`" in body(folder)


def test_pairs_leave_out_what_is_neither_the_same_nor_a_contradiction(
    engine: Engine, tmp_path: Path
) -> None:
    texts = {"verbal": ["It is not late."], "unsupported": ["Nobody knows whether it is late."]}
    with writing(engine) as session:
        add_family(session, "It is late.", texts, split=Split.TRAIN)
        release = create_release(session).release
        pairs = export_release(session, release, tmp_path / "pairs", format="pairs")
        lines = export_release(session, release, tmp_path / "jsonl", format="jsonl")
    with (pairs / "pairs.csv").open(encoding="utf-8-sig", newline="") as file:
        assert [row["sentence2"] for row in csv.DictReader(file)] == ["It is not late."]
    found = [json.loads(line) for line in (lines / "variants.jsonl").open(encoding="utf-8")]
    assert {row["polarity"] for row in found} == {"negative", "neutral"}


@both_databases
def test_a_family_groups_its_variants_by_role(engine: Engine, tmp_path: Path) -> None:
    texts = {
        "verbal": ["It is not late."],
        "unsupported": ["Nobody knows whether it is late."],
        "word": ["It may be late."],
        "negated_antonym": ["It is not early."],
    }
    with writing(engine) as session:
        add_family(session, "It is late.", texts, split=Split.TRAIN)
        add_family(session, "It is hot.", {"verbal": ["It is not hot."]}, split=Split.TEST)
        release = create_release(session).release
        folder = export_release(session, release, tmp_path / "hf", format="hf")
        lines = export_release(session, release, tmp_path / "jsonl", format="jsonl")
    found = opened(folder, "families", tmp_path / "cache")
    (late,), (hot,) = found["train"], found["test"]
    assert late["paraphrases"] == ["It is not early."] and late["hedges"] == ["It may be late."]
    assert late["unsupported"] == ["Nobody knows whether it is late."]
    assert late["negations"] == ["It is not late."]
    assert (hot["anchor"], hot["hedges"]) == ("It is hot.", [])
    rows = [json.loads(line) for line in (lines / "families.jsonl").open(encoding="utf-8")]
    assert sorted(rows, key=str) == sorted([late, hot], key=str)


def hostile_release(session: Session) -> Release:
    for number, text in enumerate(HOSTILE):
        add_family(
            session,
            text,
            {"word": [f"{text} (hedged)"], "verbal": [f"{text} (negated)"]},
            split=Split.TRAIN,
            cue=text[:200] if number % 2 else None,
        )
    return create_release(session).release


@both_databases
def test_hostile_texts_pass_unchanged(engine: Engine, tmp_path: Path) -> None:
    with writing(engine) as session:
        release = hostile_release(session)
        folder = export_release(session, release, tmp_path / "hf", format="hf")
        lines = export_release(session, release, tmp_path / "jsonl", format="jsonl")
    variants = opened(folder, "variants", tmp_path / "cache")["train"]
    assert {row["anchor"] for row in variants} == set(HOSTILE)
    assert {row["text"] for row in variants} == {
        f"{text} ({kind})" for text in HOSTILE for kind in ("hedged", "negated")
    }
    cues = {row["anchor"]: row["cue"] for row in variants}
    assert cues == {text: text[:200] if n % 2 else None for n, text in enumerate(HOSTILE)}
    found = [json.loads(line) for line in (lines / "variants.jsonl").open(encoding="utf-8")]
    assert found == variants
    pairs = [json.loads(line) for line in (lines / "triples.jsonl").open(encoding="utf-8")]
    assert pairs == opened(folder, "triples", tmp_path / "cache")["train"]


def test_no_cell_of_the_csv_file_is_a_formula(engine: Engine, tmp_path: Path) -> None:
    with writing(engine) as session:
        release = hostile_release(session)
        folder = export_release(session, release, tmp_path / "out", format="pairs")
    with (folder / "pairs.csv").open(encoding="utf-8-sig", newline="") as file:
        rows = list(csv.DictReader(file))
    cells = [cell for row in rows for cell in row.values()]
    assert not [cell for cell in cells if cell[:1] in ("=", "+", "-", "@", "\t", "\r")]
    # After undoing the escapes as the card says, every text is unchanged.
    undone = {re.sub("^'(?='*[=+@＝＋－＠-])", "", row["sentence1"]) for row in rows}
    assert undone == set(HOSTILE)
    again = read_file((folder / "pairs.csv").read_bytes(), name="pairs.csv")
    assert set(again.cells["sentence1"]) == set(HOSTILE)
    assert again.notes
    assert {row["sentence1"] for row in rows} >= {"''=already quoted", "'Tis the season", "'-2"}
    assert {(row["polarity"], row["label"]) for row in rows} == {
        ("positive", "1"),
        ("negative", "0"),
    }


def test_the_same_release_gives_the_same_bytes(engine: Engine, tmp_path: Path) -> None:
    with writing(engine) as session:
        release = ten_anchors(session)
    for format in ("hf", "jsonl", "pairs"):
        with reading(engine) as session:
            first = export_release(session, release, tmp_path / "a", format=format)  # type: ignore[arg-type]
            second = export_release(session, release, tmp_path / "b", format=format)  # type: ignore[arg-type]
        assert contents(first) == contents(second)
        assert zip_export(first).read_bytes() == zip_export(second).read_bytes()


def test_equal_releases_of_two_databases_give_equal_tables(engine: Engine, tmp_path: Path) -> None:
    tables = []
    for numbers in ([1, 2, 3], [3, 2, 1]):
        with writing(engine) as session:
            for number in numbers:
                add_plain_family(session, number)
            release = create_release(session).release
            folder = export_release(session, release, tmp_path / "out")
            tables.append({k: v for k, v in contents(folder).items() if k.endswith(".parquet")})
            session.rollback()
    assert tables[0] == tables[1]
