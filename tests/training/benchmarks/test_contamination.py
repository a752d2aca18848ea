"""Releases compared with the project's benchmarks: once, and reported in every card."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import Engine
from sqlalchemy.orm import Session

from curation.release.export.overlap_section import NOT_CHECKED
from curation.release.freezing import create_release
from curation.release.overlap_results import FOLDER, description
from db.engine import reading, writing
from db.errors import RunCancelled
from db.execution import execute
from db.models import Release
from db.runs import create_run, get_run
from db.settings import Settings
from tests.curation.support.families import add_plain_family
from tests.support.overlapping import SAID, keep_doors
from tests.training.benchmarks.support.samples import NEVIR, write_lines
from tests.training.support.trainings import ask, train
from training.benchmarks.contamination import (
    bundled_texts_description,
    compare,
    compare_bundled_texts,
    known,
    missing,
)
from training.benchmarks.data.sources import keep_file_here
from training.benchmarks.tasks.semantoneg import SemAntoNeg
from training.recipe.schema import Recipe
from training.retention.bundled_texts import texts_hash
from training.retention.documents import documents
from training.runs.kinds import WORK

ROW = "| SemAntoNeg | doors.jsonl | 4 | 5 | 2 | 50.0% | 2 |"


@pytest.fixture
def session(engine: Engine) -> Iterator[Session]:
    with writing(engine) as session:
        yield session


@pytest.fixture
def release(session: Session) -> Release:
    for number in range(4):
        add_plain_family(session, number)
    return create_release(session).release


def test_a_release_is_compared_with_all_that_is_kept(
    session: Session, release: Release, settings: Settings, tmp_path: Path
) -> None:
    folder = settings.data_folder
    assert known(folder) == [] and compare(session, folder, release) == []
    keep_doors(folder)
    keep_file_here(folder, "nevir", write_lines(tmp_path / "pairs.jsonl", NEVIR))
    seen: list[tuple[int, int, str]] = []
    nevir, own = compare(session, folder, release, report=lambda *reports: seen.append(reports))
    assert (nevir.title, nevir.data, nevir.shares) == ("NevIR", "pairs.jsonl", False)
    assert description(own.facts) == SAID and own.shares
    assert [(e.sample, e.exact, e.release_text) for e in own.overlap.examples] == [
        (0, True, "Door 1 is not open."),
        (2, True, "Door 3 is open."),
        (1, False, "Door 2 is probably open."),
    ]
    assert [step[:2] for step in seen] == [(0, 0), (0, 2), (1, 2)]
    assert own.fields is not None
    assert {part[:2]: part[2:] for part in own.fields} == {
        ("anchor", "query"): (1, 0),
        ("anchor", "document"): (0, 0),
        ("positive", "query"): (0, 1),
        ("positive", "document"): (0, 0),
        ("negative", "query"): (1, 1),
        ("negative", "document"): (0, 0),
    }, "exact and overlapping, of four items"


def test_results_of_an_older_version_are_compared_again_by_field(
    session: Session, release: Release, settings: Settings
) -> None:
    folder = settings.data_folder
    data = keep_doors(folder)
    (first,) = compare(session, folder, release)
    (path,) = (folder / FOLDER).rglob("*.json")
    values = json.loads(path.read_text("utf-8"))
    del values["fields"]
    path.write_text(json.dumps(values), encoding="utf-8")
    assert [known.data for known in missing(folder, release.content_hash)] == ["doors.jsonl"]
    assert compare(session, folder, release) == [first]
    assert missing(folder, release.content_hash) == []
    path.write_text(json.dumps(values), encoding="utf-8")
    (folder / data.file).unlink()
    (old,) = compare(session, folder, release)
    assert old.fields is None and description(old.facts) == SAID, (
        "the data are gone, so that it stays"
    )


def test_each_comparison_is_made_once(
    session: Session, release: Release, settings: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder, read = settings.data_folder, []
    keep_doors(folder)
    first = compare(session, folder, release)
    real = SemAntoNeg.read
    monkeypatch.setattr(
        SemAntoNeg, "read", classmethod(lambda kind, path: (read.append(path), real(path))[1])
    )
    assert compare(session, folder, release) == first and not read
    (longer,) = compare(session, folder, release, n=6)
    assert longer.overlap.overlapping == 0 and longer.overlap.exact == 2 and len(read) == 1
    add_plain_family(session, 9)
    later = create_release(session).release
    compare(session, folder, later)
    compare(session, folder, later)
    assert len(read) == 2
    next((folder / FOLDER).rglob("*-6.json")).write_text("mangled")
    assert compare(session, folder, release, n=6) == [longer]
    keep_doors(folder, "again.jsonl")  # the same content under another name
    assert len(known(folder)) == 1 and compare(session, folder, release) == first


def test_unreadable_data_is_reported_and_does_not_stop_the_rest(
    session: Session, release: Release, settings: Settings, tmp_path: Path
) -> None:
    folder = settings.data_folder
    data = keep_doors(folder)
    nevir = keep_file_here(folder, "nevir", write_lines(tmp_path / "pairs.jsonl", NEVIR))
    (folder / nevir.file).write_text("{")
    broken, own = compare(session, folder, release)
    assert description(own.facts) == SAID
    assert description(broken.facts).startswith("NevIR (pairs.jsonl) was not compared: Expected ")
    assert str(folder) not in description(broken.facts) and broken.facts["items"] == 0
    assert missing(folder, release.content_hash) == []
    (folder / data.file).unlink()
    assert [entry.title for entry in compare(session, folder, release)] == ["NevIR", "SemAntoNeg"]


def test_without_a_writable_folder_the_overlap_is_still_found(
    session: Session, release: Release, settings: Settings
) -> None:
    keep_doors(settings.data_folder)
    (settings.data_folder / FOLDER).write_text("in the way")
    for _ in range(2):
        (found,) = compare(session, settings.data_folder, release)
        assert description(found.facts) == SAID


def test_the_bundled_texts_are_compared_once_and_reported_in_one_sentence(
    settings: Settings, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = settings.data_folder
    assert compare_bundled_texts(folder) == [] and bundled_texts_description([]) == ""
    keep_doors(folder)
    (clean,) = compare_bundled_texts(folder)
    assert bundled_texts_description([clean.facts]) == (
        "No item in the benchmark files shares 5 consecutive words with the bundled retention "
        "texts."
    )
    pairs = [NEVIR[0] | {"doc1": documents()[0].passage}, *NEVIR[1:]]
    keep_file_here(folder, "nevir", write_lines(tmp_path / "pairs.jsonl", pairs))
    found = compare_bundled_texts(folder)
    items = len(NEVIR)
    assert bundled_texts_description([entry.facts for entry in found]) == (
        f"The bundled retention texts share 5 consecutive words with 1 of {items} items of NevIR "
        "(pairs.jsonl); 1 item has a text that also appears in full."
    )
    (example, *_) = found[0].overlap.examples
    assert example.release_text == documents()[0].passage
    assert missing(folder, texts_hash()) == []
    monkeypatch.setattr(SemAntoNeg, "read", None)
    assert compare_bundled_texts(folder) == found


def test_overlap_with_several_benchmarks_is_reported_for_each() -> None:
    def facts(title: str, overlapping: int, **more: Any) -> dict[str, Any]:
        shown = {"title": title, "data": "a.jsonl", "n": 5, "items": 1200, "exact": 0}
        return shown | {"overlapping": overlapping} | more

    several = [facts("A", 1), facts("B", 0), facts("C", 20), facts("D", 1100)]
    assert bundled_texts_description([*several, facts("E", 0, problem="It is gone.")]) == (
        "The bundled retention texts share 5 consecutive words with 1 of 1,200 items of A "
        "(a.jsonl), 20 of 1,200 items of C (a.jsonl) and 1,100 of 1,200 items of D (a.jsonl)."
    )
    assert bundled_texts_description([facts("E", 0, problem="It is gone.")]) == ""


@pytest.mark.parametrize("knows", [True, False])
def test_the_card_of_an_export_tells(engine: Engine, settings: Settings, knows: bool) -> None:
    with writing(engine) as session:
        add_plain_family(session, 1)
        add_plain_family(session, 2)
        add_plain_family(session, 3)
        create_release(session)
        run = create_run(session, kind="export", parameters={"format": "jsonl"})
    if knows:
        keep_doors(settings.data_folder)
    result = execute(engine, settings, run.id, WORK)
    card = (settings.data_folder / result["folder"] / "README.md").read_text("utf-8")
    assert (ROW in card, NOT_CHECKED in card) == (knows, not knows)
    assert "## Overlap with benchmarks" in card


def test_a_cancelled_comparison_stops(
    session: Session, release: Release, settings: Settings
) -> None:
    keep_doors(settings.data_folder)

    def stop(*_: Any) -> None:
        raise RunCancelled

    with pytest.raises(RunCancelled):
        compare(session, settings.data_folder, release, report=stop)
    assert len(missing(settings.data_folder, release.content_hash)) == 1


def test_a_training_and_its_card_tell(project: Engine, recipe: Recipe, settings: Settings) -> None:
    keep_doors(settings.data_folder)
    run = train(project, settings, ask(project, recipe))
    with reading(project) as session:
        result = get_run(session, run.id).result
    stored = result["overlap"]
    assert stored == [
        {
            "benchmark": "semantoneg",
            "title": "SemAntoNeg",
            "data": "doors.jsonl",
            "n": 5,
            "items": 4,
            "overlapping": 2,
            "exact": 2,
            "fields": stored[0]["fields"],
        }
    ]
    assert len(stored[0]["fields"]) == 6
    card = (settings.data_folder / run.result["model"] / "README.md").read_text("utf-8")
    assert ROW in card and "| SemAntoNeg | doors.jsonl | negative | " in card
    assert [facts["benchmark"] for facts in result["bundled_overlap"]] == ["semantoneg"]
    assert "5 consecutive words with the bundled retention texts" in card
