"""Question pairs as files: what trl and OpenAI read in them, and what is refused."""

import json
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy.orm import Session

from curation.release.export.question_files import check_finetuning_file
from curation.release.export.release_folder import MANIFEST, export_release
from curation.release.freezing import create_release
from curation.release.question_pairs import question_pairs
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


@pytest.mark.slow
@pytest.mark.parametrize("format", ["messages", "completion"])
def test_parquet_and_json_lines_hold_the_same_questions_of_each_split(
    session: Session, tmp_path: Path, format: str
) -> None:
    release = released(session)
    folder = export_release(session, release, tmp_path / "out", format=format)  # type: ignore[arg-type]
    assert tables_in(folder) == [format]
    found = opened(folder, format, tmp_path / "cache")
    for split in Split:
        rows = found[split]
        assert rows == lines(folder / format / f"{split}.jsonl")
        if format == "messages":
            roles = {tuple(m["role"] for m in row["messages"]) for row in rows}
            assert roles == {("user", "assistant")}
            asked = [tuple(m["content"] for m in row["messages"]) for row in rows]
        else:
            assert all(row["completion"].startswith(" ") for row in rows)
            asked = [(row["prompt"], row["completion"].strip()) for row in rows]
        pairs = question_pairs(session, release.id, split=split)
        assert asked == [(pair.prompt, pair.answer) for pair in pairs]
    manifest = json.loads((folder / MANIFEST).read_text(encoding="utf-8"))
    assert manifest["rows"] == {format: {"train": 20, "validation": 4, "test": 4}}
    (note,) = manifest["notes"]
    assert note.startswith("28 ")


@pytest.mark.slow
def test_openais_files_hold_messages_alone_and_say_how_many_tokens(
    session: Session, tmp_path: Path
) -> None:
    folder = export_release(session, released(session), tmp_path / "out", format="openai")
    train = lines(folder / "train.jsonl")
    assert len(train) == 20 and all(list(row) == ["messages"] for row in train)
    assert Counter(row["messages"][1]["content"] for row in train) == {"Yes": 10, "No": 10}
    letters = sum(len(message["content"]) for row in train for message in row["messages"])
    assert f"20 examples with about {round(letters / 4):,} tokens" in body(folder)
    assert len(lines(folder / "validation.jsonl")) == 4
    assert {row["messages"][1]["content"] for row in opened(folder, None, tmp_path / "c")["test"]}


def test_an_arm_is_exported_alone_or_not_at_all(session: Session, tmp_path: Path) -> None:
    release = released(session)
    whole = export_release(session, release, tmp_path / "whole", format="messages")
    assert "Do the two sentences have opposite meaning? Yes or No." in body(whole)
    assert "| messages | " in body(whole)
    with pytest.raises(HedgerowError, match="an original contradiction"):
        export_release(session, release, tmp_path / "hedges", format="messages", arm="hedging")
    assert not (tmp_path / "hedges").exists()
    texts = {"word": ["Cats may purr."], "verbal": ["Cats do not purr."]}
    add_family(session, "Cats purr.", texts | {"negated_antonym": ["Cats never hush."]})
    release = create_release(session).release
    folder = export_release(session, release, tmp_path / "n", format="messages", arm="negation")
    assert "2 question pairs" in body(folder) and "7 anchors left out" in body(folder)


@pytest.mark.parametrize(
    ("format", "train", "fact"),
    [
        *((format, None, "no anchor of release 1") for format in ("messages", "completion")),
        ("openai", None, "no anchor of release 1"),
        ("openai", 2, "at least 10 question pairs.*found 8"),
        ("openai", 0, "at least 10 question pairs.*found 0"),
    ],
)
def test_a_release_with_too_few_questions_gives_no_files(
    session: Session, tmp_path: Path, format: str, train: int | None, fact: str
) -> None:
    if train is None:  # no negations
        add_family(session, "It is late.", {"word": ["It is probably late."]})
        release = create_release(session).release
    else:
        release = released(session, train=train)
    with pytest.raises(HedgerowError, match=fact):
        export_release(session, release, tmp_path / "x" / "out", format=format)  # type: ignore[arg-type]
    assert contents(tmp_path / "x") == {}


GOOD = '{"messages": [{"role": "user", "content": "?"}, {"role": "assistant", "content": "Yes"}]}'


@pytest.mark.parametrize(
    ("line", "fact"),
    [
        (GOOD.replace("assistant", "person"), "Line 2 of it.jsonl is not a chat"),
        (GOOD.replace("Yes", " "), "not a chat"),
        (GOOD.replace("}]}", '}], "split": "train"}'), "not a chat"),
        (GOOD.replace("assistant", "user"), "without an answer"),
        ("", "not a chat"),
        ("[1]", "not a chat"),
        ('{"messages": 3}', "not a chat"),
        ('{"messages": [3, 4]}', "not a chat"),
    ],
)
def test_a_line_that_openai_would_refuse_is_named(tmp_path: Path, line: str, fact: str) -> None:
    path = tmp_path / "it.jsonl"
    path.write_text(f"{GOOD}\n{line}\n")
    with pytest.raises(HedgerowError, match=fact):
        check_finetuning_file(path)
    path.write_text(f"{GOOD}\n")
    assert check_finetuning_file(path) == (1, 1)
