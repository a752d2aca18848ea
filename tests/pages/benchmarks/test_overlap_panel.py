"""The overlap of a release with benchmarks: on Train before it starts, and on Benchmarks."""

from __future__ import annotations

import time

import pytest
from sqlalchemy import Engine
from streamlit.testing.v1 import AppTest

from curation.release.freezing import create_release
from db.engine import writing
from db.models import Split
from db.settings import load_settings
from pages.components.benchmarks.names import OVERLAP, SECTION
from pages.components.shared.shell import count_cache
from pages.components.train.start import overlap_lines
from tests.curation.release.test_overlap_results import compared
from tests.curation.support.families import add_plain_family
from tests.pages.conftest import TIMEOUT, unsafe_texts
from tests.support.checkout import APP
from tests.support.overlapping import SAID, keep_doors


@pytest.fixture
def released(app_engine: Engine) -> Engine:
    with writing(app_engine) as session:
        for number in range(9):
            add_plain_family(session, number, split=Split.TRAIN)
        create_release(session)
    return app_engine


def opened(page: str) -> AppTest:
    """A page after its background computation has finished."""
    test = AppTest.from_file(str(APP), default_timeout=TIMEOUT).run()
    test.session_state[SECTION] = OVERLAP if page == "benchmarks" else "Train"
    return finished(test.switch_page(f"pages/{page}.py").run())


def finished(test: AppTest) -> AppTest:
    until = time.monotonic() + TIMEOUT
    while count_cache._store().busy() and time.monotonic() < until:
        time.sleep(0.05)
    return test.run()


def overlapping_texts(test: AppTest) -> list[str]:
    """The tables of texts, as HTML."""
    return [box.value for box in test.get("html") if "Overlapping texts" in box.value]


def page_text(test: AppTest) -> str:
    return "\n".join(text.value for text in test.text)


def test_without_a_release_or_a_benchmark_it_says_what_to_do(app_engine: Engine) -> None:
    test = opened("benchmarks")
    assert "There is no release to compare" in page_text(test) and not test.exception
    with writing(app_engine) as session:
        for number in range(9):
            add_plain_family(session, number, split=Split.TRAIN)
        create_release(session)
    test.run()
    assert "Add a file under Run" in page_text(test)
    assert "in a row" not in page_text(opened("train"))


def test_overlap_shows_the_number_and_the_texts(released: Engine) -> None:
    keep_doors(load_settings().data_folder)
    test = opened("benchmarks")
    assert not test.exception
    figures, fields = (frame.value for frame in test.dataframe)
    assert figures.to_dict("records") == [
        {
            "Benchmark": "SemAntoNeg (doors.jsonl)",
            "Items": 4,
            "Overlapping": 2,
            "Share": 0.5,
            "Whole text": 2,
        }
    ]
    assert fields.drop(columns="Benchmark").to_dict("list") == {
        "Field of the release": ["anchor", "positive", "negative"],
        "In queries": [0, 1, 1],
        "In documents": [0, 0, 0],
        "Whole text in queries": [1, 0, 1],
        "Whole text in documents": [0, 0, 0],
    }
    (texts,) = overlapping_texts(test)
    last = texts.rpartition("<tr>")[2]
    assert "She said that door 2 is probably open today." in last
    assert ">door 2 is probably open<" in last
    assert texts.count('href="/review?variant=') == texts.count("<tr>") - 1
    test.number_input(key="overlap-n").set_value(6).run()
    finished(test)
    assert test.dataframe[0].value["Overlapping"].tolist() == [0]
    assert test.dataframe[0].value["Whole text"].tolist() == [2]


def test_train_reports_it_before_the_start(released: Engine) -> None:
    with writing(released) as session:
        add_plain_family(session, 99, split=Split.TRAIN)
        create_release(session)
    keep_doors(load_settings().data_folder)
    test = AppTest.from_file(str(APP), default_timeout=TIMEOUT).run()
    test.switch_page("pages/train.py").run()
    assert test.button(key="train-click") and not test.exception
    test = finished(test)
    assert SAID in page_text(test) and not test.exception
    assert "5 consecutive words with the bundled retention texts" in page_text(test)
    assert "doors.jsonl" not in unsafe_texts(test)
    assert len(overlapping_texts(test)) == 1


def test_few_lines_are_enough_for_many_benchmarks() -> None:
    shared = [compared(key=f"{n}" * 16, overlapping=n) for n in range(1, 7)]
    clean = [compared(key=f"{n}" * 16, overlapping=0, exact=0) for n in range(7, 9)]
    found = overlap_lines.lines([*clean, *shared])
    assert [line.partition(" ")[0] for line in found] == ["6", "5", "4", "3", "2", "2"]
    assert found[4].startswith("2 more ") and found[5].startswith("2 benchmark files (SemAntoNeg) ")
    assert overlap_lines.lines(clean[:1])[0].startswith("None of 1,234 items")
    broken = compared(problem="It is gone.", overlapping=0, exact=0)
    assert overlap_lines.lines([broken]) == ["SemAntoNeg (a.jsonl) was not compared: It is gone."]
    assert overlap_lines.lines([]) == []
