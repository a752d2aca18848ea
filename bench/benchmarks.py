"""Evaluating benchmarks, compared with encoding every occurrence of their texts.

    python -m bench.benchmarks [--sentences 788] [--pairs 1383] [--rounds 1]

Hedgerow (`training.benchmarks.scorers.interface`) encodes every distinct text once. The baseline
calls `model.encode` in batches of 32, as the benchmarks' own scripts do, for each entry's input and
its three candidates (SemAntoNeg), and for each query and its two documents (NevIR). The texts are
synthetic, with the numbers and lengths of the real ones: 788 sentences in four forms, and 1,383
pairs of documents of 113 words that differ in a negation. Both use the built-in encoder, which is
loaded first. The bench prints the median seconds of the rounds and their ratios. It fails if the
accuracies differ by more than one item, or if a ratio is above 0.35 (SemAntoNeg) or 0.55 (NevIR).
"""

import argparse
import random
import statistics
import sys
import time
from collections.abc import Callable
from typing import Any

import numpy as np

from curation.encoders.loading import load_encoder
from curation.encoders.model_folders import DEFAULT_ENCODER
from training.benchmarks.definition import Benchmark
from training.benchmarks.scorers.embedding_models import BiEncoder
from training.benchmarks.scorers.interface import measure
from training.benchmarks.tasks.nevir import NevIR, pair
from training.benchmarks.tasks.semantoneg import suite
from training.evaluation.held_out import Forms

BATCH = 32
LIMITS = {"semantoneg": 0.35, "nevir": 0.55}
WARM_UP = ["A first text.", "The first texts take longer."]

NOUNS = "soup road task river lamp garden bridge letter engine window plan story".split()
OPPOSITES = [
    ("hot", "cold"),
    ("wide", "narrow"),
    ("easy", "hard"),
    ("old", "new"),
    ("safe", "risky"),
]
DOCUMENT_WORDS, QUERY_WORDS = 113, 11


def sentences(count: int) -> Benchmark[Any]:
    """A suite of this many sentences, each in four forms."""
    rng = random.Random(1)
    forms = []
    for number in range(count):
        subject = f"The {rng.choice(NOUNS)} of house {number}"
        one, other = rng.choice(OPPOSITES)
        forms.append(
            Forms(*(f"{subject} is {form}." for form in (f"not {one}", one, f"not {other}", other)))
        )
    return suite(forms)


def documents(count: int) -> Benchmark[Any]:
    """A benchmark with this many pairs of documents, each with two queries."""
    rng = random.Random(2)
    words = [*NOUNS, *(word for both in OPPOSITES for word in both), "the", "of", "and", "in"]
    items = []
    for number in range(count):
        text = " ".join(rng.choices(words, k=DOCUMENT_WORDS - 5))
        query = " ".join(rng.choices(words, k=QUERY_WORDS - 4))
        items.append(
            pair(
                str(number),
                (f"which {query} was not open?", f"which {query} was quite open?"),
                (f"{text}. It was not open.", f"{text}. It was quite open."),
            )
        )
    return NevIR(items)


def every_occurrence(model: Any, benchmark: Benchmark[Any]) -> float:
    """The score of the baseline, which encodes every occurrence of a text."""
    questions = benchmark.questions()
    texts = [text for question in questions for text in (question.text, *question.candidates)]
    rows = model.encode(texts, batch_size=BATCH, show_progress_bar=False, normalize_embeddings=True)
    sizes = np.cumsum([1 + len(question.candidates) for question in questions])[:-1]
    return benchmark.evaluate([part[1:] @ part[0] for part in np.split(rows, sizes)]).score


def timed(work: Callable[[], float]) -> tuple[float, float]:
    """The seconds that the work takes, and the score that it returns."""
    start = time.perf_counter()
    score = work()
    return time.perf_counter() - start, score


def compared(model: Any, benchmark: Benchmark[Any], *, rounds: int) -> bool:
    """Print the results of one benchmark, and return whether they meet the limits."""
    rounds_taken: list[tuple[float, float]] = []
    for _ in range(rounds):
        plain, expected = timed(lambda: every_occurrence(model, benchmark))
        ours, score = timed(lambda: measure(benchmark, BiEncoder(model)).score)
        rounds_taken.append((ours, plain))
    seconds = [statistics.median(column) for column in zip(*rounds_taken, strict=True)]
    ratio, limit = seconds[0] / seconds[1], LIMITS[benchmark.id]
    same = abs(score - expected) <= 100 / len(benchmark.items) + 1e-9
    print(
        f"{benchmark.title}: {len(benchmark.questions()):,} questions, "
        f"{len(benchmark.texts()):,} distinct texts; hedgerow {seconds[0]:.1f} s, every occurrence "
        f"{seconds[1]:.1f} s, ratio {ratio:.2f} (at most {limit}); scores {score:.1f} and "
        f"{expected:.1f}"
    )
    return same and ratio <= limit


def main() -> None:
    """Measure, and print a line for each benchmark."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--sentences", type=int, default=788)
    parser.add_argument("--pairs", type=int, default=1383)
    parser.add_argument("--rounds", type=int, default=1)
    given = parser.parse_args()
    model = load_encoder(DEFAULT_ENCODER)
    model.encode(WARM_UP)
    tests = [sentences(given.sentences), documents(given.pairs)]
    fine = [compared(model, test, rounds=given.rounds) for test in tests]
    if not all(fine):
        sys.exit("Expected equal scores and ratios within the limits.")


if __name__ == "__main__":
    main()
