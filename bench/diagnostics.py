"""Measuring the cosine of every variant, compared with encoding both texts of every pair.

    python -m bench.diagnostics [--anchors 0] [--rounds 1]

Hedgerow does the work of `hedgerow diagnose`: it reads the texts, encodes each distinct text once
in order of length, and stores the cosines. The baseline calls `model.encode` for the first texts of
all pairs and for the second texts, in batches of 32 (which `encode` also sorts by length). The data
are the starter corpus, or the variants of its first --anchors anchors. The encoder is loaded first,
and the two alternate. The bench prints the median seconds of the rounds and their ratio, which
should be at most 0.65. It fails if the cosines differ by more than 0.00001.
"""

import argparse
import statistics
import tempfile
import time
from pathlib import Path
from typing import Any

import numpy as np
from sqlalchemy import Engine, delete, select
from sqlmodel import col

from curation.corpora.corpus import STARTER
from curation.decisions.storing import chunks
from curation.diagnostics.cosines import store_cosines, variant_texts
from curation.encoders.loading import load_encoder
from curation.encoders.model_folders import DEFAULT_ENCODER
from curation.encoders.registered import register_encoder
from curation.importing.corpora import load
from curation.overview.project_settings import open_project
from db.engine import reading, writing
from db.models import Variant, VariantCosine
from db.settings import Settings

BATCH = 32
LIMIT, TOLERANCE = 0.65, 1e-5
WARM_UP = ["A first text.", "The first texts take longer."]


def make_project(home: Path, *, anchors: int) -> Engine:
    """A project with the starter corpus.

    Args:
        anchors: leave only the variants of this many anchors unmeasured; 0 for all.
    """
    engine = open_project(Settings(home=home, database_url=""))
    with writing(engine) as session:
        load(session, STARTER)
        encoder = register_encoder(session, name=DEFAULT_ENCODER, hash_="bench")
        if anchors:  # mark the others as measured
            for variant_id in session.execute(
                select(col(Variant.id)).where(col(Variant.anchor_id) > anchors)
            ).scalars():
                session.add(VariantCosine(encoder_id=encoder.id, variant_id=variant_id, cosine=0.0))
    return engine


def unmeasured(engine: Engine) -> dict[int, tuple[str, str]]:
    """Id of each variant without a cosine → the texts of its anchor and of the variant."""
    texts: dict[int, tuple[str, str]] = {}
    with reading(engine) as session:
        measured = select(col(VariantCosine.variant_id))
        query = select(col(Variant.id)).where(col(Variant.id).not_in(measured))
        for ids in chunks(session.execute(query).scalars()):
            texts |= variant_texts(session, ids)
    return texts


def every_pair(model: Any, pairs: list[tuple[str, str]]) -> np.ndarray:
    """The baseline: the cosine of the two texts of every pair, shape (pairs,)."""
    options = {"batch_size": BATCH, "show_progress_bar": False, "normalize_embeddings": True}
    left, right = (model.encode(list(texts), **options) for texts in zip(*pairs, strict=True))
    cosines: np.ndarray = np.einsum("ij,ij->i", left, right)
    return cosines


def ours(engine: Engine, model: Any, ids: list[int]) -> tuple[float, np.ndarray]:
    """The seconds, and the stored cosines, which are then deleted for the next round."""
    start = time.perf_counter()
    store_cosines(engine, model, encoder_id=1, report=lambda done, total, message: None)
    taken = time.perf_counter() - start
    with writing(engine) as session:
        stored = select(col(VariantCosine.variant_id), col(VariantCosine.cosine))
        cosines = dict(session.execute(stored).all())
        for some in chunks(ids):
            session.execute(delete(VariantCosine).where(col(VariantCosine.variant_id).in_(some)))
    return taken, np.array([cosines[key] for key in ids])


def main() -> None:
    """Measure, and print the medians and their ratio."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--anchors", type=int, default=0)
    parser.add_argument("--rounds", type=int, default=1)
    options = parser.parse_args()
    model = load_encoder(DEFAULT_ENCODER)
    model.encode(WARM_UP)
    seconds: dict[str, list[float]] = {"hedgerow": [], "every pair": []}
    with tempfile.TemporaryDirectory() as folder:
        engine = make_project(Path(folder), anchors=options.anchors)
        texts = unmeasured(engine)
        for _ in range(options.rounds):
            taken, cosines = ours(engine, model, list(texts))
            seconds["hedgerow"].append(taken)
            start = time.perf_counter()
            expected = every_pair(model, list(texts.values()))
            seconds["every pair"].append(time.perf_counter() - start)
            difference = float(np.abs(cosines - expected).max())
            if difference > TOLERANCE:
                raise SystemExit(f"The cosines differ by up to {difference:.6f}.")
        engine.dispose()
    print(f"{len(texts):,} variants; the cosines differ by at most {difference:.7f}")
    medians = {name: statistics.median(times) for name, times in seconds.items()}
    for name, median in medians.items():
        print(f"{name:11} {median:7.1f} s")
    ratio = medians["hedgerow"] / medians["every pair"]
    print(f"hedgerow / every pair  {ratio:.2f} (at most {LIMIT})")


if __name__ == "__main__":
    main()
