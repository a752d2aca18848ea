"""The table of finished runs: reading, differences, and writing to a file."""

from __future__ import annotations

from typing import Any

from sqlalchemy import Engine, event
from sqlalchemy.orm import Session

from db.engine import reading, writing
from db.models import Encoder, Run, RunState
from db.runs import create_run
from tests.support.databases import both_databases, one_database
from training.evaluation.probe_sets import FIGURE_1_SET, ensure_bundled
from training.evaluation.probes import save_probe_cosines
from training.recipe.plan import KIND
from training.recipe.presets import PRESETS, STANDARD, changes
from training.recipe.schema import Recipe
from training.runs.comparison_table import (
    alike,
    as_table,
    differing,
    figures,
    finished,
    in_words,
    settings_of,
)

pytestmark = both_databases

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
    with reading(engine) as session:
        newest, oldest = finished(session)
    assert (oldest.run, oldest.study, newest.run, newest.study) == (first, 7, second, None)
    assert (oldest.release, oldest.triples, oldest.steps, oldest.minutes) == (2, 18, 3, 1.5)
    assert oldest.recipe == DEFAULT
    assert newest.recipe["loss"] == "triples"
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
    with reading(engine) as session:
        rows = finished(session)
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
    with writing(engine) as session:
        add_run(session, types={"phrase": 0.0, "word": 0.5}, max_triples=64, pooling="cls")
    with reading(engine) as session:
        (row,) = finished(session)
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
    with reading(engine) as session:
        header, lines = as_table(finished(session))
    assert [len(line) for line in lines] == [len(header)] * 2
    new, unread = (dict(zip(header, line, strict=True)) for line in lines)
    assert new["loss"] == DEFAULT["loss"] and unread["loss"] == ""
    assert unread["gone"] == "=1+1" and new["gone"] == ""
    assert (new["Figure 1, affirmed"], unread["Figure 1, affirmed"]) == (0.9, "")


@one_database
def test_the_preset_and_the_writers_of_a_training_are_reported(engine: Engine) -> None:
    with writing(engine) as session:
        plain = add_run(session)
        of_rules = session.get_one(Run, add_run(session))
        more = {"preset": "quick", "providers": ["rules"]}
        of_rules.parameters = of_rules.parameters | more
    with reading(engine) as session:
        newest, oldest = finished(session)
    assert (newest.preset, oldest.preset, oldest.run) == ("quick", None, plain)
    (line,) = differing([oldest, newest], settings_of(oldest))
    assert (line.key, line.values) == ("variants by", ["all", "rules"])
    header, lines = as_table([newest, oldest])
    assert [line[header.index("preset")] for line in lines] == ["quick", ""]
    assert [line[header.index("variants by")] for line in lines] == ["rules", "all"]


@one_database
def test_many_trainings_take_few_queries(engine: Engine) -> None:
    with writing(engine) as session:
        encoder = measured(session, 0.3, 0.6, 0.9)
        for seed in range(40):
            add_run(session, seed=seed, encoder_id=encoder)
    asked: list[str] = []
    event.listen(engine, "before_cursor_execute", lambda *args: asked.append(args[2]))
    with reading(engine) as session:
        assert len(finished(session)) == 40
    assert len([text for text in asked if text.startswith("SELECT")]) <= 4
