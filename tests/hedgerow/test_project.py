"""A project in Python: opening it, what arguments may be, and each of its actions."""

import asyncio
from collections.abc import Callable
from pathlib import Path

import pandas as pd
import pytest
from sqlalchemy.engine import URL

import hedgerow
from tests.hedgerow.conftest import Example
from tests.support.databases import both_databases
from tests.support.generating import Serve
from tests.support.generating import serve_chat as serve_chat
from tests.support.servers.chat_server import opinion_on

SENTENCES = ["The lamp is bright.", "The road is long."]


@both_databases
def test_an_address_is_a_place(url: URL, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    address = url.render_as_string(hide_password=False)
    with hedgerow.open(address) as project:
        project.anchors.add(SENTENCES)
    with hedgerow.open(address, create=False) as again:
        assert list(again.anchors()["text"]) == SENTENCES


def test_a_place_is_a_folder_or_the_commands_project(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HEDGEROW_HOME", str(tmp_path / "home"))
    with hedgerow.open() as project:
        assert str(tmp_path / "home" / "hedgerow.db") in repr(project)
    with pytest.raises(hedgerow.HedgerowError, match="no project in"):
        hedgerow.open(tmp_path / "gone", create=False)
    assert not (tmp_path / "gone").exists()
    (tmp_path / "claims.csv").write_text("claim\nThe lamp is bright.\n")
    with pytest.raises(hedgerow.HedgerowError, match=r"claims\.csv"):
        hedgerow.open(tmp_path / "claims.csv")
    monkeypatch.setenv("HEDGEROW_DATABASE_URL", f"sqlite:///{tmp_path / 'other.db'}")
    hedgerow.open(tmp_path / "mine").close()  # it counts more than the environment's
    assert (tmp_path / "mine" / "hedgerow.db").exists() and not (tmp_path / "other.db").exists()


def test_anchors_come_from_lists_frames_and_data_sets(tmp_path: Path) -> None:
    from datasets import Dataset

    for number, texts in enumerate(
        (
            SENTENCES,
            iter(SENTENCES),
            pd.DataFrame({"sentence": SENTENCES, "year": [1, 2]}, index=["a", "b"]),
            Dataset.from_dict({"text": SENTENCES}),
        )
    ):
        with hedgerow.open(tmp_path / f"{number}") as project:
            assert project.anchors.add(texts).count == 2
            assert list(project.anchors()["text"]) == SENTENCES
            assert set(project.anchors()["source"]) == {"python"}


def test_anchors_come_from_a_file_with_columns(tmp_path: Path) -> None:
    file = tmp_path / "notes.csv"
    file.write_text("claim,topic\nThe lamp is bright.,light\nIt isn't so.,light\n")
    with hedgerow.open(tmp_path / "project") as project:
        done = project.anchors.add(file, column="claim", genre_column="topic", licence="CC0")
        assert done.count == 1 and "1 suspicious" in repr(done)
        assert list(done.left_out()["text"]) == ["It isn't so."]
        row = project.anchors().iloc[0]
        assert (row["source"], row["genre"], row["variants"]) == ("notes", "light", 0)


def test_input_without_sentences_is_refused(tmp_path: Path) -> None:
    from datasets import Dataset, DatasetDict

    with hedgerow.open(tmp_path) as project:
        for texts, fact in (
            ("The lamp is bright.", "list"),
            ([1, 2], "int"),
            (7, "int"),
            (DatasetDict({"train": Dataset.from_dict({"text": ["A."]})}), "one split"),
            (pd.DataFrame({"text": [1, 2]}), "text"),
        ):
            with pytest.raises(hedgerow.HedgerowError, match=fact):
                project.anchors.add(texts)
        assert len(project.anchors()) == 0


def test_a_dry_run_writes_nothing(tmp_path: Path) -> None:
    with hedgerow.open(tmp_path) as project:
        assert repr(project.anchors.add(SENTENCES, dry_run=True)).startswith("<Would add 2 ")
        assert len(project.anchors()) == 0 and project.anchors.add(SENTENCES[:1]).count == 1
        found = project.generate(provider="rules", types="verbal", dry_run=True)
        assert found["anchors"] == 1 and found["variants"] == {"verbal": 1}
        assert len(project.variants()) == 0


def test_variants_are_found_by_their_properties(example_project: Example) -> None:
    project = example_project()
    anchor = project.anchors()["uid"].iloc[0]
    assert len(project.variants(anchor=anchor)) == 3 and len(project.variants(anchor="x")) == 0
    assert list(project.variants(search="probably")["cue"]) == ["probably"]
    assert set(project.variants(type=("affixal", "word"))["status"]) == {"accepted"}
    assert list(project.variants(type="verbal")["provider"]) == ["rules"]


def test_a_release_is_a_data_set_with_the_exports_columns(example_project: Example) -> None:
    release = example_project().release("first")
    assert release.hash[:12] in repr(release) and "'first'" in repr(release)
    data = release.to_datasets("variants")
    assert [sum(part.num_rows for part in data.values())] == [len(release.variants())]


def test_calls_that_brought_too_little_are_named(example_project: Example) -> None:
    project = example_project()
    project.anchors.add(["Ann sings.", "The road is long."])
    done = project.generate(provider="rules", types=["verbal", "affixal"])
    failed = project.failed_calls(done["run"]).set_index("anchor")
    assert failed.loc["Ann sings.", "state"] == "incomplete"
    assert "affixal: no safe antonym" in failed.loc["Ann sings.", "problem"]
    assert done["missing"] == {"affixal": len(failed)}


ATTEMPTS: tuple[tuple[Callable[[hedgerow.Project], object], str], ...] = (
    (lambda p: p.anchors(split="trian"), "a split"),
    (lambda p: p.anchors(source="Cofee"), "source of anchors"),
    (lambda p: p.anchors.add("gone.csv"), "gone.csv"),
    (lambda p: p.anchors.retire(["a"]), "\\*"),
    (lambda p: p.anchors.correct(["a"], "B."), "one uid"),
    (lambda p: p.anchors.set(*p.anchors()["uid"]), "neither"),
    (lambda p: p.variants(type="nonsense"), "a variant type"),
    (lambda p: p.variants(status="nonsense"), "a status"),
    (lambda p: p.variants(source="nonsense"), "a source"),
    (lambda p: p.variants.add("gone.csv"), "gone.csv"),
    (lambda p: p.accept(["a"]), "one uid"),
    (lambda p: p.decide_by_rule("source = Cofee", "accept"), "source of anchors"),
    (lambda p: p.decide_by_rule("source != Cofee", "accept", dry_run=True), "'Cofee'"),
    (lambda p: p.generate(provider="rules", wait=5), "unknown setting"),
    (lambda p: p.generate(provider="rules", types=[1]), "strings"),
    (lambda p: p.judge(model="x", types=[1]), "strings"),
    (lambda p: p.study("nonsense"), "'data', 'triples', 'types'"),
    (lambda p: p.study("data", benchmarks=[1]), "strings"),
    (lambda p: p.push("mine", "me/it"), "trained here"),
    (lambda p: p.tradeoff(1), "number of a training"),
    (lambda p: p.tradeoff(1, share="x"), "share is not usable"),
    (lambda p: p.train("x"), "a release"),
    (lambda p: p.train(seed="a"), "a whole number"),
    (lambda p: p.benchmark(object(), "hedgerow"), "save_pretrained"),
    (lambda p: p.similarity("all-MiniLM-L6-v2", ["It is on."]), "pairs"),
    (lambda p: p.release().triples("trian"), "a split"),
    (lambda p: p.get_release().to_datasets("nonsense"), "a table"),
    (lambda p: p.get_release().push("mine"), "owner/name"),
)


def test_problems_give_one_sentence_and_change_nothing(example_project: Example) -> None:
    project = example_project()
    before = project.status()["runs"]
    for attempt, fact in ATTEMPTS:
        with pytest.raises(hedgerow.HedgerowError, match=fact) as refusal:
            attempt(project)
        assert "\n" not in str(refusal.value)
    assert len(project.variants(status="pending")) == 1 and project.status()["runs"] == before
    nameless = hedgerow.open("new")
    with pytest.raises(hedgerow.HedgerowError, match="reviewer's name"):
        nameless.undo()
    assert issubclass(hedgerow.ShadowedPackageError, ImportError)


def only_anchor(project: hedgerow.Project) -> str:
    return str(project.anchors()["uid"].iloc[0])


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

    uid = only_anchor(project)
    with pytest.raises(hedgerow.HedgerowError, match="no anchor 'nope'"):
        project.anchors.set(uid, "nope", genre="news")
    assert set(project.anchors()["genre"]) == {""}


PENDING = "The bridge is not safe."


def test_opinions_are_asked_for_shown_and_compared(
    example_project: Example, serve_chat: Serve
) -> None:
    address, server = serve_chat()
    project = example_project()
    uid = project.variants(status="pending")["uid"].iloc[0]
    done = project.judge(model="fake", base_url=address, status=None, types=["verbal", "word"])
    assert (done["done"], done["reviewer"]) == (2, "judge: fake, prompt 1")
    assert len(server.asked) == 2
    assert project.variants(status="pending")["uid"].iloc[0] == uid  # it decides nothing
    project.accept(uid)
    (opinion,) = project.opinions(uid).to_dict("records")
    assert (opinion["reviewer"], opinion["counts"]) == (done["reviewer"], False)
    assert opinion["verdict"] == opinion_on(PENDING)["verdict"]
    compared = project.agreement_of_models().set_index("type_id")
    assert compared.loc["verbal", "share"] == float(opinion["verdict"] == "accept")
    assert (compared["judge"] == done["reviewer"]).all()


def test_a_notebooks_cell_asks_a_server(example_project: Example, serve_chat: Serve) -> None:
    address, _ = serve_chat()
    project = example_project()
    project.anchors.add(["The lamp is bright."])

    async def cell() -> tuple[int, int]:
        written = project.generate(model="fake", base_url=address, measure=False)
        return written["done"], project.judge(model="fake", base_url=address)["failed"]

    assert asyncio.run(cell()) == (2, 0)
