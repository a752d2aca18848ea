"""The baseline of bench/training.py: sentence-transformers' trainer on flat triples."""

import time
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from bench.gpu import finish_gpu
from training.recipe.schema import Recipe

if TYPE_CHECKING:
    from sentence_transformers import SentenceTransformer


def make_trainer(
    model: "SentenceTransformer",
    triples: Sequence[Sequence[str]],
    *,
    recipe: Recipe,
    bf16: bool,
    batch_size: int,
    steps: int,
    seed: int,
    folder: str,
) -> Any:
    """A trainer with MultipleNegativesRankingLoss and batches without duplicates.

    Args:
        triples: the texts (anchor, positive, negative) of each triple.
        recipe: the recipe with the scale and the learning rate.
        bf16: whether to train in bf16.
        batch_size: the number of triples per batch.
        steps: the number of steps.
        seed: the seed of the trainer.
        folder: a folder that the trainer may write to. It saves nothing.
    """
    from datasets import Dataset  # noqa: PLC0415  (loading it takes seconds)
    from sentence_transformers import (
        SentenceTransformerTrainer,
        SentenceTransformerTrainingArguments,
    )
    from sentence_transformers.base.training_args import BatchSamplers
    from sentence_transformers.sentence_transformer.losses import MultipleNegativesRankingLoss
    from transformers import PrinterCallback

    from training.finetune.weights import WARMUP, WEIGHT_DECAY

    class Trainer(SentenceTransformerTrainer):
        def add_model_card_callback(self, default_args_dict: dict[str, object]) -> None:
            """Make no model card, which would read the texts and query the Hub."""

    columns = dict(zip(("anchor", "positive", "negative"), zip(*triples, strict=True), strict=True))
    arguments = SentenceTransformerTrainingArguments(
        output_dir=folder,
        max_steps=steps,
        per_device_train_batch_size=batch_size,
        batch_sampler=BatchSamplers.NO_DUPLICATES,
        dataloader_drop_last=True,
        learning_rate=recipe.learning_rate,
        warmup_steps=round(WARMUP * steps),
        weight_decay=WEIGHT_DECAY,
        bf16=bf16,
        use_cpu=model.device.type == "cpu",
        dataloader_pin_memory=model.device.type == "cuda",
        seed=seed,
        logging_strategy="no",
        save_strategy="no",
        report_to="none",
        disable_tqdm=True,
    )
    loss = MultipleNegativesRankingLoss(model, scale=recipe.scale)
    data = Dataset.from_dict({name: list(texts) for name, texts in columns.items()})
    trainer = Trainer(model=model, args=arguments, train_dataset=data, loss=loss)
    trainer.remove_callback(PrinterCallback)
    return trainer


def timed(trainer: Any) -> tuple[float, int]:
    """The seconds from the start of the first step to the end of the last, and the number of steps.

    There can be fewer steps than requested if the last triples share too many texts.
    """
    from transformers import TrainerCallback

    times: list[float] = []

    class Watch(TrainerCallback):
        def on_train_begin(self, *_: object, **__: object) -> None:
            times.append(time.perf_counter())

        def on_train_end(self, *_: object, **__: object) -> None:
            finish_gpu()
            times.append(time.perf_counter())

    trainer.add_callback(Watch())
    trainer.train()
    return times[-1] - times[0], int(trainer.state.global_step)
