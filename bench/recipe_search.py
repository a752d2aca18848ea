"""The search for the default recipe; docs/recipe_search.md tells what came out.

    python -m bench.recipe_search TRIAL … --out results.jsonl --sts FOLDER --semantoneg FILE
    python -m bench.recipe_search --table results.jsonl

A trial is a name and the keys of a recipe in which it differs from the default, such as
"small: batch_size=8 learning_rate=1e-4". It trains on the train split of the starter corpus (its
review applied) and measures on the validation and test splits, on STS files (tab-separated: score
and two sentences) and on a SemAntoNeg file, for several shares of interpolation with the base
encoder. The pending fifth of the corpus and the probe groups are never looked at: bench.judged
judges by them afterwards.
"""

import argparse
import json
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from bench.judging import on_families, on_semantoneg, on_sts, starter_families
from curation.encoders.loading import load_encoder
from training.evaluation.held_out import DRIFT, FAMILIES, QUESTIONS, RANKED
from training.finetune.compute.devices import share_the_processor
from training.finetune.fitting import Data, finetune
from training.recipe.schema import Recipe
from training.retention.distillation import interpolate

SHARES = (1.0, 0.8)
"""Of the finetuned weights, at which each trial is measured."""

SHOWN = (QUESTIONS, FAMILIES, RANKED, "ordered", DRIFT)


def measure(model: Any, base: Any, options: argparse.Namespace) -> dict[str, float]:
    """The figures that a recipe is chosen by."""
    parts = starter_families()
    found = on_families([*parts["validation"], *parts["test"]], model, base)
    figures = {name: found[name] for name in SHOWN}
    if options.sts:
        figures["STS"] = on_sts(options.sts, model)["mean"]
    if options.semantoneg:
        figures["SemAntoNeg"] = on_semantoneg(options.semantoneg, model)
    return {name: round(value, 4) for name, value in figures.items()}


def trial(text: str, options: argparse.Namespace) -> Iterator[dict[str, Any]]:
    """Train and measure; a row for each share of interpolation."""
    from training.finetune.progress import Progress

    name, _, changes = text.partition(":")
    recipe = Recipe(interpolation=1.0).with_overrides(changes.split())
    base = load_encoder(recipe.base_encoder)
    before = {key: value.clone() for key, value in base.state_dict().items()}
    started = time.monotonic()
    with tempfile.TemporaryDirectory() as folder:
        trained = finetune(
            Data(starter_families()["train"]),
            recipe=recipe,
            seed=options.seed,
            folder=Path(folder),
            progress=Progress(),
        )
        seconds = round(time.monotonic() - started)
        model = load_encoder(str(trained.folder))
    after = {key: value.clone() for key, value in model.state_dict().items()}
    for share in SHARES:
        interpolate(model, before, after, share)
        yield {
            "trial": name,
            "changes": changes.strip(),
            "seed": options.seed,
            "share": share,
            "seconds": seconds,
            "figures": measure(model, base, options),
        }


def table(path: Path) -> str:
    """The results as Markdown, in their order."""
    rows = [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]
    names = list(dict.fromkeys(name for row in rows for name in row["figures"]))
    lines = [
        f"| trial | changed | share | minutes | {' | '.join(names)} |",
        "|---|---|---|---|" + "---|" * len(names),
    ]
    for row in rows:
        figures = (f"{100 * row['figures'][name]:.1f}" for name in names)
        lines.append(
            f"| {row['trial']} | {row['changes']} | {row['share']} | {row['seconds'] / 60:.0f} | "
            f"{' | '.join(figures)} |"
        )
    return "\n".join(lines)


def main() -> None:
    """Carry out the trials one after another, each result written at once."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("trials", nargs="*", metavar="TRIAL")
    parser.add_argument("--out", type=Path)
    parser.add_argument("--sts", type=Path)
    parser.add_argument("--semantoneg", type=Path)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--table", type=Path)
    options = parser.parse_args()
    share_the_processor()
    if options.table:
        print(table(options.table))
    for text in options.trials:
        for row in trial(text, options):
            line = json.dumps(row)
            print(line, flush=True)
            if options.out:
                with options.out.open("a", encoding="utf-8") as file:
                    file.write(f"{line}\n")


if __name__ == "__main__":
    main()
