"""Every page opens, every kind of run has the same name wherever runs are shown, and the package
from docs/plug_ins.md is offered next to packages that cannot be loaded."""

from __future__ import annotations

import ast
import re
from pathlib import Path

import numpy as np
import pytest
from sqlalchemy import Engine, select
from streamlit.testing.v1 import AppTest

from curation.generation import run as generation
from curation.review.deciding import accept, shown
from curation.upkeep.backup_file import KIND as BACKUP
from curation.upkeep.checking import KIND as CHECK
from db.columns import now
from db.engine import reading, writing
from db.execution import execute
from db.models import Run, RunState, Variant
from db.runs import create_run
from db.settings import load_settings
from pages.components.benchmarks.names import ITEMS, SCORES, SECTION
from pages.components.settings.project_panels import FOLLOW_A_CHANGE
from tests.cli.commands import ask, complaint, show
from tests.pages.conftest import OpenPage
from tests.pages.looks import html, page_text, rows
from tests.support.benchmark_results import add_result
from tests.support.checkout import ROOT
from tests.support.factories import add_anchor, add_family, freeze, person
from tests.support.plug_in_packages import install, install_example
from tests.training.benchmarks.support.samples import write_lines
from training.benchmarks.catalogue import benchmark
from training.runs.kinds import KINDS

PAGES = sorted(path.stem for path in (ROOT / "pages").glob("*.py"))


def open_all(open_page: OpenPage) -> None:
    titles = set()
    for name in PAGES:
        app = open_page(name)
        assert not app.exception, name
        titles.add(app.title[0].value)
        assert app.caption[0].value.endswith("."), name
        assert not any("failed" in text.value for text in app.text), name
    assert len(titles) == len(PAGES) > 10


def test_every_page_opens_on_an_empty_project_with_its_own_title(open_page: OpenPage) -> None:
    open_all(open_page)


def test_every_page_opens_on_the_starter_corpus(loaded_home: Path, open_page: OpenPage) -> None:
    open_all(open_page)


def test_no_stray_expression_is_shown_as_output() -> None:
    for name in PAGES:
        body = ast.parse((ROOT / "pages" / f"{name}.py").read_text("utf-8")).body
        stray = [node for node in body[1:] if isinstance(node, ast.Expr)]
        assert not [node.lineno for node in stray if not isinstance(node.value, ast.Call)], name


WITH_WORK = [kind for kind in KINDS if kind.work]


def followed(app: AppTest) -> set[str]:
    """What the page says about the runs in progress."""
    found = (re.fullmatch(r"Run \d+: (.*)", text.value) for text in app.text)
    return {match[1] for match in found if match}


def test_every_kind_has_its_title_on_pages_and_command_line(
    with_source: Engine, open_page: OpenPage
) -> None:
    with writing(with_source) as session:
        add_family(session)
        for kind in WITH_WORK:
            run = create_run(session, kind=kind.id, parameters={})
            run.sqlmodel_update({"state": RunState.RUNNING, "attempt": 1, "started_at": now()})
    titles = {kind.title for kind in WITH_WORK}
    overview = open_page("overview")
    assert followed(overview) == titles
    recent = overview.dataframe[1].value
    assert recent["Task"].tolist() == [kind.title for kind in reversed(WITH_WORK)][: len(recent)]
    for address, kind in zip(recent["Run"], reversed(WITH_WORK), strict=False):
        run = Run(id=1, kind=kind.id, state=RunState.RUNNING, parameters={})
        assert address.startswith(f"{kind.address(run)}#run-")
    after_changes = {
        kind.title for kind in WITH_WORK if kind.id in (*FOLLOW_A_CHANGE, BACKUP, CHECK)
    }
    assert followed(open_page("settings")) == after_changes
    lines = show("runs", "list", "--limit", "99").splitlines()[1:]
    listed = [re.split(r" {2,}", line.strip())[1] for line in lines]
    assert listed == [kind.title for kind in reversed(WITH_WORK)]


def test_the_overview_shows_what_a_finished_run_added(
    with_source: Engine, open_page: OpenPage
) -> None:
    with writing(with_source) as session:
        add_family(session)
        for result in ({"variants": 3}, {}):
            run = create_run(session, kind="reorder", parameters={})
            run.sqlmodel_update({"state": RunState.DONE, "message": "Done.", "result": result})
    messages = open_page("overview").dataframe[1].value["Message"].tolist()
    assert messages[0] == "Done." and "3 variants" in messages[1]


def test_an_unknown_kind_is_named_with_the_known_ones() -> None:
    ask("init", "--empty")
    said = complaint("runs", "list", "--kind", "trian")
    assert "trian" in said and all(kind.id in said for kind in KINDS)


GROUPS = ("providers", "exports", "encoders", "benchmarks", "scorers")


@pytest.fixture
def example(app_engine: Engine, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The package, and another one with a plug-in of each kind that can't be imported."""
    monkeypatch.setattr("curation.diagnostics.measuring.work", lambda context: {})
    install_example(monkeypatch, tmp_path / "site")
    for group in GROUPS:
        code = f"raise OSError('no {group} today')"
        install(monkeypatch, tmp_path / f"bad_{group}", f"hedgerow.{group}", code, bad="Bad")


def broken(group: str) -> str:
    """What the pages say about the plug-in that cannot be loaded."""
    return f"OSError: no {group} today"


@pytest.mark.usefixtures("example")
def test_the_settings_page_lists_them_with_their_problems(open_page: OpenPage) -> None:
    app = open_page("settings")
    usable = [row for row in rows(app, "Plug-in") if row["Usable"] == "yes"]
    known = ["denials", "tsv", "letters", "opposites", "words-in-common"]
    assert [row["Plug-in"] for row in usable] == known
    assert {(r["Package"], r["Version"]) for r in usable} == {("hedgerow-example", "1.0")}
    assert all(broken(group) in page_text(app) for group in GROUPS)
    assert any("letters" in box.options for box in app.selectbox), "as the active encoder"


@pytest.mark.usefixtures("example")
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


@pytest.mark.usefixtures("example")
def test_a_format_is_offered_for_the_download(
    with_source: Engine, open_page: OpenPage, started: list[int]
) -> None:
    with writing(with_source) as session:
        for variant in add_family(session).values():
            accept(session, shown(variant), reviewer_id=person(session))
        freeze(session)
    app = open_page("release")
    assert broken("exports") in page_text(app)
    assert app.radio("export-format").options[-1] == "Tab-separated"
    app.radio("export-format").set_value("tsv").run()
    app.button("export").click().run()
    assert not app.exception and len(started) == 1


@pytest.mark.usefixtures("example")
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


@pytest.mark.usefixtures("example")
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
