"""Wrong arguments give one sentence, never an error of Python itself."""

from collections.abc import Callable
from pathlib import Path

import pytest

import hedgerow
from tests.hedgerow.conftest import Example

Attempt = Callable[[hedgerow.Project], object]

ATTEMPTS: dict[str, tuple[Attempt, str]] = {
    "a split": (lambda p: p.release().triples("trian"), "Expected a split (train, validation"),
    "anchors' split": (lambda p: p.anchors(split="trian"), "Expected a split"),
    "a missing file": (lambda p: p.anchors.add("gone.csv"), "gone.csv cannot be read (No such"),
    "missing variants": (lambda p: p.variants.add("gone.csv"), "gone.csv cannot be read"),
    "a list of uids": (lambda p: p.accept(["a"]), "Expected one uid"),  # type: ignore[arg-type]
    "a list of anchors": (lambda p: p.anchors.retire(["a"]), "unpack a list of uids with *"),  # type: ignore[arg-type]
    "uids of anchors": (lambda p: p.anchors.correct(["a"], "B."), "Expected one uid"),  # type: ignore[arg-type]
    "nothing to set": (lambda p: p.anchors.set(*p.anchors()["uid"]), "found neither"),
    "a study": (lambda p: p.study("nonsense"), "Expected a study (data, triples, types"),
    "benchmarks": (lambda p: p.study("data", benchmarks=[1]), "Expected benchmarks to be strings"),  # type: ignore[list-item]
    "a model's run": (lambda p: p.push("mine", "me/it"), "Expected a model that was trained here"),  # type: ignore[arg-type]
    "no training": (lambda p: p.tradeoff(1), "Expected the number of a training"),
    "a share": (lambda p: p.tradeoff(1, share="x"), "Expected a share from 0 to 1"),  # type: ignore[arg-type]
    "a repository": (lambda p: p.release().push("mine"), "Expected a repository as owner/name"),
    "a judge's types": (lambda p: p.judge(model="x", types=[1]), "Expected types to be strings"),  # type: ignore[list-item]
    "a release": (lambda p: p.train("x"), "Expected a release or its number"),  # type: ignore[arg-type]
    "a seed": (lambda p: p.train(seed="a"), "Expected a whole number as the seed"),  # type: ignore[arg-type]
    "types": (lambda p: p.generate(provider="rules", types=[1]), "Expected types to be strings"),  # type: ignore[list-item]
}


@pytest.mark.parametrize("name", ATTEMPTS)
def test_problems_give_one_sentence(
    name: str, example_project: Example, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    attempt, message = ATTEMPTS[name]
    with pytest.raises(hedgerow.HedgerowError) as refusal:
        attempt(example_project())
    assert message in str(refusal.value)


def test_a_single_name_can_be_used_alone(example_project: Example) -> None:
    project = example_project()
    project.anchors.add(["The lamp is bright."])
    found = project.generate(provider="rules", types="verbal", dry_run=True)
    assert found["variants"] == {"verbal": 1}


def test_a_shadowed_package_is_an_error_of_the_package() -> None:
    assert issubclass(hedgerow.ShadowedPackageError, ImportError)
