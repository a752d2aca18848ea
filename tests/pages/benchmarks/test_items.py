"""Single items of results, and the errors that models share."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
from sqlalchemy import Engine
from streamlit.testing.v1 import AppTest

from curation.release.freezing import create_release
from db.engine import writing
from db.models import Split
from db.settings import load_settings
from pages.components.benchmarks.names import ITEMS
from tests.curation.support.families import add_plain_family
from tests.pages.benchmarks.support.page import (
    HOSTILE,
    frame_of,
    html,
    page,
    page_text,
    store,
)
from tests.training.benchmarks.support.samples import write_lines
from training.benchmarks.tasks.own_families import Hedgerow
from training.benchmarks.tasks.semantoneg import SemAntoNeg


def listed(test: AppTest) -> list[str]:
    """The items in the list."""
    frame = frame_of(test, "Item", "A")
    return [str(value) for value in frame["Item"]]


def test_items_are_filtered_by_the_models_outcomes(measured: Engine) -> None:
    test = page(ITEMS)
    assert (test.selectbox("a").value, test.selectbox("b").value) == ("run 7", "base")
    assert len(listed(test)) == 6
    test.selectbox("bench-agreement").set_value("only the first").run()
    assert listed(test) == ["2", "3", "4"]
    test.selectbox("bench-outcome").set_value("picks the negation").run()
    assert "No item matches" in page_text(test)
    test.selectbox("bench-agreement").set_value("neither").run()
    assert listed(test) == ["5"]


def test_items_show_the_errors_that_models_share(measured: Engine) -> None:
    test = page(ITEMS)
    assert "1 item of 6 wrong in at least 3 of 3 models." in page_text(test)
    assert frame_of(test, "Models wrong")["Item"].tolist() == ["5"]
    assert frame_of(test, "Errors", "Items").to_dict("records") == [
        {"Part": "easy / hard", "Errors": 1, "Items": 2}
    ]
    (least,) = [box for box in test.number_input if box.label == "Wrong in at least"]
    least.set_value(2).run()
    assert "4 items of 6 wrong in at least 2 of 3 models." in page_text(test)
    (models,) = [box for box in test.multiselect if box.label == "Models"]
    models.set_value([HOSTILE]).run()
    assert "Choose at least two models." in page_text(test) and not test.exception


def test_the_item_in_the_url_is_shown_with_its_texts_and_scores(measured: Engine) -> None:
    found = html(page(ITEMS, item="0"))
    assert "The soup is not <ins>cold</ins>." in found
    assert "A <b>0.900</b>" in found and "should be near" in found


def test_an_item_from_the_project_links_to_its_records(app_engine: Engine) -> None:
    with writing(app_engine) as session:
        add_plain_family(session, 1, split=Split.TEST)
        release = create_release(session).release
        session.flush()
        own = Hedgerow.of_release(session, release.id)
    size = len(own.items[0].positives) + len(own.items[0].negatives)
    store(app_engine, "base", own.evaluate([np.arange(size, dtype=float)]))
    found = html(page(ITEMS, item=own.items[0].uid))
    for variant in (*own.items[0].positives, *own.items[0].negatives):
        assert f'href="review?variant={variant.uid}"' in found
    assert f'href="anchors?anchor={own.items[0].uid}"' in found


def test_a_missing_result_file_is_reported_and_other_results_stay(measured: Engine) -> None:
    newest = max(load_settings().data_folder.glob("results-*"), key=lambda path: int(path.name[8:]))
    (newest / "rows.jsonl").unlink()
    test = page(ITEMS)
    assert "run 7: Could not read" in page_text(test)
    assert len(listed(test)) == 6


def test_hostile_texts_of_items_are_shown_as_they_are(app_engine: Engine, tmp_path: Path) -> None:
    rows: list[dict[str, Any]] = [
        {
            "idx": HOSTILE,
            "label": 2,
            "input": HOSTILE,
            "sentences": [f"{HOSTILE} a", f"{HOSTILE} b", f"{HOSTILE} c"],
        }
    ]
    data = SemAntoNeg.read(write_lines(tmp_path / "hostile.jsonl", rows))
    store(app_engine, HOSTILE, data.evaluate([np.array([0.3, 0.2, 0.1])]))
    test = page(ITEMS, item=HOSTILE)
    found = html(test)
    assert found.count("&lt;img src=x") == 4 and "<img src=x" not in found
    lines = [element.value for kind in ("markdown", "caption") for element in test.get(kind)]
    assert not any("<img" in str(value) for value in lines)
