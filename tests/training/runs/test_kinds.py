"""The list of the kinds of runs: complete, with the work of each, and safe for all stored
values."""

import ast
from collections.abc import Iterator
from importlib import import_module
from pathlib import Path

import pytest

from db.models import Run, RunState
from tests.support.checkout import ROOT
from training.runs.kinds import KINDS, WORK, RunKind, kind_of

IDS = {kind.id for kind in KINDS}
WITH_WORK = [kind for kind in KINDS if kind.work]


def sources() -> Iterator[tuple[Path, ast.Module]]:
    for folder in ("curation", "training", "pages", "cli"):
        for path in sorted((ROOT / folder).rglob("*.py")):
            yield path.relative_to(ROOT), ast.parse(path.read_text("utf-8"))


def test_every_kind_that_a_module_names_is_registered() -> None:
    named = {
        (str(path), node.value.value)
        for path, tree in sources()
        for node in tree.body
        if isinstance(node, ast.Assign) and isinstance(node.value, ast.Constant)
        for target in node.targets
        if isinstance(target, ast.Name) and target.id == "KIND"
    }
    earlier = {"starter"}  # names under which the runs of older projects are stored
    assert {kind for _, kind in named} == IDS - earlier


def test_runs_are_stored_under_a_named_kind_only() -> None:
    """The test above sees all kinds, because no call spells one out."""
    spelled = [
        f"{path}:{node.lineno}"
        for path, tree in sources()
        for node in ast.walk(tree)
        if isinstance(node, ast.Call)
        and isinstance(node.func, ast.Name)
        and node.func.id in ("create_run", "Run", "list_runs")
        for keyword in node.keywords
        if keyword.arg == "kind" and isinstance(keyword.value, ast.Constant)
    ]
    assert spelled == []


@pytest.mark.parametrize("kind", WITH_WORK, ids=lambda kind: kind.id)
def test_a_kind_names_work_that_is_there(kind: RunKind) -> None:
    module, _, name = kind.work.partition(":")
    assert callable(getattr(import_module(module), name))
    assert WORK[kind.id] == kind.carry_out


@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.id)
@pytest.mark.parametrize("state", [RunState.RUNNING, RunState.DONE])
def test_a_run_of_an_older_version_has_an_address_and_no_summary(
    kind: RunKind, state: RunState
) -> None:
    page = kind.address(Run(id=7, kind=kind.id, state=state, parameters={})).partition("?")[0]
    assert (ROOT / "pages" / f"{page}.py").is_file()
    assert kind.sum_up({}) == ""


def test_results_are_linked_if_they_are_shown() -> None:
    done = Run(id=7, kind="train", state=RunState.DONE, parameters={})
    assert kind_of("train").address(done) == "train?step=Results&run=7"
    saved = Run(id=8, kind="tradeoff-save", state=RunState.DONE, parameters={"training": 7})
    assert kind_of("tradeoff-save").address(saved) == "train?step=Results&run=7"
    of_release = Run(id=9, kind="push", parameters={"run": None, "release": 2})
    assert kind_of("push").address(of_release) == "release"


def test_a_result_is_summed_up_in_a_sentence() -> None:
    result = {"measured": 1, "cosines": 2_000, "encoder": "all-MiniLM-L6-v2"}
    assert kind_of("diagnose").sum_up(result) == (
        "Measured 1 distance and 2,000 cosines. Encoder: all-MiniLM-L6-v2."
    )


def test_a_kind_of_another_version_says_so() -> None:
    assert kind_of("dance").title == "Unknown to this version (dance)"


@pytest.mark.parametrize("name", ["kinds", "summaries"])
def test_naming_a_run_imports_nothing_heavy(name: str) -> None:
    tree = ast.parse((ROOT / "training" / "runs" / f"{name}.py").read_text("utf-8"))
    imported = {node.module or "" for node in tree.body if isinstance(node, ast.ImportFrom)}
    assert {module for module in imported if module.startswith("training")} <= {"training.runs"}
