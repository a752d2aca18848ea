"""Errors that several models share."""

from __future__ import annotations

import numpy as np
import pytest

from db.errors import HedgerowError
from tests.training.benchmarks.support.samples import SENTENCES
from training.benchmarks.definition import Result
from training.benchmarks.results.common_errors import common_errors, error_table
from training.benchmarks.tasks.suites import suite
from training.evaluation.semantoneg_questions import Forms

DATA = suite([Forms(*forms) for forms in SENTENCES])
"""Twelve items, four of each pair of antonyms."""


def result(*wrong: int) -> Result:
    """A model that gets these items wrong."""
    return DATA.evaluate(
        [
            np.array([0.9, 0.1, 0.2]) if n in wrong else np.array([0.1, 0.2, 0.9])
            for n in range(len(DATA.items))
        ]
    )


MODELS = {"a": result(0, 1, 2, 3, 4), "b": result(1, 2, 3, 4, 8), "c": result(2, 3, 9)}


def test_errors_of_all_models_and_their_parts() -> None:
    found = common_errors(MODELS)
    assert (found.models, found.items, found.least) == (("a", "b", "c"), 12, 3)
    assert [error.row.key for error in found.errors] == ["2", "3"]
    assert [tuple(part) for part in found.parts] == [("antonyms", "cold / hot", 2, 4)]
    assert found.by_count == (5, 3, 2, 2) and sum(found.by_count) == 12


def test_common_errors_are_sorted_by_number_of_models() -> None:
    found = common_errors(MODELS, least=2)
    assert [(error.row.key, error.wrong) for error in found.errors] == [
        ("2", ("a", "b", "c")),
        ("3", ("a", "b", "c")),
        ("1", ("a", "b")),
        ("4", ("a", "b")),
    ]
    assert {part.part: (part.errors, part.items) for part in found.parts} == {
        "cold / hot": (3, 4),
        "narrow / wide": (1, 4),
    }
    head, rows = error_table(found)
    first = dict(zip(head, rows[0], strict=True))
    assert (first["item"], first["wrong"], first["of"]) == ("2", 3, 3)
    assert first["models"] == "a, b, c" and first["parts"] == "cold / hot"
    assert first["input"] == DATA.items[2].input


def test_results_without_common_errors() -> None:
    with pytest.raises(HedgerowError, match="at least two models on the same items, found 1"):
        common_errors({"a": MODELS["a"]})
    with pytest.raises(HedgerowError, match="from 1 to 3, found 4"):
        common_errors(MODELS, least=4)
