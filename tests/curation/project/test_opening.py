"""Opening a project, also in several processes at the same moment."""

import subprocess
import sys

import pytest
from sqlalchemy.engine import URL

from tests.support.databases import both_databases

pytestmark = both_databases

OPEN = """
from curation.project.opening import open_project
from db.settings import load_settings
open_project(load_settings()).dispose()
"""


@pytest.mark.slow
def test_processes_that_open_a_new_project_at_once_all_find_it_made(
    url: URL, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HEDGEROW_DATABASE_URL", url.render_as_string(hide_password=False))
    started = [
        subprocess.Popen([sys.executable, "-c", OPEN], stderr=subprocess.PIPE, text=True)
        for _ in range(2)
    ]
    ended = [(process.communicate(timeout=120)[1], process.returncode) for process in started]
    assert ended == [("", 0)] * 2
