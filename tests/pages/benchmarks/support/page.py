"""The benchmarks page without a browser, and results to show on it."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
from sqlalchemy import Engine
from streamlit.testing.v1 import AppTest

from db.engine import writing
from db.settings import load_settings
from pages.components.benchmarks.names import RUN, SECTION
from tests.pages.conftest import ROOT, TIMEOUT
from tests.support.benchmark_results import add_result
from tests.training.benchmarks.support.samples import semantoneg_rows, write_lines
from training.benchmarks.definition import Result
from training.benchmarks.tasks.semantoneg import SemAntoNeg

HOSTILE = '<img src=x onerror="alert(1)"> **bold** [link](javascript:alert(1)) $x^2$'


def page(section: str = RUN, **address: str) -> AppTest:
    test = AppTest.from_file(str(ROOT / "app.py"), default_timeout=TIMEOUT).run()
    test.session_state[SECTION] = section
    for name, value in address.items():
        test.query_params[name] = value
    found: AppTest = test.switch_page("pages/benchmarks.py").run()
    assert not found.exception
    return found


def page_text(test: AppTest) -> str:
    return "\n".join(element.value for element in test.text)


def html(test: AppTest) -> str:
    return "\n".join(element.value for element in test.get("html"))


def frames_of(test: AppTest, *columns: str) -> list[Any]:
    """The tables with these columns."""
    return [f.value for f in test.dataframe if set(columns) <= set(f.value.columns)]


def frame_of(test: AppTest, *columns: str) -> Any:
    (found,) = frames_of(test, *columns)
    return found


def store(engine: Engine, model: str, result: Result, *, hash_: str = "") -> None:
    """A result as stored by a run."""
    with writing(engine) as session:
        add_result(session, load_settings().data_folder, model, result, hash_=hash_)


def semantoneg(tmp_path: Path, right: int) -> Result:
    """A result with this many right items out of six."""
    data = SemAntoNeg.read(write_lines(tmp_path / "sample.jsonl", semantoneg_rows()))
    scores = [[0.1, 0.2, 0.9] if n < right else [0.1, 0.9, 0.2] for n in range(len(data.items))]
    return data.evaluate([np.array(row) for row in scores])


def uploaded(test: AppTest, name: str, content: bytes) -> AppTest:
    test.checkbox(f"bench-tick-{name}").check().run()
    test.file_uploader(f"bench-file-{name}-0").set_value(("my.jsonl", content, "text/plain")).run()
    assert not test.exception
    return test


def content() -> bytes:
    return "\n".join(json.dumps(row) for row in semantoneg_rows()).encode()
