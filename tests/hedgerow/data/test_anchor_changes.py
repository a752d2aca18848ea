"""Correcting, describing and retiring anchors in Python."""

import pytest

import hedgerow
from tests.hedgerow.conftest import Example


def only_anchor(project: hedgerow.Project) -> str:
    return str(project.anchors()["uid"].iloc[0])


def test_without_carry_over_the_new_texts_are_proposed(example_project: Example) -> None:
    project = example_project()
    done = project.anchors.correct(only_anchor(project), "The footbridge is safe.")
    assert (done.revision, done.second_looks, done.carried) == (2, 2, [])
    assert len(project.variants(status="accepted")) == 0
    for proposed in done.left:
        project.edit(proposed.uid, proposed.text)
    accepted = {"The footbridge is unsafe.", "The footbridge is probably safe."}
    assert set(project.variants(status="accepted")["text"]) == accepted


def test_a_correction_of_variants_is_undone_as_a_whole(example_project: Example) -> None:
    project = example_project()
    done = project.anchors.correct(only_anchor(project), "The footbridge is safe.", carry_over=True)
    assert (done.second_looks, len(done.carried), done.left) == (0, 2, [])
    assert len(project.variants(status="accepted")) == 2
    project.undo()
    assert len(project.variants(status="accepted")) == 0


def test_a_suspicious_wording_is_taken_by_force_only(example_project: Example) -> None:
    project = example_project()
    uid = only_anchor(project)
    with pytest.raises(hedgerow.HedgerowError, match="Nothing was changed.*with force=True"):
        project.anchors.correct(uid, "The bridge isn't safe.")
    assert list(project.anchors()["text"]) == ["The bridge is safe."]
    assert project.anchors.correct(uid, "The bridge isn't safe.", force=True).revision == 2


def test_a_change_names_those_that_it_changed(example_project: Example) -> None:
    project = example_project()
    project.anchors.add(["The lamp is bright."])
    first, second = project.anchors()["uid"]
    assert project.anchors.set(first, language="en-GB").changed == [first]
    assert project.anchors.set(first, second, language="en-GB") == ([second], [first])
    assert set(project.anchors()["language"]) == {"en-GB"}
    assert project.anchors.retire(second) == ([second], [])
    assert project.anchors.retire(first, second) == ([first], [second])
    assert project.anchors.restore(*project.anchors(retired=True)["uid"]) == ([first, second], [])
    assert project.anchors.retire(*project.anchors(source="python", retired=True)["uid"]) == (
        [],
        [],
    )


def test_all_are_changed_or_none(example_project: Example) -> None:
    project = example_project()
    uid = only_anchor(project)
    with pytest.raises(hedgerow.HedgerowError, match="no anchor 'nope'"):
        project.anchors.set(uid, "nope", genre="news")
    assert list(project.anchors()["genre"]) == [""]
