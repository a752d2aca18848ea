"""Benchmarks from other packages next to the built-in ones, including broken ones."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from db.errors import HedgerowError
from tests.support.plug_in_packages import install, install_example
from tests.training.benchmarks.support.samples import write_lines
from training.benchmarks.catalogue import (
    BENCHMARKS,
    all_benchmarks,
    benchmark,
    benchmark_names,
    installed_plug_ins,
)
from training.benchmarks.data.sources import keep_data, kept_data

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

Plug = Callable[..., None]


@pytest.fixture
def plug(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Plug:
    """Installs benchmarks: 'mine' with this body, unless others are named."""

    def made(body: str = RIGHT, **entries: str) -> None:
        code, named = CODE.replace("BODY", body), entries or {"mine": "Mine"}
        install(monkeypatch, tmp_path / "theirs", "hedgerow.benchmarks", code, **named)

    return made


def test_the_first_candidate_has_to_come_first(plug: Plug, tmp_path: Path) -> None:
    plug()
    data = benchmark("mine").read(write_lines(tmp_path / "items.jsonl", ROWS))
    given = [[2, 1], [1, 2], [1, 1], [1, np.nan]]
    result = data.evaluate([np.array(scores, dtype=float) for scores in given])
    assert (result.benchmark, result.score, result.n) == ("mine", 25.0, 4)
    assert dict(result.outcomes) == {"right": 1, "wrong": 1, "tied": 1, "unanswered": 1}
    assert (result.ties, result.unanswered) == (1, 1)
    assert result.rows[0].texts == {"text": "Question 0?", "right": "yes", "wrong 1": "no"}


def test_scored_pairs_need_no_more_than_their_columns(plug: Plug, tmp_path: Path) -> None:
    plug(grades="Pairs")
    file = tmp_path / "pairs.csv"
    file.write_text("a,b,grade\nOne.,Two.,1\nOne.,Three.,2\nOne.,Four.,3\n")
    data = benchmark("grades").read(file)
    assert data.evaluate([np.array([x]) for x in (0.1, 0.5, 0.9)]).score == pytest.approx(100)


def test_their_names_come_after_ours_and_never_replace_one(plug: Plug) -> None:
    plug(nevir="Mine", one="Mine", two="Mine")
    ours = tuple(entry.id for entry in BENCHMARKS)
    assert benchmark_names() == (*ours, "one", "two")
    assert [entry.id for entry in all_benchmarks()] == [*ours, "one", "two"]
    assert benchmark("one") is benchmark("one") and benchmark("nevir").title == "NevIR"


def test_an_incomplete_one_is_reported_and_left_out(plug: Plug) -> None:
    plug(mine="Mine", untitled="Untitled", unfinished="Unfinished")
    found = installed_plug_ins()
    assert list(found.classes) == ["mine"]
    assert "does not define item" in found.problems[0]
    assert "does not define title as str" in found.problems[1]


@pytest.mark.parametrize(
    ("body", "message"),
    [
        ("return record['q']", "The plug-in 'mine' failed (TypeError"),
        ("return Question('q', ('one',))", "Expected a right candidate and wrong ones on line 1"),
        ("return 5", "The plug-in 'mine' failed (AttributeError"),
    ],
)
def test_a_faulty_one_takes_no_file(plug: Plug, tmp_path: Path, body: str, message: str) -> None:
    plug(body)
    content = "\n".join(json.dumps(row) for row in ROWS).encode()
    with pytest.raises(HedgerowError) as refusal:
        keep_data(tmp_path / "data", "mine", {"items.jsonl": content})
    assert message in str(refusal.value) and "\n" not in str(refusal.value)
    assert kept_data(tmp_path / "data") == []


def test_files_of_one_that_is_gone_are_skipped(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    rows = [{"sentence": "A.", "paraphrase": "B.", "opposite": "C."}]
    with monkeypatch.context() as installed:
        install_example(installed, tmp_path / "site")
        content = json.dumps(rows).encode()
        keep_data(tmp_path / "data", "opposites", {"items.json": content})
        assert len(kept_data(tmp_path / "data")) == 1
    assert kept_data(tmp_path / "data") == []
