"""The benchmark files that are stored with a project, what releases share with them, and the
papers' numbers."""

from __future__ import annotations

import json
import re
import shlex
import statistics
from collections.abc import Iterator
from pathlib import Path
from unittest.mock import Mock

import pytest
from sqlalchemy import Engine
from sqlalchemy.orm import Session
from typer.testing import CliRunner

import cli
from curation.release.export.card_sections import NOT_CHECKED
from curation.release.overlap_results import FOLDER, description
from db.engine import writing
from db.errors import HedgerowError, RunCancelled
from db.execution import execute
from db.models import Release
from db.runs import create_run
from db.settings import Settings
from tests.curation.support.families import add_plain_family
from tests.support.checkout import ROOT
from tests.support.factories import freeze
from tests.support.overlapping import SAID, keep_doors
from tests.training.benchmarks.support.running import lines
from tests.training.benchmarks.support.samples import (
    CORPUS,
    EXCLUIR,
    NEVIR,
    semantoneg_rows,
    write_lines,
)
from tests.training.support.trainings import ask, train
from training.benchmarks.catalogue import NEGATION_AVERAGE
from training.benchmarks.contamination import (
    bundled_texts_description,
    compare,
    compare_bundled_texts,
    known,
    missing,
)
from training.benchmarks.results.paper_tables import (
    GENERAL,
    LANGUAGE,
    NEGATION,
    SEMANTONEG,
    published,
)
from training.benchmarks.results.semantoneg_analyses import GENERAL as GENERAL_OBJECTIVE
from training.benchmarks.results.semantoneg_analyses import (
    GROUP_HEAD,
    NLI,
    OBJECTIVES,
    OTHER,
    PARAPHRASE,
    STSB,
    ModelAccuracy,
    group_rows,
    groups,
    model_rows,
    objective_of,
    published_accuracies,
)
from training.benchmarks.sources import (
    DataChoice,
    keep_data,
    keep_file_here,
    kept_data,
    open_data,
    require_data,
)
from training.benchmarks.tasks.semantoneg import SemAntoNeg
from training.recipe.schema import Recipe
from training.retention.texts import documents, texts_hash
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
    return freeze(session).release


@pytest.mark.slow
def test_a_release_is_compared_with_all_that_is_kept(
    session: Session, release: Release, settings: Settings, tmp_path: Path
) -> None:
    folder = settings.data_folder
    assert known(folder) == [] and compare(session, folder, release) == []
    keep_doors(folder)
    keep_file_here(folder, "nevir", write_lines(tmp_path / "pairs.jsonl", NEVIR))
    with pytest.raises(RunCancelled):
        compare(session, folder, release, report=Mock(side_effect=RunCancelled))
    assert len(missing(folder, release.content_hash)) == 2
    (folder / FOLDER).write_text("in the way")
    assert len(compare(session, folder, release)) == 2, "though nothing can be stored"
    (folder / FOLDER).unlink()
    report = Mock()
    nevir, own = compare(session, folder, release, report=report)
    assert (nevir.title, nevir.data, nevir.shares) == ("NevIR", "pairs.jsonl", False)
    assert description(own.facts) == SAID and own.shares
    assert [(e.sample, e.exact, e.release_text) for e in own.overlap.examples] == [
        (0, True, "Door 1 is not open."),
        (2, True, "Door 3 is open."),
        (1, False, "Door 2 is probably open."),
    ]
    assert [call.args[:2] for call in report.mock_calls] == [(0, 0), (0, 2), (1, 2)]
    assert own.fields is not None
    assert {part[:2]: part[2:] for part in own.fields} == {
        ("anchor", "query"): (1, 0),
        ("anchor", "document"): (0, 0),
        ("positive", "query"): (0, 1),
        ("positive", "document"): (0, 0),
        ("negative", "query"): (1, 1),
        ("negative", "document"): (0, 0),
    }, "exact and overlapping, of four items"


@pytest.mark.slow
def test_each_comparison_is_made_once(
    session: Session, release: Release, settings: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = settings.data_folder
    keep_doors(folder)
    first = compare(session, folder, release)
    (path,) = (folder / FOLDER).rglob("*.json")
    whole = json.loads(path.read_text("utf-8"))
    del whole["fields"]  # as stored by an older version
    path.write_text(json.dumps(whole), encoding="utf-8")
    assert (
        compare(session, folder, release) == first and missing(folder, release.content_hash) == []
    )
    read = Mock(wraps=SemAntoNeg.read)
    monkeypatch.setattr(SemAntoNeg, "read", read)
    assert compare(session, folder, release) == first and not read.called
    (longer,) = compare(session, folder, release, n=6)
    assert (longer.overlap.overlapping, longer.overlap.exact, read.call_count) == (0, 2, 1)
    add_plain_family(session, 9)
    later = freeze(session).release
    assert compare(session, folder, later) == compare(session, folder, later)
    assert read.call_count == 2
    next((folder / FOLDER).rglob("*-6.json")).write_text("mangled")
    assert compare(session, folder, release, n=6) == [longer]
    keep_doors(folder, "again.jsonl")  # the same content under another name
    assert len(known(folder)) == 1 and compare(session, folder, release) == first
    path.write_text(json.dumps(whole), encoding="utf-8")
    for data in (folder / "benchmarks").rglob("*.jsonl"):
        data.unlink()
    (old,) = compare(session, folder, release)
    assert old.fields is None and description(old.facts) == SAID, "it stays without the data"


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


@pytest.mark.slow
def test_the_bundled_texts_are_compared_once_and_reported_in_one_sentence(
    settings: Settings, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = settings.data_folder
    assert compare_bundled_texts(folder) == [] and bundled_texts_description([]) == ""
    keep_doors(folder)
    (clean,) = compare_bundled_texts(folder)
    assert clean.facts["overlapping"] == 0 and bundled_texts_description([clean.facts])
    pairs = [NEVIR[0] | {"doc1": documents()[0].passage}, *NEVIR[1:]]
    keep_file_here(folder, "nevir", write_lines(tmp_path / "pairs.jsonl", pairs))
    found = compare_bundled_texts(folder)
    facts = found[0].facts
    text = bundled_texts_description([facts, clean.facts, facts | {"data": "b"}, facts])
    assert [*re.findall(r"(1 of 2) items of NevIR \((.*?)\)", text)] == [
        ("1 of 2", data) for data in ("pairs.jsonl", "b", "pairs.jsonl")
    ]
    assert "3 items" in text and "SemAntoNeg" not in text
    assert bundled_texts_description([facts | {"problem": "x"}]) == ""
    (example, *_) = found[0].overlap.examples
    assert example.release_text == documents()[0].passage
    assert missing(folder, texts_hash()) == []
    monkeypatch.setattr(SemAntoNeg, "read", None)
    assert compare_bundled_texts(folder) == found


def test_the_card_of_an_export_tells(engine: Engine, settings: Settings) -> None:
    with writing(engine) as session:
        for number in (1, 2, 3):
            add_plain_family(session, number)
        freeze(session)
        how = {"kind": "export", "parameters": {"format": "jsonl"}}
        keys = [create_run(session, **how).id for _ in range(2)]
    for key, knows in zip(keys, (False, True), strict=True):
        if knows:
            keep_doors(settings.data_folder)
        result = execute(engine, settings, key, WORK)
        card = (settings.data_folder / result["folder"] / "README.md").read_text("utf-8")
        assert (ROW in card, NOT_CHECKED in card) == (knows, not knows)


def test_a_training_and_its_card_tell(project: Engine, recipe: Recipe, settings: Settings) -> None:
    keep_doors(settings.data_folder)
    run = train(project, settings, ask(project, recipe))
    (stored,) = run.result["overlap"]
    assert len(stored.pop("fields")) == 6
    assert stored == {
        "benchmark": "semantoneg",
        "title": "SemAntoNeg",
        "data": "doors.jsonl",
        "n": 5,
        "items": 4,
        "overlapping": 2,
        "exact": 2,
    }
    card = (settings.data_folder / run.result["model"] / "README.md").read_text("utf-8")
    assert ROW in card and "| SemAntoNeg | doors.jsonl | negative | " in card
    assert bundled_texts_description(run.result["bundled_overlap"]) in card


GOOD = lines(semantoneg_rows())

EXCLUIR_FILES = {
    "corpus (1).json": json.dumps(CORPUS).encode(),
    "manual.json": json.dumps(EXCLUIR).encode(),
}


def everything(folder: Path) -> list[Path]:
    return [path for path in folder.rglob("*") if path.is_file()]


def test_a_file_is_kept_once_under_its_content_and_name(tmp_path: Path) -> None:
    first = keep_data(tmp_path, "semantoneg", {"my sample.jsonl": GOOD})
    assert first == keep_data(tmp_path, "semantoneg", {"my sample.jsonl": GOOD})
    assert first.name == "my_sample.jsonl" and kept_data(tmp_path) == [first]
    assert [path.read_bytes() for path in everything(tmp_path)] == [GOOD]
    assert SemAntoNeg.read(tmp_path / first.file).items


@pytest.mark.parametrize("name", ["../../up.jsonl", "..", "/etc/x.jsonl", "a\\b\\..", "é" * 300])
def test_no_name_leaves_the_folder(tmp_path: Path, name: str) -> None:
    kept = keep_data(tmp_path / "data", "semantoneg", {name: GOOD})
    path = (tmp_path / "data" / kept.file).resolve()
    assert path.parent == (tmp_path / "data" / "benchmarks" / "semantoneg").resolve()
    assert everything(tmp_path) == [path]


def test_a_wrong_file_is_refused_by_its_own_name_and_leaves_nothing(tmp_path: Path) -> None:
    for content, fact in ((lines(NEVIR), "line 1 of x.jsonl"), (b"\xff\xffx", "UTF-8.*line 1")):
        with pytest.raises(HedgerowError, match=fact) as raised:
            keep_data(tmp_path, "semantoneg", {"x.jsonl": content})
        assert str(tmp_path) not in str(raised.value)
    assert everything(tmp_path) == [] and kept_data(tmp_path) == []


def test_excluir_has_two_files_with_any_names(tmp_path: Path) -> None:
    kept = keep_data(tmp_path, "excluir", EXCLUIR_FILES)
    opened = open_data(None, tmp_path, kept.choice)  # type: ignore[arg-type]
    assert len(opened.benchmark.items) == len(EXCLUIR)
    folder = tmp_path / kept.file
    for place in (folder, folder / "test_manual_final.json", folder / "corpus.json"):
        found = keep_file_here(tmp_path, "excluir", place)
        assert found.file.split("-")[0] == kept.file.split("-")[0], "either file gives both"
    assert kept_data(tmp_path, "excluir")[0] == found
    with pytest.raises(HedgerowError, match="1 file"):
        keep_data(tmp_path, "excluir", {"manual.json": EXCLUIR_FILES["manual.json"]})
    (tmp_path / "mine.json").write_bytes(EXCLUIR_FILES["manual.json"])
    with pytest.raises(HedgerowError, match=r"no corpus.json"):
        keep_file_here(tmp_path, "excluir", tmp_path / "mine.json")
    with pytest.raises(HedgerowError, match=r"no test_manual_final.json and no corpus.json"):
        keep_file_here(tmp_path, "excluir", tmp_path)


def test_the_users_sentences_become_a_suite(tmp_path: Path) -> None:
    header = "original,negation,antonym,both"
    rows = ["It is hot.,It is not hot.,It is cold.,It is not cold.", "A,B,C,A"]
    kept = keep_data(tmp_path, "semantoneg", {"own.csv": "\n".join([header, rows[0]]).encode()})
    assert kept.name == "own.jsonl"
    assert len(SemAntoNeg.read(tmp_path / kept.file).items) == 4
    with pytest.raises(HedgerowError, match=r"line 3 of own.csv"):
        keep_data(tmp_path, "semantoneg", {"own.csv": "\n".join([header, *rows]).encode()})
    assert kept_data(tmp_path) == [kept]


def test_downloaded_data_is_kept(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    given = write_lines(tmp_path / "test.jsonl", NEVIR)
    monkeypatch.setattr("training.benchmarks.sources.local", lambda source: given)
    opened = open_data(None, tmp_path, DataChoice(benchmark="nevir"))  # type: ignore[arg-type]
    assert opened.where == "orionweller/NevIR/test.jsonl on the model hub"
    (kept,) = kept_data(tmp_path, "nevir")
    assert kept.name == "NevIR-test.jsonl" and opened.origin == {"file": kept.file}


def test_data_that_are_not_there(tmp_path: Path) -> None:
    for data in ("benchmarks/semantoneg/gone.jsonl", "../secret", "/etc/passwd"):
        choice = DataChoice(benchmark="semantoneg", data=data)
        with pytest.raises(HedgerowError, match="in the data folder"):
            require_data(None, tmp_path, choice)  # type: ignore[arg-type]
    with pytest.raises(HedgerowError, match="SemAntoNeg is not on the model hub"):
        require_data(None, tmp_path, DataChoice(benchmark="semantoneg"))  # type: ignore[arg-type]
    with pytest.raises(HedgerowError, match="'glue'"):
        keep_data(tmp_path, "glue", {"x": b""})
    with pytest.raises(HedgerowError, match="a release"):
        keep_data(tmp_path, "hedgerow", {"x": b""})


MISPRINTED = {
    ("hedgetriple_table_2", "Only negation"),
    ("hedgetriple_table_2", "Only hedging"),
    ("hedgetriple_table_3", "Llama-3-8B-Instruct"),
    ("hedgetriple_table_3", "Only negation"),
    ("hedgetriple_table_3", "Only hedging"),
}
"""Averages that do not match the lines above them."""


def by_model(table: str) -> dict[str, dict[str, float]]:
    found: dict[str, dict[str, float]] = {}
    for number in published():
        if number.table == table:
            found.setdefault(number.model, {})[number.benchmark] = number.score
    return found


def test_the_averages_are_the_papers() -> None:
    """A general average is the mean of the seven kinds of tasks, not of the data sets."""
    assert len(published()) == 283
    assert all(n.published and n.paper and n.title and n.label for n in published())
    for table in ("hedgetriple_table_1", "hedgetriple_table_2", "hedgetriple_table_3"):
        for model, scores in by_model(table).items():
            mean = sum(scores[name] for name in NEGATION_AVERAGE) / len(NEGATION_AVERAGE)
            follows = mean == pytest.approx(scores[NEGATION], abs=0.011)
            assert follows == ((table, model) not in MISPRINTED)
            general, tasks = (LANGUAGE, 3) if table.endswith("3") else (GENERAL, 7)
            parts = [score for name, score in scores.items() if name.startswith(f"{general}:")]
            if (table, model) != ("hedgetriple_table_3", "HedgeMPNet"):  # an encoder
                assert len(parts) == tasks
                assert sum(parts) / tasks == pytest.approx(scores[general], abs=0.03), "rounded"


def test_semantonegs_table_8_is_whole() -> None:
    scores = json.loads(SEMANTONEG.read_text(encoding="utf-8"))["scores"]
    assert len(scores) == 123
    given = {name: score for name, score in scores.items() if score is not None}
    shown = {n.model: n for n in published() if n.benchmark == "semantoneg"}
    assert {name: n.score for name, n in shown.items()} == given and len(given) == 114
    known = {  # as in Tables 1 and 3 to 7 of the paper
        "all-MiniLM-L6-v2": 1.9,
        "all-mpnet-base-v2": 31.9,
        "sentence-t5-xl": 81.2,
        "paraphrase-multilingual-mpnet-base-v2": 79.9,
        "distilbert-multilingual-nli-stsb-quora-ranking": 47.1,
        "bert-base-nli-mean-tokens": 83.3,
        "roberta-large-nli-mean-tokens": 93.6,
        "stsb-distilroberta-base-v2": 58.7,
        "paraphrase-MiniLM-L3-v2": 0.0,
        "sentence-t5-xxl": None,
        "clip-ViT-L-14": None,
        "average_word_embeddings_komninos": None,
    }
    assert known.items() <= scores.items()
    assert shown["all-mpnet-base-v2"].hub == "sentence-transformers/all-mpnet-base-v2"


TABLES = {
    GENERAL_OBJECTIVE: "sentence-t5-xl sentence-t5-large sentence-t5-base all-roberta-large-v1 "
    "all-mpnet-base-v2 all-mpnet-base-v1 all-distilroberta-v1 all-MiniLM-L12-v1 "
    "all-MiniLM-L12-v2 all-MiniLM-L6-v1 all-MiniLM-L6-v2",
    PARAPHRASE: "paraphrase-multilingual-mpnet-base-v2 paraphrase-mpnet-base-v2 "
    "paraphrase-TinyBERT-L6-v2 paraphrase-distilroberta-base-v2 quora-distilbert-base "
    "paraphrase-multilingual-MiniLM-L12-v2 paraphrase-albert-small-v2 "
    "paraphrase-albert-base-v2 paraphrase-MiniLM-L12-v2 quora-distilbert-multilingual "
    "paraphrase-MiniLM-L6-v2 paraphrase-xlm-r-multilingual-v1 "
    "xlm-r-distilroberta-base-paraphrase-v1 paraphrase-distilroberta-base-v1 "
    "paraphrase-MiniLM-L3-v2",
    NLI: "roberta-large-nli-mean-tokens roberta-base-nli-mean-tokens bert-large-nli-mean-tokens "
    "nli-bert-large-cls-pooling nli-bert-large-max-pooling xlm-r-large-en-ko-nli-ststb "
    "xlm-r-bert-base-nli-mean-tokens bert-base-nli-cls-token bert-base-nli-mean-tokens "
    "nli-distilbert-base-max-pooling distilbert-base-nli-mean-tokens bert-base-nli-max-tokens "
    "nli-roberta-base-v2 nli-mpnet-base-v2 nli-distilroberta-base-v2",
    STSB: "stsb-bert-large stsb-roberta-large stsb-roberta-base stsb-xlm-r-multilingual "
    "stsb-bert-base stsb-distilbert-base stsb-roberta-base-v2 stsb-mpnet-base-v2 "
    "stsb-distilroberta-base-v2",
}
"""The models of Tables 3, 4, 5 and 6."""


def test_a_name_says_the_objective_that_the_papers_table_has() -> None:
    known = {model.model for model in published_accuracies()}
    for objective in OBJECTIVES:
        names = TABLES[objective].split()
        assert set(names) <= known and {objective_of(name) for name in names} == {objective}
    found = {
        "msmarco-distilbert-base-v4": OTHER,
        "multi-qa-mpnet-base-cos-v1": OTHER,
        "/models/all-MiniLM-L6-v2/": GENERAL_OBJECTIVE,
        "sentence-transformers/nli-bert-base": NLI,
        "run 7: all-MiniLM-L6-v2": OTHER,
        "run 12: paraphrase-mpnet-base-v2": OTHER,
        "small-model": OTHER,
    }
    assert {name: objective_of(name) for name in found} == found


def test_the_groups_are_of_published_models_only() -> None:
    published = published_accuracies()
    found = groups([*published, ModelAccuracy("nli-mine", 0.0, False, 6)])
    assert found == groups(published) and [g.objective for g in found] == list(OBJECTIVES)
    assert {g.objective: (g.models, round(g.mean, 1)) for g in found} == {
        GENERAL_OBJECTIVE: (11, 32.8),
        PARAPHRASE: (18, 49.6),
        NLI: (27, 83.9),
        STSB: (16, 77.4),
    }
    nli = [m.accuracy for m in published if m.objective == NLI]
    assert found[2].variance == pytest.approx(statistics.variance(nli))
    assert (found[2].least, found[2].most) == (66.6, 93.6)
    assert groups([ModelAccuracy("nli-a", 1.0, True, 6)]) == [], "one model has no variance"
    assert [len(row) for row in group_rows(found)] == [len(GROUP_HEAD)] * 4
    first, *_, last = model_rows([ModelAccuracy("mine", 99.0, False, 6), *published])
    assert first == ("mine", OTHER, 99.0, 6, "measured") and last[2:] == (0.0, 3152, "published")


@pytest.mark.slow
def test_every_command_and_page_of_the_guide_exists() -> None:
    lines = (ROOT / "docs" / "papers.md").read_text(encoding="utf-8").splitlines()
    rows = [line.split(" | ")[1] for line in lines if re.match(r"\| (?!in the paper)", line)]
    named = [found for cell in rows for found in re.findall("`((?:hedgerow |/)[^`]*)`", cell)]
    assert len(named) > 40
    for command in filter(lambda text: text.startswith("hedgerow "), named):
        arguments = [*shlex.split(command)[1:], "--help"]  # after all its options were found
        assert CliRunner().invoke(cli.app, arguments).exit_code == 0, command
    for address in filter(lambda text: text.startswith("/"), named):
        page = address.removeprefix("/").partition("?")[0]
        assert (ROOT / "pages" / f"{page}.py").is_file(), address
