"""Training with the loss `family`, compared with sentence-transformers' trainer on flat triples.

    python -m bench.training [--triples 4000] [--texts 128] [--rounds 1] [--precision fp32 bf16]
                             [--repeat 1] [--room 0] [--same-rate] [--device cuda]

Hedgerow trains with `training.finetune.finetuning`, as a run does. The baseline is
SentenceTransformerTrainer with MultipleNegativesRankingLoss and batches without duplicates, on the
triples of the same families. A family with P positives and N negatives has P x N triples, and the
bench counts these triples for both. Hedgerow compares each triple only with the negations of its
own family; the library also compares it with the rest of the batch.

A batch of families and a batch of flat triples have about the same number of texts. Both trainings
also share the base encoder (MiniLM), the triples and their number, the scale, AdamW with its weight
decay and schedule (over the steps of each training), gradient clipping, full finetuning, dropout,
the maximum sequence length, precision, device, threads, and dense gradients of word embeddings.
Hedgerow takes fewer steps, because its batches contain more triples, and its peak learning rate is
higher in proportion; `--same-rate` uses the same rate for both. `--room` sets a negation margin for
Hedgerow, which the library's loss does not have (the default recipe has 0.12). During a training,
`_matching_the_library` sets what a recipe cannot set.

The families come from the train split of a release of the starter corpus. `--triples` limits their
triples (0 for all), and `--repeat` repeats each family. Each round trains both from the base
encoder with a new seed, and the two alternate in going first. The time covers the steps only,
without loading, saving and evaluation. The bench prints seconds, triples per second, the figures on
the validation split (`training.evaluation.held_out`), and the median ratio of the rounds. Hedgerow
should be at least 3 times as fast, with an equal or higher share of correctly ranked triples.

The bench also measures bf16 if the machine supports it. On a GPU, it prints the peak memory and the
mean utilisation.
"""

import argparse
import itertools
import os
import statistics
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any, NamedTuple
from unittest.mock import patch

from bench.baselines.flat_trainer import make_trainer, timed
from bench.gpu import allow_nondeterminism, finish_gpu, on_gpu, watched_gpu
from curation.corpora.corpus import STARTER
from curation.encoders.loading import load_encoder
from curation.encoders.model_folders import DEFAULT_ENCODER
from curation.importing.corpora import load
from curation.overview.project_settings import open_project
from curation.release.freezing import create_release
from db.engine import reading, writing
from db.models import Split
from db.settings import Settings
from training.data.families import training_families
from training.data.sampling import as_triples, count_triples
from training.evaluation.held_out import FAMILIES, QUESTIONS, RANKED, HeldOut
from training.finetune.compute import devices
from training.finetune.compute.devices import share_the_processor, uses_bf16
from training.finetune.finetuning import Data, finetune
from training.finetune.setup import set_dropout
from training.losses import contrastive
from training.losses.families import Family
from training.recipe.schema import Recipe

LIMIT = 3.0
WARM_UP_STEPS = 2
ROOM = 2
"""The minimum number of anchors per triple of a batch. With fewer anchors, the sampler cannot fill
batches without duplicates."""

RECIPE = Recipe(
    loss="family",
    scale=20.0,
    learning_rate=5e-5,
    max_seq_length=128,
    epochs=1.0,
    dropout=0.0,
    retention=0.0,
    negation_margin=0.0,
    order_weight=0.0,
)

PRECISIONS = ("fp32", "bf16")


class Work(NamedTuple):
    """The data of both trainings: one pass over the families in batches of ``size`` families.

    Attributes:
        same_rate: whether both use the same peak learning rate.
        room: the negation margin of the family loss.
    """

    families: list[Family]
    size: int
    held_out: HeldOut
    same_rate: bool = False
    room: float = 0.0

    @property
    def triples(self) -> int:
        """The number of triples of the families."""
        return sum(map(count_triples, self.families))

    @property
    def flat_triples(self) -> list[list[str]]:
        """The texts of each triple."""
        return [
            [member.text for member in row]
            for family in self.families
            for row in as_triples([family])
        ]

    def recipe(self, *, max_steps: int | None = None) -> Recipe:
        """The recipe of Hedgerow's training."""
        return RECIPE.model_copy(
            update={
                "batch_size": self.size,
                "max_steps": max_steps,
                "negation_margin": self.room,
                "learning_rate": RECIPE.learning_rate * (1 if self.same_rate else self.larger),
            }
        )

    @property
    def larger(self) -> float:
        """The triples in a step of Hedgerow's, divided by those in a step of the baseline."""
        return self.triples / len(self.families) * self.size / self.flat_size

    @property
    def flat_size(self) -> int:
        """The flat triples per batch that have as many texts as a batch of families."""
        texts = statistics.fmean(map(len, self.families)) * self.size
        return round(texts / 3)


class Outcome(NamedTuple):
    """The time and the results of one training. ``gpu`` describes its use of the GPU."""

    seconds: float
    triples: int
    steps: int
    figures: dict[str, float]
    gpu: str = ""

    @property
    def pace(self) -> float:
        """Triples per second."""
        return self.triples / self.seconds


class Times:
    """The times of the first and last step of Hedgerow's training, and the number of steps."""

    started = ended = 0.0
    steps = 0


def clock(times: Times) -> Any:
    """A progress object that records only the times of the steps."""
    from training.finetune.progress import Progress

    class Clock(Progress):
        def update(self, step: int, total: int, message: str) -> None:
            if total and step == 0:
                times.started = time.perf_counter()
            if total and step == total:
                finish_gpu()
                times.ended, times.steps = time.perf_counter(), step

    return Clock()


def starter_families(home: Path) -> tuple[list[Family], list[Family]]:
    """The families in the train and validation splits of a release of the starter corpus."""
    engine = open_project(Settings(home=home, database_url=""))
    with writing(engine) as session:
        load(session, STARTER)
    release = create_release(engine, name="Bench").release
    with reading(engine) as session:
        parts = [
            training_families(session, release.id, split=split, recipe=RECIPE)
            for split in (Split.TRAIN, Split.VALIDATION)
        ]
    engine.dispose()
    return parts[0], parts[1]


def work_on(
    families: Sequence[Family],
    held_out: HeldOut,
    *,
    texts: int,
    triples: int,
    repeat: int,
    same_rate: bool,
    room: float,
) -> Work:
    """Select whole batches of families.

    Args:
        texts: the approximate number of texts per batch.
        triples: the approximate number of triples; 0 for all.
        repeat: the number of times that each family occurs.
        same_rate, room: as in `Work`.
    """
    size = round(texts / statistics.fmean(map(len, families)))
    everything = list(families) * repeat
    counts = list(itertools.accumulate(map(count_triples, everything)))
    wanted = sum(count <= triples for count in counts) if triples else len(everything)
    batches = max(1, wanted // size)
    work = Work(everything[: batches * size], size, held_out, same_rate, room)
    anchors = len({family[0].text for family in work.families})
    if anchors < ROOM * work.flat_size:
        raise SystemExit(
            f"Expected at least {ROOM * work.flat_size} anchors for batches of {work.flat_size} "
            f"triples without duplicates, found {anchors}; raise --triples or lower --texts."
        )
    return work


@contextmanager
def _matching_the_library(precision: str) -> Iterator[None]:
    """Match the library's training where a recipe has no setting.

    This sets the precision and the same weight for hedges and paraphrases, and turns off sparse
    gradients of word embeddings and checkpoints.
    """
    from training.finetune import trainer

    with ExitStack() as stack:
        stack.enter_context(patch.object(devices, "uses_bf16", lambda _: precision == "bf16"))
        stack.enter_context(patch.object(contrastive, "HEDGE_WEIGHT", 1.0))
        stack.enter_context(patch.object(trainer, "lazy_words", lambda _: None))
        stack.enter_context(patch.object(trainer, "CHECKPOINT_EVERY", 10**9))
        yield


def ours(work: Work, precision: str, *, seed: int, max_steps: int | None = None) -> Outcome:
    """Train with Hedgerow's loss over families."""
    times = Times()
    with (
        _matching_the_library(precision),
        tempfile.TemporaryDirectory() as folder,
        watched_gpu() as gpu,
    ):
        trained = finetune(
            Data(work.families),
            recipe=work.recipe(max_steps=max_steps),
            seed=seed,
            folder=Path(folder) / "run",
            progress=clock(times),
        )
        figures = work.held_out.figures(load_encoder(str(trained.folder)))
    return Outcome(times.ended - times.started, work.triples, times.steps, figures, gpu.summary)


def theirs(work: Work, precision: str, *, seed: int, max_steps: int | None = None) -> Outcome:
    """Train with sentence-transformers' trainer on flat triples."""
    from transformers import set_seed

    set_seed(seed)
    allow_nondeterminism()
    model = load_encoder(DEFAULT_ENCODER)
    set_dropout(model, RECIPE)
    limit = model.max_seq_length
    model.max_seq_length = min(RECIPE.max_seq_length or limit, limit)
    steps = max_steps or max(1, work.triples // work.flat_size)
    with tempfile.TemporaryDirectory() as folder, watched_gpu() as gpu:
        trainer = make_trainer(
            model,
            work.flat_triples,
            recipe=RECIPE,
            bf16=precision == "bf16",
            seed=seed,
            steps=steps,
            batch_size=work.flat_size,
            folder=folder,
        )
        seconds, steps = timed(trainer)
    model.max_seq_length = limit
    figures = work.held_out.figures(model.eval())
    return Outcome(seconds, steps * work.flat_size, steps, figures, gpu.summary)


def compare(work: Work, precision: str, *, rounds: int) -> bool:
    """Train both, print the results, and return whether Hedgerow meets the limits."""
    for train in (ours, theirs):
        train(work, precision, seed=0, max_steps=WARM_UP_STEPS)
    found: dict[str, list[Outcome]] = {"family": [], "sentence-transformers": []}
    arms = [("family", ours), ("sentence-transformers", theirs)]
    for number in range(1, rounds + 1):
        for name, train in arms if number % 2 else arms[::-1]:
            outcome = train(work, precision, seed=number)
            found[name].append(outcome)
            print(f"{precision}  round {number}  {name:21}  {_in_words(outcome)}", flush=True)
    ratios = [a.pace / b.pace for a, b in zip(*found.values(), strict=True)]
    ratio = statistics.median(ratios)
    ranked = [statistics.fmean(o.figures[RANKED] for o in arm) for arm in found.values()]
    print(
        f"{precision}  family / sentence-transformers  {ratio:.2f} (at least {LIMIT:g}); "
        f"ranked {ranked[0]:.4f} and {ranked[1]:.4f}, before {work.held_out.before[RANKED]:.4f}"
    )
    return ratio >= LIMIT and ranked[0] >= ranked[1]


def _in_words(outcome: Outcome) -> str:
    figures = "  ".join(f"{n} {outcome.figures[n]:.4f}" for n in (RANKED, FAMILIES, QUESTIONS))
    return (
        f"{outcome.seconds:7.1f} s  {outcome.steps:5,} steps  {outcome.pace:8,.1f} triples/s  "
        f"{figures}  {outcome.gpu}".rstrip()
    )


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--triples", type=int, default=4_000, help="number of triples; 0 for all")
    parser.add_argument("--texts", type=int, default=128, help="texts per batch")
    parser.add_argument("--rounds", type=int, default=1)
    parser.add_argument("--repeat", type=int, default=1)
    parser.add_argument(
        "--room", type=float, default=0.0, help="negation margin of the family loss"
    )
    parser.add_argument("--same-rate", action="store_true", help="use one peak rate for both")
    parser.add_argument("--precision", nargs="+", choices=PRECISIONS)
    parser.add_argument("--device", choices=("cpu", "cuda"))
    return parser.parse_args()


def main() -> None:
    """Measure, and print the results."""
    options = _options()
    share_the_processor()  # runs do this, too
    if options.device == "cpu":
        os.environ["CUDA_VISIBLE_DEVICES"] = ""  # PyTorch reads it when it initialises CUDA
    if options.device == "cuda" and not on_gpu():
        raise SystemExit("PyTorch finds no CUDA device on this machine; use --device cpu.")
    base = load_encoder(DEFAULT_ENCODER)
    with tempfile.TemporaryDirectory() as home:
        families, validation = starter_families(Path(home))
    work = work_on(
        families,
        HeldOut(base, validation),
        texts=options.texts,
        triples=options.triples,
        repeat=options.repeat,
        same_rate=options.same_rate,
        room=options.room,
    )
    texts = sum(map(len, work.families))
    print(
        f"{work.triples:,} triples of {len(work.families):,} families with {texts:,} texts; "
        f"batches of {work.size} families or {work.flat_size} triples; peak learning rates "
        f"{work.recipe().learning_rate:.1e} and {RECIPE.learning_rate:.1e}; "
        f"{len(validation):,} families held out; {base.device.type}, {torch_threads()} threads"
    )
    precisions = options.precision or PRECISIONS[: 1 + uses_bf16(base)]
    fine = [compare(work, precision, rounds=options.rounds) for precision in precisions]
    raise SystemExit(0 if all(fine) else 1)


def torch_threads() -> int:
    """The number of threads per PyTorch operation."""
    import torch

    return torch.get_num_threads()


if __name__ == "__main__":
    main()
