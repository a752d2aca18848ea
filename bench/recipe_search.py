"""The search for the recipes of the presets. docs/recipe_search.md reports its results.

    python -m bench.recipe_search TRIAL … --release 2 --data bench/development --data FOLDER

A trial is a name and the settings of the recipe that differ from the default, for example:

    python -m bench.recipe_search "small: batch_size=4 learning_rate=1e-4" --release 2 --data FOLDER

It trains on the train split of a release of the project in the working directory. Then it
interpolates with the base encoder, and prints one JSON object with the figures of `bench.judging`
per share of the finetuned weights. `--data` names folders with development data. Never name
`bench/judged`, which is only for `bench.judged`.
"""

import argparse
import json
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from bench.judging import on_folders
from curation.encoders.loading import load_encoder
from curation.release.freezing import get_release
from db.engine import create_engine, reading
from db.models import Split
from db.settings import Settings
from training.data.families import training_families
from training.finetune.compute.devices import share_the_processor
from training.finetune.finetuning import Data, finetune
from training.losses.families import Family
from training.recipe.schema import Recipe
from training.retention.distillation import UPPER_SHARE, interpolate

SHARES = (1.0, 0.75, 0.65)
"""The shares of the finetuned weights that each trial measures: all, and those of the presets."""


def families_of(release: int, recipe: Recipe) -> list[Family]:
    """The train split of a release of the project in the working directory."""
    with reading(create_engine(Settings().url)) as session:
        found = get_release(session, release)
        return training_families(session, found.id, split=Split.TRAIN, recipe=recipe)


def trial(text: str, options: argparse.Namespace) -> Iterator[dict[str, Any]]:
    """Train and measure. Yields a row for each share; 1 means the weights as trained."""
    from training.finetune.progress import Progress

    name, _, changes = text.partition(":")
    recipe = Recipe(interpolation=1.0).with_overrides(changes.split())
    base = load_encoder(recipe.base_encoder)
    before = {key: value.clone() for key, value in base.state_dict().items()}
    families = families_of(options.release, recipe)
    started = time.monotonic()
    with tempfile.TemporaryDirectory() as folder:
        trained = finetune(
            Data(families),
            recipe=recipe,
            seed=options.seed,
            folder=Path(folder),
            progress=Progress(),
        )
        seconds = round(time.monotonic() - started)
        model = load_encoder(str(trained.folder))
    after = {key: value.clone() for key, value in model.state_dict().items()}
    for share in SHARES:
        interpolate(model, before, after, share, upper=UPPER_SHARE if share < 1 else 1)
        figures = on_folders(options.data, model)
        yield {
            "trial": name,
            "changes": changes.strip(),
            "seed": options.seed,
            "share": share,
            "steps": trained.outcome.steps,
            "seconds": seconds,
            **figures,
        }


def main() -> None:
    """Run the trials one after another, and print each result immediately."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("trials", nargs="+", metavar="TRIAL")
    parser.add_argument("--release", type=int, required=True)
    parser.add_argument("--data", type=Path, action="append", required=True)
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args()
    share_the_processor()
    for text in options.trials:
        for row in trial(text, options):
            print(json.dumps(row), flush=True)


if __name__ == "__main__":
    main()
