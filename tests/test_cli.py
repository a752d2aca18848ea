"""The command line: its contract for people and for scripts."""

import http.client
import json
import os
import re
import resource
import signal
import socket
import sqlite3
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pytest
import typer
from sqlalchemy import select
from sqlmodel import col
from typer.testing import CliRunner

import cli
from cli.browser import FIRST_PORT
from cli.review import NO_REASON
from curation.project import open_project
from db.engine import reading, writing
from db.models import (
    Anchor,
    AnchorRevision,
    Run,
    RunState,
    Source,
    Status,
    Variant,
)
from db.runs import create_run, get_run
from db.settings import load_settings

ROOT = Path(__file__).parent.parent
HEDGEROW = str(Path(sys.executable).with_name("hedgerow"))
STATES = ["pending", "accepted", "rejected", "conflict", "superseded"]


def ask(*arguments: str) -> dict[str, Any]:
    """Run a command in this process with ``--json`` and give back what it printed."""
    result = CliRunner().invoke(cli.app, [*arguments, "--json"])
    assert result.exit_code == 0, result.output
    assert result.stdout.count("\n") == 1
    answer: dict[str, Any] = json.loads(result.stdout)
    return answer


def said(*arguments: str) -> str:
    """What a command prints for people."""
    result = CliRunner().invoke(cli.app, [*arguments])
    assert result.exit_code == 0, result.output
    return result.stdout


def complaint(*arguments: str) -> str:
    """The one sentence of a command that fails."""
    result = CliRunner().invoke(cli.app, [*arguments])
    assert result.exit_code == 1, result.output
    assert result.stdout == ""
    lines = result.stderr.splitlines()
    assert len(lines) == 1
    return lines[0]


def process(*arguments: str, seconds: float = 60) -> "subprocess.CompletedProcess[str]":
    """Run the installed command."""
    return subprocess.run(
        [HEDGEROW, *arguments], capture_output=True, text=True, timeout=seconds, check=False
    )


def pending(home: Path, *, type_id: str = "verbal") -> list[str]:
    """The uids of a type's pending variants."""
    with sqlite3.connect(home / "hedgerow.db") as connection:
        query = "SELECT uid FROM variant WHERE status = 'pending' AND type_id = ? ORDER BY id"
        return [uid for (uid,) in connection.execute(query, [type_id])]


def decisions(home: Path) -> list[tuple[str, str, str, str, str]]:
    """(variant uid, reviewer, verdict, reason, note) of every decision of a person, in order."""
    with sqlite3.connect(home / "hedgerow.db") as connection:
        return connection.execute(
            "SELECT v.uid, r.name, d.verdict, d.reason, d.note FROM decision d"
            " JOIN variant v ON v.id = d.variant_id JOIN reviewer r ON r.id = d.reviewer_id"
            " WHERE r.kind = 'person' ORDER BY d.id"
        ).fetchall()


def add_small_project() -> None:
    """One anchor with two variants that nothing has measured."""
    engine = open_project(load_settings())
    with writing(engine) as session:
        source = Source(name="test")
        session.add(source)
        session.flush()
        anchor = Anchor(uid="a", source_id=source.id or 0, split="train")
        session.add(anchor)
        session.flush()
        session.add(AnchorRevision(anchor_id=anchor.id, text="The door is open.", text_uid="a"))
        session.flush()
        for number, text in enumerate(("The door is not open.", "The door isn't open.")):
            session.add(
                Variant(uid=f"{number:016x}", anchor_id=anchor.id or 0, type_id="verbal", text=text)
            )
    engine.dispose()


def commands(
    group: typer.Typer = cli.app, prefix: tuple[str, ...] = ()
) -> Iterator[tuple[str, ...]]:
    """The names of all commands, with those of the groups they belong to."""
    for command in group.registered_commands:
        assert command.callback is not None
        yield (*prefix, command.name or command.callback.__name__)
    for part in group.registered_groups:
        assert part.typer_instance is not None and part.name is not None
        yield from commands(part.typer_instance, (*prefix, part.name))


class TestContract:
    @pytest.mark.parametrize("names", list(commands()), ids=" ".join)
    def test_every_command_offers_json_and_says_what_it_does(self, names: tuple[str, ...]) -> None:
        shown = said(*names, "--help")
        assert "--json" in shown
        assert re.search(r"Usage: .*\n\n  [A-Z]", shown)

    @pytest.mark.parametrize(
        "arguments",
        [
            ["nonsense"],
            ["status", "--nonsense"],
            ["run", "one"],
            ["review", "accept"],
            ["review", "apply", "--accept"],
            ["review", "apply", "--rule", "no flags"],
            ["review", "apply", "--rule", "no flags", "--accept", "--reject", "other"],
            ["review", "edit", "0" * 16],
            ["export", "folder", "--format", "xml"],
            ["app", "--port", "0"],
        ],
        ids=" ".join,
    )
    def test_wrong_usage_ends_with_2(self, arguments: list[str]) -> None:
        result = CliRunner().invoke(cli.app, arguments)
        assert result.exit_code == 2
        assert result.stdout == ""
        assert "Usage:" in result.stderr

    @pytest.mark.parametrize("names", [["status"], ["diagnose"], ["release", "list"]], ids=" ".join)
    def test_a_folder_without_a_project_is_left_empty(self, names: list[str], home: Path) -> None:
        assert "hedgerow init" in complaint(*names)
        assert list(home.iterdir()) == []

    def test_the_process_tells_errors_by_exit_code_without_a_traceback(self) -> None:
        result = process("status", "--json")
        assert (result.returncode, result.stdout) == (1, "")
        assert result.stderr.count("\n") == 1

    def test_the_module_does_what_the_installed_command_does(self) -> None:
        ask("init", "--empty")
        module = subprocess.run(
            [sys.executable, "-m", "cli", "release", "list"],
            cwd=ROOT, capture_output=True, text=True, timeout=60, check=False,
        )  # fmt: skip
        installed = process("release", "list")
        assert (module.returncode, module.stdout) == (0, "There is no release yet.\n")
        assert (module.stdout, module.stderr) == (installed.stdout, installed.stderr)

    def test_a_password_is_never_shown(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setenv("HEDGEROW_DATABASE_URL", "postgresql://ann:geheim@127.0.0.1:1/none")
        assert "geheim" not in complaint("status")

    def test_a_folder_that_cannot_be_made_is_one_sentence(
        self, home: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        (home / "file").write_text("")
        monkeypatch.setenv("HEDGEROW_HOME", str(home / "file" / "below"))
        assert str(home / "file") in complaint("init", "--empty")

    def test_nothing_heavy_is_imported_before_it_is_needed(self) -> None:
        heavy = "torch transformers sentence_transformers streamlit datasets pandas pyarrow"
        code = f"import cli, sys; print(*set({heavy.split()}) & set(sys.modules))"
        result = subprocess.run(
            [sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=True
        )
        assert result.stdout.strip() == ""


class TestInitAndStatus:
    def test_init_loads_the_starter_corpus_once_and_quickly(self, home: Path) -> None:
        before_it = resource.getrusage(resource.RUSAGE_CHILDREN)
        first = process("init", "--json")
        after_it = resource.getrusage(resource.RUSAGE_CHILDREN)
        assert first.returncode == 0, first.stderr
        # Time of the processor: what else the machine does is not counted.
        assert after_it.ru_utime + after_it.ru_stime < 15 + before_it.ru_utime + before_it.ru_stime
        answer = json.loads(first.stdout)
        assert answer["added"]["anchors"] == 1369
        assert answer["database"].endswith(str(home / "hedgerow.db"))
        before = ask("status")
        assert ask("init")["added"] == {"anchors": 0, "variants": 0, "decisions": 0}
        assert ask("status") == before

    def test_an_empty_project_counts_nothing_of_every_type(self) -> None:
        assert ask("init", "--empty")["added"]["anchors"] == 0
        answer = ask("status")
        assert answer["anchors"] == 0
        assert list(answer["variants"])[:2] == ["verbal", "absolute"]
        assert list(answer["variants"].values()) == [dict.fromkeys(STATES, 0)] * 7
        assert (answer["runs"], answer["releases"], answer["encoders"]) == ([], [], [])

    def test_status_counts_what_the_database_holds(self, loaded_home: Path) -> None:
        answer = ask("status")
        with sqlite3.connect(loaded_home / "hedgerow.db") as connection:
            rows = connection.execute(
                "SELECT type_id, status, count(*) FROM variant GROUP BY type_id, status"
            ).fetchall()
        counted = {
            (name, state): number
            for name, row in answer["variants"].items()
            for state, number in row.items()
            if number
        }
        assert counted == {(name, state): number for name, state, number in rows}
        assert answer["anchors"] == 1369
        undecided = answer["variants"]["verbal"]["pending"]
        assert 0.15 < undecided / 1369 < 0.25
        shown = said("status")
        assert re.search(rf"verbal +{undecided} ", shown)

    def test_texts_from_the_database_cannot_steer_the_terminal(self) -> None:
        add_small_project()
        engine = open_project(load_settings())
        with writing(engine) as session:
            run = create_run(session, kind="\x1b[2J[red]kind[/red]", parameters={})
            run.message = "\x1b]0;owned\x07 \N{RIGHT-TO-LEFT OVERRIDE}abc\r\nno :smile:"
        shown = said("status")
        assert not set(shown) & {"\x1b", "\x07", "\r", "\N{RIGHT-TO-LEFT OVERRIDE}"}
        assert "[red]kind[/red]" in shown and "no :smile:" in shown


class TestReview:
    def test_a_decision_is_stored_under_the_name_given(self, loaded_home: Path) -> None:
        first, second, *_ = pending(loaded_home)
        answer = ask("review", "accept", first, "--reviewer", "Ann", "--note", "fine")
        assert answer == {"variant": first, "status": "accepted", "child": None}
        answer = ask("review", "reject", second, "--reviewer", "Ann", "--reason", "wrong_scope")
        assert answer["status"] == "rejected"
        assert decisions(loaded_home) == [
            (first, "Ann", "accept", "", "fine"),
            (second, "Ann", "reject", "wrong_scope", ""),
        ]

    def test_the_settings_name_the_reviewer_and_nobody_decides_without_a_name(
        self, loaded_home: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        uid = pending(loaded_home)[0]
        assert "HEDGEROW_REVIEWER" in complaint("review", "accept", uid)
        assert decisions(loaded_home) == []
        monkeypatch.setenv("HEDGEROW_REVIEWER", "Bo")
        ask("review", "accept", uid)
        assert decisions(loaded_home) == [(uid, "Bo", "accept", "", "")]

    def test_a_rejection_without_a_reason_says_so(self, loaded_home: Path) -> None:
        uid = pending(loaded_home)[0]
        ask("review", "reject", uid, "--reviewer", "Ann")
        assert decisions(loaded_home) == [(uid, "Ann", "reject", "other", NO_REASON)]

    @pytest.mark.parametrize(
        ("arguments", "expected"),
        [
            (["--reason", "ugly"], "wrong_type.*'ugly'"),
            (["--reason", "other"], "note"),
            (["--reviewer", "starter-llm", "--reason", "wrong_type"], "model reviewer"),
        ],
    )
    def test_a_refused_rejection_changes_nothing(
        self, loaded_home: Path, arguments: list[str], expected: str
    ) -> None:
        uid = pending(loaded_home)[0]
        assert re.search(
            expected, complaint("review", "reject", uid, "--reviewer", "Ann", *arguments)
        )
        assert decisions(loaded_home) == []
        assert uid in pending(loaded_home)

    def test_an_unknown_uid_is_named(self, loaded_home: Path) -> None:
        assert "'zz'" in complaint("review", "accept", "zz", "--reviewer", "Ann")

    def test_an_edit_is_taken_back_as_one(self, loaded_home: Path) -> None:
        uid = pending(loaded_home)[0]
        answer = ask("review", "edit", uid, "--text", "It is not so.", "--reviewer", "Ann")
        assert answer["status"] == "superseded"
        assert len(answer["child"]) == 16
        assert ask("review", "undo", "--reviewer", "Ann") == {"undone": 2}
        assert uid in pending(loaded_home)
        assert ask("review", "undo", "--reviewer", "Ann") == {"undone": 0}

    def test_a_variant_can_be_given_its_right_type(self, loaded_home: Path) -> None:
        uid = pending(loaded_home, type_id="affixal")[0]
        child = ask("review", "edit", uid, "--type", "lexical", "--reviewer", "Ann")["child"]
        engine = open_project(load_settings())
        with reading(engine) as session:
            row = session.execute(select(Variant).where(col(Variant.uid) == child)).scalar_one()
        assert (row.type_id, row.status) == ("lexical", Status.ACCEPTED)


class TestRules:
    RULE = ("review", "apply", "--rule", "levenshtein > 30 and no flags")

    def test_a_dry_run_counts_what_the_real_one_decides(self, loaded_home: Path) -> None:
        before = ask("status")["variants"]
        dry = ask(*self.RULE, "--accept", "--dry-run")
        assert ask("status")["variants"] == before
        done = ask(*self.RULE, "--accept", "--reviewer", "Ann")
        assert dry["variants"] == done["variants"] > 0
        assert dry["action"] is None and len(done["action"]) == 36
        after = ask("status")["variants"]
        moved = {name: row["accepted"] - before[name]["accepted"] for name, row in after.items()}
        assert {name: number for name, number in moved.items() if number} == done["types"]
        assert ask("review", "undo", "--reviewer", "Ann") == {"undone": done["variants"]}
        assert ask("status")["variants"] == before

    def test_one_type_is_rejected_for_a_reason(self, loaded_home: Path) -> None:
        done = ask(
            "review", "apply", "--rule", "no flags", "--reject", "other", "--type", "verbal",
            "--reviewer", "Ann",
        )  # fmt: skip
        assert list(done["types"]) == ["verbal"]
        rows = decisions(loaded_home)
        assert len(rows) == done["variants"]
        assert {row[1:] for row in rows} == {("Ann", "reject", "other", "Rule: no flags")}

    def test_what_a_rule_cannot_judge_is_said(self, loaded_home: Path) -> None:
        count = sum(row["pending"] for row in ask("status")["variants"].values())
        arguments = ("review", "apply", "--rule", "cosine < 0.5", "--accept", "--dry-run")
        assert ask(*arguments)["unmeasured"] == count
        assert "hedgerow diagnose" in said(*arguments)

    @pytest.mark.parametrize("rule", ["levenshtein >> 3", "cosine < 50", "", "no flags; drop"])
    def test_a_rule_that_does_not_read_is_one_sentence(self, rule: str, home: Path) -> None:
        assert "Expected" in complaint("review", "apply", "--rule", rule, "--accept")
        assert list(home.iterdir()) == []


class TestReleaseAndExport:
    def test_a_release_is_made_once_listed_and_exported(
        self, loaded_home: Path, tmp_path: Path
    ) -> None:
        first = ask("release", "create", "--name", "[red]first[/red]")
        again = ask("release", "create")
        assert (first["release"], first["created"]) == (1, True)
        assert (again["release"], again["created"]) == (1, False)
        assert "[red]first[/red]" in said("release", "list")
        assert [row["hash"] for row in ask("release", "list")["releases"]] == [first["hash"]]
        place = tmp_path / "export"
        answer = ask("export", str(place), "--format", "pairs", "--zip")
        assert answer == {
            "release": 1, "format": "pairs", "folder": str(place), "zip": f"{place}.zip",
        }  # fmt: skip
        assert {"README.md", "hedgerow.json", "pairs.csv"} == {p.name for p in place.iterdir()}
        assert Path(answer["zip"]).stat().st_size > 0

    def test_without_a_release_nothing_is_exported(self, tmp_path: Path) -> None:
        ask("init", "--empty")
        assert "release create" in complaint("export", str(tmp_path / "export"))
        assert "accepted" in complaint("release", "create")
        assert said("release", "list") == "There is no release yet.\n"
        assert not (tmp_path / "export").exists()


class TestRuns:
    def test_a_stored_run_is_carried_out_by_its_number(self, loaded_home: Path) -> None:
        ask("release", "create")
        engine = open_project(load_settings())
        with writing(engine) as session:
            run = create_run(session, kind="export", parameters={"format": "jsonl"})
        result = process("run", str(run.id), "--json")
        assert result.returncode == 0, result.stderr
        answer = json.loads(result.stdout)
        assert (answer["run"], answer["release"]) == (run.id, 1)
        assert (loaded_home / "hedgerow_data" / answer["zip"]).is_file()
        with reading(engine) as session:
            assert get_run(session, run.id or 0).state == RunState.DONE
        assert "already finished" in complaint("run", str(run.id))

    def test_an_unknown_run_or_kind_is_named(self) -> None:
        ask("init", "--empty")
        assert "no run 7" in complaint("run", "7")
        engine = open_project(load_settings())
        with writing(engine) as session:
            run = create_run(session, kind="dance", parameters={})
        assert "'dance'" in complaint("run", str(run.id))
        assert ask("status")["runs"][0]["state"] == "failed"

    def test_diagnose_measures_what_is_not_measured_yet(self) -> None:
        add_small_project()
        first = process("diagnose", "--json")
        assert first.returncode == 0, first.stderr
        answer = json.loads(first.stdout)
        assert (answer["measured"], answer["cosines"]) == (2, 2)
        again = ask("diagnose")
        assert (again["measured"], again["cosines"]) == (0, 0)
        assert ask("status")["encoders"] == [
            {"name": "all-MiniLM-L6-v2", "path": "", "active": True}
        ]
        done = ask("review", "apply", "--rule", "cosine > 0.5", "--accept", "--dry-run")
        assert (done["variants"], done["unmeasured"]) == (2, 0)

    def test_an_encoder_that_is_not_there_fails_the_run(self, home: Path) -> None:
        add_small_project()
        sentence = complaint("diagnose", "--encoder", str(home / "no-model"))
        assert "no-model" in sentence
        (run,) = ask("status")["runs"]
        assert (run["state"], run["message"]) == ("failed", sentence)


@pytest.fixture
def browser_app() -> Iterator[list["subprocess.Popen[str]"]]:
    """Apps that a test starts; whatever it left running is ended."""
    started: list[subprocess.Popen[str]] = []
    yield started
    for app in started:
        app.kill()
        app.communicate()


def start_app(started: list["subprocess.Popen[str]"], *arguments: str) -> dict[str, Any]:
    app = subprocess.Popen(
        [HEDGEROW, "app", "--json", *arguments], text=True, start_new_session=True,
        stdout=subprocess.PIPE, stderr=subprocess.PIPE,
    )  # fmt: skip
    started.append(app)
    assert app.stdout is not None and app.stderr is not None
    line = app.stdout.readline()
    assert line, app.stderr.read()
    answer: dict[str, Any] = json.loads(line)
    return answer


def page_status(url: str) -> int:
    parts = urlsplit(url)
    connection = http.client.HTTPConnection(parts.hostname or "", parts.port, timeout=10)
    try:
        connection.request("GET", "/")
        return connection.getresponse().status
    finally:
        connection.close()


class TestApp:
    def test_it_measures_in_the_background_avoids_used_ports_and_ends_with_ctrl_c(
        self, browser_app: list["subprocess.Popen[str]"]
    ) -> None:
        add_small_project()
        with socket.socket() as busy:
            busy.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            try:
                busy.bind(("127.0.0.1", FIRST_PORT))
            except OSError:
                pass  # another program uses it: as good
            else:
                busy.listen()
            answer = start_app(browser_app)
        parts = urlsplit(answer["url"])
        assert parts.hostname == "127.0.0.1"
        assert parts.port is not None and parts.port > FIRST_PORT
        assert page_status(answer["url"]) == 200
        engine = open_project(load_settings())
        deadline = time.monotonic() + 60
        while time.monotonic() < deadline and _run(engine, answer["run"]).state != RunState.DONE:
            time.sleep(0.5)
        assert _run(engine, answer["run"]).result["cosines"] == 2
        app = browser_app[0]
        os.killpg(app.pid, signal.SIGINT)  # what a terminal does on Ctrl-C
        assert app.wait(timeout=20) == 0
        with pytest.raises(ConnectionRefusedError):
            page_status(answer["url"])

    def test_a_port_in_use_is_an_error_where_it_was_asked_for(self) -> None:
        with socket.socket() as busy:
            busy.bind(("127.0.0.1", 0))
            busy.listen()
            port = str(busy.getsockname()[1])
            assert f"Port {port} is in use" in complaint("app", "--port", port)
        assert ask("status")["runs"] == []

    def test_nothing_is_measured_twice_and_terminate_ends_the_server_too(
        self, browser_app: list["subprocess.Popen[str]"]
    ) -> None:
        add_small_project()
        engine = open_project(load_settings())
        with writing(engine) as session:
            create_run(session, kind="diagnose", parameters={})
        answer = start_app(browser_app)
        assert answer["run"] is None
        app = browser_app[0]
        app.send_signal(signal.SIGTERM)
        assert app.wait(timeout=20) == 0
        with pytest.raises(ConnectionRefusedError):
            page_status(answer["url"])


def _run(engine: Any, run_id: int) -> Run:
    with reading(engine) as session:
        return get_run(session, run_id)
