"""Each action by page, command and Python stores the same rows, except where `DIFFER` says.

What differs is a list of decisions to make: an action should be one function with three faces.
"""

from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from functools import partial
from pathlib import Path
from typing import Any

import pytest
import streamlit as st
from sqlalchemy import select
from sqlmodel import SQLModel

import hedgerow
from curation.diagnostics.measuring import measure_variants
from curation.review.deciding import accept, shown
from db.engine import reading, writing
from db.settings import load_settings
from hedgerow import running
from tests.cli.commands import ask
from tests.pages.conftest import OpenPage
from tests.pages.looks import named, press, put
from tests.support.databases import Copies, opened
from tests.support.factories import add_anchor, add_family, freeze, person
from training.evaluation.probe_sets import FIGURE_1_SET

FILE = "bridges.csv"
ANCHORS = "text,genre\nThe ferry is late.,news\nThe ferry is late.,news\nIs it open?,news\n"
VARIANTS = "anchor,verbal,word\nIt rains.,It does not rain.,It may rain.\n"
MINI = "all-MiniLM-L6-v2"
VOLATILE = set(
    "action_id actions created_at decided_at finished_at folder heartbeat_at host lease_until "
    "message pid random_key retired_at shown_at started_at state versions".split()
)
"""What differs from one time to the next. The state of a run differs because a page starts a
process for it."""

Rows = dict[str, list[dict[str, Any]]]
Face = Callable[..., object]


class _Stored(BaseException):
    """Ends a command or call once its run is stored; nothing catches it on the way."""


@pytest.fixture(autouse=True)
def _runs_are_only_stored(signed_in: None, monkeypatch: pytest.MonkeyPatch) -> None:
    def stored(*_: object) -> None:
        raise _Stored

    monkeypatch.setattr(running, "execute", stored)


@pytest.fixture(scope="module")
def furnished(copies: Copies, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Thirty families that one person has accepted, and their release; then one more accepted
    family, a pending one, and two anchors without variants."""
    path = tmp_path_factory.mktemp("furnished") / "hedgerow.db"
    with opened(copies.project(path)) as engine, writing(engine) as session:
        ada = person(session)
        for number in range(30):
            for variant in add_family(session, f"The bridge number {number} is safe.").values():
                accept(session, shown(variant), reviewer_id=ada)
        pending = [add_family(session, f"The road number {n} is dry.") for n in range(2)]
        measure_variants(session, [v.id for family in pending for v in family.values()])
        for text in ("The tunnel is long.", "The tower is high."):
            add_anchor(session, text)
        freeze(session)
        for variant in pending[0].values():
            accept(session, shown(variant), reviewer_id=ada)
    return path


@contextmanager
def in_project(furnished: Path, folder: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """The working directory with a copy of the project."""
    folder.mkdir()
    (folder / "hedgerow.db").write_bytes(furnished.read_bytes())
    (folder / FILE).write_text(ANCHORS)
    (folder / "variants.csv").write_text(VARIANTS)
    with monkeypatch.context() as patch:
        patch.setenv("HEDGEROW_HOME", str(folder))
        patch.chdir(folder)
        st.cache_resource.clear()
        st.cache_data.clear()
        yield folder


def stored() -> Rows:
    """The rows of all tables without what is volatile."""
    with opened(load_settings().url) as engine, reading(engine) as session:
        return {
            name: [
                {key: value for key, value in row._mapping.items() if key not in VOLATILE}
                for row in session.execute(select(table).order_by(*table.primary_key))
            ]
            for name, table in SQLModel.metadata.tables.items()
        }


def differences(one: Rows, other: Rows) -> Iterator[str]:
    """The tables with other numbers of rows, and the columns with other values."""
    for table, rows in one.items():
        if len(rows) != len(other[table]):
            yield table
            continue
        pairs = list(zip(rows, other[table], strict=True))
        for column in rows[0] if rows else ():
            values = [(a[column], b[column]) for a, b in pairs]
            if column in ("parameters", "inputs", "summary"):
                keys = {key for a, b in values for key in {**a, **b}} - VOLATILE
                yield from (
                    f"{table}.{column}.{key}"
                    for key in sorted(keys)
                    if any(a.get(key) != b.get(key) for a, b in values)
                )
            elif any(a != b for a, b in values):
                yield f"{table}.{column}"


# -- the actions: page, command, Python -------------------------------------------------


def add_anchors(page: OpenPage) -> None:
    app = page("anchors", part="Add")
    app.file_uploader[0].set_value((FILE, ANCHORS.encode(), "text/csv")).run()
    press(app, "anchors-add")


def import_variants(page: OpenPage) -> None:
    app = page("anchors", part="Import variants")
    put(app, "file_uploader", "variants-file", ("variants.csv", VARIANTS.encode(), "text/csv"))
    press(app, "variants-import")


def correct_anchor(page: OpenPage) -> None:
    app = page("anchors", show="All", anchor=uid())
    put(app, "button_group", "anchor-do-", "Correct the text")
    named(app, "text_area", "Corrected text").set_value("The road is dry.")
    press(app, "Save correction")


def generate(page: OpenPage) -> None:
    app = page("generate")
    app.get_by_key("generate-provider").set_value("rules").run()
    press(app, "generate-start")


def reject_far(page: OpenPage) -> None:
    app = page("diagnostics")
    app.slider(key="threshold").set_value(10).run()
    put(app, "selectbox", "threshold-reason", "meaning_changed")
    press(app, "reject-over")


def save_number(key: str, value: float, button: str, page: OpenPage) -> None:
    app = page("team", show="Assignment")
    app.number_input(key=key).set_value(value)
    press(app, button)


def press_freeze(page: OpenPage) -> None:
    app = page("release")
    app.text_input(key="release-name").set_value("second")
    press(app, "freeze-button")


def benchmark(page: OpenPage) -> None:
    press(page("benchmarks"), "bench-start")


def set_threshold(page: OpenPage) -> None:
    press(put(page("settings"), "number_input", "threshold-60", 50), "change-threshold")


def train(page: OpenPage) -> None:
    press(page("train"), "train-click")


def study(page: OpenPage) -> None:
    press(page("train", step="Studies"), "study-start-types")


def uid() -> str:
    """The anchor of the first pending family."""
    return str(ask("anchors", "list", "--search", "road number 1")["anchors"][0]["uid"])


RULE = "levenshtein > 10"
ACTIONS: dict[str, tuple[Face, Face, Face | None]] = {
    "add anchors": (
        add_anchors,
        lambda: ask("anchors", "add", FILE),
        lambda project: project.anchors.add(FILE),
    ),
    "import variants": (
        import_variants,
        lambda: ask("variants", "add", "variants.csv"),
        lambda project: project.variants.add("variants.csv"),
    ),
    "correct an anchor": (
        correct_anchor,
        lambda: ask("anchors", "correct", uid(), "The road is dry."),
        lambda project: project.anchors.correct(uid(), "The road is dry."),
    ),
    "retire an anchor": (
        lambda page: press(page("anchors", show="All", anchor=uid()), "anchor-retire"),
        lambda: ask("anchors", "retire", uid()),
        lambda project: project.anchors.retire(uid()),
    ),
    "generate": (
        generate,
        lambda: ask("generate", "--provider", "rules"),
        lambda project: project.generate(provider="rules"),
    ),
    "measure": (
        lambda page: press(page("settings"), "measure"),
        lambda: ask("diagnose"),
        lambda project: project.diagnose(),
    ),
    "reject by a rule": (
        reject_far,
        lambda: ask(
            *("review", "apply", "--rule", RULE, "--reject", "--reason", "meaning_changed")
        ),
        lambda project: project.decide_by_rule(RULE, "reject", reason="meaning_changed"),
    ),
    "assign": (
        partial(save_number, "assign-share", 50.0, "assign-save"),
        lambda: ask("review", "assign", "--reviewers", "2", "--share", "0.5"),
        lambda project: project.assign(reviewers=2, share=0.5),
    ),
    "set a quota": (
        partial(save_number, "quota-variants", 20, "quota-save"),
        lambda: ask("review", "quota", "Ada", "20"),
        lambda project: project.set_quota("Ada", 20),
    ),
    "freeze a release": (
        press_freeze,
        lambda: ask("release", "create", "--name", "second"),
        lambda project: project.release("second"),
    ),
    "export": (
        lambda page: press(page("release"), "export"),
        lambda: ask("export", "out"),
        lambda project: project.get_release().export("out"),
    ),
    "train": (train, lambda: ask("train"), lambda project: project.train()),
    "study": (study, lambda: ask("study", "types"), lambda project: project.study("types")),
    "benchmark": (
        benchmark,
        lambda: ask("benchmark", "hedgerow", "--model", MINI),
        lambda project: project.benchmark(MINI, "hedgerow"),
    ),
    "compare similarities": (
        lambda page: page("compare"),
        lambda: ask("similarity", "--model", MINI, "--set", FIGURE_1_SET),
        lambda project: project.similarity(MINI),
    ),
    "set the threshold": (
        set_threshold,
        lambda: ask("settings", "set", "levenshtein_threshold", "50"),
        None,
    ),
}

DIFFER: dict[str, set[str]] = {
    # Only the page starts measuring afterwards.
    "correct an anchor": {"run"},
    # The page's export is a run; command and Python write the folder themselves.
    "export": {"run"},
    # The page chooses both bundled encoders, and is opened with the prompts' first versions stored.
    "benchmark": {"prompt_version", "run.parameters.models"},
    # The page stores the cosines that come with Hedgerow; the others store nothing.
    "compare similarities": {"encoder", "probe", "probe_cosine", "probe_set"},
}
"""What a page stores otherwise than the command. Python stores what the command stores."""


@pytest.mark.slow
@pytest.mark.parametrize("name", ACTIONS)
def test_an_action_stores_the_same_by_page_command_and_python(
    name: str,
    furnished: Path,
    open_page: OpenPage,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    by_page, by_command, in_python = ACTIONS[name]
    with in_project(furnished, tmp_path / "command", monkeypatch):
        before = stored()
        with suppress(_Stored):
            by_command()
        reference = stored()
    with in_project(furnished, tmp_path / "page", monkeypatch):
        by_page(open_page)
        page = set(differences(reference, stored()))
        assert set(differences(before, stored())), "the page stored nothing"
    assert page == DIFFER.get(name, set())
    if in_python:
        with in_project(furnished, tmp_path / "python", monkeypatch):
            with suppress(_Stored), hedgerow.open() as project:
                in_python(project)
            assert not set(differences(reference, stored()))
