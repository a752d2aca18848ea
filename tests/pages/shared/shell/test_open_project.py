"""Reading and changing the project: the only way in which pages reach the database."""

import ast
from pathlib import Path

import pytest
from sqlalchemy import Engine
from sqlalchemy.orm import Session

from curation.review.people.reviewers import is_person
from db.errors import HedgerowError
from db.models import Reviewer, ReviewerKind
from pages.components.shared.shell import open_project
from tests.support.checkout import ROOT
from tests.support.factories import person

PAGES = ROOT / "pages"
OPENS_SESSIONS = PAGES / "components/shared/shell/open_project.py"


def _add(session: Session, name: str, *, then: str = "") -> str:
    person(session, name)
    if then:
        raise HedgerowError(then)
    return name


def test_a_reported_count_can_be_fetched(app_engine: Engine) -> None:
    assert not open_project.ask(is_person, "Ada")
    assert open_project.tell(_add, "Ada") == "Ada"
    assert open_project.ask(is_person, "Ada")


def test_a_change_that_fails_stores_nothing(app_engine: Engine) -> None:
    with pytest.raises(HedgerowError, match="No room"):
        open_project.tell(_add, "Ada", then="No room.")
    assert not open_project.ask(is_person, "Ada")


def test_a_question_changes_nothing(app_engine: Engine) -> None:
    def careless(session: Session) -> None:
        session.add(Reviewer(name="Ada", key="ada", kind=ReviewerKind.PERSON))

    open_project.ask(careless)
    assert not open_project.ask(is_person, "Ada")


def _session_names(path: Path) -> list[str]:
    """The places where a file has a session. The import contract does not see a lambda's."""
    return [
        f"{path.relative_to(ROOT)}:{node.lineno}"
        for node in ast.walk(ast.parse(path.read_text()))
        if (isinstance(node, ast.arg) and node.arg == "session")
        or (isinstance(node, ast.Name) and node.id == "session")
    ]


def test_a_page_passes_no_session_on() -> None:
    """A page names one function of the library for each question, and builds none of its own."""
    files = [path for path in sorted(PAGES.rglob("*.py")) if path != OPENS_SESSIONS]
    assert len(files) > 100 and _session_names(OPENS_SESSIONS)
    assert [place for path in files for place in _session_names(path)] == []
