"""Architectures and benchmarks from other packages, created in the test as a third party would."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from sqlalchemy import Engine

from curation.encoders.loading import fingerprint
from db.errors import HedgerowError
from db.settings import Settings
from tests.support.plug_in_packages import WORDS_IN_COMMON, install
from tests.training.benchmarks.support.running import (
    carried_out,
    lines,
    ran,
    requested,
    results,
    semantoneg,
)
from tests.training.benchmarks.support.samples import write_lines
from training.benchmarks import catalogue
from training.benchmarks.catalogue import BENCHMARKS, all_benchmarks, benchmark, benchmark_names
from training.benchmarks.runs.measured_models import ModelChoice, chosen_model
from training.benchmarks.scorers.architecture import (
    PLUG_INS,
    SCORERS,
    installed_plug_ins,
    known_architectures,
    load_scorer,
)
from training.benchmarks.scorers.interface import Prompts
from training.benchmarks.sources import keep_data, kept_data

LENGTHS = """
import numpy as np

from curation.encoders.model_folders import encoder_folder
from training.benchmarks.scorers.interface import Scorer


class Lengths(Scorer):
    takes_prompts = True

    def __init__(self, factor):
        self.factor = factor

    @classmethod
    def load(cls, name):
        return cls(len(list(encoder_folder(name).iterdir())))

    def score(self, pairs, *, asks, on_progress=None):
        return [self.factor * len(a + b) for a, b in self.prompted(pairs, asks)]


class Named(Lengths):
    takes = "name"

    @classmethod
    def load(cls, name):
        return cls(float(name))
"""

FAULTY = """
from training.benchmarks.scorers.interface import Scorer


class Faulty(Scorer):
    takes = "nothing"

    def score(self, pairs, *, asks, on_progress=None):
        return RESULT
"""

PAIRS = [("one two", "two three"), ("one", "three")]
Install = Callable[..., None]


@pytest.fixture
def scorers(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Install:
    """Installs a package with these scorers."""

    def made(code: str, **entries: str) -> None:
        folder = tmp_path / f"package_{len(entries)}"
        install(monkeypatch, folder, PLUG_INS.name, code, **entries)

    return made


@pytest.fixture
def benchmarks(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Install:
    """Installs benchmarks: 'mine' with this body, unless others are named."""

    def made(body: str = RIGHT, **entries: str) -> None:
        code, named = CODE.replace("BODY", body), entries or {"mine": "Mine"}
        install(monkeypatch, tmp_path / "theirs", catalogue.PLUG_INS.name, code, **named)

    return made


def test_a_plug_in_is_one_architecture_more_and_never_replaces_one(scorers: Install) -> None:
    scorers("import no_such_module", broken="Scorer")
    names = {"words_in_common": "WordsInCommon", "random": "WordsInCommon"}
    scorers(WORDS_IN_COMMON, **names, **{"x" * 41: "WordsInCommon"})
    found = installed_plug_ins()
    assert list(found.classes) == ["words-in-common"]
    problems = " ".join(found.problems)
    assert "'broken' of the package 'package_1'" in problems and "40 characters" in problems
    assert {*known_architectures()} >= {*SCORERS, "words-in-common"}
    assert load_scorer("", "words-in-common").score(PAIRS, asks="similarity").tolist() == [1, 0]
    assert load_scorer("", "random").score(PAIRS, asks="similarity").max() < 1
    with pytest.raises(HedgerowError, match="words-in-common has no query and document prompts"):
        load_scorer("", "words-in-common", prompts=Prompts("a "))


@pytest.mark.slow
def test_a_plug_in_gets_a_models_files_or_a_name(
    engine: Engine, settings: Settings, scorers: Install, tiny_encoder: Path
) -> None:
    scorers(LENGTHS, lengths="Lengths", named="Named")
    model = ModelChoice(name=str(tiny_encoder), architecture="lengths")
    named = ModelChoice(name=" 0.5 ", architecture="named")
    ran(engine, settings, model, named, benchmarks=(semantoneg(settings),))
    rows = {row.architecture: row for row in results(engine).values()}
    assert rows["lengths"].model_hash == fingerprint(tiny_encoder)
    assert rows["lengths"].title == f"{tiny_encoder.name} (lengths)"
    assert (rows["named"].title, rows["named"].model_hash) == ("0.5 (named)", "")
    assert rows["named"].score == rows["lengths"].score, "any scale is fine"
    folders = len(list(tiny_encoder.iterdir()))
    direct = load_scorer(str(tiny_encoder), "lengths", prompts=Prompts("xxxxx", None))
    assert direct.score(PAIRS, asks="relevance")[1] == folders * len("xxxxxonethree")
    with pytest.raises(HedgerowError, match="Expected a model for the architecture named"):
        chosen_model({"architecture": "named"})


@pytest.mark.parametrize(
    ("result", "message"),
    [
        ("1 / 0", "failed (ZeroDivisionError: division by zero)"),
        ("[1.0]", "the shape (2,) from the plug-in 'faulty', found (1,)"),
        ("['a', 'b']", "numbers from the plug-in 'faulty'"),
        ("[1.0, float('inf')]", "finite scores"),
        ("None", "of the shape (2,)"),
    ],
)
def test_a_scorer_that_fails_is_named_in_one_sentence(
    scorers: Install, result: str, message: str
) -> None:
    scorers(FAULTY.replace("RESULT", result), faulty="Faulty")
    with pytest.raises(HedgerowError) as refusal:
        load_scorer("", "faulty").score(PAIRS, asks="similarity")
    assert message in str(refusal.value) and "\n" not in str(refusal.value)


@pytest.mark.slow
def test_one_that_fails_or_is_gone_leaves_the_other_models_alone(
    engine: Engine, settings: Settings, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    data = (semantoneg(settings),)
    kinds = ("faulty", "words-in-common", "tf-idf")
    faulty, words, ours = (ModelChoice(architecture=kind) for kind in kinds)
    code = WORDS_IN_COMMON + FAULTY.replace("RESULT", "1 / 0")
    entries = {"faulty": "Faulty", "words_in_common": "WordsInCommon"}
    with monkeypatch.context() as installed:
        install(installed, tmp_path / "gone", PLUG_INS.name, code, **entries)
        with pytest.raises(HedgerowError, match=r"faulty.* failed \(ZeroDivisionError"):
            ran(engine, settings, faulty, words, ours, benchmarks=data)
        assert {row.title for row in results(engine).values()} == {"words-in-common", "TF-IDF"}
        run = requested(engine, settings, words, benchmarks=data)
    with pytest.raises(HedgerowError, match="found 'words-in-common'"):
        carried_out(engine, settings, run)


CODE = """
from hedgerow.plug_ins import FirstRight, Question, ScoredPairs, PairColumns


class Mine(FirstRight):
    title = "Mine"
    measures = "Anything."
    expects = "a table"

    @classmethod
    def item(cls, record):
        BODY


class Pairs(ScoredPairs):
    title = "Pairs"
    measures = "Anything."
    expects = "a table"
    columns = PairColumns("a", "b", "grade")
    address = "nowhere"


class Untitled(Mine):
    title = None


class Unfinished(FirstRight):
    title = measures = expects = "x"
"""

RIGHT = "return Question(record.text('q'), (record.text('good'), record.text('bad')))"
ROWS = [{"q": f"Question {n}?", "good": "yes", "bad": "no"} for n in range(4)]


def test_the_first_candidate_has_to_come_first(benchmarks: Install, tmp_path: Path) -> None:
    benchmarks(mine="Mine", grades="Pairs")
    data = benchmark("mine").read(write_lines(tmp_path / "items.jsonl", ROWS))
    given = [[2, 1], [1, 2], [1, 1], [1, np.nan]]
    result = data.evaluate([np.array(scores, dtype=float) for scores in given])
    assert (result.benchmark, result.score, result.n) == ("mine", 25.0, 4)
    assert dict(result.outcomes) == {"right": 1, "wrong": 1, "tied": 1, "unanswered": 1}
    assert (result.ties, result.unanswered) == (1, 1)
    assert result.rows[0].texts == {"text": "Question 0?", "right": "yes", "wrong 1": "no"}
    (tmp_path / "pairs.csv").write_text("a,b,grade\nOne.,Two.,1\nOne.,Three.,2\nOne.,Four.,3\n")
    pairs = benchmark("grades").read(tmp_path / "pairs.csv")
    assert pairs.evaluate([np.array([x]) for x in (0.1, 0.5, 0.9)]).score == pytest.approx(100)


def test_their_names_come_after_ours_and_never_replace_one(benchmarks: Install) -> None:
    benchmarks(nevir="Mine", one="Mine", untitled="Untitled", unfinished="Unfinished")
    ours = tuple(entry.id for entry in BENCHMARKS)
    assert benchmark_names() == (*ours, "one", "unfinished", "untitled")
    assert [entry.id for entry in all_benchmarks()] == [*ours, "one"]
    assert benchmark("one") is benchmark("one") and benchmark("nevir").title == "NevIR"
    problems = catalogue.installed_plug_ins().problems
    assert [("title" in problem, "item" in problem) for problem in problems] == [
        (False, True),
        (True, False),
    ]


@pytest.mark.parametrize(
    ("body", "message"),
    [
        ("return record['q']", "The plug-in 'mine' failed (TypeError"),
        ("return Question('q', ('one',))", "on line 1"),
        ("return 5", "The plug-in 'mine' failed (AttributeError"),
        (RIGHT, ""),
    ],
)
def test_a_faulty_benchmark_takes_no_file_and_one_that_is_gone_has_none(
    benchmarks: Install, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, body: str, message: str
) -> None:
    benchmarks(body)
    if message:
        with pytest.raises(HedgerowError) as refusal:
            keep_data(tmp_path / "data", "mine", {"items.jsonl": lines(ROWS)})
        assert message in str(refusal.value) and "\n" not in str(refusal.value)
    else:
        kept = keep_data(tmp_path / "data", "mine", {"items.jsonl": lines(ROWS)})
        assert kept_data(tmp_path / "data") == [kept]
        monkeypatch.undo()
    assert kept_data(tmp_path / "data") == []
