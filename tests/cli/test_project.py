"""Creating a project and counting its content; long work, and runs by number."""

import json
import os
import re
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import func, select, text
from sqlmodel import col

from curation.corpora.corpus import FIRST
from curation.overview.next_steps import LAST_RUNS
from curation.overview.project_settings import open_project
from curation.project.settings import ACTIVE_ENCODER, GOLD_RATE, THRESHOLD
from curation.taxonomy.built_in import TAXONOMY
from db.engine import reading, writing
from db.models import RunState, Status, Variant
from db.runs import create_run
from db.settings import load_settings
from tests.cli.commands import add_small_project, ask, complaint, ended, process, show, stored_rows
from tests.support.databases import opened, stored_run

STATES = ["pending", "accepted", "rejected", "conflict", "superseded"]


@pytest.mark.slow
def test_init_loads_the_first_corpora_once(home: Path) -> None:
    first = process("init", "--json")
    assert first.returncode == 0, first.stderr
    answer = json.loads(first.stdout)
    assert answer["added"]["anchors"] == sum(corpus.anchors for corpus in FIRST)
    counts = ask("status")["variants"].values()
    assert answer["added"]["variants"] == sum(sum(row.values()) for row in counts)
    assert answer["database"].endswith(str(home / "hedgerow.db"))
    before = ask("status")
    assert ask("init")["added"] == {"anchors": 0, "variants": 0, "decisions": 0}
    assert ask("status") == before


def test_an_empty_project_counts_nothing_of_every_type() -> None:
    assert ask("init", "--empty")["added"]["anchors"] == 0
    answer = ask("status")
    assert answer["anchors"] == 0
    assert list(answer["variants"])[:2] == ["verbal", "absolute"]
    assert list(answer["variants"].values()) == [dict.fromkeys(STATES, 0)] * len(TAXONOMY)
    assert (answer["runs"], answer["releases"], answer["encoders"]) == ([], [], [])
    shown = show("status")
    assert "It contains 0 anchors" in shown and "pending" not in shown


@pytest.mark.slow
def test_status_counts_what_the_database_holds(loaded_home: Path) -> None:
    answer = ask("status")
    query = "SELECT type_id, status, count(*) FROM variant GROUP BY 1, 2"
    counted = {
        (name, state): number
        for name, row in answer["variants"].items()
        for state, number in row.items()
        if number
    }
    assert counted == {
        (name, state): number for name, state, number in stored_rows(loaded_home, query)
    }
    assert answer["anchors"] == 1369
    undecided = answer["variants"]["verbal"]["pending"]
    assert 0.15 < undecided / 1369 < 0.25
    shown = show("status")
    assert re.search(rf"verbal +{undecided} ", shown)
    assert "affirmation" in answer["variants"] and "affirmation" not in shown


def test_texts_from_the_database_cannot_steer_the_terminal() -> None:
    add_small_project()
    engine = open_project(load_settings())
    with writing(engine) as session:
        run = create_run(session, kind="\x1b[2J[red]kind[/red]", parameters={})
        run.message = "\x1b]0;owned\x07 \N{RIGHT-TO-LEFT OVERRIDE}abc\r\nno :smile:"
    shown = show("status")
    assert not set(shown) & {"\x1b", "\x07", "\r", "\N{RIGHT-TO-LEFT OVERRIDE}"}
    assert "[red]kind[/red]" in shown and "no :smile:" in shown


STARTER = "counts.starter-llm"


def pending() -> int:
    engine = open_project(load_settings())
    with reading(engine) as session:
        query = select(func.count()).where(col(Variant.status) == Status.PENDING)
        count = session.execute(query).scalar_one()
    engine.dispose()
    return count


def test_everything_is_shown_with_and_without_show(loaded_home: Path) -> None:
    found = ask("settings", "show")
    again = ask("settings")
    assert all(found[part] == again[part] for part in ("project", "machine", "versions"))
    assert found["project"][THRESHOLD] == 60
    assert found["project"]["model_reviewers"] == [
        {"name": "starter-llm", "counts": True, "decisions": 8742},
        {"name": "starter-llm-2", "counts": True, "decisions": 1205},
    ]
    assert found["database"]["address"] == f"sqlite:///{loaded_home}/hedgerow.db"
    assert found["database"]["rows"]["anchors"] == 1369
    assert found["machine"]["HEDGEROW_OPENAI_API_KEY"] == "not set"
    text = show("settings")
    assert "HEDGEROW_DATABASE_URL" in text and "11,537 variants" in text
    assert found["database"]["rows"]["runs"] == 1
    assert ", 1 run." in " ".join(text.split())


def test_a_threshold_is_changed_with_what_follows(loaded_home: Path) -> None:
    done = ask("settings", "set", THRESHOLD, "40")
    assert (done["changed"], done["variants"]) == (True, 11_537)
    assert ask("settings")["project"] == {
        **ask("settings")["project"],
        THRESHOLD: 40,
        "variants_to_reorder": 0,
    }
    assert ask("settings", "set", THRESHOLD, "40") == {"setting": THRESHOLD, "changed": False}
    assert show("settings", "set", THRESHOLD, "40").strip() == f"{THRESHOLD} is already 40."
    assert show("settings", "set", GOLD_RATE, "20").strip() == f"{GOLD_RATE} is now 20."


def test_a_model_is_switched_off_and_on(loaded_home: Path) -> None:
    before = pending()
    assert ask("settings", "set", STARTER, "off")["changed"]
    assert pending() == before + 8742 - 299  # its edits still replace their originals
    assert not ask("settings", "set", STARTER, "off")["changed"]
    ask("settings", "set", STARTER, "on")
    assert pending() == before


def test_a_folder_is_kept_by_its_full_path(loaded_home: Path) -> None:
    (loaded_home / "model").mkdir()
    (loaded_home / "model" / "model.safetensors").write_bytes(b"")
    ask("settings", "set", ACTIVE_ENCODER, "./model")
    assert ask("settings")["project"][ACTIVE_ENCODER] == str(loaded_home / "model")


def test_impossible_settings_are_refused(loaded_home: Path) -> None:
    before = ask("settings")
    assert "found 'many'" in complaint("settings", "set", THRESHOLD, "many")
    assert "found '-3'" in complaint("settings", "set", "--", THRESHOLD, "-3")
    code, answer = ended("settings", "set", THRESHOLD, "-3")
    assert code == 2 and "put '--' before the arguments" in answer["error"]
    assert "1 to 10,000" in complaint("settings", "set", THRESHOLD, "0")
    assert "no model folder" in complaint("settings", "set", ACTIVE_ENCODER, "/no/such/model")
    assert "cannot be reached" in complaint("settings", "set", ACTIVE_ENCODER, "nope/none")
    assert "'on' or 'off'" in complaint("settings", "set", STARTER, "perhaps")
    assert "no model reviewer 'Ada'" in complaint("settings", "set", "counts.Ada", "off")
    assert "found 'colour'" in complaint("settings", "set", "colour", "blue")
    assert ask("settings")["project"] == before["project"]


@pytest.fixture
def project(home: Path) -> Path:
    """An anchor with two variants."""
    add_small_project()
    return home


def break_something() -> None:
    """Make a stored status contradict the decisions."""
    with opened(load_settings().url) as engine, writing(engine) as session:
        session.execute(text("UPDATE variant SET status = 'accepted' WHERE id = 1"))


def counts() -> dict[str, Any]:
    """The content of the project, wherever the database is."""
    return {key: value for key, value in ask("status").items() if key != "database"}


def finding(answer: dict[str, Any], id: str) -> dict[str, Any]:
    return next(each for each in answer["findings"] if each["id"] == id)


def test_the_project_moves_to_another_database(
    project: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    before = counts()
    url = f"sqlite:///{tmp_path / 'moved.db'}"
    moved = ask("db", "copy", url)
    assert (moved["rows"]["anchor"], moved["rows"]["variant"]) == (1, 2)
    assert len(moved["content_hash"]) == 64
    assert moved["data_folder"] == str(project / "hedgerow_data")
    output = show("db", "copy", f"sqlite:///{tmp_path / 'again.db'}")
    assert f"Models, exports and logs stay in {project / 'hedgerow_data'}." in output
    assert "HEDGEROW_DATABASE_URL" in output
    monkeypatch.setenv("HEDGEROW_DATABASE_URL", url)
    assert counts() == before
    assert "Expected an empty database" in complaint(
        "db", "copy", f"sqlite:///{project}/hedgerow.db"
    )


def test_a_backup_restores_the_project_elsewhere(
    project: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    before = counts()
    made = ask("db", "backup", "../b.zip")  # relative to the shell's directory
    assert made["path"] == str(tmp_path / "b.zip")
    assert "The file" in complaint("db", "backup", made["path"])
    monkeypatch.setenv("HEDGEROW_HOME", str(tmp_path / "new"))
    assert "artifact" in show("db", "restore", made["path"])
    assert counts() == before
    assert "Expected an empty database" in complaint("db", "restore", made["path"])


def test_artifacts_are_left_out_if_asked_for(project: Path, tmp_path: Path) -> None:
    os.makedirs(project / "hedgerow_data" / "runs")
    (project / "hedgerow_data" / "runs" / "log.txt").write_text("done")
    assert ask("db", "backup", str(tmp_path / "a.zip"))["files"] == 1
    assert ask("db", "backup", str(tmp_path / "b.zip"), "--without-artifacts")["files"] is None


def test_check_ends_with_one_if_something_is_wrong(project: Path) -> None:
    assert ask("db", "check")["clean"] is True
    break_something()
    code, answer = ended("db", "check")
    assert (code, answer["clean"]) == (1, False)
    found = finding(answer, "status")
    assert (found["number"], found["repaired"]) == (1, False)
    assert "accepted, but pending by its decisions" in found["example"]
    repaired = ask("db", "check", "--repair")
    assert finding(repaired, "status")["repaired"] is True
    assert "Status of variants: OK." in show("db", "check")


@pytest.mark.slow
def test_a_release_is_made_once_listed_and_exported(loaded_home: Path, tmp_path: Path) -> None:
    first = ask("release", "create", "--name", "[red]first[/red]")
    again = ask("release", "create")
    assert (first["release"], first["created"]) == (1, True)
    assert (again["release"], again["created"]) == (1, False)
    assert "It is still called '[red]first[/red]'." in show("release", "create", "--name", "second")
    assert "[red]first[/red]" in show("release", "list")
    assert [row["hash"] for row in ask("release", "list")["releases"]] == [first["hash"]]
    place = tmp_path / "export"
    answer = ask("export", str(place), "--format", "pairs", "--zip")
    assert answer == {
        "release": 1,
        "format": "pairs",
        "folder": str(place),
        "zip": f"{place}.zip",
    }
    assert {"README.md", "hedgerow.json", "pairs.csv"} == {p.name for p in place.iterdir()}
    assert Path(answer["zip"]).stat().st_size > 0
    Path(answer["zip"]).write_text("mine")
    before = (place / "hedgerow.json").read_bytes()
    assert "is not the zip file of an export" in complaint("export", str(place), "--zip")
    assert (place / "hedgerow.json").read_bytes() == before


def test_without_a_release_nothing_is_exported(tmp_path: Path) -> None:
    ask("init", "--empty")
    assert "release create" in complaint("export", str(tmp_path / "export"))
    assert "accepted" in complaint("release", "create")
    assert show("release", "list") == "There is no release yet.\n"
    assert not (tmp_path / "export").exists()


@pytest.mark.slow
def test_a_report_is_printed_or_written_to_a_file(loaded_home: Path, tmp_path: Path) -> None:
    hash = ask("release", "create", "--name", "first")["hash"]
    printed = show("release", "report")
    assert f"% Release 1, SHA-256 {hash}" in printed
    assert r"\begin{tabular}{lrrr}" in printed and r"\end{table*}" in printed
    file = tmp_path / "data.md"
    place = ("--format", "markdown", "--output", str(file))
    assert show("release", "report", *place) == f"The report on release 1 is in {file}.\n"
    assert file.read_text("utf-8").startswith("# Data: release 1\n")
    answer = ask("release", "report", "--release", "1")
    assert (answer["release"], answer["hash"], answer["file"]) == (1, hash, None)
    assert "There is no release 2" in complaint("release", "report", "--release", "2")


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


def test_a_run_without_a_process_has_neither_log_nor_folder(loaded_home: Path) -> None:
    shown = ask("runs", "show", "1")
    assert (shown["kind"], shown["log"], shown["folder"]) == ("corpus", None, None)
    assert "Its log" not in show("runs", "show", "1")
    assert "cannot be deleted, because it is the source of" in complaint("runs", "delete", "1")
    assert ask("runs", "show", "1") == shown
