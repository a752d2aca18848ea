"""Every page opens, on an empty project and on a full one."""

import ast
from pathlib import Path

import pytest

from tests.pages.conftest import ROOT, OpenPage

PAGES = sorted(path.stem for path in (ROOT / "pages").glob("*.py"))


def check(open_page: OpenPage, name: str) -> None:
    app = open_page(name)
    assert not app.exception
    assert [title.value for title in app.title] != []
    assert app.caption[0].value.endswith(".")
    assert not any("failed" in text.value for text in app.text)


def test_there_are_pages_to_open() -> None:
    assert {"overview", "review", "release", "train"} <= set(PAGES)


@pytest.mark.parametrize("name", PAGES)
def test_opens_on_an_empty_project(name: str, open_page: OpenPage) -> None:
    check(open_page, name)


@pytest.mark.parametrize("name", PAGES)
def test_opens_on_the_starter_corpus(name: str, loaded_home: Path, open_page: OpenPage) -> None:
    check(open_page, name)


def test_each_page_has_its_own_title(open_page: OpenPage) -> None:
    titles = [open_page(name).title[0].value for name in PAGES]
    assert len(set(titles)) == len(PAGES)


@pytest.mark.parametrize("name", PAGES)
def test_no_stray_expression_is_shown_as_output(name: str) -> None:
    body = ast.parse((ROOT / "pages" / f"{name}.py").read_text("utf-8")).body
    stray = [node for node in body[1:] if isinstance(node, ast.Expr)]
    assert not [node.lineno for node in stray if not isinstance(node.value, ast.Call)]
