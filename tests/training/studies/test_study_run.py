"""Studies: their runs, executed, cancelled, interrupted, and with a failing run.

One study trains for real. In the others, a stand-in replaces training and takes no time.
"""

from __future__ import annotations

import os
import signal
from collections.abc import Callable
from typing import Any

import pytest
from sqlalchemy import Engine, update
from sqlmodel import col

from curation.release.freezing import create_release
from db import execution
from db.engine import reading, writing
from db.errors import HedgerowError
from db.execution import RunContext, execute
from db.models import Encoder, Run, RunState, Split
from db.runs import get_run, list_runs, request_cancel, requeue
from db.settings import Settings, load_settings
from tests.curation.support.families import add_family
from tests.training.benchmarks.support.running import semantoneg
from tests.training.support.trainings import ask, train
from training.benchmarks.results.queries import of_run
from training.data.composition import composition
from training.recipe.plan import KIND as TRAINING
from training.recipe.schema import Recipe
from training.runs import trainings
from training.studies import members, study_run
from training.studies.designs import Study
from training.studies.members import study_of, trials
from training.studies.outcomes import figure_rows
from training.studies.study_run import (
    Measured,
    benchmark_run,
    request_study,
    trained_names,
)

Behaviour = Callable[[RunContext], None]


@pytest.fixture
def base(recipe: Recipe) -> Recipe:
    changes = {"batch_size": 3, "max_steps": 2, "retention": 0.0}
    return recipe.model_copy(update=changes)


@pytest.fixture
def behaviour(monkeypatch: pytest.MonkeyPatch) -> dict[int, Behaviour]:
    """The stand-in for a training run, by its position in the study."""
    found: dict[int, Behaviour] = {}
    monkeypatch.setattr(execution, "HEARTBEAT_SECONDS", 0.01)

    def work(context: RunContext) -> dict[str, Any]:
        study = study_of(context.run)
        with reading(context.engine) as session:
            members = trials(session, get_run(session, study or 0))
        place = [trial.run.id for trial in members].index(context.run.id)
        context.update(1, 2, "Half of it.")
        found.get(place, RunContext.check)(context)
        return {"triples": 10 + place}

    monkeypatch.setattr(trainings, "work", work)
    # There is none to free, and the search takes seconds in the tests' large process.
    monkeypatch.setattr(members, "free_memory", lambda: None)
    return found


def asked(engine: Engine, study: Study, base: Recipe) -> int:
    """A study of the project as it is."""
    with writing(engine) as session:
        create_release(session)
        data = composition(session)
        return request_study(session, load_settings(), study, data=data, base=base, seed=1).id


def carry_out(engine: Engine, settings: Settings, run_id: int) -> Run:
    execute(engine, settings, run_id, {study_run.KIND: study_run.work})
    with reading(engine) as session:
        return get_run(session, run_id)


def states(engine: Engine, run_id: int) -> list[str]:
    """The state of the study, and then of its runs."""
    with reading(engine) as session:
        run = get_run(session, run_id)
        return [run.state.value, *(trial.run.state.value for trial in trials(session, run))]


def wait_for_stop(context: RunContext) -> None:
    """Continue until the run should stop, as training does in its steps."""
    while True:
        context.check()


@pytest.mark.slow
def test_a_study_trains_each_member_as_it_would_be_trained_alone(
    project: Engine, base: Recipe, settings: Settings
) -> None:
    with writing(project) as session:
        add_family(
            session,
            "Hut 1 is warm.",
            {"word": ["Hut 1 is maybe warm."], "verbal": ["Hut 1 is not warm."]},
            split=Split.VALIDATION,
        )
    base = base.model_copy(update={"types": {"lexical": 0.0}, "max_steps": 1})
    run_id = asked(project, Study.TRIPLES, base.model_copy(update={"batch_size": 2}))
    run = carry_out(project, settings, run_id)
    with reading(project) as session:
        half, *_, full = (trial.run for trial in reversed(trials(session, run)))
        assert {study_of(half), study_of(full)} == {run_id}
        recipe = Recipe.model_validate(half.parameters["recipe"])
        rows = figure_rows(trials(session, run))
    assert run.state == RunState.DONE and run.step == run.total
    assert run.result["members"] == {str(key): "done" for key in (full.id, half.id)}
    assert full.result["triples"] == 9 > half.result["triples"] == recipe.max_triples
    assert {row.run for row in rows} == {full.id, half.id}
    alone = train(project, settings, ask(project, recipe, release=1, seed=1))
    with reading(project) as session:
        prints = [
            session.get_one(Encoder, found.result["encoder_id"]).fingerprint
            for found in (half, full, alone)
        ]
    assert prints[0] == prints[2] != prints[1]


@pytest.mark.slow
def test_the_models_of_a_study_are_measured_with_benchmarks_once(
    project: Engine, base: Recipe, settings: Settings
) -> None:
    data = semantoneg(settings)
    with writing(project) as session:
        create_release(session)
        run_id = request_study(
            session,
            settings,
            Study.TYPES,
            data=composition(session),
            base=base.model_copy(update={"max_steps": 1}),
            seed=1,
            measured=Measured((data,)),
        ).id
    run = carry_out(project, settings, run_id)
    with reading(project) as session:
        names = trained_names(session, trials(session, run))
        rows = of_run(session, benchmark_run(run) or 0)
    assert sorted(names.values()) == [
        "All types",
        "Without Lexical negation",
        "Without Verbal negation",
    ]
    assert {row.model for row in rows} == {base.base_encoder, *names}
    assert {row.benchmark for row in rows} == {"semantoneg"} and run.step == run.total
    with writing(project) as session:
        session.get_one(Run, run_id).state = RunState.INTERRUPTED
        requeue(session, run_id)
    again = carry_out(project, settings, run_id)
    assert again.state == RunState.DONE and benchmark_run(again) == benchmark_run(run)


def test_benchmarks_that_are_not_there_are_refused_before_a_study(
    project: Engine, base: Recipe
) -> None:
    with writing(project) as session:
        create_release(session)
        data = composition(session)
        with pytest.raises(HedgerowError, match="a suite of mteb tasks .*, found 'heavy'"):
            request_study(
                session,
                load_settings(),
                Study.TYPES,
                data=data,
                base=base,
                measured=Measured((), ("heavy",)),
            )


def test_trainings_are_stored_in_the_studys_group_with_its_seed(
    project: Engine, base: Recipe
) -> None:
    run_id = asked(project, Study.TYPES, base)
    with reading(project) as session:
        found = trials(session, get_run(session, run_id))
    assert [trial.label for trial in found] == [
        "All types",
        "Without Verbal negation",
        "Without Lexical negation",
    ]
    assert [trial.run.parameters["recipe"]["types"] for trial in found] == [
        {},
        {"verbal": 0},
        {"lexical": 0},
    ]
    for trial in found:
        assert (trial.run.kind, trial.run.state) == (TRAINING, RunState.QUEUED)
        assert (study_of(trial.run), trial.run.parameters["seed"]) == (run_id, 1)


def test_progress_and_result_cover_all_trainings(
    project: Engine, base: Recipe, settings: Settings, behaviour: dict[int, Behaviour]
) -> None:
    run_id = asked(project, Study.TYPES, base)
    seen: list[tuple[int, int, str]] = []

    def look(context: RunContext) -> None:
        study = context.within
        assert study is not None
        study.beat()
        with reading(project) as session:
            row = get_run(session, run_id)
        seen.append((row.step, row.total, row.message))

    behaviour.update({0: look, 1: look, 2: look})
    run = carry_out(project, settings, run_id)
    steps, totals, messages = zip(*seen, strict=True)
    assert len(set(totals)) == 1 and 0 < steps[0] < steps[1] < steps[2] < totals[0]
    assert steps[0] == pytest.approx(totals[0] / 6, abs=1)
    assert messages[1] == "2 of 3, Without Verbal negation: Half of it."
    assert run.result["run"] == run_id
    assert list(run.result["members"].values()) == ["done"] * 3


def test_cancelling_a_study_ends_the_training_at_work_and_those_that_wait(
    project: Engine, base: Recipe, settings: Settings, behaviour: dict[int, Behaviour]
) -> None:
    run_id = asked(project, Study.TYPES, base)

    def cancel(context: RunContext) -> None:
        with writing(project) as session:
            request_cancel(session, run_id)
        wait_for_stop(context)

    behaviour[1] = cancel
    with pytest.raises(HedgerowError, match="was cancelled"):
        carry_out(project, settings, run_id)
    assert states(project, run_id) == ["cancelled", "done", "cancelled", "cancelled"]
    with writing(project) as session:
        requeue(session, run_id)
    del behaviour[1]
    carry_out(project, settings, run_id)
    assert states(project, run_id) == ["done"] * 4
    with reading(project) as session:
        found = trials(session, get_run(session, run_id))
    assert [trial.run.attempt for trial in found] == [1, 2, 1]


def test_a_signal_interrupts_the_training_and_its_study_which_then_continues(
    project: Engine, base: Recipe, settings: Settings, behaviour: dict[int, Behaviour]
) -> None:
    run_id = asked(project, Study.TYPES, base)
    before = signal.getsignal(signal.SIGTERM)

    def killed(context: RunContext) -> None:
        os.kill(os.getpid(), signal.SIGTERM)
        wait_for_stop(context)

    behaviour[1] = killed
    with pytest.raises(HedgerowError, match="was interrupted"):
        carry_out(project, settings, run_id)
    assert signal.getsignal(signal.SIGTERM) is before
    assert states(project, run_id) == ["interrupted", "done", "interrupted", "queued"]
    del behaviour[1]
    carry_out(project, settings, run_id)
    assert states(project, run_id) == ["done"] * 4


def test_a_killed_study_continues_with_its_unfinished_runs(
    project: Engine, base: Recipe, settings: Settings, behaviour: dict[int, Behaviour]
) -> None:
    run_id = asked(project, Study.TYPES, base)

    def killed(context: RunContext) -> None:
        raise SystemExit  # nothing is written any more

    behaviour[1] = killed
    with pytest.raises(SystemExit):
        carry_out(project, settings, run_id)
    with writing(project) as session:  # as after SIGKILL: the rows still say that they are running
        session.execute(update(Run).where(col(Run.state) == RunState.RUNNING).values(pid=2**22 + 7))
    assert states(project, run_id) == ["interrupted", "done", "interrupted", "queued"]
    del behaviour[1]
    carry_out(project, settings, run_id)
    assert states(project, run_id) == ["done"] * 4


def test_cancelling_a_study_that_waits_cancels_its_trainings(project: Engine, base: Recipe) -> None:
    run_id = asked(project, Study.DATA, base)
    other = ask(project, base, seed=2)
    with writing(project) as session:
        request_cancel(session, run_id)
    assert set(states(project, run_id)) == {"cancelled"}
    with reading(project) as session:
        assert get_run(session, other).state == RunState.QUEUED


def test_one_training_that_fails_or_is_cancelled_does_not_end_the_study(
    project: Engine, base: Recipe, settings: Settings, behaviour: dict[int, Behaviour]
) -> None:
    run_id = asked(project, Study.TYPES, base)
    with writing(project) as session:
        last = trials(session, get_run(session, run_id))[2].run.id
        request_cancel(session, last)

    def fail(context: RunContext) -> None:
        raise HedgerowError("The training diverged.")

    behaviour[1] = fail
    run = carry_out(project, settings, run_id)
    assert states(project, run_id) == ["done", "done", "failed", "cancelled"]
    assert list(run.result["members"].values()) == ["done", "failed", "cancelled"]
    with reading(project) as session:
        assert trials(session, run)[1].run.message == "The training diverged."


def test_a_study_without_a_success_fails_and_says_why(
    project: Engine, base: Recipe, settings: Settings, behaviour: dict[int, Behaviour]
) -> None:
    def fail(context: RunContext) -> None:
        raise MemoryError

    behaviour.update({0: fail, 1: fail, 2: fail})
    with pytest.raises(HedgerowError, match="None of the 3 runs succeeded: MemoryError"):
        carry_out(project, settings, asked(project, Study.TYPES, base))


def test_a_second_study_waits_until_the_first_has_ended(project: Engine, base: Recipe) -> None:
    first = asked(project, Study.TYPES, base)
    with pytest.raises(HedgerowError, match=f"Run {first} is another study"):
        asked(project, Study.TYPES, base)
    with writing(project) as session:
        request_cancel(session, first)
    assert asked(project, Study.TYPES, base) > first


def test_an_impossible_study_leaves_nothing(project: Engine, base: Recipe) -> None:
    with pytest.raises(HedgerowError, match="none written by rules"):
        asked(project, Study.WRITERS, base)
    with reading(project) as session:
        assert list_runs(session) == []
