"""From files of anchors and variants to a trained encoder, Figure 1 and a benchmark."""

import json
import re
import zipfile
from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Page, expect
from sqlalchemy import Engine

from curation.review import deciding
from db.engine import writing
from tests.browser.conftest import Share
from tests.browser.support.app import let_measuring_wait
from tests.browser.support.chromium import NARROW
from tests.browser.support.pages import eventually, go, gone, rows, see, settle, shows, tick, visit
from tests.support.databases import Copies, opened
from tests.support.factories import add_family, model, person

HOSTILE = '<img src=x onerror="window.hacked=1">'
CSV = f"""text,genre
The bridge is safe.,news
The ferry is safe.,news
The ladder is safe.,news
Is it open?,news
{HOSTILE} is **bold** here.,law
"""
VARIANT = {"s": "The kettle is new.", "v": "The kettle is not new.", "w": "2026"}

NEW_WORDING = "Nobody in the whole wide world would say so."
RUN_MS = 400_000
"""Timeout for a run. Most of the time is for loading PyTorch and MiniLM on a busy machine."""


@pytest.fixture
def engine(copies: Copies, home: Path) -> Iterator[Engine]:
    """An empty project, and a person."""
    with opened(copies.project(home / "hedgerow.db")) as engine:
        with writing(engine) as session:
            person(session)
            let_measuring_wait(session)
        yield engine


def test_an_import_with_surprises(
    engine: Engine, home: Path, share: Share, page: Page, tmp_path: Path
) -> None:
    address = share(home)
    add_anchors(page, home, address, tmp_path)
    import_variants(page, home, tmp_path)
    change_selected_anchors(page, home, address)


def add_anchors(page: Page, home: Path, address: str, folder: Path) -> None:
    """A renamed image is refused. A table is previewed, and added once by two clicks."""
    page.set_viewport_size(NARROW)
    visit(page, address, "/anchors?part=Add")
    chooser = page.locator("input[type=file]").first  # the next one is for variants
    image, table = folder / "photo.csv", folder / "**mine**.csv"
    image.write_bytes(b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR")
    table.write_text(CSV, "utf-8")
    refused = page.locator("[class*=st-key-error-box]")
    chooser.set_input_files(image)
    expect(refused).to_contain_text("PNG")
    chooser.set_input_files(table)
    see(page.get_by_text("Suspicious 2", exact=True))
    gone(refused)
    language = page.get_by_label("Language", exact=True).first
    for tag, number in (("de", "[0-2]"), ("en", "3")):
        language.fill(tag)
        language.press("Enter")
        see(page.get_by_role("button", name=re.compile(f"Add {number} anchor")))
    assert page.evaluate("document.documentElement.scrollWidth") <= NARROW["width"]
    page.get_by_text("Also add the 2 suspicious rows").click()
    page.get_by_role("button", name="Add 5 anchors").dblclick()
    page.get_by_role("button", name="Browse anchors").click()
    see(page.get_by_text("5 anchors."))
    assert page.evaluate("window.hacked") is None
    added = [text for (text,) in rows(home, "SELECT text FROM anchor_revision")]
    assert len(added) == 5 and added[-1] == f"{HOSTILE} is **bold** here."


def import_variants(page: Page, home: Path, folder: Path) -> None:
    """The file has columns without a known meaning. A process of its own imports it."""
    page.get_by_role("tab", name="Import variants").click()
    settle(page)
    table = folder / "other.jsonl"
    table.write_text(json.dumps(VARIANT) + "\n", "utf-8")
    page.locator("input[type=file]").last.set_input_files(table)
    refused = page.locator("[class*=st-key-error-box]")
    see(refused)
    for column, role in (("s", "Anchors"), ("v", "Type: Verbal negation")):
        settle(page)
        page.get_by_role("combobox", name=column, exact=True).fill(role)
        page.get_by_role("option", name=role, exact=True).click()
    gone(refused)
    page.get_by_role("button", name="Import 1 anchor and 1 variant").click()
    expect(page.locator(".st-key-variants-imported")).to_be_visible(timeout=RUN_MS)
    imported = "SELECT text, type_id, status FROM variant"
    assert rows(home, imported) == [(VARIANT["v"], "verbal", "pending")]


def change_selected_anchors(page: Page, home: Path, address: str) -> None:
    """A selected anchor stays selected while the table changes, and several are retired at once."""
    visit(page, address, "/anchors?show=Without+variants")
    page.keyboard.press("/")
    expect(page.get_by_placeholder("Part of a sentence, or a uid")).to_be_focused()
    tick(page, 0)
    page.get_by_text("Write a variant", exact=True).click()
    page.get_by_label("Your variant").fill("The bridge isn't safe.")
    page.get_by_role("button", name="Add and accept").click()
    see(page.get_by_text("4 anchors.", exact=True))
    retire = page.get_by_role("button", name="Retire")
    retire.click()
    retired = "SELECT id FROM anchor WHERE retired_at IS NOT NULL"
    eventually(page, lambda: rows(home, retired) == [(1,)])
    settle(page)
    tick(page, 0, 1)
    retire.click()
    eventually(page, lambda: rows(home, retired) == [(1,), (2,), (3,)])
    page.get_by_role("button", name="Undo").click()
    eventually(page, lambda: rows(home, retired) == [(1,)])


def test_a_training_and_figure_1(
    engine: Engine, home: Path, share: Share, page: Page, tmp_path: Path
) -> None:
    """From decided variants to a trained encoder, a data set, a comparison and a benchmark."""
    with writing(engine) as session:
        subjects = [f"bridge number {n}" for n in range(24)]
        families = [add_family(session, f"The {s} is safe.", subject=s) for s in subjects]
        llm = model(session)
        for variant in (v for family in families[:20] for v in family.values()):
            deciding.accept(session, deciding.shown(variant), reviewer_id=llm)
        last = deciding.shown(families[-1]["verbal"])
        deciding.edit(session, last, reviewer_id=person(session), text=NEW_WORDING)
    address = share(home)
    train(page, home, address)
    download_the_release(page, address, tmp_path)
    compare(page, address)
    run_a_benchmark(page, address)


def train(page: Page, home: Path, address: str) -> None:
    visit(page, address, "/train")
    page.get_by_text("Advanced: release, seed, recipe").click()
    recipe = page.get_by_role("textbox", name="Recipe (YAML)")
    see(recipe)
    recipe.fill("max_steps: 2\nmax_triples: 64\nbatch_size: 4\nretention: 0\n")
    recipe.press("Control+Enter")
    page.get_by_role("button", name="Finetune").click()
    page.get_by_role("button", name="Show results").click(timeout=RUN_MS)
    see(page.get_by_role("heading", name="Figure 1"), page.get_by_test_id("stVegaLiteChart").nth(1))
    (trained,) = rows(home, "SELECT path, release_id FROM encoder WHERE run_id IS NOT NULL")
    assert (home / "hedgerow_data" / str(trained[0]) / "model.safetensors").exists()
    assert trained[1] == 1


def download_the_release(page: Page, address: str, folder: Path) -> None:
    import datasets

    go(page, f"{address}/release")
    page.get_by_role("button", name="Prepare the download").click()
    with page.expect_download(timeout=RUN_MS) as download:
        page.get_by_role("button", name="Download the zip").click(timeout=RUN_MS)
    with zipfile.ZipFile(download.value.path()) as archive:
        archive.extractall(folder / "data")
    triples, variants = (
        datasets.load_dataset(str(folder / "data"), name, cache_dir=str(folder / "cache"))
        for name in ("triples", "variants")
    )
    # Three positives and four negatives of each of the twenty families that the model decided.
    assert sum(part.num_rows for part in triples.values()) == 20 * 12
    assert any(NEW_WORDING in part.unique("text") for part in variants.values())


def compare(page: Page, address: str) -> None:
    """Training has measured Figure 1 for both encoders."""
    go(page, f"{address}/compare")
    with page.expect_download() as saved:
        page.get_by_role("button", name="SVG").first.click()
    assert "<svg" in Path(saved.value.path()).read_text(encoding="utf-8")


def run_a_benchmark(page: Page, address: str) -> None:
    """On the release's test split: from the run over its scores to a record's card."""
    go(page, f"{address}/benchmarks")
    page.get_by_role("button", name="Run", exact=True).click()
    scores = page.get_by_role("button", name="Show the scores")
    expect(scores).to_be_visible(timeout=RUN_MS)
    settle(page)
    scores.click()
    see(page.get_by_role("region", name="Scores"))
    page.get_by_role("radio", name="Items").click()
    settle(page)
    tick(page, 0)
    link = page.get_by_role("link", name="Open in Review").first
    uid = (link.get_attribute("href") or "").partition("variant=")[2]
    link.click()
    shows(page, uid)
