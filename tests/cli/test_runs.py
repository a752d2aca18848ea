"""Long work on the command line, and runs by number."""

import json
import re
from pathlib import Path

import pytest

from curation.project.counts import LAST_RUNS
from curation.project.opening import open_project
from db.engine import writing
from db.models import RunMetric, RunState
from db.runs import create_run
from db.settings import load_settings
from tests.cli.commands import (
    add_small_project,
    ask,
    complaint,
    process,
    show,
    stored_run,
)
from tests.support.checkpoints import checkpoint


@pytest.mark.slow
def test_a_stored_run_is_carried_out_by_its_number(loaded_home: Path) -> None:
    ask("release", "create")
    engine = open_project(load_settings())
    with writing(engine) as session:
        run = create_run(session, kind="export", parameters={"format": "jsonl"})
    result = process("run", str(run.id), "--json")
    assert result.returncode == 0, result.stderr
    answer = json.loads(result.stdout)
    assert (answer["run"], answer["release"]) == (run.id, 1)
    assert (loaded_home / "hedgerow_data" / answer["zip"]).is_file()
    assert stored_run(engine, run.id).state == RunState.DONE
    assert "has already finished." in complaint("run", str(run.id))


def test_an_unknown_run_or_kind_is_named() -> None:
    ask("init", "--empty")
    assert "no run 7" in complaint("run", "7")
    engine = open_project(load_settings())
    with writing(engine) as session:
        run = create_run(session, kind="dance", parameters={})
    assert "'dance'" in complaint("run", str(run.id))
    assert ask("status")["runs"][0]["state"] == "failed"


def test_the_status_lists_a_waiting_run_among_many_newer_ones() -> None:
    ask("init", "--empty")
    engine = open_project(load_settings())
    with writing(engine) as session:
        waiting = create_run(session, kind="train", parameters={}).id
        for _ in range(LAST_RUNS + 1):
            create_run(session, kind="export", parameters={}).state = RunState.DONE
    listed = [line.split() for line in show("status").splitlines()]
    assert [str(waiting), "queued"] in [[line[0], line[-1]] for line in listed if line]


@pytest.mark.slow
def test_diagnose_measures_what_is_not_measured_yet() -> None:
    add_small_project()
    answer = ask("diagnose")
    assert (answer["measured"], answer["cosines"]) == (2, 2)
    again = ask("diagnose")
    assert (again["measured"], again["cosines"]) == (0, 0)
    assert ask("status")["encoders"] == [{"name": "all-MiniLM-L6-v2", "path": "", "active": True}]
    done = ask("review", "apply", "--rule", "cosine > 0.5", "--accept", "--dry-run")
    assert (done["variants"], done["unmeasured"]) == (2, 0)


@pytest.mark.slow
def test_diagnose_carries_out_a_run_that_waits_for_its_process() -> None:
    add_small_project()
    with writing(open_project(load_settings())) as session:
        create_run(session, kind="diagnose", parameters={})
    assert ask("diagnose")["run"] == 1
    assert [run["state"] for run in ask("runs", "list")["runs"]] == ["done"]


def test_a_missing_or_wrong_encoder_leaves_no_run(home: Path) -> None:
    add_small_project()
    assert "no-model" in complaint("diagnose", "--encoder", str(home / "no-model"))
    llama = checkpoint("LlamaForCausalLM", home / "llama")
    assert "found LlamaForCausalLM" in complaint("diagnose", "--encoder", str(llama))
    assert ask("status")["runs"] == []


def test_an_encoder_that_has_gone_meanwhile_fails_the_run(home: Path) -> None:
    add_small_project()
    with writing(open_project(load_settings())) as session:
        parameters = {"encoder": str(home / "no-model")}
        run = create_run(session, kind="diagnose", parameters=parameters)
    sentence = complaint("run", str(run.id))
    assert "no-model" in sentence
    (listed,) = ask("status")["runs"]
    assert (listed["state"], listed["message"]) == ("failed", sentence)


def test_runs_are_listed_shown_cancelled_and_deleted(home: Path) -> None:
    add_small_project()
    assert show("runs", "list") == "There are no runs yet.\n"
    ask("diagnose")
    with writing(open_project(load_settings())) as session:
        create_run(session, kind="export", parameters={})
    folder = home / "hedgerow_data" / "runs" / "00001-diagnose"
    listed = ask("runs", "list")["runs"]
    assert [(run["run"], run["kind"], run["state"]) for run in listed] == [
        (2, "export", "queued"),
        (1, "diagnose", "done"),
    ]
    assert listed[1]["log"] == str(folder / "log.txt") and Path(listed[1]["log"]).is_file()
    assert [run["run"] for run in ask("runs", "list", "--kind", "diagnose")["runs"]] == [1]
    shown = ask("runs", "show", "1")
    assert shown["result"]["measured"] == 2 and shown["folder"] == str(folder)
    output = show("runs", "show", "1")
    assert (
        "Run 1 (Measure variants) is done; stored at " in output
        and f"Its log is {folder}" in output
    )
    cancelled = {"run": 2, "state": "cancelled", "message": "Run 2 is cancelled."}
    assert ask("runs", "cancel", "2") == cancelled
    assert ask("runs", "cancel", "1") == {
        "run": 1,
        "state": "done",
        "message": "Run 1 has already ended: it is done.",
    }
    assert "has already ended: it is done" in show("runs", "cancel", "1")
    assert ask("runs", "delete", "1")["deleted"] == [str(folder)]
    assert not folder.exists()
    assert [run["run"] for run in ask("runs", "list")["runs"]] == [2]
    assert "There is no run 1; 'hedgerow runs list' lists all runs." in complaint(
        "runs", "show", "1"
    )


def test_a_training_shows_its_last_loss(home: Path) -> None:
    add_small_project()
    with writing(open_project(load_settings())) as session:
        run = create_run(session, kind="train", parameters={})
        for step, value in ((1, 0.75), (2, 0.5)):
            session.add(RunMetric(run_id=run.id, name="loss", step=step, value=value))
    assert ask("runs", "show", "1")["figures"] == {"loss": 0.5}
    assert re.search(r"^loss +0.5 *$", show("runs", "show", "1"), re.MULTILINE)


def test_a_run_without_a_process_has_neither_log_nor_folder(loaded_home: Path) -> None:
    shown = ask("runs", "show", "1")
    assert (shown["kind"], shown["log"], shown["folder"]) == ("corpus", None, None)
    assert "Its log" not in show("runs", "show", "1")
    assert "cannot be deleted, because it is the source of" in complaint("runs", "delete", "1")
    assert ask("runs", "show", "1") == shown
