"""The package from docs/plug_ins.md on the pages, and packages that cannot be loaded."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from sqlalchemy import Engine, select
from streamlit.testing.v1 import AppTest

from curation.generation import run as generation
from curation.release.freezing import create_release
from curation.review.actions import accept, shown
from db.engine import reading, writing
from db.execution import execute
from db.models import Variant
from db.settings import load_settings
from pages.components.benchmarks.names import ITEMS, SCORES, SECTION
from tests.pages.conftest import OpenPage
from tests.pages.looks import html, rows, texts
from tests.support.benchmark_results import add_result
from tests.support.factories import add_anchor, add_family, person
from tests.support.plug_in_packages import install, install_example
from tests.training.benchmarks.support.samples import write_lines
from training.benchmarks.catalogue import benchmark

GROUPS = ("providers", "exports", "encoders", "benchmarks", "scorers")


@pytest.fixture(autouse=True)
def example(app_engine: Engine, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The package, and another one with a plug-in of each kind that can't be imported."""
    monkeypatch.setattr("curation.diagnostics.measuring.work", lambda context: {})
    install_example(monkeypatch, tmp_path / "site")
    for group in GROUPS:
        code = f"raise OSError('no {group} today')"
        install(monkeypatch, tmp_path / f"bad_{group}", f"hedgerow.{group}", code, bad="Bad")


def page_text(app: AppTest) -> str:
    assert not app.exception
    return texts(app)


def broken(group: str) -> str:
    """What the pages say about the plug-in that cannot be loaded."""
    return f"OSError: no {group} today"


def test_the_settings_page_lists_them_with_their_problems(open_page: OpenPage) -> None:
    app = open_page("settings")
    usable = [row for row in rows(app, "Plug-in") if row["Usable"] == "yes"]
    known = ["denials", "tsv", "letters", "opposites", "words-in-common"]
    assert [row["Plug-in"] for row in usable] == known
    assert {(r["Package"], r["Version"]) for r in usable} == {("hedgerow-example", "1.0")}
    assert all(broken(group) in page_text(app) for group in GROUPS)
    assert any("letters" in box.options for box in app.selectbox), "as the active encoder"


def test_a_provider_writes_what_the_generate_page_asks_it_for(
    with_source: Engine, open_page: OpenPage, started: list[int]
) -> None:
    with writing(with_source) as session:
        for number in range(3):
            add_anchor(session, f"The bridge number {number} is safe.")
    app = open_page("generate")
    assert broken("providers") in page_text(app)
    control = app.segmented_control(key="generate-provider")
    assert control.options == ["A language model", "Rules, without a model", "Denials"]
    control.set_value("denials").run()
    app.multiselect(key="generate-types").set_value(["free_contradiction"]).run()
    assert "in front of the whole anchor" in page_text(app)  # the package's own words
    app.button("generate-start").click().run()
    execute(with_source, load_settings(), started[0], {generation.KIND: generation.work})
    with reading(with_source) as session:
        written = list(session.execute(select(Variant)).scalars())
    assert len(written) == 3 and {variant.provider for variant in written} == {"denials"}


def test_a_format_is_offered_for_the_download(
    with_source: Engine, open_page: OpenPage, started: list[int]
) -> None:
    with writing(with_source) as session:
        for variant in add_family(session).values():
            accept(session, shown(variant), reviewer_id=person(session))
        create_release(session)
    app = open_page("release")
    assert broken("exports") in page_text(app)
    assert app.radio("export-format").options[-1] == "Tab-separated"
    app.radio("export-format").set_value("tsv").run()
    app.button("export").click().run()
    assert not app.exception and len(started) == 1


def test_benchmarks_scorers_and_encoders_are_offered_together(
    open_page: OpenPage, tmp_path: Path
) -> None:
    app = open_page("benchmarks")
    for group in ("benchmarks", "scorers"):
        assert broken(group) in page_text(app)
    assert "letters" in app.multiselect("bench-models").options
    assert "words-in-common" in app.pills("bench-baselines").options
    app.checkbox("bench-tick-opposites").check().run()
    assert "Opposites is not on the model hub" in page_text(app)
    assert "letters" in open_page("compare").selectbox("a").options


def test_results_remain_when_their_benchmark_is_removed(
    app_engine: Engine, open_page: OpenPage, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    items = [{"sentence": f"{n}.", "paraphrase": "yes", "opposite": "no"} for n in range(4)]
    data = benchmark("opposites").read(write_lines(tmp_path / "items.jsonl", items))
    result = data.evaluate([np.array([1.0, n % 2]) for n in range(4)])
    with writing(app_engine) as session:
        add_result(session, load_settings().data_folder, "base", result)
    assert "Is a paraphrase closer" in page_text(open_page("benchmarks", **{SECTION: ITEMS}))
    monkeypatch.undo()
    monkeypatch.setenv("HEDGEROW_HOME", str(load_settings().home))
    assert "opposites" in html(open_page("benchmarks", **{SECTION: SCORES}))
    assert "'opposites'" in page_text(open_page("benchmarks", **{SECTION: ITEMS}))
