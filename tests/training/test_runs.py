"""Trainings as runs: asked for, carried out, cut off and begun again, measured, read back."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path

import pytest
from sqlalchemy import Engine, func, select, update
from sqlmodel import Session, col

from curation.release import create_release, get_release, list_releases
from db import execution
from db.engine import reading, writing
from db.errors import HedgerowError
from db.execution import RunContext, execute
from db.models import Encoder, ProbeCosine, Run, RunMetric, RunState, Split, Variant, VariantCosine
from db.runs import create_run, get_run, request_cancel, requeue
from db.settings import Settings, load_settings
from tests.curation.families import add_anchor, add_plain_family, add_variant
from training import measuring
from training.figures import Part, distributions, figure_1, loss_curve, own_figure
from training.plan import estimate, parse_recipe, plan
from training.probes import MAX_OWN, add_own_probe, own_probes, remove_own_probe
from training.recipe import Recipe
from training.runs import KIND, request_training, work

ANCHORS = 9


@pytest.fixture
def settings() -> Settings:
    return load_settings()


@pytest.fixture
def recipe(tiny_encoder: Path) -> Recipe:
    return Recipe(base_encoder=str(tiny_encoder), batch_size=4, max_steps=3, learning_rate=1e-3)


@pytest.fixture
def project(engine: Engine) -> Engine:
    """Nine families to train on, one held out, and one that nobody has decided on."""
    with writing(engine) as session:
        for number in range(ANCHORS):
            add_plain_family(session, number, split=Split.TRAIN)
        add_plain_family(session, ANCHORS, split=Split.TEST)
        pending = add_anchor(session, "The window is open.")
        add_variant(session, pending, "verbal", "The window is not open.")
        add_variant(session, pending, "word", "The window is probably open.")
    return engine


def ask(engine: Engine, recipe: Recipe, *, release: int | None = None, seed: int = 1) -> int:
    with writing(engine) as session:
        run = request_training(
            session, release_number=release, recipe=recipe, seed=seed, requested_by=None
        )
        return run.id or 0


def train(engine: Engine, settings: Settings, run_id: int) -> Run:
    execute(engine, settings, run_id, {KIND: work})
    with reading(engine) as session:
        return get_run(session, run_id)


def count(session: Session, table: type) -> int:
    return session.execute(select(func.count()).select_from(table)).scalar_one()


def test_a_training_makes_the_first_release_and_names_what_it_rests_on(
    project: Engine, recipe: Recipe
) -> None:
    run_id = ask(project, recipe, seed=7)
    with reading(project) as session:
        run, release = get_run(session, run_id), get_release(session)
        assert run.parameters == {
            "release": 1, "recipe": recipe.model_dump(mode="json"), "seed": 7,
        }  # fmt: skip
        assert run.inputs == {"release": release.content_hash, "recipe": recipe.hash}
        assert run.state == RunState.QUEUED


def test_a_training_takes_the_newest_release_or_the_one_named(
    project: Engine, recipe: Recipe
) -> None:
    with writing(project) as session:
        create_release(session)
        add_plain_family(session, 77, split=Split.TRAIN)
        create_release(session)
    runs = [ask(project, recipe), ask(project, recipe, release=1)]
    with reading(project) as session:
        assert [get_run(session, key).parameters["release"] for key in runs] == [2, 1]
        assert len(list_releases(session)) == 2


def test_the_plan_counts_what_a_training_will_work_on(project: Engine) -> None:
    with reading(project) as session:
        before = plan(session)
    with writing(project) as session:
        create_release(session)
        after = plan(session)
    assert before == (None, 30, 18, 9)
    assert after == (1, 30, 18, 9)
    assert after.recipe().batch_size == 9  # a batch needs as many anchors


def test_without_anything_accepted_no_training_and_no_release_is_left(
    engine: Engine, recipe: Recipe
) -> None:
    with pytest.raises(HedgerowError, match="no variant is accepted"):
        ask(engine, recipe)


def test_a_release_without_triples_cannot_be_trained_on(engine: Engine, recipe: Recipe) -> None:
    with writing(engine) as session:
        add_plain_family(session, 1, split=Split.TEST)
    with pytest.raises(HedgerowError, match="holds no triples to train on"):
        ask(engine, recipe)
    with reading(engine) as session:
        assert list_releases(session) == []
        assert count(session, Run) == 0


@pytest.mark.parametrize(
    ("release", "seed", "sentence"),
    [(3, 1, "There is no release"), (None, -1, "Expected a seed"), (None, 2**32, "seed from 0")],
)
def test_an_impossible_request_is_refused_in_one_sentence(
    project: Engine, recipe: Recipe, release: int | None, seed: int, sentence: str
) -> None:
    with pytest.raises(HedgerowError, match=sentence):
        ask(project, recipe, release=release, seed=seed)


def test_a_training_ends_with_a_model_its_encoder_and_figures(
    project: Engine, recipe: Recipe, settings: Settings
) -> None:
    with writing(project) as session:
        add_own_probe(session, anchor="The door is open.", text="The door is ajar.")
    run = train(project, settings, ask(project, recipe))
    assert run.state == RunState.DONE
    assert run.result["model"] == "runs/00001-train/model"
    assert (settings.data_folder / run.result["model"] / "modules.json").is_file()
    assert run.result["sampled"] == {
        "trained on": {"measured": 27, "of": 27},
        "held out": {"measured": 3, "of": 3},
        "not in the release": {"measured": 2, "of": 2},
    }
    assert (run.result["triples"], run.result["steps"]) == (18, 3)
    assert run.step == run.total
    with reading(project) as session:
        encoder = session.get_one(Encoder, run.result["encoder_id"])
        assert (encoder.path, encoder.run_id) == (run.result["model"], run.id)
        assert encoder.base_id == run.result["before_encoder_id"] != encoder.id
        assert [point.step for point in loss_curve(session, run)] == [1, 2, 3]
        assert {(row.series, row.published) for row in figure_1(session, run)} == {
            ("paper: all-mpnet-base-v2", True), ("paper: HedgeMPNet", True),
            ("before", False), ("after", False),
        }  # fmt: skip
        assert [row.text for row in own_figure(session, run)] == ["The door is ajar."] * 2


def test_distributions_keep_the_parts_apart(
    project: Engine, recipe: Recipe, settings: Settings
) -> None:
    run = train(project, settings, ask(project, recipe))
    with reading(project) as session:
        rows = distributions(session, run)
        stored = session.execute(select(VariantCosine.cosine)).scalars().all()  # type: ignore[call-overload]
    counts = {part: sum(row.part == part for row in rows) for part in Part}
    assert counts == {Part.TRAINED: 2 * 27, Part.HELD_OUT: 2 * 3, Part.UNSEEN: 2 * 2}
    unseen = [(row.type, row.series) for row in rows if row.part == Part.UNSEEN]
    assert sorted(unseen) == [(t, s) for t in ("verbal", "word") for s in ("after", "before")]
    assert sorted(row.cosine for row in rows) == pytest.approx(sorted(stored))
    before, after = ([r.cosine for r in rows if r.series == s] for s in ("before", "after"))
    assert before != after


def test_each_part_is_measured_on_a_sample_that_is_drawn_once(
    project: Engine, recipe: Recipe, settings: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    with writing(project) as session:
        session.execute(update(Variant).values(random_key=col(Variant.id) * 0.001))
    monkeypatch.setattr("training.figures.SAMPLE", 5)
    run = train(project, settings, ask(project, recipe))
    assert run.result["sampled"]["trained on"] == {"measured": 5, "of": 27}
    with reading(project) as session:
        measured = session.execute(select(func.count(func.distinct(VariantCosine.variant_id))))
        assert measured.scalar_one() == 5 + 3 + 2
        rows = distributions(session, run)
    assert sum(row.part == Part.TRAINED for row in rows) == 2 * 5


def test_what_is_known_of_the_encoder_before_is_not_measured_again(
    project: Engine, recipe: Recipe, settings: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    encoded: list[int] = []
    real = measuring.pair_cosines

    def counting(model: object, pairs: list[tuple[str, str]], **options: object) -> object:
        encoded.append(len(pairs))
        return real(model, pairs, **options)  # type: ignore[arg-type]

    monkeypatch.setattr(measuring, "pair_cosines", counting)
    train(project, settings, ask(project, recipe))
    train(project, settings, ask(project, recipe, seed=2))
    figure_1 = 3
    assert encoded == [32 + figure_1, 32 + figure_1, 32 + figure_1]  # after, before, after


def test_equal_trainings_share_one_encoder(
    project: Engine, recipe: Recipe, settings: Settings
) -> None:
    first = train(project, settings, ask(project, recipe))
    second = train(project, settings, ask(project, recipe))
    assert first.result["encoder_id"] == second.result["encoder_id"]
    with reading(project) as session:
        assert count(session, Encoder) == 2
        assert figure_1(session, second) == figure_1(session, first) != []


def interrupted_after(monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    """Have the next training break once `name`, a function of training.runs, has been called."""
    import training.runs

    real: Callable[..., object] = getattr(training.runs, name)

    def broken(*args: object, **options: object) -> object:
        real(*args, **options)
        raise OSError("the disk has gone")

    monkeypatch.setattr(training.runs, name, broken)


def test_a_training_that_was_cut_off_begins_anew_and_leaves_one_encoder(
    project: Engine, recipe: Recipe, settings: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    run_id = ask(project, recipe)
    with monkeypatch.context() as patch:
        interrupted_after(patch, "measure_before_and_after")
        with pytest.raises(HedgerowError, match="the disk has gone"):
            train(project, settings, run_id)
    with writing(project) as session:
        run = get_run(session, run_id)
        assert (run.state, run.message) == (RunState.FAILED, "OSError: the disk has gone")
        # as if the first attempt had got further than the second will
        session.add(RunMetric(run_id=run_id, name="loss", step=99, value=0.1))
        session.execute(update(Encoder).where(col(Encoder.run_id) == run_id).values(
            fingerprint="of weights that are no longer there"))  # fmt: skip
        requeue(session, run_id)
    run = train(project, settings, run_id)
    assert (run.state, run.attempt) == (RunState.DONE, 2)
    with reading(project) as session:
        assert count(session, Encoder) == 2
        assert [point.step for point in loss_curve(session, run)] == [1, 2, 3]
        encoders = session.execute(select(VariantCosine.encoder_id).distinct()).scalars()  # type: ignore[call-overload]
        assert set(encoders) == {run.result["encoder_id"], run.result["before_encoder_id"]}


def test_cancelling_within_the_measuring_stores_nothing_of_the_new_encoder(
    project: Engine, recipe: Recipe, settings: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    run_id = ask(project, recipe)
    monkeypatch.setattr(execution, "HEARTBEAT_SECONDS", 0.01)
    real = measuring.pair_cosines

    def cancelling(model: object, pairs: object, **options: object) -> object:
        with writing(project) as session:
            request_cancel(session, run_id)
        while True:  # until the heartbeat has heard of it
            real(model, pairs, **options)  # type: ignore[arg-type]

    monkeypatch.setattr(measuring, "pair_cosines", cancelling)
    with pytest.raises(HedgerowError, match="was cancelled"):
        train(project, settings, run_id)
    with reading(project) as session:
        run = get_run(session, run_id)
        assert (run.state, run.result) == (RunState.CANCELLED, {})
        assert count(session, Encoder) == 1
        assert count(session, VariantCosine) == count(session, ProbeCosine) == 0
        assert figure_1(session, run) == distributions(session, run) == []


def test_cancelling_within_a_step_ends_the_training(
    project: Engine, recipe: Recipe, settings: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    endless = recipe.model_copy(update={"max_steps": None, "epochs": 1000.0})
    run_id = ask(project, endless)
    monkeypatch.setattr(execution, "HEARTBEAT_SECONDS", 0.01)
    real = RunContext.metric

    def cancelling(context: RunContext, step: int, name: str, value: float) -> None:
        real(context, step, name, value)
        with writing(project) as session:
            request_cancel(session, run_id)

    monkeypatch.setattr(RunContext, "metric", cancelling)
    with pytest.raises(HedgerowError, match="was cancelled"):
        train(project, settings, run_id)
    with reading(project) as session:
        run = get_run(session, run_id)
        assert 0 < run.step < run.total / 2
    assert not (settings.data_folder / run.folder / "model").exists()


@pytest.mark.parametrize(
    ("change", "sentence"),
    [
        ({"base_encoder": "./nowhere"}, "no model folder"),
        ({"batch_size": 64}, "lower batch_size"),
    ],
)
def test_a_failed_training_says_why_in_one_sentence(
    project: Engine, recipe: Recipe, settings: Settings, change: dict[str, object], sentence: str
) -> None:
    run_id = ask(project, recipe.model_copy(update=change))
    with pytest.raises(HedgerowError, match=sentence):
        train(project, settings, run_id)
    with reading(project) as session:
        run = get_run(session, run_id)
        assert run.state == RunState.FAILED and "\n" not in run.message
        assert run.message in (settings.data_folder / run.folder / "log.txt").read_text("utf-8")


def test_only_what_stopped_before_its_end_is_started_again(
    project: Engine, recipe: Recipe, settings: Settings
) -> None:
    done = train(project, settings, ask(project, recipe))
    with writing(project) as session, pytest.raises(HedgerowError, match="cannot be started again"):
        requeue(session, done.id or 0)


def test_a_probe_removed_while_it_is_measured_does_not_hurt(
    project: Engine, recipe: Recipe, settings: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    with writing(project) as session:
        stored = add_own_probe(session, anchor="It rains.", text="It pours.")
    real = measuring.pair_cosines

    def removing(model: object, pairs: object, **options: object) -> object:
        with writing(project) as session:
            remove_own_probe(session, stored.id)
        return real(model, pairs, **options)  # type: ignore[arg-type]

    monkeypatch.setattr(measuring, "pair_cosines", removing)
    run = train(project, settings, ask(project, recipe))
    with reading(project) as session:
        assert own_figure(session, run) == [] and len(figure_1(session, run)) == 12


def test_own_probes_are_kept_in_order_and_removed_with_their_cosines(engine: Engine) -> None:
    with writing(engine) as session:
        first = add_own_probe(session, anchor=" It  rains. ", text="It pours.")
        add_own_probe(session, anchor="It rains.", text="It does not rain.")
        encoder = Encoder(name="e", fingerprint="f")
        session.add(encoder)
        session.flush()
        session.add(ProbeCosine(encoder_id=encoder.id or 0, probe_id=first.id, cosine=0.5))
        session.flush()
        remove_own_probe(session, first.id)
        remove_own_probe(session, first.id)
        add_own_probe(session, anchor="It rains.", text="It pours.")
    with reading(engine) as session:
        texts = [stored.probe.text for stored in own_probes(session)]
        assert texts == ["It does not rain.", "It pours."]
        assert count(session, ProbeCosine) == 0


@pytest.mark.parametrize(
    ("anchor", "text", "sentence"),
    [
        ("", "b", "first sentence of the pair is empty"),
        ("a", " \u200b ", "second sentence of the pair is empty"),
        ("a", "b" * 3000, "at most 2000 characters"),
        ("a", "b\x07", "control character"),
        ("It rains.", " It  pours.", "among your probes already"),
    ],
)
def test_a_probe_that_is_no_pair_is_refused(
    engine: Engine, anchor: str, text: str, sentence: str
) -> None:
    with writing(engine) as session:
        add_own_probe(session, anchor="It rains.", text="It pours.")
        with pytest.raises(HedgerowError, match=sentence):
            add_own_probe(session, anchor=anchor, text=text)


def test_there_is_room_for_so_many_probes_as_a_chart_can_show(engine: Engine) -> None:
    with writing(engine) as session:
        for number in range(MAX_OWN):
            add_own_probe(session, anchor="It rains.", text=f"It rains {number} times.")
        with pytest.raises(HedgerowError, match="remove one first"):
            add_own_probe(session, anchor="It rains.", text="It pours.")


def test_the_estimate_goes_by_the_last_training_of_some_length(project: Engine) -> None:
    recipe = Recipe(batch_size=4)
    with writing(project) as session:
        create_release(session)
        wanted = plan(session)
        guess = estimate(session, wanted, recipe)
        parameters = {"recipe": recipe.model_dump(mode="json")}
        for steps, seconds in ((100, 50.0), (2, 900.0)):
            run = create_run(session, kind=KIND, parameters=parameters)
            run.total, run.result = steps, {"steps": steps, "seconds": seconds}
            session.flush()
        judged = estimate(session, wanted, recipe)
        longer = estimate(session, wanted, Recipe(batch_size=4, epochs=10))
    assert guess.by_run is None and guess.seconds > 0
    assert judged.by_run == 1
    # 4 steps of training and 1 of measuring, at half a second a step
    assert judged.seconds == pytest.approx(2.5)
    assert longer.seconds == pytest.approx((40 + 1) * 0.5)


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("", "Expected 'key: value' lines"),
        ("- 1", "Expected 'key: value' lines"),
        ("epochs: 1\nscale: [", "not YAML at line"),
        ("epoch: 1", "nearest one is 'epochs'"),
        ("epochs: !!python/object/apply:os.getcwd []", "not YAML"),
        ("#" * 100_000, "too long"),
    ],
)
def test_a_text_that_is_no_recipe_is_refused(text: str, sentence: str) -> None:
    with pytest.raises(HedgerowError, match=sentence) as caught:
        parse_recipe(text)
    assert "\n" not in str(caught.value)


def test_a_recipe_as_shown_is_read_back_the_same() -> None:
    recipe = Recipe(epochs=0.5, base_encoder="owner/näme")
    assert parse_recipe(recipe.to_yaml()) == recipe


def test_the_guide_names_every_key_of_the_recipe_with_its_default() -> None:
    guide = Path(__file__).parents[2] / "docs" / "training.md"
    table = guide.read_text(encoding="utf-8").partition("| key | default |")[2]
    told: dict[str, str] = {}
    for line in table.splitlines():
        if line.startswith("| `"):
            keys, defaults = line.split(" | ")[:2]
            told |= zip(
                re.findall(r"\w+", keys), defaults.replace("`", "").split(", "), strict=True
            )
    assert set(told) == set(Recipe.model_fields) - {"version"}
    words = [f"{key}={'none' if value == 'all' else value}" for key, value in told.items()]
    assert Recipe(max_steps=1, scale=1).with_overrides(words) == Recipe()
