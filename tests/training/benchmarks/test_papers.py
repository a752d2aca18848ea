"""Every line of the guide to the papers is executed with small files and tiny models."""

import re
import shlex
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from streamlit.testing.v1 import AppTest
from typer.testing import CliRunner

import cli
from hedgerow.losses.families import Family, Role
from tests.cli.support.commands import ask
from tests.support import checkpoints
from tests.support.checkout import ROOT
from tests.training.benchmarks.support.samples import (
    CORPUS,
    EXCLUIR,
    NEVIR,
    SENTENCES,
    semantoneg_rows,
    write_lines,
    write_list,
    write_table,
)
from tests.training.ranking.support.finetunings import ENTRIES
from tests.training.support.starter import starter_families

GUIDE = ROOT / "docs" / "papers.md"
FAMILIES = 40
PAPER = ("verbal", "absolute", "affixal", "lexical")


def cells() -> Iterator[str]:
    """The second cell of every line: how Hedgerow does what the paper does."""
    for line in GUIDE.read_text(encoding="utf-8").splitlines():
        if line.startswith("| ") and not line.startswith("| in the paper"):
            yield line.split(" | ")[1]


def page_text(pattern: str) -> list[str]:
    """The commands or the pages of the guide, in its order."""
    return [found for cell in cells() for found in re.findall(f"`({pattern}[^`]*)`", cell)]


@pytest.fixture
def models(
    tmp_path: Path,
    tiny_encoder: Path,
    tiny_cross: Path,
    tiny_splade: Path,
    tiny_colbert: Path,
    small_llama: Path,
) -> dict[str, str]:
    """Name of a model in the guide → a tiny one of its family."""
    halves = checkpoints.dpr(tmp_path / "dpr")
    return {
        "facebook/dpr-question_encoder-single-nq-base": str(halves[0]),
        "facebook/dpr-ctx_encoder-single-nq-base": str(halves[1]),
        "sentence-transformers/all-mpnet-base-v2": str(tiny_encoder),
        "sentence-transformers/multi-qa-mpnet-base-dot-v1": str(tiny_encoder),
        "cross-encoder/qnli-electra-base": str(tiny_cross),
        "naver/splade-cocondenser-ensembledistil": str(tiny_splade),
        "colbert-ir/colbertv2.0": str(tiny_colbert),
        "castorini/monot5-base-msmarco": str(checkpoints.monot5(tmp_path / "monot5")),
        "meta-llama/Meta-Llama-3-8B-Instruct": str(small_llama),
    }


@pytest.fixture
def files(home: Path, models: dict[str, str]) -> None:
    """The files that the guide names, in the working directory."""
    families = [f for f in starter_families() if _complete(f)][: 2 * FAMILIES]
    own, others = families[:FAMILIES], families[FAMILIES:]
    originals = [
        {
            "anchor": f[0].text,
            "entailment": f"It is so: {f[0].text}",
            "negative": f"No: {f[0].text}",
        }
        for f in own
    ]
    write_lines(home / "negation_dataset.jsonl", originals)
    write_lines(home / "hedge_triple.jsonl", [row for f in own for row in _triples(f)])
    write_lines(home / "others.jsonl", [row for f in others for row in _triples(f)])
    write_lines(home / "nevir.jsonl", NEVIR)
    write_lines(home / "nevir_train.jsonl", ENTRIES)
    (home / "excluir").mkdir()
    write_list(home / "excluir" / "test_manual_final.json", EXCLUIR)
    write_list(home / "excluir" / "corpus.json", CORPUS)
    scored = [("The soup is hot.", "The soup is cold.", "0"), ("It rains.", "It is raining.", "1")]
    write_table(home / "cannot.tsv", "premise\thypothesis\tlabel", [*scored])
    write_table(home / "m3.tsv", "sentence1\tsentence2\tscore", [*scored])
    write_lines(home / "semantoneg.jsonl", semantoneg_rows())
    (home / "sentences.txt").write_text("".join(f"{row[0]}\n" for row in SENTENCES))
    two = ("sentence-transformers/all-mpnet-base-v2", "cross-encoder/qnli-electra-base")
    (home / "models.txt").write_text("".join(f"{models[name]}\n" for name in two))


def _complete(family: Family) -> bool:
    return {m.type_id for m in family} >= {*PAPER, "word", "phrase"}


def _triples(family: Family) -> list[dict[str, str]]:
    """As in HedgeTriple: every hedge with every negation."""
    hedges = [m.text for m in family if m.role == Role.HEDGE]
    negations = [m.text for m in family if m.type_id in PAPER]
    return [
        {"anchor": family[0].text, "positive": hedge, "negative": negation}
        for hedge in hedges
        for negation in negations
    ]


@pytest.mark.slow
def test_every_line_of_the_guide_works(
    files: None,
    models: dict[str, str],
    monkeypatch: pytest.MonkeyPatch,
    opened_pages: Callable[[str], AppTest],
) -> None:
    monkeypatch.setenv("HEDGEROW_REVIEWER", "Ada")
    ask("init", "--empty")
    for line in page_text("hedgerow "):
        _, *arguments = shlex.split(line)
        for name, folder in models.items():
            arguments = [argument.replace(name, folder) for argument in arguments]
        if arguments[0] in ("train", "study"):
            arguments += ["--set", "max_steps=2", "--set", "batch_size=2"]
        if arguments[0] == "llm":
            arguments += ["--set", "epochs=1", "--set", "max_pairs=4"]
        if arguments[:2] == ["nevir", "train"]:
            arguments += ["--epochs", "1"]
        if "RUN" in arguments:
            trained = next(run for run in ask("runs", "list")["runs"] if run["kind"] == "train")
            arguments[arguments.index("RUN")] = str(trained["run"])
        result = CliRunner().invoke(cli.app, arguments)
        assert result.exit_code == 0, f"{line}\n{result.output}"
    for address in dict.fromkeys(page_text("/")):
        page = opened_pages(address)
        assert not page.exception, address


def test_the_guide_has_every_table_and_figure_of_the_papers() -> None:
    text = GUIDE.read_text(encoding="utf-8")
    hedge, nevir, semantoneg = text.split("\n## ")[1:]
    for number in range(1, 6):
        assert _named("Table", number, hedge) and (number == 5 or _named("Figure", number, hedge))
    for number in range(1, 11):
        assert _named("Figure", number, nevir)
    assert _named("Table", 1, nevir) and _named("Table", 2, nevir)
    for number in range(1, 9):
        assert _named("Table", number, semantoneg)
    assert _named("Figure", 1, semantoneg) and _named("Figure", 2, semantoneg)


def _named(kind: str, number: int, text: str) -> bool:
    """Whether 'Figure 4' is named, alone or as in 'Figures 4, 7 and 9' and 'Tables 3 to 5'."""
    for found in re.findall(rf"{kind}s? (\d+(?:(?:, | and | to )\d+)*)", text):
        for part in re.split(", | and ", found):
            first, _, last = part.partition(" to ")
            if int(first) <= number <= int(last or first):
                return True
    return False


@pytest.fixture
def opened_pages(monkeypatch: pytest.MonkeyPatch) -> Callable[[str], AppTest]:
    """Opens an address of the app, such as ``/benchmarks?step=Items``. No process is started."""
    from pages.components.shared.runs import background

    monkeypatch.setattr(background, "start_process", lambda *_, **__: None)

    def opened(address: str) -> AppTest:
        path, _, query = address.removeprefix("/").partition("?")
        app = AppTest.from_file(str(ROOT / "app.py"), default_timeout=60)
        for part in filter(None, query.split("&")):
            app.query_params[part.partition("=")[0]] = part.partition("=")[2]
        return app.run().switch_page(f"pages/{path}.py").run()

    return opened
