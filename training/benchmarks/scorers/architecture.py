"""Which architecture a model has, and the scorer for it.

Sentence-transformers loads any model as any of its classes and puts new, random layers where some
are missing; here such a model is refused.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

from curation.encoders.adapter_folders import base_folder
from curation.encoders.checkpoint_kind import (
    MODULES,
    architectures,
    read_json,
    read_text,
    require_encoder,
    saved_as,
)
from curation.encoders.loading import load_encoder, load_model
from curation.encoders.model_folders import encoder_folder
from db.errors import HedgerowError
from training.benchmarks.scorers.embedding_models import (
    BiEncoder,
    Cross,
    Sparse,
    default_classes,
    score_label,
)
from training.benchmarks.scorers.interface import Scorer
from training.benchmarks.scorers.late_interaction import LateInteraction
from training.benchmarks.scorers.lexical import Random, TfIdf

KINDS = {
    BiEncoder.architecture: "SentenceTransformer",
    Cross.architecture: "CrossEncoder",
    Sparse.architecture: "SparseEncoder",
    LateInteraction.architecture: "MultiVectorEncoder",
}
"""Architecture → sentence-transformers' class."""

WITHOUT_MODEL = (TfIdf.architecture, Random.architecture)

ARCHITECTURES = (*KINDS, *WITHOUT_MODEL, "chat")
"""All that a benchmark can be run with; a chat model is made by ``chat.Chat`` itself."""

_OLD_COLBERT = "ColBERT"
"""What PyLate wrote as the model's type before sentence-transformers had the architecture."""


def load_scorer(name: str, architecture: str = "") -> Scorer:
    """The scorer of a model, or of an architecture that needs none.

    Args:
        name: as in ``curation.encoders.loading.load_encoder``; no matter where no model is needed.
        architecture: one of `ARCHITECTURES` but 'chat'; '' takes what the model's files say.

    Raises:
        HedgerowError: no such model or architecture, or the model has another one.
    """
    if architecture == TfIdf.architecture:
        return TfIdf()
    if architecture == Random.architecture:
        return Random()
    if architecture and architecture not in KINDS:
        raise HedgerowError(
            f"Expected an architecture, found {architecture[:60]!r}; there are "
            f"{', '.join(ARCHITECTURES)}."
        )
    return _scorer(name, fitting(encoder_folder(name), architecture, name=name))


def fitting(folder: Path, architecture: str = "", *, name: str) -> str:
    """The architecture that a model is run with.

    Args:
        architecture: the one that is asked for; '' takes what the files say.
        name: of the model, for people.

    Raises:
        HedgerowError: the model has another one, or none of `KINDS`.
    """
    found = architecture_of(folder)
    wanted = architecture or found
    if wanted != found and not (wanted == Sparse.architecture and _masked_language_model(folder)):
        raise HedgerowError(
            f"Expected a {wanted} in {name!r}, found a {found}; choose that architecture, or "
            "another model."
        )
    if wanted == Cross.architecture:
        _require_score(folder)
    return wanted


def _require_score(folder: Path) -> None:
    """Refuse a classifier whose configuration says that it gives no score.

    Raises:
        HedgerowError: as `score_label`.
    """
    config = read_json(folder / "config.json")
    if not any(name.endswith("ForSequenceClassification") for name in architectures(config)):
        return  # sentence-transformers gives it one number
    named = config.get("id2label")
    if isinstance(named, dict) and named and all(str(number).isdecimal() for number in named):
        score_label({int(number): str(name) for number, name in named.items()})
    elif not named and isinstance(count := config.get("num_labels", 2), int):
        score_label(default_classes(count))  # transformers leaves its default of two out


def _scorer(name: str, architecture: str) -> Scorer:
    if architecture == BiEncoder.architecture:
        return scorer_for(load_encoder(name), architecture)
    return scorer_for(load_model(name, KINDS[architecture]), architecture)


def scorer_for(model: Any, architecture: str) -> Scorer:
    """The scorer of a loaded model.

    Args:
        model: of the class in `KINDS`.

    Raises:
        HedgerowError: it is a classifier that gives no score.
    """
    makers: dict[str, Any] = {
        BiEncoder.architecture: BiEncoder,
        Cross.architecture: Cross,
        Sparse.architecture: Sparse,
        LateInteraction.architecture: LateInteraction,
    }
    scorer: Scorer = makers[architecture](model)
    return scorer


def architecture_of(folder: Path) -> str:
    """What the files of a model say that it is; a plain transformer is a bi-encoder.

    An adapter is what its base is.

    Raises:
        HedgerowError: they are damaged, or it is a transformer of no such kind, such as one that
            writes text.
    """
    folder = base_folder(folder) or folder
    kind = saved_as(folder)
    if kind == _OLD_COLBERT:
        return LateInteraction.architecture
    for architecture, name in KINDS.items():
        if kind == name:
            return architecture
    named = architectures(read_json(folder / "config.json"))
    if "HF_ColBERT" in named:
        return LateInteraction.architecture
    if any(name.endswith("ForSequenceClassification") for name in named):
        return Cross.architecture
    if "SpladePooling" in read_text(folder / MODULES):
        return Sparse.architecture
    require_encoder(folder)
    return BiEncoder.architecture


def _masked_language_model(folder: Path) -> bool:
    """Whether the model has a head over its vocabulary, all that SPLADE needs."""
    named = architectures(read_json(folder / "config.json"))
    plain = not (folder / MODULES).is_file()
    return plain and any(name.endswith("ForMaskedLM") for name in named)
