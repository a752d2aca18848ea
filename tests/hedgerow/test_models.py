"""Models in Python: real steps of a tiny encoder, compared, mixed and published; benchmarks; and
what runs tell."""

from __future__ import annotations

import logging
import threading
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from rich.console import Console
from sqlalchemy import Engine

import hedgerow
from curation.encoders.loading import load_encoder
from curation.overview.project_settings import open_project
from db.engine import writing
from db.execution import WAITING, RunContext
from db.models import Split
from db.runs import create_run
from db.settings import HUB_TOKEN, load_settings
from hedgerow import progress, running
from hedgerow.progress import quietly
from hedgerow.running import carry_out
from tests.curation.support.families import add_plain_family
from tests.support.checkpoints import checkpoint
from tests.support.publishing import hub as hub
from tests.support.servers.hub_server import OWNER, TOKEN, HubServer
from tests.test_keys import files_with
from tests.training.benchmarks.support.samples import NEVIR, write_lines
from training.encoder_run import tradeoff

HELD_OUT = {6: Split.VALIDATION, 7: Split.VALIDATION, 8: Split.VALIDATION, 9: Split.TEST}


@pytest.fixture
def project(home: Path, monkeypatch: pytest.MonkeyPatch) -> hedgerow.Project:
    """Six families for training, three for evaluation and one for tests."""
    engine = open_project(load_settings())
    with writing(engine) as session:
        for number in range(10):
            add_plain_family(session, number, split=HELD_OUT.get(number, Split.TRAIN))
    engine.dispose()
    monkeypatch.setattr(tradeoff, "SHARES", (0.0, 0.5, 1.0))
    return hedgerow.open(reviewer="me")


@pytest.fixture
def two_steps(tiny_encoder: Path) -> dict[str, Any]:
    """Settings of a very short training run. A setting may be a path."""
    return {
        "base_encoder": tiny_encoder,
        "batch_size": 2,
        "max_steps": 2,
        "retention": 0.0,
        "interpolation": 1.0,
        "soup": 1,
    }


@pytest.mark.slow
def test_a_point_between_base_and_model_is_saved_and_published(
    project: hedgerow.Project, two_steps: dict[str, Any], hub: HubServer, home: Path
) -> None:
    from sentence_transformers import SentenceTransformer

    model = project.train(**two_steps)
    measured = project.tradeoff(model, share=0.25)
    assert list(measured.points["share"]) == [0.0, 0.25, 0.5, 1.0] and measured.own_share == 1.0
    assert measured.points["kept"].iloc[0] == 1.0 and measured.suggested in (0.25, 0.5, 1.0)
    assert project.tradeoff(model.run).run == measured.run  # it is measured once

    saved = measured.save(0.5)
    assert isinstance(saved, SentenceTransformer) and saved.run > measured.run
    assert set(saved.figures) == {"before", "after"}
    for share, message in (
        (0.5, "already saved"),
        (0.7, "one of the measured shares"),
        ("x", "found"),
    ):
        with pytest.raises(hedgerow.HedgerowError, match=message):
            measured.save(share)  # type: ignore[arg-type]

    pushed = project.push(saved, f"{OWNER}/point")
    assert hub.repos["model", f"{OWNER}/point"].head == pushed["commit"] and pushed["private"]
    project.get_release().push(f"{OWNER}/data", private=False)
    assert "README.md" in hub.repos["dataset", f"{OWNER}/data"].files
    assert files_with(home, TOKEN) == []


def test_nothing_is_stored_of_a_push_without_a_token(
    project: hedgerow.Project, hub: HubServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv(HUB_TOKEN)
    release = project.release("first")
    with pytest.raises(hedgerow.HedgerowError, match="token"):
        release.push(f"{OWNER}/data")
    assert project.status()["runs"] == [] and not hub.repos


@pytest.mark.slow
def test_a_study_compares_its_trainings(
    project: hedgerow.Project, two_steps: dict[str, Any]
) -> None:
    release = project.release("first")
    done = project.study("types", release, benchmarks="hedgerow", seed=5, **two_steps)
    labels = ["All types", "Without Verbal negation", "Without Lexical negation"]
    assert list(done.trainings["label"]) == labels and set(done.trainings["state"]) == {"done"}
    assert all(Path(folder).is_dir() for folder in done.trainings["model"])
    ranked = done.figures[done.figures["figure"] == "ranked"]
    assert list(ranked["label"]) == labels and ranked["before"].nunique() == 1
    assert [score.benchmark for score in done.scores] == [
        "hedgerow"
    ] * 4  # the base encoder's come first
    assert (done.release, done.seed, len(done.notes) > 1) == (1, 5, True)
    assert "_file" not in repr(done.scores[0]) and len(done.scores[0].items()) > 0
    assert repr(done) == "<Study 'types' of release 1: 3 runs>"


def test_a_language_model_is_measured_by_its_folder(small_llama: Path, tmp_path: Path) -> None:
    data = write_lines(tmp_path / "nevir.jsonl", NEVIR)
    with hedgerow.open(tmp_path / "project") as project:
        score = project.benchmark(small_llama, "nevir", data=data, prompts={"relevance": 1})
        assert (score.n, score.unanswered, score.asked["prompt"]) == (2, 0, "relevance")
        assert (score.asked["version"], score.asked["orders"]) == (1, 2)
        assert 0 <= score.asked["changed_share"] <= 100
        with pytest.raises(hedgerow.HedgerowError, match="from 1 to 1, found 2"):
            project.benchmark(small_llama, "nevir", data=data, prompts={"relevance": 2})
        with pytest.raises(hedgerow.HedgerowError, match="Expected a prompt of benchmarks"):
            project.benchmark(small_llama, "nevir", data=data, prompts={"hedge": 1})


def test_a_warning_is_logged_and_not_shown(
    caplog: pytest.LogCaptureFixture, capfd: pytest.CaptureFixture[str]
) -> None:
    with quietly():
        warnings.warn("too old", FutureWarning, stacklevel=1)
        logging.getLogger("somebody").warning("not heard")
    assert "FutureWarning: too old" in caplog.text and capfd.readouterr().err == ""


def test_afterwards_and_if_they_are_errors_warnings_are_as_they_were() -> None:
    before, handlers = warnings.showwarning, list(logging.getLogger().handlers)
    with pytest.raises(ZeroDivisionError), quietly():
        raise ZeroDivisionError
    assert warnings.showwarning is before and logging.getLogger().handlers == handlers
    warnings.simplefilter("error", FutureWarning)
    with quietly(), pytest.raises(FutureWarning):
        warnings.warn("too old", FutureWarning, stacklevel=1)


@pytest.mark.slow
def test_weights_that_an_encoder_does_not_use_are_logged_and_not_shown(
    tmp_path: Path, caplog: pytest.LogCaptureFixture, capfd: pytest.CaptureFixture[str]
) -> None:
    tiny = checkpoint("BertForMaskedLM", tmp_path / "tiny")
    capfd.readouterr()
    for _ in range(2):
        caplog.clear()
        load_encoder(str(tiny))
        assert "LOAD REPORT" in caplog.text
    assert capfd.readouterr().err == "" and not logging.getLogger("transformers").propagate


@pytest.fixture
def waits(engine: Engine, monkeypatch: pytest.MonkeyPatch) -> int:
    """The number of a run that waits, works, and waits again."""
    monkeypatch.setattr(running, "FOLLOW_SECONDS", 0.01)

    def work(context: RunContext) -> dict[str, Any]:
        for message in (WAITING, "Training: step 1 of 2.", f"2 of 2, All types: {WAITING}"):
            for _ in range(3):  # it says so repeatedly
                context.update(0, 0, message)
                context.beat()
                threading.Event().wait(0.1)
        return {}

    monkeypatch.setattr(running, "WORK", {"waits": work})
    with writing(engine) as session:
        return create_run(session, kind="waits", parameters={}).id


def test_each_wait_is_reported_once(
    waits: int, engine: Engine, capsys: pytest.CaptureFixture[str]
) -> None:
    assert carry_out(load_settings(), engine, waits)["state"] == "done"
    printed = capsys.readouterr()
    assert printed.err == f"{WAITING}\n2 of 2, All types: {WAITING}\n" and printed.out == ""


def test_a_bar_says_it_instead(
    waits: int,
    engine: Engine,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(progress, "err", Console(stderr=True, force_jupyter=True))
    monkeypatch.setattr(progress, "_notebook_bar", _silent)
    carry_out(load_settings(), engine, waits)
    assert capsys.readouterr().err == ""


@contextmanager
def _silent() -> Iterator[progress.Report]:
    yield lambda step, total, message: None


class _Display:
    """The output of IPython for a cell."""

    def __init__(self) -> None:
        self.shown: list[str] = []

    def display(self, data: dict[str, str], **_: object) -> _Display:
        self.shown.append(data["text/plain"])
        return self

    update = display


def test_a_notebook_shows_a_bar_of_plain_text(monkeypatch: pytest.MonkeyPatch) -> None:
    cell = _Display()
    monkeypatch.setattr(progress, "err", Console(force_jupyter=True))
    monkeypatch.setattr(progress, "import_module", lambda name: cell)
    with progress.progress_bar() as report:
        report(1, 4, "Measuring.")
    assert cell.shown == ["", "━" * 8 + "─" * 22 + "  25% Measuring.", ""]
