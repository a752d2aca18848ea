"""Training with the loss `family`, against sentence-transformers' trainer on the same flat triples.

    python -m bench.training [--triples 4000] [--texts 128] [--rounds 1] [--precision fp32 bf16]
                             [--repeat 1] [--room 0] [--same-rate] [--device cuda]

Ours is `training.finetune.fitting` as a run calls it. The baseline is SentenceTransformerTrainer
with MultipleNegativesRankingLoss and batches without duplicates, on the triples that the same
families give: a family with P positives and N negatives gives P x N of them, which is what is
counted for both. Ours compares a triple with the negations of its own family alone, the library
with all of the batch, too. Batches have about the same number of texts: so many families, or a
third as many flat triples as these families have texts. Equal for both are also the base encoder
(MiniLM), the triples and how many are seen, scale, AdamW with its peak learning rate, decay and
schedule (over the steps of each), the cut of the gradient, all weights trained, dropout, longest
text, precision, device and threads, and dense gradients of words. Ours makes fewer steps, as its
batches have more triples. `--room` gives it what the library's loss has none of, and the default
recipe has 0.12 (`negation_margin`).

What a recipe does not set is set here for the time of a training: see `_as_theirs`.

The families are those of the training part of a release of the starter corpus; `--repeat` takes
each so many times. Each round trains both from the base encoder with a seed of its own, and they
take turns in going first. Timed are the steps alone: no loading, saving or measuring. Prints
seconds, triples per second, and the figures of the validation part
(`training.evaluation.held_out`); the ratio is the rounds' median. Expected: at least 3 times, with
`ranked` at least as good.

bf16 is tried beside fp32 where the machine has instructions for it. On a GPU the peak of its memory
and its mean utilisation are printed, too. `--triples 0` takes all there are.
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
from bench.gpu import finish_gpu, let_gpu_be_fast, on_gpu, watched_gpu
from curation.corpora.corpus import STARTER
from curation.corpora.loading import load
from curation.encoders.loading import load_encoder
from curation.encoders.model_folders import DEFAULT_ENCODER
from curation.project.opening import open_project
from curation.release.freezing import create_release
from db.engine import writing
from db.models import Split
from db.settings import Settings
from hedgerow.losses.families import Family
from training.data.families import training_families
from training.data.sampling import as_triples, count_triples
from training.evaluation.held_out import FAMILIES, QUESTIONS, RANKED, HeldOut
from training.finetune import losses
from training.finetune.compute import devices
from training.finetune.compute.devices import share_the_processor, uses_bf16
from training.finetune.fitting import Data, finetune
from training.finetune.setup import set_dropout
from training.recipe.schema import Recipe

LIMIT = 3.0
WARM_UP_STEPS = 2
ROOM = 2
"""Anchors for each triple of a batch: with fewer, batches without duplicates run out."""

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
    """What both train on: one pass over the families in batches of `size`."""

    families: list[Family]
    size: int
    held_out: HeldOut
    same_rate: bool = False
    room: float = 0.0

    @property
    def triples(self) -> int:
        """That the families give."""
        return sum(map(count_triples, self.families))

    @property
    def flat_triples(self) -> list[list[str]]:
        """The texts of each of them."""
        return [
            [member.text for member in row]
            for family in self.families
            for row in as_triples([family])
        ]

    def recipe(self, *, max_steps: int | None = None) -> Recipe:
        """That of our training."""
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
        """How many times as many triples a step of ours has."""
        return self.triples / len(self.families) * self.size / self.flat_size

    @property
    def flat_size(self) -> int:
        """Flat triples a batch, with as many texts as a batch of families."""
        texts = statistics.fmean(map(len, self.families)) * self.size
        return round(texts / 3)


class Outcome(NamedTuple):
    """What one training took and came to; `gpu` says what it took there."""

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
    """When our training's steps began and ended, and how many there were."""

    begun = ended = 0.0
    steps = 0


def clock(times: Times) -> Any:
    """The progress of our training, of which only the time of the steps is kept."""
    from training.finetune.progress import Progress

    class Clock(Progress):
        def update(self, step: int, total: int, message: str) -> None:
            if total and step == 0:
                times.begun = time.perf_counter()
            if total and step == total:
                finish_gpu()
                times.ended, times.steps = time.perf_counter(), step

    return Clock()


def starter_families(home: Path) -> tuple[list[Family], list[Family]]:
    """Those of the training and the validation part of a release of the starter corpus."""
    engine = open_project(Settings(home=home, database_url=""))
    with writing(engine) as session:
        load(session, STARTER)
        release = create_release(session, name="Bench").release
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
    """Whole batches of families with about so many texts each, about so many triples in all."""
    size = round(texts / statistics.fmean(map(len, families)))
    everything = list(families) * repeat
    counts = list(itertools.accumulate(map(count_triples, everything)))
    wanted = sum(count <= triples for count in counts) if triples else len(everything)
    batches = max(1, wanted // size)
    work = Work(everything[: batches * size], size, held_out, same_rate, room)
    anchors = len({family[0].text for family in work.families})
    if anchors < ROOM * work.flat_size:
        raise SystemExit(
            f"Expected {ROOM * work.flat_size} anchors or more for batches of {work.flat_size} "
            f"triples without a common text, found {anchors}; raise --triples or lower --texts."
        )
    return work


@contextmanager
def _as_theirs(precision: str) -> Iterator[None]:
    """Have our training do as the library's does, in what no recipe says: the precision, hedges
    that count as much as paraphrases, dense gradients of words, and no checkpoints."""
    from training.finetune import trainer

    with ExitStack() as stack:
        stack.enter_context(patch.object(devices, "uses_bf16", lambda _: precision == "bf16"))
        stack.enter_context(patch.object(losses, "HEDGE_WEIGHT", 1.0))
        stack.enter_context(patch.object(trainer, "lazy_words", lambda _: None))
        stack.enter_context(patch.object(trainer, "CHECKPOINT_EVERY", 10**9))
        yield


def ours(work: Work, precision: str, *, seed: int, max_steps: int | None = None) -> Outcome:
    """Train with the loss over families."""
    times = Times()
    with (
        _as_theirs(precision),
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
    return Outcome(times.ended - times.begun, work.triples, times.steps, figures, gpu.summary)


def theirs(work: Work, precision: str, *, seed: int, max_steps: int | None = None) -> Outcome:
    """Train sentence-transformers' way on the flat triples."""
    from transformers import set_seed

    set_seed(seed)
    let_gpu_be_fast()
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
    """Train both in turn and print what came of it; whether ours is as much faster as it should."""
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
        f"{precision}  triples/s, family to sentence-transformers: {ratio:.2f} "
        f"(at least {LIMIT:g}); ranked {ranked[0]:.4f} to {ranked[1]:.4f}, "
        f"from {work.held_out.before[RANKED]:.4f}"
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
    parser.add_argument("--triples", type=int, default=4_000)
    parser.add_argument("--texts", type=int, default=128, help="of a batch")
    parser.add_argument("--rounds", type=int, default=1)
    parser.add_argument("--repeat", type=int, default=1)
    parser.add_argument("--room", type=float, default=0.0, help="for negations, in our loss")
    parser.add_argument("--same-rate", action="store_true", help="the same peak for both")
    parser.add_argument("--precision", nargs="+", choices=PRECISIONS)
    parser.add_argument("--device", choices=("cpu", "cuda"))
    return parser.parse_args()


def main() -> None:
    """Measure and print."""
    options = _options()
    share_the_processor()  # as a run does
    if options.device == "cpu":
        os.environ["CUDA_VISIBLE_DEVICES"] = ""  # read when CUDA is first asked for
    if options.device == "cuda" and not on_gpu():
        raise SystemExit("There is no CUDA device that PyTorch can use here; take --device cpu.")
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
    """Threads that one operation of PyTorch uses."""
    import torch

    return torch.get_num_threads()


if __name__ == "__main__":
    main()
