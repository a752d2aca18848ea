"""A user's way from a fresh database to a trained encoder and a data set."""

import zipfile
from pathlib import Path

import pytest
from playwright.sync_api import Page, expect
from sqlalchemy.engine import URL

from curation.review import actions
from db.engine import create_engine, writing
from db.migrate import upgrade
from tests.browser.conftest import Share
from tests.browser.support.app import let_measuring_wait
from tests.browser.support.reviewing import card, editor, press, rows, settle
from tests.support.factories import add_family, model

NEW_WORDING = "Nobody in the whole wide world would say so."
TRAINING_MS = 180_000
"""Timeout for a tiny training run here. Most of the time is for loading torch and MiniLM."""


def decide_three(page: Page) -> None:
    """Accept one, reject one with a note, and edit one although the checks flag it."""
    press(page, "a")
    editor(page, "0", "Note").fill("reads like a headline")
    _save(page)
    editor(page, "e", "New wording").fill(NEW_WORDING)
    page.keyboard.press("Control+Enter")
    expect(page.locator(".hg-checks.hg-asked")).to_contain_text("No new verbal negator")
    settle(page)
    _save(page)


def _save(page: Page) -> None:
    before = card(page).get_attribute("data-variant") or ""
    page.keyboard.press("Control+Enter")
    expect(card(page)).not_to_have_attribute("data-variant", before)
    settle(page)


@pytest.fixture
def project(home: Path) -> None:
    """Sixty families: forty decided by a model, twenty pending."""
    engine = create_engine(URL.create("sqlite", database=str(home / "hedgerow.db")))
    upgrade(engine)
    with writing(engine) as session:
        subjects = [f"bridge number {n}" for n in range(60)]
        families = [add_family(session, f"The {s} is safe.", subject=s) for s in subjects]
        llm = model(session)
        for variant in (v for family in families[:40] for v in family.values()):
            actions.accept(session, actions.shown(variant), reviewer_id=llm)
        let_measuring_wait(session)
    engine.dispose()


@pytest.mark.slow
def test_from_pending_variants_to_figure_1_and_a_data_set(
    project: None, home: Path, share: Share, page: Page, tmp_path: Path
) -> None:
    address = share(home)

    page.goto(f"{address}/review")
    expect(page.get_by_label("Your name")).to_be_focused()
    settle(page)
    page.get_by_label("Your name").fill("Ada")
    page.get_by_role("button", name="Start reviewing").click()
    expect(card(page)).to_be_visible()
    settle(page)
    decide_three(page)
    mine = """SELECT verdict, reason, d.note FROM decision d JOIN reviewer r ON r.id = d.reviewer_id
              WHERE r.name = 'Ada' ORDER BY d.id"""
    assert rows(home, mine) == [
        ("accept", "", ""),
        ("reject", "other", "reads like a headline"),
        ("edit", "", ""),
        ("accept", "", ""),
    ]
    edited = f"SELECT type_id, status FROM variant WHERE text = '{NEW_WORDING}'"
    assert rows(home, edited) == [("verbal", "accepted")]

    page.goto(f"{address}/train")
    page.get_by_text("Advanced: release, seed, recipe").click()
    recipe = page.get_by_role("textbox", name="Recipe (YAML)")
    expect(recipe).to_be_visible()
    settle(page)
    recipe.fill("max_steps: 2\nmax_triples: 64\nbatch_size: 4\n")
    recipe.press("Control+Enter")
    page.get_by_role("button", name="Finetune").click()
    page.get_by_role("button", name="Show results").click(timeout=TRAINING_MS)
    expect(page.get_by_role("heading", name="Figure 1")).to_be_visible()
    expect(page.locator('[data-testid="stVegaLiteChart"]').nth(1)).to_be_visible()
    (trained,) = rows(home, "SELECT path, release_id FROM encoder WHERE run_id IS NOT NULL")
    assert (home / "hedgerow_data" / str(trained[0]) / "model.safetensors").exists()
    assert trained[1] == 1

    import datasets

    page.goto(f"{address}/release")
    page.get_by_role("button", name="Prepare the download").click()
    with page.expect_download(timeout=120_000) as download:
        page.get_by_role("button", name="Download the zip").click(timeout=120_000)
    packed = tmp_path / "release.zip"
    download.value.save_as(packed)
    with zipfile.ZipFile(packed) as archive:
        archive.extractall(tmp_path / "data")
    triples, variants = (
        datasets.load_dataset(str(tmp_path / "data"), name, cache_dir=str(tmp_path / "cache"))
        for name in ("triples", "variants")
    )
    # Three positives and four negatives of each of the forty families that the model decided.
    assert sum(part.num_rows for part in triples.values()) == 40 * 12
    assert any(NEW_WORDING in part.unique("text") for part in variants.values())


def test_the_overviews_link_reviews_the_chosen_source(home: Path, share: Share, page: Page) -> None:
    engine = create_engine(URL.create("sqlite", database=str(home / "hedgerow.db")))
    upgrade(engine)
    with writing(engine) as session:
        add_family(session)
        add_family(session, "The door is open.", source="Other: *odd* name")
        let_measuring_wait(session)
    engine.dispose()
    address = share(home)
    page.goto(f"{address}/review")
    page.get_by_label("Your name").fill("Ada")
    page.get_by_role("button", name="Start reviewing").click()
    expect(card(page)).to_be_visible()
    page.goto(address)
    page.locator(".st-key-source input").click()
    page.get_by_role("option", name="Other").click()
    expect(page.get_by_text("7 variants are pending")).to_be_visible()
    page.locator(".st-key-next-steps").get_by_role("link", name="Review").click()
    expect(card(page)).to_contain_text("The door is open.")
    expect(page.locator(".st-key-menu-queue-source")).to_contain_text("Other: *odd* name")
