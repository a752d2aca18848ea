"""Every page opens, and every kind of run has the same name wherever runs are shown."""

import ast
import re
from pathlib import Path

from sqlalchemy import Engine
from streamlit.testing.v1 import AppTest

from curation.upkeep.backup_run import KIND as BACKUP
from curation.upkeep.check_run import KIND as CHECK
from db.columns import now
from db.engine import writing
from db.models import Run, RunState
from db.runs import create_run
from pages.components.settings.project_panels import FOLLOW_A_CHANGE
from tests.cli.commands import ask, complaint, show
from tests.pages.conftest import ROOT, OpenPage
from tests.support.factories import add_family
from training.runs.kinds import KINDS

PAGES = sorted(path.stem for path in (ROOT / "pages").glob("*.py"))


def open_all(open_page: OpenPage) -> None:
    titles = set()
    for name in PAGES:
        app = open_page(name)
        assert not app.exception, name
        titles.add(app.title[0].value)
        assert app.caption[0].value.endswith("."), name
        assert not any("failed" in text.value for text in app.text), name
    assert len(titles) == len(PAGES) > 10


def test_every_page_opens_on_an_empty_project_with_its_own_title(open_page: OpenPage) -> None:
    open_all(open_page)


def test_every_page_opens_on_the_starter_corpus(loaded_home: Path, open_page: OpenPage) -> None:
    open_all(open_page)


def test_no_stray_expression_is_shown_as_output() -> None:
    for name in PAGES:
        body = ast.parse((ROOT / "pages" / f"{name}.py").read_text("utf-8")).body
        stray = [node for node in body[1:] if isinstance(node, ast.Expr)]
        assert not [node.lineno for node in stray if not isinstance(node.value, ast.Call)], name


WITH_WORK = [kind for kind in KINDS if kind.work]


def followed(app: AppTest) -> set[str]:
    """What the page says about the runs in progress."""
    found = (re.fullmatch(r"Run \d+: (.*)", text.value) for text in app.text)
    return {match[1] for match in found if match}


def test_every_kind_has_its_title_on_pages_and_command_line(
    with_source: Engine, open_page: OpenPage
) -> None:
    with writing(with_source) as session:
        add_family(session)
        for kind in WITH_WORK:
            run = create_run(session, kind=kind.id, parameters={})
            run.sqlmodel_update({"state": RunState.RUNNING, "attempt": 1, "started_at": now()})
    titles = {kind.title for kind in WITH_WORK}
    overview = open_page("overview")
    assert followed(overview) == titles
    recent = overview.dataframe[1].value
    assert recent["Task"].tolist() == [kind.title for kind in reversed(WITH_WORK)][: len(recent)]
    for address, kind in zip(recent["Run"], reversed(WITH_WORK), strict=False):
        run = Run(id=1, kind=kind.id, state=RunState.RUNNING, parameters={})
        assert address.startswith(f"{kind.address(run)}#run-")
    after_changes = {
        kind.title for kind in WITH_WORK if kind.id in (*FOLLOW_A_CHANGE, BACKUP, CHECK)
    }
    assert followed(open_page("settings")) == after_changes
    lines = show("runs", "list", "--limit", "99").splitlines()[1:]
    listed = [re.split(r" {2,}", line.strip())[1] for line in lines]
    assert listed == [kind.title for kind in reversed(WITH_WORK)]


def test_the_overview_shows_what_a_finished_run_added(
    with_source: Engine, open_page: OpenPage
) -> None:
    with writing(with_source) as session:
        add_family(session)
        for result in ({"variants": 3}, {}):
            run = create_run(session, kind="reorder", parameters={})
            run.sqlmodel_update({"state": RunState.DONE, "message": "Done.", "result": result})
    messages = open_page("overview").dataframe[1].value["Message"].tolist()
    assert messages[0] == "Done." and "3 variants" in messages[1]


def test_an_unknown_kind_is_named_with_the_known_ones() -> None:
    ask("init", "--empty")
    said = complaint("runs", "list", "--kind", "trian")
    assert "trian" in said and all(kind.id in said for kind in KINDS)
