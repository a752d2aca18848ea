"""The metrics of a language model during finetuning, and the card of the finished model.

Names of models may be hostile: they reach Markdown through ``escape``.
"""

from collections.abc import Mapping
from typing import Any, NamedTuple

from sqlalchemy.orm import Session

from curation.formatting import escape, markdown_table
from curation.release.export.card_sections import CITATION
from curation.release.question_pairs import NO, PROMPT, YES
from db.models import Release, Run
from training.evaluation.figures import LossPoint, loss_curve
from training.finetune.curves import LOSS, Evaluation, list_evaluations
from training.llm.recipe import LanguageRecipe
from training.llm.request import request_of
from training.model_card import (
    LOCAL_MODEL,
    bullets,
    card,
    data_section,
    facts_table,
    release_name,
    versions_of,
)
from training.model_card_parts import PLACE

VERSIONS = ("hedgerow", "trl", "peft", "transformers", "torch", "python")

_SUMMARY = (
    "Answers whether two sentences have opposite meanings. Finetuned with Hedgerow as in "
    "*Learning Robust Negation Text Representations* (section 5.2): on questions about a "
    "sentence and its negation (answer: Yes), and about a sentence and its hedge or paraphrase "
    "(answer: No)."
)

_LIMITS = (
    "It was trained to answer one question. In the paper, such training cost Llama 3 some "
    "arithmetic ability (GSM8K). Evaluate the abilities that you need before you replace the "
    "base model.",
    "It was trained to say that hedges have no opposite meaning. Do not use it to measure how "
    "certain a statement is.",
    "The accuracy above is measured on sentences like those in its training data.",
    "The training data has its own limitations; they are listed in its data set card.",
)


def language_card(session: Session, run: Run, release: Release, result: Mapping[str, Any]) -> str:
    """The card of a finished finetuning.

    Args:
        result: of the run, as `training.llm.finetuning` stores it.
    """
    request = request_of(run)
    base = public_name(request.base)
    question = PROMPT.format(sentence_1="The door is open.", sentence_2="The door is not open.")
    use = f"```python\n{_use(base, request.recipe)}\n```\n\nThe prompt is:\n\n```\n{question}\n```"
    return card(
        f"{escape(base or 'A language model')}, finetuned on negation and hedging",
        _SUMMARY,
        {
            "How to use": use,
            "Figures before and after": _figures(result),
            "Training": _training(run, release, request.recipe, result, base),
            "Data": data_section(session, release),
            "Limits": bullets(_LIMITS),
            "Citation": CITATION,
        },
        base=base,
        relation="adapter",
        library_name="peft",
        pipeline_tag="text-generation",
        tags=["lora", "trl", "sft", "negation", "hedging"],
    )


def public_name(base: str) -> str:
    """A base model's name on the Hub; '' for a local folder."""
    return "" if base.startswith(("/", "\\")) or base[1:2] == ":" else base


def _use(base: str, recipe: LanguageRecipe) -> str:
    asked = (
        'messages = [{"role": "user", "content": QUESTION}]\n'
        "inputs = tokenizer.apply_chat_template(\n"
        '    messages, add_generation_prompt=True, return_dict=True, return_tensors="pt"\n'
        ")"
        if recipe.chat_template
        else 'inputs = tokenizer(QUESTION, return_tensors="pt")'
    )
    return f"""\
from peft import PeftModel
from transformers import AutoModelForCausalLM, AutoTokenizer
base = AutoModelForCausalLM.from_pretrained("{base or LOCAL_MODEL}")
model = PeftModel.from_pretrained(base, "{PLACE}")
tokenizer = AutoTokenizer.from_pretrained("{PLACE}")
{asked}
answer = model.generate(**inputs, max_new_tokens=3)[0, inputs["input_ids"].shape[1] :]
print(tokenizer.decode(answer, skip_special_tokens=True))"""


def _figures(result: Mapping[str, Any]) -> str:
    if not result["after"]:
        return "Not evaluated: the release has no validation split."
    rows = [
        (title, shown(name, result["before"][name]), shown(name, result["after"][name]))
        for name, title in FIGURE_NAMES.items()
        if name in result["after"]
    ]
    return (
        f"{markdown_table(['', 'before', 'after'], rows)}\n\nEvaluated on "
        f"{result['pairs']['validation']:,} questions about the validation split of the release, "
        "whose anchors were not used for training. An answer is correct if the correct one of "
        "Yes and No is more probable. Chance is 50%."
    )


def shown(name: str, value: float) -> str:
    """A metric as text."""
    return f"{value:.1%}" if name in SHARES else f"{value:.4f}"


def _training(
    run: Run, release: Release, recipe: LanguageRecipe, result: Mapping[str, Any], base: str
) -> str:
    facts = {
        "base": base or LOCAL_MODEL,
        "files of the base (SHA-256)": result["base_fingerprint"],
        "licence of the base": "see the base model",
        "release": release_name(release),
        "content hash of the release (SHA-256)": release.content_hash,
        "training question pairs": result["pairs"]["train"],
        "steps": result["steps"],
        "trained parameters": result["trainable"],
        "seed": str(run.parameters["seed"]),
        "device": f"{result['device']}, {'bfloat16' if result['bf16'] else 'float32'}",
        "versions": versions_of(run, VERSIONS),
    }
    return (
        f"{facts_table(facts)}\n\n"
        f"The recipe, as Hedgerow reads it:\n\n```yaml\n{recipe.to_yaml().strip()}\n```"
    )


# -- The metrics of a language model during finetuning, read from the database --------------------


RIGHT = "right"
"""The share of evaluated questions whose correct answer is the more likely one, 0 to 1."""

RIGHT_OF: Mapping[str, str] = {YES: f"{RIGHT}:{YES}", NO: f"{RIGHT}:{NO}"}
"""The same for the questions with each correct answer: about negations (Yes), and about hedges and
paraphrases (No). A model that always gives the same answer has 1 in one and 0 in the other."""

HELD_OUT_LOSS = f"eval_{LOSS}"
"""The loss on these questions: the mean over the tokens of the answers."""

PACE = "tokens_per_second"
"""Tokens of questions and answers per second of training."""

FIGURE_NAMES: Mapping[str, str] = {
    RIGHT: "validation questions answered correctly",
    RIGHT_OF[YES]: "questions about negations (Yes)",
    RIGHT_OF[NO]: "questions about hedges and paraphrases (No)",
    HELD_OUT_LOSS: "loss on the validation questions",
}
"""The labels of the metrics, in the order of tables."""


class Course(NamedTuple):
    """The metrics of a run so far: the training loss by step, and the evaluations."""

    losses: list[LossPoint]
    evaluations: list[Evaluation]


SHORT_NAMES: Mapping[str, str] = {
    RIGHT: "All",
    RIGHT_OF[YES]: "Negations",
    RIGHT_OF[NO]: "Hedges",
    HELD_OUT_LOSS: "Loss",
}
"""Short labels for table headers and legends."""

SHARES = (RIGHT, *RIGHT_OF.values())
"""The metrics that are shown as percentages."""


def evaluations_of(session: Session, run: Run) -> list[Evaluation]:
    """All evaluations of a run, in order."""
    return list_evaluations(session, run, FIGURE_NAMES)


def course_of(session: Session, run: Run) -> Course:
    """The curves of a run."""
    return Course(loss_curve(session, run), evaluations_of(session, run))
