"""Sentence-transformers' own trainers, for pairs of passages, followed epoch by epoch.

They use the library's losses for each architecture. Every epoch ends with an evaluation and a
checkpoint.

This module loads PyTorch: import it inside the functions that train.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple

from datasets import Dataset
from sentence_transformers import (  # noqa: TID253  (the base classes)
    CrossEncoderTrainer,
    MultiVectorEncoderTrainer,
    SentenceTransformerTrainer,
)
from sentence_transformers.base.trainer import BaseTrainer  # noqa: TID253
from sentence_transformers.base.training_args import BatchSamplers  # noqa: TID253
from sentence_transformers.cross_encoder.losses import BinaryCrossEntropyLoss  # noqa: TID253
from sentence_transformers.multi_vector_encoder.losses import (  # noqa: TID253
    MultiVectorMultipleNegativesRankingLoss,
)
from sentence_transformers.sentence_transformer.losses import (  # noqa: TID253
    MultipleNegativesRankingLoss,
)
from transformers import PrinterCallback, TrainerCallback  # noqa: TID253

from curation.encoders.embeddings import retrieval_prompts
from db.errors import HedgerowError
from training.benchmarks.scorers.embedding_models import BiEncoder, Cross
from training.benchmarks.scorers.late_interaction import LateInteraction
from training.benchmarks.tasks.nevir import DocumentPair
from training.finetune import checkpoints
from training.finetune.checkpoints import TrainingPosition
from training.finetune.curves import LOSS
from training.ranking.request import RankingRequest

if TYPE_CHECKING:
    from transformers import TrainerControl, TrainerState

    from training.finetune.progress import Progress

WARM_UP = 0.1
"""Share of the steps in which the learning rate rises. Then it falls linearly."""

_WEIGHTS = "model.safetensors"


class Fit(NamedTuple):
    """The data and settings of a trainer.

    Attributes:
        measure: returns the metrics of the model, which is in evaluation mode and reads whole
            texts.
        folder: the folder of the checkpoints.
        identity: a hash of everything that determines the training.
    """

    pairs: Sequence[DocumentPair]
    request: RankingRequest
    measure: Callable[[], Mapping[str, float]]
    folder: Path
    identity: str
    progress: Progress


class _EveryEpoch(TrainerCallback):
    """Evaluates the model after each epoch."""

    def on_epoch_end(
        self, args: Any, state: TrainerState, control: TrainerControl, **_: Any
    ) -> None:
        control.should_evaluate = True


class PairTrainer(BaseTrainer):
    """Trains a model in place. An interrupted run continues after its last complete epoch.

    A subclass adds the library's trainer for its architecture.
    """

    loss_class: ClassVar[Any]
    sampler: ClassVar[BatchSamplers]
    control: TrainerControl

    def __init__(self, model: Any, fit: Fit) -> None:
        self.fit, request = fit, fit.request
        self.whole_length = model.max_seq_length
        model.max_seq_length = min(request.max_length, self.whole_length or request.max_length)
        rows = Dataset.from_dict(self.rows(fit.pairs))
        super().__init__(
            model=model,
            args=self.training_args_class(
                output_dir=str(fit.folder),
                num_train_epochs=request.epochs,
                per_device_train_batch_size=min(request.batch_size, len(fit.pairs)),
                learning_rate=request.learning_rate,
                warmup_steps=WARM_UP,
                seed=request.seed,
                batch_sampler=self.sampler,
                prompts=self.prompts(model),
                save_strategy="epoch",
                logging_steps=0.01,
                logging_nan_inf_filter=False,
                dataloader_pin_memory=False,
                report_to="none",
                disable_tqdm=True,
            ),
            train_dataset=rows,
            loss=self.loss_class(model),
            callbacks=[_EveryEpoch(), fit.progress],
        )
        self.remove_callback(PrinterCallback)
        self.all_steps = request.epochs * len(self.get_train_dataloader())

    @staticmethod
    def rows(pairs: Sequence[DocumentPair]) -> dict[str, list[Any]]:
        """The columns of the training data, in the order in which the loss takes them."""
        raise NotImplementedError

    @staticmethod
    def prompts(model: Any) -> dict[str, str] | None:
        """The prompt before the texts of a column, or None."""
        return None

    def finish(self) -> int:
        """Train to the end, from the newest checkpoint if there is one. Returns the steps done.

        Raises:
            HedgerowError: a loss that is not finite, or no room for a checkpoint.
            RunCancelled: raised by ``progress.check``.
        """
        step = checkpoints.newest(self.fit.folder, of=self.fit.identity)
        checkpoints.remove(self.fit.folder, but=step)
        if step:
            path = checkpoints.folder_of(self.fit.folder, step)
            self.train(resume_from_checkpoint=str(path))
        else:
            self.evaluate()
            self.train()
        self.model.max_seq_length = self.whole_length
        self.model.eval()
        return int(self.state.global_step)

    def evaluate(self, *_: Any, **__: Any) -> dict[str, float]:
        """Evaluate the model, before the first step and after each epoch."""
        self.fit.progress.check()
        self.fit.progress.update(self.state.global_step, self.all_steps, "measuring")
        self.model.eval()
        limit, self.model.max_seq_length = self.model.max_seq_length, self.whole_length
        try:
            figures = dict(self.fit.measure())
        finally:
            self.model.max_seq_length = limit
        self.control = self.callback_handler.on_evaluate(
            self.args, self.state, self.control, figures
        )
        return figures

    def add_model_card_callback(self, default_args_dict: dict[str, Any]) -> None:
        """Create no card: the library would read the texts and query the Hub for it."""

    def log(self, logs: dict[str, float], *given: Any) -> None:
        """Fail if the loss is no longer finite."""
        if not math.isfinite(logs.get(LOSS, 0.0)):
            raise HedgerowError(
                f"Training diverged before step {self.state.global_step} (its loss is not a "
                "finite number); lower the learning rate, now "
                f"{self.fit.request.learning_rate:g}."
            )
        super().log(logs, *given)

    def save_model(self, output_dir: str | None = None, _internal_call: bool = False) -> None:
        """Write the weights. The trainer writes the other parts of a checkpoint."""
        path = Path(output_dir or self.args.output_dir)
        path.mkdir(parents=True, exist_ok=True)
        checkpoints.save_weights(self.model, path / _WEIGHTS)

    def _save_checkpoint(self, model: Any, trial: Any) -> None:
        """Write the checkpoint completely or not at all. The library would accept a half-written
        one."""
        step, position = self.state.global_step, TrainingPosition()
        with checkpoints.whole(self.fit.folder, step, position=position, of=self.fit.identity):
            super()._save_checkpoint(model, trial)

    def _load_from_checkpoint(self, checkpoint_path: str, *_: Any) -> None:
        checkpoints.load_weights(self.model, Path(checkpoint_path) / _WEIGHTS)


class _Triples(PairTrainer):
    """Two triples per pair: a query, the document that answers it, and the other document."""

    sampler = BatchSamplers.NO_DUPLICATES
    """Keeps equal texts out of a batch. The positive of one query is the negative of the other, so
    with both in a batch, each document would be a negative for its own query."""

    @staticmethod
    def rows(pairs: Sequence[DocumentPair]) -> dict[str, list[Any]]:
        """The columns query, positive and negative."""
        return {
            "query": [query for pair in pairs for query in pair.queries],
            "positive": [document for pair in pairs for document in pair.documents],
            "negative": [document for pair in pairs for document in reversed(pair.documents)],
        }

    @staticmethod
    def prompts(model: Any) -> dict[str, str] | None:
        """The model's own prompts for queries and documents, which are also used for evaluation."""
        default = model.prompts.get(model.default_prompt_name) or ""
        query, document = (default or prompt for prompt in retrieval_prompts(model))
        if not query and not document:
            return None
        return {"query": query, "positive": document, "negative": document}


class BiEncoderTrainer(_Triples, SentenceTransformerTrainer):
    """Uses the ranking loss within a batch, with cosines times 20."""

    loss_class = MultipleNegativesRankingLoss


class LateInteractionTrainer(_Triples, MultiVectorEncoderTrainer):
    """Uses the same loss with MaxSim."""

    loss_class = MultiVectorMultipleNegativesRankingLoss


class CrossEncoderPairTrainer(PairTrainer, CrossEncoderTrainer):
    """Uses binary cross-entropy for each query with each document, right or wrong."""

    loss_class = BinaryCrossEntropyLoss
    sampler = BatchSamplers.BATCH_SAMPLER

    @staticmethod
    def rows(pairs: Sequence[DocumentPair]) -> dict[str, list[Any]]:
        """The columns query, document and label, with four rows per pair."""
        every = [
            (query, document, float(own == other))
            for pair in pairs
            for own, query in enumerate(pair.queries)
            for other, document in enumerate(pair.documents)
        ]
        names = ("query", "document", "label")
        return dict(zip(names, map(list, zip(*every, strict=True)), strict=True))


TRAINERS: dict[str, type[PairTrainer]] = {
    BiEncoder.architecture: BiEncoderTrainer,
    Cross.architecture: CrossEncoderPairTrainer,
    LateInteraction.architecture: LateInteractionTrainer,
}
"""The trainer for each architecture."""
