"""Question pairs as files: what trl and OpenAI read in them, and what is refused."""

import json
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import Engine
from sqlalchemy.orm import Session

from curation.release.export.question_files import check_finetuning_file
from curation.release.export.release_folder import MANIFEST, export_release
from curation.release.freezing import create_release
from curation.release.question_pairs import question_pairs
from db.engine import writing
from db.errors import HedgerowError
from db.models import Release, Split
from tests.curation.support.exported import body, contents, opened, tables_in
from tests.curation.support.families import add_family, add_plain_family


def released(session: Session, *, train: int = 5) -> Release:
    """This many families for training, and one in each of the other splits."""
    for number in range(train):
        add_plain_family(session, number, split=Split.TRAIN)
    add_plain_family(session, 100, split=Split.VALIDATION)
    add_plain_family(session, 101, split=Split.TEST)
    return create_release(session, name="Doors").release


def lines(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]


@pytest.mark.parametrize("format", ["messages", "completion"])
def test_parquet_and_json_lines_hold_the_same_questions_of_each_split(
    engine: Engine, tmp_path: Path, format: str
) -> None:
    with writing(engine) as session:
        release = released(session)
        folder = export_release(session, release, tmp_path / "out", format=format)
        expected = {
            split: [(p.prompt, p.answer) for p in question_pairs(session, release.id, split=split)]
            for split in Split
        }
    assert tables_in(folder) == [format]
    found = opened(folder, format, tmp_path / "cache")
    for split in Split:
        assert found[split] == lines(folder / format / f"{split}.jsonl")
        if format == "messages":
            assert [[m["role"] for m in row["messages"]] for row in found[split]] == [
                ["user", "assistant"]
            ] * len(expected[split])
            asked = [tuple(m["content"] for m in row["messages"]) for row in found[split]]
        else:
            assert all(row["completion"].startswith(" ") for row in found[split])
            asked = [(row["prompt"], row["completion"].strip()) for row in found[split]]
        assert asked == expected[split]
    manifest = json.loads((folder / MANIFEST).read_text(encoding="utf-8"))
    assert manifest["rows"] == {format: {"train": 20, "validation": 4, "test": 4}}
    assert manifest["notes"] == ["28 question pairs, half of them with the answer Yes."]


def test_openais_files_hold_messages_alone_and_say_how_many_tokens(
    engine: Engine, tmp_path: Path
) -> None:
    with writing(engine) as session:
        folder = export_release(session, released(session), tmp_path / "out", format="openai")
    train = lines(folder / "train.jsonl")
    assert len(train) == 20 and all(list(row) == ["messages"] for row in train)
    assert Counter(row["messages"][1]["content"] for row in train) == {"Yes": 10, "No": 10}
    letters = sum(len(message["content"]) for row in train for message in row["messages"])
    assert f"20 examples with about {round(letters / 4):,} tokens" in body(folder)
    assert len(lines(folder / "validation.jsonl")) == 4
    assert {row["messages"][1]["content"] for row in opened(folder, None, tmp_path / "c")["test"]}


def test_the_card_says_what_the_questions_are_and_which_arm(engine: Engine, tmp_path: Path) -> None:
    with writing(engine) as session:
        release = released(session)
        whole = export_release(session, release, tmp_path / "whole", format="messages")
        with pytest.raises(HedgerowError, match="an original contradiction"):
            export_release(session, release, tmp_path / "hedges", format="messages", arm="hedging")
        text = {"word": ["Cats may purr."], "verbal": ["Cats do not purr."]}
        add_family(session, "Cats purr.", {**text, "negated_antonym": ["Cats never hush."]})
        negations = export_release(
            session,
            create_release(session).release,
            tmp_path / "negations",
            format="messages",
            arm="negation",
        )
    assert "Do the two sentences have opposite meaning? Yes or No." in body(whole)
    assert "| messages | a user's question" in body(whole)
    assert "2 question pairs, half of them with the answer Yes. Only negations" in body(negations)
    assert "7 anchors left out" in body(negations)
    assert not (tmp_path / "hedges").exists()


@pytest.mark.parametrize("format", ["messages", "completion", "openai"])
def test_a_release_without_negations_gives_no_files(
    engine: Engine, tmp_path: Path, format: str
) -> None:
    with writing(engine) as session:
        add_family(session, "It is late.", {"word": ["It is probably late."]})
        release = create_release(session).release
        with pytest.raises(HedgerowError, match="no anchor of release 1 has both"):
            export_release(session, release, tmp_path / "x" / "out", format=format)
    assert contents(tmp_path / "x") == {}


@pytest.mark.parametrize(("families", "found"), [(2, 8), (0, 0)])
def test_openai_takes_no_fewer_than_ten_examples(
    engine: Engine, tmp_path: Path, families: int, found: int
) -> None:
    with writing(engine) as session:
        release = released(session, train=families)
        with pytest.raises(HedgerowError, match=f"at least 10 question pairs.*found {found}"):
            export_release(session, release, tmp_path / "x" / "out", format="openai")
    assert contents(tmp_path / "x") == {}


GOOD = '{"messages": [{"role": "user", "content": "?"}, {"role": "assistant", "content": "Yes"}]}'


@pytest.mark.parametrize(
    ("line", "message"),
    [
        (GOOD.replace("assistant", "person"), "Line 2 of it.jsonl is not a chat"),
        (GOOD.replace("Yes", " "), "is not a chat"),
        (GOOD.replace("}]}", '}], "split": "train"}'), "is not a chat"),
        (GOOD.replace("assistant", "user"), "ends without an answer"),
        ("", "is not a chat"),
        ("[1]", "is not a chat"),
        ('{"messages": 3}', "is not a chat"),
        ('{"messages": [3, 4]}', "is not a chat"),
    ],
)
def test_a_line_that_openai_would_refuse_is_named(tmp_path: Path, line: str, message: str) -> None:
    path = tmp_path / "it.jsonl"
    path.write_text(f"{GOOD}\n{line}\n")
    with pytest.raises(HedgerowError, match=message):
        check_finetuning_file(path)
    path.write_text(f"{GOOD}\n")
    assert check_finetuning_file(path) == (1, 1)
