"""Starting a training run on the page: what it needs, and what is refused."""

from __future__ import annotations

from pathlib import Path

import pytest
from sqlalchemy import Engine
from sqlalchemy.orm import Session

from curation.anchors.sources import sources_in_use
from curation.release.freezing import create_release, list_releases
from curation.release.selection import Selection, selection_of
from curation.review.actions import accept, shown
from db import run_process
from db.columns import now
from db.engine import reading, writing
from db.models import RunState, Split
from db.runs import get_run, list_runs
from pages.components.shared.runs import background
from tests.cli.support.commands import ask, complaint
from tests.curation.support.families import add_family, add_plain_family
from tests.pages.train.support.states import (
    page,
    page_text,
    stored_run,
)
from tests.support.checkpoints import checkpoint
from tests.support.factories import add_anchor, add_variant, person
from training.recipe.plan import KIND
from training.recipe.presets import PRESETS
from training.recipe.schema import Recipe

HOSTILE = "<img src=x onerror=alert(1)> **bold** $x$ =1+1"


def test_without_accepted_variants_the_page_says_what_to_do(app_engine: Engine) -> None:
    test = page()
    assert [link.label for link in test.get("page_link")] == ["Go to Overview"]
    with writing(app_engine) as session:
        add_variant(session, add_anchor(session, "It rains."))
    test = page()
    assert "No variant has been accepted yet" in page_text(test)
    assert [link.label for link in test.get("page_link")] == ["Review variants"]
    assert not [button for button in test.button if button.label == "Finetune"]


def test_with_only_one_side_the_page_says_what_is_missing(app_engine: Engine) -> None:
    with writing(app_engine) as session:
        add_family(session, "It rains.", {"verbal": ["It does not rain."]}, split=Split.TRAIN)
    assert "an accepted negation and an accepted hedge" in page_text(page())


def test_one_click_makes_a_release_and_starts_the_preset_that_fits(
    project: Engine, started: list[int]
) -> None:
    test = page()
    assert "a first release, made from the 27 accepted variants" in page_text(test)
    test.button("train-click").click().run()
    assert not test.exception
    with reading(project) as session:
        (run,) = list_runs(session, kind=KIND)
        assert run.parameters["recipe"] == PRESETS["quick"].recipe.model_dump(mode="json")
        assert run.parameters["preset"] == "quick"
        assert len(list_releases(session)) == 1
    assert started == [run.id]
    assert "Waiting for the run to start" in page_text(test)


def test_a_base_that_is_not_an_encoder_is_reported_and_stores_no_run(
    project: Engine, started: list[int], tmp_path: Path
) -> None:
    base = checkpoint("BertForSequenceClassification", tmp_path / "base")
    test = page()
    test.text_area("train-yaml").set_value(f"base_encoder: {base}\nbatch_size: 4").run()
    test.button("train-click").click().run()
    assert "found BertForSequenceClassification: a cross-encoder" in page_text(test)
    assert started == []
    with reading(project) as session:
        assert list_runs(session, kind=KIND) == []


def test_if_no_process_can_start_no_run_is_left_waiting(
    project: Engine, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(background, "start_process", run_process.start_process)
    monkeypatch.setattr("db.run_process.sys.executable", str(tmp_path / "nowhere" / "python"))
    test = page()
    test.button("train-click").click().run()
    assert "cannot be started" in page_text(test)
    with reading(project) as session:
        assert [run.state for run in list_runs(session)] == [RunState.CANCELLED]


def test_a_second_training_waits_and_a_repeated_one_is_refused(
    project: Engine, started: list[int]
) -> None:
    first = stored_run(project, state=RunState.RUNNING, recipe=PRESETS["quick"].recipe)
    test = page()
    assert "This run starts when the current one has ended." in page_text(test)
    test.number_input("train-seed-box").set_value(1)
    test.button("train-click").click().run()
    assert f"Run {first} is already training with the same settings" in page_text(test)
    test.number_input("train-seed-box").set_value(2)
    test.button("train-click").click().run()
    assert len(started) == 1
    assert "The others wait in the order they were requested" in page_text(test)
    test.button(f"cancel-{started[0]}").click().run()
    assert not test.exception
    with reading(project) as session:
        assert get_run(session, started[0]).state == RunState.CANCELLED
        assert not get_run(session, first).cancel_requested


@pytest.mark.parametrize(
    ("key", "value", "sentence"),
    [
        ("batch_size", 64, "anchors with a positive and a negative for a batch"),
        ("types", {"verbal": 0.0, "lexical": 0.0}, "a recipe that leaves anchors"),
    ],
)
def test_the_page_and_the_command_refuse_a_recipe_in_the_same_words(
    project: Engine, started: list[int], tmp_path: Path, key: str, value: object, sentence: str
) -> None:
    ask("release", "create")
    recipe = Recipe(batch_size=4).model_copy(update={key: value}).to_yaml()
    (tmp_path / "recipe.yaml").write_text(recipe)
    refusal = complaint("train", "--recipe", str(tmp_path / "recipe.yaml"), "--queue")
    assert sentence in refusal
    test = page()
    test.text_area("train-yaml").set_value(recipe).run()
    assert f"The recipe under Advanced is not valid yet. {refusal}" in page_text(test)
    assert test.button("train-click").disabled


def test_the_page_says_that_more_was_accepted_since_the_release(project: Engine) -> None:
    with writing(project) as session:
        create_release(session)
    assert not page().get("page_link")
    with writing(project) as session:
        add_plain_family(session, 50, split=Split.TRAIN)
    test = page()
    assert "Release 1 has 27 variants. A new release would have 30." in page_text(test)
    assert [link.label for link in test.get("page_link")] == ["Create a release"]


def test_the_first_release_takes_all_sources_and_says_so(
    project: Engine, started: list[int]
) -> None:
    assert "of all sources" not in page_text(page())
    with writing(project) as session:
        add_tiny_family(session, source="Other")
    test = page()
    assert "a first release, made from the 28 accepted variants of all sources" in page_text(test)
    assert "To train on some sources only, create a release of them first." in page_text(test)
    assert [link.label for link in test.get("page_link")] == ["Create a release"]
    test.button("train-click").click().run()
    with reading(project) as session:
        (release,) = list_releases(session)
        assert (release.summary["variants"], selection_of(release).sources) == (28, ())


def test_a_release_of_some_sources_is_named_and_compared_with_their_variants(
    project: Engine,
) -> None:
    with writing(project) as session:
        add_tiny_family(session, source=HOSTILE)
        first = next(name for name in sources_in_use(session).values() if name != HOSTILE)
        create_release(session, selection=Selection((first,)))
    test = page()
    assert f"release 1, which contains only {first}:" in page_text(test)
    assert not test.get("page_link")  # the other source has more, but this release leaves it out
    with writing(project) as session:
        add_plain_family(session, 50, split=Split.TRAIN)
    assert "A new release with these sources would have 30." in page_text(page())


def add_tiny_family(session: Session, *, source: str) -> None:
    """One accepted variant of an anchor from another source."""
    variant = add_variant(session, add_anchor(session, "The door is open.", source=source))
    accept(session, shown(variant, at=now()), reviewer_id=person(session))
