"""Finished runs: deleting them, their kinds, the table that compares them, and their curves."""

from __future__ import annotations

import ast
import os
import socket
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import Engine, event, select
from sqlalchemy.orm import Session
from sqlmodel import SQLModel, col

from curation.project.settings import ACTIVE_ENCODER, put_setting
from db.engine import reading, writing
from db.errors import HedgerowError
from db.models import Encoder, Run, RunMetric, RunState, Variant
from db.runs import claim, create_run
from db.settings import Settings
from tests.support.checkout import ROOT
from tests.support.databases import both_databases, one_database
from tests.support.factories import add_anchor, add_variant
from tests.support.publishing import add_model
from tests.training.support.trainings import read, write
from training.evaluation.probe_sets import FIGURE_1_SET, ensure_bundled
from training.evaluation.probes import save_probe_cosines
from training.finetune.curves import (
    Band,
    CurvePoint,
    Evaluations,
    PairShare,
    cosines,
    general,
    pair_shares,
    read_evaluations,
    shares,
)
from training.models.display_names import choice_names, short_name, short_names
from training.recipe.presets import PRESETS, STANDARD, changes
from training.recipe.schema import Recipe
from training.recipe.training_data import KIND
from training.runs.kinds import KINDS, WORK, kind_of
from training.runs.removal import delete_run
from training.studies.comparison_table import (
    alike,
    as_table,
    differing,
    figures,
    finished,
    in_words,
    settings_of,
)
from training.studies.study_run import KIND as STUDY

pytestmark = both_databases


@pytest.fixture
def training(engine: Engine, tiny_encoder: Path) -> int:
    """A finished training with a model, figures and an encoder."""
    number = add_model(engine, tiny_encoder)
    with writing(engine) as session:
        session.add(RunMetric(run_id=number, name="loss", step=1, value=0.5))
        session.execute(select(Encoder)).scalar_one().run_id = number
    return number


def rows(engine: Engine) -> dict[str, int]:
    tables = SQLModel.metadata.sorted_tables
    with reading(engine) as session:
        return {table.name: len(session.execute(select(table)).all()) for table in tables}


def refuse(engine: Engine, settings: Settings, number: int, sentence: str) -> None:
    before = rows(engine)
    with pytest.raises(HedgerowError, match=sentence):
        delete_run(engine, settings, number)
    assert rows(engine) == before


def test_a_training_goes_with_its_figures_its_encoder_and_its_folder(
    training: int, engine: Engine, settings: Settings
) -> None:
    before = rows(engine)
    (folder,) = delete_run(engine, settings, training)
    assert folder.name == "00001-train" and not folder.exists()
    gone = {name: count - rows(engine)[name] for name, count in before.items()}
    assert {name: count for name, count in gone.items() if count} == {
        "run": 1,
        "run_metric": 1,
        "encoder": 1,
    }
    with pytest.raises(HedgerowError, match="run 1"):
        delete_run(engine, settings, training)


@pytest.mark.slow
@one_database
def test_a_run_in_progress_stays_until_its_process_has_died(
    engine: Engine, settings: Settings
) -> None:
    number = write(engine, create_run, kind="diagnose", parameters={}).id
    claim(engine, number, host=socket.gethostname(), pid=os.getpid())
    refuse(engine, settings, number, f"cancel {number}")
    with writing(engine) as session:
        session.get_one(Run, number).pid = 2**22 + 1
    assert delete_run(engine, settings, number)


@one_database
def test_the_run_of_the_active_encoder_stays(
    training: int, engine: Engine, settings: Settings
) -> None:
    write(engine, put_setting, ACTIVE_ENCODER, "trained")
    refuse(engine, settings, training, "active encoder")
    assert (settings.data_folder / "runs" / "00001-train").is_dir()


def test_a_run_that_others_rest_on_stays(training: int, engine: Engine, settings: Settings) -> None:
    with writing(engine) as session:
        base = session.execute(select(Encoder)).scalar_one()
        later = create_run(session, kind="train", parameters={}, group="")
        session.add(
            Encoder(name="second", fingerprint="f" * 64, path="x", base_id=base.id, run_id=later.id)
        )
    refuse(engine, settings, training, "of run 2 .* of run 1")
    delete_run(engine, settings, later.id)
    curve = write(engine, create_run, kind="tradeoff", parameters={"training": training}).id
    refuse(engine, settings, training, "run 1")
    delete_run(engine, settings, curve)
    waiting = write(engine, create_run, kind="compare", parameters={"models": ["trained"]}).id
    refuse(engine, settings, training, f"Run {waiting} ")


@pytest.mark.slow
@one_database
def test_a_run_that_wrote_variants_stays(engine: Engine, settings: Settings) -> None:
    with writing(engine) as session:
        run = create_run(session, kind="generate", parameters={})
        anchor = add_anchor(session, "The door is open.")
        add_variant(session, anchor, "verbal", "The door is not open.").run_id = run.id
    refuse(engine, settings, run.id, "1 variant")
    with reading(engine) as session:
        assert session.execute(select(col(Variant.run_id))).scalar_one() == run.id


def test_a_study_goes_with_its_trainings(engine: Engine, settings: Settings) -> None:
    with writing(engine) as session:
        study = create_run(session, kind=STUDY, parameters={})
        member = create_run(session, kind="train", parameters={}, group=f"{STUDY}-{study.id}")
    refuse(engine, settings, member.id, f"study run {study.id}")
    assert len(delete_run(engine, settings, study.id)) == 2
    with reading(engine) as session:
        assert session.execute(select(Run)).all() == []


@one_database
def test_an_import_without_a_folder_is_deleted_alone(engine: Engine, settings: Settings) -> None:
    mine = settings.data_folder / "models"
    mine.mkdir(parents=True)
    with writing(engine) as session:
        run = create_run(session, kind="import", parameters={})
        run.folder = ""
        create_run(session, kind="export", parameters={})
    assert delete_run(engine, settings, run.id) == [] and mine.is_dir()


IDS = {kind.id for kind in KINDS}


@pytest.fixture(scope="module")
def sources() -> dict[str, ast.Module]:
    return {
        str(path.relative_to(ROOT)): ast.parse(path.read_text("utf-8"))
        for folder in ("curation", "training", "pages", "cli")
        for path in sorted((ROOT / folder).rglob("*.py"))
    }


@pytest.mark.slow
def test_every_kind_that_a_module_names_is_registered(sources: dict[str, ast.Module]) -> None:
    named = {
        node.value.value
        for tree in sources.values()
        for node in tree.body
        if isinstance(node, ast.Assign) and isinstance(node.value, ast.Constant)
        for target in node.targets
        if isinstance(target, ast.Name) and (target.id == "KIND" or target.id.endswith("_KIND"))
    }
    earlier = {"starter"}  # names under which the runs of older projects are stored
    assert named == IDS - earlier


@pytest.mark.slow
def test_runs_are_stored_under_a_named_kind_only(sources: dict[str, ast.Module]) -> None:
    """The test above sees all kinds, because no call spells one out."""
    spelled = [
        f"{path}:{node.lineno}"
        for path, tree in sources.items()
        for node in ast.walk(tree)
        if isinstance(node, ast.Call)
        and isinstance(node.func, ast.Name)
        and node.func.id in ("create_run", "Run", "list_runs")
        for keyword in node.keywords
        if keyword.arg == "kind" and isinstance(keyword.value, ast.Constant)
    ]
    assert spelled == []


@pytest.mark.slow
def test_a_kind_has_work_an_address_and_no_summary_of_an_unknown_result(
    sources: dict[str, ast.Module],
) -> None:
    for kind in KINDS:
        if kind.work:  # importing it takes seconds
            module, _, name = kind.work.partition(":")
            body = sources[module.replace(".", "/") + ".py"].body
            assert name in {node.name for node in body if isinstance(node, ast.FunctionDef)}
            assert WORK[kind.id] == kind.carry_out
        for state in (RunState.RUNNING, RunState.DONE):  # also of an older version
            address = kind.address(Run(id=7, kind=kind.id, state=state, parameters={}))
            assert (ROOT / "pages" / f"{address.partition('?')[0]}.py").is_file(), kind.id
        assert kind.sum_up({}) == "", kind.id


def test_results_are_linked_if_they_are_shown() -> None:
    of_release = Run(id=9, kind="push", parameters={"run": None, "release": 2})
    assert kind_of("push").address(of_release) == "release"
    for kind, parameters, number in (("train", {}, 7), ("tradeoff-save", {"training": 7}, 8)):
        run = Run(id=number, kind=kind, state=RunState.DONE, parameters=parameters)
        assert kind_of(kind).address(run) == "train?step=Results&run=7"
    result = {"measured": 1, "cosines": 2_000, "encoder": "all-MiniLM-L6-v2"}
    found = kind_of("diagnose").sum_up(result)
    assert all(fact in found for fact in ("1 distance ", "2,000 cosines", "all-MiniLM-L6-v2"))
    assert "dance" in kind_of("dance").title  # of another version


@pytest.mark.parametrize("name", ["kinds", "summaries"])
def test_naming_a_run_imports_nothing_heavy(name: str) -> None:
    tree = ast.parse((ROOT / "training" / "runs" / f"{name}.py").read_text("utf-8"))
    imported = {node.module or "" for node in tree.body if isinstance(node, ast.ImportFrom)}
    assert {module for module in imported if module.startswith("training")} <= {"training.runs"}


DEFAULT = Recipe().model_dump(mode="json")


def add_run(
    session: Session,
    *,
    state: RunState = RunState.DONE,
    seed: int = 1,
    group: str = "",
    encoder_id: int = 0,
    after: float = 0.9,
    **recipe: Any,
) -> int:
    """A training run with these values in its row."""
    run = create_run(
        session,
        kind=KIND,
        group=group,
        parameters={"release": 2, "seed": seed, "recipe": recipe},
    )
    run.state = state
    run.result = {
        "triples": 18,
        "steps": 3,
        "seconds": 90.0,
        "encoder_id": encoder_id,
        "held_out": {
            "before": {"ranked": 0.5, "questions": 0.02, "drift": 0.0, "ranked:word>verbal": 0.1},
            "after": {"ranked": after, "questions": 0.8, "drift": 0.05, "ranked:word>verbal": 1.0},
            "of": {"ranked": 20, "questions": 8, "drift": 10},
        },
    }
    session.flush()
    return run.id


def measured(session: Session, *cosines: float) -> int:
    """An encoder with these cosines of Figure 1."""
    probes = ensure_bundled(session, FIGURE_1_SET)
    encoder = Encoder(name="e", fingerprint=str(cosines))
    session.add(encoder)
    session.flush()
    pairs = {probe.id: value for probe, value in zip(probes, cosines, strict=True)}
    save_probe_cosines(session, pairs, encoder_id=encoder.id)
    return encoder.id


def test_finished_trainings_are_read_with_figures_and_study(engine: Engine) -> None:
    with writing(engine) as session:
        add_run(session, state=RunState.FAILED)
        first = add_run(session, group="study-7", encoder_id=measured(session, 0.3, 0.6, 0.9))
        second = add_run(session, loss="triples", encoder_id=measured(session, 0.1, 0.2, 0.3))
        session.add(Run(kind="export", parameters={}, state=RunState.DONE))
    newest, oldest = read(engine, finished)
    assert (oldest.run, oldest.study, newest.run, newest.study) == (first, 7, second, None)
    assert (oldest.release, oldest.triples, oldest.steps, oldest.minutes) == (2, 18, 3, 1.5)
    assert oldest.recipe == DEFAULT and newest.recipe["loss"] == "triples"
    assert figures(oldest) == {
        "triples ranked correctly, before": 0.5,
        "triples ranked correctly, after": 0.9,
        "questions answered correctly, before": 0.02,
        "questions answered correctly, after": 0.8,
        "drift of unrelated sentences": 0.05,
        "Figure 1, contradicted": 0.3,
        "Figure 1, weakened": 0.6,
        "Figure 1, affirmed": 0.9,
    }


@one_database
def test_only_keys_that_differ_are_compared(engine: Engine) -> None:
    with writing(engine) as session:
        add_run(session, epochs=12.0, batch_size=16, seed=3)
        add_run(session, epochs=6.0, batch_size=16)
    rows = read(engine, finished)
    seed, epochs = differing(rows, DEFAULT)
    assert (seed.key, seed.values, seed.differs) == ("seed", ["1", "3"], [False, True])
    assert (epochs.key, epochs.values, epochs.differs) == ("epochs", ["6", "12"], [True, True])
    assert epochs.reference == f"{DEFAULT['epochs']:g}"
    assert in_words(alike(rows, PRESETS[STANDARD])) == "batch_size: 16"
    against_first = differing(rows, settings_of(rows[0]))
    assert [line.differs for line in against_first] == [[False, True]] * 2
    assert differing([rows[0], rows[0]], DEFAULT) == []


@one_database
def test_one_training_is_compared_with_the_default(engine: Engine) -> None:
    write(engine, add_run, types={"phrase": 0.0, "word": 0.5}, max_triples=64, pooling="cls")
    (row,) = read(engine, finished)
    found = {line.key: (line.reference, line.values) for line in differing([row], DEFAULT)}
    assert found == {
        "types": ("none", ["phrase: 0, word: 0.5"]),
        "max_triples": ("none", ["64"]),
        "pooling": ("as_base", ["cls"]),
    }
    assert in_words(changes(row.recipe, PRESETS[STANDARD])) == (
        "pooling: cls, types: phrase: 0, word: 0.5, max_triples: 64"
    )
    assert alike([row], PRESETS[STANDARD]) == {}


@one_database
def test_the_file_has_every_key_and_figure_of_every_training(engine: Engine) -> None:
    with writing(engine) as session:
        old = {key: value for key, value in DEFAULT.items() if key != "loss"} | {"gone": "=1+1"}
        add_run(session, **old)  # a recipe that this version can't read
        add_run(session, encoder_id=measured(session, 0.3, 0.6, 0.9))
    header, lines = as_table(read(engine, finished))
    assert [len(line) for line in lines] == [len(header)] * 2
    new, unread = (dict(zip(header, line, strict=True)) for line in lines)
    assert new["loss"] == DEFAULT["loss"] and unread["loss"] == ""
    assert unread["gone"] == "=1+1" and new["gone"] == ""
    assert (new["Figure 1, affirmed"], unread["Figure 1, affirmed"]) == (0.9, "")


@one_database
def test_the_preset_and_the_writers_of_a_training_are_reported(engine: Engine) -> None:
    with writing(engine) as session:
        add_run(session)
        of_rules = session.get_one(Run, add_run(session))
        more = {"preset": "quick", "providers": ["rules"]}
        of_rules.parameters = of_rules.parameters | more
    newest, oldest = read(engine, finished)
    (line,) = differing([oldest, newest], settings_of(oldest))
    assert (line.key, line.values) == ("variants by", ["all", "rules"])
    header, lines = as_table([newest, oldest])
    found = [[line[header.index(name)] for name in ("preset", "variants by")] for line in lines]
    assert found == [["quick", "rules"], ["", "all"]]


@one_database
def test_many_trainings_take_few_queries(engine: Engine) -> None:
    with writing(engine) as session:
        encoder = measured(session, 0.3, 0.6, 0.9)
        for seed in range(40):
            add_run(session, seed=seed, encoder_id=encoder)
    asked: list[str] = []
    event.listen(engine, "before_cursor_execute", lambda *args: asked.append(args[2]))
    assert len(read(engine, finished)) == 40
    assert len([text for text in asked if text.startswith("SELECT")]) <= 4


STORED = {
    (0, "epoch"): 0.0,
    (0, "ranked"): 0.5,
    (0, "ranked:word>verbal"): 0.25,
    (0, "sts"): 0.8,
    (0, "cosine:hedge"): 0.9,
    (0, "cosine:hedge:sd"): 0.05,
    (6, "epoch"): 0.5,
    (6, "ranked"): 0.75,
    (6, "ranked:word>verbal"): 0.5,
    (6, "sts"): 0.79,
    (6, "cosine:hedge"): 0.8,
    (6, "cosine:hedge:sd"): 0.1,
    (5, "loss"): 2.5,
    (5, "learning_rate"): 1e-5,
    (5, "characters_per_second"): 30.0,
}


def test_looks_are_read_as_rows_by_epoch(engine: Engine) -> None:
    with writing(engine) as session:
        run_id = create_run(session, kind="train", parameters={}).id
        other = create_run(session, kind="train", parameters={}).id
        for (step, name), value in STORED.items():
            session.add(RunMetric(run_id=run_id, name=name, step=step, value=value))
        session.add(RunMetric(run_id=other, name="loss", step=1, value=1.0))
    with reading(engine) as session:
        evaluations = read_evaluations(session, run_id)
        assert read_evaluations(session, other) is None
    assert evaluations is not None and evaluations.last == 6
    assert shares(evaluations) == [
        CurvePoint(0.0, 0, "triples ranked correctly", 0.5),
        CurvePoint(0.5, 6, "triples ranked correctly", 0.75),
    ]
    assert [point.value for point in general(evaluations, "sts")] == [0.8, 0.79]
    assert general(evaluations, "drift") == []
    assert cosines(evaluations)[1] == Band(0.5, 6, "hedges", 0.8, 0.8 - 0.1, 0.8 + 0.1)
    assert pair_shares(evaluations) == [PairShare("word", "verbal", 0.25, 0.5)]


def test_no_band_exceeds_the_range_of_a_cosine() -> None:
    figures = {"cosine:hedge": {0: 0.97, 6: -0.98}, "cosine:hedge:sd": {0: 0.032, 6: 0.05}}
    evaluations = Evaluations(epochs={0: 0.0, 6: 1.0}, figures=figures)
    assert [band.upper for band in cosines(evaluations)] == [1.0, pytest.approx(-0.93)]
    assert [band.lower for band in cosines(evaluations)] == [pytest.approx(0.938), -1.0]


@pytest.mark.parametrize(
    ("name", "short"),
    [
        ("all-MiniLM-L6-v2", "all-MiniLM-L6-v2"),
        ("sentence-transformers/all-mpnet-base-v2", "all-mpnet-base-v2"),
        ("/a/very/long/path/to/model/", "model"),
        ("run 9: /models/small, release 1", "run 9"),
        ("run 9 at 0.25: /models/small, release 1", "run 9 at 0.25"),
        ("/home/hedgerow_data/runs/00009-finetune-llm/model", "run 9"),
        ("/home/hedgerow_data/runs/00009-finetune-llm/merged", "run 9, merged"),
        ("facebook/dpr-question+facebook/dpr-context", "dpr-question+dpr-context"),
        ("random scores", "random scores"),
        ("/", "/"),
        ("", ""),
    ],
)
def test_a_name_is_shortened(name: str, short: str) -> None:
    assert short_name(name) == short


def test_models_that_would_share_a_short_name_keep_their_full_names() -> None:
    assert short_names(["/a/small", "/b/small", "/c/large"]) == {
        "/a/small": "/a/small",
        "/b/small": "/b/small",
        "/c/large": "large",
    }


@pytest.mark.slow
def test_a_menu_also_shows_the_base_and_the_data_of_a_trained_model() -> None:
    names = ["run 9: /models/small, release 1", "/models/small"]
    assert choice_names(names) == {names[0]: "run 9: small, release 1", names[1]: "small"}
