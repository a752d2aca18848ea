"""The Compare page in Chromium: a ranking of groups, a saved chart, and a set with a link."""

from pathlib import Path

import numpy as np
import pytest
from playwright.sync_api import Page, expect

from curation.encoders.model_folders import DEFAULT_ENCODER
from curation.project.opening import open_project
from db.engine import writing
from db.models import Encoder, RunState
from db.run_folders import run_folder
from db.settings import Settings
from tests.browser.conftest import Share
from tests.browser.support.walk import go, hover_charts, settle, sign_in
from tests.support.factories import person
from training.evaluation.probe_sets import GROUPS_SET, ensure_bundled
from training.evaluation.probes import save_probe_cosines
from training.evaluation.similarity_run import request_comparison

SENTENCES = ["It rains.", "It pours.", '<img src=x onerror="window.hacked=1"> **dry** $x$']


@pytest.fixture
def measured(home: Path) -> None:
    """The sixty groups and three sentences with the built-in encoder and a trained one."""
    settings = Settings(home=home, database_url="")
    engine = open_project(settings)
    trained = "run 7: all-MiniLM-L6-v2, release 1"
    with writing(engine) as session:
        person(session)
        probes = ensure_bundled(session, GROUPS_SET)
        run = request_comparison(session, models=[DEFAULT_ENCODER], sentences=SENTENCES)
        run.state = RunState.DONE
        for letter, name, path in (("a", DEFAULT_ENCODER, ""), ("b", trained, "runs/x/model")):
            row = Encoder(name=name, fingerprint=letter * 64, path=path)
            session.add(row)
            session.flush()
            low = 0.9 if letter == "a" else 0.3
            cosines = {p.id: low if p.probe.label == "contradicted" else 0.8 for p in probes}
            save_probe_cosines(session, cosines, encoder_id=row.id)
            matrix = np.where(np.eye(3) > 0, 1.0, low).astype(np.float32)
            np.save(run_folder(settings, run) / f"cosines-{letter * 16}.npy", matrix)
    engine.dispose()


def test_groups_and_sentences_are_compared_and_a_set_has_a_link(
    measured: None, home: Path, share: Share, page: Page
) -> None:
    address = share(home)
    sign_in(page, address)
    go(page, address, "compare")
    expect(page.get_by_test_id("stMetricValue")).to_have_text(["0%", "100%"])
    with page.expect_download() as saved:
        page.get_by_role("button", name="SVG").first.click()
    assert saved.value.suggested_filename == "hedgerow-roles.svg"
    assert "contradicted" in Path(saved.value.path()).read_text(encoding="utf-8")

    page.get_by_role("radio", name="Sentences").click()
    box = page.get_by_role("textbox", name="Sentences, one per line")
    box.fill("\n".join(SENTENCES))
    box.press("Control+Enter")
    expect(page.get_by_text("B puts them further apart, by 0.600.")).to_be_visible()
    settle(page)
    expect(page.get_by_test_id("stVegaLiteChart")).to_have_count(3)
    hover_charts(page)
    page.get_by_role("button", name="Save as a probe set").click()
    name = page.get_by_role("textbox", name="Name")
    name.fill("Rain & [more](x)")
    name.press("Enter")
    page.get_by_role("button", name="Save", exact=True).click()
    expect(page.get_by_role("combobox", name="Probe set")).to_have_value("Rain & [more](x)")
    page.wait_for_url("**/compare?set=Rain+*")

    page.reload()
    expect(page.get_by_text("B puts them further apart, by 0.600.")).to_be_visible()
    expect(page.get_by_role("combobox", name="Probe set")).to_have_value("Rain & [more](x)")
    assert page.evaluate("window.hacked") is None
