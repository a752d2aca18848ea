"""Makes tests/data/project_0.2.0.tar.xz, as version 0.2.0 (commit 9c8c2371) leaves a project.

Run it in a checkout of that commit, with the environment of that checkout:

    PYTHONPATH=$PWD HEDGEROW_HOME=/tmp/project .venv/bin/python make_old_project.py ARCHIVE

It uses only that version's commands and functions. Of each kind of run, the project has finished
runs and interrupted ones: the process is killed when it reports progress for the n-th time.
"""

from __future__ import annotations

import csv
import json
import os
import signal
import subprocess
import sys
import tarfile
from collections.abc import Iterator
from importlib import import_module
from itertools import product
from pathlib import Path
from typing import Any

HOME = Path(os.environ["HEDGEROW_HOME"])
os.environ |= {"HF_HUB_OFFLINE": "1", "OMP_NUM_THREADS": "1", "HEDGEROW_REVIEWER": "Ada"}
os.environ["HF_HUB_CACHE"] = str(HOME / "hub")

SMALL = {
    "training.finetune.trainer.CHECKPOINT_EVERY": 2,
    "training.llm.trainer.CHECKPOINT_EVERY": 2,
    "training.retention.distillation.TOPICS_A_STEP": 0,
    "curation.generation.providers.waiting.POLL_SECONDS": 0.01,
}
FEW_FAMILIES = 3
"""Of each bundled corpus that is loaded to its end."""

TEXTS = {
    "verbal": "The {} is not safe.",
    "absolute": "No part of the {} is safe.",
    "affixal": "The {} is unsafe.",
    "lexical": "The {} is dangerous.",
    "word": "The {} is probably safe.",
    "phrase": "I'm not entirely sure, but the {} seems safe.",
    "negated_antonym": "The {} is not dangerous.",
}
CUES = {"word": "probably", "phrase": "not entirely sure"}
PLACES = [
    f"{age} {place}"
    for age, place in product(
        ("old", "new", "small", "large", "northern", "southern", "grey", "red"),
        "bridge museum harbour library garden chapel station castle mill tunnel".split(),
    )
]
WANTED = {"train": 10, "validation": 4, "test": 2}
TRAINING = [
    *("--set", "base_encoder=tests/encoder", "--set", "batch_size=2", "--set", "max_steps=6"),
    *("--set", "retention=0", "--set", "lora_rank=none", "--set", "dropout=none"),
]
LANGUAGE = ["--base", "tests/llama"]
LANGUAGE += ["--set", "rank=2", "--set", "epochs=1", "--set", "max_pairs=64"]


def prepare() -> None:
    """Set the constants for a small project."""
    for path, value in SMALL.items():
        module, _, name = path.rpartition(".")
        setattr(import_module(module), name, value)


def hedgerow(*arguments: str, code: int = 0) -> dict[str, Any]:
    """Carry out a command that ends with this exit code. Returns its JSON object."""
    from typer.testing import CliRunner

    import cli

    ended = CliRunner().invoke(cli.app, [*arguments, "--json"])
    assert ended.exit_code == code, ended.output
    answer: dict[str, Any] = json.loads(ended.stdout)
    return answer


def killed(at: int, *arguments: str) -> None:
    """Carry out a command in a process that is killed at this report of its run's progress."""
    command = [sys.executable, __file__, "--killed", str(at), *arguments]
    ended = subprocess.run(command, check=False, capture_output=True, text=True)
    assert ended.returncode == -signal.SIGKILL, (arguments, ended.stdout, ended.stderr)


def to_be_killed(at: int, arguments: list[str]) -> None:
    """What that process does."""
    from db.execution import RunContext

    prepare()
    told = RunContext.progress
    reports = iter(range(1, sys.maxsize))

    def progress(context: RunContext, step: int, total: int, message: str) -> None:
        told(context, step, total, message)
        if next(reports) == at:
            context.beat()
            os.kill(os.getpid(), signal.SIGKILL)

    RunContext.progress = progress
    hedgerow(*arguments)


def store(function: str, *arguments: Any, **named: Any) -> str:
    """Store a run by a function of the library; its number."""
    from curation.project.opening import open_project
    from db.engine import writing
    from db.settings import load_settings

    module, _, name = function.partition(":")
    engine = open_project(load_settings())
    with writing(engine) as session:
        run = getattr(import_module(module), name)(session, *arguments, **named)
    engine.dispose()
    return str(run.id)


def rows(query: str) -> list[Any]:
    """What the database answers."""
    import sqlite3

    with sqlite3.connect(HOME / "hedgerow.db") as database:
        return database.execute(query).fetchall()


def uids(type_id: str) -> list[str]:
    """The variants of a type."""
    found = rows(
        "SELECT variant.uid FROM variant JOIN anchor ON anchor.id = anchor_id JOIN source ON "
        f"source.id = anchor.source_id WHERE source.name = 'Places' AND type_id = '{type_id}' "
        "ORDER BY variant.id"
    )
    return [uid for (uid,) in found]


def downloaded(name: str) -> Path:
    """The folder of a model that counts as downloaded from the Hub. Its name has no path in it."""
    folder = HOME / "hub" / f"models--tests--{name}"
    (folder / "refs").mkdir(parents=True)
    (folder / "refs/main").write_text("0" * 40, encoding="utf-8")
    return folder / "snapshots" / ("0" * 40)


def models() -> None:
    """An encoder and a language model, as small as can be."""
    import torch
    from sentence_transformers import SentenceTransformer
    from sentence_transformers.sentence_transformer.modules import Pooling, Transformer
    from tokenizers import Tokenizer, normalizers, pre_tokenizers, processors, trainers
    from tokenizers.models import WordPiece
    from transformers import BertConfig, BertModel, PreTrainedTokenizerFast

    from tests.support.small_llama import save_small_llama

    save_small_llama(downloaded("llama"), vocabulary=300, hidden=8, layers=1)
    tokenizer = Tokenizer(WordPiece(unk_token="[UNK]"))
    tokenizer.normalizer = normalizers.BertNormalizer()
    tokenizer.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    special = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"]
    tokenizer.train_from_iterator(
        [text.format(place) for text in TEXTS.values() for place in PLACES],
        trainers.WordPieceTrainer(vocab_size=150, special_tokens=special, show_progress=False),
    )
    tokenizer.post_processor = processors.TemplateProcessing(
        single="[CLS] $A [SEP]",
        pair="[CLS] $A [SEP] $B:1 [SEP]:1",
        special_tokens=[("[CLS]", 2), ("[SEP]", 3)],
    )
    names = dict(zip(("pad", "unk", "cls", "sep", "mask"), special, strict=True))
    PreTrainedTokenizerFast(
        tokenizer_object=tokenizer,
        model_max_length=64,
        **{f"{name}_token": token for name, token in names.items()},
    ).save_pretrained(HOME / "bert")
    torch.manual_seed(7)
    config = BertConfig(
        vocab_size=tokenizer.get_vocab_size(),
        hidden_size=8,
        intermediate_size=16,
        num_hidden_layers=1,
        num_attention_heads=2,
        max_position_embeddings=64,
    )
    BertModel(config).save_pretrained(HOME / "bert")
    modules = [Transformer(str(HOME / "bert"), max_seq_length=48), Pooling(8)]
    model = SentenceTransformer(modules=modules, device="cpu")
    model.save_pretrained(str(downloaded("encoder")), create_model_card=False)


def write_csv(name: str, lines: list[dict[str, str]]) -> str:
    """A table with a header."""
    with (HOME / name).open("w", encoding="utf-8", newline="") as file:
        table = csv.DictWriter(file, list(lines[0]))
        table.writeheader()
        table.writerows(lines)
    return name


def write_lines(name: str, lines: list[dict[str, Any]]) -> str:
    """A file of JSON lines."""
    text = "".join(json.dumps(line) + "\n" for line in lines)
    (HOME / name).write_text(text, encoding="utf-8")
    return name


def places() -> list[str]:
    """As many of each split as are wanted."""
    from curation.content_uids import anchor_uid, split_of

    found: dict[str, list[str]] = {split: [] for split in WANTED}
    for place in PLACES:
        found[split_of(anchor_uid(f"The {place} is safe."))].append(place)
    return [place for split, count in WANTED.items() for place in found[split][:count]]


def variants_of(places: list[str], types: list[str]) -> Iterator[dict[str, str]]:
    """Lines of a file with variants."""
    for place, type_id in product(places, types):
        text, cue = TEXTS[type_id].format(place), CUES.get(type_id, "")
        yield {"anchor": f"The {place} is safe.", "type": type_id, "text": text, "cue": cue}


def texts() -> None:
    """Anchors, variants and a type of the project's own."""
    from curation.corpora.corpus import Corpus

    whole = Corpus.families
    Corpus.families = lambda corpus: whole(corpus)[:FEW_FAMILIES]
    hedgerow("init")
    hedgerow("corpora", "add", "claims")
    Corpus.families = whole
    known = places()
    lines = [
        {
            "sentence": f"The {place} is safe.",
            "genre": "places" if number % 2 else "towns",
            "entailment": f"Nobody gets hurt in the {place}.",
            "contradiction": f"People get hurt in the {place}.",
        }
        for number, place in enumerate(known)
    ]
    added = ["--accept-originals", "--source", "Places", "--licence", "CC BY 4.0"]
    hedgerow("anchors", "add", write_csv("anchors.csv", lines), *added)
    most = write_csv("variants.csv", list(variants_of(known[:-1], list(TEXTS))))
    hedgerow("variants", "add", most, "--source", "Places")
    more = write_csv("more_variants.csv", list(variants_of(known[-1:], ["verbal", "word"])))
    killed(1, "variants", "add", more, "--source", "Places")
    hedgerow(
        *("types", "add", "Question", "--role", "unsupported"),
        *("--definition", "Asks whether it is so."),
        *("--anchor", "The door is open.", "--example", "Is the door open?"),
    )
    killed(1, "corpora", "add", "exclusions")


def reviews() -> None:
    """Decisions of two people, and all else that people do."""
    hedgerow("reviewers", "add", "Bert")
    hedgerow("reviewers", "role", "Bert", "reviewer")
    pending = {type_id: uids(type_id) for type_id in TEXTS}
    hedgerow("review", "assign", "--reviewers", "2", "--share", "0.2")
    hedgerow("review", "quota", "Bert", "5", "--type", "verbal")
    first, second, third, *rest = pending["verbal"]
    for uid in (first, second):
        hedgerow("review", "accept", uid, "--note", "Fine.")
        hedgerow("review", "reject", uid, "--reason", "wrong_scope", "--reviewer", "Bert")
    hedgerow("review", "settle", second, "accept", "--note", "The scope is right.")
    hedgerow("review", "note", third, "Is that so?", "--reviewer", "Bert")
    hedgerow("review", "discuss", third, "--remark", "Let us talk about it.")
    hedgerow("review", "edit", rest[0], "--text", "It is not safe at all there.")
    hedgerow("review", "reject", rest[1], "--reason", "ungrammatical", "--reviewer", "Bert")
    hedgerow("review", "undo", "--reviewer", "Bert")
    hedgerow("review", "gold", "add", rest[2], "accept", "--explanation", "It negates all.")
    anchors = rows(
        "SELECT anchor.uid FROM anchor JOIN source ON source.id = anchor.source_id "
        "WHERE source.name = 'Places' ORDER BY anchor.id"
    )
    ((correct,), (retire,)) = anchors[5], anchors[-1]
    write = ["--type", "question", "--text", "Is it safe there?"]
    hedgerow("review", "write", "--anchor", correct, *write)
    hedgerow("diagnose", "--encoder", "tests/encoder")
    hedgerow("review", "apply", "--rule", "source = Places", "--accept", "--type", "absolute")
    for type_id in ("verbal", "affixal", "lexical", "word", "phrase", "negated_antonym"):
        for uid in pending[type_id] if type_id != "verbal" else rest[3:]:
            hedgerow("review", "accept", uid, "--reviewer", "Ada" if uid[0] < "a" else "Bert")
    hedgerow("anchors", "correct", correct, "The place is quite safe.")
    hedgerow("release", "create", "--name", "The first one")
    hedgerow("anchors", "retire", retire)
    hedgerow("release", "create", "--name", "Without the retired anchor")


def generation() -> None:
    """Variants and opinions by rules and by a server, a sample, and the follow-up of settings."""
    from tests.support.generating import serving

    with serving() as start:
        address, _ = start()
        os.environ |= {"HEDGEROW_OPENAI_BASE_URL": address, "HEDGEROW_OPENAI_API_KEY": "sk-none"}
        chat = ["generate", "--model", "fake", "--source", "Places", "--limit", "3"]
        slots = ["--which", "slots", "--roles", "unsupported", "--concurrency", "1"]
        hedgerow(*chat, *slots)
        hedgerow(*chat, *slots, "--seed", "1", "--max-calls", "1", code=1)
        killed(2, *chat, *slots, "--seed", "2")
        rules = ["generate", "--provider", "rules", "--which", "slots", "--source"]
        hedgerow(*rules, "Places", "--types", "affirmation", "--limit", "4")
        killed(2, *rules, "Places", "--types", "free_hedge")
        judge = ["review", "judge", "--model", "fake", "--concurrency", "1"]
        hedgerow(*judge, "--types", "word", "--limit", "4", "--status", "any")
        killed(2, *judge, "--types", "phrase", "--limit", "4", "--status", "any")
        hedgerow("llm", "provider", "--model", "small")
        killed(1, "llm", "provider", "--model", "small", "--seed", "3")
        hedgerow("llm", "provider", "--model", "missing", code=1)
    hedgerow("review", "calibration", "draw", "--size", "1")
    hedgerow("settings", "set", "levenshtein_threshold", "55")
    killed(1, "settings", "set", "levenshtein_threshold", "50")
    hedgerow("giveaways", "--source", "Places")
    killed(1, "giveaways")
    model = rows("SELECT min(id) FROM reviewer WHERE kind = 'model'")[0][0]
    create("recount", 0, {"reviewer": model, "counts": True})
    create("recount", 1, {"reviewer": model, "counts": False})


def create(kind: str, at: int, parameters: dict[str, Any]) -> None:
    """Store a run as pages do, and carry it out, or kill it at a report."""
    number = store("db.runs:create_run", kind=kind, parameters=parameters)
    carry_out(number, at)


def carry_out(number: str, at: int) -> None:
    """Carry out a stored run, or kill it at a report of its progress."""
    killed(at, "run", number) if at else hedgerow("run", number)


def trainings() -> None:
    """Models, and all that measures them."""
    from db.settings import load_settings

    training = str(hedgerow("train", *TRAINING)["run"])
    killed(8, "train", *TRAINING, "--seed", "2")
    hedgerow("train", *TRAINING, "--seed", "3", "--queue")
    hedgerow("tradeoff", training, "--share", "0.3")
    hedgerow("tradeoff", training, "--share", "0.3", "--save")
    killed(4, "tradeoff", training, "--share", "0.37")
    number = store(
        "training.retention.tradeoff_save:request_save",
        load_settings(),
        training=int(training),
        share=0.6,
    )
    carry_out(number, 2)
    hedgerow("study", "triples", *TRAINING)
    killed(18, "study", "triples", *TRAINING, "--seed", "2")
    pairs = write_lines(
        "pairs.jsonl",
        [
            {
                "id": f"{number}-2",
                "q1": f"Which {place} is open?",
                "q2": f"Which {place} is not open?",
                "doc1": f"The {place} is open to visitors.",
                "doc2": f"The {place} is not open to visitors.",
            }
            for number, place in enumerate(PLACES[:20])
        ],
    )
    nevir = ["nevir", "train", "--data", pairs, "--base", "tests/encoder", "--epochs", "2"]
    hedgerow(*nevir)
    killed(8, *nevir, "--seed", "9")
    hedgerow("llm", "train", *LANGUAGE)
    killed(10, "llm", "train", *LANGUAGE, "--seed", "2")
    hedgerow("llm", "study", *LANGUAGE)
    killed(21, "llm", "study", *LANGUAGE, "--seed", "2")
    trained = rows(f"SELECT name FROM encoder WHERE run_id = {training} ORDER BY id")[0][0]
    ends = ["tests/encoder", trained]
    compare = "training.evaluation.similarity_run:request_comparison"
    sentences = ["It is safe.", "It is not safe.", "It may be safe."]
    carry_out(store(compare, models=ends, sentences=sentences), 0)
    carry_out(store(compare, models=ends, sentences=sentences[:2]), 3)
    data = write_lines(
        "semantoneg.jsonl",
        [
            {
                "idx": number,
                "label": 2,
                "input": f"The {place} is not open.",
                "sentences": [
                    f"The {place} is open.",
                    f"The {place} is not shut.",
                    f"The {place} is shut.",
                ],
            }
            for number, place in enumerate(PLACES[:6])
        ],
    )
    both = ["--model", ends[0], "--model", ends[1]]
    hedgerow("benchmark", "semantoneg", "--data", data, *both)
    hedgerow("benchmark", "hedgerow", "--model", ends[0])
    killed(6, "benchmark", "semantoneg", *both, "--release", "1")
    uid = uids("verbal")[0]
    killed(2, "variants", "similar", uid)
    hedgerow("settings", "set", "active_encoder", ends[0])
    killed(3, "diagnose", "--encoder", ends[1])
    hedgerow("variants", "similar", uid)


def ends() -> None:
    """Exports, pushes, a backup and a check."""
    from tests.support.servers.hub_server import OWNER, TOKEN, serving_hub

    create("export", 0, {"release": 2, "format": "jsonl"})
    create("export", 3, {"release": 1, "format": "hf"})
    create("backup", 0, {"artifacts": False})
    create("backup", 1, {"artifacts": False})
    create("check", 0, {"repair": False})
    create("check", 3, {"repair": False})
    (training,) = rows("SELECT min(id) FROM run WHERE kind = 'train' AND state = 'done'")[0]
    with serving_hub() as (address, _):
        os.environ |= {
            "HF_ENDPOINT": address,
            "HF_HUB_OFFLINE": "0",
            "HF_HUB_DISABLE_XET": "1",
            "HF_HOME": "/tmp/hub",
            "HF_TOKEN": TOKEN,
        }
        from huggingface_hub import constants

        constants.ENDPOINT, constants.HF_HUB_OFFLINE = address, False
        constants.HF_HUB_DISABLE_XET = True
        constants.HUGGINGFACE_CO_URL_TEMPLATE = address + "/{repo_id}/resolve/{revision}/{filename}"
        hedgerow("push", str(training), "--repo", f"{OWNER}/encoder")
        killed(1, "push", "--release", "1", "--repo", f"{OWNER}/data")


def write_expected() -> None:
    """What this version says of the project."""
    expected = {
        "status": hedgerow("status"),
        "runs": hedgerow("runs", "list", "--limit", "999")["runs"],
    }
    (HOME / "expected.json").write_text(json.dumps(expected, indent=1), encoding="utf-8")


def main(archive: Path) -> None:
    """Make the project and pack it."""
    prepare()
    HOME.mkdir()
    os.chdir(HOME)
    for step in (models, texts, reviews, generation, trainings, ends):
        step()
    write_expected()
    rows("PRAGMA wal_checkpoint(TRUNCATE)")
    with tarfile.open(archive, "w:xz") as packed:
        for name in ("expected.json", "hedgerow.db", "hedgerow_data", "hub"):
            packed.add(HOME / name, name)


if __name__ == "__main__":
    if sys.argv[1] == "--killed":
        to_be_killed(int(sys.argv[2]), sys.argv[3:])
    else:
        main(Path(sys.argv[1]).resolve())
