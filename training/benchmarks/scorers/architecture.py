"""The architecture of a model, and its scorer.

Sentence-transformers loads any model as any of its classes and fills in missing layers with random
weights. Here such a model is refused.
"""

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from curation.encoders.checkpoint_files import (
    MODULES,
    architectures,
    base_folder,
    read_json,
    read_text,
    require_encoder,
    saved_as,
    writes_text,
)
from curation.encoders.model_folders import encoder_folder, is_plugged_in
from curation.plug_ins import PlugInGroup, PlugIns, failures_of
from db.errors import HedgerowError, first_line
from training.benchmarks.definition import Asks, Question
from training.benchmarks.scorers.dpr import Dpr, halves_of
from training.benchmarks.scorers.embedding_models import (
    BiEncoder,
    Cross,
    Sparse,
    default_classes,
    score_label,
)
from training.benchmarks.scorers.interface import (
    OWN_PROMPTS,
    Pair,
    Progress,
    Prompts,
    Random,
    Scorer,
    TfIdf,
)
from training.benchmarks.scorers.late_interaction import LateInteraction
from training.benchmarks.scorers.monot5 import T5, MonoT5
from training.benchmarks.scorers.prompted.causal import Causal
from training.benchmarks.scorers.prompted.chat import Chat

KINDS = {
    BiEncoder.architecture: "SentenceTransformer",
    Cross.architecture: "CrossEncoder",
    Sparse.architecture: "SparseEncoder",
    LateInteraction.architecture: "MultiVectorEncoder",
}
"""Architecture → sentence-transformers' class."""

_BUILT_IN: tuple[type[Scorer], ...] = (
    BiEncoder,
    Cross,
    Sparse,
    LateInteraction,
    MonoT5,
    Causal,
    Dpr,
    TfIdf,
    Random,
    Chat,
)

SCORERS = {kind.architecture: kind for kind in _BUILT_IN}
"""Architecture → built-in class. `load_scorer` creates all of them except `Chat`."""

PLUG_INS = PlugInGroup(
    "hedgerow.scorers",
    Scorer,  # type: ignore[type-abstract]
    noun="scorer",
    reserved=SCORERS,
    attributes={"takes": str, "takes_prompts": bool},
)

WITHOUT_MODEL = tuple(name for name, kind in SCORERS.items() if kind.takes == "nothing")

KNOWN_FROM_FILES = (*KINDS, MonoT5.architecture, Causal.architecture)
"""The architectures that can be recognised from a model's files."""

_OLD_COLBERT = "ColBERT"
"""The model type in PyLate's files from before sentence-transformers had this architecture."""


def known_architectures() -> tuple[str, ...]:
    """All architectures, including plug-ins, which are not imported."""
    return (*SCORERS, *PLUG_INS.names())


def installed_plug_ins() -> PlugIns[Scorer]:
    """The scorers of other packages, after importing them."""
    return PLUG_INS.load_all()


def scorer_class(architecture: str) -> type[Scorer]:
    """The class of an architecture.

    Raises:
        HedgerowError: there is none of this name, or a plug-in of this name can't be loaded.
    """
    if built_in := SCORERS.get(architecture):
        return built_in
    known = known_architectures()
    if architecture in known:
        return PLUG_INS.load(architecture)
    raise HedgerowError(
        f"Expected an architecture ({', '.join(known)}), found {architecture[:60]!r}."
    )


def load_scorer(name: str, architecture: str = "", *, prompts: Prompts = OWN_PROMPTS) -> Scorer:
    """The scorer of a model, or of an architecture that needs none.

    Args:
        name: as in ``curation.encoders.loading.load_encoder``; for DPR, both encoders; ignored if
            no model is needed.
        architecture: one of `known_architectures` except 'chat'; '' means the architecture in the
            model's files.

    Raises:
        HedgerowError: no such model or architecture, or the model has another one.
    """
    architecture = architecture or known_from_files(name)
    kind = scorer_class(architecture)
    require_prompts_fit(architecture, prompts)
    if architecture not in SCORERS:
        return PluggedIn(kind, architecture, name, prompts)
    if architecture in KNOWN_FROM_FILES and not (is_plugged_in(name) and kind is BiEncoder):
        fitting(encoder_folder(name), architecture, name=name)
    scorer = kind.load(name)
    scorer.given_prompts = prompts
    return scorer


def known_from_files(name: str) -> str:
    """The architecture in a model's files. A model on the hub is downloaded.

    A plug-in's encoder is a bi-encoder.

    Raises:
        HedgerowError: as in `architecture_of`, or there is no such model.
    """
    if is_plugged_in(name):
        return BiEncoder.architecture
    return Dpr.architecture if halves_of(name) else architecture_of(encoder_folder(name))


def require_prompts_fit(architecture: str, prompts: Prompts) -> None:
    """Refuse prompts for an architecture that does not use them.

    Raises:
        HedgerowError: the architecture does not use them, or as in `scorer_class`.
    """
    if prompts != OWN_PROMPTS and not scorer_class(architecture).takes_prompts:
        raise HedgerowError(
            f"The architecture {architecture} has no query and document prompts, but some were "
            "given; remove them."
        )


def fitting(folder: Path, architecture: str = "", *, name: str) -> str:
    """The architecture to use for a model.

    Args:
        architecture: the requested architecture; '' means the one in the files.
        name: the model's name for people.

    Raises:
        HedgerowError: the model has another one, or none of `KNOWN_FROM_FILES`.
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
        HedgerowError: as in `score_label`.
    """
    config = read_json(folder / "config.json")
    if not any(name.endswith("ForSequenceClassification") for name in architectures(config)):
        return  # sentence-transformers gives it one output
    named = config.get("id2label")
    if isinstance(named, dict) and named and all(str(number).isdecimal() for number in named):
        score_label({int(number): str(name) for number, name in named.items()})
    elif not named and isinstance(count := config.get("num_labels", 2), int):
        score_label(default_classes(count))  # transformers omits its default of two


def scorer_for(model: Any, architecture: str) -> Scorer:
    """The scorer of a loaded model.

    Args:
        model: of the class in `KINDS`.

    Raises:
        HedgerowError: it is a classifier that gives no score.
    """
    kind: Any = SCORERS[architecture]
    return kind(model)


def architecture_of(folder: Path) -> str:
    """The architecture in a model's files. A plain transformer is a bi-encoder, a T5 is monoT5.

    An adapter has the architecture of its base.

    Raises:
        HedgerowError: the files are damaged, or the model has another architecture, such as one
            that answers questions.
    """
    if writes_text(folder):
        return Causal.architecture
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
    if T5 in named and _is_plain(folder):
        return MonoT5.architecture
    if "SpladePooling" in read_text(folder / MODULES):
        return Sparse.architecture
    require_encoder(folder)
    return BiEncoder.architecture


def _masked_language_model(folder: Path) -> bool:
    """Whether the model has a head over its vocabulary, which is all that SPLADE needs."""
    named = architectures(read_json(folder / "config.json"))
    return _is_plain(folder) and any(name.endswith("ForMaskedLM") for name in named)


def _is_plain(folder: Path) -> bool:
    """Whether it is a plain transformers model, not packaged by sentence-transformers."""
    return not (folder / MODULES).is_file()


# -- Scorers of other packages: plug-ins of the group ``hedgerow.scorers`` ------------------------
#
# ``interface.Scorer`` is their base class.


class PluggedIn(Scorer):
    """The scorer of a plug-in. Any error in it becomes one sentence that names the plug-in."""

    def __init__(self, kind: type[Scorer], name: str, model: str, prompts: Prompts) -> None:
        self.name = name
        with failures_of(name):
            self._inner = kind.load(model)
            self._inner.given_prompts = prompts
            self.compares_any = self._inner.compares_any

    def score(
        self, pairs: Sequence[Pair], *, asks: Asks, on_progress: Progress | None = None
    ) -> np.ndarray:
        """The scores of the plug-in.

        Raises:
            HedgerowError: it fails, or does not return one number per pair.
        """
        with failures_of(self.name):
            found = self._inner.score(pairs, asks=asks, on_progress=on_progress)
        return self._numbers(found, len(pairs))

    def answer(
        self, questions: Sequence[Question], *, asks: Asks, on_progress: Progress | None = None
    ) -> list[np.ndarray]:
        """The plug-in's choices. It may use all candidates of a question together.

        Raises:
            HedgerowError: as in `score`.
        """
        if type(self._inner).answer is Scorer.answer:
            return super().answer(questions, asks=asks, on_progress=on_progress)
        return self._given(self._inner.answer, questions, asks=asks, on_progress=on_progress)

    def choose(
        self, questions: Sequence[Question], *, asks: Asks, on_progress: Progress | None = None
    ) -> list[np.ndarray]:
        """The plug-in's own report, if it has one.

        Raises:
            HedgerowError: as in `score`.
        """
        if type(self._inner).choose is Scorer.choose:
            return self.answer(questions, asks=asks, on_progress=on_progress)
        return self._given(self._inner.choose, questions, asks=asks, on_progress=on_progress)

    def _given(
        self,
        give: Callable[..., list[np.ndarray]],
        questions: Sequence[Question],
        *,
        asks: Asks,
        on_progress: Progress | None,
    ) -> list[np.ndarray]:
        with failures_of(self.name):
            found = list(give(questions, asks=asks, on_progress=on_progress))
        if len(found) != len(questions):
            raise self._wrong(f"{len(questions)} answers", f"{len(found)}")
        return [
            self._numbers(scores, len(question.candidates))
            for scores, question in zip(found, questions, strict=True)
        ]

    def _numbers(self, found: object, count: int) -> np.ndarray:
        try:
            scores = np.asarray(found, dtype=np.float64)
        except (TypeError, ValueError) as error:
            raise self._wrong("numbers", first_line(error)) from error
        if scores.shape != (count,):
            raise self._wrong(f"scores of the shape ({count},)", f"{scores.shape}")
        if np.isinf(scores).any():
            raise self._wrong("finite scores, or NaN for a missing one", "infinite scores")
        return scores

    def _wrong(self, expected: str, found: str) -> HedgerowError:
        return HedgerowError(
            f"Expected {expected} from the plug-in {self.name!r}, found {found}; fix its package."
        )
