"""The model card of a model that was finetuned on NevIR's pairs.

Names of models and files may be hostile: they reach Markdown through ``escape``.
"""

from collections.abc import Mapping
from typing import Any

from curation.formatting import escape, markdown_table, one_line
from db.models import Run
from training.benchmarks.scorers.embedding_models import BiEncoder, Cross
from training.benchmarks.scorers.late_interaction import LateInteraction
from training.model_card import (
    LICENCES,
    LOCAL_MODEL,
    VERSIONS,
    bullets,
    card,
    facts_table,
    public_base,
    versions_of,
)
from training.model_card_parts import PLACE
from training.ranking.figures import NAMES, SHARES, WHAT_IT_IS
from training.ranking.request import request_of

_USE = {
    BiEncoder.architecture: f"""\
from sentence_transformers import SentenceTransformer
model = SentenceTransformer("{PLACE}")
queries = model.encode(["Which lighthouse is not open to visitors?"])
documents = model.encode(["The tower is open.", "The tower is closed to visitors."])
print(model.similarity(queries, documents))""",
    Cross.architecture: f"""\
from sentence_transformers import CrossEncoder
model = CrossEncoder("{PLACE}")
query = "Which lighthouse is not open to visitors?"
print(model.predict([(query, "The tower is open."), (query, "It is closed to visitors.")]))""",
    LateInteraction.architecture: f"""\
from sentence_transformers import MultiVectorEncoder
model = MultiVectorEncoder("{PLACE}")
queries = model.encode_query(["Which lighthouse is not open to visitors?"])
documents = model.encode_document(["The tower is open.", "It is closed to visitors."])
print(model.similarity(queries, documents))""",
}

_TASKS = {
    BiEncoder.architecture: "sentence-similarity",
    Cross.architecture: "text-ranking",
    LateInteraction.architecture: "feature-extraction",
}

_SUMMARY = (
    "Ranks documents for queries that contain negation. Finetuned with Hedgerow as in *NevIR: "
    "Negation in Neural Information Retrieval* (section 6): on pairs of passages that differ in "
    "a negation, each with a query that only that passage answers."
)

_LIMITS = (
    "Finetuning on such pairs costs general retrieval quality. Evaluate the model on your own "
    "task before you replace the base model.",
    "It was trained on the pairs named above. A score on a test that shares passages with them "
    "says nothing.",
    "English only, unless its pairs are in another language.",
)


def ranking_card(run: Run, result: Mapping[str, Any]) -> str:
    """The card of a finished finetuning.

    Args:
        result: of the run, as `training.ranking.finetuning` stores it.
    """
    base = public_base(request_of(run).base)
    architecture = str(result["architecture"])
    return card(
        f"{escape(base or 'A local model')}, finetuned on NevIR's pairs ({architecture})",
        _SUMMARY,
        {
            "How to use": f"```python\n{_USE[architecture]}\n```",
            "Figures before and after": f"{_figures(result)}\n\n{WHAT_IT_IS}",
            "Training data": _taught(result),
            "Training": _training(run, result, base),
            "Limits": bullets(_LIMITS),
        },
        base=base,
        relation="finetune",
        library_name="sentence-transformers",
        pipeline_tag=_TASKS[architecture],
        tags=["sentence-transformers", "negation", "reranking", architecture],
        license=LICENCES.get(base),
    )


def _figures(result: Mapping[str, Any]) -> str:
    before, after = result["before"], result["after"]
    pairs = f"NevIR is evaluated on {result['data']['held_out']:,} held-out pairs."
    rows = [
        (title, _shown(name, before[name]), _shown(name, after[name]))
        for name, title in NAMES.items()
        if name in before and name in after
    ]
    return f"{markdown_table(['', 'before', 'after'], rows)}\n\n{pairs}"


def _shown(name: str, value: float) -> str:
    return f"{value:.1%}" if name in SHARES else f"{value:.3f}"


def _taught(result: Mapping[str, Any]) -> str:
    facts = dict[str, Any]()
    for title, file in (
        ("training data", result["data"]),
        ("evaluation data", result["validation"]),
    ):
        if file:
            facts |= {
                title: one_line(file["name"]),
                f"{title}, content (SHA-256)": file["hash"],
                f"{title}, pairs in the file": file["pairs"],
            }
    facts |= {
        "training pairs": result["data"]["trained_on"],
        "training passages": result["data"]["passages"],
        "held-out pairs": result["data"]["held_out"],
    }
    note = "No passage is in both the training and the evaluation data."
    return f"{facts_table(facts)}\n\n{note}"


def _training(run: Run, result: Mapping[str, Any], base: str) -> str:
    request = request_of(run)
    facts = {
        "base": base or LOCAL_MODEL,
        "licence of the base": LICENCES.get(base) or "see the base model",
        "architecture": result["architecture"],
        "loss": result["loss"],
        "epochs": request.epochs,
        "steps": result["steps"],
        "learning rate": f"{request.learning_rate:g}",
        "batch size": request.batch_size,
        "maximum length (tokens)": request.max_length,
        "seed": str(request.seed),
        "versions": versions_of(run, VERSIONS),
    }
    return facts_table(facts)
