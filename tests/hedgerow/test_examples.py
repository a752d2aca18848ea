"""Every public function has an example with correct output."""

import doctest
import importlib
import inspect
from pathlib import Path

import pytest

import hedgerow
from curation.diagnostics import measuring
from hedgerow.data.anchors import Anchors
from hedgerow.data.variants import Variants
from hedgerow.models.tradeoff import Tradeoff
from tests.hedgerow.conftest import Example

MODULES = (
    "data.anchors",
    "data.releases",
    "data.variants",
    "generating",
    "judging",
    "language_models",
    "modelling",
    "opening",
    "project",
    "reviewing",
    "upkeep",
)

IN_DOCS = {
    "train",
    "finetune_language_model",
    "study",
    "tradeoff",
    "save",
    "push",
    "benchmark",
}
"""These take a while or need a server. Their examples are in docs/python.md, which has its own
test."""


@pytest.mark.slow
@pytest.mark.parametrize("name", MODULES)
def test_examples(
    name: str, example_project: Example, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(measuring, "start_process", lambda *_: None)
    module = importlib.import_module(f"hedgerow.{name}")
    found = doctest.DocTestFinder(exclude_empty=True).find(
        module, extraglobs={"hedgerow": hedgerow, "example_project": example_project}
    )
    examples = [test for test in found if test.examples]
    assert examples
    for test in examples:
        runner = doctest.DocTestRunner(optionflags=doctest.NORMALIZE_WHITESPACE)
        output: list[str] = []
        runner.run(test, out=output.append)
        assert not runner.failures, "".join(output)


def test_each_public_method_has_an_example() -> None:
    public = [
        (name, method)
        for kind in (hedgerow.Project, hedgerow.Release, Anchors, Variants, Tradeoff)
        for name, method in inspect.getmembers(kind, inspect.isfunction)
        if not name.startswith("_")
    ]
    without = {name for name, method in public if ">>>" not in (method.__doc__ or "")}
    assert without == IN_DOCS


def test_nothing_public_takes_a_session_or_an_engine() -> None:
    for name in hedgerow.__all__:
        entry = getattr(hedgerow, name)
        methods = [entry] if inspect.isfunction(entry) else inspect.getmembers(entry, callable)
        for method in [pair[1] if isinstance(pair, tuple) else pair for pair in methods]:
            if inspect.isfunction(method) and not method.__name__.startswith("_"):
                assert not {"session", "engine"} & set(inspect.signature(method).parameters)
