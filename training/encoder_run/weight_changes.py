"""The change of a trained encoder's weights: mixed with its base's, or of low rank."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, NamedTuple

from sqlalchemy.orm import Session

from curation.encoders.checkpoint_files import DOWN, PREFIX, UP
from curation.encoders.loading import fingerprint, load_encoder
from db.errors import HedgerowError
from db.models import Encoder, Run
from db.settings import Settings
from training.models.known import ModelLocation
from training.recipe.schema import values_of
from training.retention.distillation import interpolate

if TYPE_CHECKING:
    from sentence_transformers import SentenceTransformer
    from torch import Tensor


# -- Mixing the weights of a finished training run with those of its base encoder -----------------
#
# This needs no training, because WiSE-FT (Wortsman et al. 2022) is linear in the weights. If the
# recipe has already mixed the weights with a share s of the finetuned ones, the saved model is at s
# on the line from the base encoder (0) to the finetuned one (1), and the rest of the line is
# extrapolated. If the upper layers had a smaller share (`UPPER_SHARE`), they have it on the whole
# line.


class Ends(NamedTuple):
    """The locations of the two encoders, and the expected fingerprints of their files.

    Attributes:
        model: the name of the trained encoder for people, such as 'run 3'.
        base: the base encoder; its fingerprint is "" if unknown.
        trained: the saved model's folder.
        own_share: the share of the finetuned weights in the saved model, above 0 and at most 1.
        seed: the seed of the training run, which determined any missing weights of the base
            encoder.
    """

    model: str
    base: ModelLocation
    trained: ModelLocation
    own_share: float
    seed: int


def ends_of(session: Session, settings: Settings, run: Run) -> Ends:
    """The two encoders of a finished training run, from the database.

    Raises:
        HedgerowError: the model's folder is gone.
    """
    recipe = values_of(run)
    rows = [
        session.get(Encoder, run.result.get(key, 0)) for key in ("before_encoder_id", "encoder_id")
    ]
    before, after = (row.fingerprint if row else "" for row in rows)
    folder = settings.data_folder / str(run.result["model"])
    if not folder.is_dir():
        raise HedgerowError(
            f"The model of run {run.id} is no longer at {folder}; put it back, or train again."
        )
    return Ends(
        model=f"run {run.id}",
        base=ModelLocation(str(recipe["base_encoder"]), before),
        trained=ModelLocation(str(folder), after),
        own_share=float(recipe.get("interpolation", 1.0)),  # recipes of version 1 mixed nothing
        seed=int(run.parameters["seed"]),
    )


class Mixture:
    """A model with a variable share of finetuned weights. It has the saved model's pooling."""

    def __init__(
        self,
        model: SentenceTransformer,
        *,
        base: dict[str, Tensor],
        trained: dict[str, Tensor],
        own_share: float,
    ) -> None:
        """Take over a model.

        Args:
            model: receives the weights.
            base: the weights at the share 0.
            trained: the weights at `own_share`.
        """
        self.model = model
        self._base, self._trained, self._own_share = base, trained, own_share

    def set_share(self, share: float) -> SentenceTransformer:
        """The model, with this share of finetuned weights, from 0 to 1.

        At 0 and at the share of the saved model, its weights are exactly the saved ones.
        """
        interpolate(self.model, self._base, self._trained, share / self._own_share)
        return self.model


def load(ends: Ends) -> Mixture:
    """Load both encoders: two sets of weights and one model stay in memory.

    Raises:
        HedgerowError: an encoder cannot be found or loaded, or its files have changed since
            training.
    """
    base, model = load_both(ends)
    trained = {name: value.clone() for name, value in model.state_dict().items()}
    return Mixture(
        model,
        base=alike(base.state_dict(), trained, ends),
        trained=trained,
        own_share=ends.own_share,
    )


def load_both(ends: Ends) -> tuple[SentenceTransformer, SentenceTransformer]:
    """The base encoder and the trained one.

    Raises:
        HedgerowError: as in `load`.
    """
    from transformers import set_seed

    _check_base(ends)
    ends.trained.checked()
    set_seed(ends.seed)  # as in training: an unusual encoder starts with some random weights
    return load_encoder(ends.base.name), load_encoder(ends.trained.name)


def _check_base(ends: Ends) -> None:
    if ends.base.fingerprint not in ("", fingerprint(ends.base.name)):
        raise HedgerowError(
            f"The files of the encoder {ends.base.name!r} are not those that {ends.model} "
            "started from; restore them, or train again."
        )


def alike(
    base: Mapping[str, Tensor], trained: Mapping[str, Tensor], ends: Ends
) -> dict[str, Tensor]:
    """The base encoder's weights in the types of the trained one's.

    Raises:
        HedgerowError: the weights have other names or shapes.
    """
    shapes = ({name: value.shape for name, value in side.items()} for side in (base, trained))
    if next(shapes) != next(shapes):
        raise HedgerowError(
            f"The weights of the encoder {ends.base.name!r} do not match those of {ends.model}; "
            "expected the encoder that it started from."
        )
    return {name: value.to(trained[name].dtype) for name, value in base.items()}


# -- A trained encoder as a low-rank change of its base encoder -----------------------------------
#
# The change of each linear layer's weights is reduced to its largest singular values, which is the
# best approximation of that rank. For a run with LoRA, whose changes have a low rank, it is exact.


BYTES = 2
"""Bytes per number in float16."""

ENTRY = 120
"""Maximum number of bytes for a tensor in the header of a file, without its name."""


class LowRank(NamedTuple):
    """The change of an encoder's linear layers, approximated with a low rank.

    Attributes:
        rank: the rank of every layer's two matrices.
        layers: the names of the layers that training has changed.
        tensors: their matrices with peft's names, in float16.
        share: the share of the total change of all weights (by sum of squares) that it contains, 0
            to 1.
        share_of_layers: the same, for the change of these layers only.
    """

    rank: int
    layers: list[str]
    tensors: dict[str, Tensor]
    share: float
    share_of_layers: float


class _Change(NamedTuple):
    """The change of a layer's weights, shape (output, input), float32."""

    layer: str
    matrix: Tensor


def low_rank(
    trained: SentenceTransformer,
    base: Mapping[str, Tensor],
    *,
    rank: int | None,
    largest: int,
    what: str,
) -> LowRank:
    """Compute the low-rank change of a training run.

    Args:
        base: the initial weights, named as in the trained encoder's state.
        rank: by default, the largest one whose matrices fit into a file of `largest` bytes.
        what: the name of the trained encoder, for messages.

    Raises:
        HedgerowError: no linear layer has changed.
    """
    changes = list(_changes(trained, base))
    if not changes:
        raise HedgerowError(
            f"The linear layers of {what} equal those of its base, so an adapter would be empty."
        )
    shapes = [(change.layer, *change.matrix.shape) for change in changes]
    useful = max(min(shape) for _, *shape in shapes)
    cut = min(rank or _most_that_fit(shapes, largest), useful)
    tensors: dict[str, Tensor] = {}
    all_of_them = sum(_squares(change.matrix) for change in changes)
    left_out = 0.0
    for change in changes:
        down, up = _factors(change.matrix, cut)
        tensors |= {f"{PREFIX}{change.layer}{DOWN}": down, f"{PREFIX}{change.layer}{UP}": up}
        left_out += _squares(change.matrix.cpu() - up.float() @ down.float())
    held = max(0.0, all_of_them - left_out)
    everything = sum(
        _squares(value.float() - base[name].float()) for name, value in trained.state_dict().items()
    )
    layers = [change.layer for change in changes]
    return LowRank(cut, layers, tensors, held / everything, held / all_of_them)


def _changes(trained: SentenceTransformer, base: Mapping[str, Tensor]) -> Iterator[_Change]:
    """The changes of the transformer's linear layers that are not zero."""
    import torch

    own = {id(value): name for name, value in trained.named_parameters()}
    transformer = getattr(trained[0], "model", None)
    for layer, module in transformer.named_modules() if transformer is not None else ():
        if isinstance(module, torch.nn.Linear):
            matrix = (module.weight.detach() - base[own[id(module.weight)]]).float()
            if bool(matrix.any()):
                yield _Change(layer, matrix)


def _factors(matrix: Tensor, rank: int) -> tuple[Tensor, Tensor]:
    """Two matrices whose product is the best approximation of this one: (rank, input) and (output,
    rank)."""
    import torch

    left, values, right = torch.linalg.svd(matrix, full_matrices=False)
    roots = values[:rank].sqrt()  # split evenly, so that float16 is equally precise for both
    down, up = roots[:, None] * right[:rank], left[:, :rank] * roots
    missing = rank - len(roots)  # a layer may be smaller than the rank
    down = torch.nn.functional.pad(down, (0, 0, 0, missing))
    up = torch.nn.functional.pad(up, (0, missing))
    return down.half().contiguous().cpu(), up.half().contiguous().cpu()


def _squares(matrix: Tensor) -> float:
    return float(matrix.double().square().sum())


def _most_that_fit(shapes: Sequence[tuple[str, int, int]], largest: int) -> int:
    """The largest rank at which all matrices and their names fit; at least 1."""
    names = sum(2 * (len(f"{PREFIX}{layer}{DOWN}") + ENTRY) for layer, *_ in shapes)
    of_one = sum(BYTES * (rows + columns) for _, rows, columns in shapes)
    return max(1, (largest - names) // of_one)
