"""The settings page: what it shows, what it changes, and what it never shows."""

import json
from pathlib import Path

import pytest
from sqlalchemy import Engine, select, text
from sqlmodel import col
from typer.testing import CliRunner

import cli
from curation.decisions.reviewers import people
from curation.diagnostics import model_verdicts, queue_order
from curation.diagnostics.measuring import measure_variants
from curation.encoders.registered import register_encoder
from curation.project.settings import ACTIVE_ENCODER, THRESHOLD, get_setting
from curation.review import deciding
from curation.review.deciding import shown
from curation.upkeep.backup_file import KIND as BACKUP
from curation.upkeep.checking import KIND as CHECK
from db.engine import reading, writing
from db.execution import execute
from db.models import Reviewer, ReviewerKind, Run, RunState, Status, TeamRole, Variant
from db.runs import get_run
from db.settings import load_settings
from pages.components.shared.shell import open_project
from tests.pages.conftest import OpenPage, Wording, unsafe_texts
from tests.pages.looks import keys, page_text, press, put, rows
from tests.support.factories import add_family, model, person
from training.runs.kinds import WORK

HOSTILE = "<img src=x onerror=alert(1)> **bold**"
SECRETS = {
    "HEDGEROW_OPENAI_API_KEY": "sk-zzsecret1",
    "HF_TOKEN": "hf-zzsecret2",
    "HEDGEROW_OPENAI_BASE_URL": "https://me:zzsecret3@host/v1?key=zzsecret4",
}


@pytest.fixture
def judged(with_source: Engine) -> Engine:
    """A measured family on which a model with a hostile name has decided."""
    with writing(with_source) as session:
        family = list(add_family(session).values())
        measure_variants(session, [v.id for v in family])
        judge = model(session, HOSTILE)
        for variant in family[:3]:
            deciding.accept(session, shown(variant), reviewer_id=judge)
    return with_source


def setting(engine: Engine, key: str) -> object:
    with reading(engine) as session:
        return get_setting(session, key)


def kinds(engine: Engine, numbers: list[int]) -> list[str]:
    with reading(engine) as session:
        return [get_run(session, number).kind for number in numbers]


def statuses(engine: Engine) -> list[Status]:
    with reading(engine) as session:
        query = select(col(Variant.status)).order_by(col(Variant.id))
        return list(session.execute(query).scalars())


def names(engine: Engine) -> dict[str, TeamRole]:
    """The roles of the people by name."""
    with reading(engine) as session:
        return {one.name: one.role for one in people(session)}


def test_the_threshold_is_changed_and_the_queues_follow(
    judged: Engine, open_page: OpenPage, started: list[int], wording: Wording
) -> None:
    app = open_page("settings")
    wording(app, "settings", "a judged family")
    assert app.button(key="change-threshold").disabled
    put(app, "number_input", "threshold-60", 5)
    assert "above 5: " in page_text(app) and setting(judged, THRESHOLD) == 60
    press(app, "change-threshold")
    assert setting(judged, THRESHOLD) == 5
    assert kinds(judged, started) == [queue_order.KIND]
    assert f"Run {started[0]}" in page_text(app)  # it is being followed
    assert app.number_input(key="threshold-5").value == 5
    with writing(judged) as session:
        session.get_one(Run, started[0]).state = RunState.FAILED
    app = open_page("settings")
    assert "7 variants" in page_text(app)  # which are not in the queues yet
    press(app, "reorder")
    assert kinds(judged, started) == [queue_order.KIND] * 2


def test_another_encoder_is_measured_unless_it_is_none(
    judged: Engine, open_page: OpenPage, started: list[int], tmp_path: Path
) -> None:
    llama, key = str(tmp_path), "encoder-all-MiniLM-L6-v2"
    config = {"model_type": "llama", "architectures": ["LlamaForCausalLM"]}
    (tmp_path / "config.json").write_text(json.dumps(config))
    with writing(judged) as session:
        register_encoder(session, name=HOSTILE, hash_="f" * 64)
        path = open_project.settings().data_folder / "model"
        path.mkdir(parents=True)
        register_encoder(session, name="run 9: mine", hash_="e" * 64).path = "model"
        register_encoder(session, name=llama, hash_="d" * 64)  # an older version accepted it
    app = open_page("settings")
    known = ["all-MiniLM-L6-v2", "hedgerow-minilm", "run 9: mine", HOSTILE]
    assert set(app.selectbox(key=key).options) == {*known, llama}
    put(app, "selectbox", key, llama)
    press(app, "change-encoder")
    assert "LlamaForCausalLM" in app.session_state["callback_errors"][0]
    assert setting(judged, ACTIVE_ENCODER) == "all-MiniLM-L6-v2" and started == []
    put(app, "selectbox", key, "run 9: mine")
    press(app, "change-encoder")
    assert setting(judged, ACTIVE_ENCODER) == "run 9: mine"
    assert kinds(judged, started) == [queue_order.KIND, "diagnose"]
    assert "7 variants" in page_text(app) and "bold" not in unsafe_texts(app)


def test_a_model_is_switched_off_after_saying_what_changes(
    judged: Engine,
    open_page: OpenPage,
    started: list[int],
    monkeypatch: pytest.MonkeyPatch,
    wording: Wording,
) -> None:
    app = open_page("settings")
    assert HOSTILE in page_text(app) and "bold" not in unsafe_texts(app)
    press(app, "switch-")
    wording(app, "settings", "switching off a model")
    assert statuses(judged).count(Status.ACCEPTED) == 3
    press(app, "switch-leave")
    assert "switch-now" not in keys(app)
    press(press(app, "switch-"), "switch-now")
    wording(app, "settings", "a model switched off")
    assert statuses(judged).count(Status.PENDING) == 7 and started == []
    monkeypatch.setattr(model_verdicts, "AT_ONCE", 2)  # a large change is made by a run
    press(press(app, "switch-"), "switch-now")
    assert kinds(judged, started) == [model_verdicts.KIND]
    assert statuses(judged).count(Status.PENDING) == 7


def test_the_details_of_the_project_are_shown(
    judged: Engine, open_page: OpenPage, home: Path
) -> None:
    (home / "hedgerow.db.20260101T000000Z.bak").write_bytes(b"x" * 2000)
    app = open_page("settings")
    assert f"sqlite:///{home}/hedgerow.db" in page_text(app)
    machine, backups, contents, versions = (table.value for table in app.dataframe)
    assert set(machine["Environment variable"]) >= {
        "HEDGEROW_HOME",
        "HEDGEROW_DATABASE_URL",
        "HEDGEROW_REVIEWER",
        "HF_TOKEN",
    }
    assert backups["Size"].tolist() == ["2.0 kB"]
    assert dict(zip(contents["Rows"], contents["Count"], strict=True))["Variants"] == 7
    assert {"hedgerow", "python", "torch", "streamlit"} <= set(versions["Package"])


def test_an_empty_project_has_no_variants_to_measure_and_a_theme(
    with_source: Engine, open_page: OpenPage, wording: Wording
) -> None:
    app = open_page("settings")
    wording(app, "settings", "an empty project")
    assert not any(block.key == "choose-theme" for block in app.get("bidi_component"))
    app.get("button_group")[0].set_value("Dark").run()
    (block,) = [block for block in app.get("bidi_component") if block.key == "choose-theme"]
    assert "stActiveTheme" in block.proto.js_content
    chosen = json.loads(block.proto.json)
    assert chosen["theme"] == "Dark"
    assert {"review", "settings", "overview"} <= set(chosen["pages"])
    with writing(with_source) as session:
        for variant in list(add_family(session).values())[1:]:
            session.delete(variant)
    assert "1 variant has no" in page_text(app.run())


def test_a_secret_appears_nowhere(
    judged: Engine,
    open_page: OpenPage,
    home: Path,
    started: list[int],
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
) -> None:
    for name, value in SECRETS.items():
        monkeypatch.setenv(name, value)
    open_project.settings.clear()
    app = press(open_page("settings"), "measure")
    page = page_text(app) + unsafe_texts(app) + "".join(t.value.to_csv() for t in app.dataframe)
    shown_by_set = [line for line in page.splitlines() if ",set," in line]
    assert len(shown_by_set) == 2
    runner = CliRunner()
    shown = "".join(
        runner.invoke(cli.app, arguments).output
        for arguments in (
            ["settings"],
            ["settings", "show", "--json"],
            ["settings", "--json"],
            ["settings", "set", THRESHOLD, "50", "--json"],
            ["status"],
        )
    )
    with reading(judged) as session:
        runs = session.execute(select(Run)).scalars().all()
        stored = "".join(run.model_dump_json() for run in runs)
    assert len(runs) >= 2
    logs = "".join(path.read_text("utf-8") for path in home.rglob("log.txt")) + caplog.text
    assert "INFO" in logs
    files = b"".join(path.read_bytes() for path in home.rglob("*") if path.is_file())
    for place in (page, shown, stored, logs, repr(open_project.settings()), repr(files)):
        assert "zzsecret" not in place


# -- people ----------------------------------------------------------------------------


def test_two_spellings_of_a_person_are_merged_and_separated(
    with_source: Engine, open_page: OpenPage, wording: Wording
) -> None:
    with writing(with_source) as session:
        verbal = add_family(session)["verbal"]
        session.add(Reviewer(name="ada", kind=ReviewerKind.PERSON))  # as in an older project
        ada, other = person(session, "Ada"), person(session, "ada")
        deciding.accept(session, shown(verbal), reviewer_id=ada)
        deciding.reject(session, shown(verbal), reviewer_id=other, reason="meaning_changed")
    app = open_page("settings")
    put(app, "selectbox", "person", other)
    put(app, "selectbox", f"person-into-{other}", ada)
    wording(app, "settings", "merging people")
    assert statuses(with_source)[0] is Status.CONFLICT  # nothing is changed before the button
    press(app, "merge")
    assert statuses(with_source)[0] is Status.REJECTED
    put(app, "selectbox", "person", other)
    press(app, "separate")
    assert statuses(with_source)[0] is Status.CONFLICT


def test_a_person_is_added_with_a_role_and_renamed(
    with_source: Engine, open_page: OpenPage
) -> None:
    app = open_page("settings")
    app.text_input("new-person-name").input(HOSTILE).run()
    press(app, "add-person-button")
    assert names(with_source) == {}  # there is no lead yet
    put(app, "selectbox", "new-person-role", TeamRole.LEAD)
    press(app, "add-person-button")
    put(app, "selectbox", "new-person-role", TeamRole.VIEWER)
    app.text_input("new-person-name").input("Cy").run()
    press(app, "add-person-button")
    assert names(with_source) == {HOSTILE: TeamRole.LEAD, "Cy": TeamRole.VIEWER}
    assert app.selectbox("person").options == [HOSTILE, "Cy"]  # a select box has no Markdown
    put(app, "selectbox", "person", 2)
    assert app.selectbox("person-into-2").options == [HOSTILE]
    for name, fact in (
        ("starter-llm", "'starter-llm'"),  # reserved
        ("  ", "name"),
        ("cy", "Merge into"),
        ("Ada", "Ada"),
    ):
        put(app, "selectbox", "person", 1)
        app.text_input("person-name-1").input(name).run()
        press(app, "rename")
        assert fact in page_text(app)
        assert set(names(with_source)) == {"Ada" if name == "Ada" else HOSTILE, "Cy"}
    assert HOSTILE not in unsafe_texts(app)


# -- backups and checks ----------------------------------------------------------------


def carry_out(engine: Engine, number: int) -> str:
    """Do the work of a run's process. Returns the run's kind."""
    execute(engine, load_settings(), number, WORK)
    with reading(engine) as session:
        run = get_run(session, number)
        assert run.state is RunState.DONE
        return run.kind


def test_a_backup_is_made_and_listed(
    with_source: Engine, open_page: OpenPage, started: list[int], home: Path
) -> None:
    app = open_page("settings")
    put(app, "checkbox", "backup-artifacts", False)
    press(app, "backup")
    assert app.button(key="backup").disabled
    assert f"Run {started[0]}" in page_text(app)  # the panel follows its run
    assert carry_out(with_source, started[0]) == BACKUP
    app = open_page("settings")
    (made,) = (home / "backups").iterdir()
    assert f"{made}. It contains the database and no artifacts." in page_text(app)
    assert [row["Backup"] for row in rows(app, "Backup")] == [str(made)]


def test_a_check_reports_problems_and_a_repair_fixes_them(
    with_source: Engine, open_page: OpenPage, started: list[int], wording: Wording
) -> None:
    with writing(with_source) as session:
        add_family(session)
        session.execute(text("UPDATE variant SET status = 'accepted' WHERE id = 1"))
    app = open_page("settings")
    assert "repair" not in keys(app)
    press(app, "check")
    for state in (RunState.FAILED, RunState.CANCELLED):  # it can be repeated
        with writing(with_source) as session:
            ended = {"state": state, "message": "The disk is full."}
            session.get_one(Run, started[-1]).sqlmodel_update(ended)
        app = open_page("settings")
        assert f"Run {started[-1]} " in page_text(app)
        press(app, "check")
    assert carry_out(with_source, started[-1]) == CHECK
    app = open_page("settings")
    wording(app, "settings", "a check found problems")
    press(app, "repair")
    carry_out(with_source, started[-1])
    assert statuses(with_source)[0] is Status.PENDING
    app = open_page("settings")
    wording(app, "settings", "problems repaired")
    assert "repair" not in keys(app)
