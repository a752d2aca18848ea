"""ExcluIR: right rank, and both naming schemes of its fields."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from db.errors import HedgerowError
from tests.training.benchmarks.support.samples import CORPUS, EXCLUIR, write_list
from training.benchmarks.tasks.excluir import ExcluIR


def folder(at: Path, queries: list[Any], corpus: list[Any] = CORPUS) -> Path:
    write_list(at / "corpus.json", corpus)
    write_list(at / "test_manual_final.json", queries)
    return at


def test_the_requested_document_must_rank_above_the_excluded_one(tmp_path: Path) -> None:
    read = ExcluIR.read(folder(tmp_path, EXCLUIR))
    assert [(item.wanted, item.excluded) for item in read.items] == [
        (CORPUS[1], CORPUS[0]),
        (CORPUS[2], CORPUS[1]),
    ]
    result = read.evaluate([np.array([0.9, 0.1]), np.array([0.1, 0.9])])
    assert (result.score, result.metric) == (50.0, "right rank")
    assert [row.outcome for row in result.rows] == ["right rank", "excluded first"]
    tied = read.evaluate([np.array([0.5, 0.5]), np.array([np.nan, np.nan])])
    assert (tied.score, tied.ties, tied.unanswered) == (0.0, 1, 1)


def test_the_file_of_queries_can_be_named_itself(tmp_path: Path) -> None:
    path = folder(tmp_path, EXCLUIR) / "test_manual_final.json"
    assert len(ExcluIR.read(path).items) == 2


@pytest.mark.parametrize("index", [[0], [0, 3], [0, -1], "01", [0, True], [0, 1, 2]])
def test_a_place_that_is_not_in_the_corpus(tmp_path: Path, index: object) -> None:
    bad = folder(tmp_path, [EXCLUIR[0], {"RQ_rewrite": "q", "corpus_sub_index": index}])
    with pytest.raises(HedgerowError, match="two numbers of documents, below 3, on entry 2"):
        ExcluIR.read(bad)


def test_an_unknown_corpus(tmp_path: Path) -> None:
    with pytest.raises(HedgerowError, match=r"corpus.json.*found a number|found 3 at entry 2"):
        ExcluIR.read(folder(tmp_path, EXCLUIR, ["a", 3]))
    with pytest.raises(HedgerowError, match="download it from"):
        ExcluIR.read()
