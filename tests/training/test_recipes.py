"""Recipes: validation, YAML, changes, hash, presets, files, and those of older versions."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from sqlalchemy import Engine

from curation.corpora import source_names
from curation.corpora.corpus import CORPORA
from curation.encoders.model_folders import DEFAULT_ENCODER
from db.engine import reading, writing
from db.errors import HedgerowError, RunEnded
from db.execution import execute
from db.models import RunState
from db.runs import create_run, get_run, list_runs
from db.settings import Settings
from tests.support.old_recipes import OLD_RECIPES
from tests.support.publishing import add_model
from tests.training.support.trainings import perform, read
from training.encoder_run.tradeoff_save import SAVE_POINT, SavePoint
from training.encoder_run.training_run import work
from training.encoder_run.weight_changes import ends_of
from training.finetune.inputs import RECIPE_FILES, keep_file
from training.model_card import card_of
from training.recipe.presets import (
    PAPER,
    PRESETS,
    QUICK,
    STANDARD,
    STANDARD_FAMILIES,
    THOROUGH,
    Preset,
    changes,
    fitting,
    named,
    nearest,
    preset_of,
    reason,
    recipe_for,
)
from training.recipe.schema import (
    RECIPE_VERSION,
    Recipe,
    cautions,
    parse_recipe,
    read_recipe,
    recipe_of,
    values_of,
)
from training.recipe.training_data import KIND, Amount, TrainingPlan
from training.recipe.values import LARGEST, weights_in
from training.retention.texts import read_sentences
from training.runs.removal import delete_run
from training.studies.comparison_table import as_table, differing, finished, settings_of

SOURCES = st.sampled_from(["word", "näme", "my file.csv", "a, b: c", ":", "ten:1"])
WEIGHTS = st.dictionaries(SOURCES, st.just(1) | st.floats(0, 1), max_size=3)


@st.composite
def recipes(draw: st.DrawFn) -> Recipe:
    batch_size = draw(st.integers(2, 512))
    loss = draw(st.sampled_from(["symmetric", "family", "triples"]))
    file = draw(st.none() | st.sampled_from(["a: b.tsv", "c:\\d", "'é' #"]))
    watched = draw(st.none() | st.sampled_from(["ranked", "families", "questions", "sts"]))
    return Recipe(
        base_encoder=draw(st.sampled_from([DEFAULT_ENCODER, "owner/näme", "./a folder: x"])),
        pooling=draw(st.sampled_from(["as_base", "mean", "cls", "max"])),
        data=draw(st.sampled_from(["all", "paper", "negation", "hedging"])),
        sources=draw(WEIGHTS),
        types=draw(st.just({}) if loss == "triples" else WEIGHTS),
        max_triples=draw(st.none() | st.integers(batch_size, 10**9)),
        loss=loss,
        scale=draw(st.floats(0.1, 1000)),
        order_weight=draw(st.floats(0, 100)),
        negation_margin=draw(st.floats(0, 1)),
        epochs=draw(st.floats(1e-6, 1000)),
        max_steps=draw(st.none() | st.integers(1, 10**9)),
        batch_size=batch_size,
        learning_rate=draw(st.floats(1e-12, 0.5)),
        max_seq_length=draw(st.none() | st.integers(8, 10**6)),
        retention=draw(st.floats(-0.0, 1000)),
        retention_file=file,
        interpolation=draw(st.floats(0.01, 1)),
        lora_rank=draw(st.none() | st.integers(1, 64)),
        early_stopping=watched,
        sts_file="sts.tsv" if watched == "sts" else file,
    )


@pytest.mark.slow
@given(recipe=recipes())
def test_yaml_out_and_in_gives_the_same_recipe(recipe: Recipe) -> None:
    again = parse_recipe(recipe.to_yaml())
    assert again == recipe and again.hash == recipe.hash


@given(first=recipes(), second=recipes())
def test_hashes_are_equal_exactly_for_equal_recipes(first: Recipe, second: Recipe) -> None:
    assert (first.hash == second.hash) == (first == second)
    assert Recipe(**first.model_dump()).hash == first.hash


OTHER: dict[str, Any] = {
    "base_encoder": "owner/other",
    "pooling": "cls",
    "data": "negation",
    "sources": {"x": 0.5},
    "types": {"x": 0.5},
    "max_triples": 9999,
    "loss": "family",
    "scale": 31,
    "order_weight": 0.33,
    "epochs": 7.5,
    "max_steps": 9,
    "batch_size": 7,
    "learning_rate": 1e-6,
    "query_prompt": "query:",
    "document_prompt": "passage:",
    "max_seq_length": 99,
    "retention": 0.37,
    "retention_file": "x",
    "interpolation": 0.38,
    "lora_rank": 3,
    "dropout": 0.1,
    "soup": 7,
    "negation_margin": 0.21,
    "early_stopping": "families",
    "sts_file": "x",
}
"""A value for every field that is not its default."""


def test_every_field_changes_the_hash() -> None:
    assert set(OTHER) == set(Recipe.model_fields) - {"version"}
    hashes = {Recipe(**{name: value}).hash for name, value in OTHER.items()}
    assert len(hashes | {Recipe().hash}) == len(OTHER) + 1
    assert len(OTHER) <= 25  # values that nobody would change are constants


def test_a_recipe_does_not_change() -> None:
    with pytest.raises(Exception, match="frozen"):
        Recipe().epochs = 3


@pytest.mark.parametrize(
    ("values", "sentence"),
    [
        ({"learing_rate": 1e-5}, "'learing_rate'.*'learning_rate'"),
        ({"batchsize": 8}, "'batch_size'"),
        ({"learning_rate": 0}, "learning_rate .*0, found 0"),
        ({"learning_rate": "fast"}, "learning_rate .*number.*'fast'"),
        ({"epochs": float("inf")}, "epochs .*finite"),
        ({"epochs": True}, "epochs .*number.*True"),
        ({"batch_size": 1}, "batch_size .*2"),
        ({"batch_size": 8.5}, "batch_size .*integer"),
        ({"loss": "cosine"}, "loss .*'family', 'symmetric' or 'triples', found 'cosine'"),
        ({"pooling": "sum"}, "pooling .*'as_base', 'mean', 'cls' or 'max'"),
        ({"early_stopping": "sts"}, "early_stopping .*'sts'.*sts_file"),
        ({"early_stopping": "drift"}, "early_stopping .*'ranked'"),
        ({"interpolation": 0}, "interpolation .*0"),
        ({"sts_file": ""}, "sts_file .*1 character"),
        ({"types": 5}, "types .*dictionary"),
        ({"types": ["word"]}, "types .*dictionary"),
        ({"types": {"word": 2}}, "types of 'word' .*1, found 2"),
        ({"types": {"word": "often"}}, "types of 'word' .*number"),
        ({"sources": {"Mine": -0.1}}, "sources of 'Mine' .*0"),
        ({"sources": {"Mine": float("nan")}}, "sources of 'Mine'"),
        ({"sources": {"Mine": True}}, "sources .*from 0 to 1"),
        ({"sources": {"a\0b": 0.5}}, "sources .*null character"),
        ({"sources": {"a\ud800b": 0.5}}, "sources.*string"),
        ({"sources": {1: 0.5}}, "sources.*string"),
        ({"types": {"word": 0.5}, "loss": "triples"}, "0 or 1"),
        ({"base_encoder": "  "}, "base_encoder .*1 character"),
        (
            {"version": RECIPE_VERSION + 1},
            f"expected {RECIPE_VERSION}; .*new",
        ),
        ({"version": None}, f"None, expected {RECIPE_VERSION}"),
        ({"version": 7}, f"version 7, expected {RECIPE_VERSION}; .*older"),
        ({"max_triples": 7, "batch_size": 8}, r"max_triples \(7\).*batch_size"),
        ({"scale": -1, "dropout": 1}, "scale .*; dropout .*1"),
        ({"epochs": "x" * 5000}, "epochs"),
    ],
)
def test_a_wrong_value_gives_one_short_sentence(values: dict[str, Any], sentence: str) -> None:
    with pytest.raises(HedgerowError, match=sentence) as caught:
        Recipe(**values)
    message = str(caught.value)
    assert "\n" not in message and len(message) < 300
    with pytest.raises(HedgerowError, match=sentence):
        Recipe.model_validate(values)


def test_overrides_are_read_as_their_fields_want_them() -> None:
    recipe = Recipe(max_steps=5).with_overrides(
        ["learning_rate=1e-5", " batch_size = 8 ", "max_steps=none", "base_encoder=a=b"]
    )
    assert recipe == Recipe(learning_rate=1e-5, batch_size=8, max_steps=None, base_encoder="a=b")
    assert recipe.with_overrides([]) == recipe
    assert recipe.with_overrides(["epochs=2", "epochs=3"]).epochs == 3  # the last one holds


@pytest.mark.parametrize("key", ["sources", "types"])
def test_weights_of_names_are_one_word(key: str) -> None:
    recipe = Recipe(types={"lexical": 0})
    for word, expected in (
        ("word:0.5,verbal:0", {"verbal": 0.0, "word": 0.5}),
        (" word : 0.5 , phrase:1, ", {"word": 0.5}),
        ("", {}),
        ("none", {}),
    ):
        assert getattr(recipe.with_overrides([f"{key}={word}"]), key) == expected


@given(st.text(alphabet=":, a0.5", max_size=200))
def test_any_line_of_weights_is_read_or_refused(line: str) -> None:
    try:
        found = weights_in(line)
    except ValueError:
        return
    assert (not found) == (not line.strip())


def test_a_long_line_of_weights_is_refused_at_once() -> None:
    for line in (" " * 60_000 + "a", "a:" * 30_000, "a :" * 20_000 + " " * 5_000):
        with pytest.raises(HedgerowError, match="sources"):
            Recipe(sources=line)


def test_a_weight_of_one_is_the_same_as_none() -> None:
    plain, weighted = Recipe(sources={}), Recipe(sources={"Mine": 1}, types={"word": 1.0})
    assert plain == weighted and plain.hash == weighted.hash
    one, other = {"a": 0.5, "b": 0}, {"b": -0.0, "a": 0.5, "c": 1}
    assert Recipe(sources=one).hash == Recipe(sources=other).hash
    assert Recipe(sources=one).to_yaml() == Recipe(sources=other).to_yaml()


def test_the_bundled_corpora_are_sampled_by_a_share_unless_the_recipe_says_otherwise() -> None:
    assert set(Recipe().sources) == {CORPORA[name].source for name in ("antonyms", "claims")}
    assert all(0 < share < 0.5 for share in Recipe().sources.values())
    assert Recipe().with_overrides(["sources=none"]).sources == {}


def test_none_means_no_limit_no_file_no_metric() -> None:
    for key in ("max_steps", "early_stopping", "sts_file", "lora_rank"):
        assert getattr(Recipe(**{key: OTHER[key]}).with_overrides([f"{key}=None"]), key) is None


@given(first=recipes(), second=recipes())
def test_overrides_can_make_any_recipe_of_any_other(first: Recipe, second: Recipe) -> None:
    def word(value: object) -> str:
        if isinstance(value, dict):
            return ",".join(f"{name}:{weight}" for name, weight in value.items())
        return "none" if value is None else str(value)

    assert first.with_overrides([f"{key}={word(value)}" for key, value in second]) == second


@pytest.mark.parametrize(
    ("assignment", "sentence"),
    [
        ("epochs", "key=value"),
        ("=3", "key=value"),
        ("epoch=3", "'epochs'"),
        ("epochs=", "epochs .*number"),
        ("epochs=none", "epochs .*number"),
        ("types=word", "types .*name:weight"),
        ("types=word:", "types of 'word' .*number"),
        ("types=word:0.5,word:1", "types .*'word' twice"),
        ("max_triples=3", "batch_size"),
    ],
)
def test_a_wrong_override_is_refused(assignment: str, sentence: str) -> None:
    with pytest.raises(HedgerowError, match=sentence):
        Recipe().with_overrides([assignment])


@pytest.mark.parametrize(
    ("epochs", "max_steps", "expected"),
    [(1, None, 8), (0.5, None, 4), (0.3, None, 3), (2.5, None, 20), (1, 3, 3), (0.25, 100, 2)],
)
def test_epochs_may_be_fractions_and_max_steps_ends_earlier(
    epochs: float, max_steps: int | None, expected: int
) -> None:
    recipe = Recipe(epochs=epochs, max_steps=max_steps, batch_size=6)
    assert recipe.steps(48) == expected


WRONG = [
    ("", "key: value"),
    ("- 1", "key: value"),
    ("1: 2", "key: value"),
    ("epochs: 1\nscale: [", "YAML at line 2"),
    ("{[a]: b}", "YAML at line 1"),
    ("epochs: yes", "epochs .*number"),
    ("epoch: 1", "'epochs'"),
    ("base_encoder: [a]", "base_encoder .*string"),
    ("base_encoder: &a [*a]", "alias"),
    ("epochs: !!python/object/apply:os.getcwd []", "YAML"),
    ("epochs: 2026-99-99", "YAML"),
    ("epochs: " + 5000 * "9", "YAML"),
    ("[" * 600, "YAML"),
    ("epochs: 1\nscale: 20\nepochs: 2", "'epochs' twice, on line 3"),
    ('base_encoder: "a\\0b"', "null character in 'base_encoder'"),
    ("#" * (LARGEST + 1), "too l"),
    ("version: 1\nmax_triples: 500\n", "version 1"),
]


@pytest.mark.parametrize(("content", "sentence"), WRONG)
def test_a_text_that_is_not_a_recipe_is_refused(
    tmp_path: Path, content: str, sentence: str
) -> None:
    path = tmp_path / "recipe.yaml"
    path.write_text(content, encoding="utf-8")
    for parse, source in ((parse_recipe, content), (read_recipe, path)):
        with pytest.raises(HedgerowError, match=sentence) as caught:
            parse(source)
        assert "\n" not in str(caught.value) and len(str(caught.value)) < 300


def test_aliases_that_would_make_a_million_values_are_refused_at_once() -> None:
    names = "abcdefghi"
    lines = ["a: &a [x, x, x, x, x, x, x, x, x]"]
    for name, before in zip(names[1:], names, strict=False):
        lines.append(f"{name}: &{name} [{', '.join([f'*{before}'] * 9)}]")
    with pytest.raises(HedgerowError, match=r"'\*a'"):
        parse_recipe("\n".join(lines))


def test_an_unreadable_file_gives_one_sentence_with_its_name(tmp_path: Path) -> None:
    (tmp_path / "latin.yaml").write_bytes("base_encoder: näme".encode("latin-1"))
    (tmp_path / "mine.yaml").write_text("- 1", encoding="utf-8")
    for name, fact in (("nowhere", "nowhere.yaml"), ("latin", "UTF-8"), ("mine", r"mine\.yaml'")):
        with pytest.raises(HedgerowError, match=fact):
            read_recipe(tmp_path / f"{name}.yaml")


def test_keys_left_out_have_their_defaults(tmp_path: Path) -> None:
    (tmp_path / "recipe.yaml").write_text("\ufefflearning_rate: 1e-6\n", encoding="utf-8")
    expected = Recipe(learning_rate=1e-6)
    assert read_recipe(tmp_path / "recipe.yaml") == expected == parse_recipe("learning_rate: 1e-6")
    for value in ("{word: 0.5, verbal: 0}", "word:0.5, verbal:0"):
        assert parse_recipe(f"types: {value}").types == {"verbal": 0.0, "word": 0.5}
    assert parse_recipe("sources:\nmax_steps:").sources == {}


STARTER = Amount(triples=11_949, anchors=1_016, texts=8_067, letters=91)
ANTONYMS = Amount(triples=22_000, anchors=10_813, texts=43_000, letters=57)


def plan_with(release: int | None = 3, **amounts: Amount) -> TrainingPlan:
    return TrainingPlan(release, 70, amounts)


def test_the_defaults_of_a_recipe_are_the_preset_standard() -> None:
    assert list(PRESETS) == [preset.id for preset in PRESETS.values()]
    assert PRESETS[STANDARD].recipe == Recipe() and PRESETS[THOROUGH].recipe == Recipe(soup=3)
    assert named(THOROUGH) == PRESETS[THOROUGH]
    with pytest.raises(HedgerowError, match=r"quick, standard, thorough, paper\), found 'fast'"):
        named("fast")


def test_the_number_of_families_decides_which_one_fits() -> None:
    for anchors, expected in ((STANDARD_FAMILIES - 1, QUICK), (STANDARD_FAMILIES, STANDARD)):
        assert fitting(plan_with(Mine=STARTER._replace(anchors=anchors))).id == expected
    both = plan_with(Starter=STARTER)._replace(
        amounts={"Starter": STARTER, source_names.ANTONYMS: ANTONYMS}
    )
    assert fitting(both).id == STANDARD and "release 3" in reason(both) and "11,829" in reason(both)
    one = plan_with(None, Mine=STARTER._replace(anchors=1))
    assert "first" in reason(one) and "1 family" in reason(one)


@pytest.mark.parametrize(("anchors", "batch"), [(5, 5), (1, 2), (0, 2), (8, 8), (900, 8)])
def test_a_tiny_release_has_batches_that_an_epoch_can_fill(anchors: int, batch: int) -> None:
    tiny = plan_with(Mine=STARTER._replace(anchors=anchors) if anchors else STARTER)
    if not anchors:
        tiny = plan_with()
    for preset in PRESETS.values():
        found = recipe_for(preset, tiny)
        assert found.batch_size == (64 if preset.id == PAPER and anchors == 900 else batch)
        assert found == preset.recipe.model_copy(update={"batch_size": found.batch_size})
        assert preset_of(found, tiny) == preset


def test_a_recipe_that_differs_from_every_preset_has_no_preset() -> None:
    whole = plan_with(Starter=STARTER)
    assert preset_of(PRESETS[QUICK].recipe, whole) == PRESETS[QUICK]
    assert preset_of(Recipe(epochs=5), whole) is None
    smaller = recipe_for(PRESETS[QUICK], plan_with(Mine=STARTER._replace(anchors=5)))
    assert preset_of(smaller, whole) is None


@pytest.mark.parametrize("preset", PRESETS.values(), ids=lambda preset: preset.id)
def test_the_nearest_preset_is_the_one_with_the_fewest_other_keys(preset: Preset) -> None:
    values = preset.recipe.model_dump(mode="json")
    assert nearest([values]) == preset and changes(values, preset) == {}
    other = values | {"batch_size": 16}
    assert nearest([other]) == preset and changes(other, preset) == {"batch_size": 16}
    assert nearest([other, values | {"epochs": 9.0}]) == preset


def test_between_two_presets_a_recipe_is_compared_with_standard() -> None:
    between = Recipe(max_steps=PRESETS[QUICK].recipe.max_steps).model_dump(mode="json")
    assert nearest([between]) == PRESETS[STANDARD]
    assert changes(between, PRESETS[STANDARD]) == {"max_steps": PRESETS[QUICK].recipe.max_steps}
    old = {"gone": 1} | PRESETS[QUICK].recipe.model_dump(mode="json")
    assert changes(old, nearest([old])) == {"gone": 1}


def test_another_pooling_than_the_base_encoders_is_pointed_out() -> None:
    assert cautions(Recipe()) == []
    (caution,) = cautions(PRESETS[PAPER].recipe)
    assert "'cls'" in caution and "as_base" in caution


def test_equal_content_is_kept_once_and_a_file_that_cannot_be_read_is_not(tmp_path: Path) -> None:
    paths = [keep_file(tmp_path, b"A dog.\nIt rains.\n", read=read_sentences) for _ in range(2)]
    other = keep_file(tmp_path, b"A dog.\n", read=read_sentences)
    assert paths[0] == paths[1] != other and read_sentences(other) == ["A dog."]
    for content in (b"", b"\n \n", b"\xff\xfe\xfa"):
        with pytest.raises(HedgerowError) as caught:
            keep_file(tmp_path, content, read=read_sentences)
        assert str(tmp_path) not in str(caught.value)
    assert len(list((tmp_path / RECIPE_FILES).iterdir())) == 2


VERSIONS = pytest.mark.parametrize("version", list(OLD_RECIPES))


@pytest.fixture
def trainings(engine: Engine, tiny_encoder: Path, version: int) -> tuple[int, int]:
    """A finished run by this older version, and one by today's."""
    old = add_model(engine, tiny_encoder)
    with writing(engine) as session:
        run = get_run(session, old)
        again = create_run(session, kind=KIND, parameters=run.parameters)
        again.state, again.result = RunState.DONE, {"triples": 6, "steps": 4}
        run.parameters = {**run.parameters, "recipe": OLD_RECIPES[version]}
        return old, again.id


@VERSIONS
def test_an_older_training_is_listed_shown_compared_and_deleted(
    engine: Engine, settings: Settings, trainings: tuple[int, int], version: int
) -> None:
    old, new = trainings
    with reading(engine) as session:
        assert {run.id for run in list_runs(session, kind=KIND)} == {old, new}
        assert values_of(get_run(session, old)) == OLD_RECIPES[version]
        newest, oldest = finished(session)
        ends = ends_of(session, settings, get_run(session, old))
    assert (newest.run, oldest.run, oldest.triples) == (new, old, 6)
    lines = {line.key: line.values for line in differing([oldest, newest], settings_of(newest))}
    assert lines["version"] == [str(version), str(newest.recipe["version"])]
    share = OLD_RECIPES[version].get("interpolation")
    then = "–" if share is None else f"{share:g}"
    assert lines["interpolation"] == [then, f"{newest.recipe['interpolation']:g}"]
    header, (_, line) = as_table([newest, oldest])
    assert line[header.index("version")] == str(version)
    assert line[header.index("interpolation")] == ("" if share is None else then)
    assert ends.own_share == OLD_RECIPES[version].get("interpolation", 1.0)
    (folder,) = delete_run(engine, settings, old)
    assert not folder.exists()


@VERSIONS
def test_actions_on_an_older_recipe_are_refused_with_one_sentence(
    engine: Engine, settings: Settings, trainings: tuple[int, int], version: int
) -> None:
    old, _ = trainings
    sentence = f"run {old} has version {version}, expected {Recipe().version}; an older "
    with reading(engine) as session:
        run = get_run(session, old)
        with pytest.raises(HedgerowError, match=sentence):
            recipe_of(run)
        with pytest.raises(HedgerowError, match=sentence):
            card_of(session, run, run.result)
    with pytest.raises(HedgerowError, match=sentence):
        perform(engine, SAVE_POINT, SavePoint(training=old, share=0.5))
    with writing(engine) as session:
        run = get_run(session, old)
        run.state = RunState.QUEUED  # it was requested, and Hedgerow was upgraded meanwhile
    with pytest.raises(RunEnded, match=sentence):
        execute(engine, settings, old, {KIND: work})
    assert read(engine, get_run, old).state == RunState.FAILED
