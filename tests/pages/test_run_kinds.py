"""Every kind of run is known by the same name wherever runs are executed or shown."""

import re

import pytest
from sqlalchemy import Engine
from streamlit.testing.v1 import AppTest

from curation.upkeep.backup_run import KIND as BACKUP
from curation.upkeep.check_run import KIND as CHECK
from db.columns import now
from db.engine import writing
from db.models import Run, RunState
from db.runs import create_run
from pages.components.settings.project_panels import FOLLOW_A_CHANGE
from tests.cli.support.commands import ask, complaint, show
from tests.pages.conftest import OpenPage
from tests.support.factories import add_family
from training.runs.kinds import KINDS

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
        assert address.startswith(f"{kind.address(running(kind.id))}#run-")
    after_changes = {
        kind.title for kind in WITH_WORK if kind.id in (*FOLLOW_A_CHANGE, BACKUP, CHECK)
    }
    assert followed(open_page("settings")) == after_changes
    rows = [
        re.split(r" {2,}", line.strip())
        for line in show("runs", "list", "--limit", "99").splitlines()
    ]
    assert [row[1] for row in rows[1:]] == [kind.title for kind in reversed(WITH_WORK)]


def running(kind: str) -> Run:
    return Run(id=1, kind=kind, state=RunState.RUNNING, parameters={})


def test_every_kind_is_carried_out_by_its_number(
    with_source: Engine, monkeypatch: pytest.MonkeyPatch
) -> None:
    for kind in WITH_WORK:
        monkeypatch.setattr(kind.work.replace(":", "."), lambda context: {})
        with writing(with_source) as session:
            run = create_run(session, kind=kind.id, parameters={})
        assert show("run", str(run.id)) == f"Run {run.id} is done.\n"
    assert {run["state"] for run in ask("runs", "list")["runs"]} == {"done"}


def test_the_overview_shows_what_a_finished_run_added(
    with_source: Engine, open_page: OpenPage
) -> None:
    with writing(with_source) as session:
        add_family(session)
        for result in ({"variants": 3}, {}):
            run = create_run(session, kind="reorder", parameters={})
            run.sqlmodel_update({"state": RunState.DONE, "message": "Done.", "result": result})
    messages = open_page("overview").dataframe[1].value["Message"].tolist()
    assert messages == ["Done.", "Sorted the queues; 3 variants moved."]


def test_an_unknown_kind_is_named_with_the_known_ones() -> None:
    ask("init", "--empty")
    assert (
        "Expected a kind of run (starter, corpus, import, import-variants, generate,"
        in complaint("runs", "list", "--kind", "trian")
    )
