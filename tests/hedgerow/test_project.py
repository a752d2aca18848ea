"""Opening a project, and Python arguments that have no equivalent on the command line."""

from pathlib import Path

import pandas as pd
import pytest
from datasets import Dataset, DatasetDict
from rich.console import Console
from sqlalchemy.engine import URL

import hedgerow
from hedgerow.runs import progress
from tests.hedgerow.conftest import Example
from tests.support.databases import both_databases

SENTENCES = ["The lamp is bright.", "The road is long."]


@both_databases
def test_an_address_is_a_place(url: URL, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    address = url.render_as_string(hide_password=False)
    with hedgerow.open(address) as project:
        project.anchors.add(SENTENCES)
    with hedgerow.open(address, create=False) as again:
        assert list(again.anchors()["text"]) == SENTENCES


def test_without_a_place_it_is_the_commands(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HEDGEROW_HOME", str(tmp_path / "home"))
    with hedgerow.open() as project:
        assert str(tmp_path / "home" / "hedgerow.db") in repr(project)


def test_a_folder_is_not_made_if_it_should_be_there(tmp_path: Path) -> None:
    with pytest.raises(hedgerow.HedgerowError, match="There is no project in"):
        hedgerow.open(tmp_path / "gone", create=False)
    assert not (tmp_path / "gone").exists()


def test_a_named_folder_counts_more_than_the_environments_database(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HEDGEROW_DATABASE_URL", f"sqlite:///{tmp_path / 'other.db'}")
    hedgerow.open(tmp_path / "mine").close()
    assert (tmp_path / "mine" / "hedgerow.db").exists() and not (tmp_path / "other.db").exists()


@pytest.mark.parametrize(
    "texts",
    [
        SENTENCES,
        iter(SENTENCES),
        pd.DataFrame({"sentence": SENTENCES, "year": [1, 2]}, index=["a", "b"]),
        Dataset.from_dict({"text": SENTENCES}),
    ],
    ids=["list", "iterator", "frame", "dataset"],
)
def test_anchors_come_from(texts: object, tmp_path: Path) -> None:
    with hedgerow.open(tmp_path) as project:
        done = project.anchors.add(texts)
        assert done.count == 2 and list(project.anchors()["text"]) == SENTENCES
        assert set(project.anchors()["source"]) == {"python"}


def test_anchors_come_from_a_file_with_columns(tmp_path: Path) -> None:
    file = tmp_path / "notes.csv"
    file.write_text("claim,topic\nThe lamp is bright.,light\nIt isn't so.,light\n")
    with hedgerow.open(tmp_path / "project") as project:
        done = project.anchors.add(file, column="claim", genre_column="topic", licence="CC0")
        assert repr(done) == "<Added 1 anchor of 2 rows; 0 duplicate, 1 suspicious, 0 impossible>"
        assert list(done.left_out()["text"]) == ["It isn't so."]
        row = project.anchors().iloc[0]
        assert (row["source"], row["genre"], row["variants"]) == ("notes", "light", 0)


@pytest.mark.parametrize(
    ("texts", "message"),
    [
        ("The lamp is bright.", "put a single sentence in a list"),
        ([1, 2], "Expected a list of strings, found int in it."),
        (7, "Expected sentences, a data frame, a data set or a file, found int."),
        (DatasetDict({"train": Dataset.from_dict({"text": ["A."]})}), "Expected one split"),
        (pd.DataFrame({"text": [1, 2]}), "text"),
    ],
    ids=["text", "numbers", "number", "splits", "numeric"],
)
def test_input_without_sentences_is_refused(texts: object, message: str, tmp_path: Path) -> None:
    with hedgerow.open(tmp_path) as project:
        with pytest.raises(hedgerow.HedgerowError, match=message):
            project.anchors.add(texts)
        assert len(project.anchors()) == 0


def test_a_dry_run_writes_nothing(tmp_path: Path) -> None:
    with hedgerow.open(tmp_path) as project:
        assert repr(project.anchors.add(SENTENCES, dry_run=True)).startswith("<Would add 2")
        assert project.anchors.add(SENTENCES[:1]).count == 1
        found = project.generate(provider="rules", types=["verbal"], dry_run=True)
        assert found["anchors"] == 1 and found["variants"] == {"verbal": 1}
        assert len(project.variants()) == 0


@pytest.mark.parametrize(
    ("wanted", "message"),
    [
        ({"type": "nonsense"}, "Expected a variant type"),
        ({"status": "nonsense"}, "Expected a status"),
        ({"source": "nonsense"}, "Expected a source"),
    ],
    ids=["type", "status", "source"],
)
def test_unknown_names_are_reported(
    wanted: dict[str, str], message: str, example_project: Example
) -> None:
    with pytest.raises(hedgerow.HedgerowError, match=message):
        example_project().variants(**wanted)


def test_variants_are_found_by_their_properties(example_project: Example) -> None:
    project = example_project()
    anchor = project.anchors()["uid"].iloc[0]
    assert len(project.variants(anchor=anchor)) == 3 and len(project.variants(anchor="x")) == 0
    assert list(project.variants(search="probably")["cue"]) == ["probably"]
    assert set(project.variants(type=("affixal", "word"))["status"]) == {"accepted"}
    assert list(project.variants(type="verbal")["provider"]) == ["rules"]


def test_a_model_in_memory_cannot_be_found_again(example_project: Example) -> None:
    with pytest.raises(hedgerow.HedgerowError, match="save it with save_pretrained"):
        example_project().benchmark(object(), "hedgerow")  # type: ignore[arg-type]


def test_single_sentences_are_not_pairs(example_project: Example) -> None:
    with pytest.raises(hedgerow.HedgerowError, match="Expected pairs of sentences"):
        example_project().similarity("all-MiniLM-L6-v2", ["It is on."])


def test_a_release_is_a_data_set_with_the_exports_columns(example_project: Example) -> None:
    release = example_project().release("first")
    assert repr(release) == f"<Release 1 'first', {release.hash[:12]}>"
    data = release.to_datasets("variants")
    assert [sum(part.num_rows for part in data.values())] == [len(release.variants())]
    with pytest.raises(hedgerow.HedgerowError, match="Expected a table"):
        release.to_datasets("nonsense")


class _Display:
    """The output of IPython for a cell."""

    def __init__(self) -> None:
        self.shown: list[str] = []

    def display(self, data: dict[str, str], **_: object) -> "_Display":
        self.shown.append(data["text/plain"])
        return self

    def update(self, data: dict[str, str], **_: object) -> None:
        self.shown.append(data["text/plain"])


def test_a_notebook_shows_a_bar_of_plain_text(monkeypatch: pytest.MonkeyPatch) -> None:
    cell = _Display()
    monkeypatch.setattr(progress, "err", Console(force_jupyter=True))
    monkeypatch.setattr(progress, "import_module", lambda name: cell)
    with progress.progress_bar() as report:
        report(1, 4, "Measuring.")
    assert cell.shown == ["", "━" * 8 + "─" * 22 + "  25% Measuring.", ""]


def test_an_unknown_name_is_reported(example_project: Example, tmp_path: Path) -> None:
    project = example_project()
    file = tmp_path / "claims.csv"
    file.write_text("claim\nThe lamp is bright.\n")
    for ask, message in (
        (lambda: project.anchors(source="Cofee"), "source of anchors"),
        (lambda: project.decide_by_rule("source = Cofee", "accept"), "source of anchors"),
        (lambda: project.decide_by_rule("source != Cofee", "accept", dry_run=True), "'Cofee'"),
        (lambda: project.generate(provider="rules", wait=5), "unknown setting"),
        (lambda: hedgerow.open(file), "found the file .*claims.csv"),
    ):
        with pytest.raises(hedgerow.HedgerowError, match=message):
            ask()
    assert len(project.variants(status="pending")) == 1


def test_a_nameless_reviewer_is_asked_for_a_name(tmp_path: Path) -> None:
    project = hedgerow.open(tmp_path / "new")
    with pytest.raises(hedgerow.HedgerowError, match="reviewer's name, found none; give a name"):
        project.undo()


def test_calls_that_brought_too_little_are_named(example_project: Example) -> None:
    project = example_project()
    project.anchors.add(["Ann sings.", "The road is long."])
    done = project.generate(provider="rules", types=["verbal", "affixal"])
    failed = project.failed_calls(done["run"]).set_index("anchor")
    assert failed.loc["Ann sings.", "state"] == "incomplete"
    assert "affixal: no safe antonym" in failed.loc["Ann sings.", "problem"]
    assert done["missing"] == {"affixal": len(failed)}
