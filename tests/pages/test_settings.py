"""The settings page: what it shows, what it changes, and what it never shows."""

import json
import os
import socket
from pathlib import Path

import pytest
from sqlalchemy import Engine, select
from sqlalchemy.orm import Session
from sqlmodel import col
from streamlit.testing.v1 import AppTest
from typer.testing import CliRunner

import cli
from curation.diagnostics import queue_order
from curation.diagnostics.measuring import measure_variants
from curation.encoders.registered import register_encoder
from curation.project.opening import ACTIVE_ENCODER, THRESHOLD, get_setting
from curation.review import actions
from curation.review.actions import shown
from curation.review.opinions import model_verdicts
from curation.review.people.reviewers import Person, people
from db.engine import reading, writing
from db.migrate import head_revision
from db.models import Reviewer, ReviewerKind, Run, RunState, Status, TeamRole, Variant
from db.runs import claim, create_run, get_run
from pages.components.shared.shell import open_project
from tests.pages.conftest import OpenPage, unsafe_texts
from tests.support.checkpoints import checkpoint
from tests.support.factories import add_family, model, person

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
            actions.accept(session, shown(variant), reviewer_id=judge)
    return with_source


def texts(app: AppTest) -> str:
    return "\n".join(text.value for text in app.text)


def setting(engine: Engine, key: str) -> object:
    with reading(engine) as session:
        return get_setting(session, key)


def kinds(engine: Engine, numbers: list[int]) -> list[str]:
    with reading(engine) as session:
        return [get_run(session, number).kind for number in numbers]


def statuses(engine: Engine) -> list[Status]:
    with reading(engine) as session:
        return list(
            session.execute(select(col(Variant.status)).order_by(col(Variant.id))).scalars()
        )


def test_the_threshold_is_changed_and_the_queues_follow(
    judged: Engine, open_page: OpenPage, started: list[int]
) -> None:
    app = open_page("settings")
    assert "Variants above the threshold: 0." in texts(app)
    assert app.button(key="change-threshold").disabled
    app = app.number_input(key="threshold-60").set_value(5).run()
    assert "Variants above 5: " in texts(app)
    assert setting(judged, THRESHOLD) == 60
    app = app.button(key="change-threshold").click().run()
    assert setting(judged, THRESHOLD) == 5
    assert kinds(judged, started) == [queue_order.KIND]
    assert "Update the queues" in texts(app)  # the run is being followed
    assert app.number_input(key="threshold-5").value == 5


def test_a_failed_reorder_can_be_retried(
    judged: Engine, open_page: OpenPage, started: list[int]
) -> None:
    with writing(judged) as session:
        queue_order.request_reorder(session)
        create_run(session, kind=queue_order.KIND, parameters={}).state = RunState.FAILED
    app = open_page("settings")
    assert "7 variants have not been sorted into the review queues" in texts(app)
    app.button(key="reorder").click().run()
    assert kinds(judged, started) == [queue_order.KIND]


def test_only_runs_that_follow_a_change_of_these_settings_are_shown(
    judged: Engine, open_page: OpenPage
) -> None:
    with writing(judged) as session:
        training = create_run(session, kind="train", parameters={}).id
        reorder = create_run(session, kind=queue_order.KIND, parameters={}).id
    for number in (training, reorder):
        claim(judged, number, host=socket.gethostname(), pid=os.getpid())
    shown_runs = texts(open_page("settings"))
    assert f"Run {reorder}: " in shown_runs
    assert f"Run {training}: " not in shown_runs


def test_another_encoder_is_measured_and_determines_the_order(
    judged: Engine, open_page: OpenPage, started: list[int]
) -> None:
    with writing(judged) as session:
        register_encoder(session, name=HOSTILE, hash_="f" * 64)
        path = open_project.settings().data_folder / "model"
        path.mkdir(parents=True)
        register_encoder(session, name="run 9: mine", hash_="e" * 64).path = "model"
    app = open_page("settings")
    options = app.selectbox(key="encoder-all-MiniLM-L6-v2").options
    assert options == ["all-MiniLM-L6-v2", "hedgerow-minilm", "run 9: mine", HOSTILE]
    app = app.selectbox(key="encoder-all-MiniLM-L6-v2").set_value("run 9: mine").run()
    app = app.button(key="change-encoder").click().run()
    assert setting(judged, ACTIVE_ENCODER) == "run 9: mine"
    assert kinds(judged, started) == [queue_order.KIND, "diagnose"]
    assert "7 variants have no cosine similarity from this encoder yet." in texts(app)
    assert "bold" not in unsafe_texts(app)


def test_a_model_that_is_not_an_encoder_is_refused_and_nothing_is_measured(
    judged: Engine, open_page: OpenPage, started: list[int], tmp_path: Path
) -> None:
    name = str(checkpoint("LlamaForCausalLM", tmp_path / "llama"))
    with writing(judged) as session:  # by a version of Hedgerow that accepted it
        register_encoder(session, name=name, hash_="d" * 64)
    app = open_page("settings")
    app = app.selectbox(key="encoder-all-MiniLM-L6-v2").set_value(name).run()
    app = app.button(key="change-encoder").click().run()
    assert "found LlamaForCausalLM" in app.session_state["callback_errors"][0]
    assert setting(judged, ACTIVE_ENCODER) == "all-MiniLM-L6-v2"
    assert started == []


def test_a_model_is_switched_off_after_saying_what_changes(
    judged: Engine, open_page: OpenPage, started: list[int]
) -> None:
    app = open_page("settings")
    assert "3 decisions · switched on" in texts(app)
    assert HOSTILE in texts(app) and "bold" not in unsafe_texts(app)
    key = next(b.key for b in app.button if str(b.key).startswith("switch-"))
    app = app.button(key=key).click().run()
    assert "3 variants change status:\n3 from accepted to pending" in texts(app)
    assert statuses(judged).count(Status.ACCEPTED) == 3
    app = app.button(key="switch-leave").click().run()
    assert "switch-now" not in [b.key for b in app.button]
    app = app.button(key=key).click().run()
    app = app.button(key="switch-now").click().run()
    assert "3 variants have changed status." in texts(app)
    assert "3 decisions · switched off" in texts(app)
    assert statuses(judged).count(Status.PENDING) == 7
    assert started == []


def test_a_large_change_is_made_by_a_run(
    judged: Engine, open_page: OpenPage, started: list[int], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(model_verdicts, "AT_ONCE", 2)
    app = open_page("settings")
    key = next(b.key for b in app.button if str(b.key).startswith("switch-"))
    app = app.button(key=key).click().run()
    app = app.button(key="switch-now").click().run()
    assert kinds(judged, started) == [model_verdicts.KIND]
    assert "Recount a model's verdicts" in texts(app)
    assert statuses(judged).count(Status.ACCEPTED) == 3


def test_the_details_of_the_project_are_shown(
    judged: Engine, open_page: OpenPage, home: Path
) -> None:
    (home / "hedgerow.db.20260101T000000Z.bak").write_bytes(b"x" * 2000)
    app = open_page("settings")
    shown = texts(app)
    assert f"sqlite:///{home}/hedgerow.db" in shown
    assert "SQLite" in shown and "write-ahead log" in shown and f"schema {head_revision()}" in shown
    machine, backups, rows, versions = (table.value for table in app.dataframe)
    assert set(machine["Environment variable"]) >= {
        "HEDGEROW_HOME",
        "HEDGEROW_DATABASE_URL",
        "HEDGEROW_REVIEWER",
        "HF_TOKEN",
    }
    assert backups["Size"].tolist() == ["2.0 kB"]
    assert dict(zip(rows["Rows"], rows["Count"], strict=True))["Variants"] == 7
    assert {"hedgerow", "python", "torch", "streamlit"} <= set(versions["Package"])


def test_a_reload_applies_the_theme_to_all_pages(open_page: OpenPage) -> None:
    app = open_page("settings")
    assert not any(block.key == "choose-theme" for block in app.get("bidi_component"))
    app = app.get("button_group")[0].set_value("Dark").run()
    (block,) = [block for block in app.get("bidi_component") if block.key == "choose-theme"]
    assert "stActiveTheme" in block.proto.js_content
    chosen = json.loads(block.proto.json)
    assert chosen["theme"] == "Dark"
    assert {"review", "settings", "overview"} <= set(chosen["pages"])


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
    app = open_page("settings")
    app.button(key="measure").click().run()
    page = texts(app) + unsafe_texts(app) + "".join(t.value.to_csv() for t in app.dataframe)
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


def _of_two_names(session: Session) -> None:
    verbal = add_family(session)["verbal"]
    session.add(Reviewer(name="ada", kind=ReviewerKind.PERSON))  # as in an older project
    ada, other = person(session, "Ada"), person(session, "ada")
    actions.accept(session, shown(verbal), reviewer_id=ada)
    actions.reject(session, shown(verbal), reviewer_id=other, reason="meaning_changed")


def test_two_spellings_of_a_person_are_merged_and_separated(
    with_source: Engine, open_page: OpenPage
) -> None:
    with writing(with_source) as session:
        _of_two_names(session)
    app = open_page("settings")
    assert "the names differ only in case" in texts(app)
    ids = {one.name: one.id for one in _people(with_source)}
    app.selectbox("person").set_value(ids["ada"]).run()
    app.selectbox(f"person-into-{ids['ada']}").set_value(ids["Ada"]).run()
    assert "Variants that change from conflict to rejected: 1." in texts(app)
    assert status(with_source) is Status.CONFLICT  # nothing is changed before the button
    app.button("merge").click().run()
    assert "ada and Ada are now one reviewer, Ada." in texts(app)
    assert status(with_source) is Status.REJECTED
    app.selectbox("person").set_value(ids["ada"]).run()
    app.button("separate").click().run()
    assert "ada and Ada are two reviewers again." in texts(app)
    assert status(with_source) is Status.CONFLICT


def test_a_person_is_added_with_a_role(with_source: Engine, open_page: OpenPage) -> None:
    app = open_page("settings")
    app.text_input("new-person-name").input(HOSTILE).run()
    app.button("add-person-button").click().run()
    assert "There is no lead yet" in texts(app)
    app.selectbox("new-person-role").set_value(TeamRole.LEAD).run()
    app.button("add-person-button").click().run()
    assert f"Added {HOSTILE} as a lead." in texts(app)
    app.selectbox("new-person-role").set_value(TeamRole.VIEWER).run()
    app.text_input("new-person-name").input("Cy").run()
    app.button("add-person-button").click().run()
    assert [(one.name, one.role) for one in _people(with_source)] == [
        (HOSTILE, TeamRole.LEAD),
        ("Cy", TeamRole.VIEWER),
    ]
    assert HOSTILE not in unsafe_texts(app)


def test_a_person_is_renamed_and_a_reserved_name_is_refused(
    with_source: Engine, open_page: OpenPage
) -> None:
    with writing(with_source) as session:
        ada = person(session, HOSTILE)
    app = open_page("settings")
    app.selectbox("person").set_value(ada).run()
    app.text_input(f"person-name-{ada}").input("starter-llm").run()
    app.button("rename").click().run()
    assert "is reserved for imports and models" in texts(app)
    app.selectbox("person").set_value(ada).run()
    app.text_input(f"person-name-{ada}").input("Ada").run()
    app.button("rename").click().run()
    assert f"{HOSTILE} is now called Ada." in texts(app)
    assert [one.name for one in _people(with_source)] == ["Ada"]
    assert HOSTILE not in unsafe_texts(app)


def test_a_name_is_shown_as_it_is_in_the_choice_of_a_person(
    with_source: Engine, open_page: OpenPage
) -> None:
    with writing(with_source) as session:
        person(session, "Grace")
        ada = person(session, HOSTILE)
    app = open_page("settings")
    assert app.selectbox("person").options == [
        "Grace",
        HOSTILE,
    ]  # a select box does not render Markdown
    app.selectbox("person").set_value(1).run()
    assert app.selectbox("person-into-1").options == [HOSTILE]
    assert ada == 2


@pytest.mark.parametrize(
    ("name", "message"), [("  ", "a reviewer's name, found none"), ("grace", "choose Merge into")]
)
def test_an_invalid_name_is_refused_in_one_sentence(
    with_source: Engine, open_page: OpenPage, name: str, message: str
) -> None:
    with writing(with_source) as session:
        person(session, "Grace")
        ada = person(session, "Ada")
    app = open_page("settings")
    app.selectbox("person").set_value(ada).run()
    app.text_input(f"person-name-{ada}").input(name).run()
    app.button("rename").click().run()
    assert message in texts(app) and "another name" in texts(app)
    assert [one.name for one in _people(with_source)] == ["Grace", "Ada"]


def test_one_variant_without_a_cosine_is_singular_and_an_empty_project_says_so(
    with_source: Engine, open_page: OpenPage
) -> None:
    app = open_page("settings")
    assert "There are no variants yet." in texts(app)
    with writing(with_source) as session:
        for variant in list(add_family(session).values())[1:]:
            session.delete(variant)
    assert "1 variant has no cosine similarity from this encoder yet." in texts(app.run())


def _people(engine: Engine) -> list[Person]:
    with reading(engine) as session:
        return people(session)


def status(engine: Engine) -> Status:
    with reading(engine) as session:
        return session.get_one(Variant, 1).status
