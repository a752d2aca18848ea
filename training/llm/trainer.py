"""trl's trainer for question pairs, and the accuracy on them. Only the answers are learned.

It evaluates the validation questions after each epoch and writes checkpoints at regular intervals.

This module loads PyTorch: import it inside the functions that train.
"""

from __future__ import annotations

import inspect
import math
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from statistics import fmean
from typing import TYPE_CHECKING, Any, NamedTuple

import torch  # noqa: TID253
from datasets import Dataset, disable_progress_bars
from peft import LoraConfig, TaskType  # noqa: TID253
from transformers import PrinterCallback  # noqa: TID253
from trl import SFTConfig, SFTTrainer  # noqa: TID253  (the base class)

from curation.release.question_pairs import QuestionPair
from db.errors import HedgerowError, first_line
from training.finetune import checkpoints
from training.finetune.checkpoints import TrainingPosition
from training.finetune.curves import LOSS
from training.finetune.progress import EVALUATION, RunProgress  # noqa: TID253  (the base class)
from training.llm.base import LanguageModel
from training.llm.card import HELD_OUT_LOSS, PACE, RIGHT, RIGHT_OF, SHARES
from training.llm.examples import ANSWERS, Asker, Choice
from training.llm.recipe import ALL_LINEAR, LanguageRecipe

if TYPE_CHECKING:
    from transformers import PreTrainedModel, TrainerControl, TrainerState
    from transformers.trainer_utils import EvalLoopOutput


CHECKPOINT_EVERY = 100
"""Steps between checkpoints: an interrupted run loses at most this many steps."""

TOKENS = "num_tokens"
"""trl's name for the tokens that the steps have read so far."""


class Fit(NamedTuple):
    """The data and settings of a trainer.

    Attributes:
        train, validation: question pairs of allowed length; the latter may be empty.
        folder: the folder of the checkpoints.
        identity: a hash of everything that determines the training.
        bf16: whether to compute in bfloat16; the weights of the adapter stay in float32.
    """

    train: Sequence[QuestionPair]
    validation: Sequence[QuestionPair]
    recipe: LanguageRecipe
    seed: int
    folder: Path
    identity: str
    bf16: bool
    progress: LanguageProgress


class LanguageProgress(RunProgress):
    """Reports the losses from trl's logs, and the pace of the steps."""

    _read: tuple[float, float] | None = None

    def on_log(
        self,
        args: Any,
        state: TrainerState,
        control: TrainerControl,
        *,
        logs: Mapping[str, float],
        **more: Any,
    ) -> None:
        """Report the curves of the steps."""
        if LOSS in logs and TOKENS in logs:
            now = time.monotonic()
            if self._read is not None and now > self._read[0]:
                since, tokens = self._read
                self.metric(state.global_step, PACE, (logs[TOKENS] - tokens) / (now - since))
            self._read = now, logs[TOKENS]
        super().on_log(args, state, control, logs=logs, **more)

    def on_evaluate(
        self,
        args: Any,
        state: TrainerState,
        control: TrainerControl,
        *,
        metrics: Mapping[str, float],
        **more: Any,
    ) -> None:
        """Report the metrics of an evaluation. Its time does not count for the pace."""
        ours = {name: metrics[name] for name in _OURS if name in metrics}
        super().on_evaluate(args, state, control, metrics=ours, **more)
        self._read = None


_OURS = (HELD_OUT_LOSS, *(f"{EVALUATION}{name}" for name in SHARES))
"""The metrics of an evaluation that are stored."""


class QuestionTrainer(SFTTrainer):
    """Trains an adapter of a model. An interrupted run continues from its checkpoint."""

    control: TrainerControl

    def __init__(self, loaded: LanguageModel, fit: Fit) -> None:
        """Add the adapter to the model and prepare the pairs.

        Raises:
            HedgerowError: the adapter does not fit the model, or its template fails.
        """
        disable_progress_bars()  # they would write into the run's log
        self.fit = fit
        asker = Asker(loaded.tokenizer, chat=fit.recipe.chat_template)
        self.choices = asker.choices(fit.validation)
        self.measured_at: int | None = None
        self.measurings, self.measuring_seconds = 0, 0.0
        arguments = _arguments(fit, device=loaded.model.device.type)
        try:
            super().__init__(
                model=loaded.model,
                args=arguments,
                train_dataset=Dataset.from_list(asker.rows(fit.train)),
                eval_dataset=(
                    Dataset.from_list(asker.rows(fit.validation)) if fit.validation else None
                ),
                processing_class=loaded.tokenizer,
                peft_config=lora_config(fit.recipe),
                callbacks=[fit.progress],
            )
        except ValueError as error:  # peft's, for modules that the model does not have
            raise HedgerowError(_misfit(loaded.model, fit.recipe, error)) from error
        self.remove_callback(PrinterCallback)
        self.all_steps = fit.recipe.steps(len(fit.train))

    def finish(self) -> int:
        """Train to the end, from the newest checkpoint if there is one. Returns the steps done.

        Raises:
            HedgerowError: a loss or weight that is not finite, or no room for a checkpoint.
            RunCancelled: raised by ``progress.check``.
        """
        step = checkpoints.newest(self.fit.folder, of=self.fit.identity)
        checkpoints.remove(self.fit.folder, but=step)
        self._go_on(step)
        self.model.eval()
        trained = (weights for weights in self.model.parameters() if weights.requires_grad)
        if not all(bool(weights.isfinite().all()) for weights in trained):
            raise self._diverged()
        return int(self.state.global_step)

    def _go_on(self, step: int) -> None:
        if step:
            path = checkpoints.folder_of(self.fit.folder, step)
            self.train(resume_from_checkpoint=str(path))
        else:
            if self.choices:
                self.evaluate()
            self.train()
        if self.choices and self.measured_at != self.state.global_step:
            self.evaluate()  # the last checkpoint was written just before it

    def evaluate(self, *given: Any, **named: Any) -> dict[str, float]:
        """Evaluate the validation questions, before the first step and after each epoch."""
        self.fit.progress.check()
        self.fit.progress.update(self.state.global_step, self.all_steps, "measuring")
        begun = time.monotonic()
        figures: dict[str, float] = super().evaluate(*given, **named)
        self.measured_at = self.state.global_step
        self.measurings += 1
        self.measuring_seconds += time.monotonic() - begun
        return figures

    def evaluation_loop(self, *given: Any, **named: Any) -> EvalLoopOutput:
        """The library's loss, and the accuracy on the questions."""
        output = super().evaluation_loop(*given, **named)
        with self.compute_loss_context_manager():
            found = shares_right(
                self.model,
                self.choices,
                pad=self.processing_class.pad_token_id,
                check=self.fit.progress.check,
            )
        output.metrics.update({f"{EVALUATION}{name}": share for name, share in found.items()})
        return output

    def create_model_card(self, *_: Any, **__: Any) -> None:
        """Create no card. Hedgerow writes its own after the model has been measured."""

    def log(self, logs: dict[str, float], *given: Any, **named: Any) -> None:
        """Fail if the loss is no longer finite."""
        if not all(math.isfinite(logs.get(name, 0.0)) for name in (LOSS, HELD_OUT_LOSS)):
            raise self._diverged()
        super().log(logs, *given, **named)

    def _diverged(self) -> HedgerowError:
        return HedgerowError(
            f"Training diverged before step {self.state.global_step} (a loss or weight is not a "
            f"finite number); lower learning_rate, now {self.fit.recipe.learning_rate:g}, in the "
            "recipe."
        )

    def _save_checkpoint(self, model: Any, trial: Any) -> None:
        """Write the checkpoint completely or not at all. The library would accept a half-written
        one."""
        step, position = self.state.global_step, TrainingPosition()
        with checkpoints.whole(self.fit.folder, step, position=position, of=self.fit.identity):
            super()._save_checkpoint(model, trial)


def _misfit(model: PreTrainedModel, recipe: LanguageRecipe, error: ValueError) -> str:
    """One sentence why an adapter does not fit a model."""
    names = [name for name, _ in model.named_modules()]
    unknown = [
        wanted
        for wanted in (*recipe.targets, *recipe.modules_to_save)
        if wanted != ALL_LINEAR and not any(f".{name}".endswith(f".{wanted}") for name in names)
    ]
    why = (
        f"it has no module named {', '.join(unknown)}" if unknown else first_line(error).rstrip(".")
    )
    return (
        f"The adapter does not fit this model: {why}; change targets or modules_to_save in the "
        f"recipe ({ALL_LINEAR!r} fits any model)."
    )


def lora_config(recipe: LanguageRecipe) -> LoraConfig:
    """The adapter's configuration for peft."""
    all_linear = ALL_LINEAR in recipe.targets
    return LoraConfig(
        task_type=TaskType.CAUSAL_LM,
        r=recipe.rank,
        lora_alpha=recipe.alpha,
        lora_dropout=recipe.dropout,
        bias="none",
        target_modules=ALL_LINEAR if all_linear else list(recipe.targets),
        modules_to_save=list(recipe.modules_to_save) or None,
    )


def _arguments(fit: Fit, *, device: str) -> SFTConfig:
    recipe = fit.recipe
    schedule: str = recipe.schedule
    if recipe.warmup and schedule == "constant":
        schedule = "constant_with_warmup"  # the library's name
    return SFTConfig(
        output_dir=str(fit.folder),
        num_train_epochs=recipe.epochs,
        per_device_train_batch_size=recipe.batch_size,
        per_device_eval_batch_size=recipe.batch_size,
        gradient_accumulation_steps=recipe.gradient_accumulation,
        learning_rate=recipe.learning_rate,
        lr_scheduler_type=schedule,
        warmup_steps=recipe.warmup,
        seed=fit.seed,
        max_length=recipe.max_length,
        gradient_checkpointing=recipe.gradient_checkpointing,
        bf16=fit.bf16,
        use_cpu=device == "cpu",
        completion_only_loss=True,
        eval_strategy="epoch" if fit.validation else "no",
        save_strategy="steps",
        save_steps=CHECKPOINT_EVERY,
        logging_steps=0.01,
        logging_nan_inf_filter=False,
        dataloader_pin_memory=False,
        report_to="none",
        disable_tqdm=True,
    )


# -- answers --------------------------------------------------------------------------------------
#
# The accuracy of a language model on Yes/No questions, by the likelihood of both answers.
#
# This module loads PyTorch: import it inside the functions that measure.


BATCH = 16
"""Questions per batch."""


def shares_right(
    model: Any, choices: Sequence[Choice], *, pad: int, check: Callable[[], None] = lambda: None
) -> dict[str, float]:
    """The share of questions whose correct answer is the more likely one, from 0 to 1: over all
    questions (`RIGHT`), and over those with each correct answer (`RIGHT_OF`), if there are any.

    The answers are compared by their first differing token. If both are equally likely, which
    happens in bfloat16, the question counts half.

    Args:
        model: in evaluation mode.
        choices: at least one question.
        pad: the token for padding shorter questions on the left.
        check: called before each batch; may raise to stop.
    """
    by_length = sorted(choices, key=lambda one: len(one.ids))
    points: dict[int, list[float]] = {place: [] for place in range(len(ANSWERS))}
    for start in range(0, len(by_length), BATCH):
        check()
        batch = by_length[start : start + BATCH]
        logits = _next_token(model, [one.ids for one in batch], pad=pad)
        first = torch.tensor([one.first for one in batch], device=logits.device)
        right = torch.tensor([[one.right] for one in batch], device=logits.device)
        of_answers = logits.gather(1, first).float()
        own, other = of_answers.gather(1, right), of_answers.gather(1, 1 - right)
        gained = (own > other).float() + 0.5 * (own == other).float()
        for one, point in zip(batch, gained.flatten().tolist(), strict=True):
            points[one.right].append(point)
    every = [point for found in points.values() for point in found]
    return {RIGHT: fmean(every)} | {
        RIGHT_OF[answer]: fmean(points[place])
        for place, answer in enumerate(ANSWERS)
        if points[place]
    }


def _next_token(model: Any, inputs: Sequence[list[int]], *, pad: int) -> torch.Tensor:
    """The logits of the token that follows each text, shape (len(inputs), vocabulary)."""
    width = max(map(len, inputs))
    ids = torch.tensor([[pad] * (width - len(text)) + text for text in inputs])
    mask = torch.tensor([[0] * (width - len(text)) + [1] * len(text) for text in inputs])
    given = {"input_ids": ids, "attention_mask": mask}
    known = inspect.signature(type(_bare(model)).forward).parameters
    if "position_ids" in known:
        given["position_ids"] = (mask.cumsum(dim=1) - 1).clamp(min=0)
    last: dict[str, Any] = {"logits_to_keep": 1} if "logits_to_keep" in known else {}
    with torch.no_grad():
        on_device = {name: value.to(model.device) for name, value in given.items()}
        return model(**on_device, **last, use_cache=False).logits[:, -1]


def _bare(model: Any) -> Any:
    """The model inside peft's wrapper."""
    return model.get_base_model() if hasattr(model, "get_base_model") else model
