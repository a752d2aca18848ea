"""Classes from other packages: found by their group, or refused in one sentence."""

from __future__ import annotations

import sys
from abc import ABC, abstractmethod
from pathlib import Path

import pytest

from curation.plug_ins import PlugInGroup
from db.errors import HedgerowError
from tests.support.plug_in_packages import install

GROUP = "hedgerow.tests"


class Base(ABC):
    @abstractmethod
    def work(self) -> int: ...


PLUG_INS = PlugInGroup(
    GROUP,
    Base,  # type: ignore[type-abstract]
    noun="tester",
    reserved=("ours",),
    called="name",
    methods=("work",),
)

CODE = f"""
from {__name__} import Base

class Good(Base):
    def work(self):
        return 7

class Unfinished(Base):
    pass

class Another:
    pass

number = 5
"""


@pytest.fixture
def package(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setitem(sys.modules, __name__, sys.modules[Base.__module__])
    install(
        monkeypatch,
        tmp_path / "theirs",
        GROUP,
        CODE,
        good="Good",
        unfinished="Unfinished",
        another="Another",
        number="number",
        missing="Nowhere",
    )


@pytest.mark.usefixtures("package")
def test_the_class_of_another_package_is_found_by_its_name() -> None:
    assert PLUG_INS.names() == ("another", "good", "missing", "number", "unfinished")
    assert PLUG_INS.load("good")().work() == 7


@pytest.mark.usefixtures("package")
@pytest.mark.parametrize(
    ("name", "problem"),
    [
        ("unfinished", "does not define work"),
        ("another", "is not a subclass of Base"),
        ("number", "is not a subclass of Base"),
        (
            "missing",
            "cannot be loaded (AttributeError: module 'theirs' has no attribute 'Nowhere')",
        ),
    ],
)
def test_a_broken_plug_in_is_refused_with_one_sentence(name: str, problem: str) -> None:
    with pytest.raises(HedgerowError) as refusal:
        PLUG_INS.load(name)
    assert str(refusal.value) == (
        f"The plug-in {name!r} of the package 'theirs' {problem}; repair or uninstall its package."
    )


def test_a_package_that_cannot_be_imported_is_named(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    install(monkeypatch, tmp_path / "broken", GROUP, "import no_such_module", one="Good")
    assert PLUG_INS.names() == ("one",), "nothing is imported for the names"
    with pytest.raises(HedgerowError, match="the package 'broken' .*No module named 'no_such_mod"):
        PLUG_INS.load("one")
    with pytest.raises(HedgerowError, match="'two' .* is not installed; install its package"):
        PLUG_INS.load("two")
