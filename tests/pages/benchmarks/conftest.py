"""The Benchmarks page at its sections, and a project with results to show on it."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from sqlalchemy import Engine
from streamlit.testing.v1 import AppTest

from db.engine import writing
from db.models import Encoder
from db.settings import load_settings
from pages.components.benchmarks.names import RUN, SECTION
from pages.components.shared.shell.open_project import tell
from tests.pages.looks import opened
from tests.support.benchmark_results import add_result
from tests.training.benchmarks.support.samples import semantoneg_rows
from training.benchmarks.definition import Result
from training.benchmarks.tasks.semantoneg import SemAntoNeg

HOSTILE = '<img src=x onerror="alert(1)"> **bold** [link](javascript:alert(1)) $x^2$'


def page(section: str = RUN, **address: str) -> AppTest:
    app = opened("benchmarks", {SECTION: section}, **address)
    assert not app.exception
    return app


def frames_of(app: AppTest, *columns: str) -> list[Any]:
    """The tables with these columns."""
    return [f.value for f in app.dataframe if set(columns) <= set(f.value.columns)]


def frame_of(app: AppTest, *columns: str) -> Any:
    (found,) = frames_of(app, *columns)
    return found


def store(engine: Engine, model: str, result: Result, *, hash_: str = "", **more: Any) -> None:
    """A result as stored by a run."""
    tell(add_result, load_settings().data_folder, model, result, hash_=hash_, **more)


SAMPLE = "".join(json.dumps(row) + "\n" for row in semantoneg_rows()).encode()
"""A file of SemAntoNeg with six items."""


def six_items(tmp_path: Path) -> SemAntoNeg:
    (tmp_path / "sample.jsonl").write_bytes(SAMPLE)
    return SemAntoNeg.read(tmp_path / "sample.jsonl")


def semantoneg(tmp_path: Path, right: int) -> Result:
    """A result with this many right items out of six."""
    return six_items(tmp_path).evaluate(
        [
            np.array(row)
            for row in [[0.1, 0.2, 0.9] if n < right else [0.1, 0.9, 0.2] for n in range(6)]
        ]
    )


def uploaded(app: AppTest, content: bytes = SAMPLE, name: str = "semantoneg") -> AppTest:
    app.checkbox(f"bench-tick-{name}").check().run()
    app.file_uploader(f"bench-file-{name}-0").set_value(("my.jsonl", content, "text/plain")).run()
    assert not app.exception
    return app


@pytest.fixture
def measured(app_engine: Engine, tmp_path: Path) -> Engine:
    """Three models. The second was trained from the first."""
    with writing(app_engine) as session:
        first = Encoder(name="base", fingerprint="b" * 64)
        session.add(first)
        session.flush()
        session.add(Encoder(name="run 7: base", fingerprint="c" * 64, path="x", base_id=first.id))
    store(app_engine, HOSTILE, semantoneg(tmp_path, 0))
    store(app_engine, "base", semantoneg(tmp_path, 2), hash_="b" * 64)
    store(app_engine, "run 7: base", semantoneg(tmp_path, 5), hash_="c" * 64)
    return app_engine
