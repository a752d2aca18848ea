"""Architectures from other packages, created in the test as a third party would."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from sqlalchemy import Engine

from curation.encoders.loading import fingerprint
from db.engine import create_engine, reading
from db.errors import HedgerowError
from db.settings import Settings
from tests.support.databases import Copies
from tests.support.plug_in_packages import WORDS_IN_COMMON, install
from tests.training.benchmarks.support.running import carried_out, ran, requested, semantoneg
from training.benchmarks.results.queries import newest
from training.benchmarks.runs.measured_models import ModelChoice, chosen_model
from training.benchmarks.scorers.architecture import (
    PLUG_INS,
    SCORERS,
    installed_plug_ins,
    known_architectures,
    load_scorer,
)
from training.benchmarks.scorers.interface import Prompts

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

GROUP = PLUG_INS.name

PAIRS = [("one two", "two three"), ("one", "three")]

Install = Callable[..., None]


@pytest.fixture
def plug_in(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Install:
    def made(code: str, **entries: str) -> None:
        install(monkeypatch, tmp_path / f"package_{len(entries)}", GROUP, code, **entries)

    return made


@pytest.fixture
def engine(home: Path, copies: Copies) -> Engine:
    return create_engine(copies.migrated(home / "hedgerow.db"))


def test_a_plug_in_is_one_architecture_more(plug_in: Install) -> None:
    plug_in(WORDS_IN_COMMON, words_in_common="WordsInCommon")
    assert known_architectures() == (*SCORERS, "words-in-common")
    assert load_scorer("", "words-in-common").score(PAIRS, asks="similarity").tolist() == [1, 0]
    with pytest.raises(HedgerowError, match="words-in-common has no query and document prompts"):
        load_scorer("", "words-in-common", prompts=Prompts("a "))


def test_built_in_scorers_are_never_replaced(plug_in: Install) -> None:
    plug_in(WORDS_IN_COMMON, random="WordsInCommon")
    assert known_architectures() == tuple(SCORERS)
    assert load_scorer("", "random").score(PAIRS, asks="similarity").max() < 1


def test_a_plug_in_gets_a_models_files_or_a_name(
    engine: Engine, settings: Settings, plug_in: Install, tiny_encoder: Path
) -> None:
    plug_in(LENGTHS, lengths="Lengths", named="Named")
    model = ModelChoice(name=str(tiny_encoder), architecture="lengths")
    named = ModelChoice(name=" 0.5 ", architecture="named")
    ran(engine, settings, model, named, benchmarks=(semantoneg(settings),))
    with reading(engine) as session:
        rows = {row.architecture: row for row in newest(session)}
    assert rows["lengths"].model_hash == fingerprint(tiny_encoder)
    assert rows["lengths"].title == f"{tiny_encoder.name} (lengths)"
    assert (rows["named"].title, rows["named"].model_hash) == ("0.5 (named)", "")
    assert rows["named"].score == rows["lengths"].score, "any scale is fine"
    folders = len(list(tiny_encoder.iterdir()))
    direct = load_scorer(str(tiny_encoder), "lengths", prompts=Prompts("xxxxx", None))
    assert direct.score(PAIRS, asks="relevance")[1] == folders * len("xxxxxonethree")
    with pytest.raises(HedgerowError, match="Expected a model for the architecture named"):
        chosen_model({"architecture": "named"})


def test_a_baseline_of_a_plug_in_is_measured_next_to_the_others(
    engine: Engine, settings: Settings, plug_in: Install
) -> None:
    plug_in(WORDS_IN_COMMON, words_in_common="WordsInCommon")
    choices = [ModelChoice(architecture=kind) for kind in ("words-in-common", "tf-idf")]
    assert ran(engine, settings, *choices, benchmarks=(semantoneg(settings),))["measured"] == 2
    with reading(engine) as session:
        assert {row.title for row in newest(session)} == {"words-in-common", "TF-IDF"}


@pytest.mark.parametrize(
    ("result", "message"),
    [
        ("1 / 0", "failed (ZeroDivisionError: division by zero); repair or uninstall its package"),
        ("[1.0]", "Expected scores of the shape (2,) from the plug-in 'faulty', found (1,)"),
        ("['a', 'b']", "Expected numbers from the plug-in 'faulty', found could not convert"),
        ("[1.0, float('inf')]", "Expected finite scores"),
        ("None", "of the shape (2,)"),
    ],
)
def test_a_plug_in_that_fails_is_named_in_one_sentence(
    plug_in: Install, result: str, message: str
) -> None:
    plug_in(FAULTY.replace("RESULT", result), faulty="Faulty")
    with pytest.raises(HedgerowError) as refusal:
        load_scorer("", "faulty").score(PAIRS, asks="similarity")
    assert message in str(refusal.value) and "\n" not in str(refusal.value)


def test_one_that_fails_leaves_the_other_models_alone(
    engine: Engine, settings: Settings, plug_in: Install
) -> None:
    plug_in(FAULTY.replace("RESULT", "1 / 0"), faulty="Faulty")
    choices = [ModelChoice(architecture=kind) for kind in ("faulty", "random")]
    with pytest.raises(HedgerowError, match=r"faulty.* failed \(ZeroDivisionError"):
        ran(engine, settings, *choices, benchmarks=(semantoneg(settings),))
    with reading(engine) as session:
        assert [row.architecture for row in newest(session)] == ["random"]


def test_a_broken_plug_in_is_reported_and_the_others_stay(plug_in: Install) -> None:
    plug_in("import no_such_module", broken="Scorer")
    plug_in(WORDS_IN_COMMON, good="WordsInCommon", **{"x" * 41: "WordsInCommon"})
    found = installed_plug_ins()
    assert list(found.classes) == ["good"]
    broken, long = found.problems
    assert broken.startswith("The plug-in 'broken' of the package 'package_1' cannot be loaded")
    assert "Expected at most 40 characters as the name of a scorer" in long


def test_a_run_whose_plug_in_is_gone_says_so(
    engine: Engine, settings: Settings, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    choice = ModelChoice(architecture="words-in-common")
    with monkeypatch.context() as installed:
        install(
            installed, tmp_path / "gone", GROUP, WORDS_IN_COMMON, words_in_common="WordsInCommon"
        )
        run = requested(engine, settings, choice, benchmarks=(semantoneg(settings),))
    with pytest.raises(HedgerowError, match="Expected an architecture .*, found 'words-in-common'"):
        carried_out(engine, settings, run)
