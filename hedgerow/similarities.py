"""The similarity of sentence pairs according to one or two models."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias

from curation.encoders.loading import load_encoder
from curation.encoders.registered import encoder_source
from db.engine import reading
from db.errors import HedgerowError
from hedgerow.home import Home
from hedgerow.progress import quietly
from training.evaluation.similarity import FIGURE_1, ProbePair, probe_rows, probe_similarities

if TYPE_CHECKING:
    import pandas as pd
    from sentence_transformers import SentenceTransformer

    Model: TypeAlias = SentenceTransformer | str | Path
    """A loaded encoder, a folder, or a name: of an encoder in the project, of the built-in encoder,
    or of a model on the model hub."""


def similarities(
    home: Home, model: Model, pairs: Iterable[Sequence[str]] | None, before: Model | None
) -> pd.DataFrame:
    """See `hedgerow.Project.similarity`."""
    import pandas as pd

    probes = FIGURE_1 if pairs is None else [_probe(pair) for pair in pairs]
    with quietly():
        old = probe_similarities(encoder(home, before), probes) if before is not None else None
        new = probe_similarities(encoder(home, model), probes)
    rows = [row[:-1] for row in probe_rows(probes, before=old, after=new)]
    return pd.DataFrame(rows, columns=["anchor", "text", "label", "series", "cosine"])


def encoder(home: Home, model: Model) -> Any:
    """Load an encoder, unless it is already loaded.

    Raises:
        HedgerowError: as in `curation.encoders.loading.load_encoder`.
    """
    if not isinstance(model, str | Path):
        return model
    with reading(home.engine) as session:
        return load_encoder(encoder_source(session, home.settings, str(model)))


def _probe(pair: Sequence[str]) -> ProbePair:
    texts = tuple(pair)
    if isinstance(pair, str) or not 2 <= len(texts) <= 3:
        raise HedgerowError(
            f"Expected pairs of sentences such as ('It works.', 'It fails.'), found {pair!r}."
        )
    return ProbePair(*map(str, texts), *[""] * (3 - len(texts)))
