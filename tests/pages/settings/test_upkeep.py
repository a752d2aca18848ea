"""The settings page: creating backups, and checks."""

from pathlib import Path

import pytest
from sqlalchemy import Engine, text
from streamlit.testing.v1 import AppTest

from curation.upkeep.backup_run import KIND as BACKUP
from curation.upkeep.check_run import KIND as CHECK
from db.engine import reading, writing
from db.execution import execute
from db.models import RunState
from db.runs import get_run
from db.settings import load_settings
from tests.pages.conftest import OpenPage
from tests.support.factories import add_family
from training.runs.kinds import WORK


def texts(app: AppTest) -> str:
    return "\n".join(found.value for found in app.text)


def carry_out(engine: Engine, number: int) -> str:
    """Do the work of a run's process. Returns the run's kind."""
    execute(engine, load_settings(), number, WORK)
    with reading(engine) as session:
        run = get_run(session, number)
        assert run.state is RunState.DONE
        return run.kind


def test_a_backup_is_made_and_listed(
    with_source: Engine, open_page: OpenPage, started: list[int], home: Path
) -> None:
    app = open_page("settings")
    assert "No backups yet." in texts(app)
    app.checkbox(key="backup-artifacts").set_value(False).run()
    app.button(key="backup").click().run()
    assert app.button(key="backup").disabled
    lines = texts(app).splitlines()  # the panel follows its run
    run = f"Run {started[0]}: Back up the project"
    assert lines.index("Backup") < lines.index(run) < lines.index("Check")
    assert carry_out(with_source, started[0]) == BACKUP
    app = open_page("settings")
    (made,) = (home / "backups").iterdir()
    assert f"Backup saved as {made}. It contains the database and no artifacts." in texts(app)
    listed = [table.value for table in app.dataframe if "Backup" in table.value]
    assert listed[0]["Backup"].tolist() == [str(made)]


def test_a_check_reports_problems_and_a_repair_fixes_them(
    with_source: Engine, open_page: OpenPage, started: list[int]
) -> None:
    with writing(with_source) as session:
        add_family(session)
        session.execute(text("UPDATE variant SET status = 'accepted' WHERE id = 1"))
    app = open_page("settings")
    assert not [button for button in app.button if button.key == "repair"]
    app.button(key="check").click().run()
    assert carry_out(with_source, started[0]) == CHECK
    app = open_page("settings")
    assert "The check found problems: status of variants." in texts(app)
    assert "Status of variants: 1 found, such as " in texts(app)
    app.button(key="repair").click().run()
    carry_out(with_source, started[1])
    app = open_page("settings")
    assert "The check found no problems." in texts(app)
    assert "Repaired." in texts(app)
    assert not [button for button in app.button if button.key == "repair"]


@pytest.mark.parametrize("state", [RunState.FAILED, RunState.CANCELLED])
def test_a_check_that_ended_early_says_why(
    state: RunState, with_source: Engine, open_page: OpenPage, started: list[int]
) -> None:
    app = open_page("settings")
    app.button(key="check").click().run()
    with writing(with_source) as session:
        session.execute(
            text("UPDATE run SET state = :state, message = 'The disk is full.'"), {"state": state}
        )
    app = open_page("settings")
    assert f"Run {started[0]} " in texts(app)
    assert not app.button(key="check").disabled
