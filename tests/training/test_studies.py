"""Studies: their runs, executed, cancelled, interrupted, and with a failing run.

One study trains for real. In the others, a stand-in replaces training and takes no time.
"""

from __future__ import annotations

import os
import signal
from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from sqlalchemy import Engine, update
from sqlalchemy.orm import Session
from sqlmodel import col

from curation.editing.own_types import CONTRADICTION, ENTAILMENT, ensure_types
from db import execution
from db.engine import reading, writing
from db.errors import HedgerowError
from db.execution import RunContext, execute
from db.models import Encoder, Polarity, Run, RunState, Split, Variant
from db.runs import get_run, list_runs, request_cancel, requeue
from db.settings import Settings
from tests.curation.support.families import add_family
from tests.support.factories import freeze
from tests.training.benchmarks.support.running import semantoneg
from tests.training.support.trainings import ask, perform, read, train, write
from training.benchmarks.results.queries import of_run
from training.data.families import Composition, Shape, composition
from training.encoder_run import training_run
from training.recipe.schema import Recipe
from training.recipe.training_data import KIND as TRAINING
from training.studies import members, study_run
from training.studies.designs import NOTHING_HELD, ONCE_EACH, SIZES, Design, Study, design
from training.studies.members import study_of, trials
from training.studies.outcomes import figure_rows
from training.studies.study_run import (
    RUN_STUDY,
    RunStudy,
    benchmark_run,
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

    monkeypatch.setattr(training_run, "work", work)
    # There is none to free, and the search takes seconds in the tests' large process.
    monkeypatch.setattr(members, "free_memory", lambda: None)
    return found


def asked(engine: Engine, study: Study, base: Recipe, **more: Any) -> int:
    """A study of the project as it is."""
    write(engine, freeze)
    request = RunStudy(name=study, recipe=base, seed=1, **more)
    return perform(engine, RUN_STUDY, request).id


def carry_out(engine: Engine, settings: Settings, run_id: int) -> Run:
    execute(engine, settings, run_id, {study_run.KIND: study_run.work})
    return read(engine, get_run, run_id)


def states(engine: Engine, run_id: int) -> list[str]:
    """The state of the study, and then of its runs."""
    with reading(engine) as session:
        run = get_run(session, run_id)
        return [run.state.value, *(trial.run.state.value for trial in trials(session, run))]


@pytest.mark.slow
def test_a_study_trains_each_member_as_it_would_be_trained_alone_and_measures_it_once(
    project: Engine, base: Recipe, settings: Settings
) -> None:
    texts = {"word": ["Hut 1 is maybe warm."], "verbal": ["Hut 1 is not warm."]}
    write(project, add_family, "Hut 1 is warm.", texts, split=Split.VALIDATION)
    changes = {"types": {"lexical": 0.0}, "max_steps": 1, "batch_size": 2}
    base = base.model_copy(update=changes)
    run_id = asked(project, Study.TRIPLES, base, benchmarks=(semantoneg(settings),))
    run = carry_out(project, settings, run_id)
    with reading(project) as session:
        half, *_, full = (trial.run for trial in reversed(trials(session, run)))
        assert {study_of(half), study_of(full)} == {run_id}
        recipe = Recipe.model_validate(half.parameters["recipe"])
        figures = figure_rows(trials(session, run))
        names = trained_names(session, trials(session, run))
        rows = of_run(session, benchmark_run(run) or 0)
    assert run.state == RunState.DONE and run.step == run.total
    assert run.result["members"] == {str(key): "done" for key in (full.id, half.id)}
    assert full.result["triples"] == 9 > half.result["triples"] == recipe.max_triples
    assert {row.run for row in figures} == {full.id, half.id}
    assert {row.benchmark for row in rows} == {"semantoneg"}
    assert {row.model for row in rows} == {base.base_encoder, *names} and len(names) == 2
    with writing(project) as session:
        session.get_one(Run, run_id).state = RunState.INTERRUPTED
        requeue(session, run_id)
    again = carry_out(project, settings, run_id)
    assert again.state == RunState.DONE and benchmark_run(again) == benchmark_run(run)
    alone = train(project, settings, ask(project, recipe, release=1, seed=1))
    with reading(project) as session:
        prints = [
            session.get_one(Encoder, found.result["encoder_id"]).fingerprint
            for found in (half, full, alone)
        ]
    assert prints[0] == prints[2] != prints[1]


def test_trainings_are_stored_in_the_studys_group_with_its_seed(
    project: Engine, base: Recipe
) -> None:
    run_id = asked(project, Study.TYPES, base)
    with reading(project) as session:
        found = trials(session, get_run(session, run_id))
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
        row = read(project, get_run, run_id)
        seen.append((row.step, row.total, row.message))

    behaviour.update({0: look, 1: look, 2: look})
    run = carry_out(project, settings, run_id)
    steps, totals, messages = zip(*seen, strict=True)
    assert len(set(totals)) == 1 and 0 < steps[0] < steps[1] < steps[2] < totals[0]
    assert steps[0] == pytest.approx(totals[0] / 6, abs=1)
    assert "2 of 3" in messages[1] and messages[1].endswith("Half of it.")
    assert run.result["run"] == run_id and list(run.result["members"].values()) == ["done"] * 3


@pytest.mark.parametrize(
    ("end", "after"),
    [
        ("cancel", ["cancelled", "done", "cancelled", "cancelled"]),
        ("signal", ["interrupted", "done", "interrupted", "queued"]),
        ("kill", ["interrupted", "done", "interrupted", "queued"]),
    ],
)
def test_a_study_that_was_stopped_continues_with_its_unfinished_runs(
    project: Engine,
    base: Recipe,
    settings: Settings,
    behaviour: dict[int, Behaviour],
    end: str,
    after: list[str],
) -> None:
    run_id = asked(project, Study.TYPES, base)
    before = signal.getsignal(signal.SIGTERM)

    def stop(context: RunContext) -> None:
        if end == "kill":
            raise SystemExit  # nothing is written any more
        if end == "signal":
            os.kill(os.getpid(), signal.SIGTERM)
        else:
            write(project, request_cancel, run_id)
        while True:  # until it should stop, as training does in its steps
            context.check()

    behaviour[1] = stop
    with pytest.raises((HedgerowError, SystemExit)):
        carry_out(project, settings, run_id)
    assert signal.getsignal(signal.SIGTERM) is before
    with writing(project) as session:  # as after SIGKILL: the rows still say that they are running
        session.execute(update(Run).where(col(Run.state) == RunState.RUNNING).values(pid=2**22 + 7))
    assert states(project, run_id) == after
    if end == "cancel":
        write(project, requeue, run_id)
    del behaviour[1]
    carry_out(project, settings, run_id)
    assert states(project, run_id) == ["done"] * 4
    with reading(project) as session:
        found = trials(session, get_run(session, run_id))
    assert [trial.run.attempt for trial in found] == [1, 2, 1]


def test_cancelling_a_study_that_waits_cancels_its_trainings(project: Engine, base: Recipe) -> None:
    run_id = asked(project, Study.DATA, base)
    other = ask(project, base, seed=2)
    write(project, request_cancel, run_id)
    assert set(states(project, run_id)) == {"cancelled"}
    assert read(project, get_run, other).state == RunState.QUEUED


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
    behaviour |= {0: fail, 2: fail}
    with pytest.raises(HedgerowError, match="The training diverged"):  # without a success
        carry_out(project, settings, asked(project, Study.DATA, base))


def test_an_impossible_study_or_a_second_one_leaves_nothing(project: Engine, base: Recipe) -> None:
    with pytest.raises(HedgerowError, match="rules"):
        asked(project, Study.WRITERS, base)
    with pytest.raises(HedgerowError, match="'heavy'"):
        asked(project, Study.TYPES, base, suites=("heavy",))
    assert read(project, list_runs) == []
    first = asked(project, Study.TYPES, base)
    with pytest.raises(HedgerowError, match=f"Run {first} "):
        asked(project, Study.TYPES, base)
    write(project, request_cancel, first)
    assert asked(project, Study.TYPES, base) > first


BASE = Recipe(batch_size=4, soup=1)


def filled(session: Session, *, rules: int = 0, originals: int = 0, families: int = 24) -> None:
    """Families of the train split. Of the first ones' variants, some are by rules, or original."""
    for number in range(families):
        add_family(session, f"Door {number} is open.", texts(number), split=Split.TRAIN)
    by_rules = [
        f"Door {number} is {how} open." for number in range(rules) for how in ("not", "probably")
    ]
    ruled = update(Variant).where(col(Variant.text).in_(by_rules)).values(provider="rules")
    session.execute(ruled)
    if originals:
        ensure_types(session, (ENTAILMENT, CONTRADICTION))
    for number in range(originals):
        sentences = {
            ENTAILMENT: [f"Gate {number} is ajar."],
            CONTRADICTION: ["It is locked."],
            "word": [f"Gate {number} may be ajar."],
            "verbal": ["It is not ajar."],
        }
        add_family(session, f"Gate {number} is wide open.", sentences, split=Split.TRAIN)
    freeze(session)


def texts(number: int) -> dict[str, list[str]]:
    found = {
        "verbal": [f"Door {number} is not open."],
        "lexical": [f"Door {number} is shut."],
        "word": [f"Door {number} is probably open."],
    }
    return found | ({"negated_antonym": [f"Door {number} is not shut."]} if number % 2 else {})


def a_design(
    engine: Engine, study: Study, base: Recipe = BASE, **content: int
) -> tuple[Design, Composition]:
    write(engine, filled, **content)
    data = read(engine, composition)
    return design(study, data, base), data


@pytest.mark.slow
def test_the_data_study_is_table_2_and_names_the_replacements_for_originals(
    engine: Engine,
) -> None:
    found, data = a_design(engine, Study.DATA)
    assert [arm.label for arm in found.arms] == ["All", "Only negation", "Only hedging"]
    assert [arm.recipe.data for arm in found.arms] == ["paper", "negation", "hedging"]
    assert {arm.recipe.retention for arm in found.arms} == {0.0} and NOTHING_HELD in found.notes
    assert [arm.plan.anchors for arm in found.arms] == [24, 12, 24]
    mixed = design(Study.DATA, data, BASE.with_overrides(["soup=2"]))
    assert mixed.arms == found.arms  # each is one training
    assert mixed.notes == [*found.notes, ONCE_EACH]


@pytest.mark.slow
def test_originals_that_were_imported_are_counted(engine: Engine) -> None:
    found, data = a_design(engine, Study.DATA, originals=5)
    assert data.originals == {ENTAILMENT: 5, CONTRADICTION: 5}
    assert "29" in found.caution and "5 have" in found.caution


@pytest.mark.slow
def test_the_number_of_triples_doubles_up_to_all(engine: Engine) -> None:
    found, data = a_design(engine, Study.TRIPLES, Recipe(batch_size=2, soup=1))
    whole = data.left_by(BASE).triples
    limits = [arm.recipe.max_triples for arm in found.arms]
    assert whole == 12 * 2 + 12 * 4 and limits == [None, whole // 2, whole // 4, whole // 8]
    assert len({arm.recipe.model_copy(update={"max_triples": None}) for arm in found.arms}) == 1


@pytest.mark.slow
def test_each_type_of_the_release_is_left_out_once(engine: Engine) -> None:
    base = Recipe(batch_size=4, types={"lexical": 0}, soup=1)
    found, _ = a_design(engine, Study.TYPES, base)
    assert [arm.recipe.types for arm in found.arms] == [
        {"lexical": 0},
        {"lexical": 0, "word": 0},
        {"lexical": 0, "negated_antonym": 0},
    ]
    assert any("Without Verbal" in note for note in found.notes)


@pytest.mark.slow
def test_rules_and_models_get_equally_many_triples(engine: Engine) -> None:
    base = Recipe(batch_size=2, soup=1)
    found, data = a_design(engine, Study.WRITERS, base, rules=10)
    everyone, rules, models = found.arms
    assert (rules.providers, models.providers) == (("rules",), ("openai",))
    assert rules.recipe.max_triples == models.recipe.max_triples == rules.plan.triples == 10
    assert everyone.recipe == base and data.providers == ["openai", "rules"]


def composed(shapes: dict[Shape, int]) -> Composition:
    roles = {
        "verbal": "negation",
        "lexical": "negation",
        "word": "hedge",
        "phrase": "hedge",
        "negated_antonym": "paraphrase",
    }
    return Composition(1, 1, shapes, roles, {kind: kind for kind in roles})


PAIR = ((Polarity.NEGATIVE, "verbal", "rules"), (Polarity.POSITIVE, "word", "rules"))


def test_large_releases_are_compared_by_the_papers_numbers_of_triples() -> None:
    shape = Shape("Mine", (*PAIR, (Polarity.POSITIVE, "phrase", "rules")))
    found = design(Study.TRIPLES, composed({shape: 60_000}), BASE)
    assert [arm.recipe.max_triples for arm in found.arms] == [None, 100_000, 50_000, 10_000]
    assert set(SIZES) > {100_000, 50_000, 10_000}


def test_a_type_unused_by_the_recipe_gets_no_run_without_it() -> None:
    both = (*PAIR, (Polarity.POSITIVE, "negated_antonym", "rules"))
    data = composed({Shape("Mine", both): 40})
    labels = [
        [arm.label for arm in design(Study.TYPES, data, base).arms]
        for base in (BASE, BASE.with_overrides(["data=paper"]))
    ]
    assert labels[0] == ["All types", "Without word", "Without negated_antonym"]
    assert labels[1] == []  # without either, a family of two has nothing to compare


def test_sources_get_equally_many_triples() -> None:
    found = design(
        Study.SOURCES, composed({Shape("Mine", PAIR): 90, Shape("Theirs", PAIR): 40}), BASE
    )
    whole, mine, theirs = found.arms
    assert whole.recipe.max_triples is None and whole.plan.triples == 130
    assert [arm.label for arm in found.arms] == ["All sources", "Mine", "Theirs"]
    assert mine.recipe.max_triples == theirs.recipe.max_triples == 40
    assert list(mine.plan.amounts) == ["Mine"] and list(theirs.plan.amounts) == ["Theirs"]
    alone = design(Study.SOURCES, composed({Shape("Mine", PAIR): 90}), BASE)
    assert alone.obstacle


@pytest.mark.slow
def test_a_release_that_is_too_small_for_a_study_is_reported(engine: Engine) -> None:
    found, data = a_design(engine, Study.WRITERS)
    assert found.arms == [] and "rules" in found.obstacle
    for study, batch in ((Study.TRIPLES, 16), (Study.DATA, 32)):
        found = design(study, data, Recipe(batch_size=batch))
        assert found.arms == [] and str(batch) in found.obstacle


@given(
    counts=st.lists(st.integers(1, 400), min_size=1, max_size=4),
    batch=st.integers(2, 64),
    study=st.sampled_from(Study),
    share=st.sampled_from([0, 0.1, 1]),
)
def test_every_training_of_a_study_fills_its_batches(
    counts: list[int], batch: int, study: Study, share: float
) -> None:
    kinds = [
        (Polarity.NEGATIVE, "verbal", "rules"),
        (Polarity.POSITIVE, "word", "rules"),
        (Polarity.NEGATIVE, "lexical", "openai"),
        (Polarity.POSITIVE, "phrase", "openai"),
        (Polarity.POSITIVE, "negated_antonym", "openai"),
    ]
    shapes = {
        Shape(f"source {place}", tuple(kinds[: 2 + place])): count
        for place, count in enumerate(counts)
    }
    data = composed(shapes)
    base = Recipe(batch_size=batch, sources={"source 0": share})
    found = design(study, data, base)
    assert bool(found.arms) != bool(found.obstacle) and len(found.arms) != 1
    for arm in found.arms:
        assert arm.plan.families(arm.recipe) >= batch
        assert arm.plan == data.left_by(arm.recipe, arm.providers)
