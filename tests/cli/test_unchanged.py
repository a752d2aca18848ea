"""A failing command changes nothing: every table and every file stay the same."""

import hashlib
import shlex
import shutil
from pathlib import Path

import pytest
from sqlalchemy import select
from sqlmodel import SQLModel

from db.engine import reading, writing
from db.settings import HUB_TOKEN, load_settings
from tests.cli.support.commands import ask, ended
from tests.curation.support.deciding import accept
from tests.support.databases import Copies, opened
from tests.support.factories import add_family, person

UID = "0" * 16
NAMED = ("--reviewer", "Newcomer")


def stored(home: Path) -> tuple[dict[str, list[str]], dict[str, str]]:
    """Every row of every table, and the hash of every file except the database's own."""
    with opened(load_settings().url) as engine, reading(engine) as session:
        tables = {
            table.name: sorted(str(tuple(row)) for row in session.execute(select(table)))
            for table in SQLModel.metadata.sorted_tables
        }
    files = {
        path.relative_to(home).as_posix(): _hash(path)
        for path in sorted(home.rglob("*"))
        if not path.name.startswith("hedgerow.db")
    }
    return tables, files


def _hash(path: Path) -> str:
    return "" if path.is_dir() else hashlib.sha256(path.read_bytes()).hexdigest()


@pytest.fixture
def small(home: Path, copies: Copies, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A project with one accepted family and no release, and files that commands can't use."""
    monkeypatch.delenv(HUB_TOKEN, raising=False)
    copies.project(home / "hedgerow.db")
    with opened(load_settings().url) as engine, writing(engine) as session:
        ada = person(session)
        for variant in add_family(session, "The door is open.").values():
            accept(session, variant, ada)
    (home / "empty.csv").write_text("")
    (home / "recipe.yaml").write_text("nonsense: 1\n")
    (home / "prompt.txt").write_text("It asks for nothing.")
    (home / "taken").mkdir()
    (home / "taken" / "thesis.txt").write_text("mine")
    (home / "checkpoint").mkdir()
    (home / "checkpoint" / "config.json").write_text("{}")
    return home


@pytest.mark.parametrize(
    "command",
    ["diagnose --encoder ./broken", "train --set base_encoder=./broken --set max_steps=1"],
)
def test_an_encoder_that_cannot_be_loaded_is_not_among_the_encoders(
    command: str, small: Path, tiny_encoder: Path
) -> None:
    shutil.copytree(tiny_encoder, small / "broken")
    for weights in (small / "broken").rglob("*.safetensors"):
        weights.write_bytes(b"damaged")
    with opened(load_settings().url) as engine, writing(engine) as session:
        ada = person(session)
        for number in range(40):  # enough for every split
            for variant in add_family(session, f"The bridge number {number} is safe.").values():
                accept(session, variant, ada)
    code, answer = ended(*shlex.split(command))
    assert (code, answer["state"]) == (1, "failed"), answer
    assert ask("status")["encoders"] == []


FAILING = [
    "settings set active_encoder nope/none",
    "settings set active_encoder ./checkpoint",
    "settings set levenshtein_threshold 0",
    "settings set counts.nobody off",
    "train",
    "train --recipe recipe.yaml",
    "train --set nonsense=1",
    "train --set base_encoder=nope/none",
    "train --set base_encoder=./checkpoint",
    "train --release 7",
    "study data --set base_encoder=nope/none",
    "study data",
    "tradeoff 7",
    "push --release 1 --repo me/data",
    "push 7 --repo me/model",
    "diagnose --encoder nope/none",
    "diagnose --encoder ./checkpoint",
    "similarity --model nope/none",
    "benchmark hedgerow --model nope/none",
    "benchmark semantoneg --model all-MiniLM-L6-v2 --data empty.csv",
    "benchmark nonsense --model all-MiniLM-L6-v2",
    "benchmark semantoneg --models empty.csv",
    "benchmarks suite out.jsonl --release 7",
    "benchmarks suite out.jsonl --sentences empty.csv",
    "benchmarks errors semantoneg",
    "generate --model gpt",
    "generate --model gpt --base-url ftp://nowhere",
    "generate --provider rules --types nonsense",
    "run 7",
    "export taken",
    "export out --release 7",
    "anchors add empty.csv",
    "anchors add nowhere.csv",
    "anchors add taken/thesis.txt --sample 0",
    f"anchors correct {UID} Anything. --reviewer Newcomer",
    f"anchors retire {UID}",
    "prices set gpt 1e308 1",
    "prices set gpt inf 1",
    "prices set gpt nan 1",
    "prices set gpt -1 1",
    "prices set \x1b[31mgpt 1 1",
    "types retire nonsense",
    "types add Own --role hedge --definition D --anchor A --example",
    "prompts add hedge prompt.txt",
    "prompts add nonsense prompt.txt",
    "review undo --reviewer Newcomer",
    f"review accept {UID} --reviewer Newcomer",
    f"review reject {UID} --reviewer Newcomer",
    "review apply --rule nonsense --accept --reviewer Newcomer",
    "review apply --rule 'no flags' --reject --reason nonsense --reviewer Newcomer",
    f"review note {UID} Hm. --reviewer Newcomer",
    f"review write --anchor {UID} --type verbal --text Hm. --reviewer Newcomer",
    "review judge --model gpt",
    "db copy nonsense",
    "db copy sqlite:///hedgerow.db",
    "db copy sqlite:///nowhere/copy.db",
    "db copy postgresql://127.0.0.1:1/x",
    "db backup taken/thesis.txt",
    "db backup nowhere/b.zip",
    "db restore taken/thesis.txt",
    "db restore nowhere.zip",
]


@pytest.mark.parametrize("command", FAILING)
def test_a_command_that_fails_changes_nothing(command: str, small: Path) -> None:
    before = stored(small)
    code, answer = ended(*shlex.split(command))
    assert code in (1, 2) and answer["error"], answer
    assert stored(small) == before
